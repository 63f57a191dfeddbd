"""Runs the commands of docs/walkthrough.md, and writes their output into the page.

Run ``python -m tests.tools.walkthrough`` after ``make recordings``, for instance.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support.command_line import run

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/walkthrough.md"
_BLOCKS = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.M | re.S)
_COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
_CUT = re.compile(r" \| (head|tail) -n (\d+)$")


class Shown(NamedTuple):
    """A command on the page, and the output that the page shows."""

    command: str
    output: str
    """The output as the page shows it."""


def commands() -> Iterator[Shown]:
    """Yields the commands of the page in their order."""
    for block in _BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        for command, output in _COMMANDS.findall(block):
            yield Shown(command, output)


def output(command: str) -> str:
    """Returns the output of a command in UTC; only the lines that ``head`` or ``tail`` keeps."""
    cut = _CUT.search(command)
    program, *words = shlex.split(_CUT.sub("", command))
    assert program == "acp-proxy"
    with contextlib.chdir(ROOT), in_utc():
        result = run(*words)
    assert result.stderr == "", f"{command}: {result.stderr}"
    lines = result.stdout.splitlines(keepends=True)
    if cut is not None:
        count = int(cut[2])
        lines = lines[:count] if cut[1] == "head" else lines[-count:]
    return "".join(lines)


@contextlib.contextmanager
def in_utc() -> Iterator[None]:
    """Sets the time zone of this process to UTC, and restores it afterwards."""
    before = os.environ.get("TZ")
    try:
        os.environ["TZ"] = "UTC"
        time.tzset()
        yield
    finally:
        del os.environ["TZ"]
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


def main() -> None:
    """Writes the output of all commands into the page."""

    def renewed(block: re.Match[str]) -> str:
        typed = [command for command, _ in _COMMANDS.findall(block[1])]
        return "".join(f"$ {command}\n{output(command)}" for command in typed)

    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCKS.sub(renewed, text), encoding="utf-8")


if __name__ == "__main__":
    main()
