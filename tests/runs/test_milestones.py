"""The students along training are kept, the same whether a run was killed or not, and can be played."""

import math
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cli, cohort
from maestro.runs import milestones, trainer
from maestro.runs.agent_file import AgentError
from runs_helpers import KEPT, RACE, Killed, QuickTrainer, kept, micro, new_folder, newest

CONFIG = micro("dr-fsp", evaluation=KEPT)  # 8 updates; copies join before the first, after 3 and after 6


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(folder, last state) of a run that nothing has stopped."""
    folder = new_folder(tmp_path_factory.mktemp("whole") / "run", CONFIG)
    return folder, QuickTrainer(folder, CONFIG).run()


def rounded(params):
    """In half precision and back."""
    return jax.tree.map(lambda x: np.asarray(x).astype("float16").astype("float32"), params)


def assert_equal(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    assert all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_members_of_the_population_are_the_students_that_were_kept_but_the_last(whole, seed):
    folder, state = whole
    assert milestones.points(folder) == [0, 3, 6, 8]
    members = jax.tree.map(lambda x: x[seed], state.seeds.curriculum.population.params)
    for slot, updates in enumerate([0, 3, 6], 1):
        kept_one = milestones.load(folder, RACE, updates, seed).params
        assert_equal(kept_one, rounded(jax.tree.map(lambda x, slot=slot: x[slot], members)))
    last = milestones.load(folder, RACE, 8, seed).params
    assert_equal(last, rounded(jax.tree.map(lambda x: x[seed], state.seeds.learner.params)))


def test_with_a_warm_up_students_are_kept_when_they_join_and_before(tmp_path):
    config = micro("dr-fsp", {"warmup": 2}, evaluation={"times": 0, "keep_students": True})
    folder = new_folder(tmp_path / "run", config)
    stops = []

    class Noting(QuickTrainer):
        def next_stop(self):
            stops.append(super().next_stop())
            return stops[-1]

    state = Noting(folder, config).run()
    assert milestones.points(folder) == [0, 2, 5, 8] and {2, 5} <= set(stops)
    for slot, updates in enumerate([2, 5], 1):
        member = jax.tree.map(lambda x, slot=slot: x[1, slot], state.seeds.curriculum.population.params)
        assert_equal(milestones.load(folder, RACE, updates, 1).params, rounded(member))


def stops(config, path):
    """Where the chunks of a run end."""
    quick, found = QuickTrainer(new_folder(path, config), config), []
    while quick.updates < config.schedule.total_updates:
        found.append(quick.next_stop())
        quick.state = quick.state.replace(updates=jnp.int32(found[-1]))
    return found


def test_chunks_end_where_copies_join(tmp_path):
    warm = micro("dr-fsp", {"warmup": 5, "total_updates": 12, "interval": 4}, evaluation={"times": 0})
    assert stops(warm, tmp_path / "warm") == [4, 5, 8, 9, 12]


def test_a_run_killed_at_any_pause_keeps_the_same_files_byte_for_byte(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", 0.0)  # one cycle
    folder = new_folder(tmp_path / "run", CONFIG)
    for killed_after in (0, 2, 3, 4, 6, 8):
        with pytest.raises(Killed):
            QuickTrainer(folder, CONFIG, killed_after).run()
    QuickTrainer(folder, CONFIG).run()
    assert kept(folder.path) == kept(whole[0].path) and newest(folder.path) == newest(whole[0].path)


def test_members_that_were_not_kept_when_they_joined_are_kept_later(whole, tmp_path):
    """As in a folder of an older version, or of a run that goes on from another's state."""
    folder = new_folder(tmp_path / "run", CONFIG)
    with pytest.raises(Killed):
        QuickTrainer(folder, CONFIG, 5).run()
    shutil.rmtree(folder.milestones)
    QuickTrainer(folder, CONFIG).run()
    assert kept(folder.path) == kept(whole[0].path)


def test_what_a_lost_session_has_kept_is_written_anew_when_it_is_reached_again(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", math.inf)
    folder = new_folder(tmp_path / "run", CONFIG)
    shutil.copytree(whole[0].milestones, folder.milestones)
    shutil.copytree(whole[0].levels, folder.levels)
    files = kept(folder.path)
    other = milestones.path(folder, 3, 0)
    shutil.copy(milestones.path(folder, 6, 0), other)
    shutil.copy(milestones.path(folder, 6, 0).with_suffix(".json"), other.with_suffix(".json"))
    assert kept(folder.path) != files
    QuickTrainer(folder, CONFIG).run()
    assert kept(folder.path) == files


def test_a_run_that_is_told_to_keep_nothing_keeps_nothing(tmp_path):
    config = micro("dr-fsp")
    folder = new_folder(tmp_path / "run", config)
    QuickTrainer(folder, config).run()
    assert not folder.milestones.exists() and not folder.levels.exists()
    assert milestones.points(folder) == []


def test_a_student_that_half_precision_cannot_hold_is_told_and_training_goes_on(tmp_path):
    folder = new_folder(tmp_path / "run", CONFIG)
    vast = QuickTrainer(folder, CONFIG)
    learner = vast.state.seeds.learner
    large = jax.tree.map(lambda x: x + 1e6, learner.params)
    vast.state = vast.state.replace(seeds=vast.state.seeds.replace(learner=learner.replace(params=large)))
    vast.keep()
    assert "the student at update 0 is not kept: " in vast.reporter.said[-1]
    assert "holds a number that half precision cannot" in vast.reporter.said[-1]


@pytest.mark.parametrize("name", ["milestones", "levels"])
def test_a_student_or_a_sample_that_cannot_be_written_ends_the_run_in_good_order(tmp_path, name):
    folder = new_folder(tmp_path / "run", CONFIG)
    (folder.path / name).write_text("a file where a folder should be")
    with pytest.raises(trainer.Stopped, match=r"run: File exists; ") as stop:
        QuickTrainer(folder, CONFIG).run()
    assert stop.value.resumable and stop.value.code == 1


def test_a_point_counts_once_the_students_of_all_seeds_are_there(whole, tmp_path):
    folder = new_folder(tmp_path / "run", CONFIG)
    shutil.copytree(whole[0].milestones, folder.milestones)
    milestones.path(folder, 3, 1).with_suffix(".json").unlink()  # as if killed before the card
    (folder.milestones / "notes.json").write_text("{}")
    assert milestones.points(folder) == [0, 6, 8]


def test_a_student_that_was_not_kept_is_told_with_those_that_were(whole):
    with pytest.raises(AgentError, match=r"no student of seed 1 was kept at update 4; .*: 0, 3, 6, 8$"):
        milestones.load(whole[0], RACE, 4, 1)


@pytest.fixture
def piece(whole, tmp_path):
    """A finished run without its checkpoints, as it can be copied elsewhere."""
    path = shutil.copytree(whole[0].path, tmp_path / "piece", ignore=shutil.ignore_patterns("checkpoints"))
    for seed in (0, 1):
        for ending in (".safetensors", ".json"):
            source = milestones.path(whole[0], 8, seed).with_suffix(ending)
            shutil.copy(source, path / "agents" / f"student-{seed}{ending}")
    (path / "summary.json").write_text("{}")
    return path


def test_a_piece_of_a_run_is_listed_as_the_run_is_and_is_finished(piece, capsys):
    assert cli.run(["runs", str(piece)]) == 0
    assert "8/8" in (row := capsys.readouterr().out.splitlines()[-1]) and "finished" in row
    assert cli.run(["resume", str(piece), "--game", "probes:RACE"]) == 0
    assert "is finished" in capsys.readouterr().out and not (piece / "checkpoints").exists()


def test_a_piece_of_a_run_cannot_be_exported_and_says_where_its_students_are(piece, capsys):
    assert cli.run(["export", str(piece), "--game", "probes:RACE"]) == 2
    places = f"{piece / 'agents'} and {piece / 'milestones'}"
    assert capsys.readouterr().err == f"maestro: {piece} has no checkpoint; its students are in {places}\n"


def test_students_of_a_piece_play(piece, capsys):
    player = piece / "agents" / "student-1.safetensors"
    assert cli.run(["duel", "random", "--game", "probes:RACE", "--a", str(player), "--games", "4"]) == 0
    assert capsys.readouterr().out.startswith("4 games: A trained won ")
