"""Fixtures of the browser tests: a Chromium for each worker, a profile for each test."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.browser.hostile import record_hostile
from tests.browser.truth import report
from tests.browser.watching import WIDE, Visitor
from tests.support.live_window import serve_window
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.watching import Visit
    from tests.support.live_window import LiveWindow

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The programs that may open pages. The first has no user interface and needs the least time."""
FLAGS = (
    "--no-sandbox",  # which root cannot have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Starts the installed Chromium in headless mode.

    Chromium ends before the tests of other directories run. While Playwright runs, this thread has
    an event loop of asyncio, and no other event loop can start.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="expected playwright")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("expected chromium on the PATH")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=program, args=[*FLAGS])
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a recording with every payload in every place."""
    return record_hostile(tmp_path_factory.mktemp("hostile") / "hostile.db")


@pytest.fixture(scope="package")
def hostile_report(hostile: Path) -> Path:
    """Makes the report page of the recording `hostile`."""
    return report(hostile, hostile.parent)


@pytest.fixture(scope="package")
def window(browser: Browser) -> Iterator[Visit]:
    """Opens a window for many pages, one after the other."""
    with Visitor(browser) as visitor:
        yield visitor.window()


@pytest.fixture
def resize(window: Visit) -> Iterator[Callable[[int, int], None]]:
    """Changes the width and the height of the shared window until the test ends."""
    page = window.page
    yield lambda width, height: page.set_viewport_size({"width": width, "height": height})
    page.set_viewport_size(WIDE)


@pytest.fixture(scope="package")
def plain_window(browser: Browser) -> Iterator[Visit]:
    """Opens a window without JavaScript."""
    with Visitor(browser) as visitor:
        yield visitor.window(java_script_enabled=False)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visitor]:
    """Opens pages in windows that note each dialog, request, navigation and error."""
    with Visitor(browser) as visitor:
        yield visitor


@pytest.fixture
def live_window(tmp_path: Path) -> Iterator[LiveWindow]:
    """A server of the live window on a directory of its own, which has no recordings yet."""
    (tmp_path / "recordings").mkdir()
    with serve_window(tmp_path / "recordings", tmp_path / "state") as running:
        yield running


@pytest.fixture(scope="package")
def shipped_window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWindow]:
    """A server of the live window on copies of the shipped recordings. No test changes them."""
    base = tmp_path_factory.mktemp("shipped")
    (base / "recordings").mkdir()
    for path in SHIPPED:
        shutil.copy(path, base / "recordings")
    with serve_window(base / "recordings", base / "state") as running:
        yield running
