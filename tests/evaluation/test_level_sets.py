"""Levels to be measured on, by whatever they are asked for."""

import jax
import numpy as np
import pytest

from maestro import games
from maestro.envs.base import Environment
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.levels import LevelError
from maestro.evaluation import level_sets
from probes import RACE, Race

LASERTAG = games.known("lasertag")


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def test_the_test_split_is_the_thirteen_levels_against_the_hunter() -> None:
    found = level_sets.find(LASERTAG, "test")
    assert found.name == "test" and len(found.names) == 13 and "Cross" in found.names
    assert same(
        jax.tree.map(lambda x: x[found.names.index("Cross")], found.levels), LASERTAG.levels.load("Cross")
    )
    assert LASERTAG.splits["test"].opponents == ("hunter",)


def test_the_validation_split_is_a_fixed_file_of_256_generated_levels() -> None:
    found = level_sets.find(LASERTAG, "validation")
    assert len(found.names) == len(set(found.digests)) == 256
    assert LASERTAG.splits["validation"].opponents == ("turret", "wall-follower")
    shares = jax.vmap(LaserTag().statistics)(found.levels)
    sampled = jax.vmap(LaserTag().statistics)(level_sets.generated(LaserTag(), 256, 1).levels)
    for name in shares:
        one, other = (np.asarray(x[name], float)[np.isfinite(x[name])] for x in (shares, sampled))
        assert abs(one.mean() - other.mean()) < 5 * (one.std() + other.std()) / 16, name
    sizes = {int(size) for size in found.levels.height}
    assert min(sizes) >= LaserTag().min_size and max(sizes) <= LaserTag().max_size
    assert not set(found.digests) & set(level_sets.find(LASERTAG, "test").digests)


def test_generated_levels_are_the_same_every_time_and_begin_alike() -> None:
    few, many = (level_sets.find(RACE, f"generated:{count}") for count in (3, 8))
    assert few.digests == many.digests[:3] and few.name == "generated:3" and len(many.names) == 8
    assert level_sets.find(RACE, "generated:8", seed=1).digests != many.digests
    assert isinstance(Race(), Environment) and same(level_sets.generated(Race(), 3).levels, few.levels)


def test_levels_by_name_and_by_file(tmp_path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(dict(LASERTAG.levels.named)["Ruins"])
    found = level_sets.find(LASERTAG, f"cross, Ruins,{file}")
    assert found.names == ("Cross", "Ruins", "mine") and found.digests[1] == found.digests[2]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("", "no level is selected; 'validation', 'test'"),
        (" , ", "no level is selected"),
        ("Croos", "unknown level 'Croos' .nearest: 'Cross'.*or 'validation', 'test', .*'generated:64'"),
        ("generated:0", "generated: 0 levels are not between 1 and"),
        ("generated:", "unknown level 'generated:'"),
        ("validatoin", "unknown level 'validatoin'"),
    ],
)
def test_what_cannot_be_found_is_told_with_what_can(wanted, message) -> None:
    with pytest.raises(LevelError, match=message):
        level_sets.find(LASERTAG, wanted)


def test_an_unknown_split_is_told_with_the_nearest() -> None:
    with pytest.raises(LevelError, match="split: 'tets' is unknown; did you mean test"):
        level_sets.of_split(LASERTAG, "tets")
    with pytest.raises(LevelError, match="race has no splits"):
        level_sets.of_split(RACE, "test")
