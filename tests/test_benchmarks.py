"""What the benchmarks say of results and programs."""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import compare
import forms
import phases


def result(path: Path, device: str = "chip", **cells: list[float]) -> str:
    rows = [{"name": name, "cycle_ms": times} for name, times in cells.items()]
    path.write_text(json.dumps({"device": device, "rows": rows}))
    return str(path)


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ([10.2, 10.4, 11.0], 0),  # slower by 4 %
        ([11.5, 12.0, 13.0], 1),  # by 20 %
        ([10.5, 12.0, 13.0], 0),  # by 20 %, but one repeat was as quick as before
        ([5.0, 6.0, 7.0], 0),
    ],
)
def test_a_slowdown_is_seen_beyond_what_repeats_differ_by(tmp_path, monkeypatch, capsys, new, code):
    old = result(tmp_path / "old.json", one=[9.0, 10.0, 11.0], gone=[1.0, 1.0, 1.0])
    given = result(tmp_path / "new.json", one=new)
    monkeypatch.setattr(sys, "argv", ["compare.py", old, given])
    assert compare.main() == code
    said = capsys.readouterr().out
    assert f"{new[1] / 10:.3f} x" in said and ("slower" in said) == bool(code) and "only in" in said


def test_results_of_different_devices_are_not_compared(tmp_path, monkeypatch, capsys):
    old, new = (result(tmp_path / f"{name}.json", device=name) for name in ("CPU", "GPU"))
    monkeypatch.setattr(sys, "argv", ["compare.py", old, new])
    with pytest.raises(SystemExit) as refused:
        compare.main()
    assert refused.value.code == 2 and "is of CPU" in capsys.readouterr().err


def test_kernels_of_a_loop_are_counted():
    def turns(number):
        return lambda x: jax.lax.fori_loop(0, number, lambda _, x: jnp.sort(jnp.sin(x) + jnp.flip(x)), x)

    program = jax.jit(turns(37)).lower(jnp.arange(16.0)).compile().as_text()
    found = phases.kernels_per_turn(program, 37)
    assert found is not None and 2 <= found <= 6
    assert phases.kernels_per_turn(program, 38) is None


def test_a_kernel_beside_others_counts_once_and_copies_count():
    program = """
%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]) parameter(0)
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %begun = ((f32[8]{0}, s32[]), f32[8]{0}, u32[]) fusion-start(%x), kind=kLoop, calls=%f
  %copied = f32[8]{0} copy(%x)
  ROOT %done = f32[8]{0} fusion-done(%begun)
}
ENTRY %main { %w = (s32[], f32[8]) while(%a), body=%body, backend_config={"known_trip_count":{"n":"9"}} }
"""
    assert phases.kernels_of_turn(program, 9) == [("begun", "fusion-start"), ("copied", "copy")]
    assert phases.kernels_of_turn(program, 8) == []


def test_arithmetic_of_a_chip_is_counted():
    most = phases.ceilings()
    assert most["flop_per_s"] > 1e9 and most["bytes_per_s"] > 1e8


def test_two_forms_are_compared_seed_by_seed():
    said = forms.told({"kernel": [0.52, 0.70, 0.91], "portable": [0.50, 0.70, 0.90]})
    assert "kernel 0.710, portable 0.700" in said
    assert "by +0.010 (95 % -0.015 to +0.035), within 0.05 of 0" in said  # 4.303 * .01 / sqrt(3)
    assert "not within" in forms.told({"kernel": [0.9, 0.1], "portable": [0.1, 0.1]})
