"""Traced programs that are kept: the same results, and never those of something else."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort, native
from maestro.config import PPOConfig
from maestro.games.lasertag import GAME as LASERTAG
from maestro.games.racing import GAME as RACING
from maestro.methods import PAPER_METHODS
from maestro.metrics import Metrics
from maestro.runs import beginning, build, place, programs
from maestro.trees import is_key
from probes import experiment, start, with_changes

LIMITS = np.int32(0), np.int32(0)
WHAT = PPOConfig()
STATE = {"x": jnp.arange(3.0), "key": jax.random.key(1)}


@pytest.fixture
def result(tmp_path):
    """What a program comes to, compiled anew or from what is kept; tells how often it was traced."""

    def of(adding, what=WHAT, state=STATE, folder=tmp_path):
        chunk = programs.compiled(folder, what, adding, state, *LIMITS)
        after, told = chunk(state, np.int32(5), np.int32(7))
        np.testing.assert_array_equal(after["x"], np.asarray(state["x"]) + 5)
        assert after["key"] == state["key"] and int(told["two"]) == 14
        return adding.traced

    return of


class Adding:
    """A program that counts how often it was traced."""

    def __init__(self):
        self.traced = 0

    def __call__(self, state, one, two):
        self.traced += 1
        return {**state, "x": state["x"] + one}, {"two": two * 2}


def test_what_is_kept_is_not_traced_again(result):
    adding = Adding()
    assert result(adding) == 1
    assert result(Adding()) == 0
    assert result(adding) == 1


@pytest.mark.parametrize("change", ["settings", "shape", "dtype", "form", "code", "jax", "version"])
def test_what_differs_is_traced_anew(change, result, monkeypatch, setting):
    adding, what, state = Adding(), WHAT, STATE
    result(adding)
    if change == "settings":
        what = replace(what, gamma=0.5)
    elif change == "shape":
        state = {**STATE, "x": jnp.arange(4.0)}
    elif change == "dtype":
        state = {**STATE, "x": jnp.arange(3)}
    elif change == "form":
        monkeypatch.setenv("MAESTRO_LSTM", "portable")
    elif change == "code":
        monkeypatch.setattr(programs, "code", lambda: "other")
    elif change == "jax":
        setting("jax_default_matmul_precision", "highest")
    else:
        monkeypatch.setattr(programs, "version", lambda name: "0")
    assert result(adding, what, state) == 2


@pytest.fixture
def setting():
    """Changes a setting of JAX until the end of a test."""
    before = {}

    def change(name, value):
        before.setdefault(name, jax.config.values[name])
        jax.config.update(name, value)

    yield change
    for name, value in before.items():
        jax.config.update(name, value)


def test_settings_by_which_nothing_is_computed_do_not_matter(setting):
    name = programs.name_of(WHAT, STATE)
    setting("jax_log_compiles", True)
    setting("jax_traceback_filtering", "off")
    assert programs.name_of(WHAT, STATE) == name


@pytest.mark.parametrize("damage", [lambda kept: kept[:-1], lambda kept: b"", lambda kept: flipped(kept)])
def test_a_damaged_file_is_as_good_as_none(result, tmp_path, damage):
    result(Adding())
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert result(Adding()) == 1
    assert path.stat().st_size == len(whole) and result(Adding()) == 0


def flipped(kept):
    """The same with one bit turned."""
    place = len(kept) // 2
    return kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :]


def test_where_nothing_can_be_written_it_is_traced_each_time(result, tmp_path):
    for _ in range(2):
        assert result(Adding(), folder=tmp_path / "gone") == 1


def test_of_many_files_the_oldest_go(result, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "MOST", 2)
    for gamma in (0.1, 0.2, 0.3):
        result(Adding(), PPOConfig(gamma=gamma))
    assert len(list(tmp_path.iterdir())) == 2
    assert result(Adding(), PPOConfig(gamma=0.3)) == 0 and result(Adding(), PPOConfig(gamma=0.1)) == 1


def test_cycles_from_a_kept_program_are_those_of_one_just_traced(tmp_path):
    run = with_changes(seeds=2)
    exp = experiment(run)
    steps, state = partial(cohort.train_steps, exp, 4), start(exp, 3, 2)
    plain = jax.jit(steps)(state, np.int32(9), np.int32(4))
    for _ in range(2):  # traced, and from the file
        found = programs.compiled(tmp_path, run.ppo, steps, state, *LIMITS)(state, np.int32(9), np.int32(4))
        assert isinstance(found[1], Metrics) and jax.tree.structure(found) == jax.tree.structure(plain)
        for a, b in zip(*map(jax.tree.leaves, (plain, found)), strict=True):
            if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
                a, b = jax.random.key_data(a), jax.random.key_data(b)
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("game", [LASERTAG, RACING], ids=lambda game: game.name)
def test_every_method_of_a_game_of_ours_has_a_name_of_its_own(game):
    tiny, names = game.presets["tiny"], []
    for method in PAPER_METHODS:
        config = replace(tiny, method=method)
        names.append(programs.name_of(build.experiment(game, config), STATE))
    assert len(set(names)) == len(PAPER_METHODS)
    other = build.experiment(game, replace(tiny, seed=5))
    assert programs.name_of(other, STATE) == names[list(PAPER_METHODS).index(tiny.method)], (
        "the seed is an argument"
    )


@pytest.fixture
def own_cache(tmp_path, monkeypatch, setting):
    """As the command line has it: compiled programs go into the package's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    setting("jax_compilation_cache_dir", str(tmp_path / "maestro" / "jax"))
    return tmp_path / "maestro" / "programs"


def test_they_are_kept_beside_what_is_compiled_if_that_is_the_packages_own_cache(own_cache, setting):
    assert programs.folder() == own_cache and own_cache.stat().st_mode & 0o777 == 0o700
    own_cache.chmod(0o777)
    assert programs.folder() is None, "others can write there"
    own_cache.chmod(0o700)
    setting("jax_compilation_cache_dir", str(own_cache))
    assert programs.folder() is None, "somebody has said where"


def test_what_is_not_ours_is_not_kept(own_cache, monkeypatch):
    monkeypatch.setattr(cohort, "LENGTH", 1)
    exp = experiment(with_changes(seeds=1))
    with pytest.raises(programs.Foreign, match="probes"):
        programs.name_of(exp, STATE)
    state = start(exp, 0, 1)
    assert place.compiled(None, exp, state)(state, *LIMITS)[0].cycles == 0
    assert not list(own_cache.iterdir())
    level = replace(LASERTAG.presets["tiny"], level="FourRooms")
    with pytest.raises(programs.Foreign, match="lambda"):
        programs.name_of(build.experiment(LASERTAG, level), STATE)


def unknown(state, *limits):
    """A program that calls a kernel of its own."""
    shape = jax.ShapeDtypeStruct(state["x"].shape, state["x"].dtype)
    return {**state, "x": jax.ffi.ffi_call("of_somebody_else", shape)(state["x"])}, {}


def test_what_jax_does_not_export_is_foreign(tmp_path):
    with pytest.raises(programs.Foreign, match="of_somebody_else"):
        programs.kept(tmp_path, (WHAT, (STATE, LIMITS)), jax.jit(unknown), STATE, *LIMITS)


def test_kernels_of_this_package_are_part_of_a_program_and_of_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "REGISTERED", [])
    kernels = native.Library(tmp_path / "some.cu", "90a", (("of_somebody_else", "Symbol"),))
    names = [programs.name_of(WHAT, (STATE, LIMITS))]

    def with_kernels(state, *limits):
        if kernels not in native.REGISTERED:  # as racing does where it first draws a picture
            native.REGISTERED.append(kernels)
        return unknown(state, *limits)

    native.REGISTERED.append(kernels)
    names.append(programs.name_of(WHAT, (STATE, LIMITS)))
    assert names[0] != names[1]
    for known in ([], [kernels]):
        monkeypatch.setattr(native, "REGISTERED", known)
        with pytest.raises(Exception, match="of_somebody_else"):  # XLA has no such kernel on a CPU
            programs.compiled(tmp_path, WHAT, with_kernels, STATE, *LIMITS)
        assert [path.stem for path in tmp_path.glob("*.program")] == [names[1]]
    (path,) = tmp_path.glob("*.program")
    assert "of_somebody_else" in programs.read(path).mlir_module()


def test_a_run_uses_them(own_cache, monkeypatch):
    asked = []
    monkeypatch.setattr(programs, "compiled", lambda *arguments, **_: asked.append(arguments[:2]))
    exp = build.experiment(LASERTAG, LASERTAG.presets["tiny"])
    place.compiled(None, exp, jax.eval_shape(lambda: cohort.init(exp, 0, 1)))
    assert asked == [(own_cache, exp)]


def test_the_first_states_of_all_seeds_are_made_by_one_program(own_cache, monkeypatch):
    exp = build.experiment(
        LASERTAG, with_changes(LASERTAG.presets["tiny"], agent={"hidden": 8, "filters": 4})
    )
    like = jax.eval_shape(lambda: cohort.init(exp, 0, 2))
    for seed in (0, 7, 2**31 - 10_002):
        wanted = jax.jit(lambda seed=seed: cohort.init(exp, seed, 2))()
        found = beginning.fresh(exp, seed, like).result()
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert one.dtype == other.dtype
            pair = [jax.random.key_data(x) if is_key(x) else x for x in (one, other)]
            np.testing.assert_array_equal(*pair)
        monkeypatch.setattr(programs, "exported", None)  # it is there now
    assert len(list(own_cache.iterdir())) == 1
    with pytest.raises(TypeError, match="NoneType"):
        beginning.fresh(exp, 0, jax.eval_shape(lambda: cohort.init(exp, 0, 1)))


@pytest.mark.parametrize("score", ["max_mc", "mean_mc", "learnability"])
def test_a_first_state_is_typed_as_all_later_ones_so_that_nothing_is_compiled_twice(score):
    exp = experiment(with_changes(seeds=1, curriculum={"score": score}))
    first = jax.eval_shape(lambda: cohort.init(exp, 0, 1))
    later = jax.eval_shape(partial(cohort.train_steps, exp, 2), first, *LIMITS)[0]
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(later), strict=True):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, False)
