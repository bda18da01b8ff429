"""Rollouts on games so small that every restart, level and memory can be told from the observations."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import next_values, regret
from maestro.agents.distributions import Categorical
from maestro.envs.players import Sight
from maestro.evaluation.opponents import trained
from maestro.rollout import rollout
from probes import QUICK, VIEW, Level, Probe, Race, SmallAgent, State, TimeLimit, image

ENVS, STEPS = 8, 12


class Counter(Probe):
    """The level's number is the length of its episodes; agents see it and the time, each its own seat."""

    def sample_level(self, key):
        return Level(jax.random.randint(key, (), 1, 5), jnp.int32(3))

    def observe(self, level, state):
        seats = jnp.arange(2).reshape(2, 1, 1, 1) * jnp.zeros(9).at[2].set(1).reshape(1, *VIEW)
        return image(level.number, state.time) + seats

    def reward(self, level, state, actions):
        return jnp.stack([state.time + 1, -state.time - 1])

    def over(self, level, state, reward):
        return state.time >= level.number


@dataclass(frozen=True)
class TallyAgent(SmallAgent):
    """Remembers how many observations it has had in this episode; that is also its value."""

    def start(self, *batch):
        return jnp.zeros((*batch, self.hidden))

    def step(self, weights, memory, obs):
        return memory + 1, memory + 1

    def features(self, memory):
        return memory

    def value(self, params, features):
        return features[..., 0]


def play(env, next_level, num_envs=ENVS, agent=None, seed=3, **options):
    """A rollout of two different players."""
    agent = agent or SmallAgent()
    players = tuple(agent.init(jax.random.key(s)) for s in (0, 1))

    def run(key):
        return rollout(key, env, agent, players, next_level, num_envs, STEPS, **options)

    return jax.jit(run, compiler_options=QUICK)(jax.random.key(seed))


def queue(key, env, finished):
    """Environment e plays levels of lengths 1 + e % 2, 2, then 4 for ever; all but these are cut after 3."""
    lengths = jnp.stack([1 + env % 2, 2, 4])
    return Level(lengths[jnp.minimum(finished, 2)].astype(jnp.int32), jnp.int32(3))


@pytest.fixture(scope="module")
def counted():
    return play(Counter(), queue, agent=TallyAgent(), both_seats=True)


def expected(env):
    """(length of the level, time, done, finished) of every step of an environment's queue."""
    steps, finished = [], 0
    while len(steps) < STEPS:
        level = [1 + env % 2, 2, 4][min(finished, 2)]
        last = min(level, 3) - 1
        steps += [(level, t, t == last, finished) for t in range(last + 1)]
        finished += 1
    return np.array(steps[:STEPS])


def test_each_environment_works_through_its_queue_and_stays_on_the_last_level(counted) -> None:
    for env in range(ENVS):
        want = expected(env)
        np.testing.assert_array_equal(counted.obs[:, env, 0, 0, 0], want[:, 0])
        np.testing.assert_array_equal(counted.obs[:, env, 0, 1, 0], want[:, 1])
        np.testing.assert_array_equal(counted.done[:, env], want[:, 2])
        np.testing.assert_array_equal(counted.finished[:, env], want[:, 3])


def test_a_time_limit_truncates_and_the_game_terminates_never_both(counted) -> None:
    level, time = counted.obs[:, :, 0, 0, 0], counted.obs[:, :, 0, 1, 0]
    np.testing.assert_array_equal(counted.terminated, (time + 1 == level) & (time < 3))
    np.testing.assert_array_equal(counted.truncated, (time == 2) & (level == 4))
    assert counted.terminated.any() and counted.truncated.any()


def test_both_memories_start_again_with_every_episode(counted) -> None:
    np.testing.assert_array_equal(counted.value, counted.obs[:, :, 0, 1, 0] + 1)
    assert counted.value.shape == (STEPS, 2 * ENVS)


def test_the_next_value_is_of_the_observation_before_the_restart(counted) -> None:
    np.testing.assert_array_equal(counted.next_value, counted.value + 1)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """What is computed but for a CPU."""
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *given, cpu, default: default(*given))


def of_five_steps(key, env, finished):
    """Levels that last longer than they may."""
    return Level(jnp.int32(6), jnp.int32(5))


@pytest.mark.parametrize("time_limit", [None, 5], ids=["unknown", "known"])
@pytest.mark.parametrize("levels", [queue, of_five_steps])
def test_only_values_that_nobody_knows_need_to_be_looked_at(levels, time_limit, as_on_a_gpu) -> None:
    """Within an episode the next step knows them, and nothing follows the end of a game."""
    limit = 3 if time_limit and levels is queue else time_limit
    found = play(Counter(), levels, agent=TallyAgent(), both_seats=True, time_limit=limit)
    counts = ~found.terminated
    np.testing.assert_array_equal(found.next_value[counts], found.value[counts] + 1)
    assert found.truncated[:-1].sum(axis=0).max() == 2  # of one environment several
    assert (counts & ~found.truncated)[-1].any()  # the rollout's last step ends no episode


def test_both_ways_to_the_next_values_agree_with_a_network_that_remembers(request) -> None:
    every = play(Counter(), queue)
    request.getfixturevalue("as_on_a_gpu")
    some = play(Counter(), queue)
    counts = ~every.terminated
    np.testing.assert_allclose(some.next_value[counts], every.next_value[counts], atol=1e-5)


@pytest.mark.parametrize(("time_limit", "kept"), [(STEPS, 2), (STEPS + 1, 1)])
def test_where_no_time_limit_is_reached_memories_are_kept_for_their_features_alone(
    time_limit, kept, as_on_a_gpu
) -> None:
    """Of (h, c) one is, in the loop that plays."""
    agent, env = SmallAgent(), TimeLimit()

    def run(key):
        levels = lambda key, env_number, finished: env.sample_level(key)  # noqa: E731
        players = (agent.init(key), agent.init(key))
        return rollout(key, env, agent, players, levels, ENVS, STEPS, time_limit=time_limit).next_value

    program = jax.jit(run).lower(jax.random.key(0)).compile().as_text()
    loops = [
        line for line in program.splitlines() if f"f32[{STEPS},1,{ENVS},8]" in line and " while(" in line
    ]
    assert [line.split(" while(")[0].count(f"f32[{STEPS},1,{ENVS},8]") for line in loops] == [kept]


@pytest.mark.parametrize(("platform", "marks"), [("cpu", (True, False)), ("cuda", (False, True))])
def test_each_platform_has_its_way_to_the_next_values(platform, marks, monkeypatch) -> None:
    monkeypatch.setattr(next_values, "every", lambda *inputs: inputs[3] * 17.5)
    monkeypatch.setattr(next_values, "missing", lambda *inputs: inputs[4] * 23.5)
    ended = jnp.zeros((4, 2), bool)
    seen = next_values.Seen((), (), ())
    found = jax.jit(lambda: next_values.found(SmallAgent(), {}, seen, jnp.ones((4, 2)), ended))
    text = found.trace().lower(lowering_platforms=(platform,)).as_text()
    assert ("1.750000e+01" in text, "2.350000e+01" in text) == marks


def test_what_follows_a_time_limit_counts_and_what_follows_the_end_does_not(counted) -> None:
    advantage = regret.generalized_advantage(counted, 0.5, 0.0)
    future = np.where(counted.terminated, 0, 0.5 * counted.next_value)
    np.testing.assert_allclose(advantage, counted.reward + future - counted.value, rtol=1e-6)


def test_the_other_seat_has_its_own_observations_and_rewards(counted) -> None:
    seat = np.broadcast_to(np.arange(2 * ENVS) // ENVS, (STEPS, 2 * ENVS))
    np.testing.assert_array_equal(counted.obs[:, :, 0, 2, 0], seat)
    np.testing.assert_array_equal(counted.reward[:, :ENVS], -counted.reward[:, ENVS:])
    assert counted.num_envs == ENVS


def test_the_first_levels_are_those_of_the_first_episodes(counted) -> None:
    np.testing.assert_array_equal(counted.first_level.number, counted.obs[0, :ENVS, 0, 0, 0])


def test_looking_back_over_a_rollout_finds_the_same_policy_and_values() -> None:
    agent = SmallAgent()
    student = agent.init(jax.random.key(0))
    trajectory = play(Race(), lambda key, env, finished: Race().sample_level(key))
    features = agent.unroll(student, trajectory.obs, trajectory.keep)
    log_prob = agent.distribution.log_prob(agent.policy(student, features), trajectory.action)
    np.testing.assert_allclose(log_prob, trajectory.log_prob, atol=1e-5)
    np.testing.assert_allclose(agent.value(student, features), trajectory.value, atol=1e-5)
    follows = np.where(trajectory.done[:-1], trajectory.next_value[:-1], trajectory.value[1:])
    np.testing.assert_allclose(trajectory.next_value[:-1], follows, atol=1e-5)


@pytest.mark.parametrize("per_worker", [False, True])
def test_an_environment_plays_the_same_however_many_others_there_are(per_worker: bool) -> None:
    agent = SmallAgent()
    player = agent.init(jax.random.key(0))

    def few_or_many(num_envs):
        each = jax.tree.map(lambda x: jnp.stack([x] * num_envs), player)
        run = jax.jit(
            lambda key: rollout(
                key,
                Race(),
                agent,
                (player, each if per_worker else player),
                lambda key, env, finished: Race().sample_level(key),
                num_envs,
                STEPS,
                per_worker=per_worker,
            ),
            compiler_options=QUICK,
        )
        return run(jax.random.key(5))

    few, many = few_or_many(4), few_or_many(8)
    for name in ("obs", "action", "terminated", "truncated", "finished", "reward"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:, :4])
    np.testing.assert_allclose(few.value, many.value[:, :4], atol=1e-6)


def test_a_coplayer_for_each_environment_sees_and_remembers_its_own_seat() -> None:
    """Equal co-players for each environment play as one for all does."""
    agent = SmallAgent()
    student, coplayer = (agent.init(jax.random.key(s)) for s in (0, 1))
    each = jax.tree.map(lambda x: jnp.stack([x] * ENVS), coplayer)

    def run(other, per_worker):
        players, options = (student, other), {"per_worker": per_worker, "both_seats": True}
        return rollout(jax.random.key(4), Counter(), agent, players, queue, ENVS, STEPS, **options)

    one, many = jax.jit(lambda: (run(coplayer, False), run(each, True)), compiler_options=QUICK)()
    np.testing.assert_array_equal(one.action, many.action)
    np.testing.assert_allclose(one.log_prob, many.log_prob, atol=1e-6)


def test_fewer_coplayers_than_environments_play_equal_parts_of_them() -> None:
    agent = SmallAgent()
    student, one, other = (agent.init(jax.random.key(s)) for s in (0, 1, 2))
    halves = jax.tree.map(lambda *x: jnp.stack(x), one, other)
    each = jax.tree.map(lambda x: jnp.repeat(x, 4, axis=0), halves)

    def run(coplayers):
        options = {"per_worker": True, "both_seats": True}
        return rollout(jax.random.key(4), Race(), agent, (student, coplayers), race, 8, STEPS, **options)

    race = lambda key, env, finished: Race().sample_level(key)  # noqa: E731
    few, many, same = jax.jit(
        lambda: (run(halves), run(each), run(jax.tree.map(lambda x: x[:1], halves))), compiler_options=QUICK
    )()
    np.testing.assert_array_equal(few.action, many.action)
    np.testing.assert_allclose(few.log_prob, many.log_prob, atol=1e-6)
    alike = np.isclose(few.log_prob, same.log_prob, atol=1e-6).all(axis=0)[8:]  # the co-player's seat
    assert alike[:4].all() and not alike[4:].any()


def test_domain_randomization_gets_a_fresh_level_at_every_episode() -> None:
    trajectory = play(Numbered(), lambda key, env, finished: Level(draw(key), jnp.int32(2)), num_envs=4)
    numbers = np.asarray(trajectory.obs[:, :, 0, 0, 0])
    np.testing.assert_array_equal(numbers[::2], numbers[1::2])
    assert np.unique(numbers[::2]).size == 4 * STEPS // 2


def draw(key):
    return jax.random.randint(key, (), 0, 2**20)


class Numbered(TimeLimit):
    """Agents see the level's number."""

    def observe(self, level, state):
        return image(level.number)


class KeyGame(Probe):
    """Agents see the key they were reset with; reward and score are the halves of the key of the step."""

    def reset(self, key, level):
        state = State(cue=jax.random.key_data(key), time=jnp.int32(0))
        return state, self.observe(level, state)

    def observe(self, level, state):
        return image(*jnp.concatenate([state.cue & 0xFFFF, state.cue >> 16]))

    def step(self, key, level, state, actions):
        state, obs, _, *ends, _ = super().step(key, level, state, actions)
        words = jax.random.key_data(key)
        reward, score = (half.astype(jnp.float32) for half in (words & 0xFFFF, words >> 16))
        return state, obs, reward, *ends, {"score": score}

    def over(self, level, state, reward):
        return state.time >= 3


class KeyWord(Categorical):
    """The action is a word of the key by which it is drawn."""

    def sample(self, key, output):
        return jax.random.key_data(key)[1].astype(jnp.int32)


class KeyAgent(SmallAgent):
    distribution = KeyWord(3)


def test_no_random_key_serves_twice() -> None:
    """Nor do the keys that a game derives from its own serve as keys of another step."""
    level = Level(jnp.int32(0), jnp.int32(9))
    trajectory = play(KeyGame(), lambda key, env, finished: level, agent=KeyAgent(), both_seats=True)
    cells = np.asarray(trajectory.obs[:, :ENVS]).reshape(STEPS, ENVS, 9)[..., :4].astype(np.uint32)
    starts = np.unique((cells[..., :2] | cells[..., 2:] << 16).reshape(-1, 2), axis=0)
    low = np.stack(np.split(np.asarray(trajectory.reward), 2, axis=1), axis=-1).astype(np.uint32)
    steps = (low | np.asarray(trajectory.score[:, :ENVS]).astype(np.uint32) << 16).reshape(-1, 2)
    assert len(starts) == ENVS * STEPS // 3 and len(steps) == ENVS * STEPS
    together = np.concatenate([starts, steps, *derived(starts), *derived(steps)])
    assert len(np.unique(together, axis=0)) == len(together)
    words = np.asarray(trajectory.action).astype(np.uint32).ravel()
    assert len(set(words)) == 2 * ENVS * STEPS and set(words).isdisjoint(together[:, 1])


def derived(keys):
    """The keys that splitting gives, each family [n, 2]."""
    split = jax.vmap(lambda k: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(k), 4)))
    return list(np.moveaxis(np.asarray(split(jnp.asarray(keys))), 1, 0))


@dataclass(frozen=True)
class StrictAgent(SmallAgent):
    """Takes for a policy or a value nothing but parameters as `init` makes them."""

    def refuse(self, params):
        assert jax.tree.structure(params) == jax.tree.structure(self.init(jax.random.key(0)))

    def policy(self, params, features):
        self.refuse(params)
        return super().policy(params, features)

    def value(self, params, features):
        self.refuse(params)
        return super().value(params, features)


@pytest.mark.parametrize("per_worker", [False, True])
def test_the_policy_and_the_value_get_the_parameters_themselves(per_worker) -> None:
    agent, env = StrictAgent(), Race()
    student, coplayer = (agent.init(jax.random.key(s)) for s in (0, 1))
    if per_worker:
        coplayer = jax.tree.map(lambda x: jnp.stack([x] * ENVS), coplayer)

    def run(key):
        fresh = lambda key, env_number, finished: env.sample_level(key)  # noqa: E731
        return rollout(key, env, agent, (student, coplayer), fresh, ENVS, STEPS, per_worker=per_worker)

    assert jax.eval_shape(run, jax.random.key(0)).log_prob.shape == (STEPS, ENVS)
    player = trained(agent, student)
    one_view = jax.tree.map(lambda x: x[0], image(1))
    sight = Sight(None, None, 0)
    assert jax.eval_shape(player.act, jax.random.key(0), player.start(), one_view, sight)[1].shape == ()
