"""A checker that the author of a new game runs: it names every clause of `Environment` that is broken."""

from collections.abc import Callable
from typing import Any

from maestro.envs.contract.clauses import CLAUSES, EDITS, ROUND_TRIP
from maestro.envs.contract.trial import NoPlay, Trial


class ContractError(Exception):
    """The clauses that a game breaks, by name, each with what was seen."""

    def __init__(self, env: Any, broken: dict[str, str]):
        lines = [f"  {clause}: {seen}" for clause, seen in broken.items()]
        super().__init__(f"{type(env).__name__} breaks {len(broken)} clauses\n" + "\n".join(lines))
        self.broken = broken


def check(
    env: Any,
    to_text: Callable[[Any], str] | None = None,
    from_text: Callable[[str], Any] | None = None,
) -> tuple[str, ...]:
    """Raise `ContractError` if `env` is not a sound `Environment`; returns the clauses that were checked.

    `to_text` and `from_text` write and read a level; without them the round trip is not checked, nor are
    edits where a game has none.
    """
    if (to_text is None) != (from_text is None):
        raise ValueError("to_text and from_text: give both or neither")
    trial = Trial(env, to_text, from_text)
    has = {ROUND_TRIP: to_text is not None, EDITS: hasattr(env, "edit")}
    clauses = {name: clause for name, clause in CLAUSES.items() if has.get(name, True)}
    broken: dict[str, str] = {}
    for name, clause in clauses.items():
        try:
            seen = next(clause(trial), None)
        except NoPlay:
            continue  # named by the clause "can be scanned"
        except Exception as error:
            seen = f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if seen is not None:
            broken[name] = seen
    if broken:
        raise ContractError(env, broken)
    return tuple(clauses)
