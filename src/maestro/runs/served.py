"""What the teacher served along training, as small samples: levels, co-players, scores, and its books."""

import re
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from flax.struct import PyTreeNode
from jaxtyping import Array, PRNGKeyArray

from maestro import curriculum, level_buffer, population, sharding
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.curriculum import Curriculum, Teacher
from maestro.envs.base import Environment
from maestro.runs import effort, programs
from maestro.runs.checkpoint import UNREADABLE, CheckpointError, fit, flatten, path_name
from maestro.runs.evaluation_log import evaluation_points
from maestro.runs.files import write_file
from maestro.runs.folder import RunError, RunFolder
from maestro.toml import reason
from maestro.train import Experiment
from maestro.trees import Leaf, Tree, is_key

FILE = re.compile(r"(\d{9,})\.safetensors")
MAX_FILE = 256_000_000  # bytes
QUANTILES = 9  # of the scores in a buffer, the lowest and the highest included
OWN = 3  # folded into a seed's key; training folds 0, 1 and 2


class Sample(PyTreeNode):
    """Draws of what is served to updates at one moment, and what the teacher knows then; NumPy arrays."""

    levels: Tree  # leaves [S, n, ...]
    coplayer: Leaf  # int [S, n]; slots, 0 being the live student
    score: Leaf  # [S, n]; the stored score, NaN for new levels
    replayed: Leaf  # bool [S, n]; new levels are served where none are replayed, or none can be yet
    members: Leaf  # int [S]
    weights: Leaf  # [S, P]; the probability of each slot
    win_rate: Leaf  # [S, P]; NaN without a game
    fill: Leaf  # [S, B]; share of each buffer filled, one or P of them, or none
    scores: Leaf  # [S, B, 9]; quantiles of the stored scores, NaN while there are none


def draw_pairs(key: PRNGKeyArray, teacher: Teacher, count: int, known: Curriculum) -> tuple[Any, ...]:
    """(levels, co-players, scores, whether replayed), each [n], drawn by the method's own rules."""
    whose, which, new = jax.random.split(key, 3)
    warm, weights = curriculum.warm(teacher, known), curriculum.weights(teacher, known)
    levels = jax.vmap(teacher.generate)(jax.random.split(new, count))
    buffers, nothing = known.buffers, jnp.full(count, jnp.nan)
    if buffers is None or teacher.learns_from_new:
        return levels, level_buffer.sample(whose, weights, count), nothing, jnp.zeros(count, bool)
    can = jnp.any(warm)  # until then nothing is replayed, by nobody
    coplayer = level_buffer.sample(whose, jnp.where(can, weights * warm, weights), count)
    index = curriculum.buffer_index(teacher, coplayer)
    keys = jax.random.split(which, buffers.size.shape[0])
    chances = jax.vmap(lambda b: level_buffer.priorities(teacher.config, b))(buffers)
    slots = jax.vmap(lambda k, p: level_buffer.sample(k, p, count))(keys, chances)[index, jnp.arange(count)]
    stored = jax.tree.map(lambda x: x[index, slots], (buffers.levels, buffers.score))
    levels, score = jax.tree.map(lambda x, y: jnp.where(can, x, y), stored, (levels, nothing))
    return levels, coplayer, score, jnp.full(count, can)


def draw_seed(key: PRNGKeyArray, teacher: Teacher, count: int, known: Curriculum) -> Sample:
    """The sample of one seed."""
    buffers, members = known.buffers, known.population
    fill, scores = jnp.zeros(0), jnp.zeros((0, QUANTILES))
    if buffers is not None:
        stored = jnp.where(jax.vmap(level_buffer.filled)(buffers), buffers.score, jnp.nan)
        fill = buffers.size / buffers.score.shape[1]
        scores = jnp.nanquantile(stored, jnp.linspace(0.0, 1.0, QUANTILES), axis=1).T
    levels, coplayer, score, replayed = draw_pairs(key, teacher, count, known)
    return Sample(
        levels=levels,
        coplayer=coplayer,
        score=score,
        replayed=replayed,
        members=members.size,
        weights=curriculum.weights(teacher, known),
        win_rate=jnp.where(members.games > 0, population.win_rate(members), jnp.nan),
        fill=fill,
        scores=scores,
    )


def draw(teacher: Teacher, count: int, known: Curriculum, first: Array, updates: Array) -> Sample:
    """The sample of each seed from the first on, with keys of its own."""

    def one(number: Array, own: Curriculum) -> Sample:
        key = jax.random.fold_in(jax.random.key(number), OWN)
        return draw_seed(jax.random.fold_in(key, updates), teacher, count, own)

    return jax.vmap(one)(first + jnp.arange(len(known.population.size)), known)


@lru_cache(maxsize=4)
def drawing(experiment: Experiment, count: int, shapes: tuple[Any, ...], structure: Any) -> Future[Any]:
    """What calls `draw` for curricula of such shapes, to be; its program is kept as a chunk's is."""
    level: Any = jax.tree.structure(jax.eval_shape(lambda: experiment.teacher.generate(jax.random.key(0))))

    def flat(leaves: Any, *more: Array) -> Any:
        return jax.tree.leaves(draw(experiment.teacher, count, jax.tree.unflatten(structure, leaves), *more))

    given = list(shapes), np.int32(0), np.int32(0)
    known = ("drawn", experiment, count), given
    lowered = sharding.at_ease(lambda: programs.lowered(programs.folder(), known, flat, *given))

    def made() -> Callable[..., Sample]:
        program = lowered.compile(effort.options(tried=False))

        def drawn(*given: Any) -> Sample:
            leaves = jax.device_get(program(*given))
            return Sample(jax.tree.unflatten(level, leaves[: level.num_leaves]), *leaves[level.num_leaves :])

        return drawn

    return programs.ahead(made)


def begin(config: RunConfig, experiment: Experiment, like: Cohort) -> Future[Any]:
    """What draws samples of such a state, under way in a thread of its own; begun but once."""
    leaves, structure = jax.tree.flatten(like.seeds.curriculum)
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves)
    return drawing(experiment, config.evaluation.keep_levels, shapes, structure)


def sample(config: RunConfig, experiment: Experiment, state: Cohort) -> Sample:
    """What is served now: training goes on as if nothing had been asked."""
    known = jax.tree.leaves(state.seeds.curriculum)
    return begin(config, experiment, state).result()(known, np.int32(config.seed), state.updates)


def path(folder: RunFolder, updates: int) -> Path:
    """The file of a moment's sample."""
    return folder.levels / f"{updates:09d}.safetensors"


def points(folder: RunFolder) -> list[int]:
    """After how many updates a sample was kept, in order."""
    files = folder.levels.iterdir() if folder.levels.is_dir() else []
    return sorted(int(match[1]) for file in files if (match := FILE.fullmatch(file.name)))


def keep(folder: RunFolder, config: RunConfig, experiment: Experiment, state: Cohort, anew: bool) -> None:
    """Write a sample of now if one is due, over the one there is if `anew`."""
    now, count = int(state.updates), config.evaluation.keep_levels
    file = path(folder, now)
    due = now in (0, config.schedule.total_updates, *evaluation_points(config))
    if due and count and (anew or not file.is_file()):
        folder.levels.mkdir(exist_ok=True)
        write_file(file, safetensors.numpy.save(flatten(sample(config, experiment, state))))


def load(folder: RunFolder, env: Environment, updates: int) -> Sample:
    """The sample of a moment; `RunError` says what is wrong with it."""
    file = path(folder, updates)
    if not file.is_file():
        known = ", ".join(map(str, points(folder))) or "none"
        raise RunError(
            f"{folder.path}: no levels were kept at update {updates}; updates with levels: {known}"
        )
    try:
        if file.stat().st_size > MAX_FILE:
            raise CheckpointError(f"larger than {MAX_FILE:,} bytes")
        return placed(safetensors.numpy.load(file.read_bytes()), env)
    except (OSError, CheckpointError, *UNREADABLE) as error:
        raise RunError(f"{file}: no sample of levels: {reason(error)}") from None


def placed(arrays: dict[str, np.ndarray], env: Environment) -> Sample:
    """The arrays of a file where they belong, levels being those of a game."""
    level = jax.eval_shape(env.sample_level, jax.random.key(0))
    others: dict[str, Any] = {name: arrays[name] for name in Sample.__dataclass_fields__ if name != "levels"}
    axes, prefix = others["coplayer"].shape, "levels"

    def of_level(place: Any, leaf: Any) -> Any:
        name = path_name((jax.tree_util.GetAttrKey(prefix), *place))
        array = fit(name, jax.ShapeDtypeStruct((*axes, *leaf.shape), leaf.dtype), arrays[name])
        return array if is_key(array) else np.asarray(array)

    return Sample(jax.tree_util.tree_map_with_path(of_level, level), **others)
