"""Everybody against everybody: dice, seats, batches, and the rows of the table."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evaluation_players import Guesser
from ledger import Always
from maestro.evaluation import table
from maestro.evaluation.cross_play import Entrant, Play, cross_play, meetings
from maestro.evaluation.level_sets import LevelSet
from maestro.evaluation.opponents import trained
from maestro.games import Share
from probes import Level, Probe, Race, RockPaperScissors, SmallAgent


@dataclass(frozen=True)
class SeatAndTime(Probe):
    """Three steps; in each the first seat earns the level's number, the second a tenth of the time."""

    length: int = 3
    action = RockPaperScissors.action

    def reward(self, level, state, actions):
        return jnp.stack([level.number, state.time / 10])

    def step(self, key, level, state, actions):
        *rest, info = super().step(key, level, state, actions)
        return *rest, {**info, "grass": jnp.array([2, 5]), "rain": jnp.float32(0.5)}


def level_set(*numbers):
    return LevelSet(
        "some",
        tuple(f"level-{number}" for number in numbers),
        Level(jnp.array(numbers), jnp.array([2 + number % 4 for number in numbers])),
    )


def guessers(label, *skills):
    return [Entrant(label, seed, Guesser(jnp.float32(skill))) for seed, skill in enumerate(skills)]


PLAY = Play(Race(), level_set(3, 7, 10), episodes=4, seed=5, batch=64)
STRONG, WEAK = guessers("strong", 0.9, 0.8), guessers("weak", 0.2, 0.3, 0.4)


def rows(found, **wanted):
    """The rows as sorted tuples, whatever the order they were played in."""
    chosen = table.select(found, **wanted)
    return sorted(zip(*(chosen[name].tolist() for name in chosen), strict=True))


@pytest.fixture(scope="module")
def games():
    return cross_play(PLAY, STRONG, WEAK)


def test_there_is_a_row_for_each_pair_of_seeds_level_and_seat(games) -> None:
    keys = {tuple(row[:7]) for row in rows(games)}
    expected = {
        (0, "strong", i, "weak", j, f"level-{level}", seat)
        for i in range(2)
        for j in range(3)
        for level in (3, 7, 10)
        for seat in (0, 1)
    }
    assert keys == expected and len(games["a"]) == len(expected)
    assert (games["wins"] + games["draws"] + games["losses"] == 4).all() and (games["episodes"] == 4).all()
    assert games["wins"].sum() > 2 * games["losses"].sum()
    np.testing.assert_allclose(games["a_return"], (games["wins"] - games["losses"]) / 4)
    np.testing.assert_allclose(games["a_return"], -games["b_return"])


def test_swapping_rows_and_columns_swaps_the_table(games) -> None:
    swapped = cross_play(PLAY, WEAK, STRONG)
    seen = table.select(table.mirrored(swapped), a="strong")
    assert rows(seen) == rows(games)


def test_a_game_does_not_depend_on_who_else_plays_or_on_which_other_levels(games) -> None:
    alone = cross_play(replace(PLAY, levels=level_set(7)), STRONG[1:], WEAK[2:])
    assert rows(alone) == rows(games, a_seed=1, b_seed=2, level="level-7")


@pytest.mark.parametrize("batch", [1, 7, 24, 1000])
def test_the_batch_changes_nothing(games, batch) -> None:
    assert rows(cross_play(replace(PLAY, batch=batch), STRONG, WEAK)) == rows(games)


def test_batches_of_7_and_of_64_play_the_same_games_of_networks() -> None:
    """At least 99.9 % of the games; their sums are added up in another order."""
    params = [SmallAgent().init(jax.random.key(i)) for i in range(4)]
    one, other = (
        [Entrant(label, i, trained(SmallAgent(), params[i + shift])) for i in range(2)]
        for label, shift in (("one", 0), ("other", 2))
    )
    play = replace(PLAY, levels=level_set(*range(16)), episodes=8)
    small, large = (cross_play(replace(play, batch=batch), one, other) for batch in (7, 64))
    different = np.abs(small["wins"] - large["wins"]) + np.abs(small["losses"] - large["losses"])
    assert small["episodes"].sum() == 1024 and different.sum() <= 1
    assert len(set(small["wins"].tolist())) > 2


def test_other_dice_give_other_games(games) -> None:
    other = cross_play(replace(PLAY, seed=6), STRONG, WEAK)
    assert (other["wins"] != games["wins"]).any()
    by_seat = [table.select(games, seat=seat)["wins"] for seat in (0, 1)]
    assert (by_seat[0] != by_seat[1]).any()


def test_an_agent_against_itself_is_fair_within_noise() -> None:
    """Mean 0 within 4 standard errors, and not by playing every game twice from both sides."""
    play = Play(Race(), level_set(*range(48)), episodes=16, batch=4096)
    found = cross_play(play, guessers("one", 0.5), guessers("one", 0.5))
    returns, games = found["a_return"], found["episodes"].sum()
    assert games == 48 * 16 * 2 and len(returns) == 96
    assert abs(returns.mean()) < 4 / games**0.5
    assert (returns[:48] != -returns[48:]).any()


def test_a_method_against_itself_pairs_its_seeds_once() -> None:
    pairs = [(m.a.seed, m.b.seed, m.seat) for m in meetings(WEAK)]
    assert sorted(pairs) == [(i, j, s) for i in range(3) for j in range(i, 3) for s in (0, 1)]


def test_whoever_is_named_on_both_sides_meets_all_of_the_other_side() -> None:
    pairs = [(m.a.seed, m.b.seed, m.seat) for m in meetings(WEAK, WEAK)]
    assert sorted(pairs) == [(i, j, s) for i in range(3) for j in range(3) for s in (0, 1)]
    found = cross_play(PLAY, WEAK, guessers("weak", 0.2, 0.3, 0.4))
    apart = {name: x[found["a_seed"] != found["b_seed"]] for name, x in found.items()}
    assert rows(apart) == rows(
        {name: apart[table.other(name)] for name in apart} | {"seat": 1 - apart["seat"]}
    )


DIGESTS = {"by their digests": ("one", "two"), "where one has no digest": ("one", "")}


@pytest.mark.parametrize("digests", DIGESTS.values(), ids=DIGESTS)
def test_two_who_share_a_name_are_refused_on_whatever_side(digests) -> None:
    one, two = (Entrant("weak", 1, WEAK[1].player, digest) for digest in digests)
    for sides in (([one], [two]), ([one, two], STRONG), ([one, two],)):
        with pytest.raises(ValueError, match="two different players are called 'weak/1'"):
            cross_play(PLAY, *sides)


def test_scripts_that_share_a_name_are_told_apart_by_what_they_are() -> None:
    with pytest.raises(ValueError, match="two different players are called 'one/0'"):
        cross_play(PLAY, guessers("one", 0.5), guessers("one", 0.6))
    with pytest.raises(ValueError, match="two different players"):
        cross_play(PLAY, [Entrant("one", 0, Always(1))], [Entrant("one", 0, Guesser(jnp.float32(0.5)))])


def test_episodes_are_numbered_and_can_be_played_in_two_goes(games) -> None:
    two = [cross_play(replace(PLAY, episodes=2, first=first), STRONG, WEAK) for first in (0, 2)]
    assert (two[0]["wins"] + two[1]["wins"]).tolist() == games["wins"].tolist()
    assert (two[0]["wins"] != two[1]["wins"]).any()


def test_players_of_different_kinds_meet_in_both_seats() -> None:
    play = Play(RockPaperScissors(), level_set(0, 1), episodes=2)
    certain = [Entrant("one", 0, Always(1))]
    found = cross_play(play, certain, [Entrant("two", 0, Always(2))])
    assert found["losses"].tolist() == [2, 2, 2, 2] and sorted(found["seat"].tolist()) == [0, 0, 1, 1]


def test_scores_lengths_and_the_games_own_quantities_belong_to_their_seats() -> None:
    play = Play(SeatAndTime(), level_set(5, 6), episodes=3)
    found = cross_play(play, [Entrant("one", 0, Always(1))], [Entrant("two", 3, Always(2))], updates=80)
    for seat, first, second in ((0, "a", "b"), (1, "b", "a")):
        own = table.select(found, seat=seat)
        np.testing.assert_allclose(own[f"{first}_return"], [15, 18])
        np.testing.assert_allclose(own[f"{second}_return"], [0.3, 0.3], rtol=1e-6)
        assert own[f"{first}_grass"].tolist() == [6, 6] and own[f"{second}_grass"].tolist() == [15, 15]
        assert own["a_rain"].tolist() == own["b_rain"].tolist() == [1.5, 1.5]
        assert own["length"].tolist() == [3, 3] and own["updates"].tolist() == [80, 80]
    assert set(found["b_seed"].tolist()) == {3}


def test_a_game_says_which_of_its_quantities_are_shares_and_of_what() -> None:
    shares = {"grass_time": Share("grass", per_step=10), "rain": Share("rain")}
    play = Play(SeatAndTime(), level_set(5), episodes=2, shares=shares)
    found = cross_play(play, [Entrant("one", 0, Always(1))], [Entrant("two", 3, Always(2))])
    assert table.extras(found) == ["grass_time", "rain"]
    own = table.select(found, seat=0)
    np.testing.assert_allclose([own["a_grass_time"][0], own["b_grass_time"][0]], [0.2, 0.5])
    assert own["a_rain"].tolist() == own["b_rain"].tolist() == [1.5]


def test_a_share_of_time_is_that_of_each_game() -> None:
    total, length = np.array([[[4.0, 8.0], [1.0, 0.0]]]), np.array([[2, 1]])
    np.testing.assert_allclose(Share("x", 4).of(total, length), [[[0.5, 1.0], [0.25, 0.0]]])
    np.testing.assert_allclose(Share("x", 4).of(total[..., 0], length), [[0.5, 0.25]])
    assert Share("x").of(total, length) is total


def test_progress_is_told_up_to_the_last_game() -> None:
    told = []
    cross_play(replace(PLAY, batch=24), STRONG, WEAK, report=lambda *numbers: told.append(numbers))
    assert told[-1] == (144, 144) and [done for done, _ in told] == sorted({done for done, _ in told})
