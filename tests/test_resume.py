"""A run that was killed goes on as if nothing had happened, bit for bit, and no kill makes it unusable."""

import json
import random
import signal
import time

import pytest

from maestro import experiment, runs, shelf
from maestro.methods import METHODS
from runs_helpers import (
    ENDLESS,
    LASERTAG,
    Killed,
    QuickDriver,
    call,
    micro,
    new_run,
    newest,
    on_probe,
    restorable,
    start,
    wait_for_updates,
)

OTHERS = [method for method in METHODS if method != "maestro"]
EVALUATED = ("dr-fsp", "plr-sp", "maestro")  # the method makes no difference to an evaluation


@pytest.fixture
def probe(monkeypatch):
    monkeypatch.setattr(experiment, "build", on_probe())


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, probe, method):
    config = micro(method, evaluation={"times": 2 if method in EVALUATED else 0})
    whole = runs.create(tmp_path / "whole", config, "cpu")
    QuickDriver(whole, config).run()
    broken = runs.create(tmp_path / "broken", config, "cpu")
    for killed_after in (2, 4, 5):  # before a checkpoint, after an evaluation, and in between
        with pytest.raises(Killed):
            QuickDriver(broken, config, killed_after).run()
    QuickDriver(broken, config).run()
    assert newest(broken.path) == newest(whole.path)
    assert len(newest(whole.path)[1].splitlines()) == config.schedule.total_updates
    assert len(newest(whole.path)[2].splitlines()) == config.evaluation.times


def flip(path, place):
    """One bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("method", ["maestro", *(pytest.param(m, marks=pytest.mark.long) for m in OTHERS)])
def test_a_process_that_is_killed_and_resumed_ends_as_one_that_was_not(tmp_path, method):
    config = micro(method, {"total_updates": 600, "interval": 100})
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    code, out, _ = call(*new_run(whole, config))
    assert code == 0 and "The trained student against its own first co-player" in out
    process = start(*new_run(broken, config))
    wait_for_updates(broken, process, 150)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    bad = shelf.found(broken / "checkpoints")[-1]
    flip(bad.with_suffix(".safetensors"), -9)  # and what is more, the newest checkpoint has a bad bit
    code, out, _ = call("resume", broken)
    assert code == 0 and f"checkpoint {bad.name}: " in out and "is not what was written; set aside" in out
    assert newest(broken) == newest(whole)
    assert bad.with_name(bad.name + ".bad").exists()


@pytest.mark.long
def test_lasertag_killed_and_resumed_ends_as_one_that_was_not(tmp_path):
    small = {"hidden": 8, "filters": 2, "heads": (8,)}
    config = micro("maestro", {"total_updates": 300, "interval": 100}, agent=small, game={"max_size": 7})
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert call(*new_run(whole, config), game=LASERTAG)[0] == 0
    process = start(*new_run(broken, config), game=LASERTAG)
    wait_for_updates(broken, process, 120)
    process.kill()
    process.communicate()
    code, out, _ = call("resume", broken, game=LASERTAG)
    assert code == 0 and "resuming at update 100" in out
    assert newest(broken) == newest(whole)
    assert (broken / "summary.json").read_text() == (whole / "summary.json").read_text()
    assert (broken / "film.gif").stat().st_size > 0


def test_an_evaluation_that_a_stop_came_before_is_made_up_for(tmp_path, probe):
    config = micro("dr-fsp")
    whole, broken = (runs.create(tmp_path / name, config, "cpu") for name in ("whole", "broken"))
    QuickDriver(whole, config).run()
    driver = QuickDriver(broken, config)

    def pause():
        if int(driver.state.updates) == 4:  # where an evaluation is due
            driver.signals.handle(signal.SIGTERM, None)
        type(driver).pause(driver)

    driver.pause = pause
    with pytest.raises(Exception, match="stopped at update 4; go on with: maestro resume"):
        driver.run()
    assert not broken.evaluation.exists()
    QuickDriver(broken, config).run()
    assert newest(broken.path) == newest(whole.path)


def kills(tmp_path, number):
    """Kill a run so often; nothing acknowledged is lost, and it always goes on."""
    config = micro("dr-fsp", ENDLESS, evaluation={"times": 0})
    folder, moments = tmp_path / "run", random.Random(number)
    command, half_written, reached = new_run(folder, config), 0, []
    for _ in range(number):
        process = start(*command, CHECKPOINT_SECONDS="0")
        wait_for_updates(folder, process)
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.communicate()
        assert restorable(folder, config) >= 1
        files = {path.name for path in (folder / "checkpoints").iterdir()}
        alone = {name for name in files if name.replace(".safetensors", ".json") not in files}
        half_written += any(name.endswith(".part") for name in files) or bool(alone)
        reached.append(shelf.updates_of(shelf.found(folder / "checkpoints")[-1]))
        command = ("resume", folder)
    assert reached == sorted(reached) and len(set(reached)) > number // 2, "runs go on, never back"
    process = start(*command)
    wait_for_updates(folder, process)
    process.terminate()
    out, errors = process.communicate()
    assert process.returncode == 143 and f"resuming at update {reached[-1]}" in out, errors
    assert not list((folder / "checkpoints").glob("*.bad"))
    lines = [json.loads(line)["updates"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    window = config.schedule.total_updates // 500
    assert lines == [window * (i + 1) for i in range(len(lines))]
    return half_written


def test_ten_kills_at_random_moments_lose_nothing(tmp_path):
    kills(tmp_path, 10)


@pytest.mark.long
def test_a_hundred_kills_at_random_moments_lose_nothing(tmp_path, capsys):
    half_written = kills(tmp_path, 100)
    with capsys.disabled():
        print(f"\n100 kills, of which {half_written} while a checkpoint was written; 0 unusable")
    assert half_written
