"""Slow twin of the normalization of rewards: OpenAI Baselines' running moments, one worker at a time."""

import numpy as np


def returns(rewards, dones, gamma):
    """The discounted return of the episode up to each step, [T, E]; rollouts begin with fresh episodes."""
    found = np.zeros(np.shape(rewards))
    for worker in range(found.shape[1]):
        total = 0.0
        for t in range(found.shape[0]):
            total = gamma * total + rewards[t][worker]
            found[t, worker] = total
            if dones[t][worker]:
                total = 0.0
    return found


class Running:
    """Moments of everything seen so far, in double precision."""

    def __init__(self, mean=0.0, variance=1.0, count=1e-4):
        self.mean, self.variance, self.count = mean, variance, count

    def see(self, values):
        """Merge a batch: sums of squares about the common mean."""
        mean, variance, count = np.mean(values), np.var(values), np.size(values)
        total, gap = self.count + count, mean - self.mean
        squares = self.variance * self.count + variance * count + gap**2 * self.count * count / total
        self.mean += gap * count / total
        self.variance, self.count = squares / total, total

    def normalize(self, rewards, dones, gamma):
        """See a rollout, then its rewards over the standard deviation, within 10."""
        self.see(returns(rewards, dones, gamma))
        return np.clip(np.asarray(rewards) / np.sqrt(self.variance + 1e-8), -10, 10)
