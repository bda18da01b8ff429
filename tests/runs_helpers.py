"""Runs on a probe game that compile in seconds, in this process or in others that can be killed.

`python runs_helpers.py COMMAND ...` is `maestro COMMAND ...` on that game.
"""

import functools
import os
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import probes
from maestro import checkpoint, driver, experiment, finish, runs, settings, shelf, train
from maestro.config import EvaluationConfig
from maestro.driver import Driver
from maestro.progress import Progress
from maestro.signals import Signals

CACHE = Path(__file__).parent.parent / ".cache" / "jax"
PATIENCE = 300  # seconds to wait for another process on a busy machine
QUICK = probes.QUICK
ENDLESS = {"total_updates": 20_000, "interval": 10_000}


class BrokenRace(probes.Race):
    """A race whose rewards are no numbers on some levels."""

    every: int = 1  # level of so many

    def reward(self, level, state, actions):
        reward = super().reward(level, state, actions)
        return jnp.where(level.number % self.every == 0, jnp.nan, reward)


class SometimesBrokenRace(BrokenRace):
    every: int = 24


GAMES = {"race": probes.Race, "broken": BrokenRace, "sometimes-broken": SometimesBrokenRace}


def micro(method="maestro", schedule=None, **changes):
    """The smallest run of a method that still adds co-players and replays levels."""
    small = probes.with_changes(
        method=method,
        ppo={"rollout_length": 8, "workers": 4, "epochs": 1},
        curriculum={"min_fill": 0.25, "buffer_size": 8, "member_buffer_size": 4},
        schedule={"total_updates": 8, "interval": 3, **(schedule or {})},
        evaluation=EvaluationConfig(times=2, levels=2, opponents=("first",)),
    )
    return probes.with_changes(small, **changes)


def on_probe(game="race"):
    """What builds the experiment of a configuration on a probe game."""
    return lambda config: probes.experiment(config, GAMES[game]())


@functools.cache
def quick_chunk(game, config):
    """The compiled chunk of a configuration, for every driver of it in this process."""
    run = on_probe(game)(config)
    state = jax.eval_shape(functools.partial(train.init, run, config.seed, config.seeds))
    steps = jax.jit(functools.partial(train.train_steps, run, driver.LENGTH))
    return steps.lower(state, jnp.int32(0), jnp.int32(0)).compile(QUICK)


@functools.cache
def quick_start(game, config):
    """What makes the first state of a configuration."""
    first = functools.partial(train.init, on_probe(game)(config), config.seed, config.seeds)
    return jax.jit(first).lower().compile(QUICK)


@functools.cache
def quick_games(game, config):
    """The compiled evaluation of a configuration."""
    run = on_probe(game)(config)
    key = jax.random.key(driver.EVALUATION_KEY)
    play = functools.partial(driver.evaluate.against_opponents, key, config.evaluation, run)
    return jax.jit(play, compiler_options=QUICK)


class Killed(Exception):
    """The driver is abandoned as it is."""


class QuickDriver(Driver):
    """A driver whose programs are compiled once per process; it can be abandoned after some updates."""

    def __init__(self, folder, config, killed_after=None, game="race"):
        self.killed_after, self.game = killed_after, game
        super().__init__(folder, config, Progress(), Signals())

    def start(self, initial):
        return quick_start(self.game, self.config)()

    def compile(self):
        return quick_chunk(self.game, self.config)

    @property
    def games(self):
        return quick_games(self.game, self.config)

    def pause(self):
        super().pause()
        if self.killed_after is not None and int(self.state.updates) >= self.killed_after:
            self.keeper.thread.shutdown()
            raise Killed


@functools.cache
def like(config, game="race"):
    """The shapes of a configuration's state."""
    return jax.eval_shape(functools.partial(train.init, on_probe(game)(config), config.seed, config.seeds))


def newest(path):
    """The newest checkpoint as its arrays by name, and the logs, all as bytes."""
    manifest = checkpoint.read_manifest(shelf.found(path / "checkpoints")[-1])
    digests = {name: array["sha256"] for name, array in manifest["arrays"].items()}
    logs = [path / "metrics.jsonl", path / "evaluation.jsonl"]
    return digests, *(log.read_bytes() if log.exists() else b"" for log in logs)


def restorable(folder, config):
    """How many checkpoints there are, each read and checked."""
    manifests = shelf.found(folder / "checkpoints")
    for manifest in manifests:
        checkpoint.load(manifest, like(config), settings.digest(config))
    return len(manifests)


def environment(**more):
    """Of another process: programs compiled quickly, and kept."""
    flags = {**QUICK, "xla_cpu_multi_thread_eigen": False}
    quick = " ".join(f"--{name}={str(value).lower()}" for name, value in flags.items())
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(CACHE),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": quick, **cache, **more}


PROBE, LASERTAG = (__file__,), ("-m", "maestro")


def start(*arguments, streams=subprocess.PIPE, game=PROBE, **more):
    """Another process that runs a command, on the probe game unless told otherwise."""
    command = [sys.executable, *game, *map(str, arguments)]
    pipes = {"stdout": streams, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment(**more), **pipes)


def call(*arguments, **more):
    """(exit code, output, errors) of a command in another process."""
    process = start(*arguments, **more)
    out, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, out, errors


def new_run(folder, config):
    """The arguments of `train` for a new run; its settings stand in a file beside the folder."""
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(settings.to_toml(config))
    return "train", "lasertag", "--config", file, "--out", folder


def wait_until(true, process):
    """Until something holds while a process goes on."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert process.poll() is None, f"ended with {process.returncode}: {process.communicate()}"
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def updates_of(folder, process):
    """How far this very process says it has come."""
    status = runs.read_status(runs.RunFolder(folder))
    return status["updates"] if status.get("pid") == process.pid else -1


def wait_for_updates(folder, process, updates=1):
    """Until a process has trained so far."""
    wait_until(lambda: updates_of(folder, process) >= updates, process)


def main():
    """The command line on a probe game, with nothing filmed."""
    from maestro import cli

    experiment.build = on_probe(os.environ.get("GAME", "race"))
    driver.CHECKPOINT_SECONDS = float(os.environ.get("CHECKPOINT_SECONDS", driver.CHECKPOINT_SECONDS))
    finish.film, finish.LAST_LEVELS = (lambda *_: None), 2
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
