"""What can be chosen of a page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """What can be chosen of a page."""

    title: str = ""
    methods: tuple[str, ...] = ()  # only these
    figures: bool = True
    games: bool = True  # whether games are recorded
    live: bool = False  # of a run that goes on: neither figures nor games
