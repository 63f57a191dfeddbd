"""Printed text fits the terminal, and cannot control it."""

from __future__ import annotations

import pytest
from wcwidth import wcwidth

from acp_proxy.base.wording import visible
from acp_proxy.cli.screens.styled_text import (
    _NARROW,
    Ink,
    Screen,
    columns_of,
    fit,
    fit_end,
    fit_middle,
    pad,
    piece,
)
from tests.support.cases import each_case

FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}"


@each_case(
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
    """When a command aligns or cuts text, a CJK character counts as two terminal columns."""
    assert columns_of(text) == columns


def test_characters_that_are_not_looked_up_take_one_column() -> None:
    """Each character that acp-proxy takes as narrow without a look-up is narrow in Unicode."""
    narrow = [chr(code) for code in range(0x3000) if _NARROW.fullmatch(chr(code))]
    assert len(narrow) > 500
    assert {character for character in narrow if wcwidth(character) != 1} == set()


@each_case(
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
    """If a command cuts a text to the terminal's width, no wide character is cut in half."""
    assert fit(text, columns) == cut
    if columns is not None:
        assert columns_of(fit(text, columns)) <= columns


@pytest.mark.parametrize(
    ("text", "padded"), [("ab", "ab  |"), ("你", "你  |"), ("abcde", "abcde|"), ("", "    |")]
)
def test_cells_are_filled_by_columns(text: str, padded: str) -> None:
    """In a table that a command prints, spaces fill each cell up to the width of its column."""
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
    """Text that commands print cannot move the cursor, change colours or reverse the line."""
    assert visible(text) == shown
    assert visible(text).isprintable()


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
    """After a coloured or bold text, commands print the code that ends its colour."""
    screen = Screen(color=True)
    assert screen.line(piece("a", ink, bold=bold)) == painted
    assert screen.line(piece("", ink, bold=bold)) == ""


def luminance(ink: Ink) -> float:
    """Returns the luminance of a colour, from 0 to 1, by the accessibility rules of WCAG."""
    levels = [0, 95, 135, 175, 215, 255]
    cube = ink - 16
    rgb = [levels[cube // 36 % 6], levels[cube // 6 % 6], levels[cube % 6]]
    if ink >= 232:
        rgb = [8 + 10 * (ink - 232)] * 3
    parts = [c / 12.92 / 255 if c < 11 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("ink", Ink)
def test_colours_can_be_read_on_dark_and_on_light(ink: Ink) -> None:
    """Each colour that commands use has a contrast of at least 3.5 on black and on white."""
    assert (luminance(ink) + 0.05) / 0.05 > 3.5
    assert 1.05 / (luminance(ink) + 0.05) > 3.5


def test_a_text_is_cut_at_its_beginning() -> None:
    """If a command cuts a text at its beginning, wide characters in it still fit the columns."""
    assert [fit_end("a你好", n) for n in (5, 4, 3, 2, 1, 0)] == [
        "a你好",
        "…好",
        "…好",
        "…",
        "…",
        "",
    ]


def test_a_text_is_cut_in_its_middle() -> None:
    """If a command cuts a text in its middle, its beginning and its end are kept."""
    assert [fit_middle("/a/你好/bcde", n) for n in (12, 11, 8, 3, 2, 1, 0)] == [
        "/a/你好/bcde",
        "/a/你…/bcde",
        "/a/…cde",
        "/…e",
        "/…",
        "…",
        "",
    ]


def test_a_long_path_breaks_after_a_slash() -> None:
    """If a path is too long for a line of a command's output, it is wrapped after a slash."""
    path = "/home/someone/projects/acp-proxy/.venv/bin/python"
    lines = [*Screen(20).wrapped(piece("  "), piece(f"at {path}"))]
    parts = ["  at /home/someone/", "  projects/", "  acp-proxy/.venv/", "  bin/python"]
    assert lines == parts


def test_who_is_to_blame_stays_on_a_line() -> None:
    """If `show` wraps a finding, the brackets with its rule and culprit stay on one line."""
    lines = [*Screen(30).wrapped(piece(""), piece("it leaks  [term.leaked by the agent]"))]
    assert lines == ["it leaks", "[term.leaked by the agent]"]


def test_a_number_and_its_unit_stay_on_a_line() -> None:
    """If a command wraps a line, it never separates a number from its unit."""
    lines = [*Screen(14).wrapped(piece(""), piece("it waited 3.5 s; 12 steps, 4 kB"))]
    assert [line.strip() for line in lines] == ["it waited", "3.5 s; 12", "steps, 4 kB"]
