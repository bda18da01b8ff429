"""The data of a report: what folders hold, no more and no less, in a form that a page can trust."""

import base64
import copy
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jax
import numpy as np
import pytest

import report_runs
from figure_studies import random_games, write_crossplay
from maestro import games
from maestro.analysis import report
from maestro.analysis.figures import FigureError, Options, find
from maestro.analysis.figures.matrix import matrix
from maestro.analysis.figures.source import opened
from maestro.analysis.report import (
    agents,
    answer,
    bound,
    crossplays,
    join,
    landscapes,
    numbers,
    recordings,
)
from maestro.analysis.report import students as students_alone
from maestro.analysis.report.collecting import Quiet
from maestro.analysis.report.games import Recorder, watch
from maestro.analysis.report.opened import look
from maestro.analysis.report.people import People
from maestro.analysis.report.runs import names as report_names
from maestro.analysis.report.scenes import Scenes
from maestro.analysis.standings import standings
from maestro.envs.base import observation_shape
from maestro.envs.lasertag import scene as lasertag
from maestro.envs.racing import scene as racing
from maestro.envs.racing.sheet import poses
from maestro.evaluation import play, replay, table
from maestro.evaluation.opponents import trained
from maestro.games.lasertag import GAME
from maestro.games.racing import GAME as RACING
from maestro.runs import agent_file
from maestro.runs.folder import RunFolder
from probes import RACE
from report_checks import problems
from runs_helpers import KEPT, QuickTrainer, micro, new_folder

QUICK = report.Choice(figures=False)
NOBODY = report.Choice(figures=False, games=False)
HOSTILE = "</script><img src=x onerror=alert(1)><!--&amp;\u2028"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two runs of LaserTag, their games and a landscape."""
    return report_runs.write_study(tmp_path_factory.mktemp("study") / "small")


@pytest.fixture(scope="module")
def data(study):
    """Of the study, with its recorded games."""
    return report.collect([study], QUICK)


@pytest.fixture
def known(data):
    """The same, to be changed."""
    return copy.deepcopy(data)


def read_back(page):
    """The data that a page holds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def test_the_data_of_a_study_has_the_form_that_pages_take(data):
    assert problems(json.loads(report.to_json(data))) == []


def test_the_data_that_pages_are_tested_with_has_the_same_form():
    golden = Path(__file__).parent.parent / "golden" / "report.json"
    assert problems(json.loads(golden.read_text())) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scenes", 0, "ground"), "red"),
        (("games", 0, "scene"), 10_000),
        (("games", 0, "frames", 0, 0), 99),
        (("runs", 0, "curriculum", "moments", 0, "seeds"), []),
        (("crossplays", 0, "mean", 0), []),
        (("landscapes", 0, "levels", 0), -1),
        (("tables", 0, "rows", 0), [1]),
    ],
)
def test_the_check_of_the_form_sees_what_is_wrong(known, path, value):
    *way, last = path
    part = known
    for step in way:
        part = part[step]
    part[last] = value
    assert problems(known)


def test_the_matrix_and_the_table_have_the_numbers_of_the_cross_play(study, data):
    played = table.read(study / "crossplay" / "some" / "table.csv")
    (shown,), rows = data["crossplays"], standings(played)
    told = data["tables"][0]
    assert [row[0] for row in told["rows"]] == [row["method"] for row in rows]
    for line, row in zip(told["rows"], rows, strict=True):
        numbers = [row[name] for name in ("return", "low", "high", "won", "drawn", "lost")]
        known = [x for x in line[2:8] if x is not None]
        assert known == pytest.approx([x for x in numbers if x is not None], rel=1e-3)
    drawn = matrix(find([study / "crossplay"]), Options(methods=tuple(shown["rows"]))).rows
    for row in drawn:
        i, j = shown["rows"].index(row["method"]), shown["columns"].index(row["against"])
        for name, key in (("mean", "mean"), ("low", "low_95"), ("high", "high_95")):
            value = shown[name][i][j]
            assert (value is None) == np.isnan(row[key])
            assert value is None or value == pytest.approx(row[key], rel=1e-3)


def test_a_landscape_has_its_regrets_its_marks_and_its_levels(study, data):
    for seed, own in enumerate(data["landscapes"]):
        scores = json.loads((study / "landscape/maestro/landscape.json").read_text())["seeds"][seed]
        assert own["regret"] == [
            [None if x is None else pytest.approx(x, rel=1e-3) for x in row] for row in scores["scores"]
        ]
        assert own["joint"] == [scores["marks"]["joint"]["member"], scores["marks"]["joint"]["level"]]
        assert own["run"] == "maestro" and own["seed"] == seed
        shown = [data["scenes"][place] for place in own["levels"]]
        assert [scene["label"] for scene in shown] == ["level 1", "level 2", "level 3"]
        real = [lasertag.scene(GAME.levels.load(name)).size for name in ("Empty", "Cross", "Ruins")]
        assert [tuple(scene["size"]) for scene in shown] == real


def test_every_cell_that_was_played_has_a_game_of_its_players_in_their_seats(data):
    (shown,) = data["crossplays"]
    for i, row in enumerate(shown["games"]):
        for j, place in enumerate(row):
            assert (place is None) == (i == j)
            if place is not None:
                assert data["games"][place]["names"] == [shown["rows"][i], shown["columns"][j]]
                assert data["games"][place]["level"] in ("Empty", "Ruins")
    for own in data["landscapes"]:
        for row, member in zip(own["games"], own["members"], strict=True):
            for j, place in enumerate(row):
                game = data["games"][place]
                assert game["names"][1] == f"member of {member}" and game["scene"] == own["levels"][j]
    assert not [line for line in data["left_out"] if "cells" in line]


def recorder(game=GAME, runs=()):
    """One that has recorded nothing."""
    return Recorder(Scenes(game), People(game, list(runs)), Quiet())


def students(study):
    """Two players of the study."""
    files = [study / "runs" / name / "agents" / "student-0.safetensors" for name in ("maestro", "dr-sp")]
    return [agent_file.load(file, GAME) for file in files]


def test_a_recorded_game_is_the_game_state_by_state(study):
    a, b = students(study)
    level, key, env = GAME.levels.load("Empty"), jax.random.key(3), report_runs.CONFIG.environment
    game, values = jax.device_get(watch(key, env, level, a, b, 300))
    own = recorder()
    place = own.keep(("a", "b"), ("Empty", level), game, values)
    told = own.found[place]
    assert len(told["frames"]) == int(game.length) + 1 and len(told["values"]) == int(game.length)
    for t, frame in enumerate(told["frames"]):
        state = jax.tree.map(lambda x, t=t: x[t], game.states)
        bodies = np.reshape(frame, (-1, 4))
        for seat in range(2):
            row, column = state.position[seat]
            kind = seat if state.alive[seat] else 4 + seat
            assert bodies[seat].tolist()[:3] == [kind, column + 0.5, row + 0.5]
            assert bodies[seat][3] == pytest.approx(int(state.facing[seat]) * np.pi / 2, abs=0.01)
        bolts = {(int(y - 0.5), int(x - 0.5)): int(kind - 2) for kind, x, y, _ in bodies[2:]}
        cells = np.argwhere(state.bolts > 0).tolist()
        assert bolts == {(y, x): int(state.bolts[y, x] >> 2 & 1) for y, x in cells}
    assert told["result"] == {1: "a", 0: "draw", -1: "b"}[int(game.outcome)]


def test_a_recorded_race_has_its_cars_where_the_states_have_them():
    level = RACING.levels.load("Monaco")
    state, _ = jax.jit(RACING.environment().reset)(jax.random.key(1), level)
    moved = [
        state.replace(cars=state.cars.replace(position=state.cars.position + 7.0 * t, heading=np.full(2, t)))
        for t in range(3)
    ]
    states = jax.tree.map(lambda *x: np.stack([np.asarray(y, np.asarray(x[0]).dtype) for y in x]), *moved)
    game = play.Episode(states, np.zeros((2, 2, 3)), np.zeros((2, 2)), np.int32(2), np.int32(-1))
    own = recorder(RACING)
    told = own.found[own.keep(("a", "b"), ("Monaco", level), game)]
    assert told["result"] == "b" and told["values"] is None and len(told["frames"]) == 3
    origin, _ = racing.corner(level)
    for one, frame in zip(moved, told["frames"], strict=True):
        for seat, (place, heading) in enumerate(poses(one)):
            kind, x, y, angle = frame[4 * seat : 4 * seat + 4]
            assert kind == seat and angle == pytest.approx(-heading, abs=0.01)
            assert [x, y] == pytest.approx(((place - origin) * (1, -1)).tolist(), abs=0.06)


def test_what_is_watched_is_what_episode_plays_and_minds_knows():
    env, agent = RACE.environment(), RACE.presets["tiny"].agent
    network = agent.fitted(observation_shape(env), env.action)
    a, b = (jax.jit(lambda key: trained(network, network.init(key)))(jax.random.key(i)) for i in range(2))
    level, key = env.sample_level(jax.random.key(5)), jax.random.key(7)
    game, values = watch(key, env, level, a, b, 10)
    same = play.episode(key, env, level, a, b, 10)
    assert all(jax.tree.leaves(jax.tree.map(lambda x, y: bool((x == y).all()), game, same)))
    expected = replay.minds(key, env, level, a, b, 10).values
    assert np.allclose(values, expected, equal_nan=True)


def test_a_player_who_is_not_the_one_that_was_measured_is_not_shown(study, tmp_path):
    plan = json.loads((study / "crossplay" / "some" / "plan.json").read_text())
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "table.csv").write_bytes((study / "crossplay" / "some" / "table.csv").read_bytes())
    plan["entrants"]["0"]["dr-sp"]["0"] = "0" * 64
    (folder / "plan.json").write_text(json.dumps(plan))
    own = report.collect([folder, study / "runs"], QUICK)
    (shown,) = own["crossplays"]
    at = shown["rows"].index("dr-sp")
    assert shown["games"][at] == [None] * 3 and {row[at] for row in shown["games"]} == {None}
    assert any("4 of 6 cells have no game to watch" in line for line in own["left_out"])


def test_a_moment_tells_what_was_served(study, data):
    run = next(run for run in data["runs"] if run["label"] == "maestro")
    sample = report_runs.sample(report_runs.CONFIG, 1)
    moment = run["curriculum"]["moments"][1]
    assert moment["updates"] == 2
    for seed, own in enumerate(moment["seeds"]):
        assert [level["coplayer"] for level in own["levels"]] == sample.coplayer[seed].tolist()
        assert [level["score"] is None for level in own["levels"]] == [True, True, False, False, False]
        assert [level["replayed"] for level in own["levels"]] == [False, False, True, True, True]
        level = jax.tree.map(lambda x, seed=seed: x[seed, 0], sample.levels)
        walls = data["scenes"][own["levels"][0]["scene"]]["shapes"][0]["at"]
        assert walls == [int(x) for x in lasertag.scene(level).shapes[0].at]
        assert own["members"] == 2 and len(own["weights"]) == 3 and own["win_rate"] == [None] * 3
    size = next(one for one in run["curriculum"]["statistics"] if one["name"] == "grid_size")
    levels = jax.tree.map(lambda x: x[0], sample.levels)
    real = jax.vmap(report_runs.CONFIG.environment.statistics)(levels)["grid_size"]
    assert size["y"][0][1] == pytest.approx(float(np.mean(real)), rel=1e-3)
    assert run["members"][0] == [{"slot": 1, "joined": 0}, {"slot": 2, "joined": 2}]
    won = next(curve for curve in run["curves"] if curve["name"] == "won against first")
    assert won["x"] == [2, 4] and won["y"][0] == pytest.approx([0.3, 0.5])


def test_agents_to_play_are_the_best_first_and_have_the_students_numbers(study, data):
    found = data["play"]["agents"]
    best = [row[0] for row in data["tables"][0]["rows"] if row[0] != "Random"]
    assert [agent["name"] for agent in found] == best
    agent = next(agent for agent in found if agent["name"] == "maestro")
    _, params = agent_file.load_params(study / "runs/maestro/agents/student-0.safetensors", GAME)
    kernel = agent["arrays"]["lstm.wh"]
    read = np.frombuffer(base64.b64decode(kernel["f16"]), "<f2").reshape(kernel["shape"])
    assert np.array_equal(read, np.asarray(params["lstm"]["wh"]).astype(np.float16))
    assert agent["hidden"] == 8 and [x["name"] for x in data["play"]["levels"]] == list(GAME.levels.names)


def test_a_page_holds_the_data_and_lets_only_its_own_scripts_run(data):
    page = report.page(data, GAME.page)
    assert read_back(page) == json.loads(report.to_json(data))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    folders = (join.PAGE, GAME.page)
    assert scripts == [path.read_text() for folder in folders for path in sorted(folder.glob("*.js"))]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digests = [base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in policy
    live = re.search(r"connect-src ([^;]*);", report.page({**data, "live": True}))[1]
    assert live == "'self'"


def test_scripts_of_the_game_are_there_only_where_it_can_be_played(data):
    without = report.page({**data, "play": None}, GAME.page)
    assert without.count("<script>") == len(list(join.PAGE.glob("*.js")))


class Tags(HTMLParser):
    """All tags of a page."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, *sorted(name for name, _ in attrs)))


def test_hostile_names_and_texts_survive_as_data_and_are_never_markup(tmp_path, data):
    folder = tmp_path / HOSTILE.replace("/", "|")
    run = report_runs.write_run(folder, seeds=1)
    run.config.write_text(run.config.read_text().replace('"maestro"', json.dumps(HOSTILE)))
    report_runs.write_landscape(folder / "landscape", texts=(HOSTILE,))
    own = report.collect([folder], report.Choice(title=HOSTILE, games=False))
    found = read_back(report.page(own))
    assert found["title"] == HOSTILE and problems(found) == []
    assert found["runs"][0]["label"] == HOSTILE and found["runs"][0]["folder"] == folder.name
    assert found["scenes"][found["landscapes"][0]["levels"][0]]["text"] == HOSTILE
    plain = {**own, **{name: data[name] for name in ("title", "runs", "scenes", "landscapes", "answer")}}
    plain |= {"question": "", "tables": [], "figures": []}
    assert Tags(report.page(own)).found == Tags(report.page(plain)).found


def test_numbers_that_are_none_are_null_and_strings_keep_every_letter():
    odd = {"x": [float("nan"), float("inf"), np.float32(0.5), np.arange(2)], "y": "a<b>&\u2029\ud800"}
    text = report.to_json(odd)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"x": [None, None, 0.5, [0, 1]], "y": "a<b>&\u2029?"}
    assert numbers.listed([np.nan, -np.inf, 2.0, 1 / 3, 1e300]) == [None, None, 2, 0.3333, 1e300]


@pytest.mark.parametrize("share", [0.7, 0.3, 0.1])
def test_a_page_is_never_larger_than_it_may_be_and_says_what_is_missing(known, tmp_path, share):
    whole = report.write(tmp_path / "whole.html", copy.deepcopy(known))
    around = len(report.page({**known, **{name: [] for name in ("scenes", "games", "runs")}}, GAME.page))
    most = int(around + share * (whole - around))
    size = report.write(tmp_path / "small.html", known, most)
    found = read_back((tmp_path / "small.html").read_text())
    assert size == (tmp_path / "small.html").stat().st_size <= most < whole
    assert problems(found) == [] and any("kept" in line for line in found["left_out"])
    told = next(line for line in found["left_out"] if line.startswith("Recorded games"))
    assert told.startswith(f"Recorded games: {len(found['games'])} are kept")
    (shown,) = found["crossplays"]
    for i, row in enumerate(shown["games"]):
        for j, place in enumerate(row):
            if place is not None:
                assert found["games"][place]["names"] == [shown["rows"][i], shown["columns"][j]]


def test_scenes_that_nothing_shows_are_forgotten_and_the_others_keep_their_bodies():
    scenes = [{"bodies": []}, {"bodies": ["mine"]}, {"bodies": {"same": 1}}, {"bodies": {"same": 1}}]
    maps = [{"levels": [3], "games": [[None]]}]
    small = {"scenes": scenes, "games": [], "runs": [], "landscapes": maps, "crossplays": []}
    bound.prune(small)
    assert small["scenes"] == [{"bodies": ["mine"]}, {"bodies": {"same": 0}}] and maps[0]["levels"] == [1]


def test_of_some_games_one_is_shown_that_was_won_and_the_shortest_of_these(monkeypatch):
    def game(outcome, length):
        return ("", None), play.Episode(None, None, None, np.int32(length), np.int32(outcome)), None

    own = recorder()
    monkeypatch.setattr(own, "keep", lambda names, level, game, values: int(game.length))
    games = [game(0, 3), game(1, 90), game(-1, 40), game(0, 2)]
    assert own.show(("a", None), ("b", None), games) == 40
    assert own.show(("a", None), ("b", None), games[:1] + games[3:]) == 2


def test_the_game_of_a_cell_is_of_the_student_and_of_that_member(study, monkeypatch):
    found = look([study], (), Quiet())
    ((path, survey),) = found.surveys
    own = recorder(runs=found.runs)
    one = landscapes.heat_map(survey, 1, found.run_of(path, survey), own.scenes)
    calls = []
    monkeypatch.setattr(own, "record", lambda env, a, b, levels, tries: calls.append((a, b, levels)) or 0)
    landscapes.record(one, own)
    run = study / "runs" / "maestro"
    student = agent_file.load(run / "agents" / "student-1.safetensors", GAME)
    files = [run / "milestones" / f"{at:09d}-student-1.safetensors" for at in report_runs.JOINED]
    members = [agent_file.load(file, GAME) for file in files]
    assert len(calls) == 6
    for number, (a, b, _) in enumerate(calls):
        for real, player in ((student, a[1]), (members[number // 3], b[1])):
            assert np.array_equal(real.params["lstm"]["wh"], player.params["lstm"]["wh"])


def sure_of(row):
    """Whether the interval of a row includes zero, in words."""
    return "includes zero" if row["low"] <= 0 <= row["high"] else "excludes zero"


def test_the_best_of_a_round_robin_is_told_with_its_interval(study, data):
    played = crossplays.read(study / "crossplay" / "some", ())
    first, second = [row for row in standings(played.games) if row["method"] != "Random"]
    told, ahead, counted = data["answer"]
    assert first["method"] in told and f"{first['return']:+.3f}" in told
    assert f"{first['low']:+.3f} to {first['high']:+.3f}" in told and sure_of(first) in told
    assert second["method"] in ahead and f"{played.count:,} games" in counted
    assert numbers.sure(0.1, 0.2, "5 seeds") == "95 % interval +0.100 to +0.200, which excludes zero; 5 seeds"
    assert "excludes" in numbers.sure(-0.2, -0.1, "") and "includes" in numbers.sure(-0.1, 0.2, "")
    assert numbers.sure(None, None, "1 seed") == "without an interval: 1 seed"


def test_the_best_method_is_neither_a_script_nor_a_specialist(tmp_path):
    seeds = {"maestro": 2, "dr-sp": 2, "dr-sp@one": 2, "hunter": 1, "Random": 1}
    games = random_games(seeds)
    own = random_games({"maestro": 2, "twin": 2}, dice=1)
    own["b"] = np.where(own["b"] == "twin", "maestro", own["b"])
    for side in "ab":
        strong = np.isin(games[side], ["hunter", "dr-sp@one"])
        games[f"{side}_return"] = games[f"{side}_return"] + 9.0 * strong
    both = table.concatenate([games, own])
    write_crossplay(tmp_path / "some", both, seeds, scripted=("hunter", "Random"))
    play = crossplays.read(tmp_path / "some", ())
    question, (told, ahead, counted) = answer.of([play], [])
    known = [row["method"] for row in standings(both) if row["method"] in ("maestro", "dr-sp")]
    assert question == "Which method has trained the best students?"
    assert f"is {known[0]}:" in told and f"the second, {known[1]} " in ahead
    who = set(("maestro", "dr-sp"))
    count = sum(
        int(n) for a, b, n in zip(*(both[x] for x in ("a", "b", "episodes")), strict=True)
        if a != b and {a, b} & who
    )  # fmt: skip
    assert f"That is {count:,} games of 2 methods at the end of their training" in counted
    assert "training, also against 2 scripted players and 1 specialist;" in counted
    one = crossplays.read(tmp_path / "some", ("maestro", "hunter", "Random"))
    assert answer.of([one], [])[0] == "What is in these folders?"


def test_two_runs_of_one_method_are_told_apart_and_each_has_its_games(tmp_path):
    runs = {"m10": (10, 300), "maestro": (0, 0)}
    kept = {
        name: report_runs.write_run(tmp_path / "runs" / name, dice=dice, seed=seed)
        for name, (seed, dice) in runs.items()
    }
    report_runs.write_play(tmp_path / "some", {name: kept[name] for name in ("maestro", "m10")})
    own = report.collect([tmp_path], QUICK)
    (shown,) = own["crossplays"]
    assert set(shown["rows"]) == {"maestro", "Random", "m10"}
    missing = [(i, j) for i, row in enumerate(shown["games"]) for j, place in enumerate(row) if place is None]
    assert missing == [(0, 0), (1, 1), (2, 2)]
    assert not [line for line in own["left_out"] if "no game to watch" in line]
    assert [run["name"] for run in own["runs"]] == ["maestro (m10)", "maestro (maestro)"]
    assert {agent["name"] for agent in own["play"]["agents"]} == {"maestro (m10)", "maestro (maestro)"}
    apart = report.collect([tmp_path / "runs"], NOBODY)["answer"]
    assert apart[0].startswith("maestro (m10): ") and apart[1].startswith("maestro (maestro): ")


def test_a_student_is_found_by_its_digest_among_runs_of_one_label(tmp_path):
    runs = [report_runs.write_run(tmp_path / f"{at}" / "same", dice=100 * at) for at in range(2)]
    people = People(GAME, opened(find([tmp_path]), Options()))
    files = [run.agents / "student-0.safetensors" for run in runs]
    for file in files:
        digest = json.loads(file.with_suffix(".json").read_text())["sha256"]
        found = people.entrant("maestro", {"0": digest, "1": "x"}, 0)
        real = agent_file.load(file, GAME)
        assert np.array_equal(found.params["lstm"]["wh"], real.params["lstm"]["wh"])
    assert people.entrant("maestro", {"0": "0" * 64}, 0) is None
    assert len(set(report_names(people.runs))) == 2


def test_recorded_games_have_other_dice_than_the_levels_they_are_played_on(monkeypatch):
    keys, levels = [], []

    class Stop(Exception):
        pass

    def seen(key, *rest):
        keys.append(tuple(jax.random.key_data(key).tolist()))
        raise Stop

    def sampled(env, key):
        jax.debug.callback(lambda x: levels.append(tuple(x.tolist())), jax.random.key_data(key))
        return real(env, key)

    env, own = RACE.environment(), recorder(RACE)
    real = type(env).sample_level
    monkeypatch.setattr(type(env), "sample_level", sampled)
    monkeypatch.setattr("maestro.analysis.report.games.watch", seen)
    drawn = students_alone.generated(env)
    jax.effects_barrier()
    for number in range(20):
        with pytest.raises(Stop):
            own.play(env, ("a", None), ("b", None), drawn, number)
    assert len(keys) == 20 and len(levels) == 8 and not set(keys) & set(levels)


def test_a_single_run_is_told_by_its_last_comparison_and_its_student_meets_its_co_players(study):
    own = report.collect([study / "runs" / "maestro"], QUICK)
    now, before, took = own["answer"]
    assert "won 60% and lost 10% of 200 games" in now and "50% to 70%" in now and "2 seeds" in now
    assert "after 2 updates it won 30%" in before and "trained for 90 seconds on cpu" in took
    (shown,) = own["crossplays"]
    assert shown["columns"] == ["member of update 0", "member of update 2"]
    assert all(-1 <= mean <= 1 for mean in shown["mean"][0])
    assert [own["games"][place]["names"][1] for place in shown["games"][0]] == shown["columns"]


def test_a_run_in_the_middle_of_training_is_shown_as_far_as_it_is(tmp_path):
    run = report_runs.write_run(tmp_path / "early", finished=False, seeds=1)
    (run.levels / f"{2:09d}.safetensors").write_bytes(b"half a file")
    with run.metrics.open("a") as file:
        file.write('{"updates": 5, "losses.ent')
    own = report.collect([run.path], report.Choice(live=True))
    assert problems(json.loads(report.to_json(own))) == [] and own["live"] is True
    assert [moment["updates"] for moment in own["runs"][0]["curriculum"]["moments"]] == [0, 4]
    assert own["runs"][0]["updates"] == 4 and own["runs"][0]["status"] == "unknown"
    assert own["answer"][0] == "After 4 updates it won 50% of its games (10% to 70%, 95 %)."
    assert own["games"] == own["figures"] == [] and own["play"] is None


def test_what_was_measured_only_at_the_end_is_not_called_earlier(tmp_path):
    run = report_runs.write_run(tmp_path / "short", seeds=1)
    run.evaluation.write_text(run.evaluation.read_text().splitlines()[1] + "\n")  # after 4 updates of 4
    own = report.collect([run.path], NOBODY)
    assert own["answer"][1] == "How it did earlier in training was not measured."


def test_several_runs_that_have_not_met_are_not_compared(study):
    own = report.collect([study / "runs"], NOBODY)
    assert "maestro crossplay runs/dr-sp runs/maestro --out games" in own["answer"][2]
    assert own["crossplays"] == [] and [run["label"] for run in own["runs"]] == ["dr-sp", "maestro"]


def test_a_run_that_has_only_begun_says_that_nothing_was_measured(tmp_path):
    run = report_runs.write_run(tmp_path / "new", finished=False, seeds=1)
    for path in (run.metrics, run.evaluation):
        path.unlink()
    own = report.collect([run.path], NOBODY)
    assert own["answer"][0].startswith("Nothing has been measured yet")
    assert problems(json.loads(report.to_json(own))) == []


def test_what_is_damaged_is_left_out_and_told(study, tmp_path):
    report_runs.write_landscape(tmp_path / "odd")
    (tmp_path / "odd" / "landscape.json").write_text("{}")
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    plan = (study / "crossplay" / "some" / "plan.json").read_text()
    (unfinished / "plan.json").write_text(plan)
    own = report.collect([study / "runs", tmp_path], NOBODY)
    assert any("not all played yet" in line for line in own["left_out"])
    assert any("no landscapes of format" in line for line in own["left_out"])
    assert str(tmp_path) not in report.to_json(own)


def test_methods_choose_who_is_shown(study):
    own = report.collect([study], report.Choice(methods=("maestro",), figures=False, games=False))
    assert [run["label"] for run in own["runs"]] == ["maestro"] and len(own["landscapes"]) == 2
    with pytest.raises(FigureError, match="no run of 'nobody'"):
        report.collect([study], report.Choice(methods=("nobody",)))


def test_folders_of_two_games_or_of_an_unknown_one_are_refused(study, tmp_path):
    run = new_folder(tmp_path / "race", micro())
    with pytest.raises(FigureError, match="one game"):
        report.collect([study, run.path], NOBODY)
    games._found.pop("race", None)
    with pytest.raises(FigureError, match="--game module:NAME"):
        report.collect([run.path], NOBODY)


def test_a_game_without_shapes_is_shown_as_text(tmp_path):
    games.find("probes:RACE")
    config = micro(evaluation={**KEPT, "times": 2, "levels": 2})
    run = new_folder(tmp_path / "race", config)
    QuickTrainer(run, config).run()
    own = report.collect([run.path], QUICK)
    assert problems(json.loads(report.to_json(own))) == []
    (shown,) = own["crossplays"]
    game = own["games"][shown["games"][0][0]]
    assert game["frames"] == [] and len(game["text"]) == len(game["values"]) + 1
    assert "time" in game["text"][0] and "\\[" not in game["text"][0]
    scene = own["scenes"][own["runs"][0]["curriculum"]["moments"][0]["seeds"][0]["levels"][0]["scene"]]
    assert json.loads(scene["text"]).keys() == {"name", "number", "time_limit"}
    assert own["play"] is None and own["seats"] == ["first", "second"]


def test_a_level_without_shapes_is_shown_as_terminals_show_its_first_state():
    game = copy.copy(GAME)
    object.__setattr__(game, "draw", replace(GAME.draw, scene=None))
    own = Scenes(game)
    text = own.found[own.add(GAME.levels.load("Empty"))]["text"]
    assert "█" in text and "[" not in text and not own.draws


def test_markup_of_terminals_is_taken_off_texts():
    own = Scenes(GAME)
    level = GAME.levels.load("Empty")
    state, _ = GAME.environment().reset(jax.random.key(0), level)
    text = own.text(level, state)
    assert "[" not in text and "█" in text and set(text) & set("▲▶▼◀")


def test_another_network_than_the_page_runs_is_told_and_not_embedded(study, monkeypatch):
    class Other(GAME.agent):
        """Not what the page runs."""

    game, runs, player = copy.copy(GAME), opened(find([study / "runs"]), Options()), students(study)[0]
    object.__setattr__(game, "agent", Other)
    people = People(game, runs)
    monkeypatch.setattr(people, "newest", lambda run, seed: (4, player))
    found, why = agents.play(people, runs, [])
    assert found is None and "the page runs Other only, not ConvLSTM" in why


def test_only_games_of_two_are_recorded(study, monkeypatch):
    found = look([study / "runs"], (), Quiet())
    monkeypatch.setattr(type(report_runs.CONFIG.environment), "num_agents", 3)
    recordings.record(found, [], [], recorder())
    assert found.left_out == [f"Recorded games: {GAME.name} has 3 players."]


def test_a_run_folder_needs_no_more_than_its_settings(tmp_path):
    run = RunFolder(tmp_path / "bare")
    run.path.mkdir()
    whole = report_runs.write_run(tmp_path / "whole", seeds=1)
    run.config.write_text(whole.config.read_text())
    own = report.collect([run.path], QUICK)
    assert problems(json.loads(report.to_json(own))) == [] and own["runs"][0]["curriculum"] is None
    assert any("Nobody can be played here" in line for line in own["left_out"])


def test_of_levels_that_are_too_many_half_are_forgotten():
    moments = [{"seeds": [{"levels": [1, 2, 3, 4, 5]}, {"levels": [6]}]}]
    assert "2 of each" in bound.fewer_levels({"runs": [{"curriculum": {"moments": moments}}]})
    assert moments == [{"seeds": [{"levels": [1, 2]}, {"levels": [6]}]}]
