"""What `train` and `resume` share: the device, the lock, the loop, and how it ends."""

import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jax

from maestro import experiment, lock, runs
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig
from maestro.driver import Driver, Stopped
from maestro.finish import finish
from maestro.lock import Locked
from maestro.progress import Progress
from maestro.runs import RunError, RunFolder
from maestro.settings import SettingsError
from maestro.signals import Signals


def device_memory() -> int:
    """Bytes that the first device may use."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def use_cache() -> None:
    """Keep compiled programs on disk, unless the user has said where."""
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(base / "maestro" / "jax"))


def new_run(path: Path, config: RunConfig, wandb: bool = False) -> None:
    """Create a run folder and train to the end."""
    need, have = checked_memory(config), device_memory()
    if need > have:
        raise Mistake(f"about {need / 1e9:.1f} GB are needed, and the device has {have / 1e9:.1f} GB")
    try:
        folder = runs.create(path, config, jax.devices()[0].device_kind)
    except RunError as error:
        raise Mistake(str(error)) from None
    conduct(folder, config, wandb)


def checked_memory(config: RunConfig) -> int:
    """The memory estimate; what it cannot be made for is a mistake in the settings."""
    try:
        return experiment.memory_estimate(config)
    except SettingsError as error:
        raise Mistake("these settings cannot be used:\n  " + "\n  ".join(error.problems)) from None


def conduct(folder: RunFolder, config: RunConfig, wandb: bool = False) -> None:
    """Train a run to its end, under its lock; the process ends here if it is stopped."""
    use_cache()
    try:
        with lock.hold(folder.path), Signals() as signals, Progress() as progress:
            work(folder, config, progress, signals, wandb)
    except (Locked, RunError) as error:
        raise Mistake(str(error)) from None


def work(folder: RunFolder, config: RunConfig, progress: Progress, signals: Signals, wandb: bool) -> None:
    """The run itself."""
    device = jax.devices()[0].device_kind
    progress.say(f"{config.method}, {config.seeds} seed(s), on {device}: {folder.path}")
    try:
        runs.furnish(folder, config, device)
        driver = Driver(folder, config, progress, signals)
        if wandb:
            driver.logbook.listeners.append(wandb_listener(folder, config))
        driver.run()
        end = partial(finish, folder, config, driver.experiment, driver.state, progress)
        driver.interruptible(end, "training is complete, only the last comparison is missing")
    except Stopped as stopped:
        leave(progress, stopped)
    except OSError as error:
        again = runs.resume_command(folder.path)
        leave(progress, Stopped(1, f"{folder.path}: {error.strerror or error}; go on with: {again}"))


def leave(progress: Progress, stopped: Stopped) -> None:
    """End at once: work that was given up may still run in another thread."""
    progress.__exit__()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody may be listening
            stream.write(f"maestro: {stopped}\n" if stream is sys.stderr else "")
            stream.flush()
    os._exit(stopped.code)


def wandb_listener(folder: RunFolder, config: RunConfig) -> Any:
    """What sends each line of metrics to Weights & Biases."""
    try:
        import wandb
    except ImportError:
        raise Mistake("--wandb: needs the package; pip install 'maestro[wandb]'") from None
    from dataclasses import asdict

    run = wandb.init(project="maestro", name=folder.path.name, config=asdict(config))
    return lambda record: run.log(record, step=record["updates"])
