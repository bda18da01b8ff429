"""Games of an evaluation that are kept until it is done: found again by the very same games alone."""

import os
import time
from dataclasses import replace

import jax.numpy as jnp
import pytest

from evaluation_players import Guesser
from maestro.analysis import kept
from maestro.analysis.crossplay import CrossPlay
from maestro.analysis.evaluate import evaluate
from maestro.analysis.kept import Kept
from maestro.evaluation.cross_play import Entrant, Play
from maestro.evaluation.level_sets import LevelSet
from maestro.evaluation.table import to_csv
from maestro.runs import lock
from probes import Level, Race

LEVELS = LevelSet("some", ("one", "two"), Level(jnp.array([3, 7]), jnp.array([5, 5])))


def games(skill=0.9, **changes):
    """Two against two others, which are two blocks in each half."""
    everyone = {
        name: [Entrant(name, 0, Guesser(jnp.float32(x)), f"digest {x}")]
        for name, x in (("strong", skill), ("middle", 0.5), ("weak", 0.2))
    }
    who = {0: {name: everyone[name] for name in ("strong", "middle")}}
    return CrossPlay(
        "race", replace(Play(Race(), LEVELS, 2), **changes), who, against={"weak": everyone["weak"]}
    )


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """A cache in which the games of all but the last block are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def interrupt(name, done, total):
        if name == "middle - weak, half 2 of 2":
            raise Interrupted

    with pytest.raises(Interrupted), kept.opened(games()) as begun:
        evaluate(games(), interrupt, begun)
    return tmp_path / "maestro" / "evaluations"


def test_an_interrupted_evaluation_goes_on_and_finds_what_an_undisturbed_one_does(interrupted):
    played = []
    with kept.opened(games()) as again:
        assert again.count() == 3
        found, whole = evaluate(games(), lambda name, done, total: played.append(name), again)
    assert set(played) == {"middle - weak, half 2 of 2"}
    expected = evaluate(games())
    assert found == expected[0] and to_csv(whole) == to_csv(expected[1])
    assert not list(interrupted.iterdir())


@pytest.mark.parametrize("change", [{"skill": 0.8}, {"seed": 1}, {"episodes": 4}])
def test_other_games_find_nothing(interrupted, change):
    with kept.opened(games(**change)) as others:
        assert others.count() == 0


def test_code_that_was_changed_finds_nothing(interrupted, monkeypatch):
    monkeypatch.setattr(kept, "source", lambda kind: "changed since")
    with kept.opened(games()) as others:
        assert others.count() == 0


def test_a_damaged_part_is_played_again(interrupted):
    (folder,) = interrupted.iterdir()
    (folder / "0-00000.csv").write_text("a,b\n")
    played = []
    with kept.opened(games()) as again:
        evaluate(games(), lambda name, done, total: played.append(name), again)
    assert set(played) == {"strong - weak, half 1 of 2", "middle - weak, half 2 of 2"}


def test_two_at_once_do_not_share_a_folder(interrupted):
    with kept.opened(games()) as first:
        with kept.opened(games()) as second:
            assert second.folder is None
        assert first.count() == 3


def test_what_nobody_came_back_for_is_removed_but_for_what_is_in_use(interrupted):
    (folder,) = interrupted.iterdir()
    long_ago = time.time() - kept.AGE - 1
    with lock.hold(folder):
        os.utime(folder, (long_ago, long_ago))
        kept.clear(interrupted)
        assert folder.is_dir()
    os.utime(folder, (long_ago, long_ago))
    kept.clear(interrupted)
    assert not folder.exists()


def test_without_a_cache_nothing_is_kept_and_all_is_played(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with kept.opened(games()) as nowhere:
        assert nowhere.folder is None and nowhere.count() == 0
        assert evaluate(games(), None, nowhere)[0]["games"] == 2 * 2 * 2 * 2 * 2
    assert Kept(tmp_path / "no" / "such").folder is None
