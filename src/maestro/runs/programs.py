"""Programs as JAX has traced them, kept in the user's cache: a second run of a kind need not trace them.

A program's name is a digest of all that decides it: the experiment, the shapes of its arguments, this
package's files, the versions of what computes, the kernels that are there, and JAX's settings. What is not
of this package cannot be looked through, such as a game of one's own: it is traced each time. A damaged file
is as good as none.
"""

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any

import jax
from jax import export

import maestro
from maestro import cache, native, sharding
from maestro.metrics import Exploited, Metrics, Served
from maestro.ppo import Losses
from maestro.runs.files import write_file

PACKAGE = Path(maestro.__file__).parent
COMPUTE = ("jax", "jaxlib", "flax", "optax", "numpy")
NO_MATTER = re.compile("cache|log|platform|dump|traceback")  # settings of JAX by which nothing is computed
MOST = 100  # files; the oldest are removed
DIGEST = hashlib.sha256().digest_size
AHEAD = "ahead"  # the name of threads that compile while the first state is made
UNHEARD = Event()  # nobody waits for it
COMPARED = ("cpu", "gpu")  # where XLA makes of a kept program what it makes of one just traced

for kind in (Metrics, Served, Exploited, Losses):
    export.register_pytree_node_serialization(
        kind,
        serialized_name=f"maestro.{kind.__name__}",
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: (),
    )


class Foreign(Exception):
    """Something that is not of this package, or has no name."""


def told(value: Any) -> Iterator[str]:
    """Everything that a value consists of, down to numbers and names; `Foreign` if that cannot be told."""
    if value is None or isinstance(value, bool | int | float | str | Enum):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}"
        for part in value:
            yield from told(part)
    elif is_dataclass(value) and not isinstance(value, type):
        yield named(type(value))
        for field in fields(value):
            yield from told(getattr(value, field.name))
    elif hasattr(value, "__self__"):  # a method of something
        yield value.__name__
        yield from told(value.__self__)
    else:
        yield named(value)


def named(thing: Any) -> str:
    """A class or a function of this package, by its name."""
    name = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '<nothing>')}"
    if not name.startswith("maestro.") or "<" in name:
        raise Foreign(name)
    return name


@functools.cache
def code() -> str:
    """A digest of all files of the package."""
    found = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(PACKAGE)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()


def name_of(what: Any, arguments: Any) -> str:
    """The name of the program of something for such arguments; `Foreign` if it has none."""
    leaves, structure = jax.tree.flatten(arguments)
    shapes = [f"{leaf.shape} {leaf.dtype}" for leaf in leaves]
    settings = [
        f"{key} {value!r}" for key, value in sorted(jax.config.values.items()) if not NO_MATTER.search(key)
    ]
    chosen = [f"{key} {value}" for key, value in sorted(os.environ.items()) if key.startswith("MAESTRO_")]
    versions = [f"{name} {version(name)}" for name in COMPUTE]
    device = jax.devices()[0]
    own = [*chosen, *native.registered(), code()]
    parts = [*told(what), str(structure), *shapes, *settings, *versions, *own, device.platform]
    return hashlib.sha256("\n".join([*parts, device.device_kind]).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Chunk:
    """A compiled program from a cohort and limits to a cohort and metrics."""

    program: Any
    structure: Any  # of the cohort

    def __call__(self, cohort: Any, *limits: Any) -> tuple[Any, Any]:
        leaves, metrics = self.program(limits, jax.tree.leaves(cohort))
        return jax.tree.unflatten(self.structure, leaves), metrics

    def memory_analysis(self) -> Any:
        """What XLA says of its memory."""
        return self.program.memory_analysis()


def ahead(work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Work that is under way in a thread of its own."""
    return ThreadPoolExecutor(1, AHEAD).submit(work, *arguments)


def folder() -> Path | None:
    """Where they are kept: beside what XLA has compiled, if that is this package's own cache, or nowhere."""
    with suppress(OSError, RuntimeError):  # nobody's home, or others can write there
        own = str(cache.base() / "jax")
        if jax.config.values["jax_compilation_cache_dir"] == own and jax.default_backend() in COMPARED:
            return cache.private("programs")
    return None


def compiled(
    folder: Path | None,
    what: Any,
    function: Callable[..., Any],
    cohort: Any,
    *limits: Any,
    options: dict[str, Any] | None = None,
    begun: Event = UNHEARD,
) -> Chunk:
    """`function` of something, compiled under XLA's options; traced only if it is not kept already.

    `begun` is set as soon as only XLA has to work.
    """
    leaves, structure = jax.tree.flatten(cohort)

    def flat(limits: Any, leaves: Any) -> Any:
        after, metrics = function(jax.tree.unflatten(structure, leaves), *limits)
        return jax.tree.leaves(after), metrics

    def program() -> Any:
        return lowered(folder, (what, (cohort, limits)), flat, limits, leaves)

    ready = sharding.at_ease(program)
    begun.set()
    return Chunk(ready.compile(options), structure)


def lowered(
    folder: Path | None, known: tuple[Any, Any], function: Callable[..., Any], *arguments: Any
) -> Any:
    """A function, ready to be compiled, by what `name_of` takes; as it was kept, if that can be."""
    return traced(folder, known, function, *arguments).lower()


@dataclass(frozen=True)
class Traced:
    """A function for certain arguments: as it was kept, or just traced."""

    kept: bool
    results: Any  # their shapes
    lower: Callable[[], Any]  # what makes it ready to be compiled, and keeps it


def traced(
    folder: Path | None, known: tuple[Any, Any], function: Callable[..., Any], *arguments: Any
) -> Traced:
    """A function, by what `name_of` takes; as it was kept, if that can be."""
    place = None
    if folder is not None:
        with suppress(Foreign):
            place = folder / f"{name_of(*known)}.program"
    found = read(place) if place else None
    program = jax.jit(found.call if found else function)
    lower = partial(ready, folder if place and not found else None, known, program, *arguments)
    return Traced(found is not None, jax.eval_shape(program, *arguments), lower)


def ready(folder: Path | None, known: tuple[Any, Any], program: Any, *arguments: Any) -> Any:
    """A program, lowered, once it is kept in the folder, if that can be."""
    if folder is not None:
        with suppress(Foreign):
            return kept(folder, known, program, *arguments)
    return program.lower(*arguments)


def kept(folder: Path, known: tuple[Any, Any], program: Any, *arguments: Any) -> Any:
    """The same, lowered from what is kept of it; `Foreign` if it cannot be."""
    found = exported(program, *arguments)
    # Its name now: kernels may be known only since it was traced.
    write(folder / f"{name_of(*known)}.program", found)
    return jax.jit(found.call).lower(*arguments)


def exported(program: Any, *arguments: Any, platforms: Sequence[str] | None = None) -> export.Exported:
    """A program that has been traced; `Foreign` if it calls what will not be known later: kernels not ours.

    Some kernels are known only since it was traced.
    """
    ours = [export.DisabledSafetyCheck.custom_call(name) for name in native.registered()]
    try:
        return export.export(program, platforms=platforms, disabled_checks=ours)(*arguments)
    except ValueError as error:
        raise Foreign(str(error)) from error


def read(path: Path) -> export.Exported | None:
    """What was kept, if it is whole."""
    with suppress(OSError, ImportError):
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() == content[:DIGEST]:
            os.utime(path)
            return export.deserialize(bytearray(content[DIGEST:]))
    return None


def write(path: Path, program: export.Exported) -> None:
    """Keep it, if that can be done; of many files the oldest go."""
    with suppress(OSError, ImportError):
        content = bytes(program.serialize())
        write_file(path, hashlib.sha256(content).digest() + content)
        by_age = sorted(path.parent.glob("*.program"), key=lambda file: file.stat().st_mtime)
        for file in by_age[:-MOST]:
            file.unlink(missing_ok=True)
