"""`export --format pytest` keeps the lines marked with `+` in these conversations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.explain.trim import spans, trim
from acp_proxy.playback.replay.replay_report import text
from acp_proxy.store.queries.exchanges import exchanges_by_own_session
from acp_proxy.store.queries.exchanges import turns as read_turns
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.rehearsal import rehearse
from tests.support.drawn_conversations import HEADER, reader_of
from tests.support.labelled_transcripts import frame
from tests.support.shipped_recordings import HEALTHY

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = {"->": "to-agent", "<-": "to-client", "!!": "stderr"}

HANDSHAKE = """
    + -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}
    + <- #0 result {"protocolVersion": 1, "agentCapabilities": {}}
"""


def check(conversation: str, *turns: int) -> None:
    """Trims a conversation to some turns, and asserts that exactly its marked lines are kept."""
    written = [line.strip() for line in f"{HANDSHAKE}{conversation}".splitlines() if line.strip()]
    lines = [json.dumps(HEADER).encode()]
    for line in written:
        stream, said = STREAMS[line[2:4]], line[5:]
        raw = said if stream == "stderr" or said.startswith("oops") else frame(said).decode()
        lines.append(json.dumps({"stream": stream, "text": raw}).encode())
    with reader_of(lines) as reader:
        kept = kept_of(reader, *turns)
    marked = [f"{'+' if n in kept else '.'}{line[1:]}" for n, line in enumerate(written, 1)]
    assert marked == written


def kept_of(reader: RecordingReader, *turns: int) -> set[int]:
    """Trims a recording to some turns."""
    chosen = [turn for turn in read_turns(reader) if turn.id in turns]
    return trim(reader.heads(), exchanges_by_own_session(reader), chosen)


def test_a_turn_is_kept_with_the_setup_of_its_session() -> None:
    """`export --format pytest` of one turn keeps the setup of the turn's session."""
    check(
        """
        + -> #1 session/new {"cwd": "/", "mcpServers": []}
        + <- #1 result {"sessionId": "s"}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "commands"}}
        . -> #2 session/prompt {"sessionId": "s", "prompt": []}
        . <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        . <- #0 fs/read_text_file {"sessionId": "s", "path": "/a"}
        . -> #0 result {"content": ""}
        . <- #2 result {"stopReason": "end_turn"}
        . <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        + -> #3 session/set_mode {"sessionId": "s", "modeId": "m"}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "mode"}}
        + <- #3 result {}
        + -> #4 session/prompt {"sessionId": "s", "prompt": []}
        + <- #1 session/request_permission {"sessionId": "s", "options": []}
        + -> session/cancel {"sessionId": "s"}
        + -> #1 result {"outcome": {"outcome": "cancelled"}}
        + <- #4 result {"stopReason": "cancelled"}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        . -> #5 session/set_mode {"sessionId": "s", "modeId": "n"}
        . <- #5 result {}
        . <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        . -> #6 session/prompt {"sessionId": "s", "prompt": []}
        . <- #6 result {"stopReason": "end_turn"}
        """,
        2,
    )


def test_other_sessions_are_dropped() -> None:
    """`export --format pytest` of a turn leaves out the frames of all other sessions."""
    check(
        """
        + -> #1 session/new {"cwd": "/", "mcpServers": []}
        . -> #2 session/new {"cwd": "/", "mcpServers": []}
        . <- #2 result {"sessionId": "t"}
        + <- #1 result {"sessionId": "s"}
        . -> #3 session/prompt {"sessionId": "t", "prompt": []}
        + -> #4 session/prompt {"sessionId": "s", "prompt": []}
        . <- session/update {"sessionId": "t", "update": {"sessionUpdate": "plan"}}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        . <- #3 result {"stopReason": "end_turn"}
        + <- #4 result {"stopReason": "end_turn"}
        """,
        2,
    )


def test_a_loaded_session_keeps_its_history() -> None:
    """`export --format pytest` of a turn keeps the history of the turn's loaded session."""
    check(
        """
        + -> #1 session/load {"sessionId": "s", "cwd": "/", "mcpServers": []}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        + <- #1 result {}
        . -> #2 session/prompt {"sessionId": "s", "prompt": []}
        . <- #2 result {"stopReason": "end_turn"}
        + -> #3 session/prompt {"sessionId": "s", "prompt": []}
        + <- #3 result {"stopReason": "end_turn"}
        """,
        2,
    )


def test_requests_of_the_connection_are_kept_during_the_turn() -> None:
    """`export --format pytest` of a turn keeps requests without a session sent in the turn."""
    check(
        """
        + -> #1 authenticate {"methodId": "m"}
        + <- #1 result {}
        . -> #2 session/list {}
        + -> #3 session/new {"cwd": "/", "mcpServers": []}
        + <- #3 result {"sessionId": "s"}
        + -> #4 session/prompt {"sessionId": "s", "prompt": []}
        . <- #2 result {"sessions": []}
        + -> #5 _x/y {}
        + <- #4 result {"stopReason": "end_turn"}
        + <- #5 result {}
        . -> #6 _x/y {}
        . <- #6 result {}
        """,
        1,
    )


def test_stray_lines_follow_the_frame_before_them() -> None:
    """`export --format pytest` keeps invalid lines and stderr lines that follow a kept frame."""
    check(
        """
        + <- oops, of the handshake
        . -> #1 session/list {}
        . <- oops, of the list
        . !! a word
        . <- #1 result {}
        + -> #2 session/new {"cwd": "/", "mcpServers": []}
        + <- #2 result {"sessionId": "s"}
        + -> #3 session/prompt {"sessionId": "s", "prompt": []}
        + <- oops, of the turn
        + !! another word
        + <- #3 result {"stopReason": "end_turn"}
        . -> #4 session/list {}
        . !! a last word
        """,
        1,
    )


def test_a_batch_is_kept_whole() -> None:
    """`export --format pytest` of a turn keeps all of a JSON-RPC batch that ends the turn."""
    check(
        """
        + -> #1 session/new {"cwd": "/", "mcpServers": []}
        + <- #1 result {"sessionId": "s"}
        + -> #2 session/list {}
        + -> #3 session/prompt {"sessionId": "s", "prompt": []}
        + <- [{"id": 2, "result": {}}, {"id": 3, "result": {"stopReason": "end_turn"}}]
        . -> #4 session/list {}
        . <- #4 result {}
        """,
        1,
    )


def test_a_fork_keeps_the_opening_of_its_origin() -> None:
    """`export --format pytest` of a forked session keeps the opening of the original session."""
    check(
        """
        + -> #1 session/new {"cwd": "/", "mcpServers": []}
        + <- #1 result {"sessionId": "s"}
        . -> #2 session/prompt {"sessionId": "s", "prompt": []}
        . <- #2 result {"stopReason": "end_turn"}
        + -> #3 session/fork {"sessionId": "s", "cwd": "/"}
        + <- #3 result {"sessionId": "t"}
        + -> #4 session/prompt {"sessionId": "t", "prompt": []}
        + <- #4 result {"stopReason": "end_turn"}
        """,
        2,
    )


def test_a_turn_that_never_ended_keeps_all_that_followed() -> None:
    """`export --format pytest` of a turn that never ended keeps all frames after the prompt."""
    check(
        """
        + -> #1 session/new {"cwd": "/", "mcpServers": []}
        + <- #1 result {"sessionId": "s"}
        + -> #2 session/prompt {"sessionId": "s", "prompt": []}
        + <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        + -> #3 session/set_mode {"sessionId": "s", "modeId": "m"}
        """,
        1,
    )


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_every_healthy_recording_replays_after_trimming(path: Path) -> None:
    """A test exported from one turn of a healthy recording replays without a divergence."""
    with RecordingReader(path) as reader:
        assert rehearse(reader).verdict == "clean"
        kept = kept_of(reader, 1)
        (turn,) = reader.query("SELECT prompt_seq, end_seq FROM turns")
    assert {turn["prompt_seq"], turn["end_seq"]} <= kept
    assert max(kept) == turn["end_seq"]


def test_spans_are_short() -> None:
    """`export --format pytest` writes consecutive turns as a range, such as `6..8`."""
    assert list(spans([])) == []
    assert list(spans([3])) == ["3"]
    assert list(spans([1, 2, 4, 6, 7, 8])) == ["1..2", "4", "6..8"]


def test_a_rehearsal_reports_an_incomplete_recording() -> None:
    """If a recording has no end, `rehearse`, which `export` calls, reports `incomplete`."""
    lines = [json.dumps(HEADER | {"recording": HEADER["recording"] | {"state": "incomplete"}})]
    with reader_of([line.encode() for line in lines]) as reader:
        outcome = rehearse(reader)
    assert (outcome.verdict, outcome.exit_code) == ("incomplete", 3)
    assert "incomplete" in text(outcome)[0]
