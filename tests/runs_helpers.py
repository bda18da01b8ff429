"""Runs on a probe game that compile in seconds, in this process or in others that can be held and killed."""

import functools
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp

import probes
from maestro import cohort, settings, toml
from maestro.config import EvaluationConfig
from maestro.evaluation.opponents import Evaluation, seed_keys
from maestro.games import Game
from maestro.methods import METHODS
from maestro.runs import agent_file, build, checkpoint, checkpoints, folder
from maestro.runs.evaluations import EVALUATION_KEY, Evaluations
from maestro.runs.metrics_log import Position
from maestro.runs.signals import Signals
from maestro.runs.trainer import Trainer
from quick import QUICK, flags

PATIENCE = 600  # seconds after which another process is taken to hang, on however busy a machine
ENDLESS = {"total_updates": 10_000_000, "interval": 5_000_000}  # hours


class BrokenRace(probes.Race):
    """A race whose rewards are no numbers on some levels."""

    every: int = 1  # level of so many

    def reward(self, level, state, actions):
        reward = super().reward(level, state, actions)
        return jnp.where(level.number % self.every == 0, jnp.nan, reward)


class SometimesBrokenRace(BrokenRace):
    every: int = 24


class EndlessRace(probes.Race):
    """A race that nobody wins, and that is not cut off while anyone watches."""

    def sample_level(self, key):
        return super().sample_level(key).replace(time_limit=jnp.int32(1000))

    def over(self, level, state, reward):
        return jnp.bool_(False)


RACE = probes.RACE
PRESETS = {"tiny": replace(probes.SMALL, environment=None)}
BROKEN = Game("broken", BrokenRace, probes.SmallAgent, PRESETS)
SOMETIMES_BROKEN = Game("sometimes-broken", SometimesBrokenRace, probes.SmallAgent, PRESETS)
ENDLESS_RACE = Game("endless-race", EndlessRace, probes.SmallAgent, PRESETS)
GAMES = {game.name: game for game in (RACE, BROKEN, SOMETIMES_BROKEN, ENDLESS_RACE)}


def micro(method="maestro", schedule=None, game=RACE, **changes):
    """The smallest run of a method that still adds co-players and replays levels."""
    small = probes.with_changes(
        game.presets["tiny"],
        method=method,
        ppo={"rollout_length": 8, "workers": 4, "epochs": 1},
        curriculum={"min_fill": 0.25, "buffer_size": 8, "member_buffer_size": 4},
        schedule={"total_updates": 8, "interval": 3, **(schedule or {})},
        evaluation=EvaluationConfig(2, 2, ("first",), keep_students=False, keep_levels=0),
    )
    own = METHODS[method].score
    small = probes.with_changes(small, **changes)
    return probes.with_changes(small, curriculum={"score": own}) if own else small


def once(make):
    """Made once for all configurations that differ only in what is evaluated and kept."""
    cached = functools.cache(make)
    return lambda config: cached(replace(config, evaluation=EvaluationConfig()))


def seedless(make):
    """Made once for all seeds too."""
    cached = once(make)
    return lambda config: cached(replace(config, seed=0))


@seedless
def experiment(config):
    """What a configuration describes."""
    return build.experiment(GAMES[config.game], config)


@seedless
def like(config):
    """The shapes of a configuration's state."""
    return jax.eval_shape(lambda: cohort.init(experiment(config), config.seed, config.seeds))


@once
def quick_start(config):
    """What makes the first state of a configuration."""
    first = functools.partial(cohort.init, experiment(config), config.seed, config.seeds)
    return jax.jit(first).lower().compile(QUICK)


@seedless
def quick_chunk(config):
    """The compiled chunk of a configuration, for every trainer of it in this process."""
    steps = jax.jit(functools.partial(cohort.train_steps, experiment(config), cohort.LENGTH))
    return steps.lower(like(config), jnp.int32(0), jnp.int32(0)).compile(QUICK)


@functools.cache
def quick_games(config):
    """(the compiled evaluation of a configuration, its levels)."""
    keys = seed_keys(jax.random.key(EVALUATION_KEY), config.seed, config.seeds)
    evaluation = Evaluation(keys, config.evaluation, experiment(config), GAMES[config.game].players)
    return jax.jit(evaluation, compiler_options=QUICK), evaluation.levels


class Listener:
    """A reporter that keeps what it is told, and the newest status."""

    def __init__(self):
        self.said, self.shown = [], {}

    def say(self, text):
        self.said.append(text)

    def show(self, status):
        self.shown = status


class Killed(Exception):
    """The trainer is abandoned as it is."""


class QuickEvaluations(Evaluations):
    """Games that are compiled quickly, once per process."""

    @property
    def games(self):
        play, levels = quick_games(self.config)
        return lambda state: play(state, levels)


class QuickTrainer(Trainer):
    """A trainer whose programs are compiled once per process; it can be abandoned after some updates."""

    def __init__(self, folder, config, killed_after=None):
        self.killed_after = killed_after
        of_run = config, experiment(config), GAMES[config.game]
        super().__init__(folder, of_run[2], *of_run[:2], Listener(), Signals())
        self.evaluations = QuickEvaluations(*of_run)

    def restored(self):
        return super().restored() or (quick_start(self.config)(), Position())

    def compile(self):
        return quick_chunk(self.config)

    def pause(self):
        super().pause()
        if self.killed_after is not None and self.updates >= self.killed_after:
            self.checkpointer.thread.shutdown()
            raise Killed


def new_folder(path, config):
    """The folder of a run that has not begun."""
    new = claim(path)
    folder.begin(new, config)
    for part in (new.checkpoints, new.agents):
        part.mkdir()
    return new


def nested(options):
    """Pairs of a setting and what was typed for it, as changes in groups."""
    changes = {}
    for name, value in options:
        settings.put(changes, name, value)
    return changes


def claim(path):
    """An empty folder for a run."""
    path.mkdir(parents=True, exist_ok=True)
    return folder.RunFolder(path)


def newest(path):
    """The newest checkpoint as its arrays by name, and the logs, all as bytes."""
    manifest = checkpoint.read_manifest(checkpoints.found(path / "checkpoints")[-1])
    digests = {name: array["sha256"] for name, array in manifest["arrays"].items()}
    logs = [path / "metrics.jsonl", path / "evaluation.jsonl"]
    return digests, *(log.read_bytes() if log.exists() else b"" for log in logs)


def trained_run(path, config, exported=False):
    """The folder of a run that was trained to its end, if asked for with its students as files."""
    found = new_folder(path, config)
    state = QuickTrainer(found, config).run()
    if exported:
        agent_file.save_students(config, state, found.agents)
    return found


KEPT = {"keep_students": True, "keep_levels": 5}  # what a run can keep along the way


def kept(path):
    """What a run has kept along the way: the content of each file, by its place."""
    files = [file for name in ("milestones", "levels") for file in sorted((path / name).glob("*"))]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def restorable(path, config):
    """How many checkpoints there are, each read and checked."""
    manifests = checkpoints.found(path / "checkpoints")
    for manifest in manifests:
        checkpoint.load(manifest, like(config))
    return len(manifests)


def beside_tests(*more):
    """A search path of Python that finds the helpers of the tests, before what was there already."""
    own = [*map(str, more), str(Path(__file__).parent)]
    return os.pathsep.join([*own, *filter(None, [os.environ.get("PYTHONPATH")])])


def environment(**more):
    """Of another process: programs compiled quickly, and kept; the games of this folder within reach."""
    cache = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONPATH": beside_tests(),
    }
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags(), **cache, **more}


HELD, REAL = ("-m", "held"), ("-m", "maestro")  # held where the environment says (held.py), or as it is
STARTED = []  # processes, so that none outlives its test


def start(*arguments, streams=subprocess.PIPE, program=HELD, **more):
    """Another process that runs a command."""
    command = [sys.executable, *program, *map(str, arguments)]
    pipes = {"stdout": streams, "stderr": subprocess.PIPE, "text": True}
    STARTED.append(subprocess.Popen(command, env=environment(**more), **pipes))
    return STARTED[-1]


def end_all():
    """Kill what a test has left running."""
    for process in STARTED:
        with process:
            process.kill()
    STARTED.clear()


def call(*arguments, **more):
    """(exit code, output, errors) of a command in another process."""
    process = start(*arguments, **more)
    out, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, out, errors


WHERE = {"race": "probes:RACE", "broken": "runs_helpers:BROKEN"}


def new_run(path, config, beside=None):
    """The arguments of `train` for a new run; its settings stand in a file beside the folder."""
    file = (beside or path.parent) / f"{path.name}.toml"
    file.write_text(toml.to_toml(config))
    game = WHERE.get(config.game, config.game)
    return "train", game, "--preset", "tiny", "--config", file, "--out", path


def resumed(path):
    """The arguments of `resume` for a run of the probe game."""
    return "resume", path, "--game", WHERE["race"]


def wait_until(true, process):
    """Until something holds while a process goes on."""
    end = time.monotonic() + PATIENCE
    while True:
        over = process.poll() is not None  # before the question: it may end while that is asked
        if true():
            return
        assert not over, f"ended with {process.returncode}: {process.communicate()}"
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def status_of(path, process):
    """What this very process has noted in the run's folder."""
    status = folder.read_json(folder.RunFolder(path).status)
    return status if status.get("pid") == process.pid else {"updates": -1, "checkpoint": -1}


def wait_for_updates(path, process, updates=1):
    """Until a process has trained so far."""
    wait_until(lambda: status_of(path, process)["updates"] >= updates, process)


def reached(path):
    """Updates of the newest checkpoint."""
    return checkpoints.updates_of(checkpoints.found(path / "checkpoints")[-1])


def wait_until_held(path, process):
    """Until a process is inside of something that never ends."""
    wait_until((path / "held").exists, process)
