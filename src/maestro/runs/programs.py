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
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path
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
) -> Chunk:
    """`function` of something, compiled under XLA's options; traced only if it is not kept already."""
    leaves, structure = jax.tree.flatten(cohort)

    def flat(limits: Any, leaves: Any) -> Any:
        after, metrics = function(jax.tree.unflatten(structure, leaves), *limits)
        return jax.tree.leaves(after), metrics

    def program() -> Any:
        return lowered(folder, (what, (cohort, limits)), flat, limits, leaves).compile(options)

    return Chunk(sharding.at_ease(program), structure)


def lowered(
    folder: Path | None, known: tuple[Any, Any], function: Callable[..., Any], *arguments: Any
) -> Any:
    """A function, ready to be compiled, by what `name_of` takes; as it was kept, if that can be."""
    if folder is not None:
        with suppress(Foreign):
            return kept(folder, known, function, *arguments)
    return jax.jit(function).lower(*arguments)


def kept(folder: Path, known: tuple[Any, Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """The same; traced only if it is not kept already. `Foreign` if it cannot be."""

    def path() -> Path:
        return folder / f"{name_of(*known)}.program"

    found = read(path())
    if found is None:
        found = exported(function, *arguments)
        write(path(), found)  # its name now: kernels may be known only since it was traced
    return jax.jit(found.call).lower(*arguments)


def exported(
    function: Callable[..., Any], *arguments: Any, platforms: Sequence[str] | None = None
) -> export.Exported:
    """A traced program; `Foreign` if it calls what will not be known later: kernels that are not ours."""
    program = jax.jit(function)
    program.trace(*arguments)  # some kernels are known only since then
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
