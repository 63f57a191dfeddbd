"""The page of a comparison shows in order of time which messages differ, in words."""

from __future__ import annotations

import pytest

from acp_proxy.diff.diff_result import Change, DiffEntry, Field
from acp_proxy.report.compared_changes import (
    difference_in_words,
    numbered_places,
    shown_change,
    shown_ending,
)
from tests.support.comparison_page import made_up
from tests.support.example_comparison import differing

PERMISSION = "the answer to session/request_permission"


def test_what_only_b_has_stands_at_its_time() -> None:
    """`report --against` puts a message that only B has after the message before it in B."""
    where = "session:1", "to-agent", "m"
    entries = [
        DiffEntry(Change.ONLY_A, *where, a=30, a_frames=1),
        DiffEntry(Change.ONLY_B, *where, b=25, b_frames=1, preview="new"),
        DiffEntry(Change.CHANGED, *where, 10, 20, 1, 1, preview="old", b_preview="other"),
        DiffEntry(Change.ONLY_B, *where, b=3, b_frames=1),
    ]
    comparison = made_up(differing(entries))
    shown = [step for step in comparison.steps if not isinstance(step, int)]
    assert [(change.a and change.a.seq, change.b and change.b.seq) for change in shown] == [
        (None, 3), (10, 20), (None, 25), (30, None),
    ]  # fmt: skip
    assert [side.preview for side in shown[1].sides] == ["old", "other"]
    assert comparison.first == "m only in B"


def test_endings_are_in_words() -> None:
    """`report --against` shows a recording's end as an exit code or the name of a signal."""
    ending = Field("/exit_code", 0, None), Field("/exit_signal", None, 9)
    shown = shown_ending(ending, 7)
    assert [(place.number, place.pointer) for place in shown] == [(7, "exit code"), (8, "signal")]
    values = [side[0][0].text for place in shown for side in (place.a, place.b) if side]
    assert values == ["0", "none", "none", "SIGKILL"]


def test_places_are_numbered() -> None:
    """`report --against` gives the differences between the two handshakes consecutive numbers."""
    places = numbered_places((Field("/a", 1, 2), Field("/b", only="b", b=3)), 4)
    assert [place.number for place in places.items] == [4, 5]
    assert places.items[1].a is None


@pytest.mark.parametrize(
    ("title", "fields", "words"),
    [
        (PERMISSION, (Field("/result/outcome/optionId", "allow", "reject"),),
         "permission allow → reject"),
        ("m", (Field("/params/x", 1, {"y": 2}),), 'm, x: 1 → {"y": 2}'),
        ("m", (Field("/params/x", 1, only="a"),), "m, x: 1 → nothing"),
        ("m", (), "m changed: old"),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_words(title: str, fields: tuple[Field, ...], words: str) -> None:
    """`report --against` shows both values of the first difference between two messages."""
    entry = DiffEntry(
        Change.CHANGED, "session:1", "to-agent", title, 1, 2, 1, 1, fields, "old", "new"
    )
    assert difference_in_words(shown_change(entry, "")) == words
