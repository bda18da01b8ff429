"""A state on disk: one safetensors file and one JSON manifest, checked to the last bit when read."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

import maestro
from maestro.runs import versions
from maestro.runs.files import write_file
from maestro.trees import is_key, numbers

EXTRA = "extra."  # before the paths of arrays that are not part of the state
MAX_MANIFEST = 64_000_000
path_name = partial(jax.tree_util.keystr, simple=True, separator=".")  # `seeds.learner.params.lstm.wx`
# What the reader of safetensors raises; AttributeError is for a type that numpy does not have.
UNREADABLE = (safetensors.SafetensorError, ValueError, KeyError, TypeError, AttributeError)


class CheckpointError(Exception):
    """Why a checkpoint cannot be used."""


class OtherVersion(CheckpointError):
    """The checkpoint is whole, but was made by a version whose checkpoints this one cannot use."""


def flatten(state: Any) -> dict[str, np.ndarray]:
    """Every array by its path; random keys as the numbers they hold."""
    paths = jax.tree_util.tree_flatten_with_path(state)[0]
    return {path_name(path): np.asarray(jax.device_get(raw(leaf))) for path, leaf in paths}


def raw(leaf: Any) -> Any:
    """An array as plain numbers; one on the host stays there."""
    return leaf if isinstance(leaf, np.ndarray) else numbers(jnp.asarray(leaf))


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


def seal(content: dict[str, Any]) -> str:
    """The digest of a manifest's content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def save(folder: Path, name: str, state: Any, extra: dict[str, np.ndarray], about: dict[str, Any]) -> Path:
    """Write a checkpoint; it exists once its manifest does. Returns the manifest's path."""
    arrays = flatten(state) | {EXTRA + path: array for path, array in extra.items()}
    described = {path: describe(array) for path, array in arrays.items()}
    content = {"schema": versions.FORMAT, "name": name, "about": about, "arrays": described}
    write_file(folder / f"{name}.safetensors", safetensors.numpy.save(arrays))
    write_file(folder / f"{name}.json", json.dumps({**content, "sha256": seal(content)}).encode())
    return folder / f"{name}.json"


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest that is as it was written."""
    try:
        if not path.is_file():
            raise CheckpointError("the manifest is no file")
        if path.stat().st_size > MAX_MANIFEST:
            raise CheckpointError("the manifest is too large")
        manifest = json.loads(path.read_bytes())
        ok = isinstance(manifest, dict) and manifest.pop("sha256", None) == seal(manifest)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"the manifest cannot be read: {error}") from None
    if not ok:
        raise CheckpointError("the manifest is not what was written")
    if not versions.readable(manifest.get("schema")):
        raise OtherVersion(versions.too_new(manifest.get("schema"), made_by(manifest)))
    if manifest.get("name") != path.stem:
        raise CheckpointError(f"the manifest is that of {manifest.get('name')}")
    if not all(isinstance(manifest.get(part), dict) for part in ("about", "arrays")):
        raise CheckpointError("the manifest is not that of a checkpoint")
    return manifest


def made_by(manifest: dict[str, Any]) -> str:
    """The version that wrote a manifest; the first one did not say."""
    about = manifest.get("about")
    return f"maestro {about.get('maestro', versions.FIRST) if isinstance(about, dict) else '?'}"


def read_arrays(path: Path, described: dict[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of a file, if they are those that its manifest describes."""
    try:
        if path.exists() and not path.is_file():
            raise CheckpointError("the arrays are no file")
        arrays = safetensors.numpy.load_file(path)
    except (OSError, MemoryError, *UNREADABLE) as error:
        raise CheckpointError(f"the arrays cannot be read: {error}") from None
    if set(arrays) != set(described):
        raise CheckpointError("the arrays are not those of the manifest")
    for name, array in arrays.items():
        if describe(array) != described[name]:
            raise CheckpointError(f"{name} is not what was written")
    return arrays


def load(path: Path, like: Any) -> tuple[Any, dict[str, np.ndarray], dict[str, Any]]:
    """(state, extra, about) of the checkpoint with this manifest; `CheckpointError` says what is wrong."""
    manifest = read_manifest(path)
    arrays = read_arrays(path.with_suffix(".safetensors"), manifest["arrays"])
    extra = {name.removeprefix(EXTRA): arrays.pop(name) for name in list(arrays) if name.startswith(EXTRA)}
    renamed = {versions.array_name(name, manifest["schema"]): array for name, array in arrays.items()}
    try:
        return unflatten(like, renamed), extra, manifest["about"]
    except CheckpointError as error:
        told = f"made by {made_by(manifest)}, this is maestro {maestro.__version__}"
        raise OtherVersion(f"{error}; {told}, or the game's own code has changed") from None
