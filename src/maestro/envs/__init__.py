"""Games as environments whose level is an explicit argument; `check` says whether a new one is sound."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`check` and `ContractError`, imported when first asked for."""
    if name in ("check", "ContractError"):
        from maestro.envs import contract

        return getattr(contract, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
