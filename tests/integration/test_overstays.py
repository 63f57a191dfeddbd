"""An agent stays while its client reads; with nothing to answer, for its grace only."""

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


@pytest.fixture
def record(forked: Recorder) -> Recorder:
    """Starts proxies that have nothing to import."""
    return forked


def leave(talk: Talk) -> None:
    """Closes both ends, as a client that has died."""
    talk.close_output()
    talk.close_input()


def test_a_prompt_in_progress_is_finished(record: Recorder) -> None:
    """A prompt that was piped in is answered, however much longer than the grace that takes."""
    script = f"read line; cat; sleep 1.6; echo '{ANSWER[:-1].decode()}'"
    talk = record(shell(script), "--grace", "0.3")
    assert talk.exchange(PROMPT) == ANSWER
    assert talk.wait() == 0
    assert talk.recording.sent_signals() == []
    assert talk.recording.rows("select outcome from exchanges") == [("result",)]
    assert talk.recording.rows("select stop_reason from turns") == [("end_turn",)]
    assert talk.recording.field("end_reason") == "the client closed its end"


def test_a_client_that_still_reads_gets_late_output(record: Recorder) -> None:
    """A client that closed its end and reads on gets what its agent writes much later."""
    talk = record(shell("cat >/dev/null; sleep 1.5; echo done"), "--grace", "0.1")
    assert talk.exchange(b"hello\n") == b"done\n"
    assert talk.wait() == 0
    assert talk.recording.sent_signals() == []
    assert talk.recording.field("end_reason") == "the client closed its end"


@needs_proc
@pytest.mark.parametrize("obeys", [True, False])
def test_an_agent_that_overstays_is_ended(record: Recorder, obeys: bool) -> None:
    """If it has nothing to answer and its client left, it gets SIGTERM, then SIGKILL."""
    ignore = "" if obeys else "trap '' TERM; "
    talk = record(shell(f"{ignore}{ANSWERS} exec sleep 1000"), "--grace", "0.3")
    group = talk.agent_group()
    talk.write(PROMPT)
    talk.expect(ANSWER)
    leave(talk)
    sent = [signal.SIGTERM] if obeys else [signal.SIGTERM, signal.SIGKILL]
    assert talk.wait() == 128 + sent[-1]
    events = talk.recording.events("signal")
    assert [(e["signal"], e["action"]) for e in events] == [(s, "sent") for s in sent]
    assert events[0]["reason"] == "its client left 0.3 s ago and no request is open"
    assert talk.recording.field("end_reason") == "the agent overstayed its client"
    assert talk.recording.field("exit_signal") == sent[-1]
    assert talk.recording.field("state") == "complete"
    wait_until(lambda: not living(group), "the group to be gone")


def test_the_prompt_of_a_killed_client_is_not_awaited(record: Recorder) -> None:
    """A client that was killed reads no answer, so an agent that gives none is ended."""
    talk = record(shell("read line; exec sleep 1000"), "--grace", "0.3")
    talk.write(PROMPT)
    talk.wait_for_rows("select 1 from frames")
    leave(talk)
    assert talk.wait() == 128 + signal.SIGTERM
    events = talk.recording.events("signal")
    assert events[0]["reason"] == "its client left 0.3 s ago and nobody reads its output"
    assert talk.recording.rows("select outcome from exchanges") == [("unanswered",)]


def test_an_agent_without_requests_is_ended(record: Recorder) -> None:
    """A client that opens and closes, as an editor does to check a command, leaves no process."""
    talk = record(shell("exec sleep 1000"), "--grace", "0.3", stdin=subprocess.DEVNULL)
    talk.close_output()
    assert talk.wait() == 128 + signal.SIGTERM
    assert talk.recording.field("end_reason") == "the agent overstayed its client"


def test_a_request_of_the_agent_does_not_keep_it_alive(record: Recorder) -> None:
    """An agent that waits for an answer of a client that has left is ended."""
    question = '{"jsonrpc":"2.0","id":0,"method":"session/request_permission"}'
    talk = record(shell(f"{ANSWERS} echo '{question}'; exec sleep 1000"), "--grace", "0.3")
    talk.write(PROMPT)
    talk.expect(ANSWER + question.encode() + b"\n")
    leave(talk)
    assert talk.wait() == 128 + signal.SIGTERM
    assert talk.recording.rows("select outcome from exchanges order by id") == [
        ("result",),
        ("unanswered",),
    ]


@needs_proc
def test_an_agent_whose_client_died_is_ended(record: Recorder) -> None:
    """The death of our parent process counts, even if another process still reads our stdout."""
    wrapper = ["/bin/sh", "-c", '"$@"; exit', "sh"]
    talk = record(shell(f"{ANSWERS} exec sleep 1000"), "--grace", "0.3", wrapper=wrapper)
    talk.write(PROMPT)
    talk.expect(ANSWER)
    talk.process.kill()
    talk.wait()
    talk.close_input()
    assert talk.read_all() == ANSWER
    complete = "select 1 from recording where state = 'complete'"
    wait_until(lambda: talk.recording.rows(complete), "the recording to end")
    assert talk.recording.field("end_reason") == "the agent overstayed its client"
