"""What version 0.1.0 left on disk is listed, resumed and played; what a newer version wrote is refused."""

import json
import shutil
from pathlib import Path

import jax
import pytest
import safetensors.numpy

import maestro
from maestro import cli, cohort
from maestro.cli.opening import open_run
from maestro.evaluation.opponents import Trained
from maestro.runs import agent_file, build, checkpoint, checkpoints, milestones, served, versions
from maestro.runs.checkpoint import CheckpointError
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.folder import RunError, RunFolder, read_settings
from maestro.settings import SettingsError
from runs_helpers import Listener, call, newest, reached
from test_digests import same_rounding

GOLDEN = Path(__file__).parent.parent / "golden"
RUN = GOLDEN / "run_0.1.0"  # LaserTag, 2 seeds, `parallel`; its newest checkpoint is that of update 20 of 40
END = json.loads((GOLDEN / "run_0.1.0_end.json").read_text())
NOW = f"this is maestro {maestro.__version__}"


@pytest.fixture
def run(tmp_path):
    """A copy of the old run."""
    return RunFolder(shutil.copytree(RUN, tmp_path / "run"))


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """(output, folder) of the old run, resumed by the command line."""
    path = shutil.copytree(RUN, tmp_path_factory.mktemp("old") / "run")
    code, out, errors = call("resume", path, NO_COMPARISON="1")
    assert code == 0, errors
    return out, path


def restored(run):
    """(state, position) of a run's newest checkpoint, under the settings that its folder has."""
    game, config, _ = open_run(run.path)
    experiment = build.experiment(game, config)
    like = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
    return Checkpointer(run.checkpoints, config, Listener()).restore(like)


def rewrite(run, change):
    """Let a function change the manifest of the newest checkpoint, which is sealed again."""
    path = checkpoints.found(run.checkpoints)[-1]
    manifest = json.loads(path.read_text())
    del manifest["sha256"]
    change(manifest)
    path.write_text(json.dumps({**manifest, "sha256": checkpoint.seal(manifest)}))


def files(run):
    """Everything in a run's folder but the lock, by name."""
    found = [path for path in run.path.rglob("*") if path.is_file() and path.name != "lock"]
    return {path.name: path.read_bytes() for path in found}


def test_an_old_run_is_listed(capsys):
    assert cli.run(["runs", str(RUN)]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert all(word in row.split() for word in ("lasertag", "maestro", "2", "0/40", "interrupted"))


def test_an_old_run_is_resumed_to_its_end(resumed):
    out, path = resumed
    assert "resuming at update 20" in out and reached(path) == 40
    assert len((path / "metrics.jsonl").read_text().splitlines()) == 40
    assert not list(path.rglob("*.bad"))


@pytest.mark.skipif(not same_rounding(), reason="the golden is of another jax or another kind of CPU")
def test_a_resumed_old_run_ends_with_the_bits_that_it_would_have_had(resumed):
    arrays, _, _ = newest(resumed[1])
    assert arrays == {versions.array_name(name, 1): digest for name, digest in END["arrays"].items()}


OTHERWISE = ("coplayer", "chosen_ago", "win_rate", "members")  # quantities that are logged in another way now


def as_now(line):
    """What the first version logged, as it is called now; it mixed replayed levels with new ones."""
    of_levels = {name for name in line if name == "regret" or name.startswith("levels.")}
    known = {name: x for name, x in line.items() if name not in (*OTHERWISE, *of_levels)}
    mixed = line["cycles"] > 1  # with cycles that only tried new levels
    return known if mixed else known | {f"replayed.{name}": line[name] for name in of_levels}


@pytest.mark.skipif(not same_rounding(), reason="the golden is of another jax or another kind of CPU")
def test_a_resumed_old_run_logs_what_it_would_have_logged_as_far_as_it_is_still_logged(resumed):
    """What was written before the stop stands as it was; the old run itself had gone on to its end."""
    _, metrics, evaluation = newest(resumed[1])
    old, new = (text.splitlines() for text in ((RUN / "metrics.jsonl").read_bytes(), metrics))
    assert old[:20] == new[:20] and len(old) == len(new) == 40
    for before, after in zip(map(json.loads, old[20:]), map(json.loads, new[20:]), strict=True):
        known = as_now(before)
        assert {name: after[name] for name in known} == known
    lines = (RUN / "evaluation.jsonl").read_bytes().splitlines()
    assert evaluation.splitlines()[:2] == lines[:2]
    assert [json.loads(line)["updates"] for line in evaluation.splitlines()] == [10, 20, 30, 40]


def test_a_resumed_old_run_is_now_one_of_this_version(resumed):
    manifest = checkpoint.read_manifest(checkpoints.found(resumed[1] / "checkpoints")[-1])
    assert manifest["schema"] == versions.FORMAT and manifest["about"]["maestro"] == maestro.__version__
    assert restored(RunFolder(resumed[1]))[1].updates == 40


def test_a_resumed_old_run_keeps_what_it_did_not_keep_before(resumed):
    folder = RunFolder(resumed[1])
    assert milestones.points(folder) == [0, 10, 20, 30, 40] and served.points(folder) == [20, 30, 40]


def test_an_old_agent_is_loaded_and_plays(capsys):
    path = RUN / "agents" / "student-0.safetensors"
    assert isinstance(agent_file.load(path), Trained)
    assert cli.run(["duel", "random", "--a", str(path), "--b", "random", "--games", "4"]) == 0
    assert capsys.readouterr().out.startswith("4 games: A trained won ")


def test_old_settings_are_read_under_their_new_names(run):
    game, config, method = open_run(run.path)
    assert (game.name, config.game, method, config.level) == ("lasertag", "lasertag", None, "")
    assert (config.environment.min_size, config.environment.max_size) == (5, 7)
    assert config.curriculum.prioritization == "rank"


LATER = ("ppo.clip_value", "curriculum.prioritisation", "curriculum.coplayer_per", "schedule.warmup", "seed")


def without(settings, name):
    """Settings as a version would have written them that did not know one of them."""
    *groups, last = name.split(".")
    for group in groups:
        settings = settings[group]
    del settings[last]


@pytest.mark.parametrize("name", LATER)
def test_a_setting_that_the_runs_version_did_not_have_is_what_it_is_by_default(run, name):
    rewrite(run, lambda manifest: without(manifest["about"]["settings"], name))
    assert restored(run)[1].updates == 20
    line = f"{name.rpartition('.')[2]} = "
    lines = run.config.read_text().splitlines()
    run.config.write_text("\n".join(text for text in lines if not text.startswith(line)))
    assert restored(run)[1].updates == 20


def test_a_later_setting_that_is_not_at_its_default_is_refused_by_name(run):
    rewrite(run, lambda manifest: without(manifest["about"]["settings"], "ppo.workers"))
    with pytest.raises(RunError, match=r"made with:\n  ppo.workers: 32 -> 4$"):
        restored(run)


def test_settings_of_an_old_run_that_were_changed_are_refused_field_by_field(run, capsys):
    text = run.config.read_text().replace("max_size = 7", "max_size = 9").replace("seed = 0", "seed = 1")
    run.config.write_text(text)
    before = files(run)
    assert cli.run(["resume", str(run.path)]) == 2
    told = "made with:\n  seed: 0 -> 1\n  environment.max_size: 7 -> 9\n"
    assert capsys.readouterr().err.endswith(told) and files(run) == before


def test_a_newer_configuration_is_refused_with_the_version(run, capsys):
    run.config.write_text(f"format = 3\n{run.config.read_text()}")
    before = files(run)
    assert cli.run(["resume", str(run.path)]) == 2
    told = f"{run.config}: format 3 was made by a newer version; {NOW}, which reads formats 1 to 2\n"
    assert capsys.readouterr().err == f"maestro: {told}" and files(run) == before
    with pytest.raises(RunError):
        read_settings(run.path)


@pytest.mark.parametrize("number", [0, 3, 1.0, True, "1", [1], None])
def test_a_format_that_is_not_known_is_refused(number):
    with pytest.raises(SettingsError, match="was made by"):
        versions.upgrade({"format": number})


def test_a_newer_checkpoint_is_refused_with_both_versions_and_stays(run, capsys):
    def newer(manifest):
        manifest["schema"] = 3
        manifest["about"]["maestro"] = "0.9.0"

    rewrite(run, newer)
    before = files(run)
    with pytest.raises(RunError, match=f"format 3 was made by maestro 0.9.0; {NOW}"):
        restored(run)
    assert cli.run(["resume", str(run.path)]) == 2
    assert f"format 3 was made by maestro 0.9.0; {NOW}, which" in capsys.readouterr().err
    assert files(run) == before


def test_a_checkpoint_of_another_state_is_refused_with_both_versions_and_stays(run):
    path = checkpoints.found(run.checkpoints)[-1]
    arrays = safetensors.numpy.load_file(checkpoints.arrays_of(path))
    del arrays["runs.key"]
    checkpoints.arrays_of(path).write_bytes(safetensors.numpy.save(arrays))
    rewrite(run, lambda manifest: manifest["arrays"].pop("runs.key"))
    before = files(run)
    with pytest.raises(RunError, match=f"other arrays .*: seeds.key; made by maestro 0.1.0, {NOW}"):
        restored(run)
    assert files(run) == before


@pytest.mark.parametrize("settings", [None, 3, []])
def test_a_manifest_without_settings_is_no_manifest(run, settings):
    rewrite(run, lambda manifest: manifest["about"].update(settings=settings))
    _, config, _ = open_run(run.path)
    with pytest.raises(CheckpointError, match="does not say with which settings"):
        Checkpointer(run.checkpoints, config, Listener()).load(checkpoints.found(run.checkpoints)[-1], None)
