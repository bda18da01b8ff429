"""Who takes part in a comparison: the students of runs, agents' files, and scripted players."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maestro import games, settings
from maestro.envs.base import Environment
from maestro.evaluation.cross_play import Entrant
from maestro.games import Game
from maestro.runs import agent_file, milestones, players
from maestro.runs import folder as run_folder
from maestro.runs.agent_file import ENDING
from maestro.runs.folder import RunError, RunFolder
from maestro.settings import shown

Groups = dict[str, list[Entrant]]  # by label


@dataclass(frozen=True)
class Candidate:
    """A run whose students can take part."""

    folder: RunFolder
    game: Game
    label: str
    environment: Environment

    @property
    def seeds(self) -> list[int]:
        """Of its students' files."""
        return players.seeds_of(self.folder)

    def students(self, updates: int | None = None) -> list[Entrant]:
        """All its students, or those that it had after so many updates."""
        if not self.seeds:
            path = self.folder.path
            raise RunError(f"{path}: has no students yet; maestro export {path} writes those of now")
        return [self.student(seed, updates) for seed in self.seeds]

    def student(self, seed: int, updates: int | None = None) -> Entrant:
        """One of them."""
        if updates is None:
            path = self.folder.agents / f"student-{seed}{ENDING}"
        else:
            path = milestones.path(self.folder, updates, seed)
        return Entrant(self.label, seed, agent_file.load(path, self.game), digest_of(path))


def digest_of(path: Path) -> str:
    """Of an agent's parameters, by its card."""
    return str(agent_file.read_card(path.with_suffix(".json")).get("sha256", ""))


def open_run(path: Path, game: Game | None = None) -> Candidate:
    """A run, or what is left of one without its checkpoints; by default of a game that is known."""
    folder, raw = run_folder.read_settings(path)
    name = raw.get("game")
    if game is not None and name != game.name:
        raise RunError(f"{path}: is a run of {shown(name)}, not of {game.name}")
    try:
        known = game or games.known(str(name))
    except games.NotFound as error:
        raise RunError(f"{path}: {error}") from None
    problems: list[str] = []
    env = settings.apply(known.environment(), raw.get("environment", {}), problems, "environment.")
    if problems:
        raise RunError(f"{folder.config} is damaged:\n" + "\n".join(problems))
    return Candidate(folder, known, label_of(raw), env)


def label_of(raw: dict[str, Any]) -> str:
    """METHOD, or METHOD@LEVEL for a specialist, whose settings hold the level's name or its text."""
    method, level = str(raw.get("method", "?")), str(raw.get("level") or "")
    return method + ("@file" if "\n" in level else f"@{level}" if level else "")


def is_run(typed: str) -> bool:
    """Whether someone means a folder."""
    return Path(typed).is_dir() and not typed.endswith(ENDING)


def runs_among(game: Game, typed: Sequence[str]) -> dict[str, Candidate]:
    """The runs, by what was typed; two of one method go by the names of their folders."""
    runs = {name: open_run(Path(name), game) for name in typed if is_run(name)}
    often = Counter(run.label for run in runs.values())
    twice = {name: Path(name).resolve().name for name, run in runs.items() if often[run.label] > 1}
    return {name: replace(run, label=twice.get(name, run.label)) for name, run in runs.items()}


def find_all(game: Game, typed: Sequence[str], updates: int | None = None) -> Groups:
    """Everyone who was named, by label: folders of runs, agents' files, names of players."""
    runs = runs_among(game, typed)
    groups: Groups = {}
    for name in typed:
        found = runs[name].students(updates) if name in runs else [single(game, name)]
        label = found[0].label
        if label in groups:
            raise RunError(f"{name}: there is already someone called {label!r}; name each only once")
        groups[label] = found
    return groups


def single(game: Game, name: str) -> Entrant:
    """An agent by its file, or a player by its name."""
    player, label, file = players.find(game, name), players.called(game, name), players.file_of(game, name)
    if file is None:
        return Entrant(label, 0, player)
    seed = agent_file.read_card(file.with_suffix(".json")).get("seed")
    return Entrant(label, seed if type(seed) is int else 0, player, digest_of(file))
