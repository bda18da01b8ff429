"""`--devices` and `--mesh`: how a run is spread, what is refused, and that a run goes on on any layout."""

import json
import re
import signal
from pathlib import Path

import jax
import pytest

from maestro import cli
from maestro.cli import options
from maestro.runs.folder import RunFolder, read_json
from maestro.sharding import Layout
from probes import SMALL, with_changes
from quick import flags
from runs_helpers import (
    ENDLESS,
    PATIENCE,
    end_all,
    micro,
    new_run,
    newest,
    resumed,
    start,
    wait_for_updates,
    wait_until,
)

FOUR = flags(xla_force_host_platform_device_count=4)
SPREAD = with_changes(SMALL, seeds=6, ppo={"workers": 16, "minibatches": 4})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    end_all()


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


REFUSED = {
    "more than there are": (["--devices", "2"], "--devices: 2 are wanted, and there are 1"),
    "a larger mesh": (["--mesh", "2x1"], "--mesh: 2 x 1 devices are wanted, and there are 1"),
    "no number": (["--devices", "all"], "--devices: 'all' is no number of devices; such as 8"),
    "none": (["--devices=0"], "--devices: '0' is no number of devices; such as 8"),
    "no mesh": (["--mesh", "4*2"], "--mesh: '4*2' is no SEEDSxENVS; such as 4x2"),
    "seeds": (
        ["--seeds", "3", "--mesh", "2x1", "--dry-run"],
        "--mesh: 3 seeds cannot be spread over 2 devices; over 1 or 3 they can",
    ),
    "environments": (
        ["--seeds", "1", "--devices", "32", "--dry-run"],
        "--devices: the environments of a run cannot be spread over 32 devices; over 1, 2, 4, 8 or 16 they",
    ),
    "both": (
        ["--seeds", "3", "--ppo.workers", "8", "--devices", "4", "--dry-run"],
        "cannot be spread over 4 devices; over 1 or 2 they can; 1, 2 or 3 devices in all would do",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_begun(capsys, folder, case):
    words, told = REFUSED[case]
    code, _, err = call(capsys, "train", "lasertag", "--preset", "tiny", *words)
    assert code == 2 and told in err and list(folder.iterdir()) == []


def test_a_dry_run_tells_the_memory_of_each_device_of_a_mesh_that_is_elsewhere(capsys):
    alone = call(capsys, "train", "--preset", "fast", "--seeds", 4, "--dry-run")[1]
    spread = call(capsys, "train", "--preset", "fast", "--seeds", 4, "--mesh", "4x2", "--dry-run")[1]
    assert "# mesh: 4x2, seeds x environments\n" in spread and "mesh" not in alone
    need = [float(re.search(r"# memory on .+, about: ([\d.]+) GB of", out)[1]) for out in (alone, spread)]
    assert "on each of 8 devices" in spread and need[0] / 8 < need[1] < need[0] / 4


@pytest.mark.parametrize("words, wanted", [(("", ""), (2, 2)), (("2", ""), (2, 1)), (("", "1x4"), (1, 4))])
def test_all_devices_share_a_run_unless_it_is_said_otherwise(monkeypatch, words, wanted):
    monkeypatch.setattr(jax, "device_count", lambda: 4)
    assert options.layout_of(*words, SPREAD) == Layout(*wanted)
    assert options.layout_of("1", "", SPREAD) is None


def stopped(process):
    """End a run in good order."""
    process.send_signal(signal.SIGTERM)
    errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 128 + signal.SIGTERM, errors


def layouts(path):
    """Of the sessions of a run."""
    return [session["layout"] for session in read_json(RunFolder(path).about)["sessions"]]


@pytest.mark.long
def test_a_run_saved_on_four_devices_goes_on_on_one_and_on_two_with_the_same_state(folder):
    config = micro(schedule=ENDLESS, seeds=2, ppo={"minibatches": 2}, evaluation={"times": 0})
    path, found = folder / "run", folder / "restored.json"
    process = start(*new_run(path, config), XLA_FLAGS=FOUR)
    wait_for_updates(path, process)
    stopped(process)
    for mesh in ("1x1", "1x2"):
        saved = {name: digest for name, digest in newest(path)[0].items() if not name.startswith("extra.")}
        process = start(*resumed(path), "--mesh", mesh, XLA_FLAGS=FOUR, RESTORED=found)
        wait_until(lambda: found.exists() and found.read_text().endswith("}"), process)
        stopped(process)
        assert json.loads(found.read_text()) == saved
        Path(found).unlink()
    assert layouts(path) == ["2x2", "1x1", "1x2"]
