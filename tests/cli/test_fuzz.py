"""Files from strangers: whatever they hold, the answer is a value or an error that says what is wrong."""

import hashlib
import json
import struct
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import RunConfig, leaves
from maestro.envs.lasertag import maps, text
from maestro.envs.levels import LevelError
from maestro.games.lasertag import GAME
from maestro.runs import agent_file, checkpoint
from maestro.runs.agent_file import AgentError
from maestro.runs.build import configure
from maestro.runs.checkpoint import CheckpointError
from maestro.settings import SettingsError, merge
from maestro.toml import from_toml, read, to_toml
from probes import RACE
from runs_helpers import nested

TINY = GAME.presets["tiny"]

MANY = 10_000
ATTEMPTS = pytest.mark.parametrize("attempts", [150, pytest.param(MANY, marks=pytest.mark.long)])
HOSTILE = [
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r\n", b'"', b'"""', b"\\", b"\\ud800", b"=", b":", b","),
    *(b"-1", b"0", b"2", b"15", b"1e999", b"-inf", b"nan", b"NaN", b"null", b"true", b"[]", b"{}", b'""'),
    *(b"9" * 30, b"9" * 5000, b"0x" + b"f" * 5000, b"1979-05-27T07:32:00Z", b"07:32:00", b"[" * 3000),
    *(
        b'{"a":' * 3000,
        b"a." * 15,
        b"a." * 3000,
        b"x" * 5000,
        b"18446744073709551615",
        b"F64",
        b"BF16",
        b"U8",
    ),
]


def attempt(attempts, strategy, check):
    """Call `check` with so many drawn values: few are the same ones every time, many are new ones."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    same = {"derandomize": attempts < MANY, "database": None}
    settings(max_examples=attempts, deadline=None, suppress_health_check=slow, **same)(
        given(strategy)(check)
    )()


edits = st.tuples(
    st.sampled_from(["flip", "delete", "insert", "copy", "cut"]),
    st.floats(0, 1),  # where
    st.integers(1, 40),  # how much
    st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=8)),
)


def mutated(content, changes):
    """Bytes after a few edits."""
    for kind, where, length, piece in changes:
        at = int(where * len(content))
        if kind == "flip" and at < len(content):
            content = content[:at] + bytes([content[at] ^ (1 << length % 8)]) + content[at + 1 :]
        elif kind == "delete":
            content = content[:at] + content[at + length :]
        elif kind == "insert":
            content = content[:at] + piece + content[at:]
        elif kind == "copy":
            content = content[:at] + content[at : at + length] + content[at:]
        elif kind == "cut" and where > 0.2:
            content = content[:at]
    return content


mutations = st.lists(edits, min_size=1, max_size=4)

NAMES = [part for path, _, _ in leaves(TINY) for part in path.split(".")] + [
    "preset",
    "",
    "lerning_rate",
    "é\n",
]
plain = st.one_of(
    st.sampled_from([99, 999, 9999]).map(lambda digits: 16**digits),
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.dates(), st.times()),
    st.sampled_from([*NAMES, "maestro", "tiny", "first", "rank", ".", "/dev/zero", 2**63]),
)
anything = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)
GROUPS = ["ppo", "environment", "agent", "schedule", "evaluation", "curriculum"]
groups = st.dictionaries(
    st.sampled_from(GROUPS), st.dictionaries(st.sampled_from(NAMES), plain, max_size=4), max_size=4
)
changes = st.one_of(groups, st.dictionaries(st.sampled_from(NAMES), anything, max_size=6))


def resolve(preset, changes):
    """A preset of LaserTag with changes."""
    return configure(GAME, GAME.presets[preset], changes)


def settle(get):
    """A configuration that can be kept, or the errors in it."""
    try:
        config = get()
    except SettingsError as error:
        assert error.problems and all(problem.isprintable() for problem in error.problems)
        assert len(str(error)) < 100_000
    else:
        assert isinstance(config, RunConfig)
        assert resolve("paper", from_toml(to_toml(config), "here")) == config


@ATTEMPTS
def test_random_settings_are_taken_or_refused(attempts):
    attempt(attempts, changes, lambda change: settle(lambda: resolve("tiny", change)))


@ATTEMPTS
def test_random_options_are_taken_or_refused(attempts):
    name = st.one_of(
        st.sampled_from([path for path, _, _ in leaves(TINY)]),
        st.text("abcé.-_\n ", max_size=9),
        st.sampled_from(NAMES),
    )
    value = st.one_of(
        st.text(max_size=9), st.sampled_from(["1", "0.5", "nan", "-1", "true", "1,2", "9" * 5000])
    )
    options = st.lists(st.tuples(name, value), max_size=5)
    attempt(
        attempts,
        options,
        lambda pairs: settle(lambda: resolve("tiny", merge({"ppo": {"clip": 0.1}}, nested(pairs)))),
    )


def test_a_vast_size_in_a_settings_file_is_refused(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(f"[environment]\nmin_size = 0x{'f' * 5000}\n")
    with pytest.raises(SettingsError, match=r"environment\.min_size: "):
        resolve("paper", read(path))


@ATTEMPTS
def test_mutated_settings_files_are_taken_or_refused(tmp_path, attempts):
    path = tmp_path / "settings.toml"
    files = [to_toml(config).encode() for config in GAME.presets.values()]
    files.append(to_toml(replace(TINY, level=maps.TEXTS["Cross"])).encode())

    def check(drawn):
        path.write_bytes(mutated(*drawn))
        settle(lambda: resolve("paper", read(path)))

    attempt(attempts, st.tuples(st.sampled_from(files), mutations), check)


@ATTEMPTS
def test_mutated_levels_are_taken_or_refused(tmp_path, attempts):
    path = tmp_path / "level.txt"

    def check(drawn):
        path.write_bytes(mutated(drawn[0].encode(), drawn[1]))
        try:
            level = maps.LEVELS.read(path)
        except LevelError as error:
            assert str(error).startswith(f"{path}: line ")
        else:
            jax.tree.map(np.testing.assert_array_equal, text.parse(text.to_text(level)), level)

    attempt(attempts, st.tuples(st.sampled_from(list(maps.TEXTS.values())), mutations), check)


@ATTEMPTS
def test_mutated_levels_in_json_are_taken_or_refused(tmp_path, attempts):
    path = tmp_path / "level.json"
    levels = [RACE.environment().sample_level(jax.random.key(i)) for i in range(3)]
    files = [RACE.levels.to_text(level, "a name").encode() for level in levels]

    def check(drawn):
        path.write_bytes(mutated(*drawn))
        try:
            level = RACE.levels.read(path)
        except LevelError as error:
            assert str(error).startswith(f"{path}: ")
        else:
            assert RACE.levels.to_text(RACE.levels.read(path)) == RACE.levels.to_text(level)

    attempt(attempts, st.tuples(st.sampled_from(files), mutations), check)


SMALL = replace(TINY, agent=ConvLSTM(filters=1, hidden=2, heads=(1,)))


@pytest.fixture(scope="module")
def saved_agent(tmp_path_factory):
    """A small agent on disk."""
    path = tmp_path_factory.mktemp("agent") / "student.safetensors"
    agent_file.save(path, SMALL, ConvLSTM(1, 2, (1,)).init(jax.random.key(0)), {})
    return path


def forged(header, data):
    """A safetensors file with any header."""
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + data


numbers = st.sampled_from([0, 1, 2, 8, 64, -1, 2**31, 2**62, 2**64 - 1, 2**64, 0.5, None, "2", True])
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(
            ["F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "", None, 3]
        ),
        "shape": st.one_of(st.lists(numbers, max_size=3), numbers),
        "data_offsets": st.one_of(st.lists(numbers, min_size=2, max_size=2), numbers),
    }
)


def headers(names):
    """Headers of safetensors files that use the right names and little else."""
    return st.dictionaries(st.sampled_from([*names, "__metadata__", "other"]), entries, max_size=4)


def load_agent(path):
    """Whether a file holds an agent; only `AgentError` may say no."""
    try:
        player = agent_file.load(path)
    except AgentError as error:
        assert str(path.parent) in str(error)
        return False
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in jax.tree.leaves(player.weights))
    return True


@ATTEMPTS
def test_mutated_agents_are_taken_or_refused(tmp_path, saved_agent, attempts):
    """Half of them come with a card that vouches for the mutated file."""
    original, card = saved_agent.read_bytes(), json.loads(saved_agent.with_suffix(".json").read_text())
    names = list(checkpoint.flatten(agent_file.load_params(saved_agent)[1]))
    path = tmp_path / "student.safetensors"
    files = st.one_of(
        mutations.map(lambda edit: mutated(original, edit)),
        st.tuples(headers(names), st.binary(max_size=64)).map(lambda drawn: forged(*drawn)),
    )

    def check(drawn):
        content, vouches = drawn
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest() if vouches else card["sha256"]
        path.with_suffix(".json").write_text(json.dumps({**card, "sha256": digest}))
        assert not load_agent(path) or vouches or content == original

    attempt(attempts, st.tuples(files, st.booleans()), check)


@ATTEMPTS
def test_mutated_cards_are_taken_or_refused(tmp_path, saved_agent, attempts):
    card = saved_agent.with_suffix(".json").read_bytes()
    path = tmp_path / "student.safetensors"
    path.write_bytes(saved_agent.read_bytes())

    def check(edit):
        path.with_suffix(".json").write_bytes(mutated(card, edit))
        load_agent(path)

    attempt(attempts, mutations, check)


STATE = {"weights": jnp.arange(6.0).reshape(2, 3), "key": jax.random.key(3), "updates": jnp.int32(7)}
LIKE = jax.eval_shape(lambda: STATE)


@pytest.fixture
def manifest(tmp_path):
    """A small checkpoint on disk."""
    about = {"settings": {}, "updates": 7}
    return checkpoint.save(tmp_path, "000000007-000000009", STATE, {"row": np.ones(3)}, about)


def load_checkpoint(path):
    """A state equal to the one that was saved, or `CheckpointError`."""
    try:
        state, _, _ = checkpoint.load(path, LIKE)
    except CheckpointError:
        return None
    return state


@ATTEMPTS
def test_mutated_manifests_are_harmless_or_refused(manifest, attempts):
    content = manifest.read_bytes()

    def check(edit):
        manifest.write_bytes(mutated(content, edit))
        state = load_checkpoint(manifest)
        if state is not None:
            jax.tree.map(np.testing.assert_array_equal, checkpoint.flatten(state), checkpoint.flatten(STATE))

    attempt(attempts, mutations, check)


@ATTEMPTS
def test_mutated_arrays_are_refused(manifest, attempts):
    path = manifest.with_suffix(".safetensors")
    content = path.read_bytes()

    def check(edit):
        path.write_bytes(mutated(content, edit))
        state = load_checkpoint(manifest)
        if state is not None:
            jax.tree.map(np.testing.assert_array_equal, checkpoint.flatten(state), checkpoint.flatten(STATE))

    attempt(attempts, mutations, check)


@ATTEMPTS
def test_arrays_that_a_manifest_vouches_for_are_taken_only_if_they_fit(manifest, attempts):
    path = manifest.with_suffix(".safetensors")
    written = json.loads(manifest.read_bytes())
    files = st.tuples(headers(["weights", "key", "updates", "extra.row"]), st.binary(max_size=64))

    def check(drawn):
        content = forged(*drawn)
        path.write_bytes(content)
        try:
            arrays = safetensors.numpy.load(content)
            manifest.write_text(vouching(written, arrays))
        except Exception:  # not what is looked at here
            manifest.write_text(json.dumps(written))
        assert load_checkpoint(manifest) is None

    attempt(attempts, files, check)


def vouching(written, arrays):
    """A manifest, sealed again, that describes these arrays."""
    content = {name: value for name, value in written.items() if name != "sha256"}
    content["arrays"] = {name: about(array) for name, array in arrays.items()}
    return json.dumps({**content, "sha256": checkpoint.seal(content)})


def about(array):
    """What a manifest says of an array, for any dtype."""
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": digest}


SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F4": 0.5, "C64": 8}
SIZES |= {"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def filled(dtype, shapes):
    """A sound safetensors file whose arrays are all of one type, and zero."""
    header, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + int(np.prod(shape) * SIZES[dtype])
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    return forged(header, bytes(end))


@pytest.mark.parametrize("dtype", SIZES)
def test_arrays_of_another_type_are_refused_though_vouched_for(tmp_path, saved_agent, manifest, dtype):
    shapes = {name: x.shape for name, x in checkpoint.flatten(agent_file.load_params(saved_agent)[1]).items()}
    content = filled(dtype, shapes)
    path = tmp_path / "student.safetensors"
    path.write_bytes(content)
    card = json.loads(saved_agent.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps({**card, "sha256": hashlib.sha256(content).hexdigest()}))
    assert load_agent(path) == (dtype == "F32")
    content = filled(dtype, {"weights": (2, 3), "key": (2,), "updates": (), "extra.row": (3,)})
    manifest.with_suffix(".safetensors").write_bytes(content)
    written = json.loads(manifest.read_bytes())
    try:
        arrays = safetensors.numpy.load(content)
    except Exception:  # a type that numpy has not
        arrays = {}
    manifest.write_text(vouching(written, arrays))
    assert load_checkpoint(manifest) is None


LIMITED = """
import resource, sys, jax
from pathlib import Path
from maestro.envs.lasertag.maps import LEVELS
from maestro.runs import agent_file, checkpoint
from maestro.toml import read
folder, like = Path(sys.argv[1]), {"w": jax.ShapeDtypeStruct((2,), "float32")}
agent_file.load(folder / "good.safetensors")
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
loaders = {".toml": read, ".txt": LEVELS.read, ".safetensors": agent_file.load}
loaders[".json"] = lambda path: checkpoint.load(path, like)
for name in sys.argv[2:]:
    try:
        print(name, loaders[Path(name).suffix](folder / name))
    except Exception as error:
        print(name, type(error).__name__)
"""


def test_vast_files_are_refused_with_little_memory(tmp_path, saved_agent):
    """Files of gigabytes (sparse), and headers that claim as much, where 300 MB more may be used."""
    for suffix in (".safetensors", ".json"):
        (tmp_path / f"good{suffix}").write_bytes(saved_agent.with_suffix(suffix).read_bytes())
        (tmp_path / f"large{suffix}").write_bytes(saved_agent.with_suffix(suffix).read_bytes())
    card = json.loads(saved_agent.with_suffix(".json").read_text())
    vast = forged({"w": {"dtype": "F32", "shape": [2**31], "data_offsets": [0, 2**33]}}, b"")
    claims = forged({"w": {"dtype": "F32", "shape": [2**61, 2], "data_offsets": [0, 2**64 - 8]}}, b"")
    entry = {"shape": [2**31], "dtype": "float32", "sha256": "0"}
    for name, content in {"claims": claims, "length": struct.pack("<Q", 2**63), "vast": vast}.items():
        (tmp_path / f"{name}.safetensors").write_bytes(content)
        about = {"schema": 1, "about": {}, "arrays": {"w": entry}, **card}
        about["sha256"] = hashlib.sha256(content).hexdigest()
        (tmp_path / f"{name}.json").write_text(json.dumps(about))
    for name in ("large.safetensors", "vast.safetensors", "large.json", "large.toml", "large.txt"):
        with (tmp_path / name).open("ab") as file:
            file.truncate(2**33 + (len(vast) if name.startswith("vast") else 0))
    expected = {"large.toml": "SettingsError", "large.txt": "LevelError"}
    expected |= {f"{name}.safetensors": "AgentError" for name in ("claims", "length", "vast", "large")}
    expected |= {f"{name}.json": "CheckpointError" for name in ("claims", "length", "vast", "large")}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), *expected], capture_output=True, text=True
    )
    assert dict(line.split(maxsplit=1) for line in done.stdout.splitlines()) == expected, done.stderr
