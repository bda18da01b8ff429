"""What the processes of a run share: how long they wait for each other, how they start JAX, how they end."""

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata

import jax

import maestro
from maestro.runs import relay
from maestro.runs.processes import Member

WAIT = 300.0  # seconds within which all processes must be there
AGAIN = 0.2  # seconds until the next attempt to reach the first
CALM = 20.0  # seconds in which the first may still bring its folder in order when another is gone
LEAVING = 10.0  # seconds in which the others end when they are told to
HEARTBEAT = 50  # seconds: JAX's own, in case that ours fails
STANDS = "the last complete checkpoint stands"
Tell = Callable[[str], None]


class Gone(Exception):
    """Another process of the run is gone; the text names it."""


def versions() -> str:
    """What must be the same in all processes."""
    return f"maestro {maestro.__version__}, jax {metadata.version('jax')}"


def last_words(tell: Tell, code: int, text: str = "") -> None:
    """End at once, with a sentence: other threads may wait for a process that is gone."""
    with suppress(OSError):
        if text:
            tell(f"maestro: {text}\n")
    os._exit(code)


def start_jax(member: Member, address: str, bind: str | None = None) -> None:
    """JAX's own runtime, through the address of a relay or, in the first process, of its service."""
    os.environ.setdefault("no_grpc_proxy", relay.HERE)
    for unwanted in ("jax_enable_preemption_service", "jax_check_proxy_envs"):  # the first takes SIGTERM
        with suppress(AttributeError):
            jax.config.update(unwanted, False)
    jax.distributed.initialize(
        address,
        member.count,
        member.number,
        cluster_detection_method="deactivate",
        coordinator_bind_address=bind,
        initialization_timeout=int(WAIT) + 1,
        heartbeat_timeout_seconds=HEARTBEAT,
        shutdown_timeout_seconds=int(LEAVING),
    )
    jax.devices()  # all look for their devices at once: each waits for the others' here
