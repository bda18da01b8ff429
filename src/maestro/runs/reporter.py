"""Whom a run tells how it is going."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Reporter(Protocol):
    """A terminal, a log, a test: whoever listens."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def show(self, status: dict[str, Any]) -> None:
        """The newest status, which replaces the one before."""
