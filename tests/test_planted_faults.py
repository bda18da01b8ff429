"""The table of faults that `python tests/mutants.py` plants."""

import pytest

import mutants


def test_every_fault_still_has_its_one_place_in_the_package_and_a_name_of_its_own() -> None:
    assert len(mutants.load()) > 500


def test_a_fault_without_its_place_is_told(tmp_path, monkeypatch) -> None:
    (tmp_path / "mutants.toml").write_text(
        """[[mutant]]
name = "nowhere"
file = "train.py"
old = "what stands in no file"
new = ""
tests = []
"""
    )
    monkeypatch.setattr(mutants, "TESTS", tmp_path)
    with pytest.raises(SystemExit, match=r"nowhere: 0 times in train\.py"):
        mutants.load()
