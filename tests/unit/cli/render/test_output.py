"""What is printed fits the terminal it is printed on, and cannot command it."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.render import output
from acp_proxy.cli.render.output import Ink, columns_of, fit, pad
from acp_proxy.safe_text import visible

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("你好", 4),
        ("ＡＢ", 4),
        ("😀", 2),
        ("e\u0301a", 2),
        ("한글", 4),
        ("→←✓✗·↩", 6),
        ("❤\ufe0f", 2),
        (FAMILY, 2),
        ("👍🏽", 2),
        ("🇩🇪🇫🇷", 4),
        ("é\x07", 1),
    ],
)
def test_wide_characters_take_two_columns(text: str, columns: int) -> None:
    """CJK and emoji take two columns, joined ones as well; accents none, all else one."""
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("你好吗", 6, "你好吗"),
        ("你好吗", 5, "你好…"),
        ("你好吗", 4, "你…"),
        ("ab你好", 5, "ab你…"),
        ("abcde\u0301", 5, "abcde\u0301"),
        ("", 5, ""),
        ("abcdef", None, "abcdef"),
        (f"a{FAMILY}b", 4, f"a{FAMILY}b"),
        (f"a{FAMILY}bc", 4, f"a{FAMILY}…"),
        (f"a{FAMILY}bc", 3, "a…"),
        ("🇩🇪🇫🇷🇪🇸", 4, "🇩🇪…"),
        ("👍🏽👍🏽", 3, "👍🏽…"),
        ("e\u0301" * 9, 3, "e\u0301e\u0301…"),
        ("\u0301" * 9, 3, "\u0301" * 9),
    ],
)
def test_text_is_cut_to_the_columns_there_are(text: str, columns: int | None, cut: str) -> None:
    """What does not fit ends in an ellipsis, and never in half a character; None cuts nothing."""
    assert fit(text, columns) == cut
    if columns is not None:
        assert columns_of(fit(text, columns)) <= columns


@pytest.mark.parametrize(
    ("text", "padded"), [("ab", "ab  |"), ("你", "你  |"), ("abcde", "abcde|"), ("", "    |")]
)
def test_cells_are_filled_by_columns(text: str, padded: str) -> None:
    """A cell is filled up to its columns, however wide its characters are, and is never cut."""
    assert pad(text, 4) + "|" == padded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 你好 😀 é", "plain 你好 😀 é"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\rc\td\0", "a\\nb\\rc\\td\\x00"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_become_visible(text: str, shown: str) -> None:
    """Nothing recorded moves the cursor, changes colours or the direction of writing."""
    assert visible(text) == shown
    assert visible(text).isprintable()


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
def test_colour_is_for_terminals_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    no_color: str | None,
    force_color: str | None,
    colored: bool,
) -> None:
    """NO_COLOR comes before FORCE_COLOR, and both before what stdout is; empty is not set."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for name, value in (("NO_COLOR", no_color), ("FORCE_COLOR", force_color)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert output.use_color() is colored


def test_a_file_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stdout is no terminal there is no width, and on one it is the terminal's."""
    monkeypatch.setenv("COLUMNS", "47")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert output.width() is None
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert output.width() == 47


def test_a_line_for_a_person_holds_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """What is said and warned is visible, and one line."""
    output.say("a\x1b[2J\nb")
    output.warn("a\x1b[2J\nb")
    said = capsys.readouterr()
    assert said.out == "a\\x1b[2J\\nb\n"
    assert said.err == "acp-proxy: a\\x1b[2J\\nb\n"


@pytest.mark.parametrize(
    ("ink", "bold", "painted"),
    [
        (None, False, "a"),
        (Ink.TROUBLE, False, "\x1b[38;5;196ma\x1b[0m"),
        (None, True, "\x1b[1ma\x1b[0m"),
        (Ink.FAINT, True, "\x1b[1;38;5;244ma\x1b[0m"),
    ],
)
def test_text_is_painted(ink: Ink | None, bold: bool, painted: str) -> None:
    """A colour ends where the text does, and what has none stays as it is."""
    assert output.paint("a", ink, bold=bold) == painted
    assert output.paint("", ink, bold=bold) == ""


def luminance(ink: Ink) -> float:
    """How bright a colour of the 256 is, from 0 to 1, as WCAG reckons."""
    levels = [0, 95, 135, 175, 215, 255]
    cube = ink - 16
    rgb = [levels[cube // 36 % 6], levels[cube // 6 % 6], levels[cube % 6]]
    if ink >= 232:
        rgb = [8 + 10 * (ink - 232)] * 3
    parts = [c / 12.92 / 255 if c < 11 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("ink", Ink)
def test_colours_can_be_read_on_dark_and_on_light(ink: Ink) -> None:
    """No colour has less contrast than 3.5 to 1, on black or on white."""
    assert (luminance(ink) + 0.05) / 0.05 > 3.5
    assert 1.05 / (luminance(ink) + 0.05) > 3.5


class Pipe(io.BytesIO):
    """Bytes that somebody receives, and how often they were handed over."""

    flushes = 0

    def flush(self) -> None:
        """Counts."""
        self.flushes += 1


@pytest.mark.parametrize(
    ("terminal", "flushes"), [(True, [1, 2, 3, 4]), (False, [1, 1, 2, 2])], ids=["tty", "pipe"]
)
def test_lines_are_written_in_blocks_unless_somebody_waits(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, flushes: list[int]
) -> None:
    """A terminal sees each line at once, a pipe the first one and one that comes after a pause."""
    pipe = Pipe()
    stdout = io.TextIOWrapper(pipe, encoding="ascii")
    monkeypatch.setattr(stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stdout)
    moments = iter([100.0, 100.01, 100.2, 100.21])
    writer = output.Writer(lambda: next(moments))
    pipe.flushes = 0
    found = []
    for text in ("a", "é", "b", "c"):
        writer.line(text)
        found.append(pipe.flushes)
    assert found == flushes
    assert pipe.getvalue() == b"a\n\\xe9\nb\nc\n"
    stdout.detach()


def test_json_is_the_same_bytes_in_every_locale(tmp_path: Path) -> None:
    """A line for a program is UTF-8, whatever stdout's encoding is, and keeps its place."""
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
