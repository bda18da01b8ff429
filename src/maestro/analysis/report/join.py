"""The page as one file: its style, the data and its scripts, of which nothing else may run."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from maestro.analysis.report.numbers import to_json

PAGE = Path(__file__).parent / "page"
HEAD = '<meta http-equiv="Content-Security-Policy" content="{}">'
POLICY = (
    "default-src 'none'; img-src data:; media-src data:; style-src {styles}; script-src {scripts}; "
    "connect-src {connect}; base-uri 'none'; form-action 'none'"
)


def page(data: dict[str, Any], game: Path | None = None) -> str:
    """The whole page; `game` is the folder of scripts with which the game can be played."""
    scripts = sources(PAGE, ".js") + (sources(game, ".js") if game and data.get("play") else [])
    style = "\n".join(sources(PAGE, ".css") + (sources(game, ".css") if game and data.get("play") else []))
    parts = {
        "<!--POLICY-->": HEAD.format(policy(style, scripts, bool(data.get("live")))),
        "<!--STYLE-->": f"<style>{style}</style>",
        "<!--DATA-->": f'<script type="application/json" id="data">{to_json(data)}</script>',
        "<!--SCRIPTS-->": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return filled((PAGE / "page.html").read_text(encoding="utf-8"), parts)


def filled(text: str, parts: dict[str, str]) -> str:
    """A text with its markers replaced, each once; what is put in is never looked into."""
    for marker in parts:
        if text.count(marker) != 1:
            raise ValueError(f"page.html: {marker} must stand in it once")
    places = sorted(parts, key=text.index)
    found, rest = "", text
    for marker in places:
        before, _, rest = rest.partition(marker)
        found += before + parts[marker]
    return found + rest


def sources(folder: Path, ending: str) -> list[str]:
    """The files of a kind in a folder, by name."""
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"*{ending}"))]


def policy(style: str, scripts: list[str], live: bool) -> str:
    """What the browser lets the page do: run these scripts, and ask nobody but, if live, its own server."""
    allowed = " ".join(map(digest, scripts)) or "'none'"
    return POLICY.format(styles=digest(style), scripts=allowed, connect="'self'" if live else "'none'")


def digest(text: str) -> str:
    """How a policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
