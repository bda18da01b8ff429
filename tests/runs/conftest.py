"""No process that a test has started outlives it."""

from collections.abc import Iterator

import pytest

import runs_helpers


@pytest.fixture(autouse=True)
def processes_end() -> Iterator[None]:
    yield
    runs_helpers.end_all()
