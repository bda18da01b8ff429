"""The scripts in examples/ run, with settings that take seconds."""

import importlib
import re
from pathlib import Path

import jax
import pytest

from maestro import games
from probes import quick_jit

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SMALL = ["--updates", "3", "--workers", "4"]


@pytest.fixture
def example(monkeypatch, tmp_path):
    """An example by its name, in an empty folder, as if its own folder were the first on Python's path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(jax, "jit", quick_jit)
    return importlib.import_module


def test_a_method_of_ones_own_is_trained_and_its_student_played(example, capsys):
    example("own_method").main([*SMALL, "--out", "agents"])
    said = capsys.readouterr().out
    assert "update 3: " in said and "written: agents/student-0.safetensors" in said
    assert '"method": "own_method:NEWEST"' in Path("agents/student-0.json").read_text()
    example("play_agent").main(["agents/student-0.safetensors", "--game", "ring:GAME", "--seed", "3"])
    said = capsys.readouterr().out
    scores = re.search(r"the student's score is (\S+), that of random (\S+)$", said.strip())
    assert scores and float(scores[1]) == -float(scores[2])
    level = games.find("ring:GAME").environment().sample_level(jax.random.key(3))
    steps = [int(step) for step in re.findall(r"^step (\d+)$", said, re.MULTILINE)]
    assert steps == list(range(len(steps))) and 1 < len(steps) <= int(level.time_limit) + 1
    assert said.count("A") + said.count("X") >= len(steps)


@pytest.mark.long
def test_two_methods_are_compared_seed_by_seed(example, capsys):
    example("compare_methods").main([*SMALL, "--seeds", "2", "--games", "6", "--methods", "dr-fsp", "dr-sp"])
    *rows, last = capsys.readouterr().out.strip().splitlines()
    row = re.compile(r"seed \d: dr-fsp won (\d+), drawn (\d+), dr-sp won (\d+)")
    counts = [[int(number) for number in row.fullmatch(line).groups()] for line in rows]
    assert [sum(seed) for seed in counts] == [6, 6]
    mean = sum(won - lost for won, _, lost in counts) / 12
    assert last == f"dr-fsp's mean score against dr-sp, between -1 and 1: {mean:+.2f}"


def test_the_ring_is_the_game_of_the_page_on_games_of_ones_own():
    page = (ROOT / "docs" / "extending.md").read_text()
    block = re.search(r'^```python title="ring.py"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    assert block and (EXAMPLES / "ring.py").read_text() == block[1]
