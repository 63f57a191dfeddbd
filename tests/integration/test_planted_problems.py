"""Tests that `show` names the cause of a failed conversation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.processes import Talk, shell, wait_until
from tests.support.fork_server import IMPATIENT
from tests.support.log_writer import line, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.integration.processes import Recorder

HELLO = b"".join(
    map(
        line,
        (
            request(0, "initialize", protocolVersion=1, clientCapabilities={"terminal": True}),
            request(1, "session/new", cwd="/srv", mcpServers=[]),
            request(2, "session/prompt", sessionId="s", prompt=[text("fix the tests")]),
        ),
    )
)
"""The first message of the client."""
WELCOME = [result(0, protocolVersion=1, agentCapabilities={}), result(1, sessionId="s")]
CHUNK = update("s", "agent_message_chunk", content=text("Let me look"))
CALL = update("s", "tool_call", toolCallId="c", title="Run tests", status="in_progress")
DONE = result(2, stopReason="end_turn")

_EARLY = re.compile(r"\[(init|session)\.")
HEARS_AND_SAYS = 'read a; read b; read c; cat "$1"; '
"""An agent that reads the first message of the client, and then writes the lines of a file."""


class Workplace:
    """The directory of one recorded conversation, whose agent sends given messages."""

    def __init__(self, record: Recorder, directory: Path) -> None:
        self.record = record
        self._said = directory / "sent"

    def begin(
        self, *messages: Any, then: str = "cat >/dev/null", env: Mapping[str, str] | None = None
    ) -> Talk:
        """Starts an agent that sends messages after `initialize`, and sends `initialize`."""
        self._said.write_bytes(b"".join(map(line, [*WELCOME, *messages])))
        conversation = self.record(shell(HEARS_AND_SAYS + then, self._said), env=env)
        conversation.write(HELLO)
        return conversation

    def shown(self, conversation: Talk) -> str:
        """Returns the output of ``show`` for a conversation."""
        return self.record.inspect("show", conversation.recording.path)

    def problems(self, conversation: Talk) -> list[str]:
        """Returns the errors and warnings that ``show`` prints below its title.

        Errors about the handshake are left out, since the client of these tests awaits no answers.
        """
        _, _, below = self.shown(conversation).partition("\n")
        rows = [row.strip() for row in below.partition("\n\n")[0].splitlines() if row]
        return [row for row in rows if row[0] != "-" and not _EARLY.search(row)]


@pytest.fixture
def workplace(record: Recorder, tmp_path: Path) -> Workplace:
    """Returns the directory for one conversation."""
    return Workplace(record, tmp_path)


def test_an_agent_that_is_killed_in_the_middle_of_a_turn(workplace: Workplace) -> None:
    """If an agent was killed during a turn, `show` names the signal and the open tool call."""
    conversation = workplace.begin(CHUNK, CALL, then='echo "out of memory" >&2; kill -9 $$')
    conversation.read_all()
    conversation.wait()
    (killed,) = workplace.problems(conversation)
    assert killed.startswith("✗ the agent was killed by SIGKILL (#")
    assert (
        '), which did not come through acp-proxy, in the middle of turn 1 (prompt "fix the tests" #'
    ) in killed
    assert 'with tool call "Run tests" (#' in killed
    assert "\n  out of memory\n" in workplace.shown(conversation)


@pytest.mark.slow
def test_a_client_that_stops_reading(workplace: Workplace) -> None:
    """If a client stops reading, a finding of `show` says when, and how many bytes waited."""
    flood = [
        update("s", "agent_message_chunk", content=text(f"{n}{'x' * 1000}")) for n in range(300)
    ]
    conversation = workplace.begin(*flood, DONE, env=IMPATIENT)

    def running() -> list[dict[str, Any]]:
        shown: dict[str, Any] = json.loads(
            workplace.record.inspect("show", "--json", conversation.recording.path)
        )
        return [p for p in shown["problems"] if p["rule"] == "pipe.not-reading"]

    notes = "select 1 from events where kind = 'note'"
    wait_until(lambda: conversation.recording.rows_so_far(notes), "the client to be found out")
    (problem,) = running()
    assert problem["text"].startswith("the client stopped reading at ")
    assert " bytes waited; it has not read since, " in problem["text"]
    received = b"".join(map(line, [*WELCOME, *flood, DONE]))
    conversation.expect(received)
    wait_until(
        lambda: len(conversation.recording.rows_so_far(notes)) == 2, "the client to be seen reading"
    )
    conversation.close_input()
    conversation.read_all()
    conversation.wait()
    (stopped,) = workplace.problems(conversation)
    assert stopped.startswith("✗ the client stopped reading at ")
    assert " (from frame #" in stopped
    assert " bytes waited; it read again after " in stopped
    stalled, resumed = conversation.recording.events("note")
    assert (stalled["stream"], stalled["action"]) == ("to-client", "stalled")
    assert stalled["reason"].startswith("the client has not read for ")
    assert stalled["bytes"] > 0
    assert resumed["action"] == "resumed"
    assert resumed["since"] == stalled["since"]
