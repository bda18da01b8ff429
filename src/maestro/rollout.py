"""Student x co-player x levels -> what happened, with episodes restarted inside (paper, Algorithm 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PRNGKeyArray

from maestro import rows
from maestro.agents import distributions
from maestro.agents.base import Agent, Params
from maestro.envs.base import Environment, Level, Obs
from maestro.rows import Rows
from maestro.trajectory import Recorded, Remembered, Trajectory, assemble, is_large
from maestro.trees import Tree

NextLevel = Callable[[PRNGKeyArray, Array, Array], Level]
# (key, environment number, levels finished there) -> the level to play next
SMALL = 1024  # bytes of an array of one environment up to which it shares its place with others (see rows.py)
FEW = 8  # environments with large observations are restarted in so many pieces, and only those that are done


def environment_keys(key: PRNGKeyArray, numbers: Int[Array, " E"]) -> Key[Array, " E"]:
    """A key for each environment that depends on its number alone, not on its place on a device."""
    return jax.vmap(lambda e: jax.random.fold_in(key, e))(numbers)


def keys_of_steps(keys: Key[Array, " E"], steps: int) -> Key[Array, "T 4 E"]:
    """Four keys for each step of each environment, all at once: in a loop each draw would be a kernel."""

    def four(step: Array) -> Key[Array, "4 E"]:
        return jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, step), 4), out_axes=1)(keys)

    return jax.vmap(four)(jnp.arange(1, steps + 1))


def select(choose: Array, yes: Any, no: Any) -> Any:
    """`yes` where `choose` [E], else `no`, leaf by leaf."""

    def leaf(a: Array, b: Array) -> Array:
        return jnp.where(choose.reshape(choose.shape + (1,) * (a.ndim - choose.ndim)), a, b)

    return jax.tree.map(leaf, yes, no)


def restart(begin: Callable[..., Any], done: Array, told: Any, now: Any) -> Any:
    """`now` with those begun anew, as they are `told`, that are done, a few at a time: pictures cost much."""
    few = -(-len(done) // FEW)

    def some(carry: Any) -> Any:
        waiting, now = carry
        chosen = jnp.nonzero(waiting, size=few, fill_value=len(done))[0]  # what lies beyond is dropped
        fresh = begin(*(x[chosen] for x in told))
        now = jax.tree.map(lambda old, new: old.at[chosen].set(new, mode="drop"), now, fresh)
        return waiting.at[chosen].set(False, mode="drop"), now

    return jax.lax.while_loop(lambda carry: carry[0].any(), some, (done, now))[1]


def act_both(agent: Agent, per_worker: bool, players: Any, memory: Any, obs: Obs) -> tuple[Any, Array]:
    """Both seats' (memory, policy output), each [2, E, ...]; `players` as `prepare` returns them.

    With one co-player for all, both networks are one batched product; the players are then stacked.
    """

    def step(player: Any, m: Any, o: Obs) -> tuple[Any, Array]:
        weights, params = player
        m, features = agent.step(weights, m, o)
        return m, agent.policy(params, features)

    if not per_worker:
        return jax.vmap(step)(players, memory, obs)
    student, coplayer = players
    mine = jax.tree.map(lambda x: x[0], (memory, obs))
    first = step(student, *mine)
    groups = jax.tree.leaves(coplayer)[0].shape[0]
    theirs = jax.tree.map(lambda x: x[1].reshape(groups, -1, *x.shape[2:]), (memory, obs))
    second = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), jax.vmap(step)(coplayer, *theirs))
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)


def prepare(agent: Agent, players: tuple[Params, Params], per_worker: bool) -> Any:
    """(weights, parameters) of the student and the co-player, the latter's [E, ...] if `per_worker`."""
    student, coplayer = players
    if per_worker:
        return (agent.prepare(student), student), (jax.vmap(agent.prepare)(coplayer), coplayer)
    both = [(agent.prepare(params), params) for params in players]
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), *both)


def seat_first(tree: Tree) -> Tree:
    """[E, seat, ...] -> [seat, E, ...], or back, leaf by leaf."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, 1, 0), tree)


def forget(memory: Any, done: Array) -> Any:
    """Both seats' memories [2, E, ...], zero where an episode is over."""
    return jax.tree.map(lambda m: m * ~done.reshape(1, -1, *(1,) * (m.ndim - 2)), memory)


def begin(env: Environment, next_level: NextLevel, keys: Array, numbers: Array, finished: Array) -> Any:
    """(levels, states, observations) of environments whose next episode is their first, or another one."""
    level_key, reset_key = jax.vmap(jax.random.split, out_axes=1)(keys)
    levels = jax.vmap(next_level)(level_key, numbers, finished)
    state, obs = jax.vmap(env.reset)(reset_key, levels)
    return levels, state, obs


@dataclass(frozen=True, eq=False)
class Step:
    """A step of all environments: what stays as it is during a rollout."""

    env: Environment
    agent: Agent
    begin: Callable[..., Any]  # (keys, numbers, episodes finished) -> (levels, states, observations)
    act: Callable[..., Any]  # (memory, observations) of both seats -> (memory, policy output)
    pick: Callable[..., Any]  # (noise, policy output) -> action
    looking: Any  # the student's weights, which look at large observations at once
    numbers: Array  # of the environments
    seats: int  # that are recorded
    large: bool  # whether observations are

    def __call__(self, carry: tuple[Rows, Any], inputs: Any) -> tuple[tuple[Rows, Any], tuple[Rows, Any]]:
        """As a loop takes it: `carry` is where all stand, and both seats' memories."""
        level, state, seen, finished, done = carry[0].tree
        drawn, (step_keys, begin_keys) = inputs
        memory, output = self.act(forget(carry[1], done), seat_first(seen))
        action = seat_first(jax.vmap(jax.vmap(self.pick))(drawn, output))  # [E, seat, ...]
        taken = jax.vmap(self.env.step)(step_keys, level, state, action)
        remembered = jax.tree.map(lambda x: x[: self.seats], memory)
        recorded = self.recorded(seen, action, output, remembered, taken)
        state, obs, _, terminated, truncated, _ = taken
        done = terminated | truncated
        finished, now = finished + done, (level, state, obs)
        told = begin_keys, self.numbers, finished
        now = restart(self.begin, done, told, now) if self.large else select(done, self.begin(*told), now)
        return (self.pack((*now, finished, done)), memory), (self.pack(recorded), remembered)

    def recorded(self, seen: Obs, action: Tree, output: Tree, remembered: Any, taken: Any) -> Recorded:
        """What is remembered of it."""
        _, obs, reward, terminated, truncated, info = taken
        following = self.own(obs)
        if self.large:
            following = seat_first(self.agent.step(self.looking, remembered, seat_first(following))[1])
        return Recorded(
            obs=self.own(seen),
            action=self.own(action),
            output=self.own(seat_first(output)),
            following=following,
            reward=self.own(reward.astype(jnp.float32)),
            score=info["score"].astype(jnp.float32),
            ended=terminated.astype(jnp.uint8) + 2 * truncated.astype(jnp.uint8),
        )

    def own(self, tree: Tree) -> Tree:
        """[E, seat, ...]: the seats that are recorded."""
        return jax.tree.map(lambda x: x[:, : self.seats], tree)

    def pack(self, tree: Tree) -> Rows:
        """Small arrays side by side; large observations, and all beside them, stay alone."""
        return rows.pack(tree, axes=1, most=0 if self.large else SMALL)


def rollout(
    key: PRNGKeyArray,
    env: Environment,
    agent: Agent,
    players: tuple[Params, Params],
    next_level: NextLevel,
    envs: int | Int[Array, " E"],
    num_steps: int,
    per_worker: bool = False,
    both_seats: bool = False,
    time_limit: int | None = None,
) -> Trajectory:
    """T steps of E environments: `players` are (student, co-player), the latter [E, ...] if `per_worker`.

    Fewer co-players than environments play equal parts of them, one part after another.
    `both_seats` appends the co-player's own experience as E further columns. `envs` are all there are, or
    the numbers of some of them, which play as they would among all. `time_limit` is that of every level, if
    that is known.
    """
    numbers = jnp.arange(envs) if isinstance(envs, int) else envs
    keys = environment_keys(key, numbers)
    act = partial(act_both, agent, per_worker, prepare(agent, players, per_worker))
    looking, seats = agent.prepare(players[0]), 2 if both_seats else 1
    noise, pick = distributions.in_two(agent.distribution)
    anew, none = partial(begin, env, next_level), jnp.zeros_like(numbers)
    level, state, obs = anew(jax.vmap(lambda k: jax.random.fold_in(k, 0))(keys), numbers, none)
    step = Step(env, agent, anew, act, pick, looking, numbers, seats, is_large(obs))
    carry = (step.pack((level, state, obs, none, none > 0)), agent.start(2, len(numbers)))
    of_steps = keys_of_steps(keys, num_steps)
    draws = jax.vmap(jax.vmap(jax.vmap(noise)))(of_steps[:, :2])
    end, (recorded, memory) = jax.lax.scan(step, carry, (draws, (of_steps[:, 2], of_steps[:, 3])))
    remembered = Remembered(memory, jax.tree.map(lambda x: x[:seats], end[1]))
    cuts = None if time_limit is None else num_steps // time_limit
    return assemble(agent, players[0], recorded.tree, remembered, level, cuts)
