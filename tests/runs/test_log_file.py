"""Logs are sealed: what is gone or was changed is noticed when a run is resumed, told, and never glued to."""

import json
import shutil

import pytest

from maestro.runs import metrics_log
from maestro.runs.log_file import LogFile, Mark
from runs_helpers import Killed, QuickTrainer, micro, new_folder, newest

RECORDS = [{"updates": number, "won": number / 10} for number in range(1, 11)]
LINES = [json.dumps(record).encode() + b"\n" for record in RECORDS]
MARKED = 8  # lines that a checkpoint knows of


@pytest.fixture
def log(tmp_path):
    """(path, mark) of a log that has grown on after a checkpoint."""
    log = LogFile(tmp_path / "metrics.jsonl", Mark(), 0)
    for record in RECORDS[:MARKED]:
        log.append(record)
    mark = log.mark
    for record in RECORDS[MARKED:]:
        log.append(record)
    return log.path, mark


def whole(lines):
    return b"".join(lines)


DAMAGES = {  # what becomes of the file -> what is kept of it, and what is told
    "deleted": (lambda text: None, [], "8 of 8 lines are lost"),
    "emptied": (lambda text: b"", [], "8 of 8 lines are lost; the file as it was found is metrics.jsonl.bad"),
    "cut within a line": (lambda text: text[: len(whole(LINES[:5])) - 9], LINES[:4], "4 of 8 lines are lost"),
    "cut before the end of a line": (
        lambda text: whole(LINES[:5])[:-1],
        LINES[:4],
        "4 of 8 lines are lost",
    ),
    "cut after a line": (lambda text: whole(LINES[:5]), LINES[:5], "3 of 8 lines are lost"),
    "a line gone": (lambda text: whole(LINES[:2] + LINES[3:]), LINES[:2] + LINES[3:8], "1 of 8 lines are"),
    "the first line gone": (lambda text: whole(LINES[1:]), LINES[1:8], "1 of 8 lines are lost"),
    "a line twice": (lambda text: whole(LINES[:3] + LINES[2:]), LINES[:8], "its lines are not those"),
    "a bit flipped": (
        lambda text: text.replace(b"0.3", b"0.7"),
        [*LINES[:2], LINES[2].replace(b"0.3", b"0.7"), *LINES[3:8]],
        "its lines are not those that were written",
    ),
    "no JSON": (lambda text: text.replace(b'"updates": 3', b'"updates: 3'), LINES[:2] + LINES[3:8], "1 of 8"),
    "brackets": (
        lambda text: text.replace(LINES[3], b"[" * 100_000 + LINES[3]),
        LINES[:3] + LINES[4:8],
        "1 of 8 lines are lost",
    ),
    "another file": (lambda text: b"\0" * 5000, [], "8 of 8 lines are lost"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_log_is_noticed_and_what_can_be_read_is_kept(log, name):
    path, mark = log
    damage, kept, told = DAMAGES[name]
    found = damage(path.read_bytes())
    path.unlink() if found is None else path.write_bytes(found)
    again = LogFile(path, mark, MARKED)
    assert again.lost.startswith("metrics.jsonl is damaged: ") and told in again.lost
    assert path.read_bytes() == whole(kept)
    bad = path.with_name("metrics.jsonl.bad")
    assert not bad.exists() if found is None else bad.read_bytes() == found
    again.append(RECORDS[8])
    assert path.read_bytes() == whole([*kept, LINES[8]]) and again.mark.lines == len(kept) + 1
    assert not LogFile(path, again.mark, 9).lost


def test_a_log_that_is_as_written_is_put_back_without_a_word(log):
    path, mark = log
    assert mark.lines == MARKED and mark.bytes == len(whole(LINES[:MARKED]))
    again = LogFile(path, mark, MARKED)
    assert not again.lost and path.read_bytes() == whole(LINES[:MARKED]) and again.mark == mark


def test_a_log_without_a_seal_is_checked_by_its_length(log):
    """As older versions left it."""
    path, mark = log
    old = Mark(mark.bytes)
    assert not LogFile(path, old, MARKED).lost and path.read_bytes() == whole(LINES[:MARKED])
    path.write_bytes(path.read_bytes()[:-3])
    again = LogFile(path, old, MARKED)
    lost = len(LINES[MARKED - 1])
    assert f"damaged: {lost} of {mark.bytes} bytes are lost" in again.lost
    again.append(RECORDS[8])
    assert path.read_bytes() == whole([*LINES[: MARKED - 1], LINES[8]])


@pytest.mark.parametrize("log", ["metrics.jsonl", "evaluation.jsonl"])
def test_a_run_says_what_its_logs_have_lost_and_trains_on_as_before(tmp_path, monkeypatch, log):
    monkeypatch.setattr(metrics_log, "LINES", 4)
    config = micro("dr-fsp")
    run = new_folder(tmp_path / "run", config)
    with pytest.raises(Killed):
        QuickTrainer(run, config, killed_after=6).run()
    shutil.copytree(run.path, tmp_path / "other")
    undamaged = QuickTrainer(type(run)(tmp_path / "other"), config)
    undamaged.run()
    assert not any("damaged" in line for line in undamaged.reporter.said)
    (run.path / log).unlink()
    trainer = QuickTrainer(run, config)
    trainer.run()
    assert sum(f"{log} is damaged" in line for line in trainer.reporter.said) == 1
    assert newest(run.path)[0] == newest(tmp_path / "other")[0]
    left = (run.path / log).read_text()
    assert left and (tmp_path / "other" / log).read_text().endswith(left)
    again = QuickTrainer(run, config)
    assert not any("damaged" in line for line in again.reporter.said)
