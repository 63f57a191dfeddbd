"""For `verify`, the progress of a turn does not depend on how texts are split."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.playback.verify.stream_progress import (
    ITEM,
    AgentOutput,
    Increment,
    ProgressMark,
    StreamProgress,
    TotalProgress,
    increment_of,
)
from acp_proxy.protocol.updates import STATE_UPDATES
from tests.support.cases import each_case

UPDATE = "session/update"


def chunk(text: str, kind: str = "agent_message_chunk", message: str | None = None) -> bytes:
    """A piece of a text."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "messageId": message, "content": content}
    return json.dumps({"method": UPDATE, "params": {"sessionId": "s", "update": update}}).encode()


def measured(*lines: bytes) -> StreamProgress:
    """Returns the progress of a turn after some lines."""
    progress = StreamProgress()
    for line in lines:
        progress.add(increment_of(line, UPDATE))
    return progress


@each_case("update", STATE_UPDATES)
@each_case("params", ['{"update":{"sessionUpdate":"%s"}}', '{"type":"%s","data":{}}'])
def test_state_updates_are_counted_apart(params: str, update: str) -> None:
    """`verify` counts updates that only report a session's state apart from a turn's progress."""
    raw = f'{{"method":"{UPDATE}","params":{params % update}}}'.encode()
    assert increment_of(raw, UPDATE) == Increment(state=update)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"method": "session/update", "params": {"update": {"sessionUpdate": "plan"}}}',
        b'{"method": "session/update", "params": {"type": "tool_call_update"}}',
        b'{"method": "session/update", "params": 1}',
        b"_update",
        b"_chunk",
    ],
)
def test_any_other_message_is_one_item(raw: bytes) -> None:
    """`verify` counts a message that is not a text chunk as one item of a turn's progress."""
    assert increment_of(raw, UPDATE) == ITEM


def test_updates_of_the_draft_are_counted() -> None:
    """In the 1.0 draft, `verify` counts the text of chunks as progress of a turn."""
    raw = b'{"method": "session/update", "params": {"type": "%s", "data": {"content": "abc"}}}'
    assert increment_of(raw % b"agent_message_chunk", UPDATE).characters == 3
    assert increment_of(raw % b"usage_update", UPDATE).state == "usage_update"


def test_other_methods_are_not_read() -> None:
    """`verify` counts a text in a method other than `session/update` as one item of progress."""
    assert increment_of(chunk("abc"), "_x/y") == ITEM


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_the_cutting_makes_no_difference(texts: list[str], data: st.DataObject) -> None:
    """`verify` measures the same progress of a turn, however its texts are split into chunks."""
    whole, pieces = StreamProgress(), StreamProgress()
    total, of_pieces = TotalProgress(), TotalProgress()
    for text in texts:
        adds = increment_of(chunk(text), UPDATE)
        whole.add(adds)
        total = total.plus(adds)
        units = text.encode("utf-16-le")
        places = sorted(data.draw(st.sets(st.integers(0, len(units) // 2))))
        for start, end in pairwise([0, *(2 * place for place in places), len(units)]):
            adds = increment_of(
                chunk(units[start:end].decode("utf-16-le", "surrogatepass")), UPDATE
            )
            pieces.add(adds)
            of_pieces = of_pieces.plus(adds)
        assert pieces.mark == whole.mark
        whole.add(ITEM)
        pieces.add(ITEM)
    assert of_pieces == total
    assert whole.mark == ProgressMark(2 * len(texts), 0)


def test_texts_differ_in_kind_and_message() -> None:
    """If a chunk has a new kind or message id, `verify` counts it as a new item of progress."""
    lines = [chunk("a"), chunk("b"), chunk("c", "agent_thought_chunk"), chunk("de", message="m")]
    assert [measured(*lines[:n]).mark for n in range(5)] == [
        ProgressMark(0, 0),
        ProgressMark(1, 1),
        ProgressMark(1, 2),
        ProgressMark(2, 1),
        ProgressMark(3, 2),
    ]


def test_state_updates_end_no_text() -> None:
    """For `verify`, a state update between two chunks does not split their text."""
    progress = StreamProgress()
    adds = [
        increment_of(chunk("a"), UPDATE),
        Increment(state="usage_update"),
        increment_of(chunk("b"), UPDATE),
    ]
    grew = []
    for at, item in enumerate(adds, 1):
        progress.add(item, at)
        grew.append(progress.grew_at)
    assert grew == [1, 1, 3]
    assert progress.mark == ProgressMark(1, 2)
    progress.clear()
    assert (progress.mark, progress.states["usage_update"]) == (ProgressMark(), 1)


def test_lines_are_a_flood_beyond_a_multiple_of_the_recording() -> None:
    """`verify` gives up if an agent sends many times the recorded lines without progress."""
    output = AgentOutput()
    output.recent_lines += 100_000
    assert not output.is_flood(10)
    output.recent_lines += 1
    assert (output.is_flood(10), output.is_flood(10_001)) == (True, False)
    output.note_progress()
    assert not output.is_flood(10)


def test_bytes_are_a_flood() -> None:
    """`verify` gives up if an agent sends more than 256 MiB without progress."""
    output = AgentOutput()
    output.recent_bytes += 256 << 20
    assert not output.is_flood(1)
    output.recent_bytes += 1
    assert output.is_flood(1)
