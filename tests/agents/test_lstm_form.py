"""Which form of the LSTM runs, how the kernel is built and kept, and what happens where it cannot be."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import pytest

from maestro import cache, native
from maestro.agents import lstm
from maestro.agents.conv_lstm import ConvLSTM
from maestro.agents.lstm import form, kernel
from maestro.games.lasertag import GAME
from maestro.runs.build import experiment, lstm_form
from maestro.settings import SettingsError

COMPILER = """#!/bin/sh
case "$*" in *--version*) echo version {version}; exit 0;; esac
echo "$@" >> {calls}
{act}
"""


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Put a program named nvcc on the path; returns how to make it, and a list of its calls."""
    calls = tmp_path / "calls"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(native, "USUAL", ())
    monkeypatch.setattr(native, "came_with_jax", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    register = native.register  # a test may put another in its place
    register.cache_clear()

    def make(act: str, version: int = 1) -> None:
        program = tmp_path / "bin" / "nvcc"
        program.parent.mkdir(exist_ok=True)
        program.write_text(COMPILER.format(version=version, calls=calls, act=act))
        program.chmod(0o755)

    yield make, lambda: calls.read_text().splitlines() if calls.exists() else []
    register.cache_clear()


CAME_WITH_JAX = native.came_with_jax
WRITES = 'while [ "$1" != -o ]; do shift; done; echo library > "$2"'


def hopper(monkeypatch, capability: str = "9.0") -> None:
    """As if there were such a GPU."""

    class Device:
        compute_capability = capability

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [Device()])


def test_on_a_cpu_the_portable_form_runs(monkeypatch):
    monkeypatch.delenv(form.VARIABLE, raising=False)
    chosen = lstm.choose(256, 8)
    assert chosen.told == "LSTM: portable form (there is no NVIDIA GPU)"
    fast = GAME.presets["fast"]
    assert lstm_form(experiment(GAME, fast)) == chosen


@pytest.mark.parametrize(
    ("capability", "hidden", "batch", "why"),
    [
        ("8.0", 256, 8, "the kernel is for GPUs of compute capability 9.0, and this one has 8.0"),
        ("9.0", 64, 8, "the kernel has 256 units, and this network 64"),
        ("9.0", 256, 12, "the kernel takes multiples of 8 sequences, and a minibatch has 12"),
        ("9.0", 256, 16, "nvcc failed: hopper.cu(1): error"),
    ],
)
def test_what_the_kernel_cannot_do_is_said(monkeypatch, compiler, capability, hidden, batch, why):
    compiler[0]("echo 'hopper.cu(1): error' >&2; exit 2")
    monkeypatch.delenv(form.VARIABLE, raising=False)
    hopper(monkeypatch, capability)
    assert lstm.choose(hidden, batch) == form.Form("portable", why)
    monkeypatch.setenv(form.VARIABLE, "kernel")
    with pytest.raises(ValueError, match="the kernel cannot run: ") as refused:
        lstm.choose(hidden, batch)
    assert why in str(refused.value)


def test_the_kernel_runs_where_it_can(monkeypatch, compiler):
    monkeypatch.setattr(native, "register", lambda library: "")
    hopper(monkeypatch)
    monkeypatch.delenv(form.VARIABLE, raising=False)
    assert lstm.choose(256, 128).told == "LSTM: Hopper kernel (this GPU can run it)"
    monkeypatch.setenv(form.VARIABLE, "portable")
    assert lstm.choose(256, 128) == form.Form("portable", "$MAESTRO_LSTM says so")


def test_a_minibatch_is_what_the_form_is_chosen_for(monkeypatch):
    asked = []
    monkeypatch.setattr(lstm, "choose", lambda *sizes: asked.append(sizes) or form.Form("portable", ""))
    fast = GAME.presets["fast"]
    lstm_form(experiment(GAME, fast))
    assert asked == [(256, fast.ppo.workers // fast.ppo.minibatches)]


def test_a_form_that_is_unknown_is_refused(monkeypatch):
    monkeypatch.setenv(form.VARIABLE, "cuda")
    with pytest.raises(SettingsError, match="'cuda' is unknown; allowed: auto, portable, kernel"):
        lstm_form(experiment(GAME, GAME.presets["tiny"]))


@pytest.mark.parametrize("value", ["cuda", "kernel"])
def test_the_command_refuses_a_form_it_cannot_use(value, tmp_path):
    command = [sys.executable, "-m", "maestro", "train", "lasertag", "--preset", "tiny"]
    command += ["--out", str(tmp_path / "run")]
    done = subprocess.run(command, env=os.environ | {form.VARIABLE: value}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "$MAESTRO_LSTM: " in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_library_is_built_once_for_each_version(compiler):
    make, calls = compiler
    make(WRITES)
    first = kernel.LIBRARY.path()
    assert first.read_text() == "library\n" and kernel.LIBRARY.path() == first
    assert len(calls()) == 1 and str(kernel.LIBRARY.source) in calls()[0] and "sm_90a" in calls()[0]
    make(WRITES, version=2)
    assert kernel.LIBRARY.path() != first and len(calls()) == 2


def test_a_library_is_built_again_where_a_header_beside_its_source_has_changed(compiler, tmp_path):
    make, calls = compiler
    make(WRITES)
    for name in ("own.cu", "own.cuh"):
        (tmp_path / name).write_text("1")
    library = replace(kernel.LIBRARY, source=tmp_path / "own.cu")
    first = library.path()
    (tmp_path / "own.cuh").write_text("2")
    assert library.path() != first and len(calls()) == 2


def test_it_is_kept_where_only_the_user_can_write(compiler):
    compiler[0](WRITES)
    folder = kernel.LIBRARY.path().parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o770)
    with pytest.raises(native.CannotBuild, match="others can write to"):
        kernel.LIBRARY.path()


def test_what_fails_leaves_nothing_behind(compiler):
    compiler[0](f"{WRITES}; echo 'no such instruction' >&2; exit 1")
    with pytest.raises(native.CannotBuild, match="nvcc failed: no such instruction"):
        kernel.LIBRARY.path()
    assert list(cache.private("kernels").iterdir()) == []


def test_a_compiler_that_is_silent_or_slow_is_named(compiler, monkeypatch):
    compiler[0]("exit 3")
    with pytest.raises(native.CannotBuild, match="it ended with 3"):
        kernel.LIBRARY.path()
    compiler[0]("exec sleep 5")
    monkeypatch.setattr(native, "LONGEST", 0.3)
    with pytest.raises(native.CannotBuild, match="timed out"):
        kernel.LIBRARY.path()


def test_without_a_compiler_the_reason_is_that(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(native, "USUAL", ("nvcc",))
    monkeypatch.setattr(native, "came_with_jax", list)
    with pytest.raises(native.CannotBuild, match="CUDA's compiler nvcc is not installed"):
        kernel.LIBRARY.path()


@pytest.fixture
def nvidia(tmp_path, monkeypatch):
    """A package of NVIDIA's for Python with a compiler in it, beside one without."""
    packages = tmp_path / "site"
    nvcc = packages / "nvidia" / "cu13" / "bin" / "nvcc"
    for folder in (nvcc.parent, packages / "nvidia" / "cublas"):
        folder.mkdir(parents=True)
    nvcc.write_text(COMPILER.format(version=3, calls=tmp_path / "others", act=WRITES))
    nvcc.chmod(0o755)
    monkeypatch.syspath_prepend(packages)
    return nvcc


def test_compilers_are_tried_in_order_and_what_came_with_jax_comes_last(compiler, nvidia, monkeypatch):
    compiler[0](WRITES)
    usual = nvidia.with_name("usual")
    usual.write_bytes(nvidia.read_bytes())
    usual.chmod(0o755)
    monkeypatch.setattr(native, "USUAL", ("no-such-nvcc", str(usual)))
    monkeypatch.setattr(native, "came_with_jax", CAME_WITH_JAX)
    own, *others = native.compilers()
    assert own == os.path.join(os.environ["CUDA_HOME"], "bin", "nvcc")
    assert others[0] == str(usual) and str(nvidia) in others[1:]


def test_without_packages_of_nvidia_none_came_with_jax(monkeypatch):
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    assert native.came_with_jax() == []


def test_where_one_compiler_fails_the_next_is_tried(compiler, nvidia, monkeypatch):
    make, calls = compiler
    make(f"{WRITES}; echo 'too old for this' >&2; exit 1")
    monkeypatch.setattr(native, "came_with_jax", lambda: [str(nvidia)])
    path = kernel.LIBRARY.path()
    assert path.read_text() == "library\n" and list(path.parent.iterdir()) == [path] and len(calls()) == 1
    assert kernel.LIBRARY.path() == path and len(calls()) == 1  # nor is the first one tried again
    path.unlink()
    nvidia.write_text(COMPILER.format(version=3, calls=nvidia.parent / "calls", act="exit 3"))
    with pytest.raises(native.CannotBuild, match="nvcc failed: too old for this"):
        kernel.LIBRARY.path()


def test_a_library_that_cannot_be_loaded_is_no_failure(compiler):
    compiler[0](WRITES)
    assert "invalid ELF header" in native.register(kernel.LIBRARY) or "file too short" in native.register(
        kernel.LIBRARY
    )


def test_nobody_loads_half_a_library(compiler):
    compiler[0](f'{WRITES}; sleep 0.2; echo end >> "$2"')
    code = "from maestro.agents.lstm.kernel import LIBRARY; print(LIBRARY.path().read_text().split())"
    jobs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [job.communicate()[0].strip() for job in jobs] == ["['library', 'end']"] * 2


@pytest.mark.parametrize(
    "inputs, units, fits", [(144, 256, 1), (7, 256, 0), (1504, 256, 1), (1512, 256, 0), (144, 64, 0)]
)
def test_the_kernel_of_a_step_takes_inputs_that_fit_into_shared_memory(monkeypatch, inputs, units, fits):
    hopper(monkeypatch)
    monkeypatch.setattr(native, "register", lambda library: "")
    monkeypatch.delenv(form.VARIABLE, raising=False)
    shapes = {"wx": (inputs, 4 * units), "wh": (units, 4 * units), "b": (4 * units,)}
    params = {name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in shapes.items()}
    assert ("w" in jax.eval_shape(lstm.prepare, params)) == bool(fits)


def test_the_source_has_what_is_registered():
    main = Path(kernel.LIBRARY.source)
    source = "".join(path.read_text() for path in (main, *main.parent.glob("*.cuh")))
    for _, symbol in kernel.SYMBOLS:
        assert f"MAESTRO_KERNEL({symbol}," in source
    assert (
        f"constexpr int H = {kernel.UNITS}," in source and f"constexpr int NB = {kernel.SEQUENCES};" in source
    )
    assert ConvLSTM().hidden == kernel.UNITS
