"""Regret landscapes as files and as pictures, and who stands in them."""

import csv
import itertools
import json

import jax.numpy as jnp
import numpy as np
import pytest

from maestro import train
from maestro.analysis import figures, landscape_file
from maestro.analysis.figures.landscape import caption, draw
from maestro.analysis.figures.source import FigureError, Options
from maestro.analysis.landscapes import Survey, averages, places, regrets
from maestro.config import ScheduleConfig
from maestro.evaluation.landscape import Landscape
from maestro.exploiters import Newcomer
from maestro.runs.crowd import joined_by

TABLE_1 = np.array([[0.6, 0.1, 0.4, 0.2], [0.1, 0.5, 0.4, 0.3], [0.2, 0.4, 0.4, 0.4]])
ABOUT = {"run": "first", "game": "race", "method": "maestro", "score": "max_mc"}
NAMES = ("update 0", "update 3", "update 6"), ("a", "b", "c", "d")
ABOUT = {**ABOUT, "dice": 3, "rollouts": 8, "steps": 16}


def made(scores=TABLE_1):
    """A landscape whose halves agree."""
    rows, columns = scores.shape
    names = tuple(f"update {3 * i}" for i in range(rows)), tuple(f"level {i}" for i in range(columns))
    episodes = np.where(np.isnan(scores), 0, 5)
    return Landscape("update 9", *names, scores, np.stack([scores, scores]), episodes)


def survey(*scores, **changes):
    """Landscapes of the seeds from 5 on."""
    return Survey({**ABOUT, **changes}, {5 + i: made(each) for i, each in enumerate(scores)})


HOLED = np.where(TABLE_1 == 0.5, np.nan, TABLE_1)


def test_a_file_holds_what_was_measured_with_null_for_what_is_not_known(tmp_path) -> None:
    before = survey(TABLE_1, HOLED)
    landscape_file.write(tmp_path, before)
    text = (tmp_path / "landscape.json").read_text()
    assert "NaN" not in text and json.loads(text)["seeds"][1]["scores"][1][1] is None
    after = landscape_file.read(tmp_path)
    assert after.about == before.about and list(after.seeds) == [5, 6]
    for one, other in zip(before.seeds.values(), after.seeds.values(), strict=True):
        assert (one.student, one.members, one.levels) == (other.student, other.members, other.levels)
        for name in ("scores", "halves", "episodes"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name))


def test_a_file_says_what_is_marked_and_what_the_marks_say(tmp_path) -> None:
    seed = landscape_file.to_json(survey(TABLE_1))["seeds"][0]
    assert seed["marks"] == {"independent": {"member": 2, "level": 2}, "joint": {"member": 0, "level": 0}}
    named = {"independent": 0.4, "joint": 0.6, "gap": 0.2}
    for name, value in named.items():
        assert seed["regret"][name] == seed["regret"][f"split_{name}"] == pytest.approx(value, abs=1e-6)


def test_means_are_over_seeds_in_which_a_number_is_known() -> None:
    """Of the third seed nothing is known; the interval is Student's, of two seeds."""
    seeds = (made(TABLE_1), made(TABLE_1 * 2), made(TABLE_1 * np.nan))
    found = averages(seeds)
    half = 12.7062 * (0.2 / 2)  # the two gaps are .2 and .4
    assert found["gap"]["seeds"] == 2
    np.testing.assert_allclose(
        [found["gap"][name] for name in ("mean", "low_95", "high_95")],
        [0.3, 0.3 - half, 0.3 + half],
        rtol=1e-4,
    )
    assert np.isnan(averages([made()])["gap"]["low_95"]) and np.isnan(regrets(seeds[2])["joint"])


DAMAGE = {
    "no JSON": ("{", "landscape.json: "),
    "something else": ("[]", "no landscapes of format 1"),
    "another format": ({"format": 2}, "no landscapes of format 1"),
    "no method": ({"method": 3}, "method: 3 is no str"),
    "no number": ({"dice": "x"}, "dice: 'x' is no int"),
    "no seeds": ({"seeds": []}, "seeds: there is none"),
    "a seed that is none": ({"seeds": [4]}, "seed: None is no int"),
    "too few scores": ({"scores": [[1.0]]}, "scores: not 3 x 4 numbers"),
    "words for scores": ({"scores": "high"}, "scores: not 3 x 4 numbers"),
    "scores of words": ({"halves": [["x"]]}, "halves: not 2 x 3 x 4 numbers"),
    "no members": ({"members": []}, "scores: not 0 x 4 numbers"),
    "vast numbers": ({"episodes": [[1e300] * 4] * 3}, "episodes: not 3 x 4 numbers"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_wrong_with_a_file_is_told(tmp_path, name) -> None:
    change, message = DAMAGE[name]
    landscape_file.write(tmp_path, survey(TABLE_1))
    path = tmp_path / "landscape.json"
    content = json.loads(path.read_text())
    if isinstance(change, dict):
        inner = content["seeds"][0] if set(change) <= set(content["seeds"][0]) else content
        inner.update(change)
        change = json.dumps(content)
    path.write_text(change)
    with pytest.raises(ValueError, match=r"landscape\.json") as error:
        landscape_file.read(tmp_path)
    assert message in str(error.value)
    with pytest.raises(FigureError):
        figures.make("landscape", [tmp_path])


def test_the_figure_of_a_folder_has_its_data_beside_it(tmp_path) -> None:
    for name, method in (("a", "maestro"), ("b", "dr-sp")):
        (tmp_path / name).mkdir()
        landscape_file.write(tmp_path / name, survey(TABLE_1, HOLED, method=method))
    files = figures.draw("landscape", [tmp_path], tmp_path, Options(methods=("maestro",)))
    assert all(path.stat().st_size for path in files)
    with files[-1].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 12 and {row["method"] for row in rows} == {"maestro"}
    found = np.array([float(row["regret"] or "nan") for row in rows]).reshape(2, 3, 4)
    np.testing.assert_allclose(found, [TABLE_1, HOLED])
    marked = {(row["seed"], row["member"], row["level"]): row["marked"] for row in rows if row["marked"]}
    assert marked["5", "update 6", "3"] == "independent" and marked["5", "update 0", "1"] == "joint"
    with pytest.raises(FigureError, match="no landscape of that method; there are maestro, dr-sp"):
        figures.make("landscape", [tmp_path], Options(of="plr-sp"))


def test_a_landscape_without_a_known_cell_is_drawn_without_marks() -> None:
    figure = draw([survey(TABLE_1 * np.nan)]).picture
    assert not figure.axes[0].patches
    assert len(draw([survey(TABLE_1)]).picture.axes[0].patches) == 8  # four frames, each on white


def test_the_frames_stand_around_the_cells_that_are_marked() -> None:
    panel = draw([survey(TABLE_1)]).picture.axes[0]
    boxes = {patch.get_edgecolor()[:3]: patch.get_extents() for patch in panel.patches}
    middle = {
        color: panel.transData.inverted().transform(box.get_points()).mean(axis=0)
        for color, box in boxes.items()
    }
    assert places(made()) == {"independent": (2, 2), "joint": (0, 0)}
    orange, green = ([c for c in middle if c[0] > 0.5 > c[2]], [c for c in middle if c[0] < 0.1])
    np.testing.assert_allclose(middle[orange[0]], (2, 2), atol=1e-6)
    np.testing.assert_allclose(middle[green[0]], (0, 0), atol=1e-6)


def test_the_words_below_say_what_was_measured_and_what_is_not_known() -> None:
    told = caption([survey(TABLE_1)], [("x", made())])
    assert "Regret (MaxMC) over 8 rollouts of 16 steps" in told and "0.40 where they meet" in told
    assert "highest cell, 0.60; gap 0.20, split-half 0.20." in told
    assert "gap unknown" in caption([survey(TABLE_1 * np.nan)], [("x", made(TABLE_1 * np.nan))])


def test_the_words_below_say_in_how_many_seeds_a_number_is_known() -> None:
    holes = np.full((3, 4), np.nan)
    blind = made()
    blind = Landscape(blind.student, *NAMES, TABLE_1, np.stack([TABLE_1, holes]), blind.episodes)
    told = caption([survey(TABLE_1)], [("x", made()), ("y", blind)])
    assert "gap 0.20, split-half 0.20 (known in 1); means of 2 seeds." in told


def test_a_few_estimates_below_0_do_not_stretch_the_scale() -> None:
    lower = np.where(TABLE_1 == 0.5, -3.0, TABLE_1)
    for scores, ends, pointed in ((TABLE_1, (0.1, 0.6), "neither"), (lower, (0.0, 0.6), "min")):
        figure = draw([survey(scores)]).picture
        image = figure.axes[0].get_images()[0]
        assert image.get_clim() == ends and image.colorbar.extend == pointed
    below = draw([survey(-1 - TABLE_1)]).picture.axes[0].get_images()[0]
    assert below.get_clim() == (-1.6, -1.1)


@pytest.mark.parametrize("warmup, interval, total", list(itertools.product((0, 2, 3), (1, 3), (3, 7))))
def test_those_who_have_joined_are_those_that_training_lets_join(warmup, interval, total) -> None:
    schedule = ScheduleConfig(warmup=warmup, interval=interval, total_updates=total)
    joins = [at for at in range(total + 2) if train.joins(schedule, jnp.int32(at))]
    for updates in range(total + 1):
        assert joined_by(schedule, updates) == [Newcomer(at) for at in joins if at <= updates]
