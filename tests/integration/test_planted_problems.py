"""What is wrong with a conversation is named by `inspect show` alone, in plain words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.processes import Talk, shell, wait_until
from tests.log_writer import line, request, result, text, update

if TYPE_CHECKING:
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
"""What the client says first."""
WELCOME = [result(0, protocolVersion=1, agentCapabilities={}), result(1, sessionId="s")]
CHUNK = update("s", "agent_message_chunk", content=text("Let me look"))
CALL = update("s", "tool_call", toolCallId="c", title="Run tests", status="in_progress")
DONE = result(2, stopReason="end_turn")
PERMISSION = request(
    0,
    "session/request_permission",
    sessionId="s",
    toolCall={"toolCallId": "c", "title": "Run tests"},
    options=[{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
)

HEARS_AND_SAYS = 'read a; read b; read c; cat "$1"; '
"""An agent that hears what the client says first, and then says what stands in a file."""


class Stage:
    """Where one conversation takes place."""

    def __init__(self, record: Recorder, directory: Path) -> None:
        self.record = record
        self._said = directory / "said"

    def begin(self, *messages: Any, then: str = "cat >/dev/null") -> Talk:
        """Starts an agent that says messages after its welcome, and greets it."""
        self._said.write_bytes(b"".join(map(line, [*WELCOME, *messages])))
        talk = self.record(shell(HEARS_AND_SAYS + then, self._said))
        talk.say(HELLO)
        return talk

    def run(self, *messages: Any) -> Talk:
        """Has a whole conversation; the client closes its end when it has heard everything."""
        talk = self.begin(*messages)
        talk.expect(self._said.read_bytes())
        talk.close_input()
        talk.hear_all()
        talk.wait()
        return talk

    def shown(self, talk: Talk) -> str:
        """What ``inspect show`` prints."""
        return self.record.inspect("show", talk.recording.path)

    def problems(self, talk: Talk) -> list[str]:
        """The sentences under problems, with their marks."""
        _, _, below = self.shown(talk).partition("\nproblems\n")
        return [row.strip() for row in below.partition("\n\n")[0].splitlines()]


@pytest.fixture
def stage(record: Recorder, tmp_path: Path) -> Stage:
    """A stage."""
    return Stage(record, tmp_path)


def test_nothing_is_wrong(stage: Stage) -> None:
    """Of a conversation in which nothing went wrong, nothing is said to have."""
    talk = stage.run(CHUNK, DONE)
    assert stage.problems(talk) == []
    assert "complete  no problems\n" in stage.shown(talk)


def test_a_permission_that_nobody_answered(stage: Stage) -> None:
    """Who waited for whom and for what is named, and what it was in the middle of."""
    talk = stage.run(CALL, PERMISSION)
    unanswered, waited = stage.problems(talk)
    assert unanswered.startswith('✗ session/prompt "fix the tests" (#')
    assert ") was never answered; the agent waited for its client to answer" in unanswered
    assert ' session/request_permission "Run tests" (#' in unanswered
    assert " until the client gave up (closed its end, #" in unanswered
    assert waited.startswith('✗ agent waits for client: session/request_permission "Run tests" (#')
    assert waited.endswith(", never answered")


def test_a_chunk_after_the_end_of_the_turn(stage: Stage) -> None:
    """A late update is named with what it says and the turn that it missed."""
    talk = stage.run(DONE, CHUNK, CALL, update("s", "available_commands_update"))
    (late,) = stage.problems(talk)
    assert late.startswith('✗ agent_message_chunk "Let me look" (#')
    assert " and 1 other update came after turn 1 had ended (#" in late


def test_an_agent_that_is_killed_in_the_middle_of_a_turn(stage: Stage) -> None:
    """The signal, the turn and what was under way are named; its last words are there."""
    talk = stage.begin(CHUNK, CALL, then='echo "out of memory" >&2; kill -9 $$')
    talk.hear_all()
    talk.wait()
    (killed,) = stage.problems(talk)
    assert killed.startswith(
        "✗ the agent was killed by SIGKILL, which did not come through acp-proxy,"
        ' in the middle of turn 1 (prompt "fix the tests" #'
    )
    assert 'with tool call "Run tests" (#' in killed
    assert "\n  out of memory\n" in stage.shown(talk)


def test_log_text_on_stdout(stage: Stage) -> None:
    """Lines that are no ACP are counted, and the first is shown with its number."""
    talk = stage.run(b"Loading model...\n", CHUNK, b"done\n", DONE)
    (not_acp,) = stage.problems(talk)
    assert not_acp.startswith("✗ 2 lines on the agent's stdout were not ACP, first #")
    assert '"Loading model..."' in not_acp


@pytest.mark.slow
def test_a_client_that_stops_reading(stage: Stage) -> None:
    """It is named while it lasts and afterwards, with how much waits; nobody else is blamed."""
    flood = [update("s", "agent_message_chunk", content=text("x" * 1000))] * 300
    talk = stage.begin(*flood, DONE)

    def running() -> list[dict[str, Any]]:
        shown: dict[str, Any] = json.loads(
            stage.record.inspect("show", "--json", talk.recording.path)
        )
        return [p for p in shown["problems"] if p["kind"] == "not-reading"]

    notes = "select 1 from events where kind = 'note'"
    wait_until(lambda: talk.recording.rows_so_far(notes), "the client to be found out")
    (problem,) = running()
    assert problem["text"].startswith("the client stopped reading at ")
    assert " bytes waited; it has not read since, " in problem["text"]
    heard = b"".join(map(line, [*WELCOME, *flood, DONE]))
    talk.expect(heard)
    wait_until(lambda: len(talk.recording.rows_so_far(notes)) == 2, "the client to be seen reading")
    talk.close_input()
    talk.hear_all()
    talk.wait()
    (stopped,) = stage.problems(talk)
    assert stopped.startswith("✗ the client stopped reading at ")
    assert " (from frame #" in stopped
    assert " bytes waited; it read again after " in stopped
    stalled, resumed = talk.recording.events("note")
    assert (stalled["stream"], stalled["action"]) == ("to-client", "stalled")
    assert stalled["reason"].startswith("the client has not read for ")
    assert stalled["bytes"] > 0
    assert resumed["action"] == "resumed"
    assert resumed["since"] == stalled["since"]
