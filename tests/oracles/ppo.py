"""Slow twin of the PPO loss, one transition at a time."""

import math

import numpy as np


def normalize(advantages):
    """(A - mean) / (std + 1e-5) over the whole batch, std with n - 1, or 0 for a single entry."""
    flat = [float(a) for a in np.ravel(advantages)]
    mean = sum(flat) / len(flat)
    std = math.sqrt(sum((a - mean) ** 2 for a in flat) / max(1, len(flat) - 1))
    return np.array([(a - mean) / (std + 1e-5) for a in flat]).reshape(np.shape(advantages))


def clamp(x, low, high):
    """x kept inside [low, high]."""
    return min(max(x, low), high)


def huber(difference):
    """Smooth L1 with delta 1."""
    size = abs(difference)
    return 0.5 * size**2 if size < 1 else size - 0.5


def policy_loss(logp_new, logp_old, adv, clip):
    """Clipped surrogate of one transition, to be minimised."""
    ratio = math.exp(logp_new - logp_old)
    return -min(ratio * adv, clamp(ratio, 1 - clip, 1 + clip) * adv)


def value_loss(value, old_value, target, clip, clip_value):
    """Of one transition: .5 max((v - R)^2, (v_clip - R)^2), or Huber(v - R) when clipping is off."""
    if not clip_value:
        return huber(value - target)
    clipped = old_value + clamp(value - old_value, -clip, clip)
    return 0.5 * max((value - target) ** 2, (clipped - target) ** 2)


def loss(
    logp_new, logp_old, adv, value, old_value, target, entropy, clip, value_coef, entropy_coef, clip_value
):
    """(total, parts): batch means, policy + value_coef value - entropy_coef entropy."""
    batch = (logp_new, logp_old, adv, value, old_value, target, entropy)
    columns = [[float(x) for x in np.ravel(column)] for column in batch]
    sums = {"policy": 0.0, "value": 0.0, "entropy": 0.0}
    for new, old, a, v, v_old, goal, h in zip(*columns, strict=True):
        sums["policy"] += policy_loss(new, old, a, clip)
        sums["value"] += value_loss(v, v_old, goal, clip, clip_value)
        sums["entropy"] += h
    parts = {name: total / len(columns[0]) for name, total in sums.items()}
    return parts["policy"] + value_coef * parts["value"] - entropy_coef * parts["entropy"], parts
