"""The messages of a JSON-RPC batch have their own labels, and summaries count them."""

from __future__ import annotations

import json

from acp_proxy.explain.show.conversation_summary import first_prompt
from acp_proxy.explain.show.summary import summarize
from acp_proxy.store.queries.batch_members import members_of
from tests.support.batch_messages import CHAT, error, prompt, recording, request, result


def test_each_message_has_its_own_labels() -> None:
    """In a JSON-RPC batch, each message has its own kind, method, exchange and tool call."""
    wanted = ("kind", "method", "rpc_id", "exchange", "session", "turn", "tool_call")
    with recording(*CHAT) as reader:
        rows = [m for frame in reader.frames() for m in members_of(frame, reader.query)]
    assert [tuple(row[name] for name in wanted) for row in rows] == [
        ("request", "session/prompt", "2", 1, "s", 1, None),
        ("request", "session/set_mode", "3", 2, "s", 1, None),
        ("notification", "session/update", None, None, "s", 1, "c"),
        ("request", "session/request_permission", "9", 3, "s", 1, "c"),
        ("response", "session/request_permission", "9", 3, "s", 1, "c"),
        ("notification", "session/update", None, None, "s", 1, "c"),
        ("error", "session/set_mode", "3", 2, "s", 1, None),
        ("response", "session/prompt", "2", 1, "s", 1, None),
    ]
    assert [row["member"] for row in rows] == [0, 1, 0, 1, 0, 0, 1, 2]
    assert json.loads(rows[-1]["raw"]) == result(2, stopReason="end_turn")


def test_two_prompts_of_one_batch_are_two_turns() -> None:
    """`show` counts each prompt in a JSON-RPC batch as a turn of its own."""
    with recording((">", [prompt(1, "One"), prompt(2, "Two")])) as reader:
        (batch,) = reader.frames()
        assert [member["turn"] for member in members_of(batch, reader.query)] == [1, 2]
        assert [turn.prompt for turn in summarize(reader).turns] == ["One", "Two"]


def test_the_first_prompt_may_be_in_a_batch() -> None:
    """`list` shows the first prompt even if it is in a JSON-RPC batch."""
    batch = [request(1, "session/list"), prompt(2, "Hello"), prompt(3, "there")]
    assert first_prompt(json.dumps(batch).encode()) == "Hello"
    assert first_prompt(b"[1]") == ""


def test_an_odd_batch_has_no_messages_or_odd_ones() -> None:
    """The recorded JSON-RPC batch `[]` has no messages, and `[1, [2]]` has two invalid ones."""
    with recording((">", []), ("<", [1, [2]])) as reader:
        empty, odd = reader.frames()
        assert members_of(empty, reader.query) == []
        assert [member["kind"] for member in members_of(odd, reader.query)] == [
            "invalid",
            "invalid",
        ]
        assert summarize(reader).not_acp == []


def test_a_summary_reads_the_messages_of_batches() -> None:
    """`show` counts the prompts and tool calls in JSON-RPC batches."""
    with recording(*CHAT) as reader:
        summary = summarize(reader)
    (turn,) = summary.turns
    assert (turn.prompt, turn.stop_reason) == ("Hello there", "end_turn")
    assert [(t.kind, t.statuses) for t in summary.tool_calls] == [("read", {"completed": 1})]
    assert [(q.title, q.answer) for q in summary.questions] == [("Write a", "cancelled")]
    assert [(e.code, e.message) for e in summary.error_codes] == [(-32603, "no such mode")]
    assert summary.updates == 2


def test_an_error_within_a_batch_keeps_its_code() -> None:
    """`show` describes an error in a JSON-RPC batch by its code."""
    with recording((">", [prompt(2, "x")]), ("<", [error(2, -32603, "boom")])) as reader:
        texts = [problem.text for problem in summarize(reader).findings]
    assert texts == [
        "the agent answered session/prompt with error -32603 (internal error): boom (#2)"
    ]


def test_an_unanswered_request_of_a_batch_is_described_by_its_own_text() -> None:
    """`show` describes an open request in a JSON-RPC batch by the text of the request."""
    both = [request(1, "session/list"), prompt(2, "Hello")]
    with recording((">", both), ("<", result(1, sessions=[]))) as reader:
        (request_,) = summarize(reader).unanswered
    assert (request_.method, request_.rpc_id, request_.preview) == ("session/prompt", "2", "Hello")
