"""The work of a command grows with a recording, and not with the square of what it has a lot of.

Work is counted in calls of functions, which are the same on every machine; `make bench` measures
the processor time of all commands with larger recordings.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("bench.shapes", reason="the bench is not part of what is distributed")

SMALL, LARGE = 40, 160
MOST = 5.0
"""Four times as much takes about four times the work."""

GROWTH = {
    "show": ("sessions", "open-prompts"),
}


def calls(path: Path, *arguments: str) -> int:
    """Runs a command on a recording, and counts the calls of functions that it makes."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            cli([word.format(path) for word in arguments], standalone_mode=False)
        finally:
            sys.setprofile(before)
    return count
