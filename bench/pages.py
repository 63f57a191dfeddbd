"""Measures report pages of long recordings: how long they take to make and to use.

The recordings have 10,000, 100,000 and 1,000,000 frames. Waiting times of a reader are measured in
the page itself, in Chromium. The best of several rounds counts, since other programs run at the
same time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from bench.build import BenchError
from bench.subjects import PROXY, in_own_process
from tests.support.million_frames import record_million

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FRAMES = (10_000, 100_000, 1_000_000)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
_TIMEOUT_MS = 120_000
GOALS = """\
  aim: first rows 300, 400 and 1,100 ms; jump 100, filter 50, search 5,000, longest task 100 ms;
  1,200 nodes, renderer 600 MB; 100,000 and 1,000,000 frames made in 5 and 50 s with 160 MB"""

_NOTE = """
const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
window.noted = {longest: 0, rows: null, drawn};
const observer = new PerformanceObserver((list) => {
  for (const {duration} of list.getEntries()) noted.longest = Math.max(noted.longest, duration);
});
observer.observe({type: "longtask", buffered: true});
const look = () => {
  if (document.querySelector(".list-body .list-text")) {
    drawn().then(() => noted.rows = performance.now());
  } else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
"""A script that runs before the page's own: it notes the first drawn rows and the longest task."""

_READY = """async () => {
  while (noted.rows === null) await new Promise((done) => setTimeout(done, 20));
  return noted.rows;
}"""
_JUMP = """async () => {
  const {state, recording} = acpReport;
  let longest = 0;
  for (const part of [0.5, 0.9, 0.1, 0.7]) {
    const began = performance.now();
    state.select(Math.floor(recording.rows * part));
    do await noted.drawn();
    while (!document.querySelector("[aria-selected=true] .list-text")?.textContent);
    longest = Math.max(longest, performance.now() - began);
  }
  return longest;
}"""
_FILTER = """async () => {
  const began = performance.now();
  await acpReport.state.setFilter("kind:request latency:..10s");
  await noted.drawn();
  const took = performance.now() - began;
  await acpReport.state.setFilter("");
  return took;
}"""
_SEARCH = """async () => {
  const began = performance.now();
  await acpReport.state.setQuery("question 7");
  return performance.now() - began;
}"""


@frozen
class PageTime:
    """The figures of a page: times to use it in milliseconds, and the time to make it."""

    frames: int
    made_s: float
    made_mb: float
    """The peak memory of making the page."""
    size_kb: float
    first_rows_ms: float
    """The time from the navigation until the first rows are drawn."""
    jump_ms: float
    """The time to draw a row far away: the longest of four jumps."""
    filter_ms: float
    search_ms: float
    """The time of a search through all lines."""
    longest_task_ms: float
    """The longest task since the navigation; 0 if no task took 50 ms."""
    nodes: int
    """Elements in the part of the page that scripts fill."""
    heap_mb: float
    renderer_mb: float
    """The peak memory of the process of the page."""

    def line(self) -> str:
        """Returns the figures as a line for the terminal."""
        return (
            f"report of {self.frames:,} frames: made in {self.made_s:.1f} s with"
            f" {self.made_mb:.0f} MB, {self.size_kb:,.0f} kB;"
            f" first rows {self.first_rows_ms:.0f} ms,"
            f" jump {self.jump_ms:.0f} ms, filter {self.filter_ms:.0f} ms,"
            f" search {self.search_ms:.0f} ms, longest task {self.longest_task_ms:.0f} ms;"
            f" {self.nodes} nodes, heap {self.heap_mb:.0f} MB, renderer {self.renderer_mb:.0f} MB"
        )


def measure_pages(rounds: int, frames: tuple[int, ...] = FRAMES) -> list[PageTime]:
    """Measures the page of a recording for each number of frames.

    Raises:
        BenchError: Playwright, Chromium or acp-proxy is missing, or a page cannot be made.
    """
    try:
        from playwright.sync_api import sync_playwright  # late: only these figures need it
    except ImportError as error:
        raise BenchError(f"pages need playwright: {error}") from error
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise BenchError("pages need chromium on the PATH")
    with (
        tempfile.TemporaryDirectory(prefix="acp-bench-") as directory,
        sync_playwright() as running,
    ):
        times = []
        for count in frames:
            recording = in_own_process(record_million, Path(directory) / f"{count}.db", count)
            page, made = recording.with_suffix(".html"), _made(recording)
            used = []
            for _ in range(rounds):
                browser = running.chromium.launch(executable_path=program, args=[*FLAGS])
                used.append(_used(browser, page))
                browser.close()
            best = {name: min(item[name] for item in used) for name in used[0]}
            times.append(PageTime(frames=count, size_kb=page.stat().st_size / 1e3, **made, **best))
        return times


def _made(recording: Path) -> dict[str, Any]:
    """Makes the page of a recording; returns the time and the memory that this took."""
    page = recording.with_suffix(".html")
    with subprocess.Popen(
        [PROXY, "inspect", "report", recording, "--output", page], stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchError(f"no page of {recording.name}: exit {process.returncode}")
    return {"made_s": usage.ru_utime + usage.ru_stime, "made_mb": usage.ru_maxrss / 1e3}


def _used(browser: Browser, path: Path) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(_TIMEOUT_MS)
    page.add_init_script(_NOTE)
    page.goto(f"{path.as_uri()}#view=list")  # all figures but the search are about rows
    results: dict[str, Any] = {"first_rows_ms": page.evaluate(_READY)}
    page.wait_for_timeout(500)
    results["jump_ms"] = page.evaluate(_JUMP)
    results["nodes"] = page.evaluate("() => document.querySelectorAll('#app *').length")
    results["filter_ms"] = page.evaluate(_FILTER)
    results["search_ms"] = page.evaluate(_SEARCH)
    results["longest_task_ms"] = page.evaluate("() => noted.longest")
    heap = page.context.new_cdp_session(page).send("Runtime.getHeapUsage")
    results["heap_mb"] = heap["usedSize"] / 1e6
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    renderers = [process["id"] for process in processes if process["type"] == "renderer"]
    results["renderer_mb"] = max(map(_peak_kb, renderers)) / 1e3
    return results


def _peak_kb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])
