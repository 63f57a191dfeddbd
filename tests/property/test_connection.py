"""A connection pairs messages by the documented rules, even if its state is stored meanwhile."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import pytest
from attrs import asdict
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.forms import converter
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State
from acp_proxy.protocol.jsonrpc import Direction, Kind, read
from tests.support.captures import ROOT, Read, all_captures, load
from tests.support.labelled_transcripts import Conversation

if TYPE_CHECKING:
    from pathlib import Path

Frames = list[tuple[int, Direction, bytes]]

names = st.sampled_from(["s", "t"])
ids = st.sampled_from([0, 1, 2, "1", None])
kinds = st.sampled_from(["agent_message_chunk", "tool_call", "tool_call_update", "state_update"])
bodies = st.fixed_dictionaries(
    {},
    optional={
        "sessionId": names,
        "toolCallId": names,
        "terminalId": names,
        "requestId": ids,
        "update": st.fixed_dictionaries(
            {"sessionUpdate": kinds},
            optional={"toolCallId": names, "state": st.sampled_from(["idle", "running"])},
        ),
        "stopReason": st.just("end_turn"),
        "protocolVersion": st.sampled_from([1, 2]),
    },
)
methods = st.sampled_from(
    ["initialize", "session/new", "session/prompt", "session/update", "fs/read_text_file",
     "session/request_permission", "terminal/create", "$/cancel_request"]
)  # fmt: skip
messages = st.one_of(
    st.fixed_dictionaries({"method": methods, "params": bodies}, optional={"id": ids}),
    st.fixed_dictionaries({"id": ids, "result": bodies}),
    st.fixed_dictionaries({"error": st.just({"code": -32800})}, optional={"id": ids}),
)
conversations = st.lists(
    st.tuples(
        st.sampled_from(list(Direction)), messages | st.lists(messages, min_size=1, max_size=3)
    ),
    max_size=20,
)
dialects = st.sampled_from(["auto", "v1", "v2", "draft-1.0"])


def frames_of(conversation: list[tuple[Direction, Any]]) -> Frames:
    """Returns the lines of a generated conversation, one microsecond apart."""
    return [
        (n * 1000, direction, json.dumps(message).encode())
        for n, (direction, message) in enumerate(conversation)
    ]


@functools.cache
def captured(path: Path) -> Frames:
    """Returns the frames of a captured conversation, each with the time when it was complete."""
    frames: Frames = []
    begun: dict[str, bytes] = {}
    for record in load(path).records:
        if isinstance(record, Read) and record.stream != "stderr":
            *lines, rest = (begun.get(record.stream, b"") + record.data).split(b"\n")
            begun[record.stream] = rest
            frames += [(record.t_ns, Direction(record.stream), line) for line in lines]
    return frames


def correlate(
    frames: Frames, stops: set[int] | range = range(0), dialect: str = "auto"
) -> list[Any]:
    """Returns the labels of all frames; the connection is stored and loaded at some of them."""
    conversation = Conversation(Connection(dialect=dialect))
    labels = []
    exchanges: dict[int, Any] = {}
    turns: dict[int, Any] = {}

    def keep_changes() -> None:
        exchanges.update({exchange.id: asdict(exchange) for exchange in conversation.exchanges})
        turns.update({turn.id: asdict(turn) for turn in conversation.turns})

    for seq, (t_ns, direction, raw) in enumerate(frames):
        if seq in stops:
            keep_changes()
            state = converter.loads(converter.dumps(conversation.connection.state), State)
            assert state == conversation.connection.state
            conversation = Conversation(Connection(state))
        labels.append(asdict(conversation.feed(seq, t_ns, direction, read(raw))))
    keep_changes()
    return [labels, exchanges, turns, conversation.connection.state]


@given(st.sampled_from(all_captures()), st.data())
def test_a_real_conversation_can_be_interrupted(path: Path, data: st.DataObject) -> None:
    """If a recorder's state is stored and loaded between frames, later labels do not change."""
    frames = captured(path)
    stops = data.draw(st.sets(st.integers(0, len(frames) - 1), max_size=5))
    assert correlate(frames, stops) == correlate(frames)


@pytest.mark.parametrize(
    "path", all_captures(), ids=lambda path: str(path.relative_to(ROOT)).partition(".jsonl")[0]
)
def test_real_conversations_are_labelled_completely(path: Path) -> None:
    """In each recording of a real agent, the recorder paired every response with its request."""
    labels, exchanges, turns, state = correlate(captured(path), range(len(captured(path))))
    assert state.handshake.dialect == "v1"
    for label, (_, _, raw) in zip(labels, captured(path), strict=True):
        message = read(raw)
        assert message.kind is not Kind.INVALID
        if message.kind in (Kind.REQUEST, Kind.RESPONSE, Kind.ERROR):
            assert label["exchange"] is not None
            assert label["method"] is not None
        if message.method == "session/update":
            assert label["session"] is not None
    unanswered = {e["method"] for e in exchanges.values() if e["outcome"] == "unanswered"}
    unfinished = [turn for turn in turns.values() if turn["end_seq"] is None]
    if path.name == "killed.jsonl":
        assert unanswered == {"session/prompt"}
        assert len(unfinished) == 1
    else:
        assert not unanswered
        assert not unfinished
    prompts = [e for e in exchanges.values() if e["method"] == "session/prompt"]
    assert len(turns) == len(prompts)


@given(conversations, st.sets(st.integers(0, 19)), dialects)
def test_any_conversation_can_be_interrupted(
    conversation: list[tuple[Direction, Any]], stops: set[int], dialect: str
) -> None:
    """If a recorder's state is stored and loaded at any frame, the labels of frames stay equal."""
    frames = frames_of(conversation)
    assert correlate(frames, stops, dialect) == correlate(frames, dialect=dialect)


def flattened(conversation: list[tuple[Direction, Any]]) -> list[tuple[Direction, dict[str, Any]]]:
    """Returns the messages of a conversation, with the members of JSON-RPC batches."""
    return [
        (direction, message)
        for direction, messages in conversation
        for message in (messages if isinstance(messages, list) else [messages])
    ]


@given(conversations, dialects)
def test_a_response_belongs_to_the_oldest_open_request(
    conversation: list[tuple[Direction, Any]], dialect: str
) -> None:
    """A recorder pairs a response with the oldest open request that has its id."""
    waiting: list[tuple[Direction, str, int]] = []
    expected: list[int | None] = []
    for direction, message in flattened(conversation):
        token = json.dumps(message.get("id"))
        if "method" in message:
            exchange = len([e for e in expected if e is not None and e > 0]) + 1
            expected.append(exchange if "id" in message else 0)
            if "id" in message:
                waiting.append((direction, token, exchange))
        else:
            oldest = [w for w in waiting if w[:2] == (direction.other, token)][:1]
            expected.append(-oldest[0][2] if oldest else None)
            waiting = [w for w in waiting if w not in oldest]

    labels, exchanges, _, state = correlate(
        frames_of(list(flattened(conversation))), dialect=dialect
    )
    for label, number in zip(labels, expected, strict=True):
        if number != 0:  # a notification may be a `$/cancel_request`
            assert label["exchange"] == (number and abs(number))
    answered = {-e for e in expected if e is not None and e < 0}
    assert {e["id"] for e in exchanges.values() if e["response_seq"] is not None} == answered
    for direction in Direction:
        still = [exchange for way, _, exchange in waiting if way is direction]
        assert [e.id for e in Connection(state).open_requests(direction)] == still


@given(conversations, dialects)
def test_frames_of_a_turn_belong_to_its_session(
    conversation: list[tuple[Direction, Any]], dialect: str
) -> None:
    """All frames that a recorder labels with a turn belong to the session of that turn."""
    messages = flattened(conversation)
    labels, _, turns, _ = correlate(frames_of(list(messages)), dialect=dialect)
    for number, turn in turns.items():
        own = [seq for seq, label in enumerate(labels) if label["turn"] == number]
        assert own[0] == turn["prompt_seq"]
        assert {labels[seq]["session"] for seq in own} == {turn["session"]}
        if turn["session"] is None:  # not in ACP: no other message can be assigned to this turn
            continue
        if turn["end_seq"] is not None:
            assert turn["end_seq"] in own
            assert turn["duration_ns"] == (turn["end_seq"] - turn["prompt_seq"]) * 1000
        notices = [
            seq
            for seq in own
            if messages[seq][1].get("method") == "session/update" and "id" not in messages[seq][1]
        ]
        called = {labels[seq]["tool_call"] for seq in notices} - {None}
        assert (turn["updates"], turn["tool_calls"]) == (len(notices), len(called))
