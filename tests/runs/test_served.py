"""A sample of what the teacher serves: drawn by its rules, the same in a run that was killed, harmless."""

import shutil
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort, level_buffer
from maestro.envs.lasertag.game import LaserTag
from maestro.runs import served, trainer
from maestro.runs.folder import RunError, RunFolder
from probes import Level, Race
from runs_helpers import KEPT, Killed, QuickTrainer, experiment, kept, micro, new_folder, newest, quick_start

MANY = {"evaluation": {"keep_levels": 4096}}
SCORES = np.array([[9.0, 9.0, 9.0, 9.0], [1.0, 3.0, 2.0, 0.0], [5.0, 4.0, 3.0, 2.0], [8.0, 8.0, 8.0, 8.0]])
SIZES = np.array([4, 4, 2, 0])  # of the buffers; a quarter makes one warm


def taught(config, sizes=SIZES, members=3):
    """A state whose buffers hold levels that are numbered by slot of co-player and slot of level."""
    state = quick_start(config)()
    teacher = state.seeds.curriculum
    numbers = jnp.arange(16).reshape(4, 4)
    twice = lambda x: jnp.stack([jnp.asarray(x)] * 2)  # noqa: E731  two seeds
    buffers = teacher.buffers.replace(
        levels=Level(twice(numbers), twice(numbers + 100)),
        score=twice(jnp.where(jnp.arange(4)[None, :] < sizes[:, None], SCORES, -jnp.inf)),
        size=twice(sizes),
        clock=twice(jnp.full(4, 10)),
    )
    population = teacher.population.replace(size=twice(jnp.int32(members)))
    teacher = teacher.replace(buffers=buffers, population=population)
    return state.replace(seeds=state.seeds.replace(curriculum=teacher))


def shares(values, count):
    """How often each number occurs."""
    return np.bincount(values.ravel(), minlength=count) / values.size


def test_pairs_are_drawn_by_the_rule_among_warm_buffers_and_by_replay_probability():
    config = micro("maestro-r", **MANY)
    exp, state = experiment(config), taught(config)
    sample = served.sample(config, exp, state)
    np.testing.assert_allclose(shares(sample.coplayer, 4), [0, 1 / 2, 1 / 2, 0], atol=0.02)  # uniform, warm
    assert sample.replayed.all()
    slot = sample.levels.number % 4
    np.testing.assert_array_equal(sample.levels.number // 4, sample.coplayer)
    np.testing.assert_array_equal(sample.levels.time_limit, sample.levels.number + 100)
    np.testing.assert_array_equal(sample.score, SCORES[sample.coplayer, slot])
    for member in (1, 2):
        buffer = jax.tree.map(lambda x, m=member: x[0, m], state.seeds.curriculum.buffers)
        chances = level_buffer.priorities(config.curriculum, buffer)
        np.testing.assert_allclose(shares(slot[sample.coplayer == member], 4), chances, atol=0.03)


def test_the_books_of_the_teacher_are_part_of_a_sample():
    config = micro("maestro-r", **MANY)
    sample = served.sample(config, experiment(config), taught(config))
    np.testing.assert_array_equal(sample.members, [3, 3])
    np.testing.assert_allclose(sample.weights, [[0, 1 / 3, 1 / 3, 1 / 3]] * 2, rtol=1e-6)
    np.testing.assert_array_equal(sample.fill, [[1, 1, 0.5, 0]] * 2)
    assert np.isnan(sample.win_rate).all() and np.isnan(sample.scores[:, 3]).all()
    np.testing.assert_allclose(sample.scores[0, 1], np.quantile(SCORES[1], np.linspace(0, 1, 9)))
    np.testing.assert_allclose(sample.scores[1, 2], np.quantile(SCORES[2, :2], np.linspace(0, 1, 9)))


def test_seeds_and_moments_have_dice_of_their_own():
    config = micro("maestro-r", **MANY)
    state = taught(config)
    first = served.sample(config, experiment(config), state).levels.number
    later = served.sample(config, experiment(config), state.replace(updates=jnp.int32(1))).levels.number
    for a, b in ((first[0], first[1]), (first[0], later[0])):
        assert (a != b).mean() > 0.5


def test_a_sample_is_what_each_seeds_own_dice_draw_to_the_bit():
    config = micro("maestro-r", seed=7, **MANY)
    exp, state = experiment(config), taught(config).replace(updates=jnp.int32(3))
    own = [jax.random.fold_in(jax.random.key(number), served.OWN) for number in (7, 8)]
    keys = jax.vmap(lambda key: jax.random.fold_in(key, 3))(jnp.stack(own))
    draw = jax.jit(jax.vmap(lambda key, known: served.draw_seed(key, exp.teacher, 4096, known)))
    expected, sample = draw(keys, state.seeds.curriculum), served.sample(config, exp, state)
    assert jax.tree.structure(sample) == jax.tree.structure(expected)
    same = jax.tree.map(
        lambda a, b: a.dtype == b.dtype and a.tobytes() == np.asarray(b).tobytes(), sample, expected
    )
    assert all(jax.tree.leaves(same))


def test_what_draws_samples_is_made_but_once_and_may_be_begun_by_shapes_alone():
    config = micro("maestro", evaluation={"keep_levels": 3})
    state = taught(config)
    begun = served.begin(config, experiment(config), jax.eval_shape(lambda: state))
    assert served.begin(config, experiment(config), state) is begun
    assert served.sample(config, experiment(config), state).levels.number.shape == (2, 3)


def test_before_any_buffer_is_warm_new_levels_are_served_against_whom_the_rule_says():
    config = micro("maestro-r", **MANY)
    sample = served.sample(config, experiment(config), taught(config, np.array([4, 0, 0, 0])))
    assert not sample.replayed.any() and np.isnan(sample.score).all()
    np.testing.assert_allclose(shares(sample.coplayer, 4), [0, 1 / 3, 1 / 3, 1 / 3], atol=0.02)
    assert shares(sample.levels.number, 48).min() > 0.01  # all that the generator makes


def test_a_method_without_buffers_serves_new_levels():
    config = micro("dr-fsp", **MANY)
    sample = served.sample(config, experiment(config), quick_start(config)())
    assert not sample.replayed.any() and np.isnan(sample.score).all() and (sample.coplayer == 1).all()
    assert sample.fill.shape == (2, 0) and shares(sample.levels.number, 48).min() > 0.01


def test_a_shared_buffer_is_drawn_from_whoever_is_met():
    config = micro("plr-fsp", **MANY)
    state = quick_start(config)()
    teacher = state.seeds.curriculum
    levels = jax.tree.map(lambda x: x.at[:, :, :2].set(7), teacher.buffers.levels)
    score = jnp.full_like(teacher.buffers.score, 0.5)
    buffers = teacher.buffers.replace(levels=levels, size=jnp.full((2, 1), 2), score=score)
    state = state.replace(seeds=state.seeds.replace(curriculum=teacher.replace(buffers=buffers)))
    sample = served.sample(config, experiment(config), state)
    assert sample.replayed.all() and (sample.levels.number == 7).all() and (sample.score == 0.5).all()
    np.testing.assert_array_equal(sample.fill, [[0.25]] * 2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(settings, folder, last state) of a run that tosses a coin, so that updates take several cycles."""
    config = micro("maestro", evaluation=KEPT)
    folder = new_folder(tmp_path_factory.mktemp("whole") / "run", config)
    return config, folder, QuickTrainer(folder, config).run()


def test_levels_are_kept_at_the_start_at_each_evaluation_and_at_the_end(whole):
    config, folder, state = whole
    assert served.points(folder) == [0, 4, 8]
    loaded, now = served.load(folder, Race(), 8), served.sample(config, experiment(config), state)
    same = jax.tree.map(lambda a, b: a.dtype == b.dtype and a.tobytes() == b.tobytes(), loaded, now)
    assert all(jax.tree.leaves(same)) and loaded.levels.number.shape == (2, 5)
    assert loaded.replayed.all() and not served.load(folder, Race(), 0).replayed.any()


def test_without_evaluations_levels_are_kept_at_the_start_and_at_the_end(tmp_path):
    config = micro("dr-fsp", evaluation={"times": 0, "keep_levels": 2})
    folder = new_folder(tmp_path / "run", config)
    QuickTrainer(folder, config).run()
    assert served.points(folder) == [0, 8] and not folder.milestones.exists()


def test_keeping_changes_nothing_in_training(whole, tmp_path):
    config = micro("maestro")
    folder = new_folder(tmp_path / "run", config)
    QuickTrainer(folder, config).run()
    assert newest(folder.path) == newest(whole[1].path)


class KilledOften(QuickTrainer):
    """Abandoned after a few cycles, wherever it is."""

    def __init__(self, *of_run):
        super().__init__(*of_run)
        self.began = int(self.state.cycles)

    def pause(self):
        super().pause()
        if int(self.state.cycles) == self.began + 2:
            self.checkpointer.thread.shutdown()
            raise Killed


def is_killed(session):
    """Whether a session ends before the run does."""
    try:
        session.run()
    except Killed:
        return True
    return False


def test_a_run_killed_within_updates_keeps_the_same_files_byte_for_byte(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", 0.0)  # one cycle
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", -1.0)  # after each
    folder, starts = new_folder(tmp_path / "run", whole[0]), set()
    while is_killed(session := KilledOften(folder, whole[0])):
        starts.add((session.began_after, session.began))
    assert len(starts) > 5 and len({updates for updates, _ in starts}) < len(starts)  # some within an update
    assert kept(folder.path) == kept(whole[1].path)
    assert newest(folder.path) == newest(whole[1].path)


def test_what_was_not_kept_is_told_with_what_was(whole):
    with pytest.raises(RunError, match=r"no levels were kept at update 5; updates with levels: 0, 4, 8$"):
        served.load(whole[1], Race(), 5)


DAMAGES = {
    "cut": lambda content: content[:-3],
    "empty": lambda content: b"",
    "of other names": lambda content: content.replace(b"time_limit", b"time_limix"),
    "without co-players": lambda content: content.replace(b'"coplayer"', b'"coplaxer"'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_sample_is_told(whole, tmp_path, damage):
    folder = RunFolder(tmp_path)
    shutil.copytree(whole[1].levels, folder.levels)
    file = served.path(folder, 4)
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(RunError, match=r"000000004.safetensors: no sample of levels: "):
        served.load(folder, Race(), 4)


def test_levels_of_another_game_are_told(whole):
    with pytest.raises(RunError, match=r"000000004.safetensors: no sample of levels: "):
        served.load(whole[1], LaserTag(), 4)


def test_a_stop_while_a_sample_is_drawn_is_made_up_for(whole, tmp_path, monkeypatch):
    """The sample is drawn where signals are heard; what is missing is drawn when the run goes on."""
    folder = new_folder(tmp_path / "run", whole[0])
    session = QuickTrainer(folder, whole[0])
    given_up = threading.Event()
    session.signals.received = 15
    with monkeypatch.context() as patch:
        patch.setattr(served, "keep", lambda *_: given_up.wait(60))
        with pytest.raises(trainer.Stopped):
            session.keep()
        given_up.set()
    assert served.points(folder) == []
    QuickTrainer(folder, whole[0]).run()
    assert kept(folder.path) == kept(whole[1].path)
