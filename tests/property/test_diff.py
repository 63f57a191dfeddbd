"""If one thing in a recording changes, `diff` reports exactly this change."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from acp_proxy.diff.default_rules import RULES
from acp_proxy.diff.diff_result import Change, Counts, Expect
from acp_proxy.diff.place_rules import compiled
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.updates import STATE_UPDATES
from acp_proxy.store.reader import RecordingReader
from tests.support.mutated_recordings import (
    WITH_SOME_OR_ALL,
    Line,
    are_open_at_once,
    changed,
    changed_value,
    compare,
    doubled,
    leaves,
    lines_of,
    with_leaf,
)
from tests.support.shipped_recordings import HEALTHY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.diff.diff_result import Diff, DiffEntry
    from tests.support.mutated_recordings import Choice

RULE = compiled(RULES)
NAMES_THE_MESSAGE = ("method", "sessionUpdate", "jsonrpc", "id")


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
@pytest.mark.parametrize("expect", Expect)
@pytest.mark.parametrize("exact", [False, True])
def test_a_recording_equals_itself(path: Path, expect: Expect, exact: bool) -> None:
    """`diff` finds no difference between a recording and itself."""
    report, entries = compare(path, RecordingReader(path), expect=expect, exact=exact)
    assert (report.is_equal, entries) == (True, [])


def test_every_captured_conversation_equals_itself(sources: list[Path]) -> None:
    """`diff` finds no difference between a captured conversation and itself."""
    assert len(sources) > 30
    for path in sources:
        report, entries = compare(path, RecordingReader(path))
        assert (report.is_equal, entries) == (True, [])


@given(data=st.data())
def test_a_changed_value_is_exactly_that_field(sources: list[Path], data: st.DataObject) -> None:
    """If one value of one message changes, `diff` reports only this value."""
    path = data.draw(st.sampled_from(sources))
    line = data.draw(st.sampled_from(lines_of(path)))
    ways = [*compared_leaves(line)]
    assume(ways)
    assert_exactly_that_field(path, line, *data.draw(st.sampled_from(ways)))


@pytest.mark.soak
def test_every_changed_value_is_exactly_that_field(sources: list[Path]) -> None:
    """If any single value of a recording changes, `diff` reports only this value."""
    every = [(path, line) for path in sources for line in lines_of(path)]
    assert len(every) > 600
    for path, line in every:
        for way, old in compared_leaves(line):
            assert_exactly_that_field(path, line, way, old)


def assert_exactly_that_field(path: Path, line: Line, way: tuple[str, ...], old: Any) -> None:
    """Changes one value in a message, and asserts that `diff` reports only this value."""
    new = with_leaf(line.form, way, changed_value(old))
    report, entries = compare(path, changed(path, {line.place: new}))
    assert report.counts == Counts(changed=1)
    (entry,) = entries
    assert (entry.change, entry.direction) == (Change.CHANGED, line.lane[1])
    assert line.is_piece or (entry.a, entry.b) == (line.seq, line.seq)
    (field,) = entry.fields
    assert field.pointer == pointer(way)


@given(data=st.data())
def test_another_id_in_one_frame_is_exactly_that_field(
    sources: list[Path], data: st.DataObject
) -> None:
    """If an id changes in a single frame, `diff` reports only this change."""
    path = data.draw(st.sampled_from(sources))
    calls = [line for line in lines_of(path) if "toolCallId" in str(line.message)]
    assume(calls)
    line = data.draw(st.sampled_from(calls))
    way, _ = next(leaf for leaf in leaves(line.message) if leaf[0][-1] == "toolCallId")
    other = with_leaf(line.form, way, "call-that-is-another-1")
    named = sum(1 for call in calls if leaf_at(call, way) == leaf_at(line, way))
    assume(named > 1)
    report, entries = compare(path, changed(path, {line.place: other}))
    assert report.counts == Counts(changed=1)
    assert [field.pointer for field in entries[0].fields] == [pointer(way)]


@WITH_SOME_OR_ALL
def test_a_removed_frame_is_only_in_a(sources: list[Path], chosen: Choice) -> None:
    """If a frame is removed from B, `diff` reports that only A has it."""
    for path, line in chosen(statements(sources)):
        report, entries = compare(path, changed(path, {line.place: None}))
        if line.is_piece and not alone_in_its_run(path, line):
            assert_only_the_text_changed(report, entries)
            continue
        assert report.counts == Counts(only_a=1)
        assert (entries[0].a, entries[0].b, entries[0].a_frames) == (line.seq, None, 1)


@WITH_SOME_OR_ALL
def test_an_added_frame_is_only_in_b(sources: list[Path], chosen: Choice) -> None:
    """If a notification is repeated in B, `diff` reports one frame that only B has."""
    for path, line in chosen(statements(sources)):
        report, entries = compare(path, doubled(path, line))
        if line.is_piece:
            assert_only_the_text_changed(report, entries)
            continue
        assert report.counts == Counts(only_b=1)
        assert entries[0].b in (line.seq, line.seq + 1)


def assert_only_the_text_changed(report: Diff, entries: list[DiffEntry]) -> None:
    """Asserts that the only difference is one text that is longer in one recording."""
    assert report.counts == Counts(changed=1)
    assert [field.pointer for field in entries[0].fields] == ["/params/update/content/text"]


def test_swapped_frames_are_one_move(sources: list[Path]) -> None:
    """If two neighbouring frames change places, `diff` reports one moved frame."""
    pairs = [(path, *pair) for path in sources for pair in neighbours(path)]
    assert len(pairs) > 50
    for path, line, after in pairs:
        both: dict[int, dict[str, Any] | None] = {line.place: after.form, after.place: line.form}
        report, entries = compare(path, changed(path, both))
        assert report.counts == Counts(moved=1)
        if not line.is_piece and not after.is_piece:
            assert {entries[0].a, entries[0].b} == {line.seq, after.seq}


@given(data=st.data())
def test_several_changes_are_all_reported(sources: list[Path], data: st.DataObject) -> None:
    """If a recording has several changes, `diff` reports each of them."""
    path = data.draw(st.sampled_from(sources))
    lines = [line for line in lines_of(path) if is_statement(line) and not line.is_piece]
    assume(len(lines) > 1)
    chosen = data.draw(st.lists(st.sampled_from(lines), unique_by=attrgetter("seq"), max_size=4))
    forms: dict[int, dict[str, Any] | None] = {}
    for line in chosen:
        ways = [*compared_leaves(line)]
        assume(ways)
        way, old = data.draw(st.sampled_from(ways))
        forms[line.place] = with_leaf(line.form, way, changed_value(old))
    report, entries = compare(path, changed(path, forms))
    assert report.counts == Counts(changed=len(chosen))
    assert {entry.a for entry in entries} == {line.seq for line in chosen}
    assert all(len(entry.fields) == 1 for entry in entries)


def statements(sources: list[Path]) -> list[tuple[Path, Line]]:
    """Returns the notifications that `diff` compares, except updates of a state."""
    every = [(path, line) for path in sources for line in lines_of(path) if is_statement(line)]
    assert len(every) > 270
    assert sum(line.is_piece for _, line in every) > 200
    return every


def neighbours(path: Path) -> Iterator[tuple[Line, Line]]:
    """Returns pairs of adjacent notifications in a lane, with different compared content."""
    latest: dict[tuple[str | None, str], Line] = {}
    for line in lines_of(path):
        before, latest[line.lane] = latest.get(line.lane), line
        if before is None or before.message == line.message:
            continue
        if not is_statement(before) or not is_statement(line):
            continue
        one_text = before.is_piece and line.is_piece and before.update == line.update
        if not one_text and not are_open_at_once(path, before, line):
            yield before, line


def is_statement(line: Line) -> bool:
    """Whether `diff` compares the content of a frame, and the frame is not just a state."""
    if line.is_piece and not line.message["params"]["update"]["content"]["text"]:
        return False
    return line.kind == "notification" and line.update not in STATE_UPDATES


def compared_leaves(line: Line) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Returns the places of a message's compared values, except those that set its kind."""
    for way, old in leaves(line.message):
        if not {*way} & {*NAMES_THE_MESSAGE} and is_compared(way):
            yield way, old


def is_compared(way: tuple[str, ...]) -> bool:
    """Whether `diff` compares a place: no rule says that its value differs between runs."""
    state = RULE
    for key in way:
        state = state[key]
        if state.is_ignored or state.is_time:
            return False
    return state.alias is None


def leaf_at(line: Line, way: tuple[str, ...]) -> Any:
    """Returns the value at a place in a message; None if the place does not exist."""
    return next((value for path, value in leaves(line.message) if path == way), None)


def alone_in_its_run(path: Path, line: Line) -> bool:
    """Whether no neighbour of a chunk in its lane is a chunk of the same text."""
    lane = [other for other in lines_of(path) if other.lane == line.lane]
    place = next(index for index, other in enumerate(lane) if other.seq == line.seq)
    beside = [*lane[max(0, place - 1) : place], *lane[place + 1 : place + 2]]
    return not any(other.is_piece and other.update == line.update for other in beside)
