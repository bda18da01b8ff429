"""Whatever happens to the files of a checkpoint is noticed, named and set aside, or harmless."""

import json
import os
import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import maestro
from maestro.runs import checkpoint, checkpoints, versions
from maestro.runs.checkpoint import CheckpointError
from maestro.runs.checkpointer import NEWEST, Checkpointer, Poisoned
from maestro.runs.folder import RunError, RunFolder, write_status
from maestro.runs.metrics_log import MetricsLog, Position
from runs_helpers import Listener, QuickTrainer, like, micro, new_folder, quick_start

CONFIG = micro("maestro")
OLD, NEW = (5, 9), (7, 12)  # updates and cycles of two checkpoints, no milestones


def checkpointer_of(folder, config=CONFIG):
    return Checkpointer(folder.checkpoints, config, Listener())


def log_of(folder, position=Position()):  # noqa: B008 (it is frozen)
    return MetricsLog(folder.metrics, folder.evaluation, CONFIG.schedule.total_updates, position)


def at(state, updates, cycles):
    """A state that is different for every number of updates."""
    learner = state.seeds.learner
    params = jax.tree.map(lambda x: x + updates, learner.params)
    seeds = state.seeds.replace(learner=learner.replace(params=params))
    return state.replace(seeds=seeds, updates=jnp.int32(updates), cycles=jnp.int32(cycles))


def save(folder, config, *moments):
    """A run folder with checkpoints of these moments."""
    checkpointer, log, state = checkpointer_of(folder, config), log_of(folder), quick_start(CONFIG)()
    for moment in moments:
        folder.metrics.open("a").close()
        checkpointer.save(at(state, *moment), log)
        checkpointer.finish()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = new_folder(tmp_path_factory.mktemp("original") / "run", CONFIG)
    save(folder, CONFIG, OLD, NEW)
    return folder


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Another run's, with another seed."""
    config = replace(CONFIG, seed=1)
    folder = new_folder(tmp_path_factory.mktemp("stranger") / "run", config)
    save(folder, config, OLD, NEW)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    shutil.copytree(original.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def files(folder, moment=NEW):
    manifest = folder.checkpoints / f"{checkpoints.FORM.format(*moment)}.json"
    return manifest, checkpoints.arrays_of(manifest)


def restored(folder):
    """(updates of the restored state, 0 for a new one; what was said), the state being one that was saved."""
    trainer = QuickTrainer(folder, CONFIG)
    if trainer.updates:
        moment = (trainer.updates, int(trainer.state.cycles))
        expected = checkpoint.flatten(at(quick_start(CONFIG)(), *moment))
        got = checkpoint.flatten(trainer.state)
        assert got.keys() == expected.keys()
        assert all(got[name].tobytes() == expected[name].tobytes() for name in got)
    return trainer.updates, trainer.reporter.said


def test_the_newest_checkpoint_is_used_and_nothing_is_complained_of(folder):
    assert restored(folder) == (7, ["resuming at update 7"])


def check_fallback(folder):
    """The newest one is named and set aside, and the one before it used."""
    updates, said = restored(folder)
    manifest, arrays = files(folder)
    assert updates == 5 and said[-1] == "resuming at update 5"
    assert said[0].startswith(f"checkpoint {manifest.name}: ") and said[0].endswith("; set aside")
    assert not manifest.exists() and not arrays.exists()
    assert restored(folder)[0] == 5


@pytest.mark.parametrize("file", [0, 1], ids=["manifest", "arrays"])
@pytest.mark.parametrize("size", [0, 1, 0.5, -1])
def test_a_truncated_file_is_noticed(folder, file, size):
    path = files(folder)[file]
    content = path.read_bytes()
    path.write_bytes(content[: int(size * len(content)) if isinstance(size, float) else size])
    check_fallback(folder)


@pytest.mark.parametrize("file", [0, 1], ids=["manifest", "arrays"])
def test_a_flipped_bit_anywhere_is_noticed_or_harmless(folder, file):
    path = files(folder)[file]
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little") if file else 0
    places = [0, 1, 7, 8, 9, 20, header, header + 1, len(content) - 1]
    places += range(30, len(content), len(content) // 12)
    noticed = 0
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        updates, said = restored(folder)
        noticed += updates == 5
        named = f"checkpoint {files(folder)[0].name}: "
        assert updates == 7 or (updates == 5 and said[0].startswith(named))
        for bad in files(folder):
            aside = bad.with_name(bad.name + ".bad")
            if aside.exists():
                aside.replace(bad)
    assert noticed >= len(places) - 3  # blanks in the header carry nothing


@pytest.mark.parametrize("file", [0, 1], ids=["manifest", "arrays"])
def test_a_pipe_in_place_of_a_file_is_noticed_and_nobody_waits_for_it(folder, file):
    files(folder)[file].unlink()
    os.mkfifo(files(folder)[file])
    check_fallback(folder)


def test_missing_arrays_are_noticed(folder):
    files(folder)[1].unlink()
    check_fallback(folder)


def test_arrays_without_a_manifest_are_named_and_removed(folder):
    files(folder)[0].unlink()
    updates, said = restored(folder)
    assert updates == 5 and f"{files(folder)[1].name} has no manifest" in said[0]
    assert not files(folder)[1].exists()


def test_a_checkpoint_that_is_gone_is_missed(folder):
    write_status(folder, checkpoint=7)
    for path in files(folder):
        path.unlink()
    assert restored(folder) == (5, ["the checkpoint of update 7 is gone", "resuming at update 5"])


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["manifest", "arrays", "both"])
def test_files_of_another_run_are_noticed(folder, stranger, which):
    for file in which:
        shutil.copy(files(stranger)[file], files(folder)[file])
    if which == [1]:  # the other run's arrays are the same bits here, which is harmless
        assert restored(folder)[0] == 7
    else:
        check_fallback(folder)


def test_arrays_of_another_run_that_differ_are_noticed(folder, stranger):
    shutil.copy(files(stranger, OLD)[1], files(folder)[1])
    check_fallback(folder)


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["manifest", "arrays", "both"])
def test_files_of_an_older_checkpoint_are_noticed(folder, which):
    for file in which:
        shutil.copy(files(folder, OLD)[file], files(folder)[file])
    check_fallback(folder)


def test_a_network_of_other_shapes_is_noticed(folder):
    other = micro("maestro", schedule={"interval": 2})
    with pytest.raises(CheckpointError, match=r"is float32\[.*\], not float32\[.*\]"):
        checkpoint.load(files(folder)[0], like(other))


def test_without_any_good_checkpoint_the_run_starts_again_and_says_so(folder):
    folder.metrics.write_text("a line\n")
    for moment in (OLD, NEW):
        files(folder, moment)[1].write_bytes(b"")
    updates, said = restored(folder)
    assert updates == 0 and said[-1] == "no checkpoint can be used: starting again at update 0"
    assert not folder.metrics.exists()
    assert (folder.path / "metrics.jsonl.bad").read_text() == "a line\n"


def test_settings_that_were_changed_are_refused_field_by_field_and_nothing_is_moved(folder):
    before = sorted(path.name for path in folder.checkpoints.iterdir())
    changed = replace(CONFIG, ppo=replace(CONFIG.ppo, learning_rate=0.5))
    with pytest.raises(RunError, match=r"made with:\n  ppo.learning_rate: 0.01 -> 0.5$"):
        checkpointer_of(folder, changed).restore(like(CONFIG))
    assert sorted(path.name for path in folder.checkpoints.iterdir()) == before


def test_half_written_files_are_swept_away(folder):
    part = folder.checkpoints / "000000008-000000014.safetensors.part"
    part.write_bytes(b"half")
    assert restored(folder)[0] == 7 and not part.exists()


def test_the_newest_few_and_the_first_at_each_milestone_are_kept(tmp_path):
    folder = new_folder(tmp_path / "run", CONFIG)
    save(folder, CONFIG, (0, 0), (0, 1), (1, 3), (3, 5), (3, 6), (4, 7), (5, 8), (6, 9), (7, 10), (7, 11))
    kept = [path.stem for path in checkpoints.found(folder.checkpoints)]
    moments = [(0, 0), (3, 5), (6, 9), (7, 10), (7, 11)]
    assert NEWEST == 3 and kept == [checkpoints.FORM.format(*moment) for moment in moments]
    assert len(list(folder.checkpoints.iterdir())) == 2 * len(kept)


@pytest.mark.parametrize("part", ["params", "optimizer", "score"])
def test_a_poisoned_state_is_not_saved(folder, part):
    state = at(quick_start(CONFIG)(), 8, 20)

    def poison(tree):
        return jax.tree.map(lambda x: x * jnp.nan if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)

    seeds = state.seeds
    if part == "score":
        buffers = seeds.curriculum.buffers
        buffers = buffers.replace(score=poison(buffers.score))
        seeds = seeds.replace(curriculum=seeds.curriculum.replace(buffers=buffers))
    else:
        learner = seeds.learner.replace(**{part: poison(getattr(seeds.learner, part))})
        seeds = seeds.replace(learner=learner)
    with pytest.raises(Poisoned):
        checkpointer_of(folder).save(state.replace(seeds=seeds), log_of(folder))
    assert checkpoints.found(folder.checkpoints)[-1] == files(folder)[0]


def test_the_manifest_describes_every_array(folder):
    manifest, arrays = files(folder)
    described = json.loads(manifest.read_text())
    written = checkpoint.read_arrays(arrays, described["arrays"])
    assert described["schema"] == versions.FORMAT
    assert described["about"]["maestro"] == maestro.__version__
    assert described["about"]["settings"]["ppo"]["workers"] == CONFIG.ppo.workers
    for name in ("seeds.key", "seeds.learner.params.lstm.wx", "seeds.curriculum.buffers.score", "updates"):
        entry = described["arrays"][name]
        assert entry["shape"] == list(written[name].shape) and entry["dtype"] == str(written[name].dtype)
    assert np.issubdtype(written["seeds.key"].dtype, np.unsignedinteger)
