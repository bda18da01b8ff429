"""The data of a small report, and what tests of its page ask the browser."""

import copy
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from browser import Watched

ROOT = Path(__file__).parent.parent
DATA = json.loads((ROOT / "tests" / "golden" / "report.json").read_text())
PAGE = ROOT / "src" / "maestro" / "analysis" / "report" / "page"
SECTIONS = ["tables", "curriculum", "landscape", "crossplay", "population", "curves", "figures", "left-out"]
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
Show = Callable[..., AbstractContextManager[Watched]]

# A number that changes with what is drawn on a canvas; a drawing waits for its size, then for a frame.
DRAWN = """async (canvas) => {
  for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
  return canvas.toDataURL().split('').reduce((a, c) => (31 * a + c.charCodeAt(0)) | 0, 0);
}"""


def changed(**parts: Any) -> dict[str, Any]:
    """The data with some of its parts replaced."""
    return {**copy.deepcopy(DATA), **parts}


def texts(page: Any, selector: str) -> list[str]:
    """What all elements of a kind say."""
    return page.locator(selector).all_inner_texts()


def focused(page: Any) -> str:
    """The label of what has the focus, or its text."""
    return page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
    )


def sections(page: Any) -> list[str]:
    """The sections of a page, in order."""
    return page.locator("main > section").evaluate_all("all => all.map(x => x.id)")


def links(page: Any) -> list[str]:
    """The sections to which the navigation leads."""
    return page.locator("#nav a").evaluate_all("all => all.map(x => x.hash.slice(1))")
