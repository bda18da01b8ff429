"""Trajectory -> advantages, and an estimate of regret for each level played (paper, appendix D.3)."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from maestro.memories import Evidence
from maestro.trajectory import Trajectory

TOLERANCE = 1e-6  # relative difference of two total scores up to which they are equal


def generalized_advantage(trajectory: Trajectory, gamma: float, gae_lambda: float) -> Float[Array, "T E"]:
    """GAE: A_t = delta_t + gamma lambda A_{t+1}, cut where an episode ends.

    What follows a step counts unless the game was over: also beyond a time limit and beyond the
    rollout's last step.
    """
    future = gamma * trajectory.next_value * ~trajectory.terminated
    delta = trajectory.reward + future - trajectory.value
    decay = gamma * gae_lambda * ~trajectory.done

    def later_then_earlier(late: Any, early: Any) -> Any:
        return early[0] + early[1] * late[0], early[1] * late[1]

    return jax.lax.associative_scan(later_then_earlier, (delta, decay), reverse=True)[0]


def spans(done: Bool[Array, "T E"]) -> tuple[Int[Array, "T E"], Int[Array, "T E"]]:
    """First and last step of the episode that each step belongs to; the last is T if it did not finish."""
    steps = jnp.broadcast_to(jnp.arange(done.shape[0])[:, None], done.shape)
    starts = jnp.concatenate([jnp.ones_like(done[:1]), done[:-1]])
    first = jax.lax.cummax(jnp.where(starts, steps, 0), axis=0)
    last = jax.lax.cummin(jnp.where(done, steps, done.shape[0]), axis=0, reverse=True)
    return first, last


def episode_returns(trajectory: Trajectory) -> Float[Array, "T E"]:
    """Undiscounted return of the student's episode up to each step; meaningful where it is done."""
    return so_far(trajectory, trajectory.reward)


def so_far(trajectory: Trajectory, quantity: Float[Array, "T E"]) -> Float[Array, "T E"]:
    """Sum of a quantity over the steps of the episode up to each step."""
    starts = jnp.concatenate([jnp.ones_like(trajectory.done[:1]), trajectory.done[:-1]])
    return accumulated(quantity, starts)


def accumulated(quantity: Float[Array, "*t"], starts: Bool[Array, "*t"]) -> Float[Array, "*t"]:
    """Sums along the first axis that begin anew where something starts.

    They are sums of sums, as in a tree: rounding loses little, and nothing of what was before a start.
    """

    def join(early: Any, late: Any) -> Any:
        return jnp.where(late[1], late[0], early[0] + late[0]), early[1] | late[1]

    return jax.lax.associative_scan(join, (quantity, starts))[0]


def entries(trajectory: Trajectory, playlist: int) -> Bool[Array, "Q T E"]:
    """Which playlist entry each step belongs to; the last one stays on."""
    entry = jnp.minimum(trajectory.finished, playlist - 1)
    return entry[None] == jnp.arange(playlist)[:, None, None]


def best_returns(trajectory: Trajectory, playlist: int) -> Float[Array, "Q E"]:
    """The best return of the finished episodes of each entry, -inf if there is none."""
    ended = entries(trajectory, playlist) & trajectory.done[None]
    return jnp.max(jnp.where(ended, episode_returns(trajectory)[None], -jnp.inf), axis=1)


def mean_returns(trajectory: Trajectory) -> Float[Array, "1 E"]:
    """The mean return of each environment's finished episodes, -inf if there is none.

    Where every episode has a level of its own, its return is the best on that level; of these bests a
    sum of scores needs the mean.
    """
    return episode_mean(trajectory, episode_returns(trajectory))


def episode_mean(trajectory: Trajectory, quantity: Float[Array, "T E"]) -> Float[Array, "1 E"]:
    """The mean, over each environment's finished episodes, of a quantity where they end; -inf without one."""
    total = jnp.sum(jnp.where(trajectory.done, quantity, 0.0), axis=0)
    episodes = jnp.sum(trajectory.done, axis=0)
    return jnp.where(episodes > 0, total / jnp.maximum(episodes, 1), -jnp.inf)[None]


def episode_means(
    trajectory: Trajectory, quantity: Float[Array, "T E"], playlist: int
) -> tuple[Float[Array, "Q E"], Int[Array, "Q E"]]:
    """(sum over finished episodes of the episode's mean of a quantity, episodes) for each entry."""
    first, last = spans(trajectory.done)
    finished = last < trajectory.done.shape[0]
    share = jnp.where(finished, quantity / (last - first + 1), 0.0)
    of_entry = entries(trajectory, playlist)
    total = jnp.sum(jnp.where(of_entry, share[None], 0.0), axis=1)
    return total, jnp.sum(of_entry & trajectory.done[None], axis=1)


def max_mc(
    trajectory: Trajectory, advantage: Float[Array, "T E"], best_return: Float[Array, "Q E"]
) -> tuple[Float[Array, "Q E"], Int[Array, "Q E"]]:
    """MaxMC: mean over an episode of R_max - V(s_t), signed; (sum over finished episodes, episodes)."""
    del advantage
    values, episodes = episode_means(trajectory, trajectory.value, best_return.shape[0])
    return jnp.where(episodes > 0, episodes * best_return, 0.0) - values, episodes


def positive_value_loss(
    trajectory: Trajectory, advantage: Float[Array, "T E"], best_return: Float[Array, "Q E"]
) -> tuple[Float[Array, "Q E"], Int[Array, "Q E"]]:
    """PVL: mean over an episode of max(A_t, 0); (sum over finished episodes, episodes)."""
    return episode_means(trajectory, jnp.maximum(advantage, 0.0), best_return.shape[0])


def remembered(
    trajectory: Trajectory, advantage: Float[Array, "T E"], score: Float[Array, "Q E"]
) -> tuple[Float[Array, "Q E"], Int[Array, "Q E"]]:
    """A score that follows from what `memories` has of an entry; (sum over finished episodes, episodes)."""
    del advantage
    episodes = jnp.sum(entries(trajectory, score.shape[0]) & trajectory.done[None], axis=1)
    return jnp.where(episodes > 0, episodes * score, 0.0), episodes


# What each takes of its entries besides the rollout: best returns, or the scores that `memories` has.
SCORES = {
    "max_mc": max_mc,
    "positive_value_loss": positive_value_loss,
    "mean_mc": remembered,
    "learnability": remembered,
}


def evidence(trajectory: Trajectory) -> Evidence:
    """What each finished episode shows, [T, E], where it ends; 0 elsewhere."""
    done, (first, last) = trajectory.done, spans(trajectory.done)
    result = jnp.where(done, results(trajectory), 0.0)
    return Evidence(
        episodes=done.astype(jnp.int32),
        values=jnp.where(done, so_far(trajectory, trajectory.value) / (last - first + 1), 0.0),
        returns=jnp.where(done, episode_returns(trajectory), 0.0),
        results=result,
        squares=result**2,
    )


def of_entries(trajectory: Trajectory, seen: Evidence, playlist: int) -> Evidence:
    """The same, [Q, E], summed for each entry of a playlist."""
    of_entry = entries(trajectory, playlist)
    return jax.tree.map(lambda x: jnp.sum(jnp.where(of_entry, x[None], 0), axis=1), seen)


def lead(mine: Float[Array, "*b"], theirs: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """1 for a win, 0 for a draw, -1 for a loss by two players' total scores; rounding decides no game."""
    gap = mine - theirs
    drawn = jnp.abs(gap) <= TOLERANCE * (1 + jnp.abs(mine) + jnp.abs(theirs))
    return jnp.where(drawn, 0.0, jnp.sign(gap))


def results(trajectory: Trajectory) -> Float[Array, "T E"]:
    """1 where the student's episode just ended in a win, 0.5 in a draw, 0 in a loss; NaN elsewhere."""
    mine, theirs = (so_far(trajectory, trajectory.score[..., seat]) for seat in range(2))
    return jnp.where(trajectory.done, 0.5 + 0.5 * lead(mine, theirs), jnp.nan)
