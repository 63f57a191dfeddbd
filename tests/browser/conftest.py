"""Fixtures of the browser tests: a Chromium for each worker, a profile for each test."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.browser.hostile import record_hostile
from tests.browser.truth import report
from tests.browser.watching import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.watching import Visit

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
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
    """Starts the headless Chromium of the system.

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
