"""Cohorts on eight virtual devices, in a process of their own: `python spread.py CASE FILE` writes arrays."""

import json
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import probes
from maestro import cohort, curriculum, mesh, sharding, train
from maestro.agents import lstm
from maestro.agents.conv_lstm import ConvLSTM
from maestro.agents.lstm import form
from maestro.envs.lasertag.game import LaserTag
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.sharding import Layout
from maestro.train import EXPLORE
from tracing import roomy, spare

LENGTH = 4  # cycles in a chunk
PPO = {"workers": 16, "minibatches": 2}
PARALLEL = {"kind": "parallel"}
COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-permute", "reduce-scatter")
SIZES = {"f32": 4, "s32": 4, "u32": 4, "u8": 1, "pred": 1}


class Wide(probes.Race):
    """A race with observations so large that environments are restarted a few at a time."""

    def observe(self, level, state):
        return jnp.tile(super().observe(level, state), (1, 12, 12, 1))


def race(env=None, agent=None, **changes):
    """An experiment on the probe game."""
    ppo = PPO | changes.pop("ppo", {})
    return probes.experiment(probes.with_changes(ppo=ppo, **changes), env, agent)


def lasertag_config():
    """LaserTag, tiny."""
    config = replace(GAME.presets["tiny"], environment=LaserTag(5, 7), agent=ConvLSTM(filters=4, hidden=16))
    return probes.with_changes(
        config,
        ppo={**PPO, "rollout_length": 64, "epochs": 2},
        curriculum={"member_buffer_size": 8, "min_fill": 0.25, "playlist": 2},
    )


def lasertag():
    """The experiment."""
    return build.experiment(GAME, lasertag_config())


CASES = {  # (experiment, seeds, layouts, whether it learns)
    "race": (lambda: race(schedule=PARALLEL), 2, ("2x4",), True),
    "race, seeds apart": (lambda: race(schedule=PARALLEL), 2, ("2x1",), True),
    "race on all devices": (lambda: race(schedule=PARALLEL), 2, ("1x8",), True),
    "lasertag": (lasertag, 1, ("1x2", "1x8"), False),
    "lasertag learns": (lasertag, 1, ("1x2", "1x8"), True),
    "eight seeds": (lambda: race(), 8, ("8x1", "2x1", "4x2"), True),
    "large observations": (
        lambda: race(Wide(), probes.SmallAgent(view=(36, 36, 1))), 1, ("1x2", "1x8"), False
    ),
    "both seats": (
        lambda: race(method="dr-sp", schedule={"sp_train_both": True}), 2, ("1x8", "2x4"), True
    ),
    "a co-player for each worker": (
        lambda: race(schedule=PARALLEL, curriculum={"coplayer_per": "worker"}), 2, ("1x8", "2x2"), True
    ),
    "new levels apart": (
        lambda: race(schedule=PARALLEL, curriculum={"cold": "redraw"}), 2, ("1x8", "2x2"), True
    ),
    "steps, returns, memories": (
        lambda: race(
            ppo={"shuffle": "steps", "normalize_returns": True},
            curriculum={"score": "learnability"},
            method="plr-fsp",
            agent=probes.ForgetfulAgent(),
        ),
        2,
        ("1x8", "2x2"),
        True,
    ),
    "exploiters": (
        lambda: race(schedule={"exploiters": "beside", "exploiter_updates": 1, "interval": 1}),
        2,
        ("1x8", "2x2"),
        True,
    ),
}  # fmt: skip


def first_rollout(exp, state):
    """(cohort, the first trajectory of each seed with all observations, [1, seeds, ...])."""
    keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, state.cycles)))(state.seeds.key)

    def one(seed, key):
        coplayer = cohort.draw_coplayers(key[0], exp, seed, EXPLORE)
        ask_key, play_key, _ = jax.random.split(key[1], 3)
        task = curriculum.ask(ask_key, exp.teacher, seed.curriculum, coplayer, EXPLORE.new, EXPLORE.replay)
        seen = train.play(play_key, exp, seed, task)
        return seen.replace(obs=mesh.whole(seen.obs, train.seats(exp)))

    return state, jax.tree.map(lambda x: x[None], jax.vmap(one)(state.seeds, keys))


ASKED = []  # for how many sequences a form of the LSTM was chosen


def chosen(hidden, sequences):
    """The form of the LSTM, and a note of it."""
    ASKED.append(sequences)
    return form.choose(hidden, sequences)


def program(layout, function, *arguments):
    """Compiled quickly."""
    spread = function if layout is None else layout.spread(function)
    return jax.jit(spread, compiler_options=probes.QUICK).lower(*arguments).compile()


def trained(chunk, state):
    """(after the first update, after eight cycles more)."""
    everything = np.int32(100), np.int32(LENGTH)
    first, tries = state, 0
    while int(first.updates) < 1:
        first, tries = chunk(first, np.int32(1), np.int32(LENGTH))[0], tries + 1
        assert tries < 10
    later = chunk(chunk(first, *everything)[0], *everything)[0]
    return first, later


def findings(exp, seeds, layout, learns):
    """What a layout comes to, by name."""
    start = probes.start(exp, 0, seeds)
    state = sharding.put(layout, start)
    ASKED.clear()
    yield "put", sharding.fetch(state), None
    play = program(layout, partial(first_rollout, exp), state)
    yield "rollout", sharding.fetch(play(state)[1]), collectives(play.as_text())
    if not learns:
        return
    chunk = program(layout, partial(cohort.train_steps, exp, LENGTH), state, np.int32(0), np.int32(0))
    first, later = trained(chunk, state)
    yield "first", sharding.fetch(first), collectives(chunk.as_text())
    yield "later", sharding.fetch(later), memory(chunk)
    yield "again", sharding.fetch(trained(chunk, sharding.put(layout, start))[1]), sorted(set(ASKED))
    resumed = sharding.put(layout, sharding.fetch(first))
    everything = np.int32(100), np.int32(LENGTH)
    yield "resumed", sharding.fetch(chunk(chunk(resumed, *everything)[0], *everything)[0]), None


def memory(program):
    """Bytes on a device, by the compiler's own account."""
    sizes = program.memory_analysis()
    return sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes


def collectives(text):
    """[kind, bytes of the result on a device, devices that talk] of each collective of a compiled program."""
    found = []
    for line in text.splitlines():
        match = re.search(r"= (.*?) ([a-z-]+?)(?:-start)?\(", line)
        if match and match[2] in COLLECTIVES:
            shapes = re.findall(r"(\w+)\[([\d,]*)\]", match[1])
            size = sum(
                SIZES[kind] * int(np.prod([int(n) for n in dims.split(",") if n])) for kind, dims in shapes
            )
            found.append([match[2], size, "everywhere" if "pmin" in line else "envs"])
    return found


def plain(leaf):
    """An array as numbers; random keys as what they hold."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def main(case, file):
    """Write everything that the layouts of a case come to."""
    spare()
    make, seeds, layouts, learns = CASES[case]
    lstm.choose = chosen
    exp, arrays, told = make(), {}, {}
    for name in ("none", *layouts):
        layout = None if name == "none" else Layout(*map(int, name.split("x")))
        for what, tree, talk in findings(exp, seeds, layout, learns):
            told |= {f"{name}/{what}": talk} if talk else {}
            for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
                arrays[f"{name}/{what}/{jax.tree_util.keystr(path)}"] = plain(leaf)
    np.savez(file, **arrays)
    Path(file).with_suffix(".json").write_text(json.dumps(told))


if __name__ == "__main__":
    roomy(main, *sys.argv[1:])
