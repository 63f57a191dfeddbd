"""The tests' monitor of report pages notes every action of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visitor

HARMLESS = """<!doctype html><title>harmless</title><p id="here">text</p><script>
location.hash = "here";
const text = URL.createObjectURL(new Blob(["postMessage(1)"], {type: "text/javascript"}));
new Worker(text).onmessage = () => { document.title = "done"; };
console.log("fine");
</script>"""
NOISY = """<!doctype html><title>noisy</title><img src="http://example.invalid/image.png"><script>
alert("a dialog");
confirm("another one");
fetch("http://example.invalid/fetched").catch(() => {});
navigator.sendBeacon("http://example.invalid/beacon");
new WebSocket("ws://example.invalid/socket");
window.open("about:blank#window");
console.error("an error");
console.warn("a warning");
setTimeout(() => { document.title = "done"; }, 0);
undefined.member;
</script>"""
LEAVES = """<!doctype html><meta http-equiv="refresh" content="0; url=other.html">"""
DONE = "() => document.title === 'done'"


def page(directory: Path, text: str) -> Path:
    """Writes a file with an HTML page."""
    path = directory / "page.html"
    path.write_text(text)
    return path


def test_a_harmless_page_is_quiet(visit: Visitor, tmp_path: Path) -> None:
    """The monitor that watches pages in the browser tests reports nothing about a harmless page."""
    window = visit.window()
    for fragment in ("", "#here", ""):
        window.open(page(tmp_path, HARMLESS), fragment, ready=DONE).assert_quiet()


def test_whatever_a_page_does_is_noted(visit: Visitor, tmp_path: Path) -> None:
    """The monitor that watches pages in the browser tests notes each dialog, request and error."""
    noted = visit.window().open(page(tmp_path, NOISY), ready=DONE).noted
    assert noted.dialogs == ["alert a dialog", "confirm another one"]
    for name in ("image.png", "fetched", "beacon", "socket"):
        assert any(name in request for request in noted.requests), name
    assert noted.navigations == ["a window"]
    for text in ("an error", "a warning", "Cannot read properties of undefined"):
        assert any(text in error for error in noted.errors), text


def test_a_page_that_goes_elsewhere_is_noted(visit: Visitor, tmp_path: Path) -> None:
    """The monitor that watches pages in the browser tests notes that a page opens another file."""
    window = visit.window(java_script_enabled=False)
    (tmp_path / "other.html").write_text("somewhere else")
    with window.page.expect_event("framenavigated", lambda frame: "other" in frame.url):
        window.open(page(tmp_path, LEAVES), ready=None)
    assert any("other.html" in request for request in window.noted.requests)
    assert any("other.html" in address for address in window.noted.navigations)
