"""If one request, response or ending changes, `diff` reports exactly one difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.diff.default_rules import LOOKING
from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import Change, Counts, Field
from acp_proxy.diff.frame_types import NO_ANSWER, kind_of_call
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.updates import STATE_UPDATES
from tests.support.mutated_recordings import (
    WITH_SOME_OR_ALL,
    are_open_at_once,
    changed,
    changed_value,
    compare,
    doubled,
    ended,
    handshake_of,
    leaves,
    lines_of,
    opened,
    with_leaf,
)
from tests.support.shipped_recordings import HEALTHY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.diff.diff_result import DiffEntry
    from tests.support.mutated_recordings import Choice, Line

REQUEST, ANSWER = "request", "answer"


def from_all(sources: list[Path], kind: str, chosen: Choice) -> list[tuple[Path, Line]]:
    """Returns chosen requests or answers of all recordings, without those of handshakes."""
    candidates = [(path, line) for path in sources for line in lines_of(path) if line.kind == kind]
    assert len(candidates) > 160
    return chosen(candidates)


def method_of(path: Path, line: Line) -> str:
    """Returns the method of a request, or of the request that a response answers."""
    if line.kind == REQUEST:
        return str(line.message["method"])
    return next(str(x.message["method"]) for x in lines_of(path) if is_answer_to(line, x))


def is_answer_to(answer: Line, other: Line) -> bool:
    """Whether a line is the response to another line."""
    if (answer.kind, other.kind) != (ANSWER, REQUEST) or answer.lane[1] == other.lane[1]:
        return False
    return bool(answer.message["id"] == other.message["id"])


What = tuple[Change, str, int | None, int | None]


def what(entry: DiffEntry) -> What:
    """Returns the kind of a difference, and the numbers of its frames."""
    return entry.change, entry.title, entry.a, entry.b


@WITH_SOME_OR_ALL
def test_a_removed_response_is_only_in_a(sources: list[Path], chosen: Choice) -> None:
    """If a response is removed from B, `diff` reports that only A has it."""
    for path, line in from_all(sources, ANSWER, chosen):
        report, entries = compare(path, changed(path, {line.place: None}))
        title = f"the answer to {method_of(path, line)}"
        assert report.counts == Counts(only_a=1)
        assert [what(e) for e in entries] == [(Change.ONLY_A, title, line.seq, None)]


@WITH_SOME_OR_ALL
def test_a_repeated_response_is_unpaired(sources: list[Path], chosen: Choice) -> None:
    """If a response is repeated in B, `diff` reports the second one as without a request."""
    for path, line in from_all(sources, ANSWER, chosen):
        report, entries = compare(path, doubled(path, line))
        assert report.counts == Counts(only_b=1)
        assert [what(e) for e in entries] == [(Change.ONLY_B, NO_ANSWER, None, line.seq + 1)]


@WITH_SOME_OR_ALL
def test_a_repeated_request_is_only_in_b(sources: list[Path], chosen: Choice) -> None:
    """If a request is repeated in B, `diff` reports that only B has it."""
    for path, line in from_all(sources, REQUEST, chosen):
        report, (entry,) = compare(path, doubled(path, line))
        assert report.counts == Counts(only_b=1)
        assert (entry.title, entry.a) == (method_of(path, line), None)
        assert not is_made_once(path, line) or entry.b in (line.seq, line.seq + 1)


@WITH_SOME_OR_ALL
def test_a_removed_request_is_only_in_a(sources: list[Path], chosen: Choice) -> None:
    """If a request is removed from B, `diff` reports that only A has it."""
    for path, line in from_all(sources, REQUEST, chosen):
        with changed(path, {line.place: None}) as without:
            report = diff(opened(path), without)
            (entry,) = report.entries()
            assert report.counts == Counts(only_a=1)
            assert (entry.title, entry.b) == (method_of(path, line), None)
            if is_made_once(path, line):
                assert entry.a == line.seq
            assert diff(without, opened(path)).counts == Counts(only_b=1)


def is_made_once(path: Path, line: Line) -> bool:
    """Whether no other request of the recording is equal to a request."""
    requests = [
        (other.message.get("method"), other.message.get("params")) for other in lines_of(path)
    ]
    return requests.count((line.message["method"], line.message["params"])) == 1


def test_swapping_messages_of_two_kinds_is_one_move(sources: list[Path]) -> None:
    """If a notification and a request change places, `diff` reports one moved frame."""
    moves, free = 0, 0
    for path in sources:
        for line, after in neighbours(path):
            forms: dict[int, dict[str, Any] | None] = {
                line.place: after.form,
                after.place: line.form,
            }
            report, _ = compare(path, changed(path, forms))
            is_free = may_change_places(path, line, after)
            assert report.counts == Counts(moved=int(not is_free))
            moves, free = moves + (not is_free), free + is_free
    assert (moves > 60, free > 30) == (True, True)


def neighbours(path: Path) -> Iterator[tuple[Line, Line]]:
    """Yields pairs of messages of different kinds that are adjacent, also in their lane."""
    latest: dict[tuple[str | None, str], Line] = {}
    for line in lines_of(path):
        before, latest[line.lane] = latest.get(line.lane), line
        if before is not None and line.seq == before.seq + 1 and line.kind != before.kind:
            yield before, line


def may_change_places(path: Path, line: Line, after: Line) -> bool:
    """Whether `diff` ignores the order of two messages: one is a state, or both only read."""
    if {line.update, after.update} & {*STATE_UPDATES} or are_open_at_once(path, line, after):
        return True
    if after.message.get("method") != "fs/read_text_file" or line.call is None:
        return False
    kinds = [kind_of_call(other.message) for other in lines_of(path) if other.call == line.call]
    return next(kind for kind in kinds if kind) in LOOKING


def test_a_changed_handshake_is_exactly_that_field(sources: list[Path]) -> None:
    """If a value of `initialize` changes, `diff` reports only this value."""
    tried = set()
    for path in sources:
        for line in handshake_of(path):
            if (said := str(line.message)) in tried:
                continue
            tried.add(said)
            for way, old in leaves(line.message):
                if way in (("id",), ("method",)):
                    continue
                new = changed_value(old)
                b = changed(path, {line.place: with_leaf(line.form, way, new)})
                report, entries = compare(path, b)
                assert (report.counts, entries) == (Counts(handshake=1), [])
                assert report.handshake == (Field(pointer(way), old, new),)
    assert len(tried) >= 6


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_half_a_handshake_is_a_difference(path: Path) -> None:
    """If the response to `initialize` is missing in B, `diff` reports a difference."""
    request, answer = handshake_of(path)
    report, entries = compare(path, changed(path, {answer.place: None}))
    assert (report.counts, entries) == (Counts(handshake=1), [])
    assert [(e.pointer, e.only) for e in report.handshake] == [("", "a")]
    report, entries = compare(path, changed(path, {request.place: None}))
    assert report.counts == Counts(handshake=2, only_b=1)
    assert [(e.pointer, e.only) for e in report.handshake] == [("", "a"), ("", "a")]
    assert [what(e) for e in entries] == [(Change.ONLY_B, NO_ANSWER, None, answer.seq - 1)]


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_second_handshake_is_one_more_exchange(path: Path) -> None:
    """If `initialize` is repeated in B, `diff` reports one more exchange that only B has."""
    request, answer = handshake_of(path)
    report, entries = compare(path, doubled(path, request))
    assert report.counts == Counts(only_b=1)
    assert [what(e) for e in entries] == [(Change.ONLY_B, "initialize", None, request.seq + 1)]
    report, entries = compare(path, doubled(path, answer))
    assert report.counts == Counts(only_b=1)
    assert [what(e) for e in entries] == [(Change.ONLY_B, NO_ANSWER, None, answer.seq + 1)]


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_another_ending_is_exactly_that_field(path: Path) -> None:
    """If only the agent's exit code differs, `diff` reports exactly this difference."""
    report, entries = compare(path, ended(path, 3))
    assert (report.counts, entries) == (Counts(ending=1), [])
    assert report.ending == (Field("/exit_code", 0, 3),)
    report, _ = compare(path, ended(path, None, signal=9))
    assert report.counts == Counts(ending=2)
    assert report.ending == (Field("/exit_code", 0, None), Field("/exit_signal", None, 9))
    assert compare(path, ended(path, 3), ending=False)[0].is_equal
    assert compare(path, ended(path, 0))[0].is_equal


@pytest.mark.parametrize("state", ["incomplete", "recording"])
def test_an_unknown_ending_is_not_compared(state: str) -> None:
    """If a recorder was killed, `diff` does not compare how the agent ended."""
    assert compare(HEALTHY[0], ended(HEALTHY[0], 3, state=state))[0].is_equal
