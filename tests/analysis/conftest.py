"""What tests of pages share: a browser for each module, and a page of some data opened in it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import browser
from maestro.analysis import report
from report_pages import DATA, Show


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.launched() as found:
        yield found


@pytest.fixture
def show(chromium: Any, tmp_path: Path) -> Show:
    """The page of some data, opened from disk."""

    def opened(data: dict[str, Any] = DATA, **settings: Any) -> AbstractContextManager[browser.Watched]:
        file = tmp_path / "report.html"
        file.write_text(report.page(data), encoding="utf-8")
        return browser.opened(chromium, file.as_uri(), **settings)

    return opened
