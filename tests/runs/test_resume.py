"""A run that was killed goes on as if nothing had happened, bit for bit, and no kill makes it unusable."""

import io
import json
import math
import os
import random
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from maestro import cohort
from maestro.games.lasertag import GAME as LASERTAG
from maestro.methods import METHODS
from maestro.runs import checkpoints, metrics_log, trainer
from maestro.runs.folder import RunFolder, read_json
from maestro.runs.trainer import Stopped
from runs_helpers import (
    ENDLESS,
    KEPT,
    PATIENCE,
    REAL,
    Killed,
    QuickTrainer,
    call,
    kept,
    micro,
    new_folder,
    new_run,
    newest,
    reached,
    restorable,
    resumed,
    start,
    status_of,
    wait_for_updates,
    wait_until,
    wait_until_held,
)

OTHERS = [method for method in METHODS if method != "maestro"]
EVALUATED = ("dr-fsp", "maestro")  # the method makes no difference to an evaluation
SINGLE, FULL = 0.0, math.inf  # seconds that a chunk should take: one cycle, or as many as there are


@pytest.mark.parametrize("method", ["maestro", *(pytest.param(m, marks=pytest.mark.long) for m in OTHERS)])
def test_a_killed_run_ends_as_one_that_was_not_however_long_the_chunks(tmp_path, monkeypatch, method):
    config = micro(method, evaluation={"times": 2 if method in EVALUATED else 0})
    monkeypatch.setattr(metrics_log, "LINES", 4)  # so that updates wait for the end of a window
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", FULL)
    whole = new_folder(tmp_path / "whole", config)
    QuickTrainer(whole, config).run()
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", SINGLE)
    broken = new_folder(tmp_path / "broken", config)
    for killed_after in (2, 4, 5):  # before a checkpoint, after an evaluation, and in between
        killed = QuickTrainer(broken, config, killed_after)
        with pytest.raises(Killed):
            killed.run()
        assert killed.updates == killed_after
    QuickTrainer(broken, config).run()
    assert newest(broken.path) == newest(whole.path)
    assert len(newest(whole.path)[1].splitlines()) == 4
    assert len(newest(whole.path)[2].splitlines()) == config.evaluation.times


@pytest.mark.long
@pytest.mark.parametrize("score, memory", [("mean_mc", "best"), ("learnability", "count")])
def test_what_levels_remember_survives_a_kill(tmp_path, monkeypatch, score, memory):
    small = micro().curriculum
    config = micro(curriculum=replace(small, score=score), seeds=1)
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", SINGLE)
    whole, broken = (new_folder(tmp_path / name, config) for name in ("whole", "broken"))
    QuickTrainer(whole, config).run()
    with pytest.raises(Killed):
        QuickTrainer(broken, config, 5).run()
    assert newest(broken.path)[0] != newest(whole.path)[0]
    QuickTrainer(broken, config).run()
    assert newest(broken.path) == newest(whole.path)
    assert f"seeds.curriculum.buffers.memory.{memory}" in newest(whole.path)[0]


class Mortal:
    """A system whose process dies right before it changes the files of a folder for so many times."""

    def __init__(self, monkeypatch, folder, dies_at=math.inf):
        self.folder, self.dies_at, self.changes = folder, dies_at, 0
        self.lock = threading.Lock()
        for name in ("fsync", "replace", "unlink", "truncate"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        monkeypatch.setattr(io, "open", self.counted(io.open, "wa"))

    def counted(self, function, modes=""):
        def counting(file, *arguments, **options):
            ours = isinstance(file, int) or Path(file).is_relative_to(self.folder)
            if ours and (not modes or set(modes) & set(*arguments[:1])):
                self.count()
            return function(file, *arguments, **options)

        return counting

    def count(self):
        with self.lock:
            self.changes += 1
            if self.changes >= self.dies_at:
                raise Killed


@pytest.mark.long
def test_dying_before_any_change_of_any_file_makes_no_difference(tmp_path, monkeypatch):
    config = micro("dr-fsp", {"total_updates": 2, "interval": 1}, seeds=1, evaluation={**KEPT, "times": 1})
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", SINGLE)
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", math.inf)
    whole = new_folder(tmp_path / "whole", config)
    with monkeypatch.context() as patch:
        system = Mortal(patch, whole.path)
        QuickTrainer(whole, config).run()
    assert system.changes > 60
    for number in range(1, system.changes + 1):
        broken = new_folder(tmp_path / f"{number}", config)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            Mortal(patch, broken.path, number)
            QuickTrainer(broken, config).run()
        QuickTrainer(broken, config).run()
        assert newest(broken.path) == newest(whole.path), number
        assert kept(broken.path) == kept(whole.path), number
        assert not list(broken.path.rglob("*.bad"))


def flip(path, place):
    """One bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def kill(process):
    """End a process at once."""
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


PLAIN = [
    name for name, row in METHODS.items() if not row.score
]  # others' quantiles are rounded by compilation


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[pytest.mark.long] * (m != "dr-sp")) for m in PLAIN]
)
def test_a_process_that_is_killed_and_resumed_ends_as_a_run_that_was_not(tmp_path, method):
    config = micro(method, {"total_updates": 60, "interval": 10}, evaluation=KEPT)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert call(*new_run(whole, config), NO_COMPARISON="1")[0] == 0  # compiled like the other
    process = start(*new_run(broken, config), HELD_AT="15")
    wait_until_held(broken, process)
    kill(process)
    bad = checkpoints.found(broken / "checkpoints")[-1]
    flip(bad.with_suffix(".safetensors"), -9)  # and what is more, the newest checkpoint has a bad bit
    code, out, _ = call(*resumed(broken))
    assert code == 0 and f"checkpoint {bad.name}: " in out and "is not what was written; set aside" in out
    assert newest(broken) == newest(whole)
    assert kept(broken) == kept(whole) and len(kept(whole)) == 2 * 2 * 7 + 3
    assert bad.with_name(bad.name + ".bad").exists()
    assert "The trained student against its own first co-player" in out
    assert f"{broken / 'curves.png'}  how it learned" in out and (broken / "curves.png").stat().st_size > 0


@pytest.mark.long
def test_lasertag_killed_and_resumed_ends_as_one_that_was_not(tmp_path):
    tiny = LASERTAG.presets["tiny"]
    config = micro("maestro", {"total_updates": 300, "interval": 100}, LASERTAG)
    agent, env = replace(tiny.agent, hidden=8, filters=2, heads=(8,)), replace(tiny.environment, max_size=7)
    config = replace(config, agent=agent, environment=env)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert call(*new_run(whole, config), program=REAL)[0] == 0
    process = start(*new_run(broken, config), HELD_AT="120", CHECKPOINT_SECONDS="inf")
    wait_until_held(broken, process)
    wait_until(lambda: reached(broken) == 100, process)
    kill(process)
    code, out, _ = call("resume", broken, program=REAL)
    assert code == 0 and "resuming at update 100" in out
    assert newest(broken) == newest(whole)
    assert (broken / "summary.json").read_text() == (whole / "summary.json").read_text()
    assert all((broken / name).stat().st_size > 0 for name in ("film.gif", "curves.png"))


def test_an_evaluation_that_a_stop_came_before_is_made_up_for(tmp_path):
    config = micro("dr-fsp")
    whole, broken = (new_folder(tmp_path / name, config) for name in ("whole", "broken"))
    QuickTrainer(whole, config).run()
    stopping = QuickTrainer(broken, config)

    def pause():
        if stopping.updates == 4:  # where an evaluation is due
            stopping.signals.handle(signal.SIGTERM, None)
        type(stopping).pause(stopping)

    stopping.pause = pause
    with pytest.raises(Stopped, match=r"^stopped at update 4$") as stop:
        stopping.run()
    assert stop.value.resumable and not broken.evaluation.exists()
    QuickTrainer(broken, config).run()
    assert newest(broken.path) == newest(whole.path)


def kills(tmp_path, number):
    """Kill a run so often; nothing acknowledged is lost, and it always goes on.

    Every other kill comes from outside at any moment after a further checkpoint was acknowledged; the
    others come while the files of a checkpoint are changed. Returns how many left one half written.
    """
    config = micro("dr-fsp", ENDLESS, evaluation={"times": 0})
    path, chance, often = tmp_path / "run", random.Random(number), {"CHECKPOINT_SECONDS": "0", "WINDOW": "40"}
    command, half_written, kept = new_run(path, config), 0, [0]
    for i in range(number):
        if i % 2 == 0:
            process = start(*command, **often)
            kill_from_outside(path, process, chance.randint(0, 200), kept[-1])
        else:
            process = start(*command, **often, DIES_AT=str(chance.randint(1, 30)))
            process.communicate(timeout=PATIENCE)
            assert process.returncode == -signal.SIGKILL
        assert restorable(path, config) >= 1
        assert reached(path) >= read_json(RunFolder(path).status)["checkpoint"], "acknowledged is saved"
        kept.append(reached(path))
        half_written += is_half_written(path / "checkpoints")
        command = resumed(path)
    assert kept == sorted(kept) and len(set(kept)) > number // 2, "runs go on, never back"
    process = start(*command, **often, GRACE="inf")
    wait_for_updates(path, process)
    process.terminate()
    out, errors = process.communicate()
    assert process.returncode == 143 and f"resuming at update {kept[-1]}" in out, errors
    assert not list((path / "checkpoints").glob("*.bad"))
    lines = [json.loads(line)["updates"] for line in (path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [40 * (i + 1) for i in range(len(lines))] and len(lines) >= kept[-1] // 40 >= 1
    return half_written


def kill_from_outside(path, process, more, kept):
    """At any moment after a new checkpoint was acknowledged and some more updates were made."""
    wait_until(lambda: (status_of(path, process)["checkpoint"] or 0) > kept, process)
    wait_for_updates(path, process, status_of(path, process)["updates"] + more)
    kill(process)


def is_half_written(folder):
    """Whether a checkpoint was being written when the process died."""
    names = {file.name for file in folder.iterdir()}
    alone = {name for name in names if name.replace(".safetensors", ".json") not in names}
    return any(name.endswith(".part") for name in names) or bool(alone)


@pytest.mark.long
def test_four_kills_at_random_moments_lose_nothing(tmp_path):
    kills(tmp_path, 4)


@pytest.mark.long
def test_a_hundred_kills_at_random_moments_lose_nothing(tmp_path, capsys):
    half_written = kills(tmp_path, 100)
    with capsys.disabled():
        print(f"\n100 kills, of which {half_written} while a checkpoint was written; 0 unusable")
    assert half_written > 10
