"""If an agent reuses the id of a tool call, acp-proxy decides which messages begin a new call."""

from __future__ import annotations

from acp_proxy.protocol.call_ids import LastCalls
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.jsonrpc import Direction, read
from tests.support.cases import each_case
from tests.support.log_writer import line, request, result, text, update

NEW, SAME, ASK = "tool_call", "tool_call_update", "session/request_permission"
# Each word is a message: its turn, ``+`` if it announces a call, ``~`` if it updates the call,
# ``?`` if it asks for permission, and a status.
CASES = {
    "an announced call and its updates": ("v1", "1+pending 1~in_progress 1~completed", "1"),
    "announced again when it is over": ("v1", "1+ 1~completed 1+ 1~failed 1+", "1 3 5"),
    "announced twice while it is open": ("v1", "1+ 1+pending 1~completed", "1"),
    "announced again in another turn": ("v1", "1+ 2+ 2~completed", "1 2"),
    "updated after its turn": ("v1", "1+ -~in_progress 2~completed 2~completed", "1"),
    "announced over and again over": ("v1", "1+completed 1+completed 1~completed", "1 2"),
    "permission asked while it is open": ("v1", "1+ 1?pending 1~completed", "1"),
    "permission asked before it is announced": ("v1", "1? 1+ 1~completed 1? 1+ 1~failed", "1 4"),
    "permission instead of announcements": ("v1", "1? 1~completed 2?pending 2~completed", "1 3"),
    "an open call that is asked for in another turn": ("v1", "1+ 2? 2+ 2~completed", "1 2"),
    "outside of turns": ("v1", "-+ -~completed -+ -+ -~completed 1+", "1 3 6"),
    "an update that goes back": ("v1", "1+ 1~completed 1~in_progress", "1"),
    "a call that goes back is still over": ("v1", "1+ 1~completed 1~in_progress 1+", "1 4"),
    "updates announce in v2": ("v2", "1~pending 1~completed 1~pending 2~completed 2~", "1 3"),
    "a call of v2 that runs on": ("v2", "1~pending 1~in_progress 2~in_progress", "1"),
    "denied in the draft": ("draft-1.0", "1+ 1~denied 1+", "1 3"),
}
UPDATES = {"+": NEW, "~": SAME}


@each_case("case", CASES)
def test_messages_that_begin_a_call(case: str) -> None:
    """`LastCalls.begins` finds each message that begins a tool call, even if an id is reused."""
    dialect, words, expected = CASES[case]
    calls = LastCalls[str](dialect)
    begun = []
    for number, word in enumerate(words.split(), 1):
        turn = None if word[0] == "-" else int(word[0])
        method = ASK if word[1] == "?" else "session/update"
        if calls.begins("c", turn, method, UPDATES.get(word[1]), word[2:] or None):
            begun.append(str(number))
    assert " ".join(begun) == expected


@each_case("case", CASES)
def test_the_connection_says_the_same(case: str) -> None:
    """`Connection.feed` finds each message that begins a tool call, even if an id is reused."""
    dialect, words, expected = CASES[case]
    connection = Connection(dialect=dialect)
    begun, turn, seq = [], "-", 0
    for number, word in enumerate(words.split(), 1):
        lines = []
        if word[0] != turn:
            if turn != "-":
                end = update("s", "state_update", state="idle")
                ended = result(int(turn), stopReason="end_turn")
                lines.append((Direction.TO_CLIENT, end if dialect == "v2" else ended))
            turn = word[0]
            if turn != "-":
                asked = request(int(turn), "session/prompt", sessionId="s", prompt=[text("x")])
                lines.append((Direction.TO_AGENT, asked))
        call = {"toolCallId": "c", **({"status": word[2:]} if word[2:] else {})}
        if word[1] == "?":
            message = request(100 + number, ASK, sessionId="s", toolCall=call, options=[])
        else:
            message = update("s", UPDATES[word[1]], **call)
        for direction, value in [*lines, (Direction.TO_CLIENT, message)]:
            seq += 1
            transition = connection.feed(seq, seq, direction, read(line(value).rstrip()))
        if transition.begins_call or number == 1:
            begun.append(str(number))
    assert " ".join(begun) == expected


def test_turns_count_calls_with_the_same_id() -> None:
    """If an agent uses one tool call id twice in a turn, `Connection` counts two calls."""
    connection = Connection()
    said = [
        (Direction.TO_AGENT, request(1, "session/prompt", sessionId="s", prompt=[text("x")])),
        (Direction.TO_CLIENT, update("s", NEW, toolCallId="c")),
        (Direction.TO_CLIENT, update("s", SAME, toolCallId="c", status="completed")),
        (Direction.TO_CLIENT, request(1, ASK, sessionId="s", toolCall={"toolCallId": "c"})),
        (Direction.TO_CLIENT, update("s", NEW, toolCallId="c")),
        (Direction.TO_CLIENT, update("s", NEW, toolCallId="c", status="failed")),
        (Direction.TO_CLIENT, request(2, ASK, sessionId="s", toolCall={"toolCallId": "d"})),
    ]
    for seq, (direction, message) in enumerate(said, 1):
        connection.feed(seq, seq, direction, read(line(message).rstrip()))
    turn = connection.turn_of("s")
    assert turn is not None
    assert (turn.tool_calls, turn.updates) == (2, 4)


def test_an_evicted_call_counts_as_unknown() -> None:
    """`LastCalls` forgets the oldest tool calls; a later message with such an id begins a call."""
    calls = LastCalls[int]("v1", most=2)
    begins = [calls.begins(n, 1, "session/update", SAME, None) for n in (1, 2, 3, 2, 3, 1)]
    assert begins == [True, True, True, False, False, True]
