"""The events of a recording show whether the agent ended by itself or was ended."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.recording.recording import RecordedEvent
from acp_proxy.store.queries.recorded_events import (
    ended_by_itself_at,
    is_agent_leaving,
    is_client_leaving,
    is_stopping_signal,
)
from tests.support.cases import each_case

CLIENT_LEFT: dict[str, Any] = {"eof": "to-agent", "reason": "end of file"}
STDIN_CLOSED: dict[str, Any] = {"eof": "to-agent", "reason": "the reader is gone"}
STDIN_FAULT: dict[str, Any] = {"eof": "to-agent", "reason": "closed by a fault"}
OUTPUT_ENDED: dict[str, Any] = {"eof": "to-client", "reason": "end of file"}
STDERR_ENDED: dict[str, Any] = {"eof": "stderr", "reason": "end of file"}


def told(signal: int, action: str = "passed on") -> dict[str, Any]:
    """Returns the event of a signal that was passed on or sent to the agent."""
    return {"signal": signal, "action": action}


def exited(**how: int) -> dict[str, Any]:
    """Returns the event of the agent's exit."""
    return {"exit": "", **how}


def rows(*events: dict[str, Any]) -> list[RecordedEvent]:
    """Returns events as rows of a recording, numbered from 1."""
    numbered = []
    for seq, event in enumerate(events, 1):
        kind = "exit" if "exit" in event else "eof" if "eof" in event else "signal"
        numbered.append(RecordedEvent(seq, seq, kind, {"stream": event.get("eof"), **event}))
    return numbered


@each_case(
    ("events", "at"),
    [
        pytest.param([], None, id="nothing is known"),
        pytest.param([OUTPUT_ENDED, exited(code=0), CLIENT_LEFT], 1, id="exit by itself"),
        pytest.param([exited(code=3), STDERR_ENDED, OUTPUT_ENDED], 3, id="exit before its output"),
        pytest.param([OUTPUT_ENDED, exited(signal=11)], 1, id="crash"),
        pytest.param([OUTPUT_ENDED, exited(signal=9)], 1, id="killed by somebody"),
        pytest.param([CLIENT_LEFT, OUTPUT_ENDED, exited(code=0)], None, id="client left first"),
        pytest.param([STDIN_CLOSED, OUTPUT_ENDED, exited(code=1)], 2, id="closed its own input"),
        pytest.param([STDIN_FAULT, OUTPUT_ENDED, exited(code=1)], 2, id="a fault closed its input"),
        pytest.param([told(15), OUTPUT_ENDED, exited(code=0)], None, id="told by a signal"),
        pytest.param([OUTPUT_ENDED, told(15), exited(code=0)], 1, id="signal after its output"),
        pytest.param(
            [exited(code=0), told(9, "sent"), OUTPUT_ENDED], 3, id="a descendant lingered"
        ),
        pytest.param([told(28), OUTPUT_ENDED, exited(code=0)], 2, id="a signal that stops nobody"),
        pytest.param([OUTPUT_ENDED, exited(signal=15), told(15)], None, id="the whole group told"),
    ],
)
def test_an_agent_ended_by_itself_or_was_stopped(
    events: list[dict[str, Any]], at: int | None
) -> None:
    """`replay` sees by the order of recorded events if an agent ended by itself or was stopped."""
    assert ended_by_itself_at(rows(*events)) == at


@each_case(
    ("event", "who"),
    [
        (OUTPUT_ENDED, "agent"),
        (exited(code=0), "agent"),
        (CLIENT_LEFT, "client"),
        (told(15), "signal"),
        (told(15, "sent"), "signal"),
        (STDIN_CLOSED, ""),
        (STDIN_FAULT, ""),
        (STDERR_ENDED, ""),
        (told(28), ""),
    ],
)
def test_an_event_shows_which_peer_leaves(event: dict[str, Any], who: str) -> None:
    """`replay` reads in the recorded events whether the agent or the client left first."""
    (recorded,) = rows(event)
    answers = {
        "agent": is_agent_leaving(recorded),
        "client": is_client_leaving(recorded),
        "signal": is_stopping_signal(recorded),
    }
    assert [name for name, is_so in answers.items() if is_so] == ([who] if who else [])
