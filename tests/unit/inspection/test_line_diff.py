"""Texts are compared line by line."""

from __future__ import annotations

import difflib

from acp_proxy.inspection.line_diff import unified


def test_a_change_is_a_unified_diff() -> None:
    """As difflib writes it, with the numbers of the lines in the whole text."""
    before = [f"line {n}" for n in range(30)]
    after = [*before[:10], "new", *before[11:25], *before[26:], "last"]
    expected = [*difflib.unified_diff(before, after, lineterm="")][2:]
    assert [*unified("\n".join(before), "\n".join(after))] == expected


def test_equal_texts_have_no_diff() -> None:
    """Nor have two empty ones; a new text is only added."""
    assert [*unified("a\nb\n", "a\nb\n")] == [*unified("", "")] == []
    assert [*unified("", "a\nb")] == ["@@ -0,0 +1,2 @@", "+a", "+b"]


def test_very_long_texts_are_compared_at_their_ends() -> None:
    """What lies between is removed and added as a whole, which takes no time."""
    before = ["a", "b", *map(str, range(30_000)), "y", "z"]
    after = ["a", "b", *map(str, range(30_000, 0, -1)), "y", "z"]
    lines = [*unified("\n".join(before), "\n".join(after))]
    assert lines[:4] == ["@@ -1,30004 +1,30004 @@", " a", " b", "-0"]
    assert lines[-3:] == ["+1", " y", " z"]
    assert sum(line[0] == "-" for line in lines) == 30_000
