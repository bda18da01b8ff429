"""The levels of a page, each once: others point to them by their place."""

import hashlib
import re
from functools import cached_property
from typing import Any

import jax
import numpy as np

from maestro.envs.scene import flat, scene_data
from maestro.games import Game, describe

MAX_TEXT = 2000  # letters of a level or a state that is shown as text
MARKUP = re.compile(r"(?<!\\)\[/?[#\w .]*\]")


class Scenes:
    """Levels as plain data; where a game has no shapes, as text."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.found: list[dict[str, Any]] = []
        self.places: dict[tuple[bytes, str], int] = {}
        self.shared: dict[str, int] = {}  # bodies that an earlier scene has, too

    def add(self, level: Any, label: str = "") -> int:
        """The place of a level, which is drawn if it is new."""
        known = digest(level), label
        if known not in self.places:
            self.places[known] = len(self.found)
            self.found.append({**self.drawn(level), "label": label})
        return self.places[known]

    def drawn(self, level: Any) -> dict[str, Any]:
        """One level."""
        if self.game.draw.scene is None:
            return nothing(self.described(level))
        data = scene_data(self.game.draw.scene(level))
        first = self.shared.setdefault(repr(data["bodies"]), len(self.found))
        return data if first == len(self.found) else data | {"bodies": {"same": first}}

    def described(self, level: Any) -> str:
        """A level as text: its first state as terminals show it, or else its numbers."""
        if self.game.draw.terminal is describe:
            return self.game.levels.to_text(level, "")
        return self.text(level, jax.device_get(self.begin(level)))

    @cached_property
    def begin(self) -> Any:
        """What makes the first state of a level."""
        env = self.game.environment()
        return jax.jit(lambda level: env.reset(jax.random.key(0), level)[0])

    def add_text(self, text: str, label: str = "") -> int:
        """The place of a level that exists as text only."""
        known = hashlib.sha256(text.encode(errors="replace")).digest(), label
        if known not in self.places:
            self.places[known] = len(self.found)
            self.found.append({**nothing(text), "label": label})
        return self.places[known]

    def frame(self, level: Any, state: Any) -> list[int | float]:
        """A state as what moves in it."""
        assert self.game.draw.bodies is not None
        return flat(self.game.draw.bodies(level, state))

    def text(self, level: Any, state: Any) -> str:
        """A state as text, for games without shapes."""
        return MARKUP.sub("", self.game.draw.terminal(level, state)).replace(r"\[", "[")[:MAX_TEXT]

    @property
    def draws(self) -> bool:
        """Whether games can be shown as shapes."""
        return self.game.draw.scene is not None and self.game.draw.bodies is not None


def nothing(text: str) -> dict[str, Any]:
    """A scene without shapes."""
    return {
        "size": [0, 0],
        "ground": "floor",
        "shapes": [],
        "bodies": [],
        "start": [],
        "text": text[:MAX_TEXT],
    }


def digest(level: Any) -> bytes:
    """What a level is."""
    leaves = [np.ascontiguousarray(np.asarray(leaf)).tobytes() for leaf in jax.tree.leaves(level)]
    return hashlib.sha256(b"|".join(leaves)).digest()
