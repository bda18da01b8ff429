"""Two players, one level, one episode; many of them at once (paper, appendix D.1, evaluation procedure)."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Int, Key, PRNGKeyArray

from maestro.envs.base import Environment, Level, State, judged
from maestro.envs.players import Player, Sight
from maestro.regret import accumulated, lead
from maestro.trees import Leaf, Tree

ROUND = 50  # time limits are rounded up to a multiple, so that few programs are compiled
AT_ONCE = 10  # steps between two looks at whether all games are over; divides `ROUND`


class Episode(PyTreeNode):
    """What happened, T being the time limit rounded up; after the end everything stands still."""

    states: Tree  # [T + 1], the start included
    actions: Leaf  # [T, 2, ...]
    rewards: Leaf  # [T, 2]; 0 after the end
    length: Leaf  # steps until the end
    outcome: Leaf  # 1: the first player won, 0: a draw, -1: the second won


class Result(PyTreeNode):
    """How games ended, leading axes being the games."""

    outcome: Leaf  # int; 1: the first player won, 0: a draw, -1: the second won
    score: Leaf  # [2]; what each has scored, unshaped
    length: Leaf  # steps until the end
    extras: Tree  # dict of the game's own quantities, each summed over the steps


class Moment(PyTreeNode):
    """A game between two steps."""

    state: Tree
    obs: Tree  # [2, ...]
    memories: Tree  # of both players
    done: Leaf


def step_bound(levels: Level) -> int:
    """A static number of steps in which every episode on these levels ends."""
    return -(-int(jnp.max(levels.time_limit)) // ROUND) * ROUND


def begin(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player) -> Moment:
    """The start of a game."""
    state, obs = judged(env).reset(jax.random.fold_in(key, 0), level)
    return Moment(state, obs, (a.start(), b.start()), jnp.bool_(False))


def turn(
    key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, now: Moment, t: Array
) -> tuple[Moment, Array, Any]:
    """(the moment after step t, the actions, what the game says of it); after the end nothing changes."""
    *act_keys, step_key = jax.random.split(jax.random.fold_in(key, t), 3)
    acted = [
        player.act(act_keys[i], now.memories[i], view_of(now.obs, i), Sight(level, now.state, i))
        for i, player in enumerate((a, b))
    ]
    actions = jnp.stack([action for _, action in acted])
    state, obs, _, terminated, truncated, info = judged(env).step(step_key, level, now.state, actions)
    after = Moment(state, obs, tuple(memory for memory, _ in acted), terminated | truncated)
    kept = jax.tree.map(lambda old, new: jnp.where(now.done, old, new), now, after)
    return kept, actions, jax.tree.map(lambda x: jnp.where(now.done, jnp.zeros_like(x), x), info)


def view_of(obs: Any, seat: int) -> Any:
    """What one of the players sees."""
    return jax.tree.map(lambda x: x[seat], obs)


@partial(jax.jit, static_argnames=("env", "steps"))
def episode(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, steps: int) -> Episode:
    """One game as `games` plays it, with all that happened in it."""
    first = begin(key, env, level, a, b)

    def step(now: Moment, t: Array) -> tuple[Moment, tuple[State, Array, Array, Array]]:
        after, actions, info = turn(key, env, level, a, b, now, t)
        return after, (after.state, actions, info["score"], ~now.done)

    _, (states, actions, rewards, played) = jax.lax.scan(step, first, jnp.arange(1, steps + 1))
    total = accumulated(rewards, jnp.zeros(rewards.shape, bool))[-1]
    return Episode(
        states=jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first.state, states),
        actions=actions,
        rewards=rewards,
        length=jnp.sum(played),
        outcome=lead(total[0], total[1]).astype(jnp.int32),
    )


@partial(jax.jit, static_argnames=("env", "steps"))
def games(
    env: Environment, a: Player, b: Player, levels: Level, keys: Key[Array, "P G"], steps: int
) -> Result:
    """P pairs of players, G games each: `a` [P] in the student's seat, levels and results [P, G].

    They go on until the last one is over, `steps` being more than any can take.
    """
    shared = (0, 0, None, None)  # the games of a pair have the players in common

    def start(key: PRNGKeyArray, level: Level, a: Player, b: Player) -> Moment:
        return begin(key, env, level, a, b)

    def one(key: PRNGKeyArray, level: Level, a: Player, b: Player, now: Moment, t: Array) -> Any:
        after, _, info = turn(key, env, level, a, b, now, t)
        return after, (info, ~now.done)

    def step(now: Moment, t: Array) -> Any:
        return jax.vmap(jax.vmap(one, (*shared, 0, None)), (0, 0, 0, 0, 0, None))(keys, levels, a, b, now, t)

    def some(carry: Any) -> Any:
        t, now, sums = carry
        now, measured = jax.lax.scan(step, now, t + jnp.arange(AT_ONCE))
        new = jax.tree.map(lambda x: jnp.sum(x.astype(jnp.float32), axis=0), measured)
        return t + AT_ONCE, now, jax.tree.map(plus, sums, new, is_leaf=lambda x: isinstance(x, Sum))

    def go_on(carry: Any) -> Array:
        return (carry[0] <= steps) & ~jnp.all(carry[1].done)

    first = jax.vmap(jax.vmap(start, shared))(keys, levels, a, b)
    shapes = jax.eval_shape(step, first, jnp.int32(1))[1]
    nothing = jax.tree.map(lambda s: Sum(jnp.zeros(s.shape), jnp.zeros(s.shape)), shapes)
    *_, (info, length) = jax.lax.while_loop(go_on, some, (jnp.int32(1), first, nothing))
    extras = {name: total.value for name, total in info.items()}
    score = extras.pop("score")
    outcome = lead(score[..., 0], score[..., 1]).astype(jnp.int32)
    return Result(outcome, score, length.value.astype(jnp.int32), extras)


class Sum(PyTreeNode):
    """A sum that rounding loses nothing of."""

    value: Leaf
    lost: Leaf  # by rounding, so far


def plus(total: Sum, x: Array) -> Sum:
    """One more summand (Kahan)."""
    x = x - total.lost
    value = total.value + x
    return Sum(value, (value - total.value) - x)


def repeated(tree: Tree, times: int = 1) -> Tree:
    """The same for each of so many pairs, as a leading axis."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (times, *jnp.shape(x))), tree)


def play(keys: Key[Array, " G"], env: Environment, a: Player, b: Player, levels: Level, steps: int) -> Result:
    """One episode on each level, `a` in the student's seat."""
    found = games(env, repeated(a), repeated(b), repeated(levels), keys[None], steps)
    return jax.tree.map(lambda x: x[0], found)


def alternating(
    keys: Key[Array, " P"], env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, "P L"]:
    """How one episode on each of the levels [P, L] ended for `a` [P]; on every second one they swap seats."""
    count = jax.tree.leaves(levels)[0].shape[1]
    if count % 2:
        raise ValueError(f"{count} levels: seats are swapped on every second one, the number must be even")
    dice = jax.vmap(lambda key, i: jax.random.split(jax.random.fold_in(key, i)), (None, 0))
    own = jax.vmap(dice, (0, None))(keys, jnp.arange(count // 2))
    even, odd = (jax.tree.map(lambda x, i=i: x[:, i::2], levels) for i in range(2))
    first = games(env, a, b, even, own[:, :, 0], steps).outcome
    second = -games(env, b, a, odd, own[:, :, 1], steps).outcome
    return jnp.stack([first, second], axis=2).reshape(len(keys), -1)


def both_seats(
    key: PRNGKeyArray, env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, " L"]:
    """How one episode on each level ended for `a`; on every second level they swap seats."""
    return alternating(key[None], env, repeated(a), repeated(b), repeated(levels), steps)[0]
