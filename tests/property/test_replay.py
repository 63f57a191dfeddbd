"""Tests what replays guarantee, with all recordings and with generated conversations."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.playback_options import Order, Pacing
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    LogWriter,
    error,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)
from tests.support.reactive_client import Conversation, play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from acp_proxy.recording.steps import Step
    from tests.support.reactive_client import ClientFrame, Played


@pytest.fixture(scope="module")
def conversations(every_recording: list[Path]) -> Iterator[list[Conversation]]:
    """Yields all recordings of the repository and all captured conversations."""
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(RecordingReader(path)) for path in every_recording]
        yield [Conversation.load(reader) for reader in readers]


def assert_faithful(played: Played, order: Order) -> None:
    """Asserts that a client received the recorded bytes, and that nothing diverged."""
    conversation = played.conversation
    assert [d for d in played.divergences if d.kind is not DivergenceKind.UNANSWERED] == []
    for lane in conversation.lanes:
        assert played.received(lane) == conversation.sent_in(lane)
    assert len(played.stream) == len(conversation.whole)
    if order is Order.RECORDED or len(conversation.lanes) == 1:
        assert played.stream == conversation.whole


@pytest.mark.parametrize("order", Order)
def test_every_recording_replays_against_itself(
    conversations: list[Conversation], order: Order
) -> None:
    """If a client behaves as recorded, a replay sends the recorded bytes."""
    assert len(conversations) > 40
    for conversation in conversations:
        assert_faithful(play(conversation, order=order), order)


def leaving_out(number: int, step: Step, raw: bytes) -> list[bytes]:
    """Returns the line that a client sends for a message; none for the omitted message."""
    return [] if step.seq == number else [raw]


def test_an_optional_request_left_out_is_named(
    conversations: list[Conversation],
) -> None:
    """If a client leaves out an optional request, the report of a replay names the request."""
    clean = 0
    for conversation in conversations:
        may_be = [say for say in conversation.frames if say.step.is_optional]
        for left_out in (*may_be, *conversation.frames[-3:]):
            number = left_out.step.seq
            played = play(conversation, partial(leaving_out, number))
            if played.counted:
                continue
            clean += 1
            sent = {send.seq for send in played.sent}
            unplayed = conversation.lines.keys() - sent
            steps = [step for step in conversation.steps if not step.from_agent]
            replies = {step.seq: step.response_seq for step in steps if step.kind == "request"}
            named = {divergence.seq for divergence in played.divergences}
            assert unplayed <= {answer for seq, answer in replies.items() if seq in named}
            unanswered = {seq for seq, answer in replies.items() if answer not in sent}
            assert unanswered <= named
    assert clean > 10


def changed(step: Step, raw: bytes) -> bytes:
    """Returns a message in which a value that a replay compares is different."""
    message = json.loads(raw)
    match step.kind:
        case "request" if step.method == "initialize":
            message["params"]["protocolVersion"] = 77
        case "request":
            message["params"] = {**(message.get("params") or {}), "other": 1}
        case "error":
            message = result(message["id"])
        case _:
            message = error(message["id"], 1, "no")
    return json.dumps(message).encode()


def drops(_: Step, __: bytes) -> list[bytes]:
    """Returns no line, so that the client omits a message."""
    return []


def doubles(_: Step, raw: bytes) -> list[bytes]:
    """Returns the recorded line twice, so that the client repeats a message."""
    return [raw, raw]


def changes(step: Step, raw: bytes) -> list[bytes]:
    """Returns a different line, so that the client sends a different message."""
    return [changed(step, raw)]


MISTAKES: dict[Callable[[Step, bytes], list[bytes]], dict[str, str]] = {
    drops: dict.fromkeys(("request", "response", "error", "notification"), "missing-expected"),
    doubles: {
        "request": "exhausted",
        "notification": "exhausted",
        "response": "unknown-reply-id",
        "error": "unknown-reply-id",
    },
    changes: {
        "request": "params-differ",
        "response": "outcome-differs",
        "error": "outcome-differs",
    },
}
"""The mistakes of a client, and the divergence of each by the kind of message."""


def twins(conversation: Conversation, step: Step) -> set[int]:
    """Returns the numbers of all messages that are equal to a message, with its own number.

    A replay cannot know which of equal messages is missing, so it reports the last one.
    """
    by_seq = {say.step.seq: say for say in conversation.frames}

    def parsed(say: ClientFrame) -> Any:
        message = json.loads(say.raw)
        return {name: value for name, value in message.items() if name != "id"}

    mine = parsed(by_seq[step.seq])
    if step.kind != "request":
        return {step.seq}
    return {say.step.seq for say in conversation.frames if parsed(say) == mine}


def mistaken(step: Step, mistake: Callable[[Step, bytes], list[bytes]]) -> Any:
    """Returns a client that makes one mistake, at a given message."""

    def act(sent: Step, raw: bytes) -> list[bytes]:
        return mistake(sent, raw) if sent.seq == step.seq else [raw]

    return act


Place = tuple["Conversation", "Step"]


def first_of_each(places: list[Place]) -> list[Place]:
    """Returns each agent's first message of each kind, and each recording's last message."""
    kept: dict[Any, Place] = {}
    for conversation, step in places:
        agent = conversation.path.stem.rpartition("-")[0]
        kept.setdefault((agent, step.kind, step.method), (conversation, step))
        kept[conversation.path] = conversation, step
    return list(
        {
            (conversation.path, step.seq): (conversation, step)
            for conversation, step in kept.values()
        }.values()
    )


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
@pytest.mark.parametrize(
    "chosen",
    [pytest.param(first_of_each, id="some"), pytest.param(list, id="all", marks=pytest.mark.soak)],
)
def test_one_mistake_is_one_divergence(
    conversations: list[Conversation],
    mistake: Callable[[Step, bytes], list[bytes]],
    chosen: Callable[[list[Place]], list[Place]],
) -> None:
    """If a client omits, repeats or changes one message, a replay reports one divergence."""
    places = [
        (conversation, step) for conversation in conversations for step in conversation.required
    ]
    places = [place for place in places if place[1].kind in MISTAKES[mistake]]
    assert len(places) > 100
    for conversation, step in chosen(places):
        assert_one_divergence(conversation, step, mistake)


def assert_one_divergence(
    conversation: Conversation, step: Step, mistake: Callable[[Step, bytes], list[bytes]]
) -> None:
    """Plays a client with one mistake, and asserts that a replay reports only this mistake."""
    played = play(conversation, mistaken(step, mistake))
    where = f"{conversation.path.name} {mistake.__name__} {step}"
    if mistake is drops and step.is_optional:
        assert played.counted == [], where
        return
    if mistake is doubles and is_last_word(conversation, step):
        return
    (primary,) = played.primary
    same = twins(conversation, step) if mistake is not changes else {step.seq}
    assert primary.seq in same, where
    assert primary.kind == MISTAKES[mistake][step.kind], where
    if mistake is changes and step.kind == "request":
        assert primary.near_misses[0].seq == step.seq, where
    unharmed = set(conversation.lanes) - {primary.lane, step.lane, None}
    if len(same) == 1 and step.lane is not None:
        for lane in unharmed:
            assert played.received(lane) == conversation.sent_in(lane), where


def is_last_word(conversation: Conversation, step: Step) -> bool:
    """Whether the recorded agent left after a message, and no later message is awaited."""
    left_at = RecordedSteps(conversation.reader).agent_left_at
    return left_at is not None and all(
        other.seq <= step.seq or other.seq > left_at for other in conversation.required
    )


def test_a_response_before_its_request_is_one_divergence(
    conversations: list[Conversation],
) -> None:
    """If a client replies before a replay has sent the request, only one divergence is reported."""
    made = 0
    for conversation in conversations:
        for reply in conversation.required:
            before = [
                say.step.seq
                for say in conversation.frames
                if say.step.lane == reply.lane and say.step.seq < (reply.request_seq or 0)
            ]
            if reply.kind != "response" or not before:
                continue
            made += 1
            played = play(conversation, moved(conversation, reply, before[-1]))
            assert [(d.kind, d.seq) for d in played.primary] == [("unknown-reply-id", reply.seq)]
    assert made > 10


def moved(conversation: Conversation, reply: Step, to: int) -> Any:
    """Returns a client that sends a reply before an earlier message."""
    (line,) = (say.raw for say in conversation.frames if say.step.seq == reply.seq)

    def act(sent: Step, raw: bytes) -> list[bytes]:
        if sent.seq == to:
            return [line, raw]
        return [] if sent.seq == reply.seq else [raw]

    return act


def test_ignored_differences_stay_clean(conversations: list[Conversation]) -> None:
    """A replay accepts a message that differs only in the order of keys, `_meta` or ids."""
    for conversation in conversations:
        played = play(conversation, forgiven)
        assert played.counted == [], conversation.path.name
        for lane in conversation.lanes:
            assert without_ids(played.received(lane)) == without_ids(conversation.sent_in(lane))


def forgiven(step: Step, raw: bytes) -> list[bytes]:
    """Returns the same message with differences that a replay ignores."""
    message = json.loads(raw)
    params = message.get("params")
    if isinstance(params, dict):
        params["_meta"] = {"trace": [1, 2]}
        if step.method == "initialize":
            params["clientInfo"] = {"name": "another", "version": "9"}
        elif step.method == "$/cancel_request":
            params["requestId"] = f"id-{params['requestId']}"
    if step.kind == "request":
        message["id"] = f"id-{message['id']}"
    if step.method == "fs/read_text_file" and "content" in (message.get("result") or {}):
        message["result"]["content"] += " and more"
    upside_down = dict(reversed(message.items()))
    return [b"  " + json.dumps(upside_down, indent=1).replace("\n", " ").encode() + b" "]


def without_ids(stream: bytes) -> list[Any]:
    """Returns the messages of a stream, without the ids of responses."""
    messages = []
    for line in stream.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            message = line
        if isinstance(message, dict) and "method" not in message:
            message.pop("id", None)
        messages.append(message)
    return messages


# Generated conversations.

Line = tuple[str, Any]
"""A direction, and a message whose id is provisional: None for a request, otherwise a key."""


@st.composite
def sessions(draw: st.DrawFn, name: str) -> list[Line]:
    """Draws the messages of one session in order; ``"->"`` marks messages of the client."""
    lines: list[Line] = [("->", ("session/new", {"cwd": f"/{name}", "mcpServers": []}))]
    lines += [("<-", update(name, "plan", n=n)) for n in range(draw(st.integers(0, 2)))]
    lines.append(("<-", ("answer", {"sessionId": name})))
    for turn in range(draw(st.integers(0, 3))):
        lines.append(("->", ("session/prompt", {"sessionId": name, "prompt": [text(f"{turn}")]})))
        for n in range(draw(st.integers(0, 4))):
            lines += draw(st.sampled_from(EVENTS))(name, n)
        lines.append(("<-", ("answer", {"stopReason": "end_turn", "turn": turn})))
        lines += [("<-", update(name, "late", n=n)) for n in range(draw(st.integers(0, 1)))]
    return lines


EVENTS: list[Callable[[str, int], list[Line]]] = [
    lambda name, n: [("<-", update(name, "agent_message_chunk", content=text(f"{n}")))],
    lambda name, n: [
        ("<-", ("ask", "fs/read_text_file", {"sessionId": name, "path": f"/{name}/{n}"})),
        ("->", ("reply", {"content": f"{n}"})),
    ],
    lambda name, _: [
        ("<-", ("ask", "session/request_permission", {"sessionId": name, "options": []})),
        ("->", ("reply", {"outcome": {"outcome": "cancelled"}})),
    ],
    lambda name, _: [("->", notification("session/cancel", sessionId=name))],
    lambda name, n: [("->", notification("_focus", sessionId=name, n=n))],
    lambda name, _: [
        ("->", ("session/set_mode", {"sessionId": name, "modeId": "m"})),
        ("<-", ("latest", {})),
    ],
]


@st.composite
def mixed_sessions(draw: st.DrawFn) -> list[Line]:
    """Draws several interleaved sessions, and requests without a session."""
    lanes = [draw(sessions(name)) for name in ("a", "b", "c")[: draw(st.integers(1, 3))]]
    lists: list[Line] = [("->", ("session/list", {})), ("<-", ("answer", {"sessions": []}))]
    lanes.append([line for _ in range(draw(st.integers(0, 2))) for line in lists])
    places = [lane for lane, lines in enumerate(lanes) for _ in lines]
    lines: list[Line] = []
    for lane in draw(st.permutations(places)):
        direction, message = lanes[lane].pop(0)
        lines.append((direction, (lane, message)))
    return lines


def record(lines: list[Line], path: Path) -> None:
    """Records the messages of generated sessions, and gives them ids."""
    next_id, next_ask = 1, 0
    open_requests: dict[int, list[int]] = {}
    open_asks: dict[int, list[int]] = {}
    with LogWriter(path) as recorder:
        handshake(recorder)
        for direction, (lane, message) in lines:
            requests, asks = open_requests.setdefault(lane, []), open_asks.setdefault(lane, [])
            match message:
                case ("answer", value):
                    message = result(requests.pop(0), **value)
                case ("latest", value):
                    message = result(requests.pop(), **value)
                case ("reply", value):
                    message = result(asks.pop(0), **value)
                case ("ask", method, params):
                    asks.append(next_ask)
                    message = request(next_ask, method, **params)
                    next_ask += 1
                case (method, params):
                    requests.append(next_id)
                    message = request(next_id, method, **params)
                    next_id += 1
            (recorder.to_agent if direction == "->" else recorder.to_client)(message)
        recorder.end()
        recorder.close()
        recorder.finish()


def recorded(lines: list[Line]) -> Iterator[Conversation]:
    """Yields a recorded conversation, and deletes its file afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "talk.db")
        record(lines, path)
        with RecordingReader(path) as reader:
            yield Conversation.load(reader)


@given(mixed_sessions(), st.sampled_from(Order))
def test_any_conversation_replays_against_itself(lines: list[Line], order: Order) -> None:
    """If a client of several sessions behaves as recorded, a replay sends the recorded bytes."""
    for conversation in recorded(lines):
        assert_faithful(play(conversation, order=order), order)


PACINGS = [Pacing(), Pacing(0.001)]


@given(mixed_sessions(), st.randoms(use_true_random=False))
def test_the_interleaving_of_lanes_changes_no_lane(
    lines: list[Line], chance: random.Random
) -> None:
    """In whatever order a replay serves sessions, each session gets all of its recorded frames."""
    for conversation in recorded(lines):
        for pacing in PACINGS:
            played = play(conversation, choose=chance.choice, pacing=pacing)
            assert played.counted == []
            for lane in conversation.lanes:
                assert played.received(lane) == conversation.sent_in(lane)


@given(mixed_sessions(), st.integers(0, 2**32))
def test_the_same_input_gives_the_same_output(lines: list[Line], seed: int) -> None:
    """For the same input, a replay sends the same bytes."""
    for conversation in recorded(lines):
        streams = set()
        for _ in range(3):
            chance = random.Random(seed)

            def act(_: Step, raw: bytes, chance: random.Random = chance) -> list[bytes]:
                return chance.choice([[raw], [raw], [raw], [], [raw, raw], [b"garbage"]])

            played = play(conversation, act, chance.choice)
            streams.add(hashlib.sha256(played.stream).hexdigest())
        assert len(streams) == 1
