"""Slow twins of GAE and of the regret estimates, one worker or one level at a time."""

import math

import numpy as np


def gae(rewards, values, last_value, terminated, truncated, truncation_values, gamma, lam):
    """(advantages [T], targets [T]); `truncation_values[t]` is V(final obs), read where t is truncated only.

    A step that both terminates and reaches its time limit is terminal. A time limit at the last step uses
    V(final obs), not `last_value`, which belongs to the next episode's first observation.
    """
    T = len(rewards)
    advantages = np.zeros(T)
    following = 0.0  # advantage of the next step of the same episode
    for t in reversed(range(T)):
        if terminated[t]:
            next_value = 0.0
        elif truncated[t]:
            next_value = truncation_values[t]
        else:
            next_value = last_value if t == T - 1 else values[t + 1]
        if terminated[t] or truncated[t]:
            following = 0.0
        following = rewards[t] + gamma * next_value - values[t] + gamma * lam * following
        advantages[t] = following
    return advantages, advantages + np.asarray(values, float)


def episodes(dones):
    """Spans (start, stop) of the finished episodes; stop is one past the step that is done."""
    spans, start = [], 0
    for t, done in enumerate(dones):
        if done:
            spans.append((start, t + 1))
            start = t + 1
    return spans


def finished(per_step, rewards, dones, position):
    """(playlist entry, undiscounted return, mean of `per_step`) of each finished episode, in order."""
    result = []
    for start, stop in episodes(dones):
        length = stop - start
        result.append((position[start], sum(rewards[start:stop]), sum(per_step[start:stop]) / length))
    return result


def max_mc(values, rewards, dones, position, best):
    """(sum of mean_t(R_max - V_t) [Q], episodes [Q], R_max [Q]), R_max over `best` and these episodes."""
    sums, counts, new_best = _empty(best)
    record = finished(values, rewards, dones, position)
    for entry, episode_return, _ in record:
        new_best[entry] = max(new_best[entry], episode_return)
    for entry, _, mean_value in record:
        sums[entry] += new_best[entry] - mean_value
        counts[entry] += 1
    return sums, counts, new_best


def pvl(advantages, rewards, dones, position, best):
    """(sum of mean_t max(A_t, 0) [Q], episodes [Q], R_max [Q]) over the finished episodes."""
    sums, counts, new_best = _empty(best)
    positive = [max(advantage, 0.0) for advantage in advantages]
    for entry, episode_return, mean_loss in finished(positive, rewards, dones, position):
        new_best[entry] = max(new_best[entry], episode_return)
        sums[entry] += mean_loss
        counts[entry] += 1
    return sums, counts, new_best


def mean_mc(memory, episodes):
    """(score, memory) of a level after a rollout's episodes (return, mean value, result), at least one.

    The memory, None at first, is (n, S_R, best mean). Old games fade; four more games are made up that
    went as the critic expects, or as games went so far if it expects more; a best mean fades too.
    """
    n, total, best = memory or (0.0, 0.0, -math.inf)
    n, total = 0.8 * n, 0.8 * total
    for episode_return, _, _ in episodes:
        n, total = n + 1, total + episode_return
    expected = sum(value for _, value, _ in episodes) / len(episodes)
    mean = (total + 4 * min(expected, total / n)) / (n + 4)
    faded = best - 0.1 * (best - mean) if best > -math.inf else -math.inf
    best = max(mean, faded)
    return best - expected, (n, total, best)


def learnability(memory, episodes):
    """(score, memory) likewise; the memory is (n, S_1, S_2, games ever), old games fade but for the last."""
    n, first, second, count = memory or (0.0, 0.0, 0.0, 0)
    n, first, second = 0.8 * n, 0.8 * first, 0.8 * second
    for _, _, result in episodes:
        n, first, second, count = n + 1, first + result, second + result * result, count + 1
    variance = second / n - (first / n) ** 2
    return (variance if count >= 2 else 0.0), (n, first, second, count)


def pooled(score, workers, slots, best):
    """{slot: (score, episodes, R_max)} over all workers and playlist entries that played the slot.

    `workers`: (per_step, rewards, dones, position) each; `slots[w][q]`: the slot behind worker w's entry q;
    `best`: {slot: R_max so far}. The first pass finds every slot's R_max, the second scores with it. A slot
    without a finished episode has score None.
    """
    running = {slot: best[slot] for playlist in slots for slot in playlist}
    for worker, playlist in zip(workers, slots, strict=True):
        new_best = score(*worker, [best[slot] for slot in playlist])[2]
        for slot, value in zip(playlist, new_best, strict=True):
            running[slot] = max(running[slot], value)
    sums, counts = dict.fromkeys(running, 0.0), dict.fromkeys(running, 0)
    for worker, playlist in zip(workers, slots, strict=True):
        entry_sums, entry_counts, _ = score(*worker, [running[slot] for slot in playlist])
        for q, slot in enumerate(playlist):
            sums[slot] += entry_sums[q]
            counts[slot] += int(entry_counts[q])
    return {s: (sums[s] / counts[s] if counts[s] else None, counts[s], running[s]) for s in running}


def _empty(best):
    return np.zeros(len(best)), np.zeros(len(best), int), np.array(best, float)
