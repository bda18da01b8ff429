"""Frames to a film: an animated GIF or an MP4."""

import contextlib
import io
import itertools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maestro.runs.files import replacing

ENDINGS = (".gif", ".mp4")
QUALITY = "18"  # of x264: lower is better, 18 looks lossless


def check_ending(path: str | Path) -> str:
    """The kind of film that a path names; raises ValueError for one that cannot be written."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{str(path)!r} does not end in one of {', '.join(ENDINGS)}")
    return ending


def write(path: str | Path, frames: Iterable[np.ndarray], speed: int | float = 12) -> None:
    """Write uint8 RGB frames of one size, `speed` of them per second; all of the film, or no file."""
    write_film = _write_gif if check_ending(path) == ".gif" else _write_mp4
    with replacing(Path(path).resolve()) as partial:
        write_film(partial, (_even(frame) for frame in frames), speed)


def _write_gif(path: Path, frames: Iterator[np.ndarray], speed: int | float) -> None:
    import imageio.v2 as imageio  # slow to import, and only films need it

    content = io.BytesIO()  # so that only the writing of the file can fail
    film: Any = imageio.get_writer(content, format="GIF", mode="I", duration=1000 / speed, loop=0)
    with film as writer:
        for frame in frames:
            writer.append_data(frame)
    path.write_bytes(content.getvalue())


def _write_mp4(path: Path, frames: Iterator[np.ndarray], speed: int | float) -> None:
    """Pipe the frames to ffmpeg; imageio's own pipe forks, which JAX warns may hang."""
    import imageio_ffmpeg  # type: ignore[import-untyped]

    first = next(frames, None)
    if first is None:
        raise ValueError("a film needs at least one frame")
    size = f"{first.shape[1]}x{first.shape[0]}"
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(speed), "-i", "-"]
    target = ["-c:v", "libx264", "-crf", QUALITY, "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *source, *target]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then ffmpeg says below what is wrong
            for frame in itertools.chain([first], frames):
                process.stdin.write(np.ascontiguousarray(frame).tobytes())
        _, complaint = process.communicate()
    if process.returncode:
        told = complaint.decode(errors="replace").strip().splitlines() or ["no reason was given"]
        raise OSError(f"ffmpeg: {told[-1]}")


def _even(frame: np.ndarray) -> np.ndarray:
    """The frame with its last row or column repeated where MP4 needs an even size."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
