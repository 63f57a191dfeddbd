"""The work of a command grows in proportion to the length of a recording.

Work is counted in calls of functions, which are as many on every machine. `make bench` measures the
processor time of all commands with larger recordings.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_line import run

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("bench.shapes", reason="the bench is not part of what is distributed")

SIZES = (10, 40, 160)
"""How much of its thing a recording has; what the first one costs is the same for all."""
MOST = 5.0
"""Four times as much takes about four times the work."""

GROWTH = [
    (("show",), "sessions"),
    (("check",), "sessions"),
    (("log",), "batch-reads"),
    (("stats",), "mixed-ids"),
    (("transcript",), "batch-prompts"),
    (("transcript",), "batch-reads"),
    (("transcript",), "terminal-id"),
    (("report", "-o", "{new}.html"), "prompt-id"),
    (("report", "-o", "{new}.html"), "batch-prompts"),
    (("export", "--format", "pytest", "-o", "{new}"), "open-sessions"),
    (("export", "--format", "pytest", "-o", "{new}"), "batch-reads"),
]


@pytest.mark.parametrize(
    ("command", "shape"), GROWTH, ids=lambda it: it if isinstance(it, str) else it[0]
)
def test_four_times_as_much_takes_no_more_than_five_times_the_work(
    command: tuple[str, ...], shape: str, tmp_path: Path
) -> None:
    """`show`, `log` and others do at most five times the work on a recording four times as long."""
    from bench.shapes import write

    work: list[int] = []
    for size in (SIZES[0], *SIZES):  # the first time is not counted: much is imported only then
        directory = tmp_path / f"{len(work)}"
        directory.mkdir()
        write(directory / "growth.jsonl", shape, size)
        run("import", directory / "growth.jsonl", "-o", directory / "growth.db")
        words = [word.replace("{new}", str(directory / "new")) for word in command]
        work.append(calls(*words, directory / "growth.db"))
    _, least, less, more = work
    allowed = (SIZES[2] - SIZES[0]) / (SIZES[1] - SIZES[0]) * MOST / 4
    assert (more - least) / (less - least) <= allowed


def calls(*arguments: str | Path) -> int:
    """Runs a command, and returns how many functions it calls."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run(*arguments)
    finally:
        sys.setprofile(before)
    return count
