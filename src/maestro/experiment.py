"""Settings -> everything that is fixed during a run."""

import jax
import jax.numpy as jnp

from maestro import curriculum, train
from maestro.agents.lasertag import LaserTagAgent
from maestro.config import AgentConfig, GameConfig, RunConfig, population_size
from maestro.envs.lasertag import maps, text
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.lasertag.levels import Level
from maestro.methods import METHODS
from maestro.settings import SettingsError
from maestro.train import Experiment


def game(config: GameConfig) -> LaserTag:
    """LaserTag with the configured generator."""
    return LaserTag(config.min_size, config.max_size)


def agent(config: AgentConfig) -> LaserTagAgent:
    """The network."""
    return LaserTagAgent(config.filters, config.hidden, config.heads)


def fixed_level(config: GameConfig) -> Level | None:
    """The level of a specialist: by its name, its file, or its text."""
    level = config.level
    if not level:
        return None
    try:
        if "\n" in level:
            return text.parse(level)
        return text.read(level) if level.endswith(".txt") else maps.load(level)
    except (ValueError, OSError) as error:
        raise SettingsError([f"game.level: {error}"]) from None


def build(config: RunConfig) -> Experiment:
    """The game, the agent, the teacher and the settings of PPO and schedule."""
    env = game(config.game)
    level = fixed_level(config.game)
    teacher = curriculum.Teacher(
        config=config.curriculum,
        method=METHODS[config.method],
        generate=env.sample_level if level is None else lambda key: level,
        workers=config.ppo.workers,
        max_members=population_size(config.schedule),
        num_levels=None if level is None else 1,
    )
    return Experiment(env, agent(config.agent), teacher, config.ppo, config.schedule)


def parameter_count(config: RunConfig) -> int:
    """Parameters of one agent."""
    params = jax.eval_shape(agent(config.agent).init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def size_of(tree: object) -> int:
    """Bytes of a tree of arrays."""
    return sum(
        leaf.size * jnp.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree) if hasattr(leaf, "size")
    )


def memory_estimate(config: RunConfig) -> int:
    """Bytes on the device: the state before and after a chunk, a rollout, a gradient step, borrowed weights.

    A rollout keeps both memories of the LSTM and the observations of every step, and a gradient step
    24 numbers per unit of the LSTM. Compared with XLA's own account of the compiled chunk (arguments,
    outputs and temporaries, on a CPU): 0.8 to 1.3 of it, for `paper` with 2 seeds, and for `tiny` as it is,
    with `dr-sp`, 4 seeds, 256 units, longer rollouts, both seats, and a co-player for each worker.
    """
    experiment = build(config)
    state = jax.eval_shape(lambda: jax.tree.map(key_bytes, train.init(experiment, 0, 1)))
    ppo, schedule = config.ppo, config.schedule
    seats = 2 if schedule.sp_train_both else 1
    both = 2 if schedule.kind == "parallel" and not config.method.startswith("dr-") else 1
    steps = ppo.rollout_length * ppo.workers * seats
    rollout = both * steps * (8 * config.agent.hidden + 200)
    gradient = 24 * 4 * config.agent.hidden * steps // ppo.minibatches
    borrowed = 2 * both * ppo.workers * size_of(state.runs.learner.params)
    worker = config.curriculum.coplayer_per == "worker"
    return config.seeds * (2 * size_of(state) + rollout + gradient + worker * borrowed)


def key_bytes(x: jax.Array) -> jax.Array:
    """A random key as the numbers that it holds; other arrays as they are."""
    return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
