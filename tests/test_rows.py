"""Small arrays side by side in rows: they come back bit for bit, and a rollout's loop has few of them."""

import jax
import jax.numpy as jnp
import numpy as np

from maestro import rows
from maestro.agents.conv_lstm import ConvLSTM
from maestro.envs.lasertag.game import LaserTag
from maestro.rollout import rollout

LEAD = (3, 4)
DTYPES = ("bool", "int8", "uint8", "int16", "bfloat16", "float16", "int32", "uint32", "float32")


def any_bits(dtype: str, *shape: int) -> jax.Array:
    """Numbers of any bits: NaNs, infinities and -0 too."""
    dice = np.random.default_rng(0)
    if dtype == "bool":
        return jnp.asarray(dice.integers(0, 2, (*LEAD, *shape)) > 0)
    width = jnp.dtype(dtype).itemsize
    words = jnp.asarray(dice.integers(0, 2 ** (8 * width), (*LEAD, *shape)), f"uint{8 * width}")
    return jax.lax.bitcast_convert_type(words, dtype)


def tree():
    shapes = [(), (5,), (2, 3), (1, 0), (7,), (3, 1), (), (2, 2), (4,)]
    small = {dtype: any_bits(dtype, *shape) for dtype, shape in zip(DTYPES, shapes, strict=True)}
    return {**small, "picture": any_bits("uint8", 40, 40), "key": jax.random.split(jax.random.key(0), LEAD)}


def bits(leaf: jax.Array) -> tuple:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return leaf.dtype, leaf.shape, np.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes()


def test_a_tree_comes_back_from_its_rows_bit_for_bit():
    for axes in (1, 2):
        found = rows.pack(tree(), axes, 1000).tree
        assert jax.tree.map(bits, found) == jax.tree.map(bits, tree())


def test_each_width_of_numbers_is_one_array_and_what_is_large_stays_apart():
    packed = rows.pack(tree(), 2, 1000)
    assert {width: row.shape for width, row in packed.packed.items()} == {
        1: (*LEAD, 1 + 5 + 6),
        2: (*LEAD, 7 + 3),
        4: (*LEAD, 1 + 4 + 4),
    }
    assert sorted(leaf.shape for leaf in packed.apart) == [LEAD, (*LEAD, 1, 0), (*LEAD, 40, 40)]
    assert not rows.pack(tree(), 2, 0).packed


def test_rows_of_many_steps_are_trees_of_many_steps():
    def step(carry, _):
        time, kind = carry.tree
        return rows.pack((time + 1, ~kind), 1, 100), carry

    start = rows.pack((jnp.arange(3), jnp.array([True, False, True])), 1, 100)
    _, found = jax.lax.scan(step, start, length=4)
    time, kind = found.tree
    np.testing.assert_array_equal(time, np.arange(4)[:, None] + np.arange(3))
    np.testing.assert_array_equal(kind[:2], [[True, False, True], [False, True, False]])


def test_the_loop_of_a_rollout_carries_and_records_few_arrays():
    """Bytes, words and the LSTM's two; the game alone has 15, and what is recorded 9."""
    env, agent = LaserTag(), ConvLSTM(hidden=8, heads=(4,))
    fresh = lambda key, number, finished: env.sample_level(key)  # noqa: E731

    def play(key):
        return rollout(key, env, agent, (agent.init(key), agent.init(key)), fresh, 4, 37)

    scans = [e for e in jax.make_jaxpr(play)(jax.random.key(0)).eqns if e.params.get("length") == 37]
    assert [(e.params["num_carry"], len(e.outvars)) for e in scans] == [(4, 8)]
