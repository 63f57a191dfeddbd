"""Settings of all tests: Hypothesis draws the same examples in each run; CI skips no test.

Outside of CI, a run prints at its end how many tests were skipped because programs are missing.

With ``--hypothesis-profile thorough``, Hypothesis draws many more examples, new ones in each run.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from tests.support.playbook import Record, RecordedTranscript

    Report = pytest.CollectReport | pytest.TestReport

pytest.register_assert_rewrite(
    "tests.support.labelled_transcripts", "tests.support.playbook", "tests.support.fault_playbook"
)

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=7, database=None)
settings.register_profile("thorough", deadline=None, max_examples=2000, database=None)
settings.load_profile("ci")
os.environ["PAGER"] = "cat"  # nobody would quit a pager on the terminals of tests

_MAY_LACK = ("expected jq", "expected node and npm on the PATH", "chattr failed")
"""Reasons to skip on plain Debian, or as root in a container; no other reason is allowed there."""
_MAY_LACK_ELSEWHERE = (
    "only Linux lets us take them in",
    "XDG is for Linux",
    "elsewhere nobody can say what stdin is",
    "needs /dev/full, which Linux has",
    "expected /proc",
    "expected prlimit",
    "expected /dev/fd",
    "expected chromium on the PATH",
)
"""Reasons to skip on other systems."""
_LEAST_PAGES = pytest.StashKey[int]()
_SPARE_PAGES = 8_192
"""How many pages of memory a process may keep in addition to `_LEAST_PAGES`."""
_PACKAGES = {
    "jq": "jq",
    "node": "nodejs npm",
    "chromium": "chromium-headless-shell",
    "bash": "bash",
    "make": "make",
    "prlimit": "util-linux",
    "chattr failed: it is not there": "e2fsprogs",
}
"""Packages of Debian, by a text in the reason of the skipped test."""


def pytest_configure() -> None:
    """Lets Ctrl-C interrupt the tests even in a background job of a shell, which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Turns the garbage collector off during collection, since few new objects are garbage."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Lets each worker first import a share of the test files, each worker another share.

    Before pytest imports a new file, it rewrites the file's assertions, which takes most of the
    time of collection. The first worker that imports a file does this for all workers. Without
    shares, all workers would import the same file at the same time.
    """
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if not worker or config.args_source != config.ArgsSource.TESTPATHS:
        return
    share = slice(int(worker["workerid"].removeprefix("gw")), None, worker["workercount"])
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))[share]:
        name = ".".join(path.relative_to(config.rootpath).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # reported when it is collected
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Exempts the collected tests from the garbage collector, which then runs less often.

    By default, the collector starts after 700 new objects, which costs the tests too much time.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Returns freed memory to the system after each file of tests that needed much.

    The allocator of glibc keeps the memory of large lines, up to a gigabyte in a run of all tests.
    """
    yield
    if nextitem is None or nextitem.path != item.path:
        _trim_memory(item.config)


def _trim_memory(config: pytest.Config) -> None:
    with contextlib.suppress(OSError, AttributeError):  # only Linux with glibc has both
        pages = _pages_in_memory()
        if pages > config.stash.setdefault(_LEAST_PAGES, pages) + _SPARE_PAGES:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            config.stash[_LEAST_PAGES] = _pages_in_memory()


def _pages_in_memory() -> int:
    return int(Path("/proc/self/statm").read_bytes().split()[1])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a skipped test fail in CI, except for a few allowed reasons."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_to_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Makes a skipped file fail in CI, except for a few allowed reasons."""
    report = yield
    _refuse_to_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Prints at the end how many tests were skipped for missing programs, and their packages."""
    yield
    if line := lacking(map(_reason, terminalreporter.stats.get("skipped", []))):
        terminalreporter.write_line(line)


def lacking(reasons: Iterable[str]) -> str:
    """Returns a line about the tests that missing programs skipped; empty if none was skipped.

    Args:
        reasons: the reason of each skipped test.
    """
    needed = [
        packages
        for reason in reasons
        if (packages := next((p for what, p in _PACKAGES.items() if what in reason), None))
    ]
    if not needed:
        return ""
    words = " ".join(dict.fromkeys(sorted(needed)))
    tests = "1 test was" if len(needed) == 1 else f"{len(needed)} tests were"
    return f"{tests} skipped for what this machine lacks: apt-get install {words}"


def _reason(report: Report) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _refuse_to_skip(report: Report) -> None:
    if report.outcome != "skipped" or os.environ.get("CI") != "true":
        return
    reason = _reason(report)
    good = _MAY_LACK if sys.platform == "linux" else (*_MAY_LACK, *_MAY_LACK_ELSEWHERE)
    if not reason.startswith(good):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where everything should run: {reason}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a reader of a recording wait at most 20 ms for files that change."""
    monkeypatch.setattr("acp_proxy.store.reader._LONGEST_PAUSE_S", 0.001)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Makes recordings of transcripts, and closes them when the test ends."""
    from tests.support import playbook

    transcripts = []

    def make(transcript: str, **start: Any) -> RecordedTranscript:
        transcripts.append(playbook.record(tmp_path, transcript, **start))
        return transcripts[-1]

    yield make
    for recorded in transcripts:
        recorded.close()
