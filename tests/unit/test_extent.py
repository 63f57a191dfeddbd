"""How much was said, however it was cut."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.engine.client.stream_progress import ITEM, Extent, Meter, Said, Total, said
from acp_proxy.protocol.updates import STATE_UPDATES

UPDATE = "session/update"


def chunk(text: str, kind: str = "agent_message_chunk", message: str | None = None) -> bytes:
    """A piece of a text."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "messageId": message, "content": content}
    return json.dumps({"method": UPDATE, "params": {"sessionId": "s", "update": update}}).encode()


def measured(*lines: bytes) -> Meter:
    """What all of them come to."""
    meter = Meter()
    for line in lines:
        meter.take(said(line, UPDATE))
    return meter


@pytest.mark.parametrize("update", STATE_UPDATES)
@pytest.mark.parametrize("params", ['{"update":{"sessionUpdate":"%s"}}', '{"type":"%s","data":{}}'])
def test_what_tells_how_things_are_is_counted_apart(params: str, update: str) -> None:
    """It counts as a state update in every dialect, and not as an item."""
    raw = f'{{"method":"{UPDATE}","params":{params % update}}}'.encode()
    assert said(raw, UPDATE) == Said(state=update)


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
def test_all_else_is_one_item(raw: bytes) -> None:
    """However strange it is."""
    assert said(raw, UPDATE) == ITEM


def test_a_draft_says_it_elsewhere() -> None:
    """That is read as well."""
    raw = b'{"method": "session/update", "params": {"type": "%s", "data": {"content": "abc"}}}'
    assert said(raw % b"agent_message_chunk", UPDATE).characters == 3
    assert said(raw % b"usage_update", UPDATE).state == "usage_update"


def test_other_methods_are_not_read() -> None:
    """They count by number."""
    assert said(chunk("abc"), "_x/y") == ITEM


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
def test_no_cutting_makes_a_difference(texts: list[str], data: st.DataObject) -> None:
    """Texts with something between them are as many and as long, cut anywhere."""
    whole, pieces = Meter(), Meter()
    total, of_pieces = Total(), Total()
    for text in texts:
        adds = said(chunk(text), UPDATE)
        whole.take(adds)
        total = total.plus(adds)
        units = text.encode("utf-16-le")
        places = sorted(data.draw(st.sets(st.integers(0, len(units) // 2))))
        for start, end in pairwise([0, *(2 * place for place in places), len(units)]):
            adds = said(chunk(units[start:end].decode("utf-16-le", "surrogatepass")), UPDATE)
            pieces.take(adds)
            of_pieces = of_pieces.plus(adds)
        assert pieces.extent == whole.extent
        whole.take(ITEM)
        pieces.take(ITEM)
    assert of_pieces == total
    assert whole.extent == Extent(2 * len(texts), 0)


def test_texts_differ_in_kind_and_message() -> None:
    """Each is an item."""
    lines = [chunk("a"), chunk("b"), chunk("c", "agent_thought_chunk"), chunk("de", message="m")]
    assert [measured(*lines[:n]).extent for n in range(5)] == [
        Extent(0, 0),
        Extent(1, 1),
        Extent(1, 2),
        Extent(2, 1),
        Extent(3, 2),
    ]


def test_states_are_counted_apart_and_end_no_text() -> None:
    """And are remembered when the rest is forgotten."""
    meter = Meter()
    adds = [said(chunk("a"), UPDATE), Said(state="usage_update"), said(chunk("b"), UPDATE)]
    assert [meter.take(one) for one in adds] == [True, False, True]
    assert meter.extent == Extent(1, 2)
    meter.clear()
    assert (meter.extent, meter.states["usage_update"]) == (Extent(), 1)
