"""A comparison by `diff` shows its progress."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.learned_rules import learn
from tests.support.log_writer import notification
from tests.support.scenario_runs import IN, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RECORDINGS = Path(__file__).parents[3] / "recordings"
IMPATIENT = (
    "from acp_proxy.cli.screens import output\n"
    "output._PATIENCE_S = output._REDRAW_S = 0.0\n"
    "from acp_proxy.cli.main import cli\n"
    "cli(prog_name='acp-proxy')\n"
)
"""The program, for whom a moment is a long time."""


class Watch:
    """Counts the items that it is shown.

    Attributes:
        seen: for each task: its label, the announced number of items, and the actual number.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []

    def __call__(self, items: Iterable[Any], total: int, label: str) -> Iterator[Any]:
        """Passes the items on and counts them."""
        place = len(self.seen)
        self.seen.append((label, total, 0))
        for count, item in enumerate(items, 1):
            self.seen[place] = (label, total, count)
            yield item


def test_every_frame_of_both_is_seen() -> None:
    """The progress bar of `diff` counts all frames of A and B."""
    a, b = Run(0).words("one", "two").end(), Run(1).words("one two").add(IN, "").end()
    watch = Watch()
    with a.open() as of_a, b.open() as of_b:
        diff(of_a, of_b, watch=watch)
        frames = of_a.count(), of_b.count()
    assert frames == (8, 8)
    assert watch.seen == [("reading", 8, 8), ("reading", 8, 8)]


def test_each_round_of_learning_shows_progress() -> None:
    """`diff --learn` shows progress for each round in which it reads both recordings again."""
    a, b = (Run(n).tell("plan", ref=f"ref-{n}770", cost=n).end() for n in (0, 1))
    watch = Watch()
    with a.open() as of_a, b.open() as of_b:
        learned = learn(of_a, of_b, watch=watch)
    assert (len(learned.aliases), len(learned.ignored)) == (1, 1)
    assert len(watch.seen) == 2 * (1 + len(learned.aliases) + len(learned.ignored))
    assert {*watch.seen} == {("reading", 7, 7)}


def test_an_error_of_the_progress_bar_ends_the_comparison() -> None:
    """If the progress bar of `diff` raises an error, such as at Ctrl-C, this error ends `diff`."""

    def refuse(items: Iterable[Any], _: int, __: str) -> Iterator[Any]:
        yield next(iter(items))
        raise KeyboardInterrupt

    run = Run(0).add(IN, notification("x"))
    with run.open() as a, run.open() as b, pytest.raises(KeyboardInterrupt):
        diff(a, b, watch=refuse)


def said(*options: str, on_terminal: bool) -> tuple[int, str, str]:
    """Returns the exit code, stdout and stderr of ``diff``."""
    ours, theirs = pty.openpty() if on_terminal else os.pipe()
    command = [sys.executable, "-c", IMPATIENT, "inspect", "diff", *options]
    pair = [RECORDINGS / "edit-allowed.db", RECORDINGS / "edit-rejected.db"]
    process = subprocess.run(
        [*command, *pair], stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=60
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as file:  # noqa: PTH123
        while data := file.read(65536):
            shown += data
    return process.returncode, process.stdout.decode(), shown.decode()


@pytest.mark.parametrize("options", [(), ("--learn",), ("--json",)], ids=" ".join)
def test_a_terminal_shows_a_bar_that_leaves_no_trace(options: tuple[str, ...]) -> None:
    """The progress bar of `diff` appears only on a terminal, and is removed at the end."""
    code, out, shown = said(*options, on_terminal=True)
    assert "reading" in shown
    assert "16/16" in shown
    assert "15/15" in shown
    bare_code, bare_out, bare = said(*options, on_terminal=False)
    assert "reading" not in bare
    assert "\x1b" not in bare
    assert (code, out) == (bare_code, bare_out)
    # A terminal wraps the message.
    assert shown.rpartition("\r\x1b[2K\x1b[?25h")[2].split() == bare.split()
