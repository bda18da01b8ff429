"""Who plays, as a person names it: a script, an agent of the package, an agent's file, a student of a run."""

from collections import Counter
from pathlib import Path
from typing import Any

from maestro.games import Game, shipped
from maestro.runs import agent_file
from maestro.runs.agent_file import ENDING, AgentError
from maestro.runs.folder import RunError, RunFolder, read_settings
from maestro.settings import nearest, shown

AGENTS = "agents"  # the folder of a run's students, which says nothing about whose they are
MARK = "-"  # in labels, for an @ of a folder's name: that one stands before the level of a specialist


def find(game: Game, named: str) -> Any:
    """A player by its name, scripted or one that comes with the package, or by its file or its run."""
    if named.lower() in game.players:
        return game.player(named)
    path = file_of(game, named)
    if path is not None:
        return agent_file.load(path, game)
    hint = nearest(named, [*game.players, *shipped.names(game.name)])
    raise ValueError(f"unknown player {named!r}; {hint}; or the {ENDING} file of an agent, or RUN:SEED")


def file_of(game: Game, named: str) -> Path | None:
    """Where a trained agent lies; None for what names none."""
    if named.endswith(ENDING):
        return Path(named)
    if known := shipped.find(game.name, named):
        return known
    run, seed = run_of(named)
    return student_file(run, seed) if named and run.is_dir() else None


def run_of(named: str) -> tuple[Path, int | None]:
    """(folder, seed) of what may be RUN or RUN:SEED."""
    folder, _, seed = named.rpartition(":")
    told = folder and seed.isdecimal() and not Path(named).is_dir()
    return (Path(folder), int(seed)) if told else (Path(named), None)


def game_of(named: str) -> str:
    """The name of the game that an agent's file or a run tells of; empty where nothing is told."""
    try:
        if named.endswith(ENDING):
            return str(agent_file.read_card(Path(named).with_suffix(".json"))["game"])
        return str(read_settings(run_of(named)[0])[1].get("game", ""))
    except (RunError, ValueError, OSError):  # whoever opens it says what is wrong
        return ""


def seeds_of(folder: RunFolder) -> list[int]:
    """Whose students a run has as files."""
    names = (path.stem.removeprefix("student-") for path in folder.agents.glob(f"student-*{ENDING}"))
    return sorted(int(name) for name in names if name.isdecimal())


def student_file(run: Path, seed: int | None = None) -> Path:
    """The file of a run's student of a seed, by default of its first."""
    seeds = seeds_of(RunFolder(run))
    if not seeds:
        raise AgentError(f"{run}: is no run with students; maestro export RUN writes those of now")
    if seed is not None and seed not in seeds:
        known = ", ".join(map(str, seeds[:16]))
        raise AgentError(f"{run}: has no student of seed {shown(seed)}; seeds: {known}")
    return RunFolder(run).agents / f"student-{seeds[0] if seed is None else seed}{ENDING}"


def ends(path: Path) -> list[str]:
    """The end of a path as a label, ever longer."""
    parts = [part.replace("@", MARK) for part in path.resolve().parts[1:]]
    return ["/".join(parts[at:]) for at in reversed(range(len(parts)))]


def names_of(game: Game, named: str) -> list[str]:
    """What to call a player that was named, ever longer: scripts and agents of the package have one name."""
    file = file_of(game, named)
    if named.lower() in game.players or file is None or shipped.FOLDER in file.resolve().parents:
        return [called(game, named)]
    path = file.with_suffix("") if named.endswith(ENDING) else Path(named)
    if path.parent.name == AGENTS:
        path = path.parent.parent / path.name
    return [called(game, named), *ends(path)[1:]]


def apart(names: dict[Path, list[str]]) -> dict[Path, str]:
    """The first name of each; all whose names are equal take their next ones, until none are."""
    used = dict.fromkeys(names, 0)
    while True:
        chosen = {one: names[one][at] for one, at in used.items()}
        often = Counter(chosen.values())
        longer = [one for one in names if often[chosen[one]] > 1 and used[one] + 1 < len(names[one])]
        if not longer:
            return chosen
        used |= {one: used[one] + 1 for one in longer}


def called(game: Game, named: str) -> str:
    """What to call a player that was named: a name as it is spelled, else the end of a path."""
    if named.lower() in game.players:
        return game.player(named).name
    if known := shipped.find(game.name, named):
        return known.stem
    return Path(named).stem if named.endswith(ENDING) else Path(named).resolve().name
