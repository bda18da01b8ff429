"""Options of the teacher that are not in the paper: which method takes which is told before a run."""

from dataclasses import dataclass, replace

import pytest

from maestro import cli, games
from maestro.curriculum import Method, Source
from maestro.games import Game
from maestro.methods import METHODS, highest_regret, uniform
from maestro.runs import build
from maestro.settings import SettingsError
from probes import RACE, Probe, Race, SmallAgent

NO_NAME = replace(RACE.presets["tiny"], game="", environment=None, agent=None)
LASERTAG = games.find("lasertag")
PARALLEL, COIN = {"kind": "parallel"}, {"kind": "coin"}


def problems(method: str, game: Game = RACE, own: Method | None = None, **changes) -> list[str]:
    """What is wrong with these settings."""
    try:
        build.configure(game, game.presets["tiny"], {"method": method, **changes}, own)
    except SettingsError as error:
        return error.problems
    return []


@pytest.mark.parametrize("option", [{"estimate": "expected"}, {"estimate": "top_mean"}, {"optimism": 0.5}])
@pytest.mark.parametrize("method", METHODS)
def test_only_methods_that_compare_buffers_take_another_estimate_or_optimism(method, option):
    found = problems(method, curriculum=option)
    if METHODS[method].coplayer is highest_regret:
        assert found == []
    else:
        ((name, value),) = option.items()
        assert len(found) == 1 and found[0].startswith(f"curriculum.{name}: {value} ")
        assert f"which '{method}' does not; try maestro; allowed here: " in found[0]


@pytest.mark.parametrize("method", METHODS)
def test_only_methods_with_coplayers_and_a_buffer_try_new_levels_apart(method):
    found = problems(method, curriculum={"try_against": "uniform"})
    if method.startswith("dr-") or method.endswith("-sp"):
        assert len(found) == 1 and found[0].startswith("curriculum.try_against: uniform needs co-players and")
        assert found[0].endswith(f"which '{method}' has not; allowed here: chosen")
    else:
        assert found == []


def test_a_single_level_is_not_tried_apart():
    found = problems("maestro", LASERTAG, level="Cross", curriculum={"try_against": "uniform"})
    assert len(found) == 1 and "makes no sense with a single level" in found[0]


@pytest.mark.parametrize("method", METHODS)
def test_cold_choices_redraw_under_parallel_only(method):
    assert problems(method, curriculum={"cold": "redraw"}, schedule=PARALLEL) == []
    assert problems(method, curriculum={"cold": "redraw"}, schedule=COIN) == [
        "curriculum.cold: redraw is for schedule.kind parallel, not coin; allowed: wait"
    ]


NO_EDIT = Game("still", Probe, SmallAgent, {"tiny": NO_NAME})
ACCEL = [name for name, method in METHODS.items() if method.edits]


def test_the_methods_with_edits_are_those_of_the_same_rule_and_source_without():
    assert ACCEL == ["accel-sp", "accel-fsp", "accel-pfsp", "maestro-accel"]
    for name in ACCEL:
        plain = METHODS[name.replace("accel-", "plr-").replace("-accel", "")]
        assert Method(plain.coplayer, plain.levels, edits=True) == METHODS[name]


@pytest.mark.parametrize("method", ACCEL)
def test_a_single_level_and_a_game_without_edits_are_refused_by_methods_with_edits(method):
    assert problems(method, LASERTAG) == problems(method, games.find("racing")) == []
    assert problems(method, LASERTAG, level="Cross") == [
        f"method: '{method}' edits levels; with a single one there is nothing to edit"
    ]
    assert problems(method, NO_EDIT) == [
        f"method: '{method}' edits levels, and the game 'still' has no `edit`"
    ]
    assert problems(method.replace("accel", "plr").replace("maestro-plr", "maestro"), NO_EDIT) == []


class OneRace(Race):
    """A game that has but one level, and says so."""

    num_levels = 1


def test_a_game_of_one_level_is_refused_what_a_specialist_is_refused():
    one = Game("one", OneRace, SmallAgent, {"tiny": NO_NAME})
    assert problems("maestro-accel", one) == [
        "method: 'maestro-accel' edits levels; with a single one there is nothing to edit"
    ]
    told = problems("maestro", one, curriculum={"try_against": "uniform"})
    assert len(told) == 1 and told[0].startswith(
        "curriculum.try_against: uniform makes no sense with a single"
    )
    assert problems("maestro", one, schedule={"kind": "coin"}, curriculum={"replay_rate": 0.0}) == []


def test_a_method_of_ones_own_may_have_edits_if_it_keeps_levels():
    assert problems("mine", own=Method(uniform, Source.SHARED, edits=True)) == []
    assert problems("mine", own=Method(uniform, Source.NEW, edits=True)) == [
        "method: 'mine' edits levels that were served again, but keeps none"
    ]


VARIED = METHODS["maestro-l"]


def test_maestro_l_is_maestro_with_learnability_as_its_score():
    assert replace(VARIED, score=None) == METHODS["maestro"] and VARIED.score == "learnability"
    for method in METHODS.keys() - {"maestro-l"}:
        assert METHODS[method].score is None


def test_a_methods_own_score_is_written_into_the_settings_and_decides():
    config = build.configure(RACE, RACE.presets["tiny"], {"method": "maestro-l"})
    named = build.configure(RACE, RACE.presets["tiny"], {"curriculum": {"score": "learnability"}})
    assert config.curriculum.score == "learnability" and replace(config, method="maestro") == named
    assert build.experiment(RACE, config).teacher.score == "learnability"
    unsettled = replace(config, curriculum=replace(config.curriculum, score="max_mc"))
    assert build.experiment(RACE, unsettled).teacher.score == "learnability"
    assert build.experiment(RACE, RACE.presets["tiny"]).teacher.score == "max_mc"


def test_a_methods_own_score_is_refused_beside_another_and_where_a_rollout_holds_one_game():
    assert problems("maestro-l", curriculum={"score": "learnability"}) == []
    found = problems("maestro-l", curriculum={"score": "mean_mc", "playlist": 1}, seeds=0)
    assert [line.split(":")[0] for line in found] == ["seeds", "curriculum.score", "method"]
    told = "curriculum.score: 'mean_mc' does not go with 'maestro-l', which has its own"
    assert found[1] == f"{told}; allowed here: learnability"
    assert found[2].startswith("method: 'maestro-l' needs several games on a level; curriculum.playlist 1 ")
    assert problems("maestro-l", games.find("racing")) == found[2:]


def test_a_method_of_ones_own_may_have_a_score_that_is_known():
    own = Method(uniform, Source.SHARED, score="positive_value_loss")
    proportional = {"prioritization": "proportional"}
    assert problems("mine", own=own, curriculum=proportional) == []
    assert len(problems("mine", own=replace(own, score="mean_mc"), curriculum=proportional)) == 1
    (told,) = problems("mine", own=replace(own, score="luck"))
    assert told.startswith("curriculum.score: 'luck' is not allowed; allowed: max_mc, ")


@dataclass(frozen=True)
class Other(Probe):
    """Edits its levels into themselves."""

    def edit(self, key, level, changes=5):
        return level


def test_the_teacher_gets_the_games_edits():
    game = Game("other", Other, SmallAgent, {"tiny": NO_NAME})
    config = build.configure(game, game.presets["tiny"], {"method": "accel-sp"})
    assert build.experiment(game, config).teacher.edit == config.environment.edit


@pytest.mark.parametrize(
    "words, told",
    [
        (["--method", "plr-fsp", "--curriculum.estimate", "expected"], "curriculum.estimate: expected needs"),
        (["--curriculum.estimate", "best"], "allowed: max, expected, top_mean"),
        (["--curriculum.optimism", "-1"], "curriculum.optimism"),
        (["--curriculum.edit-share", "1.5"], "curriculum.edit_share"),
        (["--curriculum.edits", "0"], "curriculum.edits"),
        (["--method", "accel-pfsp", "--level", "Cross"], "there is nothing to edit"),
        (["--method", "maestro-l", "--curriculum.score", "max_mc"], "does not go with 'maestro-l'"),
        (["--method", "maestro-l", "--curriculum.playlist", "1"], "'maestro-l' needs several games"),
    ],
)
def test_the_command_line_says_so_and_exits_with_2(words, told, tmp_path, capsys):
    assert cli.run(["train", "lasertag", "--preset", "tiny", "--out", str(tmp_path / "run"), *words]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
