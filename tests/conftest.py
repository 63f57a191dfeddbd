"""Shared by all tests: Hypothesis draws the same examples in every run, and CI skips no test.

Elsewhere a run ends with how many tests were skipped for what the machine lacks.

``--hypothesis-profile thorough`` draws many more, and others each time.
"""

from __future__ import annotations

import contextlib
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

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=15, database=None)
settings.register_profile("thorough", deadline=None, max_examples=2000, database=None)
settings.load_profile("ci")
os.environ["PAGER"] = "cat"  # nobody would quit a pager on the terminals of tests

_MAY_LACK = ("expected jq", "expected node and npm on the PATH", "chattr failed")
"""Reasons to skip on a plain Debian, or as root in a container; all other tests must run there."""
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
_PACKAGES = {
    "jq": "jq",
    "node": "nodejs npm",
    "chromium": "chromium",
    "bash": "bash",
    "make": "make",
    "prlimit": "util-linux",
    "chattr failed: it is not there": "e2fsprogs",
}
"""Of Debian and its like, by what is in the reason of a skipped test."""


def pytest_configure() -> None:
    """Lets Ctrl-C interrupt, as in a terminal: a shell's background jobs start with it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collects without the garbage collector, since nearly all that is made now stays."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Lets each worker that collects all tests begin with other files.

    Where a file is new, pytest rewrites its assertions before it imports it, which takes longer
    than all else that it does to collect tests. It is done by the worker that comes to it first.
    All workers would come to all files at the same time.
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
    """Freezes what was collected, and lets the garbage collector run less often.

    By default it starts after 700 new objects, and takes more time than the memory is worth here.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes a skipped test fail in CI, but for a few reasons."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_to_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for whole files."""
    report = yield
    _refuse_to_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Says at last how many tests were skipped for what the machine lacks, and what installs it."""
    yield
    if line := lacking(map(_reason, terminalreporter.stats.get("skipped", []))):
        terminalreporter.write_line(line)


def lacking(reasons: Iterable[str]) -> str:
    """Returns how many tests were skipped for missing programs; empty if none was.

    Args:
        reasons: why tests were skipped, one for each.
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
    """Lets the code that opens a recording wait at most 20 ms for changed files."""
    monkeypatch.setattr("acp_proxy.store.reader._LONGEST_PAUSE_S", 0.001)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """Makes recordings of transcripts, which are closed when the test is over."""
    from tests.support import playbook

    transcripts = []

    def make(transcript: str, **start: Any) -> RecordedTranscript:
        transcripts.append(playbook.record(tmp_path, transcript, **start))
        return transcripts[-1]

    yield make
    for recorded in transcripts:
        recorded.close()
