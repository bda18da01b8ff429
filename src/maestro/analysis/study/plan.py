"""A study's file -> every cohort with all its settings; what is wrong with the file is told all at once."""

from dataclasses import dataclass, replace
from typing import Any

from maestro import settings
from maestro.analysis import figures
from maestro.analysis.study import entries
from maestro.analysis.study.cohorts import (
    NAME,
    Draft,
    Own,
    Planned,
    add_cohorts,
    add_grid,
    check_names,
    names_of,
)
from maestro.analysis.study.entries import CrossPlay, Evaluate, Exploit, Landscapes, Top
from maestro.config import RunConfig
from maestro.evaluation import level_sets
from maestro.games import Game
from maestro.settings import SettingsError, nearest, shown

ALL = "all"  # figures
OF_RUNS = ("emergent", "gallery", "pairs", "hyperparameters")  # figures that need no more than training


@dataclass(frozen=True)
class Study:
    """All that a file asks for."""

    game: Game
    top: Top
    cohorts: tuple[Planned, ...]
    crossplays: tuple[CrossPlay, ...] = ()
    evaluate: Evaluate | None = None
    landscape: Landscapes | None = None
    exploit: Exploit | None = None

    def named(self, names: tuple[str, ...]) -> list[Planned]:
        """The cohorts of these names; of no names, the generalists."""
        return [c for c in self.cohorts if (c.name in names if names else c.generalist)]


def read(content: dict[str, Any], game: Game, own: Own | None = None) -> Study:
    """The study that a file describes; `SettingsError` lists all that is wrong."""
    problems: list[str] = []
    top = top_of(content, problems)
    draft = Draft(game, preset_of(game, top, problems), own or {}, problems)
    draft.common = draft.settings_in(content, "")
    problems += settings.out_of_range(settings.apply(draft.base, draft.common, problems))
    for number, entry in enumerate(entries.listed(content, "cohort", problems), 1):
        add_cohorts(draft, f"cohort {number}", entry)
    for number, entry in enumerate(entries.listed(content, "grid", problems), 1):
        add_grid(draft, number, entry)
    check_names(draft)
    entries.known_names("figures", top.figures, [ALL, *figures.KINDS], problems)
    study = Study(game, top, tuple(draft.cohorts), crossplays_of(content, draft), **tables_of(content, draft))
    check_figures(study, problems)
    if study.exploit is not None and not study.exploit.cohorts and not study.crossplays:
        problems.append("exploit.cohorts: is missing, and there is no [[crossplay]] to find the best by")
    if problems:
        raise SettingsError(list(dict.fromkeys(problems)))
    return study


def check_figures(study: Study, problems: list[str]) -> None:
    """Figures of what the study does not make would be missed only at its end."""
    for name in study.top.figures:
        if name == "landscape" and study.landscape is None:
            problems.append("figures: landscape is made of landscapes, and there is no [landscape]")
        elif name in figures.KINDS and name not in (*OF_RUNS, "landscape") and not study.crossplays:
            problems.append(f"figures: {name} is made of a cross-play, and there is no [[crossplay]]")


def top_of(content: dict[str, Any], problems: list[str]) -> Top:
    """What stands above all tables; a problem for each key that no study has."""
    own, tables = names_of(Top), ["settings", *entries.TABLES, *entries.LISTS]
    strange = [name for name in content if name not in own + tables]
    problems += [f"{shown(name)}: unknown; {nearest(name, own + tables)}" for name in strange]
    return entries.checked(Top(), {n: v for n, v in content.items() if n in own}, "", problems)


def preset_of(game: Game, top: Top, problems: list[str]) -> RunConfig:
    """The settings that all cohorts start from."""
    if top.game != game.name:
        problems.append(f"game: the study is of {shown(top.game)}, not of {game.name}")
    if top.preset in game.presets:
        return game.presets[top.preset]
    said = f"{shown(top.preset)} is not allowed" if top.preset else "is missing"
    problems.append(f"preset: {said}; allowed: {', '.join(game.presets)}")
    return next(iter(game.presets.values()))


def crossplays_of(content: dict[str, Any], draft: Draft) -> tuple[CrossPlay, ...]:
    """The cross plays, each with a name."""
    plays: list[CrossPlay] = []
    for number, entry in enumerate(entries.listed(content, "crossplay", draft.problems), 1):
        where = f"crossplay {number}"
        play = entries.checked(CrossPlay(), one_level(entry), where, draft.problems)
        play = replace(play, name=play.name or "-".join(play.levels).replace(":", "-"))
        if not NAME.fullmatch(play.name) or play.name in [other.name for other in plays]:
            draft.problems.append(f"{where}.name: {shown(play.name)} is taken, or cannot be a folder's name")
        check_entry(where, play, draft)
        entries.known_names(f"{where}.players", play.players, list(draft.game.players), draft.problems)
        plays.append(play)
    return tuple(plays)


def tables_of(content: dict[str, Any], draft: Draft) -> dict[str, Any]:
    """The other evaluations that the file asks for."""
    found = {}
    for name, kind in entries.TABLES.items():
        if name in content:
            found[name] = entries.checked(kind(), one_level(content[name]), name, draft.problems)
            check_entry(name, found[name], draft)
    return found


def check_entry(where: str, entry: Any, draft: Draft) -> None:
    """Whoever is named must be a cohort of the study, and the levels must be there."""
    known = [cohort.name for cohort in draft.cohorts]
    entries.known_names(f"{where}.cohorts", entry.cohorts, known, draft.problems)
    try:
        if isinstance(entry, Evaluate):
            level_sets.of_split(draft.game, entry.split)
        elif not isinstance(entry, Landscapes):
            check_levels(draft.game, ",".join(entry.levels))
    except ValueError as error:
        draft.problems.append(f"{where}.levels: {error}")


def check_levels(game: Game, wanted: str) -> None:
    """Refuse levels that are not there; none are generated for that."""
    made = level_sets.GENERATED.fullmatch(wanted)
    if made is None:
        level_sets.find(game, wanted)
    elif not 1 <= int(made[1]) <= level_sets.MOST:
        raise ValueError(f"{wanted} is not between 1 and {level_sets.MOST:,} levels")


def one_level(content: Any) -> Any:
    """An entry whose levels are a list, even if they were given as one text."""
    if isinstance(content, dict) and isinstance(content.get("levels"), str):
        return {**content, "levels": [content["levels"]]}
    return content
