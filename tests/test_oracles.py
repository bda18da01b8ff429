"""The slow twins themselves, pinned by numbers worked out by hand or printed in the paper."""

import math

import numpy as np
import pytest

from oracles import coplayers, level_buffer, ppo, regret
from oracles.level_buffer import Buffer

TABLE_1 = {  # regret of the student: rows co-players A, B, C, columns levels theta_1 .. theta_4
    "A": [0.6, 0.1, 0.4, 0.2],
    "B": [0.1, 0.5, 0.4, 0.3],
    "C": [0.2, 0.4, 0.4, 0.4],
}
LEVELS = [b"theta_1", b"theta_2", b"theta_3", b"theta_4"]


def holding(scores, K=None, **settings):
    """A buffer of given scores: level b'0' in slot 0 and so on, all stamps at the clock."""
    buffer = Buffer(K or len(scores), **({"beta": 0.3, "rho": 0.0, "score": "given"} | settings))
    for slot, score in enumerate(scores):
        buffer.step(0, [], [(str(slot).encode(), [(0.0, score)])], [])
    return buffer


def test_the_joint_teacher_of_table_1_picks_theta_1_with_a():
    buffers = []
    for row in TABLE_1.values():
        buffer = Buffer(4, 0.3, 0.0, score="given")
        for level, score in zip(LEVELS, row, strict=True):
            buffer.step(1, [], [(level, [(0.0, score)])], [])
        buffers.append(buffer)
    weights = coplayers.highest_regret([b.max_score() for b in buffers], lam=0.0)
    chosen = buffers[int(np.argmax(weights))]
    top = int(np.argmax(chosen.priorities()))
    assert weights == [1.0, 0.0, 0.0]
    assert (chosen.level[top], chosen.score[top]) == (b"theta_1", 0.6)


def test_marginal_teachers_of_table_1_pick_theta_3_with_c():
    shared = Buffer(4, 0.3, 0.0, score="given")
    shared.step(12, [], [(lv, [(0.0, TABLE_1[c][i])]) for c in "ABC" for i, lv in enumerate(LEVELS)], [])
    weights = coplayers.highest_regret([sum(row) / 4 for row in TABLE_1.values()], lam=0.0)
    assert shared.level[int(np.argmax(shared.priorities()))] == b"theta_3"
    assert weights == [0.0, 0.0, 1.0]
    assert shared.max_score() == pytest.approx(0.4)


@pytest.mark.parametrize("N", [1, 2, 5, 11])
def test_a_single_maximizer_has_the_weight_of_the_paper(N):
    weights = coplayers.highest_regret([0.0] * (N - 1) + [0.7], lam=0.1)
    assert weights[-1] == pytest.approx((N - 0.1 * (N - 1)) / N)
    assert weights[:-1] == pytest.approx([0.1 / N] * (N - 1))


def test_equal_maxima_share_and_empty_buffers_follow_the_option():
    inf = math.inf
    assert coplayers.highest_regret([0.5, 0.5, -1.0, 0.1], 0.2) == pytest.approx([0.45, 0.45, 0.05, 0.05])
    assert coplayers.highest_regret([-0.5, -inf], 0.2) == pytest.approx([0.9, 0.1])
    assert coplayers.highest_regret([-0.5, -inf], 0.2, "optimistic") == pytest.approx([0.1, 0.9])
    for empty in ("pessimistic", "optimistic"):
        assert coplayers.highest_regret([-inf] * 4, 0.1, empty) == coplayers.uniform(4)


def test_hardest_adds_its_smoothing_to_the_probabilities():
    assert coplayers.hardest([1.0, 0.5]) == pytest.approx([0.083, 0.917], abs=5e-4)
    assert coplayers.hardest([0.5, 0.0], smooth=0.0) == pytest.approx([0.2, 0.8])
    assert coplayers.hardest([1.0, 1.0, 1.0]) == pytest.approx([1 / 3] * 3)


def test_the_win_memory_starts_at_a_half_counts_draws_half_and_forgets():
    memory = coplayers.WinMemory(4)
    assert memory.win_rate(0) == 0.5
    memory.record(0, [coplayers.outcome(-1, 1), coplayers.outcome(0, 0)])
    assert memory.win_rate(0) == 0.25
    memory.record(0, [1.0, 1.0, 1.0, 1.0])
    assert (memory.win_rate(0), memory.win_rate(1)) == (1.0, 0.5)


def test_a_cold_member_gives_its_weight_to_the_warm_ones():
    assert coplayers.restricted([0.7, 0.2, 0.1], [False, True, True]) == pytest.approx([0, 2 / 3, 1 / 3])
    assert coplayers.restricted([1.0, 0.0, 0.0], [False, True, True]) == [0.0, 0.5, 0.5]


def test_empty_slots_take_no_rank_from_negative_scores():
    buffer = holding([-0.9, -0.2], K=4)
    assert buffer.priorities() == pytest.approx([0.090, 0.910, 0, 0], abs=5e-4)
    assert Buffer(3, 0.3, 0.3).priorities().tolist() == [0, 0, 0]


def test_rank_shares_match_the_numbers_of_the_two_domains():
    lasertag = 0.7 * np.array(level_buffer.rank_shares(list(range(4000, 0, -1)), 0.3)) + 0.3 / 4000
    racing = 0.3 * np.array(level_buffer.rank_shares(list(range(1000, 0, -1)), 1.0)) + 0.7 / 1000
    assert [lasertag[0], lasertag[:10].sum()] == pytest.approx([0.61, 0.70], abs=5e-3)
    assert racing[0] == pytest.approx(0.041, abs=5e-4)
    assert level_buffer.rank_shares([1.0, 2.0, 1.0], 1.0) == pytest.approx([3 / 11, 6 / 11, 2 / 11])


def test_staleness_is_uniform_when_fresh_and_follows_the_ages_later():
    buffer = holding([1.0, 1.0], rho=1.0)
    assert buffer.priorities().tolist() == [0.5, 0.5]
    buffer.step(0, [0], [], [])
    assert (buffer.clock, buffer.priorities().tolist()) == (1, [0.0, 1.0])
    buffer.step(1, [1, 1], [], [])
    assert (buffer.clock, buffer.stamp.tolist(), buffer.priorities().tolist()) == (4, [1, 4], [1.0, 0.0])


def test_proportional_priorities_clip_and_refuse_max_mc():
    buffer = holding([3.0, -1.0, 1.0], beta=1.0, prioritization="proportional")
    assert buffer.priorities().tolist() == [0.75, 0.0, 0.25]
    with pytest.raises(ValueError, match="proportional"):
        Buffer(3, 1.0, 0.0, prioritization="proportional")


def test_an_all_losing_level_has_a_best_return_of_minus_one():
    buffer = Buffer(2, 0.3, 0.3)
    buffer.step(1, [], [(b"x", [(-1.0, -0.8), (-1.0, -0.6)])], [])
    assert (buffer.best[0], buffer.score[0]) == (-1.0, pytest.approx(-0.3))


def test_replayed_episodes_are_pooled_over_workers_with_one_running_maximum():
    buffer = Buffer(1, 0.3, 0.3)
    buffer.step(1, [], [(b"x", [(-1.0, 0.0)])], [])
    buffer.step(0, [0, 0, 0], [], [(0, [(0.0, 0.5)]), (0, [(1.0, 0.2), (-1.0, -0.1)]), (0, [])])
    assert (buffer.best[0], buffer.score[0]) == (1.0, pytest.approx((0.5 + 0.8 + 1.1) / 3))
    buffer.step(0, [0], [], [(0, [])])
    assert (buffer.clock, buffer.stamp[0], buffer.score[0]) == (5, 5, pytest.approx(0.8))


def test_newcomers_fill_free_slots_best_first_and_unfinished_ones_are_ignored():
    buffer = Buffer(4, 0.3, 0.3, score="given")
    new = [(b"a", [(0, 0.1)]), (b"b", []), (b"c", [(0, 0.5)]), (b"d", [(0, 0.5)]), (b"a", [(0, 0.3)])]
    buffer.step(5, [], new, [])
    assert buffer.level == [b"c", b"d", b"a", None]
    assert buffer.score.tolist() == pytest.approx([0.5, 0.5, 0.2, -math.inf])
    assert (buffer.clock, buffer.stamp.tolist()) == (5, [5, 5, 5, 0])


def test_each_remaining_newcomer_meets_its_own_victim():
    buffer = holding([0.3, 0.1, 0.2, 0.9])
    new = [(b"w", [(0, 0.2)]), (b"x", [(0, 0.15)]), (b"y", [(0, 0.1)])]
    buffer.step(3, [], new, [])
    # victims by priority: slots 1 (0.1), 2 (0.2), 0 (0.3); 0.2 >= 0.1 yes, 0.15 >= 0.2 no, 0.1 >= 0.3 no
    assert buffer.level == [b"0", b"w", b"2", b"3"]
    buffer.step(1, [], [(b"z", [(0, 0.2)])], [])
    # of the two scores 0.2 slot 2 has the worse rank; an equal score replaces
    assert buffer.level == [b"0", b"w", b"z", b"3"]


def test_a_slot_filled_in_this_step_is_no_victim_in_it():
    buffer = Buffer(1, 0.3, 0.3, score="given")
    buffer.step(2, [], [(b"a", [(0, 0.5)]), (b"b", [(0, 0.5)])], [])
    assert buffer.level == [b"a"]
    partly = holding([0.9], K=2)
    partly.step(3, [], [(b"a", [(0, 0.1)]), (b"b", [(0, 0.5)]), (b"c", [(0, 0.2)])], [])
    assert partly.level == [b"0", b"b"]


def test_eviction_by_priority_and_by_score_choose_different_victims():
    for eviction, expected in (("replay", [b"x", b"1"]), ("score", [b"0", b"x"])):
        buffer = holding([0.5, 0.1], rho=0.9, eviction=eviction)
        buffer.step(8, [0], [], [])
        buffer.step(1, [], [(b"x", [(0, 0.6)])], [])
        assert buffer.level == expected, eviction


def test_of_equal_victims_the_lower_slot_goes_first():
    for settings in ({"eviction": "score"}, {"eviction": "replay", "rho": 1.0}):
        buffer = holding([0.5, 0.5, 0.5], **settings)
        buffer.step(1, [], [(b"x", [(0, 0.5)])], [])
        assert buffer.level == [b"x", b"1", b"2"], settings


def test_an_evicted_level_forgets_its_best_return():
    buffer = Buffer(1, 0.3, 0.3)
    buffer.step(1, [], [(b"x", [(1.0, 0.9)])], [])
    buffer.step(1, [], [(b"y", [(-1.0, -1.5)])], [])
    assert (buffer.level, buffer.best[0], buffer.score[0]) == ([b"y"], -1.0, pytest.approx(0.5))


def test_a_new_level_that_is_stored_updates_its_slot_also_downwards():
    buffer = Buffer(2, 0.3, 0.3)
    buffer.step(1, [], [(b"x", [(1.0, 0.0)])], [])
    buffer.step(2, [], [(b"x", [(-1.0, 0.6)]), (b"x", [(-1.0, 0.8)])], [])
    assert (buffer.level, buffer.best[0], buffer.score[0]) == ([b"x", None], 1.0, pytest.approx(0.3))
    buffer.step(1, [], [(b"x", [])], [])
    assert (buffer.clock, buffer.stamp[0]) == (4, 3)


def test_victims_are_ordered_before_stored_duplicates_move_unless_asked_otherwise():
    new = [(b"0", [(0, 0.5)]), (b"x", [(0, 0.5)])]  # the duplicate of slot 0 loses its whole age
    for victims, expected in (("early", [b"0", b"x"]), ("late", [b"x", b"1"])):
        buffer = holding([0.5, 0.4], rho=0.9, victims=victims)
        buffer.step(9, [], [], [])
        buffer.step(2, [], new, [])
        assert buffer.level == expected, victims


def test_a_buffer_is_warm_when_half_full_or_when_it_holds_all_there_is():
    assert not Buffer(4, 0.3, 0.3).warm(0.0)
    assert not holding([1.0], K=4).warm(0.5)
    assert holding([1.0, 2.0], K=4).warm(0.5)
    assert holding([1.0], K=4).warm(0.5, levels_that_exist=1)


def test_a_time_limit_bootstraps_and_termination_does_not():
    arguments = {"gamma": 0.5, "lam": 0.5, "last_value": 4.0, "truncation_values": [0.0, 8.0, 0.0]}
    rewards, values, never, once = [0.0, 1.0, 0.0], [1.0, 2.0, 3.0], [False] * 3, [False, True, False]
    cut, targets = regret.gae(rewards, values, terminated=never, truncated=once, **arguments)
    ended, _ = regret.gae(rewards, values, terminated=once, truncated=never, **arguments)
    both, _ = regret.gae(rewards, values, terminated=once, truncated=once, **arguments)
    assert cut.tolist() == [0.75, 3.0, -1.0]  # 1 + .5 * 8 - 2 = 3; 0 + .5 * 2 - 1 + .25 * 3 = .75; .5 * 4 - 3
    assert ended.tolist() == both.tolist() == [-0.25, -1.0, -1.0]
    assert targets.tolist() == [1.75, 5.0, 2.0]


def test_max_mc_takes_its_maximum_first_and_leaves_the_tail_out():
    rewards, values = [0, -1, 0, 1, 5], [0.2, 0.4, 0.0, 0.5, 9.0]
    dones = [False, True, False, True, False]
    sums, counts, best = regret.max_mc(values, rewards, dones, [0, 0, 0, 0, 0], [-math.inf, 0.5])
    assert (sums.tolist(), counts.tolist()) == ([pytest.approx(0.7 + 0.75), 0], [2, 0])
    assert best.tolist() == [1.0, 0.5]
    sums, _, best = regret.max_mc(values, rewards, dones, [0, 0, 1, 1, 1], [-math.inf, -math.inf])
    assert (sums.tolist(), best.tolist()) == (pytest.approx([-1.3, 0.75]), [-1.0, 1.0])


def test_positive_value_loss_is_the_mean_of_positive_advantages_in_each_episode():
    dones = [True, False, True, False]
    advantages, unknown = [2.0, -4.0, 1.0, 7.0], [-math.inf, -math.inf]
    sums, counts, best = regret.pvl(advantages, [1, 0, -1, 0], dones, [0, 1, 1, 1], unknown)
    assert (sums.tolist(), counts.tolist(), best.tolist()) == ([2.0, 0.5], [1, 1], [1.0, -1.0])


def test_a_lucky_first_win_is_worth_little_and_fades():
    score, memory = regret.mean_mc(None, [(1.0, -1.0, 1.0)])
    assert (score, memory) == (pytest.approx(0.4), (1, 1, pytest.approx(-0.6)))
    again, memory = regret.mean_mc(memory, [(-1.0, -1.0, 0.0)])  # (-.2 - 4) / 5.8 = -.724; -.6 leaks to -.612
    assert memory == pytest.approx((1.8, -0.2, -0.612414)) and again == pytest.approx(1 - 0.612414)


def test_an_optimistic_critic_makes_no_mean_better():
    assert regret.mean_mc(None, [(0.0, 0.9, 0.5)])[0] == pytest.approx(-0.9)


def test_half_of_40_games_won_on_a_level_that_was_always_lost_is_worth_much():
    _, memory = regret.mean_mc(None, [(-1.0, -1.0, 0.0)] * 8)
    score, _ = regret.mean_mc(memory, [(1.0, -1.0, 1.0), (-1.0, -1.0, 0.0)] * 20)
    assert score == pytest.approx(1 - (6.4 + 4) / (46.4 + 4)) and round(score, 1) == 0.8


def test_learnability_is_the_variance_of_results_that_fade():
    score, memory = regret.learnability(None, [(0.0, 0.0, 1.0)])
    assert (score, memory) == (0.0, (1, 1, 1, 1))
    score, memory = regret.learnability(memory, [(0.0, 0.0, 0.0), (0.0, 0.0, 0.5)])
    assert memory == pytest.approx((2.8, 1.3, 1.05, 3))
    assert score == pytest.approx(1.05 / 2.8 - (1.3 / 2.8) ** 2)
    assert regret.learnability(None, [(0.0, 0.0, 1.0), (0.0, 0.0, 0.0)])[0] == 0.25


def test_a_memory_goes_with_its_level_and_pools_what_is_new_with_what_is_replayed():
    buffer = Buffer(1, 0.3, 0.3, score="learnability")
    won, lost = (1.0, 0.0, 1.0), (-1.0, 0.0, 0.0)
    buffer.step(1, [], [(b"x", [won])], [])
    buffer.step(1, [0], [(b"x", [lost])], [(0, [won, lost])])
    assert buffer.memory[0] == pytest.approx((3.8, 1.8, 1.8, 4))
    assert buffer.score[0] == pytest.approx(1.8 / 3.8 - (1.8 / 3.8) ** 2)
    buffer.step(1, [], [(b"y", [won, lost])], [])
    assert (buffer.level[0], buffer.memory[0], buffer.score[0]) == (b"y", (2, 1, 1, 2), 0.25)


def test_pooling_scores_every_worker_with_the_best_return_of_any():
    lost = ([0.0, 0.0], [0, -1], [False, True], [0, 0])
    won = ([0.5, 0.0], [1, 0], [True, False], [0, 1])
    best = {3: -math.inf, 7: 0.0}
    scores = regret.pooled(regret.max_mc, [lost, won], [[3, 7], [3, 7]], best)
    assert scores == {3: (0.75, 2, 1.0), 7: (None, 0, 0.0)}
    buffer = Buffer(1, 0.3, 0.3)
    buffer.step(
        2, [], [(b"x", [(r, v) for _, r, v in regret.finished(*worker)]) for worker in (lost, won)], []
    )
    assert (buffer.score[0], buffer.best[0]) == scores[3][::2]


def test_advantages_are_normalized_over_the_whole_batch_with_n_minus_1():
    batch = [[1.0, 2.0], [3.0, 6.0]]  # mean 3, squared deviations 4 + 1 + 0 + 9
    expected = (np.array(batch) - 3) / (math.sqrt(14 / 3) + 1e-5)
    assert ppo.normalize(batch) == pytest.approx(expected, rel=1e-12)


def test_the_policy_loss_clips_gains_and_keeps_losses():
    up, down = math.log(1.5), math.log(0.5)
    assert ppo.policy_loss(up, 0.0, 2.0, 0.2) == pytest.approx(-2.4)
    assert ppo.policy_loss(up, 0.0, -2.0, 0.2) == pytest.approx(3.0)
    assert ppo.policy_loss(down, 0.0, 2.0, 0.2) == pytest.approx(-1.0)
    assert ppo.policy_loss(down, 0.0, -2.0, 0.2) == pytest.approx(1.6)


def test_the_value_loss_is_the_worse_of_two_squares_or_huber():
    assert ppo.value_loss(1.0, 0.0, 2.0, 0.2, True) == pytest.approx(0.5 * 1.8**2)
    assert ppo.value_loss(3.0, 0.0, 1.0, 0.2, True) == pytest.approx(0.5 * 2.0**2)
    assert ppo.value_loss(0.5, 0.0, 0.0, 0.2, False) == pytest.approx(0.125)
    assert ppo.value_loss(3.0, 0.0, 0.0, 0.2, False) == pytest.approx(2.5)


def test_the_total_loss_weighs_the_means_of_its_parts():
    arguments = ([0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.4, 0.8])
    total, parts = ppo.loss(*arguments, 0.2, 0.5, 0.1, True)
    assert parts == pytest.approx({"policy": -1.5, "value": 0.25, "entropy": 0.6})
    assert total == pytest.approx(-1.5 + 0.125 - 0.06)
