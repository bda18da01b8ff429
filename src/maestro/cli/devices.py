"""`--devices` and `--mesh`: over which devices a run is spread."""

import re

import jax

from maestro import sharding
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig
from maestro.sharding import Layout

FORM = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


def layout_of(typed: str, mesh: str, config: RunConfig, dry: bool = False) -> Layout | None:
    """How a run is spread over the devices that it may use; a dry run may ask about more than there are."""
    here = jax.device_count()
    if here == 1 and not typed and not mesh:
        return None
    wanted = axes(mesh) if mesh else None
    count = number(typed) if typed else max(here, wanted[0] * wanted[1]) if wanted and dry else here
    if count > here and not dry:
        raise Mistake(f"--devices: {count} are wanted, and there are {here}")
    workers = sharding.divisor(config)
    try:
        return sharding.choose(count, config.seeds, workers, wanted)
    except ValueError as error:
        would = sharding.spoken(sharding.fitting(count, config.seeds, workers))
        more = f"; {would} devices in all would do" * (config.seeds > 1)
        raise Mistake(f"--mesh: {error}" if wanted else f"--devices: {error}{more}") from None


def number(typed: str) -> int:
    """How many devices were asked for."""
    if not re.fullmatch(r"[1-9]\d{0,5}", typed):
        raise Mistake(f"--devices: {typed!r} is no number of devices; such as 8")
    return int(typed)


def axes(typed: str) -> tuple[int, int]:
    """(devices along the seeds, devices along the environments)."""
    found = FORM.fullmatch(typed)
    if found is None:
        raise Mistake(f"--mesh: {typed!r} is no SEEDSxENVS; such as 4x2")
    return int(found[1]), int(found[2])
