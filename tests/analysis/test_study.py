"""What a study's file means, what of it is done, how long the rest takes, and what is made at the end."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maestro import toml
from maestro.analysis import figures
from maestro.analysis.study import after, games, grid, measures, pace, plan, run_folders
from maestro.analysis.study.run_folders import BEGUN, DONE, NEW
from maestro.evaluation import table
from maestro.games import find
from maestro.games.lasertag import GAME as LASERTAG
from maestro.runs import folder as run_folder
from maestro.runs import sessions
from maestro.settings import SettingsError
from runs_helpers import claim
from study_helpers import GAME, PAPER, ROCK, SCISSORS, content, finished, note_session, study

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
DR, MAESTRO = {"method": "dr-sp"}, {"method": "maestro"}


def quiet(told):
    """Nobody listens."""


def test_a_study_trains_each_method_on_each_level_with_every_combination_of_a_grid() -> None:
    found = study(
        {"methods": ["dr-sp", "maestro"], "seeds": 3, "settings": {"ppo": {"clip": 0.3}}},
        {"methods": ["dr-sp", "dr-fsp"], "levels": ["HERE", "there"]},
        {"method": "dr-sp", "name": "mine", "settings": {"seed": 7}},
        grid=[{"methods": ["plr-sp"], "ppo.gamma": [0.9, 0.5], "curriculum": {"score": ["max_mc"]}}],
    )
    names = [*("dr-sp", "maestro", "dr-sp@here", "dr-sp@there", "dr-fsp@here", "dr-fsp@there", "mine"),
             *("plr-sp+gamma=0.9+score=max_mc", "plr-sp+gamma=0.5+score=max_mc")]  # fmt: skip
    assert [cohort.name for cohort in found.cohorts] == names
    by_name = {cohort.name: cohort.config for cohort in found.cohorts}
    assert [by_name[name].ppo.clip for name in ("maestro", "mine")] == [0.3, 0.2]
    assert [by_name[name].seeds for name in ("maestro", "mine")] == [3, GAME.presets["tiny"].seeds]
    assert (by_name["dr-fsp@there"].level, by_name["dr-fsp@there"].method) == ("there", "dr-fsp")
    assert [by_name[name].ppo.gamma for name in names[-2:]] == [0.9, 0.5] and by_name["mine"].seed == 7
    assert all(config.ppo.workers == 4 and config.game == "hands" for config in by_name.values())


def test_specialists_and_points_of_a_grid_take_part_only_where_they_are_named() -> None:
    points = [{"methods": ["dr-sp"], "ppo.gamma": [0.9]}]
    found = study(DR, MAESTRO, {"method": "dr-sp", "level": "here"}, grid=points, crossplay=[{}])
    assert [cohort.name for cohort in found.named(())] == ["dr-sp", "maestro"]
    assert [cohort.name for cohort in found.named(("dr-sp@here",))] == ["dr-sp@here"]
    steps = {step.name: [c.name for c in step.cohorts] for step in after.steps(found, Path("out"))}
    assert steps == {
        "crossplay test": ["dr-sp", "maestro"],
        "select (validation split)": ["dr-sp+gamma=0.9"],
    }


MISTAKES = {
    "an unknown key": (content(DR, cohrt=[]), "'cohrt': unknown; did you mean cohort?"),
    "no preset": ({"game": "hands", "cohort": [DR]}, "preset: is missing; allowed: tiny"),
    "another preset": (content(DR, preset="big"), "preset: 'big' is not allowed; allowed: tiny"),
    "another game": (content(DR, game="chess"), "game: the study is of 'chess', not of hands"),
    "no cohort": (content(), "cohort: there is none; write [[cohort]] or [[grid]]"),
    "a table for a list": (content(cohort={"method": "dr-sp"}), "cohort: {'method': 'dr-sp'} is no list"),
    "no method": (content({"seeds": 3}), "cohort 1.method: is missing"),
    "an unknown method": (content({"method": "mastro"}), "cohort 1: method: 'mastro' is unknown; did you me"),
    "a method that was not typed": (content({"method": "my:RULE"}), "cohort 1: my:RULE is imported only if"),
    "method and methods": (content({**DR, "methods": ["dr-fsp"]}), "cohort 1: method and methods exclude"),
    "a misspelled field": (
        content({**DR, "sedes": 3}),
        "cohort 1.sedes: unknown setting; did you mean seeds",
    ),
    "too few seeds": (content({**DR, "seeds": 0}), "cohort 1: seeds: 0 is out of range; allowed: 1 to"),
    "an unknown setting": (
        content({**DR, "settings": {"ppo": {"clp": 1}}}),
        "cohort 1: ppo.clp: unknown set",
    ),
    "a method among settings": (content(DR, settings={"method": "dr-sp"}), "settings.method: is no setting"),
    "settings that are none": (content({**DR, "settings": 3}), "cohort 1.settings: 3 is no table"),
    "an unknown level": (
        content({**DR, "level": "hre"}),
        "cohort 1: level: unknown level 'hre' (nearest: 'h",
    ),
    "the same name twice": (content(DR, DR), "cohort dr-sp: 2 have this name; give them others: name"),
    "one name for two": (
        content({"methods": ["dr-sp", "maestro"], "name": "x"}),
        "cohort x: 2 have this name",
    ),
    "no name for a folder": (content({**DR, "name": "../x"}), "cohort '../x': cannot be a folder's name; gi"),
    "a value for a list": (
        content(grid=[{"methods": ["dr-sp"], "ppo.clip": 1}]),
        "grid 1: ppo.clip: 1 is no",
    ),
    "a grid without values": (content(grid=[{"methods": ["dr-sp"]}]), "grid 1: no setting has a list of val"),
    "a grid without methods": (content(grid=[{"ppo.clip": [1.0]}]), "grid 1.methods: is missing"),
    "a vast grid": (
        content(grid=[{"methods": ["dr-sp"], "ppo.clip": [0.1] * 40, "ppo.gamma": [0.1] * 40}]),
        "grid 1: more than 1,000 cohorts",
    ),
    "an unknown cohort": (
        content(DR, landscape={"cohorts": ["dr-ps"]}),
        "landscape.cohorts: 'dr-ps' is unkn",
    ),
    "an unknown player": (
        content(DR, crossplay=[{"players": ["papr"]}]),
        "crossplay 1.players: 'papr' is un",
    ),
    "unknown levels": (
        content(DR, crossplay=[{"levels": "tset"}]),
        "crossplay 1.levels: unknown level 'tset",
    ),
    "no best ones": (
        content(DR, exploit={}),
        "exploit.cohorts: is missing, and there is no [[crossp",
    ),
    "no levels": (
        content(DR, crossplay=[{"levels": "generated:0"}]),
        "crossplay 1.levels: generated:0 is not",
    ),
    "the same games twice": (content(DR, crossplay=[{}, {}]), "crossplay 2.name: 'test' is taken, or cannot"),
    "too many episodes": (
        content(DR, crossplay=[{"episodes": 0}]),
        "crossplay 1.episodes: 0 is out of range",
    ),
    "an unknown split": (
        content(DR, evaluate={"split": "tst"}),
        "evaluate.split: 'tst' is not allowed; allo",
    ),
    "a cohort called as a script": (
        content({**DR, "name": "rock"}),
        "cohort rock: a scripted player is called so; give it another: name",
    ),
    "a cohort called as the script that every game has": (
        content({**DR, "name": "random"}),
        "cohort random: a scripted player is called so; give it another: name",
    ),
    "a figure of games that nobody plays": (
        content(DR, figures=["hyperparameters", "matrix"]),
        "figures: matrix is made of a cross-play, and there is no [[crossplay]]",
    ),
    "a figure of landscapes that nobody measures": (
        content(DR, figures=["landscape"]),
        "figures: landscape is made of landscapes, and there is no [landscape]",
    ),
    "an unknown figure": (content(DR, figures=["matrx"]), "figures: 'matrx' is unknown; did you mean matrix"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_study_is_told(name) -> None:
    wrong, message = MISTAKES[name]
    with pytest.raises(SettingsError) as caught:
        plan.read(wrong, GAME)
    assert [line for line in caught.value.problems if line.startswith(message)], caught.value.problems
    assert len(caught.value.problems) == 1


def test_figures_that_need_games_are_those_that_are_not_drawn_of_runs_alone(tmp_path) -> None:
    finished(tmp_path, study(DR).cohorts[0], [PAPER])
    for name in figures.KINDS:
        try:
            figures.make(name, [tmp_path])
            told = ""
        except figures.FigureError as error:
            told = str(error)
        needs = "made of a cross-play" in told or "made of landscapes" in told
        assert needs == (name not in plan.OF_RUNS), (name, told)


def test_all_mistakes_are_told_at_once_and_those_of_all_cohorts_once() -> None:
    wrong = content({**DR, "sedes": 1}, MAESTRO, settings={"ppo": {"clp": 1}}, landscape={"levels": 0})
    with pytest.raises(SettingsError) as caught:
        plan.read(wrong, GAME)
    starts = ["ppo.clp: unknown", "cohort 1.sedes: unknown", "landscape.levels: 0 is out of range"]
    assert [line[: len(start)] for line, start in zip(caught.value.problems, starts, strict=True)] == starts


def test_a_cohort_is_new_then_begun_then_done(tmp_path) -> None:
    found = study(DR)
    (planned,) = found.cohorts
    assert run_folders.standings(found, tmp_path)[0].state == NEW
    folder = claim(tmp_path / "runs" / "dr-sp")
    run_folder.begin(folder, planned.config)
    run_folder.begin_session(folder, planned.config, sessions.this_one("cpu"))
    folder.checkpoints.mkdir()
    (folder.checkpoints / "000000003-000000003.json").touch()
    (standing,) = run_folders.standings(found, tmp_path)
    assert (standing.state, standing.updates, standing.left) == (BEGUN, 3, 1)
    shutil.rmtree(folder.path)
    finished(tmp_path, planned, [PAPER, ROCK])
    (standing,) = run_folders.standings(found, tmp_path)
    assert (standing.state, standing.left) == (DONE, 0)


def test_what_was_copied_into_a_study_must_be_whole_and_its_own(tmp_path) -> None:
    found = study(DR, MAESTRO, {"method": "dr-fsp"})
    dr, maestro, fsp = found.cohorts
    lacking = finished(tmp_path, dr, [PAPER, ROCK])
    (lacking.agents / "student-1.safetensors").unlink()
    finished(tmp_path, replace(maestro, config=replace(maestro.config, seed=5)), [PAPER, ROCK])
    finished(tmp_path, replace(fsp, config=replace(fsp.config, method="dr-pfsp")), [PAPER, ROCK])
    with pytest.raises(SettingsError) as caught:
        run_folders.standings(found, tmp_path)
    whole, other, method = caught.value.problems
    assert "dr-sp: a piece that is not whole; copy it again, or remove it" in whole
    assert "maestro: its settings are not those of the study:\n    seed: 5 -> 0" in other
    assert "dr-fsp: a run of 'dr-pfsp', not of 'dr-fsp'" in method


def test_a_piece_has_no_checkpoints_and_says_which_of_its_files_are_too_large(tmp_path, monkeypatch) -> None:
    folder = finished(tmp_path, study(DR).cohorts[0], [PAPER, ROCK])
    folder.checkpoints.mkdir()
    (folder.checkpoints / "000000004-000000004.json").touch()
    assert run_folders.make_piece(folder) == [] and not folder.checkpoints.exists()
    assert folder.agents.is_dir()
    (folder.path / "film.gif").write_bytes(b"0" * 17_000_000)
    assert run_folders.make_piece(folder) == [
        f"{folder.path}/film.gif: 17.0 MB; files of a piece have at most 16"
    ]


def test_cohorts_may_be_added_to_a_study_but_not_changed_or_removed() -> None:
    before = study(DR, MAESTRO, crossplay=[{}])
    assert run_folders.changes(before, study(DR, MAESTRO, {"method": "dr-fsp"}, figures=["all"])) == []
    changed = study({**DR, "seeds": 7}, {"method": "dr-fsp"})
    assert run_folders.changes(before, changed) == ["cohort dr-sp: seeds: 2 -> 7", "cohort maestro: is gone"]


def test_what_is_left_is_estimated_by_the_slowest_of_the_sessions_most_like_it(tmp_path) -> None:
    other = {"method": "dr-fsp", "settings": {"ppo": {"epochs": 2}}}
    found = study(DR, MAESTRO, {**DR, "name": "twin", "seeds": 4}, other)
    folders = [finished(tmp_path, cohort, [PAPER, ROCK]) for cohort in found.cohorts[:2]]
    dr, maestro, twin, other = run_folders.standings(found, tmp_path)
    assert pace.seconds(twin, [], "cpu") is None
    note_session(folders[0], 2.0, 1)
    note_session(folders[0], 12.0, 4)
    note_session(folders[0], None, 4)
    note_session(folders[1], 40.0, 4)
    note_session(folders[1], 4000.0, 4, device="another")
    known = pace.paces([dr, maestro, twin, other])
    assert len(known) == 4 and pace.spent([dr, maestro, twin, other]) == 4054.0
    assert pace.seconds(twin, known, "cpu") == pytest.approx(
        1.1 * 3.0 * 4 * 2
    )  # of its method, twice the seeds
    unlike = [one for one in known if one.config.method == "maestro"]
    assert pace.seconds(twin, unlike, "cpu") == pytest.approx(1.1 * 10.0 * 4 * 2)  # of the same settings
    assert pace.seconds(other, known, "cpu") == pytest.approx(1.1 * 10.0 * 4)  # of anything at all
    assert pace.seconds(twin, known, "a third") is None and pace.seconds(dr, known, "cpu") == 0.0


@pytest.fixture(scope="module")
def hands(tmp_path_factory):
    """(a study whose games are played, its folder, its steps): a grid of two points, and two cohorts."""
    out = tmp_path_factory.mktemp("hands")
    points = [{"methods": ["dr-sp"], "ppo.gamma": [0.9, 0.5]}]
    found = study(DR, MAESTRO, grid=points, crossplay=[{"episodes": 2}], exploit={"best": 1})
    shown = {"dr-sp": [PAPER, PAPER], "maestro": [SCISSORS, SCISSORS]}
    shown |= {"dr-sp+gamma=0.9": [PAPER, ROCK], "dr-sp+gamma=0.5": [SCISSORS, SCISSORS]}
    for cohort in found.cohorts:
        finished(out, cohort, shown[cohort.name])
    steps = {step.name.split()[0]: step for step in after.steps(found, out)}
    for name in ("crossplay", "select"):
        assert not steps[name].is_done(out)
        steps[name].run(out, quiet)
    return found, out, steps


def test_the_points_of_a_grid_are_ranked_on_validation_with_intervals_over_seeds(hands) -> None:
    _, out, _ = hands
    first, second = games.read_ranking(out / "select" / games.RANKING)
    assert (first["method"], second["method"]) == ("dr-sp+gamma=0.5", "dr-sp+gamma=0.9")
    assert {row["split"] for row in (first, second)} == {"validation"}
    assert [float(first[name]) for name in ("return", "low", "high", "seeds", "won")] == [1, 1, 1, 2, 1]
    # Against paper: paper draws, rock loses; Student's interval of -1/2 +- 1/2 for two seeds.
    wide = 12.706 * 0.5
    numbers = [float(second[name]) for name in ("return", "low", "high", "won", "drawn", "lost")]
    assert np.allclose(numbers, [-0.5, -0.5 - wide, -0.5 + wide, 0, 0.5, 0.5], atol=1e-2)


def test_everyone_plays_under_the_name_of_the_cohort(hands) -> None:
    _, out, _ = hands
    played = table.read(out / "crossplay" / "test" / games.TABLE)
    assert set(played["a"]) | set(played["b"]) == {"dr-sp", "maestro"}
    assert set(played["level"]) == {"here"} and played["episodes"].tolist() == [2] * 8
    lost = played["losses"] if played["a"][0] == "dr-sp" else played["wins"]
    assert lost.tolist() == [2] * 8


def test_responses_are_trained_against_the_best_of_the_round_robin(hands) -> None:
    assert measures.exploited(hands[2]["exploit"]) == ["maestro"]


def test_a_result_is_made_again_only_if_its_students_or_its_entry_have_changed(hands, tmp_path) -> None:
    found, out, _ = hands
    shutil.copytree(out, tmp_path / "copy")
    step = after.steps(found, tmp_path / "copy")[0]
    assert step.is_done(tmp_path / "copy")
    other = after.steps(
        replace(found, crossplays=(replace(found.crossplays[0], episodes=3),)), tmp_path / "copy"
    )[0]
    assert not other.is_done(tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "runs" / "maestro")
    finished(tmp_path / "copy", found.cohorts[1], [ROCK, ROCK])
    assert not step.is_done(tmp_path / "copy")
    step.run(tmp_path / "copy", quiet)
    played = table.read(step.folder / games.TABLE)
    assert step.is_done(tmp_path / "copy") and {*played["wins"], *played["losses"]} == {0, 2}
    (step.folder / games.TABLE).unlink()
    assert not step.is_done(tmp_path / "copy")


def test_an_interrupted_result_goes_on_where_it_stopped(hands, tmp_path) -> None:
    found, out, _ = hands
    shutil.copytree(out, tmp_path / "copy")
    step = after.steps(found, tmp_path / "copy")[0]
    (part,) = (step.folder / "parts").iterdir()
    before = part.stat().st_mtime_ns
    (step.folder / games.TABLE).unlink()
    step.run(tmp_path / "copy", quiet)
    assert step.is_done(tmp_path / "copy") and part.stat().st_mtime_ns == before


@pytest.mark.parametrize("path", STUDIES, ids=[path.stem for path in STUDIES])
def test_the_studies_that_come_with_the_project_can_be_done(path) -> None:
    read = toml.read(path)
    found = plan.read(read, find(read["game"]))
    assert found.cohorts and json.dumps([step.name for step in after.steps(found, Path("out"))])


def test_the_study_that_the_documentation_shows_can_be_done() -> None:
    page = (STUDIES[0].parents[1] / "docs" / "studies.md").read_text()
    shown = page.partition("```toml\n")[2].partition("```")[0]
    names = [cohort.name for cohort in plan.read(toml.from_toml(shown, "the page"), LASERTAG).cohorts]
    assert names[:2] == ["mine", "dr-sp@Ruins"] and len(names) == 9


# The grids of appendix D.1: how many combinations, and of which values.
GRIDS = {
    "ppo": (
        108,
        {
            "ppo.learning_rate": {5e-4, 1e-4, 5e-5, 1e-5},
            "ppo.minibatches": {1, 2, 4},
            "ppo.entropy_coef": {0.0, 1e-3, 5e-3},
            "ppo.epochs": {2, 5, 10},
        },
    ),
    "storage": (4, {"schedule.interval": {2000, 4000, 6000, 8000}}),
    "pfsp": (6, {"curriculum.hard_power": {1.5, 2.0, 3.0}, "curriculum.smoothing": {0.1, 0.2}}),
    "plr": (
        24,
        {
            "curriculum.replay_rate": {0.5, 0.9},
            "curriculum.buffer_size": {4000, 8000, 12000},
            "curriculum.staleness": {0.3, 0.7},
            "curriculum.score": {"max_mc", "positive_value_loss"},
        },
    ),
    "maestro": (
        8,
        {"curriculum.exploration": {0.05, 0.1}, "curriculum.member_buffer_size": {500, 750, 1000, 1200}},
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_the_papers_grids_have_the_papers_values_and_at_least_five_seeds(name) -> None:
    count, values = GRIDS[name]
    (path,) = [path for path in STUDIES if path.stem == f"grid-lasertag-{name}"]
    found = plan.read(toml.read(path), LASERTAG)
    methods = {cohort.config.method for cohort in found.cohorts}
    assert len(found.cohorts) == count * len(methods) and all(cohort.grid for cohort in found.cohorts)
    assert all(cohort.config.seeds >= 5 for cohort in found.cohorts)
    for setting, expected in values.items():
        group, _, last = setting.partition(".")
        assert {getattr(getattr(cohort.config, group), last) for cohort in found.cohorts} == expected


def test_points_of_a_grid_are_named_by_the_last_part_of_a_setting_unless_two_have_it() -> None:
    names = [name for _, name in grid.points({"ppo.clip": [0.1], "ppo.units": [1], "agent.units": [2]})]
    assert names == ["+clip=0.1+ppo.units=1+agent.units=2"]
