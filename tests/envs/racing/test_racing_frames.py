"""All frames of a decision by one kernel, run on a CPU by an emulated GPU, are those of the portable form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import frames, kernel
from maestro.envs.racing.game import Ground, Progress, Racing, controls
from maestro.envs.racing.levels import REPEAT, Level
from oracles import racing_kernel
from oracles.racing_situations import situations


def emulated(inputs, tiles, facts):
    """`kernel.frames`, by the emulator."""
    shapes = ((2, 28), np.float32), ((2, 4), bool), ((2, tiles), bool), ((4,), np.int32), ((5, 2), np.float32)
    order = [facts[name] for name in ("facts", "body", "rules", "shapes")]

    def run(*arrays):
        batch = arrays[8].shape
        results = [np.zeros((*batch, *shape), kind) for shape, kind in shapes]
        return tuple(racing_kernel.run("frames", arrays, results, int(np.prod(batch)), tiles, *order))

    results = tuple(jax.ShapeDtypeStruct(shape, kind) for shape, kind in shapes)
    return jax.pure_callback(run, results, *inputs, vmap_method="broadcast_all")


def decision(env, level, state, actions, first):
    """The progress of one decision."""
    none = jnp.zeros(2)
    start = Progress(state, jnp.bool_(False), none, none, none, none, none)
    return env.played(Ground.of(level), start, controls(actions), first)


@pytest.fixture
def by_kernel(monkeypatch):
    """The decision of many games by the kernel."""

    def run(env, *games):
        with monkeypatch.context() as patch:
            patch.setattr(kernel, "frames", emulated)
            patch.setattr(frames, "held", lambda tiles: True)
            return jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda *one: decision(env, *one)))(*games))

    return run


@pytest.fixture(scope="module")
def portable():
    """The decision of many games by the portable form."""
    forms = {}

    def run(env, *games):
        form = forms.setdefault(env, jax.jit(jax.vmap(lambda *one: decision(env, *one))))
        return jax.tree.map(np.asarray, form(*games))

    return run


def blurred(games, seed):
    """The same games, their cars off by what rounding could do."""
    generator = np.random.default_rng(seed)

    def off(x):
        return x * jnp.asarray(1 + generator.normal(0, 1e-6, x.shape), jnp.float32)

    level, state, *rest = games
    return level, state.replace(cars=jax.tree.map(off, state.cars)), *rest


def events(end):
    """Everything of a progress that is exact, a row for each game."""
    state = end.state
    exact = state.touching, state.visited, state.frame, state.astray, end.over, end.grass, end.backwards
    return np.concatenate([part.reshape(len(end.over), -1) for part in exact], axis=1)


def motion(end):
    """Where each game's cars are and how they move, in units in which a decision changes them by about 1."""
    cars = end.state.cars
    parts = (
        *(cars.position, cars.heading, cars.heading_before, cars.velocity / 10, cars.spin, cars.steer),
        *(cars.steer_rate, cars.omega / 10, cars.gas, cars.phase, cars.windup),
    )
    return np.concatenate([part.reshape(len(end.over), -1) for part in parts], axis=1)


def gains(end):
    """What the cars have won."""
    return np.concatenate([end.reward, end.score, end.tiles], axis=1)


def apart(games):
    """Games whose cars are so far apart that they cannot meet within a decision."""
    place = np.asarray(games[1].cars.position)
    return np.linalg.norm(place[:, 0] - place[:, 1], axis=1) > 40


def same(mine, end, nearby, free):
    """Assert that one decision is another one, except where blurs of the other one are not."""
    steady = np.all([(events(one) == events(end)).all(axis=1) for one in nearby], axis=0)
    assert steady.mean() > 0.93
    np.testing.assert_array_equal(events(mine)[steady], events(end)[steady])
    np.testing.assert_allclose(gains(mine)[steady], gains(end)[steady], atol=1e-4)
    off, *blurs = (np.abs(motion(one) - motion(end)).max(axis=1) for one in (mine, *nearby))
    assert off[free].max() < 1e-4
    # Cars thrown into each other have up to a dozen contacts, and rounding can decide which of them press.
    calm = steady & (np.max(blurs, axis=0) < 1e-3)
    assert calm.mean() > 0.6 and off[calm].max() < 2e-3
    assert np.quantile(off, 0.9) < 1e-3


def test_a_decision_is_that_of_the_portable_form(by_kernel, portable):
    env, games = Racing(), situations(300, 3)
    mine, end = by_kernel(env, *games), portable(env, *games)
    same(mine, end, [portable(env, *blurred(games, seed)) for seed in range(6)], apart(games))
    level, before = games[:2]
    frames_played = end.state.frame - np.asarray(before.frame)
    assert set(frames_played) == set(range(9))  # all of them, or any number until an end
    lost = end.score.min(axis=1) < -90
    lap, astray = end.state.visited.any(axis=1).all(axis=1), end.state.astray[:, 0] >= env.most_astray
    assert end.over.sum() > 20 and (lost | lap | astray)[end.over].all()
    assert lost.any() and lap.any() and astray.any()
    assert ((end.state.frame == np.asarray(level.frames)) & ~end.over).sum() > 20
    new = end.state.visited & ~np.asarray(before.visited)
    tied = (new.all(axis=1).sum(axis=1) > 0) & (frames_played > 0)
    assert tied[games[3]].sum() > 5 and tied[~np.asarray(games[3])].sum() > 5
    curb = ~end.state.touching[:, 0].any(axis=1) & (
        end.grass[:, 0] < frames_played
    )  # grip of grass, but no grass
    assert curb.any() and 0.1 < end.state.touching.mean() < 0.9 and end.backwards.any() and end.grass.any()


@pytest.mark.long
def test_decisions_in_a_row_are_those_of_the_portable_form(by_kernel, portable):
    env, games = Racing(), situations(48, 4)
    level, state, actions, first = games
    state = state.replace(frame=state.frame % 50, astray=jnp.zeros_like(state.astray))
    forms = [(by_kernel, state)] + [(portable, blurred((level, state), seed)[1]) for seed in range(6)]
    for turn in range(4):
        ends = [form(env, level, now, jnp.roll(actions, turn, axis=0), first) for form, now in forms]
        forms = [(form, end.state) for (form, _), end in zip(forms, ends, strict=True)]
    mine, end, *nearby = ends
    steady = np.all([(events(one) == events(end)).all(axis=1) for one in nearby], axis=0)
    np.testing.assert_array_equal(events(mine)[steady], events(end)[steady])
    off, *blurs = (np.abs(motion(one) - motion(end)).max(axis=1) for one in (mine, *nearby))
    calm = steady & (np.max(blurs, axis=0) < 0.01)
    assert calm.sum() > 20 and off[calm].max() < 0.01
    assert (end.state.frame - np.asarray(state.frame) == 32).mean() > 0.5


@pytest.mark.long
def test_a_game_that_is_judged_has_no_shaping_and_no_early_end(by_kernel):
    end = by_kernel(Racing().judged(), *situations(24, 6))
    lost, lap = end.score.min(axis=1) < -90, end.state.visited.any(axis=1).all(axis=1)
    assert (end.state.astray[:, 0] >= 100).any() and end.grass.any() and end.backwards.any()
    np.testing.assert_array_equal(end.over, lost | lap)
    np.testing.assert_array_equal(end.reward, end.score)


@pytest.mark.long
@pytest.mark.parametrize("tiles", [33, 1000])
def test_a_track_may_have_any_number_of_tiles_for_which_there_is_memory(tiles, by_kernel):
    angle = jnp.linspace(0, 2 * jnp.pi, tiles, endpoint=False)
    center = 60 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
    level = Level(center, jnp.float32(100), jnp.int32(1000))
    state = jax.jit(Racing().reset)(jax.random.key(0), level)[0].replace(seen=())
    state = state.replace(cars=state.cars.replace(velocity=jnp.array([[0.0, 40.0], [0.0, 35.0]])))
    games = jax.tree.map(lambda x: x[None], (level, state, jnp.full((2, 3), 0.5), jnp.bool_(True)))
    end = jax.jit(jax.vmap(lambda *one: decision(Racing(), *one)))(*games)
    mine = by_kernel(Racing(), *games)
    np.testing.assert_array_equal(events(mine), events(jax.tree.map(np.asarray, end)))
    assert mine.state.visited.any() and not mine.state.visited.all()


def test_a_step_on_a_gpu_has_no_loop_but_one_kernel_for_all_frames(monkeypatch):
    env, key = Racing(), jax.random.key(0)
    level = jax.eval_shape(env.sample_level, key)
    inputs = key, level, jax.eval_shape(env.reset, key, level)[0], jnp.ones((2, 3))
    games = jax.tree.map(lambda x: jax.ShapeDtypeStruct((3, *x.shape), x.dtype), inputs)
    monkeypatch.setattr(kernel, "usable", lambda: True)
    step = jax.jit(jax.vmap(env.step)).trace(*games).lower(lowering_platforms=("cuda",)).as_text()
    assert step.count("@maestro_racing_frames") == 1 and "stablehlo.while" not in step
    assert "tensor<3x2x28xf32>" in step and f"tensor<{len(frames.SHAPES)}xf32>" in step


def test_a_track_of_too_many_tiles_or_a_wish_for_the_portable_form_leaves_the_kernel_out(monkeypatch):
    monkeypatch.setattr(kernel, "usable", lambda: True)
    assert frames.held(frames.MOST_TILES) and not frames.held(frames.MOST_TILES + 1)
    monkeypatch.setattr(kernel, "usable", lambda: False)
    assert not frames.held(5)


def test_cars_survive_being_packed():
    cars = situations(1, 0)[1].cars
    cars = jax.tree.map(lambda x: x[0], cars)
    numbers = frames.packed(cars)
    assert len(np.unique(numbers)) > 40
    jax.tree.map(np.testing.assert_array_equal, frames.unpacked(numbers, cars), cars)


def test_the_kernel_expects_as_many_numbers_as_it_is_given():
    sizes = [racing_kernel.library().sizes(which) for which in range(7)]
    given = len(kernel.FACTS), len(frames.BODY), 6, len(frames.SHAPES), frames.MOST_TILES, 28, REPEAT
    assert sizes == list(given) and sum(frames.FIELDS.values()) == 28
