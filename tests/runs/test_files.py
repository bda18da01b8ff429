"""Files are written as a whole or not at all, and logs grow by lines."""

import os

import pytest

from maestro.runs import files


def test_a_file_that_cannot_be_completed_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch) -> None:
    path = tmp_path / "status.json"
    files.write_file(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_file(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["status.json"]
    files.write_file(path, b"newer", durable=False)
    assert path.read_bytes() == b"newer" and os.listdir(tmp_path) == ["status.json"]


def test_a_log_grows_by_lines(tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    assert files.file_size(path) == 0
    files.append(path, b'{"updates": 1}\n')
    assert files.file_size(path) == 15
    files.append(path, b'{"updates": 2}\n')
    assert path.read_text() == '{"updates": 1}\n{"updates": 2}\n'
