"""Whatever happens to the files of a checkpoint is noticed, named and set aside, or harmless."""

import json
import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import checkpoint, runs, settings, shelf
from maestro.checkpoint import CheckpointError
from maestro.keeper import NEWEST, Keeper, Poisoned
from maestro.logbook import Logbook
from maestro.progress import Progress
from maestro.runs import RunError, RunFolder
from runs_helpers import like, micro, quick_start

CONFIG = micro("maestro")
OLD, NEW = (5, 9), (7, 12)  # updates and cycles of two checkpoints, no milestones


def keeper_of(folder, config=CONFIG):
    return Keeper(folder, config, Logbook(folder.metrics, config.schedule.total_updates))


def at(state, updates, cycles):
    """A state that is different for every number of updates."""
    learner = state.runs.learner
    params = jax.tree.map(lambda x: x + updates, learner.params)
    runs_ = state.runs.replace(learner=learner.replace(params=params))
    return state.replace(runs=runs_, updates=jnp.int32(updates), cycles=jnp.int32(cycles))


def save(folder, config, *moments):
    """A run folder with checkpoints of these moments."""
    keeper, state = keeper_of(folder, config), quick_start("race", CONFIG)()
    for moment in moments:
        folder.metrics.open("a").close()
        keeper.save(at(state, *moment))
        keeper.finish()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = runs.create(tmp_path_factory.mktemp("original") / "run", CONFIG, "cpu")
    save(folder, CONFIG, OLD, NEW)
    return folder


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Another run's, with another seed."""
    config = replace(CONFIG, seed=1)
    folder = runs.create(tmp_path_factory.mktemp("stranger") / "run", config, "cpu")
    save(folder, config, OLD, NEW)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    shutil.copytree(original.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def files(folder, moment=NEW):
    manifest = folder.checkpoints / f"{shelf.name(*moment)}.json"
    return manifest, shelf.arrays_of(manifest)


def restored(folder, capsys):
    """(updates of the restored state, or None; what was said), the state being one that was saved."""
    state = keeper_of(folder).restore(like(CONFIG), Progress())
    if state is not None:
        moment = (int(state.updates), int(state.cycles))
        expected = checkpoint.flatten(at(quick_start("race", CONFIG)(), *moment))
        got = checkpoint.flatten(state)
        assert got.keys() == expected.keys()
        assert all(got[name].tobytes() == expected[name].tobytes() for name in got)
    return None if state is None else int(state.updates), capsys.readouterr().out


def test_the_newest_checkpoint_is_used_and_nothing_is_complained_of(folder, capsys):
    assert restored(folder, capsys) == (7, "resuming at update 7\n")


def check_fallback(folder, capsys):
    """The newest one is named and set aside, and the one before it used."""
    updates, said = restored(folder, capsys)
    manifest, arrays = files(folder)
    assert updates == 5 and f"checkpoint {manifest.name}: " in said and "set aside" in said
    assert "resuming at update 5" in said
    assert not manifest.exists() and not arrays.exists()
    assert restored(folder, capsys)[0] == 5


@pytest.mark.parametrize("file", [0, 1], ids=["manifest", "arrays"])
@pytest.mark.parametrize("size", [0, 1, 0.5, -1])
def test_a_truncated_file_is_noticed(folder, capsys, file, size):
    path = files(folder)[file]
    content = path.read_bytes()
    path.write_bytes(content[: int(size * len(content)) if isinstance(size, float) else size])
    check_fallback(folder, capsys)


@pytest.mark.parametrize("file", [0, 1], ids=["manifest", "arrays"])
def test_a_flipped_bit_anywhere_is_noticed_or_harmless(folder, capsys, file):
    path = files(folder)[file]
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little") if file else 0
    places = [0, 1, 7, 8, 9, 20, header, header + 1, len(content) - 1]
    places += range(30, len(content), len(content) // 80)
    noticed = 0
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        updates, said = restored(folder, capsys)
        noticed += updates == 5
        assert updates == 7 or (updates == 5 and f"checkpoint {files(folder)[0].name}: " in said)
        for bad in files(folder):
            aside = bad.with_name(bad.name + ".bad")
            if aside.exists():
                aside.replace(bad)
    assert noticed >= len(places) - 3  # blanks in the header carry nothing


def test_missing_arrays_are_noticed(folder, capsys):
    files(folder)[1].unlink()
    check_fallback(folder, capsys)


def test_arrays_without_a_manifest_are_named_and_removed(folder, capsys):
    files(folder)[0].unlink()
    updates, said = restored(folder, capsys)
    assert updates == 5 and f"{files(folder)[1].name} has no manifest" in said
    assert not files(folder)[1].exists()


def test_a_checkpoint_that_is_gone_is_missed(folder, capsys):
    runs.write_status(folder, checkpoint=7)
    for path in files(folder):
        path.unlink()
    assert restored(folder, capsys) == (5, "the checkpoint of update 7 is gone\nresuming at update 5\n")


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["manifest", "arrays", "both"])
def test_files_of_another_run_are_noticed(folder, stranger, capsys, which):
    for file in which:
        shutil.copy(files(stranger)[file], files(folder)[file])
    if which == [1]:  # the other run's arrays are the same bits here, which is harmless
        assert restored(folder, capsys)[0] == 7
    else:
        check_fallback(folder, capsys)


def test_arrays_of_another_run_that_differ_are_noticed(folder, stranger, capsys):
    shutil.copy(files(stranger, OLD)[1], files(folder)[1])
    check_fallback(folder, capsys)


@pytest.mark.parametrize("which", [[0], [1], [0, 1]], ids=["manifest", "arrays", "both"])
def test_files_of_an_older_checkpoint_are_noticed(folder, capsys, which):
    for file in which:
        shutil.copy(files(folder, OLD)[file], files(folder)[file])
    check_fallback(folder, capsys)


def test_a_network_of_other_shapes_is_noticed(folder):
    other = micro("maestro", schedule={"interval": 2})
    with pytest.raises(CheckpointError, match=r"is float32\[.*\], not float32\[.*\]"):
        checkpoint.load(files(folder)[0], like(other), settings.digest(CONFIG))


def test_without_any_good_checkpoint_the_run_starts_again_and_says_so(folder, capsys):
    folder.metrics.write_text("a line\n")
    for moment in (OLD, NEW):
        files(folder, moment)[1].write_bytes(b"")
    updates, said = restored(folder, capsys)
    assert updates is None and "no checkpoint can be used: starting again at update 0" in said
    assert not folder.metrics.exists()
    assert (folder.path / "metrics.jsonl.bad").read_text() == "a line\n"


def test_settings_that_were_changed_are_refused_field_by_field_and_nothing_is_moved(folder, capsys):
    before = sorted(path.name for path in folder.checkpoints.iterdir())
    changed = replace(CONFIG, ppo=replace(CONFIG.ppo, learning_rate=0.5))
    with pytest.raises(RunError, match=r"made with:\n  ppo.learning_rate: 0.01 -> 0.5$"):
        keeper_of(folder, changed).restore(like(CONFIG), Progress())
    assert sorted(path.name for path in folder.checkpoints.iterdir()) == before


def test_half_written_files_are_swept_away(folder, capsys):
    part = folder.checkpoints / "000000008-000000014.safetensors.part"
    part.write_bytes(b"half")
    assert restored(folder, capsys)[0] == 7 and not part.exists()


def test_the_newest_few_and_the_first_at_each_milestone_are_kept(tmp_path):
    folder = runs.create(tmp_path / "run", CONFIG, "cpu")
    save(folder, CONFIG, (0, 0), (0, 1), (1, 3), (3, 5), (3, 6), (4, 7), (5, 8), (6, 9), (7, 10), (7, 11))
    kept = [path.stem for path in shelf.found(folder.checkpoints)]
    moments = [(0, 0), (3, 5), (6, 9), (7, 10), (7, 11)]
    assert NEWEST == 3 and kept == [shelf.name(*moment) for moment in moments]
    assert len(list(folder.checkpoints.iterdir())) == 2 * len(kept)


@pytest.mark.parametrize("part", ["params", "optimiser", "score"])
def test_a_poisoned_state_is_not_saved(folder, part):
    state = at(quick_start("race", CONFIG)(), 8, 20)

    def poison(tree):
        return jax.tree.map(lambda x: x * jnp.nan if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)

    run = state.runs
    if part == "score":
        buffers = run.curriculum.buffers
        buffers = buffers.replace(score=poison(buffers.score))
        run = run.replace(curriculum=run.curriculum.replace(buffers=buffers))
    else:
        learner = run.learner.replace(**{part: poison(getattr(run.learner, part))})
        run = run.replace(learner=learner)
    with pytest.raises(Poisoned):
        keeper_of(folder).save(state.replace(runs=run))
    assert shelf.found(folder.checkpoints)[-1] == files(folder)[0]


def test_the_manifest_describes_every_array(folder):
    manifest, arrays = files(folder)
    described = json.loads(manifest.read_text())
    written = checkpoint.read_arrays(arrays, described["arrays"])
    assert described["schema"] == checkpoint.SCHEMA
    assert described["about"]["config"] == settings.digest(CONFIG)
    assert described["about"]["settings"]["ppo"]["workers"] == CONFIG.ppo.workers
    for name in ("runs.key", "runs.learner.params.lstm.wx", "runs.curriculum.buffers.score", "updates"):
        entry = described["arrays"][name]
        assert entry["shape"] == list(written[name].shape) and entry["dtype"] == str(written[name].dtype)
    assert np.issubdtype(written["runs.key"].dtype, np.unsignedinteger)
