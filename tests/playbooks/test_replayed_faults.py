"""A replay of a recording with faults sends what the recorded client received."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.playbook import Record, RecordedTranscript

STORY = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "a"}
    5 -> #2 session/prompt {"sessionId": "a", "prompt": [{"type": "text", "text": "one"}]}
    6 <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan", "entries": []}}
    7 <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan", "entries": [1]}}
    8 <- #7 session/request_permission {"sessionId": "a", "options": []}
    9 -> #7 result {"outcome": {"outcome": "cancelled"}}
    10 <- #2 result {"stopReason": "end_turn"}
"""
LOST = 2 << 4
"""The bits of `flags` that say that a frame was not delivered."""


def mark(
    recorded: RecordedTranscript, number: int, delivered: bytes | None, *, injected: bool = False
) -> None:
    """Changes a recording as if a fault had changed, dropped or added a frame."""
    seq = recorded.seq(number)
    received = None if injected else recorded.raw[number].rstrip(b"\n")
    with closing(sqlite3.connect(recorded.path)) as connection:
        connection.execute("UPDATE frame_rows SET fault = 'rule' WHERE seq = ?", (seq,))
        if delivered is None:
            lost = f"UPDATE frame_rows SET flags = flags & ~48 | {LOST} WHERE seq = ?"
            connection.execute(lost, (seq,))
        row = (seq, "rule", "kind", received, delivered)
        connection.execute("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)", row)
        connection.commit()


def lose_without_a_word(recorded: RecordedTranscript, number: int) -> None:
    """Changes a recording as if a frame was lost after a stall."""
    with closing(sqlite3.connect(recorded.path)) as connection:
        connection.execute(
            f"UPDATE frame_rows SET fault = 'stall', flags = flags & ~48 | {LOST} WHERE seq = ?",
            (recorded.seq(number),),
        )
        connection.commit()


def test_a_dropped_frame_is_not_played(record: Record) -> None:
    """A replay does not send a frame that a fault dropped in the recording."""
    recorded = record(STORY)
    mark(recorded, 6, None)
    live = recorded.replay(1, 3)
    live.check("-> 5\n<- 7\n<- 8\n-> 9\n<- 10\n-> end\n<- end")
    assert live.divergences == []


def test_a_changed_frame_is_played_as_it_arrived(record: Record) -> None:
    """If a fault changed a recorded frame, a replay sends the changed frame."""
    recorded = record(STORY)
    mark(recorded, 6, b'{"jsonrpc": "2.0"\r\n')
    mark(recorded, 7, b'{"half')
    live = recorded.replay(1, 3)
    live.bytes = b""
    live.send(5)
    assert live.bytes == b'{"jsonrpc": "2.0"\r\n{"half' + recorded.raw[8]


def test_the_last_rule_decides_what_arrived(record: Record) -> None:
    """If several faults changed a recorded frame, a replay sends what the client received."""
    recorded = record(STORY)
    mark(recorded, 6, b"first\n")
    mark(recorded, 6, b"second\n")
    live = recorded.replay(1, 3)
    live.bytes = b""
    live.send(5)
    assert live.bytes.startswith(b"second\n")


def test_injected_frames_are_sent_and_not_awaited(record: Record) -> None:
    """A replay sends a frame that a fault injected in the agent's name.

    It does not wait for a message that a fault injected in the client's name.
    """
    recorded = record(
        STORY.replace("10 <-", "11 <-").replace(
            "11 <-", '10 -> #7 result {"outcome": {"outcome": "cancelled"}}\n    11 <-'
        )
    )
    mark(recorded, 7, recorded.raw[7], injected=True)
    mark(recorded, 10, recorded.raw[10], injected=True)
    live = recorded.replay(1, 3)
    live.check("-> 5\n<- 6\n<- 7\n<- 8\n-> 9\n<- 11\n-> end\n<- end")
    assert live.divergences == []


def test_a_changed_message_of_the_client_is_expected_as_sent(record: Record) -> None:
    """If a fault changed a recorded message of the client, a replay expects the original."""
    recorded = record(STORY)
    mark(recorded, 9, None)
    mark(recorded, 5, b"something else\n")
    live = recorded.replay(1, 3)
    live.check("-> 5\n<- 6\n<- 7\n<- 8\n-> 9\n<- 10\n-> end\n<- end")
    assert live.divergences == []


def test_a_request_whose_answer_was_lost_stays_open(record: Record) -> None:
    """If a fault dropped a recorded answer, a replay does not send the answer."""
    recorded = record(STORY)
    mark(recorded, 10, None)
    live = recorded.replay(1, 3, 5)
    live.check("-> 9\n-> end\n<- end")
    assert live.mismatches == []


def test_nothing_is_played_after_a_stall(record: Record) -> None:
    """If a fault stalled the agent's output in a recording, a replay sends nothing afterwards."""
    recorded = record(STORY)
    mark(recorded, 8, None)
    lose_without_a_word(recorded, 10)
    live = recorded.replay(1, 3)
    live.check("-> 5\n<- 6\n<- 7")


TURNS = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": "one"}
    6 <- #2 result {"stopReason": "end_turn"}
    7 -> #3 session/prompt {"sessionId": "s", "prompt": "two"}
    8 <- #3 result {"stopReason": "end_turn"}
"""


def test_a_dropped_message_is_no_divergence_of_the_client(record: Record) -> None:
    """If a fault drops a client's message, the replay does not report the message as missing."""
    recorded = record(TURNS)
    live = recorded.replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    for rule in ("drop", "again"):  # two rules may drop the same message
        live.engine.note_lost(recorded.raw[5].rstrip(), rule)
    live.check("-> end\n<- end")
    assert live.mismatches == []
    assert live.informed == ["dropped in s 5", "missing-expected in s 7", "unplayed in s 6"]
    assert live.divergences[0].summary == "session/prompt #6 was dropped by fault drop"
    assert (live.report.verdict, live.report.exit_code) == ("clean", 0)


def test_a_dropped_message_may_be_sent_again(record: Record) -> None:
    """If a fault of a replay dropped a client's message, the client may send the message again."""
    recorded = record(TURNS)
    live = recorded.replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.engine.note_lost(recorded.raw[5].rstrip(), "drop")
    live.check("-> 5\n<- 6\n-> 7\n<- 8\n-> end\n<- end")
    assert live.informed == ["dropped in s 5"]


def test_a_replay_goes_on_without_a_dropped_request(record: Record) -> None:
    """If a fault of a replay drops a request, the replay continues without an answer to it."""
    recorded = record(TURNS)
    live = recorded.replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.engine.note_lost(recorded.raw[5].rstrip(), "drop")
    live.check("-> 7\n.. 2s\n<- 8\n-> end\n<- end")
    assert live.mismatches == []
    live = recorded.replay(stall_ns=30 * 10**9)
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.engine.note_lost(recorded.raw[5].rstrip(), "drop")
    live.check(".. 31s\n<- end")
    assert (
        live.divergences[-1].summary == "nothing came for 30 s; a fault dropped session/prompt #6"
    )


def test_a_client_may_cancel_what_was_dropped(record: Record) -> None:
    """If a fault of a replay drops the answer to a prompt, the client may cancel the turn."""
    recorded = record(STORY)
    live = recorded.replay(1, 3, 5)
    live.engine.note_lost(recorded.raw[9].rstrip(), "drop")
    live.engine.note_lost(b'{"jsonrpc": "2.0", "id": 99, "result": {}}', "drop")
    (ended,) = live.send('session/cancel {"sessionId": "a"}')
    assert "cancelled" in ended
    live.check("-> end\n<- end")
    assert live.mismatches == []
    assert live.informed[:2] == ["dropped in a 9", "unrecorded-cancel in a"]


def test_another_divergence_counts_beside_a_dropped_message(record: Record) -> None:
    """If a fault of a replay drops a message, other divergences are still reported."""
    recorded = record(TURNS)
    live = recorded.replay(1, 3)
    live.engine.note_lost(recorded.raw[5].rstrip(), "drop")
    live.send('#3 session/prompt {"sessionId": "s", "prompt": "other"}')
    assert live.mismatches == ["params-differ primary in s 5"]
