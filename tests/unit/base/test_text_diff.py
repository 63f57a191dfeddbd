"""A diff of two texts compares them line by line, and word by word."""

from __future__ import annotations

import difflib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base import text_diff as words
from acp_proxy.base.text_diff import excerpts, unified, word_diff
from tests.support.cases import each_case

TEXTS = st.lists(st.sampled_from(["one", "two", " ", "  ", ".", "\n", "你好", "é", "\ud800"])).map(
    "".join
)


@given(a=TEXTS, b=TEXTS, longest=st.sampled_from([1 << 18, 6]))
def test_the_pieces_make_up_both_texts(a: str, b: str, longest: int) -> None:
    """If `diff` divides two texts into equal and changed pieces, no character is lost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "COMPARED_TEXT", longest)
        pieces = word_diff(a, b)
    assert "".join(text for op, text in pieces if op in "=-") == a
    assert "".join(text for op, text in pieces if op in "=+") == b
    assert all(text for _, text in pieces)
    assert all(left[0] != other[0] for left, other in pairwise(pieces))


@each_case(
    ("a", "b", "pieces"),
    [
        ("", "", []),
        ("same", "same", [("=", "same")]),
        ("", "new", [("+", "new")]),
        ("old", "", [("-", "old")]),
        (
            "it took 12 seconds in all",
            "it took 13 seconds in all",
            [("=", "it took "), ("-", "12"), ("+", "13"), ("=", " seconds in all")],
        ),
        (
            "你好，世界是圆的",
            "你好，世界是平的",
            [("=", "你好，世界是"), ("-", "圆"), ("+", "平"), ("=", "的")],
        ),
        ("a quick fox", "the lazy dog", [("-", "a quick fox"), ("+", "the lazy dog")]),
        ("end", "end.", [("=", "end"), ("+", ".")]),
        ("one two", "one  two", [("=", "one"), ("-", " "), ("+", "  "), ("=", "two")]),
    ],
)
def test_different_words_are_found(a: str, b: str, pieces: list[words.Piece]) -> None:
    """`diff` divides two texts, word by word, into equal, removed and added pieces."""
    assert word_diff(a, b) == pieces


def test_words_around_a_change_are_enough() -> None:
    """If `diff` shortens a long text, some whole words stay on both sides of each change."""
    a = f"{'before ' * 50}old {'between ' * 50}gone{' after' * 50}"
    b = a.replace("old", "new").replace("gone", "here")
    first, second = excerpts(word_diff(a, b))
    assert first == [
        ("=", "…before before before before before "),
        ("-", "old"),
        ("+", "new"),
        ("=", " between between between between…"),
    ]
    assert second[0] == ("=", "…between between between between ")
    assert second[-1] == ("=", " after after after after after after…")


def test_changes_that_are_close_are_joined() -> None:
    """If two changes in a text are close together, `diff` shows both in one excerpt."""
    pieces = word_diff("in 12 minutes and 3 seconds", "in 13 minutes and 4 seconds")
    assert list(excerpts(pieces)) == [pieces]
    assert list(excerpts(word_diff("equal", "equal"))) == []


def test_a_text_without_spaces_is_cut_anyway() -> None:
    """Beside a change, `diff` shows at most 40 characters of a text that has no spaces."""
    (excerpt,) = excerpts(word_diff(f"{'x' * 999} a", f"{'x' * 999} b"))
    assert excerpt == [("=", f"…{'x' * 39} "), ("-", "a"), ("+", "b")]


def test_a_very_long_text_is_aligned_by_its_lines() -> None:
    """If two very long texts differ in two distant lines, `diff` shows two separate changes."""
    lines = [f"line {number} says what no other line says" for number in range(20_000)]
    other = list(lines)
    other[5] = lines[5].replace("says", "tells")
    other[-5] = lines[-5].replace("no", "every")
    shown = list(excerpts(word_diff("\n".join(lines), "\n".join(other))))
    assert [[text for op, text in excerpt if op != "="] for excerpt in shown] == [
        ["says", "tells", "says", "tells"],
        ["no", "every"],
    ]


def test_a_difference_that_is_too_long_for_words_is_one_change() -> None:
    """If two lines have too many words to compare, `diff` shows the difference as one change."""
    a = "same " * 100 + "a " * 300_000 + "same " * 100
    b = "same " * 100 + "b " * 300_000 + "same " * 100
    assert [(op, len(text)) for op, text in word_diff(a, b)] == [
        ("=", 500),
        ("-", 600_000 - 1),
        ("+", 600_000 - 1),
        ("=", 501),
    ]


def test_a_change_is_a_unified_diff() -> None:
    """`unified` returns the lines of a text diff as Python's difflib does, without its header."""
    before = [f"line {n}" for n in range(30)]
    after = [*before[:10], "new", *before[11:25], *before[26:], "last"]
    expected = [*difflib.unified_diff(before, after, lineterm="")][2:]
    assert [*unified("\n".join(before), "\n".join(after))] == expected


def test_equal_texts_have_no_diff() -> None:
    """If two texts are equal, `unified` returns no lines of a diff."""
    assert [*unified("a\nb\n", "a\nb\n")] == [*unified("", "")] == []
    assert [*unified("", "a\nb")] == ["@@ -0,0 +1,2 @@", "+a", "+b"]
