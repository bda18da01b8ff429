"""Plain data for a page, finite and short, or null; and numbers in its sentences."""

import json
import math
from typing import Any

import numpy as np

DIGITS = 4  # that are told of a number
UNSAFE = {ord(x): f"\\u{ord(x):04x}" for x in "<>&\u2028\u2029"}  # what could end a script's element


def short(value: Any, digits: int = DIGITS) -> int | float | None:
    """A number with few digits; null if there is none."""
    number = float(value)
    if not math.isfinite(number):
        return None
    found = float(f"{number:.{digits}g}")
    return int(found) if found == int(found) and abs(found) < 1e15 else found


def listed(values: Any) -> Any:
    """An array, or nested lists, of short numbers."""
    if np.ndim(values):
        return [listed(part) for part in values]
    return short(values)


def finite(value: Any) -> Any:
    """Plain data without a number that JSON does not have."""
    if isinstance(value, dict):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return finite(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_json(data: Any) -> str:
    """JSON in which nothing can end the element of the page that holds it."""
    form: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    try:
        text = json.dumps(data, **form)
    except (ValueError, TypeError):  # slower, and seldom needed
        text = json.dumps(finite(data), **form)
    readable = text.encode("utf-8", "replace").decode()  # names of files may hold half characters
    return readable.translate(UNSAFE)


def signed(value: float) -> str:
    """A number with its sign."""
    return f"{value:+.3f}"


def count(number: int, what: str = "seed") -> str:
    """How many there are."""
    return f"{number} {what}" + "s" * (number != 1)


def both(one: int, other: int) -> str:
    """How many seeds two methods have."""
    return f"{count(one)} each" if one == other else f"{one} and {count(other)}"


def sure(low: float | None, high: float | None, seeds: str) -> str:
    """An interval in words, and whether it leaves out zero."""
    if low is None or high is None or low != low or high != high:
        return f"without an interval: {seeds}"
    out = low > 0 or high < 0
    verdict = "which excludes zero" if out else "which includes zero: it may be chance"
    return f"95 % interval {signed(low)} to {signed(high)}, {verdict}; {seeds}"
