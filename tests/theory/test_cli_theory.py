"""`maestro theory`: what it prints, the files that it writes, and what it refuses."""

import csv
import json

import numpy as np
import pytest

from maestro import cli
from maestro.theory import condition, convergence, figures, report
from maestro.theory.convergence import Excess
from maestro.theory.report import Findings
from maestro.theory.table_1 import Pick, Table1


def found(steps: int = 200) -> Findings:
    """Findings with made-up curves: they fall with the place of their name."""
    falling = np.geomspace(1, 0.01, steps)[None]

    def curves(views, names):
        return [
            Excess(view, name, falling * (1 + place) * np.array([[1.0], [2.0], [3.0]]) / 10)
            for view in views
            for place, name in enumerate(names)
        ]

    everywhere = ("seen", "half seen", "hidden")
    taught = (convergence.BUFFERS, convergence.JOINT, convergence.APART, convergence.RANDOM)
    peopled = (convergence.EVERYONE, convergence.COPIES, convergence.EXPLOITERS)
    table = Table1(Pick("A", 1, 0.6), Pick("C", 3, 0.4), np.full((3, 4), 1 / 12))
    gaps, example = condition.random_gaps(0, 4), condition.counterexample()
    return Findings(table, example, gaps, curves(everywhere, taught), curves(("seen", "hidden"), peopled))


@pytest.fixture
def call(capsys, monkeypatch):
    """Exit code, output and errors of a command whose findings are made up."""
    asked = []

    def compute(*arguments):
        asked.append(arguments[:-1])
        return found()

    def run(*arguments):
        monkeypatch.setattr(report, "compute", compute)
        code = cli.run(["theory", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err, asked

    return run


@pytest.fixture
def unwritten(monkeypatch):
    """Pictures are drawn but not written, which takes long."""
    monkeypatch.setattr(figures, "write", lambda picture, file: None)


def test_the_report_says_what_was_found_and_names_what_was_not_promised(call, tmp_path, unwritten):
    code, out, _, asked = call("--out", tmp_path, "--games", 3, "--steps", 200, "--seed", 5)
    assert code == 0 and asked == [(5, 3, 200)]
    assert "joint choice: co-player A on level 1, regret 0.6" in out
    assert "independent choice: co-player C on level 3, regret 0.4" in out
    assert "MAESTRO student (1/11, 10/11): worst regret 10/11, guaranteed payoff 1/11" in out
    assert "Nash student    (10/11, 1/11): guaranteed payoff 10/11" in out
    row = next(line for line in out.splitlines() if line.startswith("random (DR)"))
    assert row.split()[-4:] == ["seen", "0.0080", "0.0120", "100%"]


def test_pictures_and_their_data_are_written(call, tmp_path):
    assert call("--out", tmp_path / "new")[0] == 0
    files = {path.name: path for path in (tmp_path / "new").iterdir()}
    pictures = [
        f"{name}.{end}" for name in ("condition", "populations", "teachers") for end in ("png", "svg")
    ]
    data = ["condition.csv", "ends.csv", "populations.csv", "table-1.csv", "teachers.csv"]
    assert sorted(files) == sorted(pictures + data)
    assert files["teachers.png"].read_bytes().startswith(b"\x89PNG")
    with files["teachers.csv"].open() as file:
        rows = list(csv.DictReader(file))
    last = [row for row in rows if (row["level"], row["teacher"]) == ("hidden", convergence.JOINT)][-1]
    assert int(last["step"]) == 200 and float(last["median"]) == pytest.approx(0.004)


def test_json_holds_every_row(call, tmp_path, unwritten):
    out = json.loads(call("--out", tmp_path, "--json")[1])
    assert set(out["data"]) == {"teachers", "populations", "ends", "condition", "table-1"}
    assert len(out["data"]["table-1"]) == 12 and len(out["data"]["ends"]) == 3 * 4 + 2 * 3
    assert len(out["files"]) == 11


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("--games", "0"), "--games: 0 is not between 1 and 1000"),
        (("--steps", "99"), "--steps: 99 is not between 100 and 1000000"),
        (("--seed", "-1"), "--seed: -1 is not between 0 and"),
        (("--out", "/dev/null/x"), "--out: '/dev/null/x' cannot be made"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(call, words, complaint):
    code, out, err, asked = call(*words)
    assert (code, out, asked) == (2, "", []) and complaint in err


@pytest.mark.long
def test_the_whole_command_runs(tmp_path, capsys):
    assert cli.run(["theory", "--out", str(tmp_path), "--games", "2", "--steps", "100"]) == 0
    assert "regret 0.6" in capsys.readouterr().out
