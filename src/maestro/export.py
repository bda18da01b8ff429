"""A trained agent as a file that stands alone: safetensors and a JSON card beside it."""

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors.numpy

from maestro.agents.lasertag import LaserTagAgent
from maestro.checkpoint import UNREADABLE, CheckpointError, flatten, unflatten, write_file
from maestro.config import AgentConfig, RunConfig
from maestro.evaluate import Trained, trained
from maestro.limits import out_of_range
from maestro.settings import apply
from maestro.toml import reason

MAX_HEADER = 100_000  # bytes of a safetensors file that are no parameters
MAX_CARD = 100_000


class AgentError(ValueError):
    """Why a file cannot be used as an agent."""


def save(path: Path, config: RunConfig, params: Any, about: dict[str, Any]) -> None:
    """Write `path` (.safetensors) and its card (.json)."""
    content = safetensors.numpy.save(flatten(params))
    card = {
        "game": "lasertag",
        "agent": asdict(config.agent),
        "parameters": sum(x.size for x in jax.tree.leaves(params)),
        "sha256": hashlib.sha256(content).hexdigest(),
        "method": config.method,
        **about,
    }
    write_file(path, content)
    write_file(path.with_suffix(".json"), json.dumps(card, indent=1).encode())


def read_limited(path: Path, limit: int) -> bytes:
    """A file that is not too large."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise AgentError(f"{path}: {reason(error)}") from None
    if len(content) > limit:
        raise AgentError(f"{path}: larger than {limit:,} bytes")
    return content


def read_card(path: Path) -> dict[str, Any]:
    """The card of an agent, with the fields that loading needs."""
    content = read_limited(path, MAX_CARD)
    try:
        card = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{path}: not JSON: {error}") from None
    if isinstance(card, dict) and isinstance(card.get("agent"), dict) and card.get("game") == "lasertag":
        return card
    raise AgentError(f"{path}: no card of a LaserTag agent")


def network(path: Path, card: dict[str, Any]) -> LaserTagAgent:
    """The network that a card describes."""
    problems: list[str] = []
    config = apply(AgentConfig(), card["agent"], problems)
    for name, value in asdict(config).items():
        problems += out_of_range(f"agent.{name}", value)
    if problems:
        raise AgentError(f"{path}: " + "; ".join(problems))
    return LaserTagAgent(config.filters, config.hidden, config.heads)


@lru_cache(maxsize=16)
def shapes(agent: LaserTagAgent) -> Any:
    """The parameters' shapes; finding them takes longer than reading a file."""
    return jax.eval_shape(agent.init, jax.random.key(0))


def load_params(path: Path) -> tuple[LaserTagAgent, Any]:
    """(agent, parameters), checked against the card, which decides how much of the file is read."""
    if path.suffix != ".safetensors":
        raise AgentError(f"{path}: does not end in .safetensors")
    card = read_card(path.with_suffix(".json"))
    agent = network(path.with_suffix(".json"), card)
    like = shapes(agent)
    content = read_limited(path, MAX_HEADER + sum(4 * leaf.size for leaf in jax.tree.leaves(like)))
    if hashlib.sha256(content).hexdigest() != card.get("sha256"):
        raise AgentError(f"{path}: not the file that its card describes")
    try:
        arrays = safetensors.numpy.load(content)
        params = unflatten(like, arrays)
    except (CheckpointError, *UNREADABLE) as error:
        raise AgentError(f"{path}: {error}") from None
    if not all(np.isfinite(x).all() for x in arrays.values()):
        raise AgentError(f"{path}: holds numbers that are not finite")
    return agent, params


def load(path: str | Path) -> Trained:
    """A trained agent as a player, from its .safetensors file."""
    agent, params = load_params(Path(path))
    return trained(agent, params)
