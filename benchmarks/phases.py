"""Where the time of a training cycle goes: its phases apart, its kernels, its arithmetic against the chip's.

`training.py --phases` prints it. Each phase is a program of its own here, so that their sum can differ a
little from a whole cycle; what is left of it (regret, buffers, metrics, joining) is called the rest, and is
noise where it is negative. Arithmetic is that of the network alone: one pass for each seat and step of the
rollout, three for each step of each epoch. The chip's ceilings are measured: a large product of matrices in
the operands' dtype, and a large copy.
"""

import functools
import re
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from maestro import cohort, curriculum, regret, train
from maestro.agents import lstm
from maestro.envs.base import observation_shape
from maestro.runs.cost import BACKWARD
from maestro.train import Experiment, TrainState

REPEATS = 5
NO_KERNELS = {"parameter", "get-tuple-element", "tuple", "bitcast", "constant", "fusion-done", "copy-done"}


def clocked(function: Callable[..., Any], *inputs: Any) -> tuple[float, Any, Any]:
    """(median seconds, what it returns, the compiled program)."""
    program = jax.jit(function).lower(*inputs).compile()
    result, found = jax.block_until_ready(program(*inputs)), []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(program(*inputs))
        found.append(time.perf_counter() - began)
    return sorted(found)[REPEATS // 2], result, program


def kernels_of_turn(program: str, turns: int) -> list[tuple[str, str]]:
    """(name, kind) of what one turn of the longest loop of so many turns runs; empty without one."""
    bodies = re.findall(rf'body=%?([\w.\-]+).*?"known_trip_count":{{"n":"{turns}"', program)
    longest: list[tuple[str, str]] = []
    for body in bodies:
        text = re.search(rf"^%?{re.escape(body)} .*?^}}", program, re.MULTILINE | re.DOTALL)
        found = re.findall(r"%?([\w.\-]+) = (?:\(.*?\)|\S+) ([a-z\-]+)\(", text[0]) if text else []
        longest = max(longest, [(name, kind) for name, kind in found if kind not in NO_KERNELS], key=len)
    return longest


def kernels_per_turn(program: str, turns: int) -> int | None:
    """How many there are; None without such a loop."""
    return len(kernels_of_turn(program, turns)) or None


@functools.cache
def ceilings() -> dict[str, float]:
    """Operations and bytes per second of this chip, as a large product and a large copy reach them."""
    side, numbers = (1024, 2**26) if jax.default_backend() == "cpu" else (8192, 2**30)
    matrix = jnp.ones((side, side), lstm.operand_dtype())
    product, *_ = clocked(lambda a: a @ a, matrix)
    large = jnp.ones(numbers, jnp.float32)
    copy, *_ = clocked(lambda a: a + 1, large)
    return {"flop_per_s": 2 * side**3 / product, "bytes_per_s": 2 * large.nbytes / copy}


def network_flop(experiment: Experiment) -> float:
    """Operations of one pass of the network, by XLA's count."""
    agent = experiment.agent
    params = agent.init(jax.random.key(0))
    obs = jax.tree.map(lambda x: jnp.zeros((64, *x.shape), x.dtype), observation_shape(experiment.env))
    step = jax.jit(lambda p, o: agent.step(agent.prepare(p), agent.start(64), o))
    costs: Any = step.lower(params, obs).compile().cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    return float(costs.get("flops", 0)) / 64


def measure(experiment: Experiment, seeds: TrainState, cycle: float) -> dict[str, Any]:
    """Seconds of each phase of a cycle that trains, and what they are worth."""
    plan, count = train.training_plan(experiment), len(seeds.key)
    keys = jax.random.split(jax.random.key(0), count)

    def ask(key: Any, state: TrainState) -> Any:
        coplayer = cohort.draw_coplayers(key, experiment, state, plan)
        return curriculum.ask(key, experiment.teacher, state.curriculum, coplayer, plan.new, plan.replay)

    def score(trajectory: Any) -> Any:
        return regret.generalized_advantage(trajectory, experiment.ppo.gamma, experiment.ppo.gae_lambda)

    asking, tasks, _ = clocked(jax.vmap(ask), keys, seeds)
    playing, played, program = clocked(
        jax.vmap(lambda key, state, task: train.play(key, experiment, state, task)), keys, seeds, tasks
    )
    scoring, advantage, _ = clocked(jax.vmap(score), played)
    learning, *_ = clocked(
        jax.vmap(lambda *inputs: train.learn(inputs[0], experiment, *inputs[1:])),
        *(keys, seeds, tasks, played, advantage),
    )
    parts = {"ask": asking, "rollout": playing, "advantages": scoring, "update": learning}
    parts["rest"] = cycle - sum(parts.values())
    return told(experiment, count, parts, kernels_per_turn(program.as_text(), experiment.ppo.rollout_length))


def told(experiment: Experiment, count: int, parts: dict[str, float], kernels: int | None) -> dict[str, Any]:
    """The phases as a row, printed."""
    ppo, flop, most = experiment.ppo, network_flop(experiment), ceilings()
    steps = count * ppo.workers * ppo.rollout_length
    work = {"rollout": 2 * 2 * steps * flop, "update": BACKWARD * ppo.epochs * steps * flop}
    for name, seconds in parts.items():
        share = work.get(name, 0) / seconds / most["flop_per_s"]
        more = f"  {share:6.1%} of the FLOP/s that this chip reaches" if name in work else ""
        print(f"    {name:<12} {1e3 * seconds:9.2f} ms{more}", flush=True)
    per_step = 1e6 * parts["rollout"] / ppo.rollout_length
    known = "?" if kernels is None else kernels
    print(f"    a step of the rollout takes {per_step:.1f} us and {known} kernels", flush=True)
    milliseconds = {name: round(1e3 * seconds, 3) for name, seconds in parts.items()}
    return {"milliseconds": milliseconds, "kernels_per_step": kernels, "flop": work, "ceilings": most}
