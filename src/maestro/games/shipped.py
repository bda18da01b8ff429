"""Agents that come with the package: a file and a card for each, by their game's name and their own."""

import json
from pathlib import Path
from typing import Any

ENDING = ".safetensors"
FOLDER = Path(__file__).parent / "agents"  # GAME/NAME.safetensors and GAME/NAME.json


def names(game: str) -> list[str]:
    """Of the agents of a game."""
    return sorted(path.stem for path in FOLDER.glob(f"*/*{ENDING}") if path.parent.name == game)


def find(game: str, name: str) -> Path | None:
    """The file of an agent of a game by its name, in upper or lower case."""
    known = {own.lower(): own for own in names(game)}
    return FOLDER / game / f"{known[name.lower()]}{ENDING}" if name.lower() in known else None


def cards(game: str) -> dict[str, dict[str, Any]]:
    """What is known of each agent of a game: how it was trained, and how it does."""
    files = {name: FOLDER / game / f"{name}.json" for name in names(game)}
    return {name: json.loads(file.read_bytes()) for name, file in files.items()}
