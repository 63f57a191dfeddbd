"""Tests the labels that a connection assigns to the frames of conversations."""

from __future__ import annotations

import pytest

from acp_proxy.base.forms import converter
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State, Transition
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message, read
from tests.support.labelled_transcripts import Conversation, check, describe, frame, play
from tests.support.protocol_documents import draft

V1 = '"protocolVersion": 1'


def stored(conversation: Conversation) -> State:
    """Returns the state of a connection after it was stored and read back."""
    return converter.loads(converter.dumps(conversation.connection.state), State)


def outcomes(conversation: Conversation) -> list[str]:
    """Returns the outcome of each exchange of a conversation, in order."""
    return [exchange.outcome for exchange in conversation.exchanges]


def connection(transcript: str) -> Connection:
    """Returns the connection after the frames of a transcript without labels."""
    conversation = Conversation()
    for _ in play([line.strip() for line in transcript.strip().splitlines()], conversation):
        pass
    return conversation.connection


# The handshake and the states of turns


def test_a_cancelled_turn_waits_for_its_end() -> None:
    """`Connection` keeps a turn that the client has cancelled open until the agent ends it."""
    prompt = '-> #1 session/prompt {"sessionId": "s"}\n-> session/cancel {"sessionId": "s"}'
    turn = connection(prompt).turn_of("s")
    assert turn is not None
    assert turn.is_cancelling
    ended = connection(prompt + '\n<- #1 result {"stopReason": "cancelled"}')
    assert ended.turn_of("s") is None


# Pairing


def test_both_peers_number_from_zero() -> None:
    """If both peers send a request with id 0, `Connection` pairs each with its own answer."""
    conversation = check("""
        -> #0 session/prompt {"sessionId": "s", "prompt": []}
           session/prompt, exchange 1, session s, turn 1
        <- #0 fs/read_text_file {"sessionId": "s", "path": "/a"}
           fs/read_text_file, exchange 2, session s, turn 1
        -> #0 result {"content": ""}
           fs/read_text_file, exchange 2, session s, turn 1
        <- #0 result {"stopReason": "end_turn"}
           session/prompt, exchange 1, session s, turn 1
    """)
    exchanges = conversation.exchanges
    assert [(e.id, e.direction, e.request_seq, e.response_seq) for e in exchanges] == [
        (1, "to-agent", 1, 4),
        (2, "to-client", 2, 3),
    ]


def test_answers_come_in_any_order() -> None:
    """`Connection` pairs answers with requests by the ids, in whatever order answers come."""
    conversation = check("""
        -> #0 a
           a, exchange 1
        -> #1 b
           b, exchange 2
        -> #2 c
           c, exchange 3
        <- #2 result {}
           c, exchange 3
        <- #0 error {"code": -32603, "message": "no"}
           a, exchange 1
        <- #1 result null
           b, exchange 2
    """)
    assert outcomes(conversation) == ["error", "result", "result"]


def test_an_id_that_is_open_twice_means_the_older_request() -> None:
    """If two open requests have one id, the first answer belongs to the older request."""
    check("""
        -> #1 a
           a, exchange 1
        -> #1 b
           b, exchange 2
        <- #1 result 1
           a, exchange 1
        <- #1 result 2
           b, exchange 2
        <- #1 result 3
           nothing
    """)


@pytest.mark.parametrize(
    ("asked", "answered"), [("7", '"7"'), ("1", "1.0"), ("9007199254740993", "9007199254740992")]
)
def test_ids_are_compared_as_they_are_written(asked: str, answered: str) -> None:
    """`Connection` does not pair a request with the id "1" with an answer with the id 1."""
    conversation = check(f"""
        -> #{asked} a
           a, exchange 1
        <- #{answered} result 1
           nothing
        <- #{asked} result 1
           a, exchange 1
    """)
    assert outcomes(conversation) == ["result"]


def test_an_answer_to_nothing_belongs_to_nothing() -> None:
    """`Connection` pairs an answer with an unknown id with no request."""
    check("""
        -> #1 a
           a, exchange 1
        -> #1 result {}
           nothing
        <- #2 result {}
           nothing
        <- #2 result {"sessionId": "s", "terminalId": "t"}
           session s, terminal t
    """)


def test_an_error_without_an_id_answers_nothing() -> None:
    """`Connection` pairs an error response without an id with no request."""
    conversation = check("""
        -> #1 a
           a, exchange 1
        -> {"id": 2, "method"
           nothing
        <- #null error {"code": -32700, "message": "Parse error"}
           nothing
        <- error {"code": -32700, "message": "Parse error"}
           nothing
    """)
    assert outcomes(conversation) == ["unanswered"]


def test_a_request_of_id_null_is_answered_with_null() -> None:
    """`Connection` pairs a request whose id is null with an answer whose id is null."""
    check("""
        -> #null a
           a, exchange 1
        <- #null result {}
           a, exchange 1
    """)


def test_latency_is_from_request_to_answer() -> None:
    """`Connection` measures the latency from a request to its answer."""
    conversation = Conversation()
    conversation.feed(5, 1000, Direction.TO_AGENT, read(frame("#1 a")))
    conversation.feed(9, 4500, Direction.TO_CLIENT, read(frame("#1 result 1")))
    (exchange,) = conversation.exchanges
    assert (exchange.request_ns, exchange.latency_ns) == (1000, 3500)
    assert (exchange.request_seq, exchange.response_seq) == (5, 9)


def test_open_requests_are_listed_oldest_first() -> None:
    """`Connection` lists the open requests of a direction from the oldest to the newest."""
    conversation = check("""
        -> #9 a
           a, exchange 1
        <- #0 b
           b, exchange 2
        -> #1 c
           c, exchange 3
        -> #9 d
           d, exchange 4
        <- #9 result 1
           a, exchange 1
    """)
    assert [e.method for e in conversation.connection.open_requests(Direction.TO_AGENT)] == [
        "c",
        "d",
    ]
    assert [e.method for e in conversation.connection.open_requests(Direction.TO_CLIENT)] == ["b"]


@pytest.mark.parametrize("kind", [Kind.INVALID, Kind.BLANK, Kind.STDERR])
def test_a_line_without_a_message_has_no_labels(kind: Kind) -> None:
    """`Connection` gives a blank, invalid or stderr line no labels, such as a session or a turn."""
    conversation = Conversation()
    labels = conversation.feed(1, 1, Direction.TO_AGENT, Message(kind, rpc_id="1", session="s"))
    assert describe(labels) == "nothing"
    assert conversation.connection.state == State()


def fed(conversation: Conversation, text: str, direction: Direction) -> Transition:
    """Returns the transition of a connection after one more message."""
    return conversation.feed(9, 9, direction, read(frame(text)))


def test_a_transition_has_the_changes_of_a_message() -> None:
    """The result of `Connection.feed` names the turn that a message begins, updates or ends."""
    conversation = Conversation()
    asked = fed(conversation, '#1 session/prompt {"sessionId": "s"}', Direction.TO_AGENT)
    assert asked.opened is not None
    assert asked.begun is not None
    line = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}}'
    chunk = fed(conversation, line, Direction.TO_CLIENT)
    assert chunk == Transition("session/update", session="s", turn=1, updated=asked.begun)
    answered = fed(conversation, '#1 result {"stopReason": "end_turn"}', Direction.TO_CLIENT)
    assert answered.answered is asked.opened
    assert answered.ended == [asked.begun]


def test_the_transition_of_a_batch_has_those_of_its_members() -> None:
    """For a JSON-RPC batch, `Connection.feed` returns a transition for each request within."""
    line = '[{"id": 1, "method": "a"}, {"id": 2, "method": "b"}]'
    batch = fed(Conversation(), line, Direction.TO_AGENT)
    assert [member.opened.id for member in batch.members if member.opened is not None] == [1, 2]
    assert (batch.exchange, batch.opened) == (None, None)


# Cancelling


def test_a_cancelled_request() -> None:
    """`Connection` notes the outcome `cancelled` if an error follows a `$/cancel_request`."""
    conversation = check("""
        -> #1 session/prompt {"sessionId": "s"}
           session/prompt, exchange 1, session s, turn 1
        <- #1 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "c"}}
           session/request_permission, exchange 2, session s, turn 1, tool_call c
        <- $/cancel_request {"requestId": 1}
           $/cancel_request, exchange 2, session s, turn 1, tool_call c
        -> #1 error {"code": -32603, "message": "stopped"}
           session/request_permission, exchange 2, session s, turn 1, tool_call c
        -> $/cancel_request {"requestId": 1}
           $/cancel_request, exchange 1, session s, turn 1
        <- #1 result {"stopReason": "cancelled"}
           session/prompt, exchange 1, session s, turn 1
    """)
    assert outcomes(conversation) == ["result", "cancelled"]


def test_cancelling_nothing_belongs_to_nothing() -> None:
    """`Connection` assigns a `$/cancel_request` to no exchange if no request has the id."""
    check("""
        -> #1 a
           a, exchange 1
        -> $/cancel_request {"requestId": "1"}
           $/cancel_request
        <- $/cancel_request {"requestId": 1}
           $/cancel_request
        -> $/cancel_request {}
           $/cancel_request
        -> $/cancel_request
           $/cancel_request
    """)


@pytest.mark.parametrize(
    ("dialect", "code", "outcome"),
    [
        ("v1", -32800, "cancelled"),
        ("v2", -32800, "cancelled"),
        ("draft-1.0", -32800, "cancelled"),
        ("draft-1.0", -32003, "cancelled"),
        ("v1", -32003, "error"),
        ("v1", -32000, "error"),
    ],
)
def test_codes_that_say_cancelled(dialect: str, code: int, outcome: str) -> None:
    """`Connection` notes the outcome `cancelled` if a request gets the error code -32800."""
    conversation = check(
        f"""
        -> #1 a
           a, exchange 1
        <- #1 error {{"code": {code}, "message": ""}}
           a, exchange 1
        """,
        dialect,
    )
    assert outcomes(conversation) == [outcome]


# Sessions and turns


def test_session_new_is_named_by_its_answer() -> None:
    """`Connection` labels the answer to `session/new`, and its exchange, with the new session."""
    conversation = check("""
        -> #1 session/new {"cwd": "/", "mcpServers": []}
           session/new, exchange 1
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "usage_update"}}
           session/update, session s
        <- #1 result {"sessionId": "s", "modes": null}
           session/new, exchange 1, session s
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "usage_update"}}
           session/update, session s
    """)
    (exchange,), turns = conversation.exchanges, conversation.turns
    assert exchange.session == "s"
    assert turns == []


def test_a_turn_lasts_from_prompt_to_answer() -> None:
    """After a prompt was answered, `Connection` assigns the session's messages to no turn."""
    conversation = check("""
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "usage_update"}}
           session/update, session s
        -> #2 session/prompt {"sessionId": "s", "prompt": []}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}}
           session/update, session s, turn 1
        -> session/cancel {"sessionId": "s"}
           session/cancel, session s, turn 1
        <- #2 result {"stopReason": "cancelled"}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "session_info_update"}}
           session/update, session s
        -> #3 session/set_mode {"sessionId": "s", "modeId": "ask"}
           session/set_mode, exchange 2, session s
    """)
    (turn,) = conversation.turns
    assert (turn.prompt_seq, turn.end_seq, turn.stop_reason) == (2, 5, "cancelled")
    assert (turn.updates, turn.tool_calls, turn.duration_ns) == (1, 0, 3000)


def test_a_turn_counts_updates_and_distinct_tool_calls() -> None:
    """`Connection` counts a tool call of a turn once, however many updates the call has."""
    call = '{"sessionId": "s", "update": {"sessionUpdate": "%s", "toolCallId": "%s"}}'
    first, again = call % ("tool_call", "a"), call % ("tool_call_update", "a")
    second = call % ("tool_call_update", "b")
    conversation = check(f"""
        -> #1 session/prompt {{"sessionId": "s"}}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {first}
           session/update, session s, turn 1, tool_call a
        <- session/update {again}
           session/update, session s, turn 1, tool_call a
        <- session/update {second}
           session/update, session s, turn 1, tool_call b
        <- session/update {{"sessionId": "s", "update": {{"sessionUpdate": "plan"}}}}
           session/update, session s, turn 1
        <- #1 result {{"stopReason": "end_turn"}}
           session/prompt, exchange 1, session s, turn 1
    """)
    (turn,) = conversation.turns
    assert (turn.updates, turn.tool_calls) == (4, 2)


def test_sessions_are_interleaved() -> None:
    """If two sessions have open turns, `Connection` labels each message with its own turn."""
    conversation = check("""
        -> #1 session/prompt {"sessionId": "a"}
           session/prompt, exchange 1, session a, turn 1
        -> #2 session/prompt {"sessionId": "b"}
           session/prompt, exchange 2, session b, turn 2
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
           session/update, session b, turn 2
        <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan"}}
           session/update, session a, turn 1
        <- #1 result {"stopReason": "end_turn"}
           session/prompt, exchange 1, session a, turn 1
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
           session/update, session b, turn 2
        <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan"}}
           session/update, session a
        <- #2 result {"stopReason": "refusal"}
           session/prompt, exchange 2, session b, turn 2
    """)
    turns = conversation.turns
    assert [(t.session, t.updates, t.stop_reason) for t in turns] == [
        ("a", 1, "end_turn"),
        ("b", 2, "refusal"),
    ]


def test_updates_belong_to_the_newest_open_prompt_of_their_session() -> None:
    """If a session has two open turns, `Connection` assigns its updates to the newer turn."""
    conversation = check("""
        -> #1 session/prompt {"sessionId": "s"}
           session/prompt, exchange 1, session s, turn 1
        -> #2 session/prompt {"sessionId": "s"}
           session/prompt, exchange 2, session s, turn 2
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
           session/update, session s, turn 2
        <- #5 fs/read_text_file {"sessionId": "s", "path": "/a"}
           fs/read_text_file, exchange 3, session s, turn 2
        <- #2 result {"stopReason": "end_turn"}
           session/prompt, exchange 2, session s, turn 2
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
           session/update, session s, turn 1
        <- #1 result {"stopReason": "end_turn"}
           session/prompt, exchange 1, session s, turn 1
    """)
    turns = conversation.turns
    assert [(turn.id, turn.updates) for turn in turns] == [(1, 1), (2, 1)]


def test_history_belongs_to_no_turn() -> None:
    """`Connection` assigns the history of a loaded session to no turn."""
    conversation = check("""
        -> #1 session/load {"sessionId": "s", "cwd": "/", "mcpServers": []}
           session/load, exchange 1, session s
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "user_message_chunk"}}
           session/update, session s
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk"}}
           session/update, session s
        <- #1 result null
           session/load, exchange 1, session s
    """)
    assert conversation.turns == []


def test_an_error_ends_the_turn() -> None:
    """If a prompt is answered with an error, `Connection` ends the turn without a stop reason."""
    conversation = check("""
        -> #1 session/prompt {"sessionId": "s"}
           session/prompt, exchange 1, session s, turn 1
        <- #1 error {"code": 400, "message": "overloaded"}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
           session/update, session s
    """)
    (turn,) = conversation.turns
    assert (turn.end_seq, turn.stop_reason) == (2, None)


def test_a_prompt_of_the_agent_begins_no_turn() -> None:
    """`Connection` begins no turn for a `session/prompt` that the agent sends."""
    check("""
        <- #1 session/prompt {"sessionId": "s"}
           session/prompt, exchange 1, session s
        -> #1 result {"stopReason": "end_turn"}
           session/prompt, exchange 1, session s
    """)


def test_a_prompt_without_a_session_is_a_turn_of_its_own() -> None:
    """`Connection` begins a turn for a prompt that names no session."""
    conversation = check("""
        -> #1 session/prompt {}
           session/prompt, exchange 1, turn 1
        <- session/update {"update": {"sessionUpdate": "plan"}}
           session/update
        <- #1 result {"stopReason": "end_turn", "sessionId": "s"}
           session/prompt, exchange 1, turn 1
    """)
    (turn,) = conversation.turns
    assert (turn.session, turn.end_seq) == (None, 3)


# Tool calls and terminals


def test_terminals_are_followed() -> None:
    """`Connection` labels requests about a terminal, and their answers, with the terminal's id."""
    check("""
        <- #5 terminal/create {"sessionId": "s", "command": "npm"}
           terminal/create, exchange 1, session s
        -> #5 result {"terminalId": "t"}
           terminal/create, exchange 1, session s, terminal t
        <- #6 terminal/output {"sessionId": "s", "terminalId": "t"}
           terminal/output, exchange 2, session s, terminal t
        -> #6 result {"output": "", "truncated": false}
           terminal/output, exchange 2, session s, terminal t
    """)


# v2 and the draft


def test_v2_accepts_first_and_ends_the_turn_when_idle() -> None:
    """In ACP v2, `Connection` ends a turn when the session becomes idle, not at the answer."""
    state = '{"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": %s}}'
    conversation = check(
        f"""
        -> #1 session/prompt {{"sessionId": "s"}}
           session/prompt, exchange 1, session s, turn 1
        <- #1 result {{}}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {state % '"running"'}
           session/update, session s, turn 1
        <- session/update {state % '"requires_action"'}
           session/update, session s, turn 1
        <- session/update {state % '"idle", "stopReason": "end_turn"'}
           session/update, session s, turn 1
        <- session/update {state % '"idle"'}
           session/update, session s
        """,
        "v2",
    )
    (turn,) = conversation.turns
    assert (turn.end_seq, turn.stop_reason, turn.updates) == (5, "end_turn", 3)


def test_v2_may_be_idle_before_it_accepts() -> None:
    """In ACP v2, `Connection` ends a turn at the state `idle`, even before the prompt's answer."""
    idle = '"update": {"sessionUpdate": "state_update", "state": "idle"}'
    conversation = check(
        f"""
        -> #1 session/prompt {{"sessionId": "s"}}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {{"sessionId": "s", {idle}}}
           session/update, session s, turn 1
        <- #1 result {{}}
           session/prompt, exchange 1, session s, turn 1
        """,
        "v2",
    )
    assert conversation.turns[0].end_seq == 2


def test_v2_errors_end_the_turn() -> None:
    """In ACP v2, `Connection` ends a turn at an error response to its prompt."""
    conversation = check(
        """
        -> #1 session/prompt {"sessionId": "s"}
           session/prompt, exchange 1, session s, turn 1
        <- #1 error {"code": -32602, "message": ""}
           session/prompt, exchange 1, session s, turn 1
        """,
        "v2",
    )
    assert conversation.turns[0].end_seq == 2


def test_v2_permissions_name_the_call_in_their_subject() -> None:
    """In ACP v2, `Connection` reads the tool call of a permission request in `subject`."""
    check(
        """
        <- #1 session/request_permission {"sessionId": "s", "subject": {"toolCallId": "c"}}
           session/request_permission, exchange 1, session s, tool_call c
        """,
        "v2",
    )


def test_the_draft_reads_files_in_the_one_open_turn() -> None:
    """In the 1.0 draft, `Connection` assigns a sessionless file request to the only open turn."""
    conversation = check(
        """
        <- #1 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 1
        -> #1 session/prompt {"sessionId": "a", "content": []}
           session/prompt, exchange 2, session a, turn 1
        <- #2 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 3, session a, turn 1
        <- #3 terminal/create {"command": "npm"}
           terminal/create, exchange 4, session a, turn 1
        <- #4 _x/read {"path": "/a"}
           _x/read, exchange 5
        -> #2 session/prompt {"sessionId": "b", "content": []}
           session/prompt, exchange 6, session b, turn 2
        <- #5 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 7
        -> #2 result {"content": "", "encoding": "utf-8"}
           fs/read_text_file, exchange 3, session a, turn 1
        """,
        "draft-1.0",
    )
    assert conversation.connection.open_requests(Direction.TO_CLIENT)[1].session == "a"


def test_sessions_of_the_draft_are_found_by_their_directories() -> None:
    """In the 1.0 draft, `Connection` finds a file request's session by the session's directory."""
    check(
        """
        -> #1 session/new {"workingDirectory": "/a"}
           session/new, exchange 1
        <- #1 result {"sessionId": "A"}
           session/new, exchange 1, session A
        -> #2 session/load {"sessionId": "B", "workingDirectory": "/a/b/"}
           session/load, exchange 2, session B
        -> #3 session/prompt {"sessionId": "A", "content": []}
           session/prompt, exchange 3, session A, turn 1
        -> #4 session/prompt {"sessionId": "B", "content": []}
           session/prompt, exchange 4, session B, turn 2
        <- #1 fs/read_text_file {"path": "/a/x"}
           fs/read_text_file, exchange 5, session A, turn 1
        <- #2 fs/read_text_file {"path": "/a/b/x"}
           fs/read_text_file, exchange 6, session B, turn 2
        <- #3 fs/read_text_file {"path": "/ab"}
           fs/read_text_file, exchange 7
        <- #4 terminal/create {"command": "ls", "cwd": "/a/b"}
           terminal/create, exchange 8, session B, turn 2
        -> #4 result {"terminalId": "t"}
           terminal/create, exchange 8, session B, turn 2, terminal t
        -> #5 terminal/output {"terminalId": "t", "data": "x"}
           terminal/output, exchange 9, session B, turn 2, terminal t
        <- #5 result {"received": true}
           terminal/output, exchange 9, session B, turn 2, terminal t
        <- #4 result {"stopReason": "end_turn"}
           session/prompt, exchange 4, session B, turn 2
        -> #6 terminal/output {"terminalId": "t", "data": "y"}
           terminal/output, exchange 10, session B, terminal t
        <- #9 fs/read_text_file {"path": "/a/b/x"}
           fs/read_text_file, exchange 11, session B
        <- #10 fs/read_text_file {"path": "/elsewhere"}
           fs/read_text_file, exchange 12, session A, turn 1
        """,
        "draft-1.0",
    )


def test_two_sessions_of_one_directory_differ_by_their_open_turns() -> None:
    """`Connection` assigns a file request in a shared directory to the session in a turn."""
    check(
        """
        -> #1 session/load {"sessionId": "A", "workingDirectory": "/w"}
           session/load, exchange 1, session A
        -> #2 session/load {"sessionId": "B", "workingDirectory": "/w"}
           session/load, exchange 2, session B
        -> #3 session/prompt {"sessionId": "B", "content": []}
           session/prompt, exchange 3, session B, turn 1
        <- #1 fs/read_text_file {"path": "/w/x"}
           fs/read_text_file, exchange 4, session B, turn 1
        -> #4 session/prompt {"sessionId": "A", "content": []}
           session/prompt, exchange 5, session A, turn 2
        <- #2 fs/read_text_file {"path": "/w/x"}
           fs/read_text_file, exchange 6
        """,
        "draft-1.0",
    )


def test_the_exchange_of_a_fork_has_the_new_session() -> None:
    """`Connection` labels the exchange of a `session/fork` with the new session."""
    conversation = check("""
        -> #1 session/fork {"sessionId": "old", "cwd": "/"}
           session/fork, exchange 1, session old
        <- #1 result {"sessionId": "new"}
           session/fork, exchange 1, session new
        -> #2 session/fork {"sessionId": "old", "cwd": "/"}
           session/fork, exchange 2, session old
        <- #2 error {"code": -32603, "message": "no"}
           session/fork, exchange 2, session old
    """)
    assert [exchange.session for exchange in conversation.exchanges] == ["new", "old"]


def test_v1_files_without_a_session_have_none() -> None:
    """In ACP v1, `Connection` assigns a file request that names no session to no session."""
    check(
        """
        -> #1 session/prompt {"sessionId": "a", "prompt": []}
           session/prompt, exchange 1, session a, turn 1
        <- #2 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 2
        """,
        "v1",
    )


def test_the_draft_shows_a_whole_conversation() -> None:
    """`Connection` labels each message of the example conversation in the 1.0 draft."""
    conversation = Conversation()
    examples = [e for e in draft() if "> A.1 " in e.source or "> A.2 " in e.source]
    got = [
        describe(conversation.feed(seq, seq, example.direction, read(example.raw)))
        for seq, example in enumerate(examples, 1)
    ]
    session, turn = "session sess_a1b2c3d4", "session sess_a1b2c3d4, turn 1"
    assert got == [
        "initialize, exchange 1",
        "initialize, exchange 1",
        "session/new, exchange 2",
        f"session/new, exchange 2, {session}",
        f"session/prompt, exchange 3, {turn}",
        f"session/update, {turn}",
        f"session/update, {turn}, tool_call tc_001",
        f"fs/read_text_file, exchange 4, {turn}",
        f"fs/read_text_file, exchange 4, {turn}",
        f"session/update, {turn}, tool_call tc_001",
        f"session/update, {turn}",
        f"session/update, {turn}, tool_call tc_002",
        f"session/request_permission, exchange 5, {turn}, tool_call tc_002",
        f"session/request_permission, exchange 5, {turn}, tool_call tc_002",
        f"fs/write_text_file, exchange 6, {turn}",
        f"fs/write_text_file, exchange 6, {turn}",
        f"session/update, {turn}, tool_call tc_002",
        f"session/update, {turn}",
        f"session/prompt, exchange 3, {turn}",
    ]
    exchanges, (prompt,) = conversation.exchanges, conversation.turns
    assert {exchange.outcome for exchange in exchanges} == {"result"}
    assert (prompt.updates, prompt.tool_calls, prompt.stop_reason) == (7, 2, "end_turn")
    assert conversation.connection.dialect == "draft-1.0"
    assert conversation.connection.state.handshake.client_name == "VS Code"
    assert conversation.connection.state.handshake.agent_name == "Claude Agent"


# The handshake


def test_the_handshake_names_the_peers() -> None:
    """`Connection` reads the peers' names and the dialect from `initialize` and its answer."""
    conversation = check(f"""
        -> #0 initialize {{{V1}, "clientInfo": {{"name": "zed", "version": "0.1"}}}}
           initialize, exchange 1
        <- #0 result {{{V1}, "agentInfo": {{"name": "gemini", "version": "9"}}}}
           initialize, exchange 1
    """)
    handshake = conversation.connection.state.handshake
    assert (handshake.client_name, handshake.client_version) == ("zed", "0.1")
    assert (handshake.agent_name, handshake.agent_version) == ("gemini", "9")
    assert handshake.protocol_version == "1"
    assert (handshake.dialect, conversation.connection.dialect) == ("v1", "v1")
    assert handshake.dialect_reason is not None


@pytest.mark.parametrize("method", ["_proxy/initialize", "proxy/initialize"])
def test_a_proxy_in_a_chain_is_initialized(method: str) -> None:
    """`Connection` reads names and dialect from `proxy/initialize` as from `initialize`."""
    conversation = check(f"""
        -> #0 {method} {{{V1}, "clientCapabilities": {{}}, "clientInfo": {{"name": "c"}}}}
           {method}, exchange 1
        <- #0 result {{{V1}, "agentCapabilities": {{}}, "agentInfo": {{"name": "a"}}}}
           {method}, exchange 1
    """)
    handshake = conversation.connection.state.handshake
    assert (handshake.dialect, handshake.client_name, handshake.agent_name) == ("v1", "c", "a")


def test_without_initialize_a_later_frame_decides_the_dialect() -> None:
    """If a recording lacks `initialize`, `Connection` detects the dialect by a later frame."""
    conversation = check("""
        <- #1 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 1
        -> #1 session/prompt {"sessionId": "s", "content": []}
           session/prompt, exchange 2, session s, turn 1
        <- #2 fs/read_text_file {"path": "/a"}
           fs/read_text_file, exchange 3, session s, turn 1
    """)
    assert conversation.connection.dialect == "draft-1.0"


def test_an_empty_answer_to_a_prompt_means_v2_and_ends_no_turn() -> None:
    """`Connection` detects v2 by a prompt's answer without stop reason, and ends no turn there."""
    conversation = check("""
        -> #1 session/prompt {"sessionId": "s", "prompt": []}
           session/prompt, exchange 1, session s, turn 1
        <- #1 result {}
           session/prompt, exchange 1, session s, turn 1
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan_update"}}
           session/update, session s, turn 1
    """)
    assert conversation.connection.dialect == "v2"


def test_a_later_frame_does_not_outweigh_initialize() -> None:
    """After `initialize` has decided the dialect, no later frame makes `Connection` change it."""
    conversation = check(f"""
        -> #0 initialize {{{V1}, "clientCapabilities": {{}}}}
           initialize, exchange 1
        <- #0 result {{{V1}, "agentCapabilities": {{}}}}
           initialize, exchange 1
        -> #1 auth/login {{"methodId": "x"}}
           auth/login, exchange 2
    """)
    assert conversation.connection.dialect == "v1"


def test_a_forced_dialect_stays() -> None:
    """`Connection` keeps a dialect that the user forced, even if messages show another one."""
    conversation = check(
        f"""
        -> #0 initialize {{{V1}, "clientCapabilities": {{}}}}
           initialize, exchange 1
        <- #0 result {{{V1}, "agentCapabilities": {{}}}}
           initialize, exchange 1
        """,
        "draft-1.0",
    )
    assert conversation.connection.dialect == "draft-1.0"
    assert conversation.connection.state.handshake.dialect_reason == "forced by --dialect"
    again = Conversation(
        Connection(converter.loads(converter.dumps(conversation.connection.state), State))
    )
    again.feed(3, 3, Direction.TO_AGENT, read(frame("#1 auth/login")))
    assert again.connection.dialect == "draft-1.0"


def test_a_strange_handshake_can_be_stored() -> None:
    """The state of `Connection` can be stored even if a handshake has values of odd types."""
    deep = '{"name":' * 900 + "1" + "}" * 900
    info = f'"clientInfo": {{"name": "\\ud800", "version": 1}}, "deep": {deep}'
    asked = f'#0 initialize {{"protocolVersion": 1, {info}}}'
    conversation = Conversation()
    conversation.feed(1, 1, Direction.TO_AGENT, read(frame(asked)))
    answer = '#0 result {"protocolVersion": [1], "agentInfo": [], "info": {"name": "a"}}'
    conversation.feed(2, 2, Direction.TO_CLIENT, read(frame(answer)))
    handshake = conversation.connection.state.handshake
    assert (handshake.client_name, handshake.client_version) == ("\\ud800", None)
    assert (handshake.agent_name, handshake.protocol_version) == ("a", None)
    assert (
        converter.loads(converter.dumps(conversation.connection.state), State)
        == conversation.connection.state
    )


# Batches


def test_a_batch_has_the_labels_that_its_members_share() -> None:
    """`Connection` labels a JSON-RPC batch with what its messages share, and pairs its requests."""
    conversation = check("""
        -> [{"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}]
           exchange 1, session s, turn 1
        <- [{"id": 1, "method": "a", "params": {"sessionId": "s"}}, {"id": 2, "method": "b"}]
           nothing
        -> [{"id": 2, "result": {}}, {"id": 1, "error": {"code": -32800}}]
           nothing
        <- [{"method": "session/update", "params": {"sessionId": "s"}}, {"method": "x"}, 1]
           nothing
        <- [{"method": "x", "params": {"sessionId": "s"}}, {"id": 1, "result": {"stopReason": ""}}]
           session s, turn 1
        <- []
           nothing
    """)
    exchanges, (turn,) = conversation.exchanges, conversation.turns
    assert [(e.id, e.request_seq, e.response_seq, e.outcome) for e in exchanges] == [
        (1, 1, 5, "result"),
        (2, 2, 3, "cancelled"),
        (3, 2, 3, "result"),
    ]
    assert (turn.updates, turn.end_seq) == (1, 5)
