"""Takes the pictures of a report page and of the live window in the Chromium of the system.

``python -m tests.tools.page_pictures`` writes the pictures to `docs/pictures`. Fonts
differ between systems, so no test compares the pictures. Review them by eye.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.support.command_line import run
from tests.support.hanging_chat import hanging_chat
from tests.support.live_window import serve_window
from tests.tools.pictures import PICTURES, ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_SIZE = {"width": 1280, "height": 960}
PICTURED = {
    "report.png": ("lost-permission", "light", ""),
    "report-sequence.png": ("tour", "dark", "#seq=25&view=sequence&f=seq:12..34"),
}
"""The recording, the colours and the part that is shown, by the name of the picture.

Many systems have no font for Chinese, so no part has such characters."""
OF_WINDOW = ("web.png", "web-list.png")
_IS_DRAWN = "() => document.querySelectorAll('#app [aria-rowindex], #app .entry-line').length > 3"


def main() -> None:
    """Takes and writes all pictures."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise SystemExit(f"expected one of {', '.join(CHROMIUM)} on the PATH")
    with sync_playwright() as running, tempfile.TemporaryDirectory() as directory:
        browser = running.chromium.launch(executable_path=program, args=[*FLAGS])
        for name, (recording, colours, place) in PICTURED.items():
            page = Path(directory, f"{recording}.html")
            result = run("report", str(ROOT / f"recordings/{recording}.db"), "-o", str(page))
            assert result.exit_code == 0, result.output
            _take(browser, f"{page.as_uri()}{place}", colours, PICTURES / name)
        _take_window(browser, Path(directory))
        browser.close()


def _take_window(browser: Browser, directory: Path) -> None:
    recordings = directory / "recordings"
    shutil.copytree(ROOT / "recordings", recordings, ignore=shutil.ignore_patterns("*.md"))
    with hanging_chat(recordings / "greeting.db"), serve_window(recordings, directory) as window:
        _take(browser, window.page("greeting.db"), "light", PICTURES / OF_WINDOW[0])
        _take(browser, window.page(), "dark", PICTURES / OF_WINDOW[1], ".chat:nth-child(9)")


def _take(
    browser: Browser, address: str, colours: str, output: Path, drawn: str | None = None
) -> None:
    page = browser.new_page(viewport=_SIZE, color_scheme=colours)  # type: ignore[arg-type]
    page.goto(address)
    if drawn:
        page.wait_for_selector(drawn)
    else:
        page.wait_for_function(_IS_DRAWN)
    if "view=" in address:  # what is below the head
        page.locator("#app").evaluate("(app) => app.scrollIntoView()")
    page.wait_for_timeout(500)  # for the texts of rows, which are inflated late
    page.screenshot(path=output)
    page.close()


if __name__ == "__main__":
    main()
