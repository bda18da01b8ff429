"""One step of an LSTM, as a rollout takes them: a kernel of its own where that can run, else two products."""

from collections.abc import Mapping

from jaxtyping import Array

from maestro.agents.lstm import kernel
from maestro.agents.lstm.cell import Carry, cell, operand_dtype, project
from maestro.agents.lstm.form import choose

Matrices = dict[str, Array]


def prepare(params: Mapping[str, Array]) -> Matrices:
    """The matrices as a step wants them: in the operands' dtype, for the kernel as one."""
    wx, wh = (params[name].astype(operand_dtype()) for name in ("wx", "wh"))
    if fits(wx, wh):
        return {"w": kernel.joined(wx, wh), "b": params["b"]}
    return {"wx": wx, "wh": wh, "b": params["b"]}


def fits(wx: Array, wh: Array) -> bool:
    """Whether the kernel takes such matrices, and runs here."""
    inputs = wx.shape[-2]
    if inputs % kernel.ALIGNED or inputs > kernel.WIDEST:
        return False
    return choose(wh.shape[-2], kernel.SEQUENCES).name == "kernel"


def step(matrices: Matrices, x: Array, h: Array, c: Array) -> Carry:
    """(h, c) after inputs x [..., F]; h is rounded as in `lstm`."""
    dtype = operand_dtype()
    if "w" not in matrices:
        h, c = cell(project(x, matrices["wx"], matrices["b"]), h, c, matrices["wh"])
        return h.astype(dtype), c
    rows = [y.reshape(1, -1, y.shape[-1]) for y in (x.astype(dtype), h, c)]
    found = kernel.step(*rows, matrices["w"][None], matrices["b"][None])
    return found[0].reshape(h.shape), found[1].reshape(c.shape)
