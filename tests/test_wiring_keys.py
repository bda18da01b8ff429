"""Cycles through the real wiring: each seed has its own student, and every purpose a key of its own."""

import jax
import jax.numpy as jnp
import pytest

from ledger import (
    VALUE,
    certain,
    crafted,
    equal,
    experiment,
)
from maestro import cohort, curriculum, ppo, train
from maestro.curriculum import coplayers, levels
from probes import QUICK, record, start

CYCLES = 3
KEYS = {  # who is given a key, and where callers find it
    "choose": (curriculum, coplayers),
    "ask": (curriculum,),
    "ask_new": (levels,),
    "ask_replay": (levels,),
    "rollout": (train,),
    "update": (ppo,),
}


def two_students(exp):
    """Two seeds whose students take actions 2 and 0; the only member takes action 1."""
    one = crafted(exp)
    population = one.curriculum.population.replace(size=jnp.int32(1))
    one = one.replace(curriculum=one.curriculum.replace(population=population))
    both = jax.tree.map(lambda x: jnp.stack([x, x]), one)
    students = jax.tree.map(lambda *x: jnp.stack(x), certain(2, VALUE), certain(0, VALUE))
    both = both.replace(
        learner=both.learner.replace(params=students), key=jax.random.split(jax.random.key(8), 2)
    )
    return cohort.Cohort(both, jax.random.key(9), jnp.int32(0), jnp.int32(0))


@pytest.fixture(scope="module")
def two_seeds():
    """(states, metrics, the keys of each function) of a few cycles by `cohort.train_step` itself."""
    exp, keys = experiment(kind="parallel"), {name: [] for name in KEYS}
    with pytest.MonkeyPatch.context() as patch:
        for name, modules in KEYS.items():
            real = getattr(modules[0], name)
            for module in modules:
                patch.setattr(module, name, listening(keys[name], real))
        states, metrics, _ = record(exp, jax.jit(lambda: two_students(exp), compiler_options=QUICK)(), CYCLES)
    return states, metrics, keys


def listening(keys, real):
    """The function itself; the keys that it is given are noted when it really happens."""

    def call(key, *arguments, **more):
        jax.debug.callback(lambda words: keys.append(tuple(words.tolist())), jax.random.key_data(key))
        return real(key, *arguments, **more)

    return call


def test_each_seed_of_a_cohort_has_its_own_student_and_its_own_results(two_seeds) -> None:
    (_, after, *_), (metrics, *_), _ = two_seeds
    assert metrics.trained.all() and after.updates == after.cycles == 1
    assert (metrics.won.tolist(), metrics.lost.tolist()) == ([1, 0], [0, 1])
    assert after.seeds.curriculum.population.results[:, 1, 0].tolist() == [1, 0]
    assert metrics.win_rate[:, 1].tolist() == [1, 0]


def test_no_key_serves_two_purposes_two_seeds_or_two_cycles(two_seeds) -> None:
    """Only the co-player is chosen twice by one key: to decide on the replay, and to play."""
    states, _, keys = two_seeds
    assert states[-1].updates == CYCLES
    times = {name: len(found) for name, found in keys.items()}
    assert times == {name: CYCLES * 2 * (2 if name == "choose" else 1) for name in KEYS}
    assert all(len(set(found)) == CYCLES * 2 for found in keys.values())
    assert len(set().union(*keys.values())) == CYCLES * 2 * len(KEYS)


def test_the_keys_of_seeds_of_the_coin_and_of_first_parameters_are_all_different() -> None:
    """A seed's key depends on the seed alone, wherever it stands in a cohort."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo, "init", listening(seen, ppo.init))
        state = start(experiment(), 3, 2)
        jax.effects_barrier()
    keys = [tuple(key.tolist()) for key in jax.random.key_data(jnp.append(state.seeds.key, state.key))]
    assert len(seen) == 2 and len({*keys, *seen}) == 5
    again = start(experiment(), 4, 1)
    assert jax.random.key_data(again.seeds.key[0]).tolist() == list(keys[1])
    assert equal(
        *(jax.tree.map(lambda x, i=i: x[i], s.seeds.learner.params) for s, i in ((state, 1), (again, 0)))
    )
