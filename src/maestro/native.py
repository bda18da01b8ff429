"""CUDA kernels as functions of XLA: compiled where they run at first use, kept in the user's own cache."""

import ctypes
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jax

from maestro import cache

FLAGS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-w")
LONGEST = 300  # seconds; it takes about ten
SHARED = Path(__file__).with_suffix(".h")  # what all sources include
USUAL = ("nvcc", "/usr/local/cuda/bin/nvcc")  # on the path, or where its installer puts it
REGISTERED: list["Library"] = []  # whose kernels XLA knows in this process


class CannotBuild(Exception):
    """Why there is no library here."""


def compilers() -> list[str]:
    """Every nvcc here: that of $CUDA_HOME, those in the usual places, and what came with JAX."""
    home = os.environ.get("CUDA_HOME")
    named = [str(Path(home) / "bin" / "nvcc")] if home else []
    candidates = [*named, *USUAL, *came_with_jax()]
    if found := [path for path in map(shutil.which, candidates) if path]:
        return found
    raise CannotBuild("CUDA's compiler nvcc is not installed")


def came_with_jax() -> list[str]:
    """Those in NVIDIA's Python packages, which JAX for CUDA 13 asks for."""
    packages = importlib.util.find_spec("nvidia")
    folders = packages.submodule_search_locations if packages else None
    return [str(path) for folder in folders or () for path in sorted(Path(folder).glob("cu*/bin/nvcc"))]


@dataclass(frozen=True)
class Library:
    """One file of kernels, with the `.cuh` files in its folder and below."""

    source: Path
    architecture: str  # of the GPU, as in sm_90a
    symbols: tuple[tuple[str, str], ...]  # (what XLA calls a kernel, what the source calls it)

    @property
    def flags(self) -> list[str]:
        """How it is compiled."""
        return [*FLAGS, f"-gencode=arch=compute_{self.architecture},code=sm_{self.architecture}"]

    def path(self) -> Path:
        """The compiled library, made if there is none yet of this version."""
        try:
            found, folder, paths = compilers(), cache.private("kernels"), {}
            for nvcc in found:
                paths[nvcc] = folder / f"{self.source.stem}-{self.digest(nvcc)}.so"
                if paths[nvcc].exists():
                    return paths[nvcc]
            return self.made(paths)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise CannotBuild(str(error)) from None

    def made(self, paths: dict[str, Path]) -> Path:
        """By the first compiler that can; if none can, what the first one said is raised."""
        said: list[Exception] = []
        for nvcc, path in paths.items():
            try:
                self.compile_to(path, nvcc)
                return path
            except (CannotBuild, subprocess.SubprocessError) as error:
                said.append(error)
        raise said[0]

    def digest(self, nvcc: str) -> str:
        """What a library depends on: its sources, how it is compiled, and the headers of XLA."""
        version = subprocess.run([nvcc, "--version"], capture_output=True, timeout=LONGEST).stdout
        parts = sorted(self.source.parent.rglob("*.cuh"))  # a source may include them
        sources = [path.read_bytes() for path in (SHARED, self.source, *parts)]
        all_of_it = [*sources, " ".join(self.flags).encode(), version, jax.__version__.encode()]
        return hashlib.sha256(b"\0".join(all_of_it)).hexdigest()[:16]

    def compile_to(self, path: Path, nvcc: str) -> None:
        """Compile beside the place and move it there, so that nobody ever loads half of it."""
        with tempfile.TemporaryDirectory(dir=path.parent) as own:
            part = Path(own) / path.name
            headers = ["-I", jax.ffi.include_dir(), "-I", str(SHARED.parent)]
            command = [nvcc, *self.flags, *headers, "-o", str(part), str(self.source)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines()
                raise CannotBuild(f"nvcc failed: {(said or [f'it ended with {done.returncode}'])[0][:200]}")
            os.replace(part, path)


@functools.cache
def register(library: Library) -> str:
    """Make the kernels known to XLA, once; what is in the way if that fails, or nothing."""
    try:
        loaded = ctypes.CDLL(str(library.path()))
        for name, symbol in library.symbols:
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(loaded, symbol)), platform="CUDA")
    except (CannotBuild, OSError, AttributeError) as error:
        return str(error)
    REGISTERED.append(library)
    return ""


def registered() -> list[str]:
    """What XLA calls the kernels that it knows in this process."""
    return sorted(name for library in REGISTERED for name, _ in library.symbols)
