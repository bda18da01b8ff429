"""A study on several machines: workers that share a folder, and parts that are merged."""

import errno
import fcntl
import os
import platform
import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import jax
import pytest
import yaml

import runs_helpers
from maestro import cli
from maestro.analysis.study import parts, run_folders
from maestro.analysis.study.steps import MADE
from maestro.cli import launch
from maestro.runs import folder as run_folder
from maestro.runs import lock
from runs_helpers import claim
from study_helpers import PAPER, ROCK, SCISSORS, finished, study
from study_sittings import COHORTS, CROSSPLAY, FILE, be_quick, sitting

ON_PURPOSE = {"about.json", "status.json", "lock"}  # times and processes: different in every session
GAME = ("--game", "study_helpers:GAME")
STUDY = FILE + CROSSPLAY


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Each test in a folder of its own with a small study; no process outlives it."""
    monkeypatch.chdir(tmp_path)
    be_quick(monkeypatch)
    monkeypatch.setattr(os, "_exit", leave)
    Path("small.toml").write_text(STUDY)
    yield tmp_path
    runs_helpers.end_all()


def leave(code):
    """In place of the end of this process."""
    raise SystemExit(code)


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run(["study", "small.toml", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def files(folder):
    """Every file of a study's folder by its place, but for those that tell of times and processes."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.name not in ON_PURPOSE]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The folder of the study that one worker has done."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "small.toml").write_text(STUDY)
    code, _, err = runs_helpers.call("study", folder / "small.toml", *GAME, "--out", folder / "out")
    assert code == 0, err
    return folder / "out"


def worker(**told):
    """Another process that works on the study."""
    return runs_helpers.start("study", "small.toml", *GAME, "--out", "out", **told)


def ended(process):
    """(exit code, output) of a process."""
    out, err = process.communicate(timeout=runs_helpers.PATIENCE)
    assert "Traceback" not in err, err
    return process.returncode, out


@pytest.mark.long
def test_two_workers_at_once_train_every_cohort_once_and_make_the_results_once(place) -> None:
    two = [worker(), worker()]
    said = [ended(process) for process in two]
    codes = sorted(code for code, _ in said)
    assert codes in ([0, 0], [0, 3]), said  # 3: the other one was still at work
    assert sum(out.splitlines().count("crossplay test") for _, out in said) == 1
    for name in ("dr-sp", "dr-fsp"):
        about = run_folder.read_json(run_folder.RunFolder(place / "out" / "runs" / name).about)
        assert len(about["sessions"]) == 1
    assert (place / "out" / "crossplay" / "test" / "table.csv").is_file()


@pytest.mark.long
def test_two_workers_at_once_make_what_one_makes(alone, place) -> None:
    for process in [worker(), worker()]:
        assert ended(process)[0] in (0, 3)
    assert files(place / "out") == files(alone)


@pytest.mark.long
def test_the_cohort_of_a_worker_that_was_killed_is_left_to_the_next(alone, place) -> None:
    first = worker(HELD_AT="2")
    runs_helpers.wait_until_held(place / "out" / "runs" / "dr-sp", first)
    code, out = ended(worker())
    busy = f"process {first.pid} on {platform.node()} works on it"
    assert code == 3 and "cohort 2 of 2" in out and "cohort 1 of 2" not in out
    left = out.partition("left:\n")[2].splitlines()
    assert len(left) == 2 and left[0].startswith("  dr-sp (at update 2 of 4), ") and left[0].endswith(busy)
    assert left[1] == "  crossplay test" and not (place / "out" / "crossplay").exists()
    first.kill()
    first.wait()
    code, out = ended(worker())
    assert code == 0 and "resuming at update 2" in out and "cohort 2" not in out
    (place / "out" / "runs" / "dr-sp" / "held").unlink()
    assert files(place / "out") == files(alone)


def test_parts_in_folders_of_their_own_are_merged_to_what_one_worker_makes(place, capsys) -> None:
    assert call(capsys, "--out", "whole")[0] == 0
    for number in (1, 2):
        code, out, _ = call(capsys, "--part", f"{number}/2", "--out", f"part-{number}")
        assert code == 0 and f"cohort {number} of 2" in out and f"cohort {3 - number} of 2" not in out
        assert not Path(f"part-{number}/crossplay").exists()
    code, out, _ = call(capsys, "--out", "merged", "--merge", "part-1", "part-2")
    said = "merged: part-1/runs/dr-sp\nmerged: part-2/runs/dr-fsp\ncrossplay test\nall is done: merged\n"
    assert (code, out) == (0, said)
    assert files(place / "merged") == files(place / "whole")
    before = files(place / "merged")
    assert call(capsys, "--out", "merged", "--merge", "part-1", "whole")[1] == "all is done: merged\n"
    assert files(place / "merged") == before


@pytest.mark.parametrize("count", range(1, 6))
def test_every_cohort_is_in_one_part(count) -> None:
    found = study(*COHORTS, {"method": "maestro"})
    names = [parts.part(found, f"{number}/{count}") for number in range(1, count + 1)]
    assert sorted(name for part in names for name in part) == ["dr-fsp", "dr-sp", "maestro"]
    assert max(map(len, names)) - min(map(len, names)) <= 1


def test_a_part_without_cohorts_trains_nothing(place, capsys) -> None:
    code, out, _ = call(capsys, "--part", "3/3", "--out", "out")
    assert code == 0 and out == "nothing to do: the study has 2 cohort(s), and none is left for part 3/3\n"
    assert [path.name for path in Path("out").iterdir()] == ["study.toml"]


def test_what_is_not_finished_is_left_out_and_nothing_is_trained(place, capsys) -> None:
    sp, fsp = study(*COHORTS).cohorts
    finished(place / "part", sp, [PAPER, ROCK])
    run_folder.begin(claim(place / "part" / "runs" / "dr-fsp"), fsp.config)
    code, out, _ = call(capsys, "--out", "out", "--merge", "part")
    assert code == 3 and "left out: part/runs/dr-fsp: not finished, at update 0 of 4\nmerged: " in out
    assert out.endswith("left:\n  dr-fsp\n  crossplay test\n")
    assert [path.name for path in Path("out/runs").iterdir()] == ["dr-sp"]


def stranger(place, sp):
    """A run that is not of the study."""
    finished(place / "part", replace(sp, name="mine"), [PAPER, ROCK])
    return "part/runs/mine: is no cohort of the study"


def other_settings(place, sp):
    """A run of other settings."""
    finished(place / "part", replace(sp, config=replace(sp.config, seed=5)), [PAPER, ROCK])
    return "part/runs/dr-sp: its settings are not those of the study:\n    seed: 5 -> 0"


def two_of_a_kind(place, sp):
    """A cohort that is in two folders, with other students."""
    finished(place / "part", sp, [PAPER, ROCK])
    finished(place / "other", sp, [PAPER, SCISSORS])
    return "other/runs/dr-sp: is not what part/runs/dr-sp is: agents/student-1.json differs"


def there_already(place, sp):
    """A cohort that is there with other students."""
    finished(place / "part", sp, [PAPER, ROCK])
    finished(place / "out", sp, [ROCK, ROCK])
    return "part/runs/dr-sp: is not what out/runs/dr-sp is: agents/student-0.json differs"


def begun_already(place, sp):
    """A cohort that was begun where the finished one should go."""
    finished(place / "part", sp, [PAPER, ROCK])
    run_folder.begin(claim(place / "out" / "runs" / "dr-sp"), sp.config)
    return "out/runs/dr-sp: was begun, and part/runs/dr-sp is finished; remove one"


def damaged(place, sp):
    """A student's file that was cut off on its way."""
    folder = finished(place / "part", sp, [PAPER, ROCK])
    student = folder.agents / "student-1.safetensors"
    student.write_bytes(student.read_bytes()[:-1])
    return "part/runs/dr-sp/agents/student-1.safetensors: not the file that its card describes"


def no_study(place, sp):
    """A folder that is none of a study's."""
    (place / "part").mkdir()
    return "part: is no folder of a study: it has no runs/"


WRONG = (stranger, other_settings, two_of_a_kind, there_already, begun_already, damaged, no_study)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_what_does_not_go_together_is_refused_and_nothing_is_copied(wrong, place, capsys) -> None:
    message = wrong(place, study(*COHORTS).cohorts[0])
    folders = [name for name in ("part", "other") if Path(name).exists()]
    before = files(place)
    code, out, err = call(capsys, "--out", "out", "--merge", *folders)
    assert (code, out) == (2, "") and err == f"maestro: --merge: these do not go together:\n  {message}\n"
    assert files(place) == before


def test_a_copy_that_was_cut_short_is_no_cohort_and_is_made_again(place, monkeypatch) -> None:
    found = study(*COHORTS)
    finished(place / "part", found.cohorts[0], [PAPER, ROCK])
    (standing,) = parts.offered(found, [place / "part"])
    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(shutil, "copytree", cut_short)
        parts.copy(standing, place / "out", checkpoints=False)
    assert not (place / "out" / "runs").exists()
    parts.copy(standing, place / "out", checkpoints=False)
    assert run_folders.standings(found, place / "out")[0].state == run_folders.DONE
    assert [path.name for path in (place / "out").iterdir()] == ["runs"]


def cut_short(source, target, **more):
    """A copy that fills the disk."""
    Path(target).mkdir(parents=True)
    shutil.copy(source / "config.toml", target)
    raise OSError(errno.ENOSPC, "the disk is full")


def test_a_cohort_is_not_copied_over_one_that_was_begun_in_the_meantime(place) -> None:
    found = study(*COHORTS)
    finished(place / "part", found.cohorts[0], [PAPER, ROCK])
    (standing,) = parts.offered(found, [place / "part"])
    begun = claim(place / "out" / "runs" / "dr-sp")
    run_folder.begin(begun, found.cohorts[0].config)
    with pytest.raises(run_folder.RunError, match="holds a run"):
        parts.copy(standing, place / "out", checkpoints=False)
    assert begun.config.is_file()


@pytest.fixture
def taken(place, monkeypatch):
    """A sitting whose first cohort another process begins, and holds, while it is about to be begun here."""
    one, stack = sitting(place / "out"), ExitStack()
    first = one.standings()[0]

    def begin_first():
        if not first.folder.config.exists():
            run_folder.begin(claim(first.folder.path), first.planned.config)
            stack.enter_context(lock.hold(first.folder.path))

    monkeypatch.setattr(launch, "use_cache", begin_first)  # which every run begins with
    with stack:
        yield one, stack


def test_a_cohort_that_another_worker_takes_first_is_no_failure(taken, capsys) -> None:
    one, held = taken
    assert one.run() == 3 and not one.failed
    out = capsys.readouterr().out
    assert "cohort 2 of 2" in out and "left:\n  dr-sp, about a minute, process " in out
    held.close()
    assert one.run() == 0


def test_a_cohort_that_another_worker_has_finished_is_not_trained_again(place, monkeypatch) -> None:
    one = sitting(place / "out", only=("dr-sp",))
    planned = one.study.cohorts[0]
    run_folder.begin(claim(place / "out" / "runs" / "dr-sp"), planned.config)

    def finish_first():
        shutil.rmtree(place / "out" / "runs" / "dr-sp")
        finished(place / "out", planned, [PAPER, ROCK])

    monkeypatch.setattr(launch, "use_cache", finish_first)  # which every run begins with
    assert one.run() == 0 and not one.failed
    assert len(run_folder.read_json(one.standings()[0].folder.about)["sessions"]) == 1


def test_a_cohort_that_another_worker_tidies_up_at_once_is_finished(place, monkeypatch) -> None:
    one, launched, stack = sitting(place / "out", only=("dr-sp",)), launch.launch, ExitStack()

    def launch_and_lose(job, path, *more):
        launched(job, path, *more)
        stack.enter_context(lock.hold(path))

    monkeypatch.setattr(launch, "launch", launch_and_lose)
    with stack:
        assert one.run() == 3 and not one.failed  # the other one holds it still
    assert one.run() == 0


def test_what_fails_on_the_device_is_not_taken_for_the_work_of_others(place, monkeypatch) -> None:
    tries = []

    def fail(job, folder, *more):
        tries.append(folder.path.name)
        raise jax.errors.JaxRuntimeError("out of memory")

    monkeypatch.setattr(launch, "work", fail)
    one = sitting(place / "out")
    assert one.run() == 1 and set(one.failed) == {"dr-sp", "dr-fsp"} and tries == ["dr-sp", "dr-fsp"]


def test_results_are_made_by_one_worker_at_a_time(place, capsys) -> None:
    one = sitting(place / "out", crossplay=[{"episodes": 1}])
    for planned in one.study.cohorts:
        finished(place / "out", planned, [PAPER, ROCK])
    (place / "out" / MADE).mkdir()
    with lock.hold(place / "out" / MADE):
        assert one.run() == 3
    out = capsys.readouterr().out
    assert "left:\n  crossplay test, process " in out and out.endswith(" makes what is ready\n")
    assert one.run() == 0 and (place / "out" / "crossplay" / "test" / "table.csv").is_file()


def test_a_look_while_another_process_begins_or_ends_a_cohort_is_no_mistake(place, monkeypatch) -> None:
    found = study(*COHORTS)
    folder = claim(place / "runs" / "dr-sp")
    refuse = run_folder.refuse_used

    def begin_first(one):
        if one.path == folder.path and not folder.config.exists():
            monkeypatch.setattr(run_folder, "refuse_used", refuse)
            run_folder.begin(folder, found.cohorts[0].config)
        refuse(one)

    monkeypatch.setattr(run_folder, "refuse_used", begin_first)
    assert run_folders.standings(found, place)[0].state == run_folders.BEGUN
    shutil.rmtree(folder.path)
    folder = finished(place, found.cohorts[0], [PAPER, ROCK])
    with lock.hold(folder.path):
        assert run_folders.standings(found, place)[0].state == run_folders.BEGUN
    assert run_folders.standings(found, place)[0].state == run_folders.DONE


def test_who_waits_for_those_who_only_look_is_not_taken_for_one_of_them(tmp_path, monkeypatch) -> None:
    (tmp_path / "lock").touch()
    looking = (tmp_path / "lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)

    def let_another_one_in(seconds):
        looking.close()
        lock.hold(tmp_path).close()

    monkeypatch.setattr(lock.time, "sleep", let_another_one_in)
    lock.hold(tmp_path).close()


@pytest.fixture
def example():
    """What the command on the page of studies in a block of some language is given, after some variables."""
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()

    def arguments(script, **told):
        shell = 'maestro() { printf \'%s\\n\' "$@"; }; srun() { "$@"; }; source() { :; };\n'
        command = ["bash", "-uc", shell + script.replace("exec ", "")]
        done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True, check=True)
        return done.stdout.split()

    return page, arguments


def test_the_array_job_on_the_page_trains_one_part_in_each_job(example) -> None:
    page, arguments = example
    script = page.partition("```bash\n#!/bin/bash\n")[2].partition("```")[0]
    array = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}
    typed = arguments(script, **array)
    assert typed == ["study", "studies/first.toml", "--out", "parts/3", "--part", "3/8", "--minutes", "230"]
    assert "#SBATCH --array=1-8\n" in script and "--time=04:00:00" in script  # more than 230 minutes


def test_the_indexed_job_on_the_page_trains_one_part_in_each_pod(example) -> None:
    page, arguments = example
    job = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["spec"]
    (container,) = job["template"]["spec"]["containers"]
    (script,) = container["args"]
    assert job["completionMode"] == "Indexed" and container["command"] == ["sh", "-c"]
    typed = [arguments(script, JOB_COMPLETION_INDEX=str(index)) for index in range(job["completions"])]
    assert [words[3] for words in typed] == [f"{number}/8" for number in range(1, 9)]
    assert typed[2] == ["study", "studies/first.toml", "--part", "3/8", "--out", "/data/parts/3"]


def test_a_file_system_without_locks_is_told_as_such(tmp_path, monkeypatch) -> None:
    def flock(file, kind):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(lock.Locked, match="cannot be locked: Function not implemented") as caught:
        lock.hold(tmp_path)
    assert not isinstance(caught.value, lock.InUse)
