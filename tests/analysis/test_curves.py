"""The learning curves of a run: what is read of its logs, whatever they hold, and what is drawn."""

import json

import imageio.v3 as imageio
import numpy as np
import pytest

from maestro.analysis import curves
from maestro.runs.folder import RunFolder

METRICS = [
    {"updates": u, "replayed.regret": [0.5, None], "new.regret": [0.1 * u, 0.3], "losses.entropy": [1, 2]}
    for u in (1, 2, 3)
]
EVALUATION = [
    {
        "updates": u,
        "won_95": {"first": [0.1, 0.9]},
        "won_drawn_lost": {"first": [[0.1 * u, 0.5, 0.4], [0.3, 0.3, 0.4]], "random": [[1, 0, 0], [0, 1, 0]]},
    }
    for u in (1, 2)
]


@pytest.fixture
def folder(tmp_path):
    """A run with both of its logs."""
    run = RunFolder(tmp_path)
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in METRICS))
    run.evaluation.write_text("".join(json.dumps(line) + "\n" for line in EVALUATION))
    return run


def test_the_share_won_is_read_for_each_opponent_and_seed_with_its_interval(folder):
    found = curves.won(curves.records(folder.evaluation))
    assert list(found) == ["first", "random"]
    np.testing.assert_allclose(found["first"].values, [[0.1, 0.3], [0.2, 0.3]])
    np.testing.assert_array_equal(found["first"].band, [[0.1, 0.9]] * 2)
    np.testing.assert_array_equal(found["first"].updates, [1, 2])
    assert found["random"].band is None


def test_a_logged_quantity_has_gaps_where_nothing_was_measured(folder):
    found = curves.logged(curves.records(folder.metrics), "replayed.regret")
    np.testing.assert_array_equal(found.values, [[0.5, np.nan]] * 3)
    assert curves.logged(curves.records(folder.metrics), "nothing of that name") is None


def test_every_panel_shows_what_there_is(folder):
    groups = curves.panels(folder)
    assert {title: list(group) for title, group in groups.items()} == {
        curves.WON: ["first", "random"],
        "regret of the levels played": ["replayed", "new"],
        "entropy of the policy": [""],
    }
    folder.evaluation.unlink()
    assert list(curves.panels(folder)) == list(groups)[1:]


class Canvas:
    """Axes that remember what is drawn onto them."""

    def __init__(self):
        self.lines, self.bands = [], 0

    def plot(self, x, y, **style):
        self.lines.append((x, y, style))
        return [self]

    def get_color(self):
        return "black"

    def fill_between(self, *_, **__):
        self.bands += 1


def test_a_line_is_the_mean_over_the_seeds_that_were_measured():
    canvas = Canvas()
    values = np.array([[0.0, 1.0], [np.nan, 0.25], [np.nan, np.nan]])
    curves.plot(canvas, curves.Curve(np.arange(3.0), values), "one")
    np.testing.assert_array_equal(canvas.lines[0][1], [0.5, 0.25, np.nan])
    assert canvas.lines[1][1] is values and canvas.bands == 0


def test_a_picture_of_the_curves_is_written(folder, tmp_path):
    assert curves.draw(tmp_path / "curves.png", folder)
    picture = imageio.imread(tmp_path / "curves.png")
    assert picture.shape[0] > 700 and picture.shape[1] > 700 and picture[..., :3].std() > 10


def test_a_run_that_has_logged_nothing_has_no_curves(tmp_path):
    assert not curves.draw(tmp_path / "curves.png", RunFolder(tmp_path))
    assert list(tmp_path.iterdir()) == []


ODD = {
    "half a line": '{"updates": 3, "losses.ent',
    "not a record": "[1, 2]",
    "no number of updates": '{"updates": "x", "losses.entropy": [1, 2]}',
    "a vast number of updates": f'{{"updates": 1{"0" * 400}, "losses.entropy": [1, 2]}}',
    "deep brackets": "[" * 100_000,
    "a text for a number": '{"updates": 4, "losses.entropy": ["x", 2]}',
    "a number for a list": '{"updates": 4, "losses.entropy": 2}',
    "a vast number": f'{{"updates": 4, "losses.entropy": [1{"0" * 400}, 2]}}',
}
ODD_SHARES = [
    {"first": 3},
    {"first": [[1, 2, 3], [4]]},
    {"first": {}},
    {"first": [["a", "b", "c"]]},
    [],
]


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_a_line_that_is_odd_is_passed_over(folder, line):
    with folder.metrics.open("a") as file:
        file.write(f"{line}\n")
    np.testing.assert_array_equal(
        curves.logged(curves.records(folder.metrics), "losses.entropy").updates, [1, 2, 3]
    )


@pytest.mark.parametrize("shares", ODD_SHARES, ids=str)
def test_an_evaluation_that_is_odd_is_passed_over(folder, shares):
    with folder.evaluation.open("a") as file:
        file.write(json.dumps({"updates": 3, "won_drawn_lost": shares, "won_95": shares}) + "\n")
    np.testing.assert_array_equal(curves.won(curves.records(folder.evaluation))["first"].updates, [1, 2])


def test_any_name_of_an_opponent_can_be_drawn(folder, tmp_path):
    folder.metrics.unlink()
    with folder.evaluation.open("w") as file:
        names = {"$x^$ \x1b[31m \u4e2d": [[1, 0, 0]], "_": [[0, 0, 1]]}
        file.write(json.dumps({"updates": 3, "won_drawn_lost": names}) + "\n")
    assert curves.draw(tmp_path / "curves.png", folder)


def test_seeds_that_are_not_as_many_every_time_make_no_curve(folder):
    with folder.metrics.open("a") as file:
        file.write('{"updates": 4, "losses.entropy": [1, 2, 3]}\n')
    assert curves.logged(curves.records(folder.metrics), "losses.entropy") is None
