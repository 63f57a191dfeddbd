"""A recording with faults plays what its client received, and expects what it sent."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript

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
    """Writes down that a fault hit a frame, or made it up."""
    seq = recorded.seq(number)
    received = None if injected else recorded.raw[number].rstrip(b"\n")
    with closing(sqlite3.connect(recorded.path)) as connection:
        connection.execute("UPDATE frame_rows SET fault = 'rule' WHERE seq = ?", (seq,))
        if delivered is None:
            lost = f"UPDATE frame_rows SET flags = flags & ~48 | {LOST} WHERE seq = ?"
            connection.execute(lost, (seq,))
        row = (seq, "rule", "kind", received, delivered)
        connection.execute("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()


def lose_without_a_word(recorded: RecordedTranscript, number: int) -> None:
    """Marks a frame that met with a direction in which nothing passed any more."""
    with closing(sqlite3.connect(recorded.path)) as connection:
        connection.execute(
            f"UPDATE frame_rows SET fault = 'stall', flags = flags & ~48 | {LOST} WHERE seq = ?",
            (recorded.seq(number),),
        )
        connection.commit()


def test_a_dropped_frame_is_not_played(record: Callable[..., RecordedTranscript]) -> None:
    """The rest is."""
    recorded = record(STORY)
    mark(recorded, 6, None)
    live = recorded.replay()
    live.send(1, 3)
    live.check("-> 5\n<- 7\n<- 8\n-> 9\n<- 10\n-> end\n<- end")
    assert live.divergences == []


def test_a_changed_frame_is_played_as_it_arrived(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A broken line goes out broken, byte for byte, also one without its end."""
    recorded = record(STORY)
    mark(recorded, 6, b'{"jsonrpc": "2.0"\r\n')
    mark(recorded, 7, b'{"half')
    live = recorded.replay()
    live.send(1, 3)
    live.bytes = b""
    live.send(5)
    assert live.bytes == b'{"jsonrpc": "2.0"\r\n{"half' + recorded.raw[8]


def test_the_last_rule_decides_what_arrived(record: Callable[..., RecordedTranscript]) -> None:
    """Each of several rules at one frame has a row, and the last one counts."""
    recorded = record(STORY)
    mark(recorded, 6, b"first\n")
    mark(recorded, 6, b"second\n")
    live = recorded.replay()
    live.send(1, 3)
    live.bytes = b""
    live.send(5)
    assert live.bytes.startswith(b"second\n")


def test_an_injected_frame_of_the_agent_is_played(
    record: Callable[..., RecordedTranscript],
) -> None:
    """An injected message of the client is not expected."""
    recorded = record(
        STORY.replace("10 <-", "11 <-").replace(
            "11 <-", '10 -> #7 result {"outcome": {"outcome": "cancelled"}}\n    11 <-'
        )
    )
    mark(recorded, 7, recorded.raw[7], injected=True)
    mark(recorded, 10, recorded.raw[10], injected=True)
    live = recorded.replay()
    live.send(1, 3)
    live.check("-> 5\n<- 6\n<- 7\n<- 8\n-> 9\n<- 11\n-> end\n<- end")
    assert live.divergences == []


def test_a_changed_message_of_the_client_is_expected_as_sent(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Also one that was dropped."""
    recorded = record(STORY)
    mark(recorded, 9, None)
    mark(recorded, 5, b"something else\n")
    live = recorded.replay()
    live.send(1, 3)
    live.check("-> 5\n<- 6\n<- 7\n<- 8\n-> 9\n<- 10\n-> end\n<- end")
    assert live.divergences == []


def test_a_request_whose_answer_was_lost_stays_open(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The recorded client waited for ever; the live one does, too, without a divergence."""
    recorded = record(STORY)
    mark(recorded, 10, None)
    live = recorded.replay()
    live.send(1, 3, 5)
    live.check("-> 9\n-> end\n<- end")
    assert live.found == []


def test_nothing_is_played_after_a_stall(record: Callable[..., RecordedTranscript]) -> None:
    """Frames that met a stalled direction have no row of their own among the fired."""
    recorded = record(STORY)
    mark(recorded, 8, None)
    lose_without_a_word(recorded, 10)
    live = recorded.replay()
    live.send(1, 3)
    live.check("-> 5\n<- 6\n<- 7")
