"""Who takes part in a comparison: the students of runs, agents' files, and scripted players."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
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
LONGEST = 100  # characters of what a message repeats of a run


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
            path = str(self.folder.path)
            raise RunError(
                f"{path}: has no students yet; maestro export {shlex.quote(path)} writes those of now"
            )
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
        meant = f"if that is the game: --game {typed_as(folder, name)}"
        raise RunError(f"{path}: is a run of {shown(name)}, not of {game.name}; {meant}")
    try:
        known = game or games.known(str(name))
    except games.NotFound as error:
        raise RunError(f"{path}: {error}") from None
    problems: list[str] = []
    env = settings.apply(known.environment(), raw.get("environment", {}), problems, "environment.")
    if problems:
        raise RunError(f"{folder.config} is damaged:\n" + "\n".join(problems))
    return Candidate(folder, known, label_of(raw), env)


def typed_as(folder: RunFolder, name: Any) -> str:
    """What to type for the game of a run: its name if it is known, else where the run had it from."""
    origin = run_folder.read_json(folder.about).get("game_from")
    known = name if name in games.TABLE else origin
    return shlex.quote(known) if isinstance(known, str) and len(known) < LONGEST else "module:NAME"


def label_of(raw: dict[str, Any]) -> str:
    """METHOD, or METHOD@LEVEL for a specialist, whose settings hold the level's name or its text."""
    method, level = str(raw.get("method", "?")), str(raw.get("level") or "")
    return method + ("@file" if "\n" in level else f"@{level}" if level else "")


def is_run(typed: str) -> bool:
    """Whether someone means a folder."""
    return Path(typed).is_dir() and not typed.endswith(ENDING)


def labels_of(game: Game, typed: Iterable[str]) -> dict[str, str]:
    """What to call each who was named: different ones differently, by as much of their paths as it takes."""
    places = {name: place_of(game, name) for name in typed}
    first = {place: name for name, place in reversed(places.items())}
    chosen = players.apart({place: names_of(game, name) for place, name in first.items()})
    return {name: chosen[place] for name, place in places.items()}


def place_of(game: Game, name: str) -> Path:
    """Who is meant, however it was typed: a folder or a file, of a scripted player its name."""
    if is_run(name):
        return Path(name).resolve()
    file = None if name.lower() in game.players else players.file_of(game, name)
    return Path(name.lower()) if file is None else file.resolve()


def names_of(game: Game, name: str) -> list[str]:
    """What someone can be called, ever longer; a specialist never without its level."""
    if not is_run(name):
        return players.names_of(game, name)
    label = open_run(Path(name), game).label
    mark = "".join(label.partition("@")[1:])
    known = mark.replace("@", players.MARK)
    return [label, *(end.removesuffix(known) + mark for end in players.ends(Path(name)))]


def runs_among(
    game: Game, typed: Sequence[str], labels: Mapping[str, str] | None = None
) -> dict[str, Candidate]:
    """The runs, by what was typed."""
    labels = labels_of(game, typed) if labels is None else labels
    return {name: replace(open_run(Path(name), game), label=labels[name]) for name in typed if is_run(name)}


def find_all(
    game: Game, typed: Sequence[str], updates: int | None = None, labels: Mapping[str, str] | None = None
) -> Groups:
    """Everyone who was named, by label: folders of runs, agents' files, names of players."""
    labels = labels_of(game, typed) if labels is None else labels
    runs = runs_among(game, typed, labels)
    groups: Groups = {}
    for name in typed:
        if labels[name] in groups:
            raise RunError(f"{name}: is named twice, as {labels[name]!r}; name each only once")
        groups[labels[name]] = (
            runs[name].students(updates) if name in runs else [single(game, name, labels[name])]
        )
    return groups


def single(game: Game, name: str, label: str = "") -> Entrant:
    """An agent by its file, or a player by its name."""
    player, file = players.find(game, name), players.file_of(game, name)
    label = label or players.called(game, name)
    if file is None:
        return Entrant(label, 0, player)
    seed = agent_file.read_card(file.with_suffix(".json")).get("seed")
    return Entrant(label, seed if type(seed) is int else 0, player, digest_of(file))
