"""Printed lines reach their reader at once; a progress bar is shown on a terminal only."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.screens import output
from acp_proxy.cli.screens.output import progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.parametrize(
    ("terminal", "no_color", "force_color", "colored"),
    [
        (True, None, None, True),
        (False, None, None, False),
        (True, "1", None, False),
        (True, "", None, True),
        (False, None, "1", True),
        (False, None, "", False),
        (False, "1", "1", False),
    ],
)
def test_colour_is_for_terminals_by_default(
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    no_color: str | None,
    force_color: str | None,
    colored: bool,
) -> None:
    """Commands use colours on terminals, or elsewhere with FORCE_COLOR, but never with NO_COLOR."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for name, value in (("NO_COLOR", no_color), ("FORCE_COLOR", force_color)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert output.use_color() is colored


def test_a_file_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """If stdout is a file, commands print lines of any length."""
    monkeypatch.setenv("COLUMNS", "47")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert output.width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert output.width() == 47


def test_printed_lines_have_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in a message that a command prints on stdout or stderr are escaped."""
    output.say("a\x1b[2J\nb")
    output.warn("a\x1b[2J\nb")
    said = capsys.readouterr()
    assert said.out == "a\\x1b[2J\\nb\n"
    assert said.err == "acp-proxy: a\\x1b[2J\\nb\n"


class Pipe(io.BytesIO):
    """Counts how often bytes are flushed."""

    flushes = 0

    def flush(self) -> None:
        """Counts a flush."""
        self.flushes += 1


@pytest.mark.parametrize(
    ("terminal", "flushes"), [(True, [1, 2, 3, 4]), (False, [1, 1, 2, 2])], ids=["tty", "pipe"]
)
def test_lines_are_written_in_blocks_except_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, flushes: list[int]
) -> None:
    """On a terminal, commands write each line at once; in a pipe, they write several together."""
    pipe = Pipe()
    stdout = io.TextIOWrapper(pipe, encoding="ascii")
    monkeypatch.setattr(stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stdout)
    moments = iter([100.0, 100.01, 100.2, 100.21])
    writer = output.Writer(lambda: next(moments))
    pipe.flushes = 0
    actual = []
    for text in ("a", "é", "b", "c"):
        writer.line(text)
        actual.append(pipe.flushes)
    assert actual == flushes
    assert pipe.getvalue() == b"a\n\\xe9\nb\nc\n"
    stdout.detach()


def test_json_is_the_same_bytes_in_every_locale(tmp_path: Path) -> None:
    """A command writes JSON to stdout as UTF-8, even if stdout has a different encoding."""
    raw = io.BytesIO()
    before = sys.stdout
    sys.stdout = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    try:
        print("first")  # noqa: T201
        output.say_json({"name": "你好", "path": str(tmp_path)})
        sys.stdout.flush()
        assert raw.getvalue().splitlines()[0] == b"first"
        assert "你好".encode() in raw.getvalue().splitlines()[1]
    finally:
        sys.stdout = before


# Progress


class Clock:
    """A clock that advances with each item, and counts how often it is read."""

    def __init__(self) -> None:
        self.now = 50.0
        self.looks = 0

    def __call__(self) -> float:
        """Returns the time."""
        self.looks += 1
        return self.now

    def work(self, items: int, seconds: float) -> Iterator[int]:
        """Makes items that take some seconds each."""
        for item in range(items):
            self.now += seconds
            yield item


class Terminal(io.StringIO):
    """A terminal that keeps its output."""

    def isatty(self) -> bool:
        """Returns True: the stream is a terminal."""
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes stderr a terminal, after pytest has replaced stderr for the test."""
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    return stderr


def test_after_a_second_there_is_a_bar_and_then_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command's progress bar appears after a second of work, and disappears at the end."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    result = list(progress(clock.work(20, 0.2), 20, "searching", clock=clock))
    assert result == list(range(20))
    shown = terminal.getvalue()
    assert "searching" in shown
    assert "15/20" in shown
    assert shown.endswith("\r\x1b[2K\x1b[?25h")
    assert "\n" not in shown


def test_before_a_second_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command shows no progress bar for work that takes less than a second."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    assert len(list(progress(clock.work(9, 0.1), 9, "x", clock=clock))) == 9
    assert terminal.getvalue() == ""


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, commands show no progress bar."""
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    clock = Clock()
    assert len(list(progress(clock.work(9, 1.0), 9, "x", clock=clock))) == 9
    assert (stderr.getvalue(), clock.looks) == ("", 0)


def test_the_total_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the number of items is unknown, a command's progress bar only counts them."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    assert len(list(progress(clock.work(20, 0.2), None, "reading", clock=clock))) == 20
    assert "reading" in terminal.getvalue()
    assert "15" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K\x1b[?25h")


def test_the_bar_is_cleared_when_the_loop_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a command stops early, it removes its progress bar from the terminal."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    items = progress(clock.work(100, 0.5), 100, "x", clock=clock)
    for _ in range(10):
        next(items)
    assert terminal.getvalue()
    close = getattr(items, "close")  # noqa: B009  an iterator, for all that its caller knows
    close()
    assert terminal.getvalue().endswith("\r\x1b[2K\x1b[?25h")


def test_a_printed_line_breaks_at_spaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a command's message is wider than the terminal, it is wrapped between words."""
    monkeypatch.setattr(output, "width", lambda: 20)
    output.say("two recordings in /a/long/directory")
    output.say("  two recordings in /a/long/directory")
    assert capsys.readouterr().out == (
        "two recordings in\n  /a/long/directory\n  two recordings in /a/long/directory\n"
    )


def test_a_message_breaks_at_spaces_outside_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a command wraps a message, a quoted command such as `acp-proxy record --` stays whole."""
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    output.warn("put `acp-proxy record --` before the command of the agent")
    assert terminal.getvalue() == (
        "acp-proxy: put `acp-proxy record --`\n  before the command of the agent\n"
    )
    terminal.truncate(0)
    terminal.seek(0)
    output.warn("no recordings in /a/very/long/directory/of/the/user; `a`")
    assert terminal.getvalue() == (
        "acp-proxy: no recordings in\n  /a/very/long/directory/of/the/user;\n  `a`\n"
    )
    terminal.truncate(0)
    terminal.seek(0)
    output.warn("see `acp-proxy show /a/very/long/directory/of/b`")
    assert terminal.getvalue() == (
        "acp-proxy: see `acp-proxy show\n  /a/very/long/directory/of/b`\n"
    )
