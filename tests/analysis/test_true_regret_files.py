"""Rows of estimated and true regret: their means, correlations, files and pictures."""

import csv
import json

import numpy as np
import pytest

from maestro.analysis import true_regret, true_regret_file, true_regret_summary
from maestro.analysis.figures import style
from maestro.analysis.figures import true_regret as figures
from maestro.analysis.true_regret import Plan, name_of, numbers
from maestro.config import ScheduleConfig
from maestro.evaluation.true_regret import KINDS
from maestro.games.lasertag import GAME
from probes import RACE, SMALL

ABOUT = true_regret.about("first", RACE, SMALL, 8, Plan())


def rows(seeds=1, sign=1, count=4):
    """Estimates that agree with the truth, or say the opposite; the first estimate is not known."""
    found = []
    for seed in range(seeds):
        for k, kind in enumerate(KINDS):
            for i in range(count):
                truth = (10 * k + i) / 100 + seed / 10
                scores = {"stored": sign * truth, "max_mc": None if k == i == 0 else truth**2}
                found.append({
                    "seed": seed, "member": 1, "joined": "update 0", "kind": kind, "slot": i, "text": "x",
                    "estimates": scores, "student_return": -truth, "student_return_95": [-1.0, 0.0],
                    "student_won": 0.25, "response_return": 0.0, "response_return_95": [-1.0, 1.0],
                    "response_won": 0.5, "true_regret": truth, "true_regret_95": [truth - 0.1, truth + 0.2],
                })  # fmt: skip
    return found


def test_a_level_is_told_with_the_means_and_intervals_of_its_games():
    returns = np.array([[[-1.0, -1, -1, 1]], [[1, 1, 1, -1]]])
    row = numbers({"stored": np.array([1.5]), "mean_mc": np.array([np.nan])}, returns, returns)[0]
    assert row["true_regret"] == 1 and row["true_regret_95"][0] < 1 < row["true_regret_95"][1]
    assert (row["student_return"], row["response_return"]) == (-0.5, 0.5)
    assert (row["student_won"], row["response_won"]) == (0.25, 0.75)
    assert row["estimates"]["stored"] == 1.5 and np.isnan(row["estimates"]["mean_mc"])
    assert row["student_return_95"][0] >= -1 and row["response_return_95"][1] <= 1
    drawn = numbers({}, np.zeros((2, 1, 4)), np.zeros((2, 1, 4)))[0]
    assert drawn["true_regret"] == 0 and drawn["student_won"] == 0


def test_means_are_by_kind_over_the_levels_of_one_seed_or_over_seeds():
    one = true_regret_summary.by_kind(rows())
    assert [one[kind]["true_regret"] for kind in KINDS] == pytest.approx([0.015, 0.115, 0.215])
    assert (one["top"]["units"], one["top"]["levels"]) == ("levels", 4)
    half = 3.182446305 * np.std([0, 0.01, 0.02, 0.03], ddof=1) / 2
    assert one["top"]["true_regret_95"] == pytest.approx([0.015 - half, 0.015 + half])
    assert one["top"]["max_mc"] == pytest.approx(np.mean(np.array([1, 2, 3]) ** 2) / 1e4)
    two = true_regret_summary.by_kind(rows(2))
    assert (two["top"]["units"], two["top"]["seeds"], two["top"]["levels"]) == ("seeds", 2, 8)
    assert two["top"]["true_regret"] == pytest.approx(0.065)
    assert two["top"]["true_regret_95"][1] == pytest.approx(0.065 + 12.706204736 * 0.05)


def test_correlations_are_of_every_score_over_all_levels_and_over_random_ones():
    found = true_regret_summary.correlations(rows(sign=-1))
    assert set(found) == {"stored", "max_mc"} and set(found["stored"]) == {"all", "random"}
    assert found["stored"]["all"]["value"] == -1 and found["stored"]["random"]["value"] == -1
    assert found["max_mc"]["all"]["value"] == 1 and found["max_mc"]["all"]["units"] == "levels"
    mixed = rows(2)
    for row in mixed:
        row["estimates"]["stored"] *= 1 if row["seed"] else -1
    two = true_regret_summary.correlation(mixed, "stored")
    assert (two["value"], two["units"], two["seeds"]) == (0, "seeds", 2)
    assert (two["low_95"], two["high_95"]) == (-1, 1)  # Student's interval is 13 times as wide
    for row in mixed:
        row["estimates"]["stored"] = row["true_regret"] * row["seed"]
    one = true_regret_summary.correlation(mixed, "stored")
    assert (one["value"], one["units"], one["seeds"]) == (1, "levels", 1)
    for row in mixed:
        row["estimates"]["stored"] = 1.0
    assert np.isnan(true_regret_summary.correlation(mixed, "stored")["value"])


def test_a_part_is_read_again_only_if_it_was_measured_in_the_same_way(tmp_path):
    kept = true_regret_file.write_part(tmp_path, 5, 2, ABOUT, rows())
    about = json.loads(json.dumps(ABOUT))
    assert true_regret_file.read_part(tmp_path, 5, 2, about) == kept
    assert true_regret_file.read_part(tmp_path, 5, 1, about) is None
    assert true_regret_file.read_part(tmp_path, 5, 2, {**about, "games": 1}) is None
    true_regret_file.part(tmp_path, 5, 2).write_text("{")
    assert true_regret_file.read_part(tmp_path, 5, 2, about) is None


def test_files_hold_every_level_with_null_or_nothing_for_what_is_not_known(tmp_path):
    found = true_regret_file.write(tmp_path, ABOUT, rows())
    text = (tmp_path / "true_regret.json").read_text()
    assert "NaN" not in text and json.loads(text) == json.loads(json.dumps(found))
    assert (found["method"], found["updates"], found["student"]) == ("maestro", 200, 8)
    assert found["response_steps"] == 200 * SMALL.ppo.workers * SMALL.ppo.rollout_length
    table = list(csv.DictReader((tmp_path / "true_regret.csv").read_text().splitlines()))
    assert len(table) == 12 and table[0]["estimate_max_mc"] == "" and "text" not in table[0]
    assert float(table[5]["true_regret_low_95"]) == pytest.approx(0.01) and table[5]["kind"] == "middle"


def test_pictures_are_drawn_of_scatter_and_of_levels_by_their_estimate(tmp_path):
    some = rows()
    text = dict(GAME.levels.named)["FourRooms"]
    for row in some:
        row["text"] = text
    found = true_regret_file.to_json(ABOUT, some)
    with style.drawing():
        picture = figures.scatter(found)
        panels = [panel for panel in picture.axes if panel.get_visible()]
        assert len(panels) == 2 and "stored in the buffer" in panels[0].get_title(loc="left")
        style.write(picture, tmp_path / "scatter.png")
        drawn = figures.gallery(found, GAME, GAME.environment())
        below = [panel.get_xlabel().split("\n") for panel in drawn.axes if panel.get_xlabel()]
        caption = drawn.get_supxlabel()
        style.write(drawn, tmp_path / "levels.png")
    assert below[0] == ["random", "est. 0.23", "true +0.23"] and below[-1] == [
        "top",
        "est. 0.00",
        "true +0.00",
    ]
    assert [kind for kind, *_ in below] == ["random"] * 4 + ["middle"] * 4 + ["top"] * 4
    assert "top: of the highest estimates; middle: around the median; random: any" in caption.replace(
        "\n", " "
    )
    assert figures.gallery(found, RACE, RACE.environment()) is None
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("scatter.png", "levels.png"))


def test_the_line_of_truth_is_drawn_only_where_the_estimate_is_a_return():
    for score in ("max_mc", "learnability"):
        found = {**true_regret_file.to_json(ABOUT, rows(2)), "score": score}
        with style.drawing():
            panels = [panel for panel in figures.scatter(found).axes if panel.get_visible()]
        dashed = [any(x.get_linestyle() == "--" for x in panel.lines) for panel in panels]
        assert dashed == [score == "max_mc", True]


def test_buffers_are_counted_one_for_each_seed():
    found = true_regret_file.to_json(ABOUT, rows(2))
    assert "2 seed(s), levels from 2 buffer(s) of co-players" in figures.caption(found)


def test_of_too_many_levels_some_are_drawn_from_the_highest_to_the_lowest():
    many = figures.shown(rows(count=40))
    values = [row["estimates"]["stored"] for row in many]
    assert len(values) == figures.MOST and values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (0.59, 0.0)


def test_a_coplayer_is_named_by_when_it_joined():
    schedule = ScheduleConfig(total_updates=9, interval=3)
    assert [name_of(i, schedule) for i in range(4)] == [
        "the student itself", "update 0", "update 3", "update 6",
    ]  # fmt: skip
    assert name_of(9, schedule) == "member 9"
