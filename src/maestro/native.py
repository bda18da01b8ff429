"""The library of kernels: compiled on the user's machine at first use, kept in the user's own cache."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import jax

from maestro import cache
from maestro.agents.lstm.kernel import SYMBOLS

SOURCE = Path(__file__).with_name("hopper.cu")
FLAGS = ["-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-w"]
FLAGS += ["-gencode=arch=compute_90a,code=sm_90a"]
LONGEST = 300  # seconds; it takes about seven
TOOLKIT = Path("/usr/local/cuda/bin/nvcc")


class CannotBuild(Exception):
    """Why there is no library here."""


def compiler() -> str:
    """The path of nvcc: that of $CUDA_HOME, that on the path, or where its installer puts it."""
    home = os.environ.get("CUDA_HOME")
    named = [str(Path(home) / "bin" / "nvcc")] if home else []
    for candidate in [*named, "nvcc", str(TOOLKIT)]:
        if found := shutil.which(candidate):
            return found
    raise CannotBuild("CUDA's compiler nvcc is not installed")


def digest(nvcc: str) -> str:
    """What a library depends on: its source, how it is compiled, and the headers of XLA."""
    version = subprocess.run([nvcc, "--version"], capture_output=True, timeout=LONGEST).stdout
    parts = [SOURCE.read_bytes(), " ".join(FLAGS).encode(), version, jax.__version__.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def compile_to(path: Path, nvcc: str) -> None:
    """Compile beside the place and move it there, so that nobody ever loads half of it."""
    with tempfile.TemporaryDirectory(dir=path.parent) as own:
        part = Path(own) / path.name
        command = [nvcc, *FLAGS, "-I", jax.ffi.include_dir(), "-o", str(part), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or [f"it ended with {done.returncode}"]
            raise CannotBuild(f"nvcc failed: {said[0][:200]}")
        os.replace(part, path)


def library() -> Path:
    """The compiled library, made if there is none yet of this version."""
    try:
        nvcc, folder = compiler(), cache.private("kernels")
        path = folder / f"lstm-{digest(nvcc)}.so"
        if not path.exists():
            compile_to(path, nvcc)
        return path
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise CannotBuild(str(error)) from None


@functools.cache
def register() -> str:
    """Make the kernels known to XLA, once; what is in the way if that fails, or nothing."""
    try:
        loaded = ctypes.CDLL(str(library()))
        for name, symbol in SYMBOLS.items():
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(loaded, symbol)), platform="CUDA")
    except (CannotBuild, OSError, AttributeError) as error:
        return str(error)
    return ""
