"""Numbers that the paper prints, found again in the code that trains."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import curriculum, level_buffer
from maestro.config import CurriculumConfig, ScheduleConfig, population_size
from maestro.curriculum import Curriculum, Task, Teacher
from maestro.games.lasertag import GAME
from maestro.level_buffer import Played
from maestro.methods import METHODS
from maestro.population import MEMORY
from maestro.train import joins

PAPER = GAME.presets["paper"]
TABLE_1 = np.array(  # regret: rows pi_A, pi_B, pi_C, columns theta_1 .. theta_4
    [[0.6, 0.1, 0.4, 0.2], [0.1, 0.5, 0.4, 0.3], [0.2, 0.4, 0.4, 0.4]]
)
HYPERPARAMETERS = [  # the paper's name, LaserTag's value, ours
    ("gamma", 0.995, PAPER.ppo.gamma),
    ("lambda_GAE", 0.95, PAPER.ppo.gae_lambda),
    ("PPO rollout length", 256, PAPER.ppo.rollout_length),
    ("PPO epochs", 5, PAPER.ppo.epochs),
    ("PPO mini-batches per epoch", 4, PAPER.ppo.minibatches),
    ("PPO clip range", 0.2, PAPER.ppo.clip),
    ("PPO number of workers", 32, PAPER.ppo.workers),
    ("Adam learning rate", 1e-4, PAPER.ppo.learning_rate),
    ("Adam epsilon", 1e-5, PAPER.ppo.adam_eps),
    ("PPO max gradient norm", 0.5, PAPER.ppo.max_grad_norm),
    ("PPO value clipping", True, PAPER.ppo.clip_value),
    ("Return normalization", False, PAPER.ppo.normalize_returns),
    ("Value loss coefficient", 0.5, PAPER.ppo.value_coef),
    ("Student entropy coefficient", 0.0, PAPER.ppo.entropy_coef),
    ("Replay rate, p", 0.5, PAPER.curriculum.replay_rate),
    ("Buffer size, K", 4000, PAPER.curriculum.buffer_size),
    ("Scoring function", "max_mc", PAPER.curriculum.score),
    ("Prioritization", "rank", PAPER.curriculum.prioritization),
    ("Temperature, beta", 0.3, PAPER.curriculum.temperature),
    ("Staleness coefficient, rho", 0.3, PAPER.curriculum.staleness),
    ("Agent checkpoint interval", 8000, PAPER.schedule.interval),
    ("f_hard entropy coef", 2, PAPER.curriculum.hard_power),
    ("Win rate episodic memory", 128, MEMORY),
    ("lambda coef", 0.1, PAPER.curriculum.exploration),
    ("Buffer size for members", 1000, PAPER.curriculum.member_buffer_size),
    ("seeds (section D)", 10, PAPER.seeds),
    ("student updates", 40_000, PAPER.schedule.total_updates),
    ("convolution filters (section D.1)", 16, PAPER.agent.filters),
    ("LSTM units (section D.1)", 256, PAPER.agent.hidden),
    ("fully-connected layers (section D.1)", (32, 32), PAPER.agent.heads),
]
RACING = ScheduleConfig(total_updates=4500, interval=400, warmup=400)


@pytest.mark.parametrize("name, printed, ours", HYPERPARAMETERS, ids=[row[0] for row in HYPERPARAMETERS])
def test_the_preset_paper_is_the_hyperparameter_table(name, printed, ours):
    assert ours == printed


def test_the_preset_paper_tosses_a_coin_for_each_cycle():
    assert PAPER.schedule.kind == "coin" and PAPER.curriculum.coplayer_per == "rollout"


def test_the_network_has_429830_parameters():
    shapes = jax.eval_shape(PAPER.agent.init, jax.random.key(0))
    assert sum(x.size for x in jax.tree.leaves(shapes)) == 429_830


def generate(key: jax.Array) -> jax.Array:
    """One of four levels."""
    return jax.random.randint(key, (), 1, 5)


def teacher_of(members: int, **settings) -> Teacher:
    """MAESTRO with buffers of four levels."""
    config = replace(PAPER.curriculum, member_buffer_size=4, **settings)
    return Teacher(config, METHODS["maestro"], generate, workers=4, max_members=members, num_levels=4)


WARM = jax.jit(curriculum.warm, static_argnums=0)
WEIGHTS = jax.jit(curriculum.weights, static_argnums=0)
ASK = jax.jit(curriculum.ask, static_argnums=1, static_argnames=("new", "replay"))
TELL = jax.jit(curriculum.tell, static_argnums=0)


def taught(teacher: Teacher, table: np.ndarray) -> Curriculum:
    """A teacher who has seen one episode of each level against each co-player, with these scores."""
    state = curriculum.init(teacher, jnp.zeros(1))
    for _ in table:
        state = curriculum.join(state, jnp.zeros(1), jnp.bool_(True))
    for row, scores in enumerate(table):
        task = Task(jnp.int32(row + 1), jnp.arange(1, 1 + len(scores))[None], None)
        once = jnp.ones((1, len(scores)), jnp.int32)
        played = Played(jnp.float32(scores)[None], once, jnp.ones_like(once, jnp.float32), once > 0)
        state = TELL(teacher, state, task, played, jnp.ones((1, len(scores))))
    return state


def test_the_joint_teacher_of_table_1_picks_theta_1_with_a():
    teacher = teacher_of(3, exploration=0.0)
    state = taught(teacher, TABLE_1)
    np.testing.assert_array_equal(WEIGHTS(teacher, state), [0, 1, 0, 0])
    assert int(curriculum.choose(jax.random.key(0), teacher, state)) == 1
    chosen = jax.tree.map(lambda x: x[1], state.buffers)
    top = int(jnp.argmax(level_buffer.priorities(teacher.config, chosen)))
    assert int(chosen.levels[top]) == 1
    assert float(chosen.score[top]) == pytest.approx(0.6)


def test_marginal_teachers_of_table_1_pick_theta_3_with_c():
    buffers = taught(teacher_of(3), TABLE_1).buffers
    order = jnp.argsort(buffers.levels[1:], axis=1)  # the columns of the table again
    regret = np.asarray(jnp.take_along_axis(buffers.score[1:], order, axis=1))
    level, coplayer = int(regret.mean(axis=0).argmax()), int(regret.mean(axis=1).argmax())
    assert (level + 1, "ABC"[coplayer]) == (3, "C")
    assert regret[coplayer, level] == pytest.approx(0.4)


@pytest.mark.parametrize("members", [1, 2, 5, 11])
@pytest.mark.parametrize("exploration", [0.05, 0.1])
def test_a_single_maximizer_is_chosen_with_the_papers_probability(members, exploration):
    teacher = teacher_of(members, exploration=exploration)
    state = curriculum.init(teacher, jnp.zeros(1))
    most = jnp.full((members + 1, 4), -jnp.inf).at[:, 0].set(-0.5).at[members, 0].set(0.7)
    state = state.replace(
        buffers=state.buffers.replace(score=most, size=jnp.ones(members + 1, jnp.int32)),
        population=state.population.replace(size=jnp.int32(members)),
    )
    weights = np.asarray(WEIGHTS(teacher, state))
    np.testing.assert_allclose(weights[1:-1], np.full(members - 1, exploration / members), rtol=1e-5)
    assert weights[-1] == pytest.approx((members - exploration * (members - 1)) / members)
    assert weights[0] == 0


@pytest.mark.parametrize(
    "schedule, expected",
    [(PAPER.schedule, range(0, 40_000, 8_000)), (RACING, range(400, 4_401, 400))],
    ids=["LaserTag", "MultiCarRacing"],
)
def test_copies_join_when_the_paper_says(schedule, expected):
    updates = jnp.arange(schedule.total_updates + 1)
    when = np.flatnonzero(jax.vmap(lambda u: joins(schedule, u))(updates))
    assert when.tolist() == list(expected)
    assert population_size(schedule) == len(when) == {8_000: 5, 400: 11}[schedule.interval]


def test_on_a_single_level_maestro_is_a_regret_weighted_pfsp():
    config = CurriculumConfig(member_buffer_size=4, playlist=2)
    teacher = Teacher(config, METHODS["maestro"], lambda key: jnp.int32(7), 3, 3, num_levels=1)
    state = curriculum.init(teacher, jnp.zeros(1))
    for _ in range(3):
        state = curriculum.join(state, jnp.zeros(1), jnp.bool_(True))
    games = [(1, 0.2, 0.5), (2, 0.8, 1.0), (3, -0.1, 0.0), (1, 0.9, 0.5), (1, 0.3, 0.5)]
    for slot, score, result in games:  # member, regret, share won
        replay = bool(WARM(teacher, state)[slot])
        task = ASK(jax.random.key(slot), teacher, state, jnp.int32(slot), new=True, replay=replay)
        assert (np.asarray(task.levels) == 7).all()
        once = jnp.ones(task.levels.shape, jnp.int32)
        played = Played(jnp.full(once.shape, score), once, jnp.ones(once.shape), once > 0)
        state = TELL(teacher, state, task, played, jnp.full((1, once.shape[1]), result))
        assert int(state.buffers.size[slot]) == 1 and bool(WARM(teacher, state)[slot])
    np.testing.assert_allclose(state.buffers.score[1:, 0], [0.3, 0.8, -0.1], rtol=1e-6)
    floor = config.exploration / 3
    np.testing.assert_allclose(WEIGHTS(teacher, state), [0, floor, 1 - 2 * floor, floor], rtol=1e-5)
    by_win_rate = WEIGHTS(replace(teacher, method=METHODS["maestro-p"]), state)
    assert int(jnp.argmax(by_win_rate)) == 3  # whom PFSP prefers: not the member of most regret
