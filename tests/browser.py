"""A real browser for tests of pages: Debian's chromium, driven by playwright, cut off from all else."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = "there is no browser: `apt install chromium`, or Google Chrome as google-chrome on the PATH"
ARTIFACTS = Path(__file__).parent / "artifacts"  # screenshots of the last run, to be looked at


@dataclass
class Watched:
    """A page of the browser, with all that went wrong on it and all that it asked for elsewhere."""

    page: Any
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def keep(self, name: str, part: str | None = None) -> None:
        """A screenshot of what is seen, or of the whole of one part, as an artifact."""
        ARTIFACTS.mkdir(exist_ok=True)
        place = self.page.locator(part) if part else self.page
        place.screenshot(path=ARTIFACTS / f"{name}.png")

    def check(self) -> None:
        """Nothing may have gone wrong, and nobody else may have been asked for anything."""
        assert not self.errors and not self.strangers, (self.errors, self.strangers)


@contextmanager
def launched() -> Iterator[Any]:
    """The browser, for the tests of a module; without one they are skipped, and told why."""
    program = next((path for path in map(shutil.which, NAMES) if path), None)
    if program is None:
        pytest.skip(MISSING)
    api = pytest.importorskip("playwright.sync_api", reason="needs maestro-ued[dev]: playwright")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, address: str, own: str | None = None, **settings: Any) -> Iterator[Watched]:
    """A page in a context of its own, at rest unless told otherwise; `own` begins all it may ask for."""
    look = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **settings}
    with browser.new_context(**look) as context:
        watched = Watched(context.new_page())

        def guard(route: Any) -> None:
            if route.request.url.startswith(own or address):
                route.continue_()
            else:
                watched.strangers.append(route.request.url)
                route.abort()

        def listen(message: Any) -> None:
            if message.type in ("error", "warning"):
                watched.errors.append(message.text)

        context.route("**/*", guard)
        watched.page.on("console", listen)
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.goto(address)
        yield watched
