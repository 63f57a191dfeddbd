"""Tool calls whose ids were used before are found where they begin."""

from __future__ import annotations

from acp_proxy.inspection.measures.repeated_calls import RepeatedCalls
from acp_proxy.inspection.message_pass import PAUSE_NS, MessagePass, messages_of
from tests.audited import Talk
from tests.log_writer import request, result


def repeated(talk: Talk) -> dict[str, list[int]]:
    """Returns the first frames of these calls by id."""
    with talk.reader() as reader:
        messages = MessagePass(reader)
        found = RepeatedCalls(messages)
        for run, message, done in messages.read(PAUSE_NS):
            for _, its_done in messages_of(message, done):
                if its_done.tool_call is not None:
                    found.feed(run.seq, its_done)
    return {call: [*seqs] for (_, call), seqs in found.finish().items()}


def test_the_first_call_with_an_id_is_not_repeated() -> None:
    """Nor is a call that is announced twice."""
    talk = Talk()
    for call in "aabcc":
        talk.call(call)
    talk.ends("c")
    talk.call("c")  # 12
    talk.ends("c")
    talk.call("c")  # 14
    assert repeated(talk) == {"c": [12, 14]}


def test_a_history_repeats_no_id_of_before() -> None:
    """It tells of the same call again; what it alone tells of are calls of its own."""
    talk = Talk()
    talk.call("a", status="completed")
    talk.to_client(result(3, stopReason="end_turn"))
    talk.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    for call in "aabb":
        talk.call(call, status="completed")  # 9 to 12
    talk.to_client(result(9))
    assert repeated(talk) == {"b": [12]}
