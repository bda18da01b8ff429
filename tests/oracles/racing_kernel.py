"""Racing's CUDA kernels on a CPU, where an emulated GPU runs their source."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from maestro.envs.racing import kernel

HERE = Path(__file__).parent


@functools.cache
def library() -> ctypes.CDLL:
    """The kernels, compiled for this machine once in a process."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    source, includes = HERE / "racing_kernel.cpp", [HERE, kernel.SOURCE.parent / "kernels"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        flags = ["-O2", "-std=c++20", "-shared", "-fPIC", "-w", *(f"-I{place}" for place in includes)]
        subprocess.run(["g++", *flags, "-o", str(path), str(source)], check=True)
        return ctypes.CDLL(str(path))


def run(name: str, inputs: tuple, results: list[np.ndarray], *rest: int | np.ndarray) -> list[np.ndarray]:
    """A kernel's results for some arrays; sizes and facts follow them."""
    arrays = [np.ascontiguousarray(x) for x in (*inputs, *results)]
    rest = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in rest]
    given = [x.ctypes.data_as(ctypes.c_void_p) if isinstance(x, np.ndarray) else x for x in arrays + rest]
    getattr(library(), name)(*given)
    return arrays[len(inputs) :]
