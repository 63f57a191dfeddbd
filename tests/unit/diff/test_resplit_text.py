"""For `diff`, it does not matter how a text is split into chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.diff.diff_result import Counts, Field
from tests.support.log_writer import notification, request, result, text
from tests.support.scenario_runs import IN, OUT, Run, compare


def test_a_text_is_the_same_in_other_pieces() -> None:
    """`diff` finds no difference between two texts that are cut into different chunks."""
    a, b = Run(0).words("Hello, ", "wor", "ld"), Run(1).words("Hel", "lo, world", "")
    assert compare(a.end(), b.end())[0].is_equal
    a = Run(0).words(f"in {Run(0).cwd[:9]}", f"{Run(0).cwd[9:]}/x")
    b = Run(1).words(f"in {Run(1).cwd}/x")
    assert compare(a.end(), b.end())[0].is_equal


def test_a_chunk_that_differs_beside_its_text_has_a_place() -> None:
    """If a text chunk of B has an additional JSON member, `diff` reports the member's pointer."""
    a, b = Run(0).words("one", "two"), Run(1).words("onetwo", _meta={"x": 1})
    _, (entry,) = compare(a.end(), b.end())
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/params/update/_meta", "b")
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("one X two", "one two X"),
        ("X one two", "one X two"),
        ("one ~two three four", "one three ~two four"),
        ("one X Y Z two", "one two X Y Z"),
        ("one X two three Y four", "one two X three Y four"),
    ],
)
def test_a_message_swapped_with_a_chunk_is_one_move(a: str, b: str) -> None:
    """If a message changes places with a text chunk, `diff` reports one moved item."""

    def run(number: int, told: str) -> Run:
        made = Run(number)
        for word in told.split():
            if word[0].isupper():
                made.tell("plan", entries=[{"content": word}])
            elif word.startswith("~"):
                made.tell("agent_thought_chunk", content=text(word))
            else:
                made.words(f"{word} ")
        return made.end()

    assert compare(run(0, a), run(1, b))[0].counts == Counts(moved=1)


def test_one_odd_chunk_in_a_text_is_one_field() -> None:
    """If only one of three text chunks has an additional JSON member, `diff` reports one change."""
    a = Run(0).words("one ", "two ", "three")
    b = Run(1).words("one ").words("two ", _meta={"x": 1}).words("three")
    result, (entry,) = compare(a.end(), b.end())
    assert result.counts == Counts(changed=1)
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/params/update/_meta", "b")
    ]
    assert (entry.a_frames, entry.b, entry.b_frames) == (3, 7, 1)


def test_an_empty_chunk_is_no_difference() -> None:
    """`diff` ignores a chunk with an empty text."""
    plan: dict[str, Any] = {"entries": []}
    a = Run(0).words("", "one").tell("plan", **plan)
    b = Run(1).words("one").tell("plan", **plan).words("")
    assert compare(a.end(), b.end())[0].is_equal
    c = Run(1).words("", _meta={"x": 1}).words("one").tell("plan", **plan)
    _, (entry,) = compare(a, c.end())
    assert [field.pointer for field in entry.fields] == ["/params/update/_meta"]


@pytest.mark.parametrize(
    ("b", "told"),
    [
        ("a1 b1 c2", 1),
        ("a1 b2 c2", 0),
        ("ab1 c2", 1),
        ("a1 bc2", 0),
    ],
)
def test_another_end_of_a_message_is_a_difference(b: str, told: int) -> None:
    """If B splits one text into messages at another place, `diff` reports a changed message id."""

    def run(number: int, pieces: str) -> Run:
        made = Run(number)
        for piece in pieces.split():
            made.words(piece[:-1], messageId=f"{number}{number}message-{piece[-1]}")
        return made.end()

    result, entries = compare(run(0, "a1 b2 c2"), run(1, b))
    assert result.counts == Counts(changed=told)
    assert [field.pointer for entry in entries for field in entry.fields] == [
        "/params/update/messageId"
    ] * told


def test_half_a_character_is_a_piece_of_a_text() -> None:
    """`diff` joins two text chunks of a message even if a character is cut between them."""
    a, b = Run(0).words("ab 😀 cd"), Run(1).words("ab \ud83d", "\ude00 cd")
    b.said = [(stream, json.dumps(message)) for stream, message in b.said]
    assert compare(a.end(), b.end())[0].is_equal


def test_chunks_of_the_draft_are_joined_too() -> None:
    """`diff` joins the text chunks of the 1.0 draft."""

    def run(number: int, *pieces: str) -> Run:
        made = Run(number)
        for place, piece in enumerate(pieces):
            data = {"content": piece, "index": place, "final": place + 1 == len(pieces)}
            params = {"sessionId": made.session, "type": "agent_message_chunk", "data": data}
            made.add(IN, notification("session/update", **params))
        return made

    assert compare(run(0, "one ", "two"), run(1, "on", "e t", "wo"))[0].is_equal
    _, (entry,) = compare(run(0, "one ", "two"), run(1, "one ", "three"))
    assert [field.pointer for field in entry.fields] == ["/params/data/content"]


def test_a_changed_word_of_a_long_text_is_one_field() -> None:
    """If one word of a long text changes, `diff` reports one change."""
    a = Run(0).words("one", "two", "three", "four")
    b = Run(1).words("onetwo", "3four")
    result, (entry,) = compare(a.end(), b.end())
    assert result.counts == Counts(changed=1)
    assert (entry.a, entry.a_frames, entry.b, entry.b_frames) == (6, 4, 6, 2)
    (field,) = entry.fields
    assert field == Field("/params/update/content/text", "onetwothreefour", "onetwo3four")


def test_the_text_of_chunks_can_be_left_out() -> None:
    """A rule of `diff` that ignores a text also covers a text that is split into chunks."""
    a, b = Run(0).words("one", " two").end(), Run(1).words("three").end()
    assert compare(a, b, ignored=("/params/update/content/text",))[0].is_equal
    assert compare(a, b, aliases=("/params/update/content/text",))[0].is_equal
    assert not compare(a, b)[0].is_equal


# What is cancelled


def _cancelled(number: int, *late: str, reason: str = "cancelled", said: str = "one ") -> Run:
    """Returns a run with a turn that is cancelled in the middle of a text."""
    run = Run(number).words(said, "two ")
    run.add(OUT, notification("session/cancel", sessionId=run.session))
    return run.words(*late).end(reason)


def test_text_that_comes_after_a_cancel_does_not_count() -> None:
    """If a turn is cancelled, `diff` ignores how much text comes after the cancel."""
    for late in ((), ("three ",), ("three ", "four ")):
        assert compare(_cancelled(0, "three "), _cancelled(1, *late))[0].is_equal
    counts = compare(_cancelled(0, "three "), _cancelled(1, said="changed "))[0].counts
    assert counts == Counts(changed=1)


def test_text_after_a_cancel_counts_if_the_turn_goes_on() -> None:
    """If a turn continues after a cancel, `diff` compares the text after the cancel."""
    a, b = (_cancelled(n, *("three " * n).split(), reason="end_turn") for n in (0, 1))
    _, (entry,) = compare(a, b)
    assert [(place.pointer, place.b) for place in entry.fields] == [
        ("/params/update/content/text", "one two three")
    ]


def test_another_text_after_a_cancel_counts() -> None:
    """If only B has a thought after a cancel, `diff` reports the thought."""
    a, b = (_cancelled(n) for n in (0, 1))
    b.said.insert(-1, Run(1).tell("agent_thought_chunk", content=text("hm")).said[-1])
    assert compare(a, b)[0].counts == Counts(only_b=1)


def _usage(run: Run, *, used: int) -> Run:
    """Adds a state update to a run."""
    return run.tell("usage_update", used=used, size=1000)


@pytest.mark.parametrize("is_late", [False, True], ids=["cut off", "after the answer"])
def test_a_state_update_around_a_cancel_may_be_missing(*, is_late: bool) -> None:
    """If a turn is cancelled, `diff` ignores a missing state update, but reports a changed one."""
    a, b = _cancelled(0), _cancelled(1)
    _usage(a, used=8)
    if not is_late:
        a.said.insert(7, a.said.pop())  # before the cancel
    assert compare(a, b)[0].is_equal
    assert compare(b, a)[0].is_equal
    counts = compare(a, _usage(b, used=9))[0].counts
    assert counts == Counts(changed=1)


def test_a_state_update_counts_in_other_turns() -> None:
    """If a turn was not cancelled, `diff` reports a state update that only one recording has."""
    a, b = (_cancelled(n, reason="end_turn") for n in (0, 1))
    assert compare(_usage(a, used=8), b)[0].counts == Counts(only_a=1)
    a, b = _cancelled(0), _cancelled(1)
    for run in (a, b):
        run.add(OUT, request(3, "session/prompt", sessionId=run.session, prompt=[text("on")]))
    _usage(b, used=8).add(IN, result(3, stopReason="end_turn"))
    assert compare(a.add(IN, result(3, stopReason="end_turn")), b)[0].counts == Counts(only_b=1)
