"""A recorder ends an agent that continues after its client has left."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import living, needs_proc, shell, wait_until

if TYPE_CHECKING:
    from tests.integration.processes import Recorder, Talk

PROMPT = b'{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s"}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}\n'
ANSWERS = f"read line; echo '{ANSWER[:-1].decode()}'; "


def leave(conversation: Talk) -> None:
    """Closes both ends of a client, as if it had died."""
    conversation.close_output()
    conversation.close_input()


def test_a_prompt_in_progress_is_finished(record: Recorder) -> None:
    """If a client closes its end during a prompt, a recorder lets the agent answer the prompt."""
    script = f"read line; cat; sleep 1.6; echo '{ANSWER[:-1].decode()}'"
    conversation = record(shell(script), "--grace", "0.3")
    assert conversation.exchange(PROMPT) == ANSWER
    assert conversation.wait() == 0
    assert conversation.recording.sent_signals() == []
    assert conversation.recording.rows("select outcome from exchanges") == [("result",)]
    assert conversation.recording.rows("select stop_reason from turns") == [("end_turn",)]
    assert conversation.recording.field("end_reason") == "the client closed its end"


def test_a_client_that_still_reads_gets_late_output(record: Recorder) -> None:
    """If a client has closed only its output, a recorder still passes on what the agent writes."""
    conversation = record(shell("cat >/dev/null; sleep 1.5; echo done"), "--grace", "0.1")
    assert conversation.exchange(b"hello\n") == b"done\n"
    assert conversation.wait() == 0
    assert conversation.recording.sent_signals() == []
    assert conversation.recording.field("end_reason") == "the client closed its end"


@needs_proc
@pytest.mark.parametrize("obeys", [True, False])
def test_an_agent_that_overstays_is_ended(record: Recorder, obeys: bool) -> None:
    """If a client has left and no request is open, a recorder sends the agent SIGTERM.

    If the agent ignores the signal, the recorder sends SIGKILL.
    """
    ignore = "" if obeys else "trap '' TERM; "
    conversation = record(shell(f"{ignore}{ANSWERS} exec sleep 1000"), "--grace", "0.3")
    group = conversation.agent_group()
    conversation.write(PROMPT)
    conversation.expect(ANSWER)
    leave(conversation)
    sent = [signal.SIGTERM] if obeys else [signal.SIGTERM, signal.SIGKILL]
    assert conversation.wait() == 128 + sent[-1]
    events = conversation.recording.events("signal")
    assert [(e["signal"], e["action"]) for e in events] == [(s, "sent") for s in sent]
    assert events[0]["reason"] == "its client left 0.3 s ago and no request is open"
    assert conversation.recording.field("end_reason") == "the agent overstayed its client"
    assert conversation.recording.field("exit_signal") == sent[-1]
    assert conversation.recording.field("state") == "complete"
    wait_until(lambda: not living(group), "the group to be gone")


def test_the_prompt_of_a_killed_client_is_not_awaited(record: Recorder) -> None:
    """If a client was killed during a prompt, the recorder ends the agent."""
    conversation = record(shell("read line; exec sleep 1000"), "--grace", "0.3")
    conversation.write(PROMPT)
    conversation.wait_for_rows("select 1 from frames")
    leave(conversation)
    assert conversation.wait() == 128 + signal.SIGTERM
    events = conversation.recording.events("signal")
    assert events[0]["reason"] == "its client left 0.3 s ago and nobody reads its output"
    assert conversation.recording.rows("select outcome from exchanges") == [("unanswered",)]


def test_an_agent_without_requests_is_ended(record: Recorder) -> None:
    """If a client leaves before it has sent a request, the recorder ends the agent."""
    conversation = record(shell("exec sleep 1000"), "--grace", "0.3", stdin=subprocess.DEVNULL)
    conversation.close_output()
    assert conversation.wait() == 128 + signal.SIGTERM
    assert conversation.recording.field("end_reason") == "the agent overstayed its client"


def test_a_request_of_the_agent_does_not_keep_it_alive(record: Recorder) -> None:
    """If a client has left, the recorder ends an agent that waits for the client's answer."""
    question = '{"jsonrpc":"2.0","id":0,"method":"session/request_permission"}'
    conversation = record(shell(f"{ANSWERS} echo '{question}'; exec sleep 1000"), "--grace", "0.3")
    conversation.write(PROMPT)
    conversation.expect(ANSWER + question.encode() + b"\n")
    leave(conversation)
    assert conversation.wait() == 128 + signal.SIGTERM
    assert conversation.recording.rows("select outcome from exchanges order by id") == [
        ("result",),
        ("unanswered",),
    ]


@needs_proc
def test_an_agent_whose_client_died_is_ended(record: Recorder) -> None:
    """If the parent process of a recorder dies, the recorder ends the agent."""
    wrapper = ["/bin/sh", "-c", '"$@"; exit', "sh"]
    conversation = record(shell(f"{ANSWERS} exec sleep 1000"), "--grace", "0.3", wrapper=wrapper)
    conversation.write(PROMPT)
    conversation.expect(ANSWER)
    conversation.process.kill()
    conversation.wait()
    conversation.close_input()
    assert conversation.read_all() == ANSWER
    complete = "select 1 from recording where state = 'complete'"
    wait_until(lambda: conversation.recording.rows(complete), "the recording to end")
    assert conversation.recording.field("end_reason") == "the agent overstayed its client"
