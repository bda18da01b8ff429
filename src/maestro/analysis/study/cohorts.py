"""The cohorts of a study: each entry of its file with all its settings, while what is wrong is collected."""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from maestro import imports, settings
from maestro.analysis.study import entries, grid
from maestro.analysis.study.entries import CohortEntry, GridEntry
from maestro.config import RunConfig
from maestro.curriculum import Method
from maestro.games import Game
from maestro.runs import build
from maestro.settings import SettingsError, shown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@=+-]{0,99}")  # of a folder, in every shell and table
APART = ("game", "method", "level")  # stand elsewhere than among the settings
Own = Mapping[str, Method]  # methods of the user's own, by how they were typed


@dataclass(frozen=True)
class Planned:
    """A cohort that is to be trained."""

    name: str
    config: RunConfig
    method: Method | None = None  # of the user's own
    grid: int = 0  # the number of the grid that it belongs to; 0: none

    @property
    def generalist(self) -> bool:
        """Whether it takes part where nobody is named: no specialist, and no point of a grid."""
        return not self.config.level and not self.grid


@dataclass
class Draft:
    """A study while its file is read: what all cohorts share, which there are, and what is wrong."""

    game: Game
    base: RunConfig
    own: Own
    problems: list[str]
    common: dict[str, Any] = field(default_factory=dict)
    cohorts: list[Planned] = field(default_factory=list)

    def settings_in(self, content: dict[str, Any], where: str) -> dict[str, Any]:
        """The table `settings` of an entry, not yet checked; `seeds` may stand beside it."""
        found = content.get("settings", {})
        if not isinstance(found, dict):
            self.problems.append(f"{where}settings: {shown(found)} is no table")
            found = {}
        apart = [name for name in APART if name in found]
        self.problems += [
            f"{where}settings.{name}: is no setting here; a study has it above" for name in apart
        ]
        seeds = {"seeds": content["seeds"]} if "seeds" in content else {}
        return {name: value for name, value in found.items() if name not in apart} | seeds

    def add(
        self, where: str, changes: dict[str, Any], name: str = "", point: str = "", number: int = 0
    ) -> None:
        """One cohort more; what is wrong in the common settings is not told again."""
        typed, level = str(changes["method"]), Path(str(changes.get("level", "")))
        if imports.is_path(typed) and typed not in self.own:
            self.problems.append(f"{where}: {typed} is imported only if you type it: --method {typed}")
            return
        method, config = self.own.get(typed), replace(self.base, level=str(changes.get("level", "")))
        try:
            config = build.configure(self.game, self.base, settings.merge(self.common, changes), method)
        except SettingsError as error:
            self.problems += [f"{where}: {line}" for line in error.problems if line not in self.problems]
        place = level.stem if "\n" in config.level else config.level
        usual = typed.rpartition(":")[2] + f"@{place}" * bool(place) + point
        self.cohorts.append(Planned(name or usual, config, method, number))


def names_of(kind: Any) -> list[str]:
    """The names of an entry's fields."""
    return [one.name for one in fields(kind)]


def add_cohorts(draft: Draft, where: str, content: dict[str, Any]) -> None:
    """The cohorts of one entry: each of its methods on each of its levels."""
    plain = {name: value for name, value in content.items() if name not in ("settings", "seeds")}
    entry = entries.checked(CohortEntry(), plain, where, draft.problems)
    for one in ("method", "level"):
        if getattr(entry, one) and getattr(entry, f"{one}s"):
            draft.problems.append(f"{where}: {one} and {one}s exclude each other")
    methods, levels = entry.methods or (entry.method,), entry.levels or (entry.level,)
    if not any(methods):
        draft.problems.append(f"{where}.method: is missing")
        return
    own = draft.settings_in(content, f"{where}.")
    for method, level in itertools.product(methods, levels):
        draft.add(where, {**own, "method": method, **({"level": level} if level else {})}, entry.name)


def add_grid(draft: Draft, number: int, content: dict[str, Any]) -> None:
    """The cohorts of a grid: each method with every combination of values."""
    where, own = f"grid {number}", names_of(GridEntry)
    plain = {name: value for name, value in content.items() if name in own and name != "seeds"}
    entry = entries.checked(GridEntry(), plain, where, draft.problems)
    rest = {name: value for name, value in content.items() if name not in (*own, "settings")}
    points = list(grid.points(axes)) if (axes := grid.axes_of(where, rest, draft.problems)) else []
    if not entry.methods:
        draft.problems.append(f"{where}.methods: is missing")
    if len(points) * len(entry.methods) > grid.MAX_POINTS:
        draft.problems.append(f"{where}: more than {grid.MAX_POINTS:,} cohorts")
        return
    common = draft.settings_in(content, f"{where}.")
    for method, (changes, name) in itertools.product(entry.methods, points):
        draft.add(where, settings.merge(common, {**changes, "method": method}), point=name, number=number)


def check_names(draft: Draft) -> None:
    """Every cohort needs a name of its own that can be a folder's, and there must be one."""
    names = [cohort.name for cohort in draft.cohorts]
    scripted = {name for key, player in draft.game.players.items() for name in (key, player.name)}
    for name in dict.fromkeys(names):
        if name in scripted:
            draft.problems.append(f"cohort {name}: a scripted player is called so; give it another: name")
        if not NAME.fullmatch(name):
            draft.problems.append(f"cohort {shown(name)}: cannot be a folder's name; give it another: name")
        if names.count(name) > 1:
            draft.problems.append(
                f"cohort {name}: {names.count(name)} have this name; give them others: name"
            )
    if not names and not draft.problems:
        draft.problems.append("cohort: there is none; write [[cohort]] or [[grid]]")
