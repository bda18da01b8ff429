"""Which checkpoints of a folder are kept."""

import pytest

from maestro.runs import checkpoints


def pruned(folder, updates, newest=3, milestone=100):
    """The updates of the checkpoints that are kept; a cycle each."""
    for cycle, number in enumerate(updates):
        for ending in ("json", "safetensors"):
            (folder / f"{checkpoints.FORM.format(number, cycle)}.{ending}").touch()
    checkpoints.prune(folder, newest, milestone)
    kept = checkpoints.found(folder)
    assert len(list(folder.iterdir())) == 2 * len(kept)
    return [checkpoints.updates_of(path) for path in kept]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_as_many_of_the_newest_as_asked_for_are_kept(tmp_path, count) -> None:
    assert pruned(tmp_path, range(1, count + 1)) == list(range(1, count + 1))[-3:]


def test_milestones_are_kept_besides_the_newest(tmp_path) -> None:
    assert pruned(tmp_path, [0, 50, 99, 100, 101, 199, 200, 200, 205, 230]) == [0, 100, 200, 200, 205, 230]


def test_a_name_sorts_by_updates_then_cycles(tmp_path) -> None:
    moments = [(7, 12), (7, 9), (10, 1), (999_999_999, 0)]
    for moment in moments:
        (tmp_path / f"{checkpoints.FORM.format(*moment)}.json").touch()
    (tmp_path / "7-12.json").touch()
    (tmp_path / "000000007-000000012.json.bad").touch()
    found = [path.stem for path in checkpoints.found(tmp_path)]
    assert found == [checkpoints.FORM.format(*moment) for moment in sorted(moments)]
