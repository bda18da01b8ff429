"""Figures: the data beside each is what an independent count gives, and the picture shows the data."""

import csv
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from figure_studies import (
    DRAWN,
    LEVELS,
    POINTS,
    SEEDS,
    random_games,
    write_crossplay,
    write_landscape,
    write_run,
    write_study,
)
from maestro import games
from maestro.analysis import crossplay, figures
from maestro.analysis.figures import FigureError, Options, panels, style
from maestro.analysis.figures.gallery import GAP
from maestro.analysis.figures.hyperparameters import escaped
from maestro.analysis.figures.matrix import cell
from maestro.evaluation import level_sets
from maestro.evaluation.cross_play import Entrant, Play
from maestro.games import Drawing
from maestro.methods import METHODS, PAPER_METHODS

BOUND = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Small pictures are drawn faster."""
    monkeypatch.setattr(style, "DOTS", 40)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small study, for all tests here."""
    return write_study(tmp_path_factory.mktemp("figures") / "study")


def read(path):
    """The lines of a file of data."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cells(seeds, updates=0, levels=LEVELS, at=(0,), dice=0):
    """(a, seed of a, b, seed of b, level) -> rows of a, from either side, counted one by one."""
    played, found = random_games(seeds, levels, at, dice), {}
    for i in range(len(played["a"])):
        row = {name: column[i].item() for name, column in played.items()}
        if row["updates"] != updates:
            continue
        for a, b, won, lost in (("a", "b", "wins", "losses"), ("b", "a", "losses", "wins")):
            key = (row[a], row[f"{a}_seed"], row[b], row[f"{b}_seed"], row["level"])
            value = {"return": row[f"{a}_return"], "grass": row[f"{a}_grass"]}
            value |= {"won": row[won] / 4, "drawn": row["draws"] / 4, "lost": row[lost] / 4}
            value |= {"win_rate": (row[won] + row["draws"] / 2) / 4}
            found.setdefault(key, []).append(value)
    return found


def mean(values):
    """The mean of a few numbers."""
    values = list(values)
    return sum(values) / len(values)


def robin(found, who, name, seed, quantity, levels=LEVELS):
    """A seed against all others: mean over methods of means over their seeds and the levels."""
    each = []
    for other in who:
        if other != name:
            keys = [(name, seed, other, s, level) for s in range(who[other]) for level in levels]
            each.append(mean(mean(v[quantity] for v in found[key]) for key in keys))
    return mean(each)


def over_seeds(values):
    """(mean, standard error, number)."""
    middle = mean(values)
    variance = sum((x - middle) ** 2 for x in values) / (len(values) - 1)
    return middle, (variance / len(values)) ** 0.5, len(values)


def check(row, values):
    """A row tells the mean over seeds, its error, and how many there are."""
    middle, error, count = over_seeds(values)
    told = [float(row[name]) for name in ("mean", "standard_error", "seeds")]
    np.testing.assert_allclose(told, [middle, error, count], **BOUND)
    factor = {2: 12.7062047, 3: 4.30265273}[count]
    ends = [float(row["low_95"]), float(row["high_95"])]
    np.testing.assert_allclose(ends, [middle - factor * error, middle + factor * error], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", figures.KINDS)
def test_every_figure_is_drawn_from_a_study_with_its_data_beside_it(study, tmp_path, name):
    files = figures.draw(name, [study], tmp_path, Options(title="A title"))
    assert [file.suffix for file in files] == list(
        (".md", ".tex", ".csv") if name == "hyperparameters" else (".pdf", ".png", ".csv")
    )
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in files}
    assert len(read(files[-1])) > 1
    if name != "hyperparameters":
        assert imageio.imread(files[1])[..., :3].std() > 10
        assert files[0].read_bytes().startswith(b"%PDF")


def test_the_round_robin_is_what_counting_gives(study):
    rows, found = figures.make("round-robin", [study]).rows, cells(SEEDS)
    assert len(rows) == 5 * len(SEEDS) and {row["split"] for row in rows} == {"test"}
    for row in rows:
        if row["quantity"] != "normalized":
            own = range(SEEDS[row["method"]])
            check(row, [robin(found, SEEDS, row["method"], s, row["quantity"]) for s in own])


def test_the_normalized_round_robin_is_scaled_on_every_level(study):
    rows, found = figures.make("round-robin", [study]).rows, cells(SEEDS)
    values = {
        (name, level): [robin(found, SEEDS, name, s, "return", [level]) for s in range(SEEDS[name])]
        for name in SEEDS
        for level in LEVELS
    }
    means = {level: [mean(values[name, level]) for name in SEEDS] for level in LEVELS}
    for row in panels.chosen(rows, quantity="normalized"):
        own = [values[row["method"], level] for level in LEVELS]
        scaled = [
            [(x - min(means[level])) / (max(means[level]) - min(means[level])) for x in xs]
            for level, xs in zip(LEVELS, own, strict=True)
        ]
        check(row, [mean(seed) for seed in zip(*scaled, strict=True)])


@pytest.mark.parametrize("quantity", ["return", "win_rate", "grass"])
def test_the_panels_of_levels_are_what_counting_gives(study, quantity):
    options = Options(quantity=quantity, levels=("three", "one"), methods=("maestro", "dr-sp", "plr-fsp"))
    rows, found = figures.make("levels", [study], options).rows, cells(SEEDS)
    who = {name: SEEDS[name] for name in options.methods}
    assert {(row["level"], row["method"]) for row in rows} == {(x, y) for x in options.levels for y in who}
    for row in rows:
        own = range(who[row["method"]])
        check(row, [robin(found, who, row["method"], s, quantity, [row["level"]]) for s in own])


@pytest.mark.parametrize("name", ["round-robin-curves", "levels-curves"])
def test_curves_are_of_the_milestones(study, name):
    rows = figures.make(name, [study]).rows
    assert {row["updates"] for row in rows} == set(POINTS)
    found = {at: cells(SEEDS, at, at=POINTS, dice=1) for at in POINTS}
    for row in panels.chosen(rows, quantity="return"):
        levels = [row["level"]] if "level" in row else LEVELS
        own = range(SEEDS[row["method"]])
        check(row, [robin(found[row["updates"]], SEEDS, row["method"], s, "return", levels) for s in own])


def test_bars_are_of_the_end_unless_a_milestone_is_asked_for(study):
    (row,) = panels.chosen(
        figures.make("round-robin", [study], Options(updates=4)).rows, method="maestro", quantity="return"
    )
    found = cells(SEEDS, 4, at=POINTS, dice=1)
    check(row, [robin(found, SEEDS, "maestro", s, "return") for s in range(3)])


def test_one_to_one_shows_both_sides_and_the_numbers_of_the_game(study):
    rows, found = figures.make("one-to-one", [study], Options(of="plr-fsp")).rows, cells(SEEDS)
    assert {row["quantity"] for row in rows} == {"return", "win_rate", "grass"}
    assert len(rows) == 3 * 2 * (len(SEEDS) - 1)
    for row in rows:
        pair = {row["method"]: SEEDS[row["method"]], row["against"]: SEEDS[row["against"]]}
        assert "plr-fsp" in pair
        check(
            row, [robin(found, pair, row["method"], s, row["quantity"]) for s in range(pair[row["method"]])]
        )


def test_the_matrix_has_each_against_each_and_gaps_where_nobody_played(study):
    rows, found = figures.make("matrix", [study]).rows, cells(SEEDS)
    assert len(rows) == len(SEEDS) ** 2
    for row in rows:
        if row["method"] == row["against"]:
            assert np.isnan(row["mean"]) and row["seeds"] == 0
        else:
            pair = {row["method"]: SEEDS[row["method"]], row["against"]: SEEDS[row["against"]]}
            own = range(pair[row["method"]])
            check(row, [robin(found, pair, row["method"], s, "return") for s in own])


def test_a_cell_of_the_matrix_has_its_error_even_if_that_is_nothing_but_none_for_one_seed():
    row = {"mean": 0.0, "standard_error": 0.0, "low_95": 0.0, "high_95": 0.0}
    assert cell(row, Options()) == "0.00\n±0.00"
    assert cell({**row, "standard_error": 0.25}, Options()) == "0.00\n±0.25"
    nothing = dict.fromkeys(("standard_error", "low_95", "high_95"), np.nan)
    assert cell({**row, **nothing}, Options(error="95")) == "0.00"


def test_specialists_are_met_on_their_own_level_only(study):
    rows = figures.make("specialists", [study]).rows
    everyone = {**SEEDS, "dr-sp@one": 2, "dr-fsp@two": 2, "hunter": 1}
    found = cells(everyone, levels=LEVELS[:2], dice=2)
    assert {(row["against"], row["level"]) for row in rows} == {("dr-sp@one", "one"), ("dr-fsp@two", "two")}
    assert {row["method"] for row in rows} == set(SEEDS)
    for row in rows:
        pair = {row["method"]: SEEDS[row["method"]], row["against"]: 2}
        own = range(pair[row["method"]])
        check(row, [robin(found, pair, row["method"], s, row["quantity"], [row["level"]]) for s in own])


def test_the_ablation_is_the_round_robin_between_three(study):
    rows = figures.make("ablation", [study]).rows
    three = {name: SEEDS[name] for name in ("maestro", "maestro-r", "maestro-p")}
    (row,) = panels.chosen(rows, method="maestro-r", quantity="return")
    check(row, [robin(cells(SEEDS), three, "maestro-r", s, "return") for s in range(2)])
    assert {row["method"] for row in rows} == set(three)


def test_specialists_and_scripted_players_are_no_part_of_the_round_robin(study):
    rows = figures.make("round-robin", [study], Options(split="one,two")).rows
    assert {row["method"] for row in rows} == set(SEEDS)
    asked = figures.make("round-robin", [study], Options(split="one,two", methods=("maestro", "hunter"))).rows
    assert {row["method"] for row in asked} == {"maestro", "hunter"}


def test_games_that_were_really_played_are_drawn_as_their_plan_says(tmp_path):
    env, player = DRAWN.environment(), DRAWN.player("random")
    who = {name: [Entrant(name, seed, player, "abc") for seed in range(2)] for name in ("maestro", "dr-sp")}
    who["random"] = [Entrant("random", 0, player)]
    play = Play(env, level_sets.generated(env, 2), episodes=1, batch=8)
    crossplay.run(tmp_path / "play", crossplay.CrossPlay(DRAWN.name, play, {0: who}))
    made = figures.make("round-robin", [tmp_path])
    rows = panels.chosen(made.rows, quantity="return")
    assert [(row["method"], row["seeds"], row["split"]) for row in rows] == [
        ("dr-sp", 2, "generated:2"),
        ("maestro", 2, "generated:2"),
    ]
    assert "2 levels, 2 games of each pair" in made.picture.get_supxlabel().replace("\n", " ")


def test_the_bars_are_as_long_as_the_data_says(study):
    made = figures.make("round-robin", [study])
    left, middle, _ = made.picture.axes
    told = [row["mean"] for row in panels.chosen(made.rows, quantity="return")]
    np.testing.assert_allclose([bar.get_width() for bar in left.patches], told)
    np.testing.assert_allclose([bar.get_y() + bar.get_height() / 2 for bar in left.patches], range(5))
    assert [label.get_text() for label in left.get_yticklabels()] == [
        f"{name} (n={SEEDS[name]})" for name in METHODS if name in SEEDS
    ]
    shares = [[bar.get_width() for bar in middle.patches[i : i + 3]] for i in range(0, 15, 3)]
    np.testing.assert_allclose(np.sum(shares, axis=1), 1)
    assert "Mean and standard error over 2 to 3 seeds." in made.picture.get_supxlabel()
    assert "Split test: 3 levels, 8 games" in made.picture.get_supxlabel().replace("\n", " ")


def test_errors_are_standard_errors_or_the_interval_of_95_percent():
    row = {"mean": 1.0, "standard_error": 0.25, "low_95": 0.5, "high_95": 2.0, "seeds": 3}
    assert panels.ends(row, "standard-error") == (0.25, 0.25)
    assert panels.ends(row, "95") == (0.5, 1.0)
    alone = {"mean": 1.0, "standard_error": np.nan, "low_95": np.nan, "high_95": np.nan, "seeds": 1}
    assert panels.ends(alone, "95") == panels.ends(alone, "standard-error") == (0.0, 0.0)
    assert panels.about([alone], Options()) == "One seed, hence without an interval."


def test_emergent_curves_are_of_the_levels_that_updates_learned_from(study):
    rows = figures.make("emergent", [study]).rows
    for method, base, first in (("dr-sp", 0, 1), ("maestro", 100, 3)):
        own = panels.chosen(rows, method=method, statistic="number")
        assert [row["updates"] for row in own] == list(range(first, 9))
        np.testing.assert_allclose([row["mean"] for row in own], [base + at + 5 for at in range(first, 9)])
        assert {row["seeds"] for row in own} == {2}


def test_a_point_of_a_curve_is_the_mean_since_the_one_before(study, monkeypatch):
    monkeypatch.setattr(figures.logs, "POINTS", 2)
    own = panels.chosen(figures.make("emergent", [study]).rows, method="dr-sp")
    assert [(row["updates"], row["mean"]) for row in own] == [(4, 2.5 + 5), (8, 6.5 + 5)]


def test_pairs_tell_who_was_served_when_and_what_buffers_held(study):
    rows = figures.make("pairs", [study]).rows
    at = {(row["method"], row["updates"], row["slot"]): row for row in rows}
    assert [at["dr-sp", u, 2]["chosen"] for u in (4, 5)] == [0.0, 0.75]
    assert at["dr-sp", 8, 1]["buffers"] == "none" and np.isnan(at["dr-sp", 8, 1]["buffer_fill"])
    last = at["maestro", 8, 2]
    assert (last["buffers"], last["buffer_fill"], last["seeds"]) == ("one each", 0.5, 2)
    assert last["max_score"] == pytest.approx(0.8)


def test_the_gallery_shows_what_was_served_at_the_start_in_the_middle_and_at_the_end(study):
    made = figures.make("gallery", [study])
    for moment, at in (("start", 0), ("middle", 4), ("end", 8)):
        own = panels.chosen(made.rows, method="maestro", moment=moment)
        assert [row["number"] for row in own] == list(range(at, at + 8))
        assert {(row["updates"], row["coplayer"], row["replayed"]) for row in own} == {(at, 2, True)}
    shown = made.picture.axes[-1].get_images()[0].get_array()  # the last moment of the last method
    side = shown.shape[0] // 2
    middles = [shown[side // 2 + side * (i // 4), side // 2 + side * (i % 4), 0] for i in range(8)]
    assert middles == [5 * number for number in range(8, 16)]


def test_the_gallery_shows_all_of_a_level_where_pictures_show_a_part(study, monkeypatch):
    def whole(level, scale):
        return np.full((3 * scale, 3 * scale, 3), 10 * int(level.number), np.uint8)

    game = games.find("figure_studies:DRAWN")
    monkeypatch.setitem(games._found, game.name, replace(game, draw=Drawing(map=whole)))
    shown = figures.make("gallery", [study]).picture.axes[-1].get_images()[0].get_array()
    side = shown.shape[0] // 2
    assert side == 96 + GAP  # as large as it fits
    assert [shown[side // 2, side // 2 + side * i, 0] for i in range(4)] == [80, 90, 100, 110]


@pytest.mark.parametrize("name", ["emergent", "pairs", "gallery"])
def test_specialists_are_drawn_only_if_asked_for_or_alone(tmp_path, name):
    games.find("figure_studies:DRAWN")
    write_run(tmp_path / "special", "dr-sp", level="# one\nx\n")
    label = "dr-sp@file"  # whose level is a text
    assert {row["method"] for row in figures.make(name, [tmp_path]).rows} == {label}
    write_run(tmp_path / "general", "dr-sp")
    assert {row["method"] for row in figures.make(name, [tmp_path]).rows} == {"dr-sp"}
    asked = Options(methods=(label, "dr-sp"))
    assert {row["method"] for row in figures.make(name, [tmp_path], asked).rows} == {label, "dr-sp"}
    assert {row["method"] for row in figures.make("hyperparameters", [tmp_path]).rows} == {label, "dr-sp"}


def test_settings_that_runs_share_stand_in_one_column(tmp_path):
    games.find("figure_studies:DRAWN")
    for name, method, change in (("x", "maestro", {}), ("y", "dr-sp", {}), ("z", "plr-sp", {"clip": 0.4})):
        write_run(tmp_path / name, method, ppo=change)
    made = figures.make("hyperparameters", [tmp_path])
    head, _, *lines = made.texts[".md"].splitlines()
    assert head == "| setting | dr-sp, maestro | plr-sp |"
    assert "| ppo.clip | 0.2 | 0.4 |" in lines and "| seeds | 2 | 2 |" in lines
    assert r"ppo.rollout\_length & 16 & 16 \\" in made.texts[".tex"]
    assert {"method": "plr-sp", "setting": "ppo.clip", "value": "0.4", "seeds": 2} in made.rows
    assert escaped("50% \\x_{1}") == r"50\% \textbackslash{}x\_\{1\}"


def test_runs_of_one_method_go_together_if_their_seeds_differ_and_apart_if_not(tmp_path):
    write_run(tmp_path / "first", "dr-sp", seeds=2)
    write_run(tmp_path / "second", "dr-sp", seeds=1, first=2)
    rows = figures.make("emergent", [tmp_path]).rows
    assert {(row["method"], row["seeds"]) for row in rows} == {("dr-sp", 3)}
    np.testing.assert_allclose(rows[-1]["mean"], 8 + 10)
    write_run(tmp_path / "third", "dr-sp", seeds=1, first=1)
    rows = figures.make("emergent", [tmp_path]).rows
    assert {row["method"] for row in rows} == {"dr-sp (first)", "dr-sp", "dr-sp (third)"}


def lengthened(run, slots, last=8):
    """A run whose log ends at some update and has so many slots of co-players."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        for name, nothing in (("chosen", 0.0), ("buffer_fill", 0.0), ("max_score", None)):
            line[name] = [(seed + [nothing] * slots)[:slots] for seed in line[name]]
    kept = [json.dumps(line) + "\n" for line in lines if line["updates"] <= last]
    (run / "metrics.jsonl").write_text("".join(kept))


def test_runs_of_one_method_with_different_populations_are_one_cohort(tmp_path):
    write_run(tmp_path / "long", "maestro", seeds=2)
    write_run(tmp_path / "short", "maestro", seeds=1, first=10)
    lengthened(tmp_path / "long", slots=5)
    lengthened(tmp_path / "short", slots=2, last=4)
    rows = figures.make("pairs", [tmp_path]).rows
    at = {(row["updates"], row["slot"]): row for row in rows}
    assert {row["slot"] for row in rows} == set(range(5))
    assert [at[u, 1]["seeds"] for u in (4, 5)] == [3, 2] and at[4, 1]["chosen"] == 1
    assert at[4, 2]["chosen"] == 0 and at[5, 2]["chosen"] == 0.75
    assert at[4, 2]["buffer_fill"] == 0 and at[4, 1]["buffer_fill"] == 0.5
    for updates in range(1, 9):
        assert sum(at[updates, slot]["chosen"] for slot in range(5)) == pytest.approx(1)


def test_pairs_name_the_methods_of_which_nothing_was_logged(tmp_path):
    write_run(tmp_path / "told", "maestro")
    write_run(tmp_path / "silent", "plr-fsp")
    (tmp_path / "silent" / "metrics.jsonl").write_text("")
    made = figures.make("pairs", [tmp_path])
    assert {row["method"] for row in made.rows} == {"maestro"}
    assert "nothing was logged of it: plr-fsp." in made.picture.get_supxlabel().replace("\n", " ")
    with pytest.raises(FigureError, match="logged nothing"):
        figures.make("pairs", [tmp_path / "silent"])


def test_curves_are_of_the_games_that_have_milestones_whatever_else_is_there(tmp_path):
    two = {"maestro": 2, "dr-sp": 2}
    write_crossplay(tmp_path / "test", random_games(two), two)
    early = random_games(two, updates=POINTS)
    write_crossplay(tmp_path / "miles", early, two, "generated:16", updates=POINTS)
    for name in ("round-robin-curves", "levels-curves"):
        rows = figures.make(name, [tmp_path]).rows
        assert {row["split"] for row in rows} == {"generated:16"} and len({r["updates"] for r in rows}) == 3
    assert {row["split"] for row in figures.make("round-robin", [tmp_path]).rows} == {"test"}
    asked = figures.make("round-robin", [tmp_path], Options(updates=4)).rows
    assert {(row["split"], row["updates"]) for row in asked} == {("generated:16", 4)}
    with pytest.raises(FigureError, match="several numbers of updates"):
        figures.make("round-robin-curves", [tmp_path], Options(split="test"))


def test_who_was_left_out_of_a_comparison_is_named_with_the_option_that_shows_them(tmp_path):
    both = {"maestro": 1, "hunter": 1}
    write_crossplay(tmp_path / "x", random_games(both), both, scripted=("hunter",))
    words = "has maestro, hunter (hunter: shown only if --methods names them)"
    with pytest.raises(FigureError, match=re.escape(words)):
        figures.make("round-robin", [tmp_path])
    with pytest.raises(FigureError, match=r"hunter$"):
        figures.make("round-robin", [tmp_path], Options(methods=("maestro",)))


def test_the_caption_of_landscapes_has_the_rollouts_of_all_of_them(tmp_path):
    for name, rollouts in (("a", 8), ("b", 4)):
        write_landscape(tmp_path / name, rollouts)
    told = figures.make("landscape", [tmp_path]).picture.get_supxlabel().replace("\n", " ")
    assert "over 4 to 8 rollouts of 8 steps" in told
    told = figures.make("landscape", [tmp_path / "a"]).picture.get_supxlabel().replace("\n", " ")
    assert "over 8 rollouts of 8 steps" in told


@pytest.mark.parametrize("extras", [1, 3])
def test_numbers_below_bars_of_a_small_range_do_not_run_into_each_other(tmp_path, extras):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    two = {"maestro": 2, "dr-sp": 2}
    small = {name: x / 100 if x.dtype == float else x for name, x in random_games(two).items()}
    small |= {f"{a}_{i}": small[f"{a}_grass"] / 10 for a in "ab" for i in range(extras - 1)}
    write_crossplay(tmp_path / "x", small, two)
    with style.drawing():
        picture = figures.make("one-to-one", [tmp_path]).picture
        canvas = FigureCanvasAgg(picture)
        canvas.draw()
    for panel in picture.axes:
        low, high = panel.get_xlim()
        labels = [x for x in panel.get_xticklabels() if low <= x.get_position()[0] <= high]
        seen = [x.get_window_extent() for x in labels]
        assert len(seen) > 1 and all(a.x1 < b.x0 for a, b in pairwise(seen))


def test_a_figure_is_the_same_file_every_time(study, tmp_path):
    options = Options(methods=("maestro", "dr-sp"))
    files = []
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        files.append(figures.draw("matrix", [study], tmp_path / name, options))
    assert [file.name for file in files[0]] == ["a.svg", "a.png", "a.csv"]
    assert [file.name for file in files[2]] == ["a.pdf", "a.png", "a.csv"]
    for ending in (*style.ENDINGS, ".csv"):
        content = (tmp_path / f"a{ending}").read_bytes()
        assert content == (tmp_path / f"b{ending}").read_bytes()
        assert b"CreationDate" not in content and b"<dc:date>" not in content


def test_a_method_has_one_color_in_all_figures_and_strangers_are_hatched():
    alone, many = (
        style.looks(["maestro"]),
        style.looks([*METHODS, "dr-sp@Ruins", "dr-sp@Star", "mine", "yours"]),
    )
    assert alone["maestro"] == many["maestro"] and not alone["maestro"].hatch
    assert len({many[name].color for name in PAPER_METHODS}) == len(PAPER_METHODS)
    assert many["accel-pfsp"].color == many["plr-pfsp"].color and many["accel-pfsp"].hatch
    assert many["maestro-l"].color == many["maestro"].color and many["maestro-l"].hatch
    assert many["dr-sp@Ruins"].color == many["dr-sp"].color
    assert len({(look.color, look.hatch) for look in many.values()}) == len(many)
    assert len({(look.color, look.line) for look in many.values()}) == len(many)


def test_any_name_can_be_drawn(tmp_path):
    who = {"$x^$ \x1b[31m \u4e2d": 1, "a very long name " * 5: 1}
    write_crossplay(tmp_path / "odd", random_games(who), who)
    for name in ("round-robin", "matrix"):
        style.write(figures.make(name, [tmp_path], Options(levels=("one",))).picture, tmp_path / "odd.png")


WRONG = {
    "no cross-play": ("round-robin", "runs", {}, "made of a cross-play"),
    "no runs": ("emergent", "crossplay", {}, "made of runs"),
    "an unknown method": ("round-robin", ".", {"methods": ("maestro", "plr-fps")}, "did you mean plr-fsp"),
    "a method without a run": ("emergent", ".", {"methods": ("plr-fsp",)}, "no run of 'plr-fsp'"),
    "one method alone": ("round-robin", ".", {"methods": ("maestro",)}, "needs two methods"),
    "an unknown level": ("levels", ".", {"levels": ("onee",)}, "did you mean one"),
    "an unknown quantity": ("levels", ".", {"quantity": "speed"}, "no quantity 'speed'"),
    "an unknown statistic": ("emergent", ".", {"quantity": "speed"}, "no statistic 'speed'"),
    "an unknown split": ("levels", ".", {"split": "validation"}, "there are test, one,two"),
    "updates without games": ("levels", ".", {"updates": 5}, "there are 0, 4, 8"),
    "of nobody": ("one-to-one", ".", {"of": "nobody"}, "no method 'nobody'"),
    "no milestones": ("levels-curves", "crossplay/test", {}, "several numbers of updates"),
    "no specialists": ("specialists", "crossplay/test", {}, "no specialist"),
    "a specialist of another level": ("specialists", ".", {"levels": ("three",)}, "no specialist of 'three'"),
    "no landscape": ("landscape", "runs", {}, "made of landscapes"),
    "no folder": ("levels", "nowhere", {}, "does not exist"),
    "a file": ("levels", "crossplay/test/table.csv", {}, "is a file"),
    "nothing of the kind": ("levels", "runs/maestro/levels", {}, "is no run, cross-play, landscape or study"),
}


@pytest.mark.parametrize("name, where, options, words", WRONG.values(), ids=WRONG)
def test_what_cannot_be_drawn_is_said(study, name, where, options, words):
    with pytest.raises(FigureError, match=re.escape(words)):
        figures.make(name, [study / where], Options(**options))


def test_an_unknown_figure_hints_at_the_nearest():
    with pytest.raises(FigureError, match="did you mean round-robin"):
        figures.draw("roundrobin", [])
    with pytest.raises(FigureError, match="no folder is named"):
        figures.make("levels", [])
    with pytest.raises(FigureError, match=r"--out: 'x\.jpg' does not end in one of"):
        figures.files("levels", Path("x.jpg"))


def test_a_cross_play_that_is_damaged_or_not_over_is_refused(tmp_path):
    two = {"maestro": 1, "dr-sp": 1}
    write_crossplay(tmp_path / "x", random_games(two), two)
    (tmp_path / "x" / "table.csv").rename(tmp_path / "kept")
    with pytest.raises(FigureError, match="not all played"):
        figures.make("levels", [tmp_path / "x"])
    (tmp_path / "x" / "table.csv").write_text((tmp_path / "kept").read_text() + "1,2\n")
    with pytest.raises(FigureError, match="line 8: 2 values"):
        figures.make("levels", [tmp_path / "x"])
    (tmp_path / "x" / "plan.json").write_text("{}")
    with pytest.raises(FigureError, match="damaged: entrants"):
        figures.make("levels", [tmp_path / "x"])


def test_two_sets_of_levels_without_the_usual_one_need_a_choice(tmp_path):
    two = {"maestro": 1, "dr-sp": 1}
    for split in ("generated:64", "generated:8"):
        write_crossplay(tmp_path / split, random_games(two), two, split)
    with pytest.raises(FigureError, match="choose one of generated:64, generated:8"):
        figures.make("levels", [tmp_path])
    assert figures.make("levels", [tmp_path], Options(split="generated:8")).rows


def test_more_levels_than_fit_onto_a_page_are_refused(tmp_path):
    two = {"maestro": 1, "dr-sp": 1}
    write_crossplay(tmp_path / "x", random_games(two, [f"level {i}" for i in range(25)]), two)
    with pytest.raises(FigureError, match="25 levels are too many for one page"):
        figures.make("levels", [tmp_path])
