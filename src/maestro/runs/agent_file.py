"""A trained agent as a file that stands alone: safetensors and a JSON card beside it."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

from maestro import games, normalizer, settings
from maestro.agents.base import Agent
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.envs.base import observation_shape
from maestro.evaluation.opponents import Trained, trained
from maestro.games import Game
from maestro.runs.checkpoint import UNREADABLE, CheckpointError, flatten, unflatten
from maestro.runs.files import write_file
from maestro.toml import reason

MAX_HEADER = 100_000  # bytes of a safetensors file that are not parameters
MAX_CARD = 100_000
ENDING = ".safetensors"
HALF = "float16"  # 2 bytes for a number where training has 4
DTYPES = (None, "float32", HALF)  # of a card; None: as the network has them


class AgentError(ValueError):
    """Why a file cannot be used as an agent."""


def save(path: Path, config: RunConfig, params: Any, about: dict[str, Any], half: bool = False) -> None:
    """Write `path` (.safetensors) and its card (.json), if asked for in half precision."""
    content = safetensors.numpy.save(halved(flatten(params)) if half else flatten(params))
    card = {
        "game": config.game,
        "environment": settings.as_dict(config.environment),
        "agent": settings.as_dict(config.agent),
        "parameters": sum(x.size for x in jax.tree.leaves(params)),
        "sha256": hashlib.sha256(content).hexdigest(),
        "method": config.method,
        **({"dtype": HALF} if half else {}),
        **about,
    }
    write_file(path, content)
    write_file(path.with_suffix(".json"), json.dumps(card, indent=1).encode())


def halved(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays in half precision; what is no fraction stays as it is, what is too large is refused."""
    most = float(np.finfo(HALF).max)
    for name, array in arrays.items():
        if is_fraction(array) and not np.all(np.abs(array) <= most):
            raise AgentError(f"{name} holds a number that half precision cannot: the largest is {most:,.0f}")
    return {name: array.astype(HALF) if is_fraction(array) else array for name, array in arrays.items()}


def is_fraction(leaf: Any) -> bool:
    """Whether an array, or its shape, is of fractions."""
    return jnp.issubdtype(leaf.dtype, jnp.floating)


def save_students(config: RunConfig, cohort: Cohort, out: Path) -> list[Path]:
    """Each seed's student as a file."""
    paths = []
    for i in range(config.seeds):
        path, params = out / f"student-{config.seed + i}.safetensors", student(cohort, i)
        about = {"seed": config.seed + i, "updates": int(cohort.updates), **units(cohort, i)}
        save(path, config, params, about)
        paths.append(path)
    return paths


def student(cohort: Cohort, seed: int) -> Any:
    """The parameters of one seed's student."""
    return jax.tree.map(lambda x: x[seed], cohort.seeds.learner.params)


def units(cohort: Cohort, seed: int) -> dict[str, float]:
    """For the card: what the rewards of one seed's student are divided by, where they are normalized."""
    scales = normalizer.scale(cohort.seeds.normalizer)
    return {} if scales is None else {"reward_scale": float(scales[seed])}


def file_size(path: Path) -> int:
    """The bytes of a file; a folder or a device is none."""
    try:
        size = path.stat().st_size
        if path.is_file():
            return size
    except (OSError, ValueError) as error:
        raise AgentError(reason(error)) from None
    raise AgentError("is no file")


def read_card(path: Path) -> dict[str, Any]:
    """The card of an agent, with the fields that loading needs."""
    if file_size(path) > MAX_CARD:
        raise AgentError(f"larger than {MAX_CARD:,} bytes")
    try:
        card = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AgentError(f"not JSON: {reason(error)}") from None
    kinds = {"agent": dict, "game": str, "environment": dict}
    if isinstance(card, dict):
        card.setdefault("environment", {})  # the first version did not write it down
        if all(isinstance(card.get(name), kind) for name, kind in kinds.items()):
            return card
    raise AgentError("no card of an agent")


def network(card: dict[str, Any], game: Game) -> Agent:
    """The network that a card describes."""
    problems: list[str] = []
    config = settings.apply(game.agent(), card["agent"], problems, "agent.")
    env = settings.apply(game.environment(), card["environment"], problems, "environment.")
    problems += settings.out_of_range(config, "agent.") + settings.out_of_range(env, "environment.")
    if problems:
        raise AgentError("; ".join(problems))
    return fitted(config, env)


def game_of(card: dict[str, Any], game: Game | None) -> Game:
    """The game of an agent, which is the one expected if any is, and known without an import."""
    if game is None:
        try:
            return games.known(card["game"])
        except games.NotFound as error:
            raise AgentError(str(error)) from None
    if card["game"] != game.name:
        raise AgentError(f"plays {settings.shown(card['game'])}, not {game.name}")
    return game


@lru_cache(maxsize=16)
def fitted(agent: Any, env: Any) -> Any:
    """The network for a game's observations; tracing the game takes longer than reading a file."""
    return agent.fitted(observation_shape(env), env.action)


@lru_cache(maxsize=16)
def shapes(agent: Any) -> Any:
    """The parameters' shapes; finding them takes longer than reading a file."""
    return jax.eval_shape(agent.init, jax.random.key(0))


def load_params(path: Path, game: Game | None = None) -> tuple[Agent, Any]:
    """(agent, parameters), checked against the card; nothing is read before the sizes agree."""
    try:
        if path.suffix != ENDING:
            raise AgentError(f"does not end in {ENDING}")
        size = file_size(path)
        agent, card = described(path.with_suffix(".json"), game)
        return agent, read_params(path, size, shapes(agent), card)  # type: ignore[arg-type]
    except AgentError as error:
        raise AgentError(f"{path}: {error}") from None


def described(card_path: Path, game: Game | None) -> tuple[Agent, dict[str, Any]]:
    """(the network, the card) by the card beside a file."""
    try:
        card = read_card(card_path)
        if card.get("dtype") not in DTYPES:
            raise AgentError(
                f"dtype: {settings.shown(card['dtype'])} is not allowed; allowed: float16, float32"
            )
        return network(card, game_of(card, game)), card
    except ValueError as error:
        raise AgentError(f"its card, {card_path.name}: {error}") from None


def read_params(path: Path, size: int, like: Any, card: dict[str, Any]) -> Any:
    """The parameters in a file of so many bytes, in the precision that the network has."""
    stored = jax.tree.map(stored_half, like) if card.get("dtype") == HALF else like
    need = sum(leaf.dtype.itemsize * leaf.size for leaf in jax.tree.leaves(stored))
    if not need < size <= need + MAX_HEADER:
        told = f"{size:,} bytes, where parameters alone take {need:,}"
        raise AgentError(f"not the file that its card describes: {told}")
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != card.get("sha256"):
            raise AgentError("not the file that its card describes")
        arrays = safetensors.numpy.load(content)
        params = unflatten(stored, arrays)
    except (OSError, CheckpointError, *UNREADABLE) as error:
        raise AgentError(reason(error)) from None
    if not all(np.isfinite(x).all() for x in arrays.values()):
        raise AgentError("holds numbers that are not finite")
    return jax.tree.map(widened, params, like)


def widened(array: jax.Array, leaf: Any) -> jax.Array:
    """An array in the precision that is wanted."""
    return array if array.dtype == leaf.dtype else jnp.asarray(np.asarray(array).astype(leaf.dtype))


def stored_half(leaf: Any) -> Any:
    """What a file in half precision has in place of an array."""
    return jax.ShapeDtypeStruct(leaf.shape, HALF) if is_fraction(leaf) else leaf


def load(path: str | Path, game: Game | None = None) -> Trained:
    """A trained agent as a player, from its .safetensors file; by default of a game that is known."""
    agent, params = load_params(Path(path), game)
    return trained(agent, params)
