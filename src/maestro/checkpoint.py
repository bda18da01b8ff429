"""A state on disk: one safetensors file and one JSON manifest, checked to the last bit when read."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

SCHEMA = 1
NAME = re.compile(r"(\d{9})-(\d{9})\.json")  # updates and cycles
EXTRA = "extra."  # before the paths of arrays that are not part of the state
MAX_MANIFEST = 64_000_000
# What the reader of safetensors raises; AttributeError is for a type that numpy has not.
UNREADABLE = (safetensors.SafetensorError, ValueError, KeyError, TypeError, AttributeError)


class CheckpointError(Exception):
    """Why a checkpoint cannot be used."""


def flatten(state: Any) -> dict[str, np.ndarray]:
    """Every array by its path; random keys as the numbers they hold."""
    paths = jax.tree_util.tree_flatten_with_path(state)[0]
    return {path_name(path): np.asarray(jax.device_get(raw(leaf))) for path, leaf in paths}


def path_name(path: Any) -> str:
    """`runs.learner.params.lstm.wx`."""
    return jax.tree_util.keystr(path, simple=True, separator=".")


def is_key(leaf: Any) -> bool:
    """Whether an array holds random keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def raw(leaf: Any) -> Any:
    """An array as plain numbers."""
    leaf = jnp.asarray(leaf)
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def unflatten(like: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Arrays put where `like`, a tree of shapes, has them; a clear error where they do not fit."""
    paths, tree = jax.tree_util.tree_flatten_with_path(like)
    expected = {path_name(path): leaf for path, leaf in paths}
    if set(expected) != set(arrays):
        odd = sorted(set(expected) ^ set(arrays))
        raise CheckpointError(f"holds other arrays than this run needs: {', '.join(odd[:3])}")
    return jax.tree_util.tree_unflatten(
        tree, [fit(name, leaf, arrays[name]) for name, leaf in expected.items()]
    )


def fit(name: str, leaf: Any, array: np.ndarray) -> jax.Array:
    """One array, of the shape and type that is expected."""
    want = jax.eval_shape(jax.random.key_data, leaf) if is_key(leaf) else leaf
    if array.shape != want.shape or array.dtype != want.dtype:
        raise CheckpointError(
            f"{name} is {array.dtype}{list(array.shape)}, not {want.dtype}{list(want.shape)}"
        )
    return jax.random.wrap_key_data(jnp.asarray(array)) if is_key(leaf) else jnp.asarray(array)


def describe(array: np.ndarray) -> dict[str, Any]:
    """Shape, dtype and digest of an array."""
    content = np.ascontiguousarray(array)
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "sha256": hashlib.sha256(content.data).hexdigest(),
    }


def write_file(path: Path, content: bytes) -> None:
    """All of a file or nothing: under another name, synced, then renamed."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def save(folder: Path, name: str, state: Any, extra: dict[str, np.ndarray], about: dict[str, Any]) -> Path:
    """Write a checkpoint; it exists once its manifest does. Returns the manifest's path."""
    arrays = flatten(state) | {EXTRA + path: array for path, array in extra.items()}
    manifest = {
        "schema": SCHEMA,
        "about": about,
        "arrays": {path: describe(array) for path, array in arrays.items()},
    }
    write_file(folder / f"{name}.safetensors", safetensors.numpy.save(arrays))
    write_file(folder / f"{name}.json", json.dumps(manifest).encode())
    return folder / f"{name}.json"


def found(folder: Path) -> list[Path]:
    """The manifests, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest whose fields are of the right kinds."""
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise CheckpointError("the manifest is too large")
        manifest = json.loads(path.read_bytes())
        ok = isinstance(manifest, dict) and isinstance(manifest.get("arrays"), dict)
        ok = ok and isinstance(manifest.get("about"), dict) and isinstance(manifest.get("schema"), int)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the manifest cannot be read: {error}") from None
    if not ok:
        raise CheckpointError("the manifest is no manifest of a checkpoint")
    if manifest["schema"] != SCHEMA:
        raise CheckpointError(f"schema {manifest['schema']} is not {SCHEMA}, which this version reads")
    return manifest


def load(path: Path, like: Any, config_digest: str) -> tuple[Any, dict[str, np.ndarray], dict[str, Any]]:
    """(state, extra, about) of the checkpoint with this manifest; `CheckpointError` says what is wrong."""
    manifest = read_manifest(path)
    if manifest["about"].get("config") != config_digest:
        raise CheckpointError("belongs to a run with other settings")
    try:
        arrays = safetensors.numpy.load_file(path.with_suffix(".safetensors"))
    except (OSError, MemoryError, *UNREADABLE) as error:
        raise CheckpointError(f"the arrays cannot be read: {error}") from None
    if set(arrays) != set(manifest["arrays"]):
        raise CheckpointError("the arrays are not those of the manifest")
    for name, array in arrays.items():
        if describe(array) != manifest["arrays"][name]:
            raise CheckpointError(f"{name} is not what was written")
    extra = {name.removeprefix(EXTRA): arrays.pop(name) for name in list(arrays) if name.startswith(EXTRA)}
    return unflatten(like, arrays), extra, manifest["about"]


def set_aside(path: Path) -> None:
    """Keep a bad checkpoint out of the way, under names that nothing reads."""
    for file in (path, path.with_suffix(".safetensors")):
        if file.exists():
            file.replace(file.with_name(file.name + ".bad"))


def prune(folder: Path, newest: int, milestone: int) -> None:
    """Keep the newest few and those at a milestone; manifests go first, so that no half remains readable."""
    manifests = found(folder)
    for path in manifests[: max(0, len(manifests) - newest)]:
        if int(path.stem.split("-")[0]) % milestone:
            path.unlink(missing_ok=True)
            path.with_suffix(".safetensors").unlink(missing_ok=True)
