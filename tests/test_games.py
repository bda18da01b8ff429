"""Games and methods of one's own: found where a person says, trained, resumed; never imported unasked."""

import json
import os
import sys
import textwrap

import pytest

from maestro import cli, games
from maestro.config import TINY
from maestro.games import Game, NotFound
from maestro.games.lasertag import GAME
from maestro.runs import build, sessions
from maestro.runs import folder as run_folder
from maestro.settings import SettingsError
from probes import RACE, Race, SmallAgent
from runs_helpers import beside_tests, claim, newest
from runs_helpers import call as call_process

MY_GAME = """
    from dataclasses import dataclass
    from typing import Annotated

    from maestro.agents.mlp import MLP
    from maestro.config import Given, Range
    from maestro.games import Game
    from probes import Race
    from runs_helpers import micro

    @dataclass(frozen=True)
    class Sprint(Race):
        '''A race over some distance.'''

        length: Annotated[int, Range(1, 9)] = 3
        '''How far it is.'''
        wind: bool = False
        '''Whether there is any.'''
        secret: Annotated[int, Given] = 7

    GAME = Game("sprint", Sprint, MLP, {"tiny": micro(agent=MLP((8,)), environment=None)})
"""
MY_RULES = """
    from maestro.curriculum import Method, Source
    from maestro.methods import uniform

    EVEN = Method(lambda config, curriculum: uniform(config, curriculum), Source.SHARED)
    OTHER = EVEN
"""
EVIL = """
    from pathlib import Path

    Path(__file__).with_name("imported").touch()
    from maestro.games import Game
    from maestro.methods import METHODS
    from probes import Race, SmallAgent

    GAME = Game("evil:GAME", Race, SmallAgent)
    RULE = METHODS["maestro"]
"""
MODULES = ("my_game", "my_rules", "evil")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder of its own for each test, which leaves nothing behind of what was imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(games, "_found", {})
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def write(name, code):
    """A module in the working directory."""
    with open(f"{name}.py", "w") as file:
        file.write(textwrap.dedent(code))


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_known_games_are_found_by_their_names():
    assert games.find("lasertag") is games.known("lasertag") is GAME
    assert all(games.find(name).name == name for name in games.TABLE)
    assert games.find("maestro.games.lasertag:GAME") is GAME


@pytest.mark.parametrize("name", ["", "lasertagg", "my_game.py", "./my_game:GAME", "a b:GAME", "a:B:C", "a:"])
def test_an_unknown_game_is_told_with_those_that_are_known(name):
    with pytest.raises(NotFound, match=r"is unknown; .*lasertag.*a game of your own is module:NAME"):
        games.find(name)


def test_a_game_is_found_in_the_working_directory_which_is_looked_at_last():
    write("my_game", MY_GAME)
    write("json", "raise RuntimeError('not the real one')")
    assert games.find("lasertag") is GAME and os.getcwd() not in sys.path
    game = games.find("my_game:GAME")
    assert game.name == "sprint" and sys.path[-1] == os.getcwd()
    assert games.known("sprint") is game and games.find("sprint") is game


def test_a_game_that_was_never_typed_is_not_known():
    with pytest.raises(NotFound, match=r"the game 'sprint' is not known here; .* --game module:NAME"):
        games.known("sprint")


BROKEN = {
    "no such module": (None, "ModuleNotFoundError: No module named 'my_game'"),
    "no such name": ("OTHER = 3", "AttributeError: module 'my_game' has no attribute 'GAME'"),
    "a module that raises": ("x = 3\nx / 0", "ZeroDivisionError: division by zero (my_game.py, line 2)"),
    "a module that is no Python": ("def (", "SyntaxError: "),
    "a module that ends the process": ("import sys\nsys.exit(3)", "SystemExit: 3 (my_game.py, line 2)"),
    "a module that needs another": ("import no_such", "No module named 'no_such' (my_game.py, line 1)"),
    "a value that is no game": ("GAME = {'name': 'mine'}", "my_game:GAME is a dict, not a Game"),
    "a class that is a game's": ("from maestro.games import Game as GAME", "GAME is a type, not a Game"),
    "a name that is taken": (
        "from probes import Game, Race, SmallAgent\nGAME = Game('lasertag', Race, SmallAgent)",
        "my_game:GAME: the name 'lasertag' belongs to another game",
    ),
    "a setting of an unsupported type": (
        "from dataclasses import dataclass\nfrom probes import Game, Race, SmallAgent\n\n"
        "@dataclass(frozen=True)\nclass Odd(Race):\n    board: dict = None\n    more: list[int] = None\n\n"
        "GAME = Game('odd', Odd, SmallAgent)",
        "TypeError: environment.board, environment.more: a setting is int, float, bool, str, a Literal of "
        "texts, or a tuple of one of these (my_game.py, line 9)",
    ),
    "a setting without a default": (
        "from dataclasses import dataclass\nfrom probes import Game, Probe, SmallAgent\n\n"
        "@dataclass(frozen=True, kw_only=True)\nclass Odd(Probe):\n    size: int\n\n"
        "GAME = Game('odd', Odd, SmallAgent)",
        "missing 1 required keyword-only argument: 'size'",
    ),
    "an environment that can change": (
        "from probes import Game, SmallAgent\n\nclass Odd:\n    pass\n\nGAME = Game('odd', Odd, SmallAgent)",
        "TypeError: environment: Odd is no frozen dataclass (my_game.py, line 6)",
    ),
    "no presets": (
        "from probes import Game, Race, SmallAgent\nGAME = Game('odd', Race, SmallAgent, presets={})",
        "ValueError: presets: a game needs at least one (my_game.py, line 2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", [["train"], ["duel", "random", "--game"]], ids=["train", "duel"])
def test_a_game_that_cannot_be_had_is_told_in_one_line_with_code_2(capsys, command, name):
    code, message = BROKEN[name]
    if code is not None:
        write("my_game", code)
    code, out, err = call(capsys, *command, "my_game:GAME")
    assert (code, out) == (2, "") and message in err and err.count("\n") == 1, err
    assert err.startswith("maestro: game: " if command == ["train"] else "maestro: --game: ")


@pytest.mark.parametrize(
    ("hint", "good"),
    [
        ("int | None", False),
        ("list[int]", False),
        ("tuple[int, str]", False),
        ("tuple[tuple[int, ...], ...]", False),
        ("Literal[1, 2]", False),
        ("Literal['a', 'b']", True),
        ("tuple[int, ...]", True),
        ("tuple[float, float]", True),
        ("Annotated[float, Range(0, 1)]", True),
    ],
)
def test_which_types_settings_have(hint, good):
    imported = "from dataclasses import dataclass\nfrom typing import *\nfrom maestro.config import Range\n"
    made = "from probes import *\n@dataclass(frozen=True)\nclass Mine(Race):\n    mine: {} = None\n"
    write("my_game", imported + made.format(hint) + "GAME = Game('mine', Mine, SmallAgent)\n")
    if good:
        assert games.find("my_game:GAME").name == "mine"
    else:
        with pytest.raises(NotFound, match=r"environment\.mine: a setting is int"):
            games.find("my_game:GAME")


def test_numbers_without_a_range_must_fit_the_machine_and_lists_their_length():
    def problems(**changes):
        with pytest.raises(SettingsError) as raised:
            build.configure(RACE, RACE.presets["tiny"], changes)
        return raised.value.problems

    assert "environment.length: 2147483648 is out of range" in problems(environment={"length": 2**31})[0]
    assert problems(agent={"view": [3, 3]}) == ["agent.view: 2 entries; allowed: exactly 3"]


def test_a_game_of_three_is_refused_in_one_sentence(capsys):
    write(
        "my_game",
        "from probes import *\nclass Three(Race):\n    num_agents = 3\n"
        "GAME = Game('three', Three, SmallAgent)",
    )
    code, out, err = call(capsys, "train", "my_game:GAME", "--preset", "tiny")
    assert (code, out) == (2, "") and "three has 3 players; training needs a game of two" in err
    code, out, err = call(capsys, "duel", "random", "--game", "my_game:GAME")
    assert (code, out) == (2, "") and "--game: three has 3 players; a duel needs two" in err
    assert os.listdir() == ["my_game.py"]


def test_a_game_gets_presets_players_and_levels_if_it_has_none():
    game = Game("race", Race, SmallAgent)
    assert list(game.presets) == ["paper", "fast", "tiny"] and list(game.players) == ["random"]
    assert game.presets["tiny"].ppo == TINY.ppo
    for preset in game.presets.values():
        assert (preset.game, preset.environment, preset.agent) == ("race", Race(), SmallAgent())
    assert game.player("Random").name == "random"
    with pytest.raises(ValueError, match="unknown player 'hunter'; allowed: random"):
        game.player("hunter")


def test_help_shows_the_settings_of_a_game_of_ones_own(capsys):
    write("my_game", MY_GAME)
    code, out, _ = call(capsys, "train", "my_game:GAME", "--help")
    text = " ".join(out.replace("│", " ").split())
    assert code == 0 and "--environment.length INT How far it is. (default: 3)" in text
    assert "--environment.wind, --environment.no-wind Whether there is any. (default: False)" in text
    assert "--agent.layers [INT [INT ...]]" in text and "(default: 8)" in text
    assert "secret" not in text and "num-actions" not in text and "inputs" not in text


def test_settings_of_a_game_of_ones_own_are_options(capsys):
    write("my_game", MY_GAME)
    for end in (["--environment.length", 5, "my_game:GAME"], ["my_game:GAME", "--environment.length=5"]):
        code, out, _ = call(capsys, "train", "--environment.wind", "--dry-run", *end)
        assert code == 0 and "[environment]\nlength = 5\nwind = true\n" in out
    code, _, err = call(
        capsys, "train", "my_game:GAME", "--environment.length", 10, "--environment.secret", 3
    )
    assert code == 2 and "environment.length: 10 is out of range; allowed: 1 to 9" in err
    assert "environment.secret: unknown setting; allowed: length, wind" in err


def offer(name, value):
    """An installed package that offers a game, as far as its metadata go."""
    os.makedirs("site/offering-1.0.dist-info")
    with open("site/offering-1.0.dist-info/METADATA", "w") as file:
        file.write("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    with open("site/offering-1.0.dist-info/entry_points.txt", "w") as file:
        file.write(f"[maestro.games]\n{name} = {value}\n")


def test_a_game_that_an_installed_package_offers_is_found_by_its_name(here):
    offer("sprint", "my_game:GAME")
    write("site/my_game", MY_GAME)
    path = {"PYTHONPATH": beside_tests(here / "site")}
    code, out, err = call_process("train", "--seeds", "3", "sprint", "--dry-run", **path)
    assert (code, err) == (0, "") and 'game = "sprint"' in out and "seeds = 3" in out


def test_an_offered_game_is_among_those_that_are_allowed_and_must_be_typed(capsys, monkeypatch, here):
    offer("sprint", "evil:GAME")
    write("site/evil", EVIL)
    monkeypatch.syspath_prepend(str(here / "site"))
    assert "did you mean sprint?" in call(capsys, "train", "sprnt")[2]
    write_run(here / "run", game="sprint")
    code, _, err = call(capsys, "resume", "run")
    assert code == 2 and "the game 'sprint' is not known here" in err
    assert not (here / "site" / "imported").exists()
    assert games.find("sprint").name == "evil:GAME" and (here / "site" / "imported").exists()


def write_run(path, **changes):
    """A run that has begun, of a game and by a method that need not be known."""
    config = build.configure(RACE, RACE.presets["tiny"], {})
    folder = claim(path)
    run_folder.begin(folder, config)
    text = folder.config.read_text()
    for name, value in changes.items():
        text = text.replace(f'{name} = "{getattr(config, name)}"', f'{name} = "{value}"')
    folder.config.write_text(text)
    run_folder.begin_session(folder, config, sessions.this_one("cpu"), changes.get("game", ""))
    return folder


def write_agent(path):
    """An agent whose card names a game that is nowhere known."""
    path.write_bytes(b"")
    path.with_suffix(".json").write_text(json.dumps({"game": "evil:GAME", "agent": {}, "environment": {}}))


def test_neither_run_folders_nor_cards_nor_settings_ever_cause_an_import(capsys, monkeypatch, here):
    write("evil", EVIL)
    monkeypatch.syspath_prepend(str(here))
    write_run(here / "one", game="evil:GAME")
    write_run(here / "two", game="lasertag", method="evil:RULE")
    write_run(here / "three", game="evil:GAME", method="evil:RULE")
    write_agent(here / "agent.safetensors")
    assert call(capsys, "runs", ".")[0] == 0
    for run in ("one", "two", "three"):
        for command in (["resume", run], ["export", run], ["export", run, "--out", "agents"]):
            code, _, err = call(capsys, *command)
            assert code == 2 and ("say where it is: --game" in err or "--method evil:RULE" in err), err
        code, _, err = call(capsys, "train", "lasertag", "--config", f"{run}/config.toml")
        assert code == 2 and "evil:" in err
        assert call(capsys, "train", "--config", f"{run}/config.toml")[0] == 2
    code, _, err = call(capsys, "duel", "Cross", "--a", "agent.safetensors")
    assert code == 2 and "agent.json: plays 'evil:GAME', not lasertag" in err
    assert not (here / "imported").exists() and "evil" not in sys.modules
    assert call(capsys, "levels", "list", "--game", "evil:GAME")[0] == 0
    assert (here / "imported").exists()


def test_a_run_names_the_game_and_the_method_that_must_be_typed_to_resume_it(capsys, here):
    write("my_rules", MY_RULES)
    write_run(here / "one", game="sprint")
    err = call(capsys, "resume", "one")[2]
    assert "the game 'sprint' is not known here; say where it is: --game" in err
    assert "(it was made with 'sprint')" in err
    write_run(here / "two", method="my_rules:EVEN")
    err = call(capsys, "resume", "two", "--game", "probes:RACE")[2]
    assert "it is imported only if you type it: --method my_rules:EVEN" in err
    err = call(capsys, "resume", "two", "--game", "probes:RACE", "--method", "my_rules:OTHER")[2]
    assert "--method: the run's method is 'my_rules:EVEN', not my_rules:OTHER" in err
    err = call(capsys, "export", "one", "--game", "probes:RACE")[2]
    assert "--game: probes:RACE is race, and the run is of 'sprint'" in err


OWN = ["--method", "my_rules:EVEN"]


def train_ones_own():
    """What is said of a run of a game and a method of one's own, which is written to the folder `run`."""
    write("my_game", MY_GAME)
    write("my_rules", MY_RULES)
    code, out, err = call_process("train", "my_game:GAME", *OWN, "--environment.length", "4", "--out", "run")
    assert (code, err) == (0, "")
    return out


@pytest.mark.long
def test_a_run_of_a_game_and_a_method_of_ones_own_is_made_again_from_its_settings(here):
    train_ones_own()
    os.makedirs("again")
    (here / "again" / "config.toml").write_bytes((here / "run" / "config.toml").read_bytes())
    code, _, err = call_process("resume", "again", "--game", "my_game:GAME", *OWN)
    assert (code, err) == (0, "") and newest(here / "again") == newest(here / "run")


def test_a_game_and_a_method_of_ones_own_train_play_and_are_exported(capsys, here):
    out = train_ones_own()
    assert "my_rules:EVEN on sprint" in out
    assert "maestro duel random --game my_game:GAME --a run/agents/student-0.safetensors --b random" in out
    about = json.loads((here / "run" / "about.json").read_text())
    card = json.loads((here / "run" / "agents" / "student-0.json").read_text())
    assert about["game_from"] == "my_game:GAME" and card["game"] == "sprint"
    assert card["method"] == "my_rules:EVEN" and card["environment"] == {"length": 4, "wind": False}

    os.makedirs("again")
    (here / "again" / "config.toml").write_bytes((here / "run" / "config.toml").read_bytes())
    assert "--method my_rules:EVEN" in call(capsys, "resume", "again", "--game", "my_game:GAME")[2]
    assert "--game module:NAME" in call(capsys, "resume", "again", *OWN)[2]
    assert not (here / "again" / "checkpoints").exists()

    student, game = "run/agents/student-0.safetensors", ["--game", "my_game:GAME"]
    code, out, _ = call(capsys, "export", "run", *game, *OWN, "--out", "agents")
    assert code == 0 and out.split() == ["agents/student-0.safetensors", "agents/student-1.safetensors"]
    assert (here / "agents" / "student-0.safetensors").read_bytes() == (here / student).read_bytes()
    code, out, _ = call(capsys, "duel", "random", *game, "--a", student, "--b", "random", "--games", 4)
    assert code == 0 and out.startswith("4 games: A trained won ")
    assert call(capsys, "levels", "sample", *game, "--out", "levels")[0] == 0
    level = "levels/level-0-0000.json"
    assert '"time_limit": ' in call(capsys, "levels", "show", level, *game)[1]
    assert call(capsys, "duel", level, *game, "--a", student)[0] == 0
    assert (
        f"{student}: its card, student-0.json: plays 'sprint', not lasertag"
        in call(capsys, "duel", "Cross", "--a", student)[2]
    )


def test_the_examples_of_help_texts_are_levels_and_players_of_the_default_game():
    assert set(games.LEVELS) <= set(GAME.levels.names) and set(games.PLAYERS) <= set(GAME.players)
    assert GAME.name == games.DEFAULT
