"""What the views see of a game: its rules, how its levels are found, how a state is shown; and seeds."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.base import Environment, Level, State, observation_bounds, observation_shape
from maestro.envs.gym.spaces import action_space, observation_space

MAX_SEED = 2**32 - 1
FPS = 12


def no_names(value: str | Path) -> Level:
    """Without a table of names there are no named levels."""
    raise ValueError(
        f"level: {value!r} is a name; this view takes levels as values, maestro.views takes names"
    )


@dataclass(frozen=True)
class Stage:
    """A game as the views see it: its rules, how its levels are found and how a state is shown."""

    env: Environment
    name: str = "maestro"
    find_level: Callable[[str | Path], Level] = no_names
    render_mode: str | None = None
    renderers: dict[str, Callable[[Level, State], Any]] = field(default_factory=dict)  # by render mode

    def __post_init__(self) -> None:
        if self.render_mode is not None and self.render_mode not in self.renderers:
            modes = ", ".join(map(repr, self.renderers)) or "none, this view draws nothing"
            raise ValueError(f"render_mode: {self.render_mode!r} is unknown; allowed: {modes}")

    @property
    def metadata(self) -> dict[str, Any]:
        """What the libraries ask of a view."""
        return {"name": self.name, "render_modes": list(self.renderers), "render_fps": FPS}

    def observation_space(self) -> gymnasium.Space:
        """The space of one agent's observation."""
        return observation_space(observation_shape(self.env), observation_bounds(self.env))

    def action_space(self) -> gymnasium.Space:
        """The space of one agent's action."""
        return action_space(self.env)

    def level(self, given: Any) -> Level | None:
        """A level by its name, its file or as it is; None stands for one that is sampled."""
        if isinstance(given, str | Path):
            return self.find_level(given)
        expected = jax.eval_shape(self.env.sample_level, jax.random.key(0))
        if given is None or shapes(given) == shapes(expected):
            return given
        raise ValueError(
            f"level: {type(given).__name__} is no level of this game; allowed: what sample_level gives"
        )

    def levels(self, given: Any, games: int) -> Any:
        """A level for each of some games: all the same, from a list, or batched; None if they are sampled."""
        if isinstance(given, list):
            found = [self.level(one) for one in given]
            if len(found) != games or None in given:
                raise ValueError(f"level: a list needs {games} levels; it has {len(found)}")
            return jax.tree.map(lambda *x: jnp.stack(x), *found)
        keys = jax.random.split(jax.random.key(0), games)
        if shapes(given) == shapes(jax.eval_shape(jax.vmap(self.env.sample_level), keys)):
            return given
        return jax.tree.map(lambda x: jnp.tile(x, (games, *[1] * jnp.ndim(x))), self.level(given))

    def render(self, level: Level, state: State) -> Any:
        """Show a state in the mode that was asked for."""
        if self.render_mode is None:
            gymnasium.logger.warn(f"render: no render_mode was chosen; allowed: {', '.join(self.renderers)}")
            return None
        return self.renderers[self.render_mode](*jax.device_get((level, state)))


def as_stage(game: Environment | Stage) -> Stage:
    """A game alone has no names and no pictures."""
    return game if isinstance(game, Stage) else Stage(game)


def shapes(tree: Any) -> Any:
    """What two levels of a game have in common."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(np.shape(x), getattr(x, "dtype", type(x))) for x in leaves]


def check_seed(seed: Any) -> int:
    """A seed that was given, or one that nobody has chosen."""
    if seed is None:
        return secrets.randbits(32)
    if not isinstance(seed, int | np.integer) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed: {seed!r} is not allowed; allowed: an integer from 0 to {MAX_SEED}")
    return int(seed)


def chosen_level(options: dict | None) -> Any:
    """The level among the options of a reset; both libraries pass others on, which mean nothing here."""
    return (options or {}).get("level")


def check_seeds(seed: Any, games: int) -> list[int]:
    """A seed for each game: from one on, or from a list."""
    if seed is None or isinstance(seed, int | np.integer):
        first = check_seed(seed)
        seed = [(first + i) % (MAX_SEED + 1) if seed is None else first + i for i in range(games)]
    if len(seed) != games:
        raise ValueError(f"seed: a list needs {games} integers; it has {len(seed)}")
    return [check_seed(one) for one in seed]
