"""Each process of an agent gets each signal once, and none remains after the grace time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.log_format import GAVE_UP
from tests.integration.processes import agent, living, needs_proc, shell, wait_until
from tests.support.fork_server import IMPATIENT

if TYPE_CHECKING:
    from tests.integration.processes import Recorder

pytestmark = needs_proc

STOPPING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
IGNORE = "trap '' TERM INT HUP QUIT; "
LAUNCHERS = {
    "dies at once": f"({IGNORE} echo ready; exec sleep 1000) & wait",
    "waits for its child": f"trap : TERM; ({IGNORE} echo ready; exec sleep 1000); exit 9",
    "ignores it too": f"{IGNORE} sh -c 'echo ready; exec sleep 1000'; exit 9",
}
"""Shell commands of agents whose child process has the pipes and ignores signals."""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGUSR2], ids=lambda s: s.name)
def test_a_signal_reaches_the_whole_group_once(
    record: Recorder, tmp_path: Path, signum: signal.Signals
) -> None:
    """If a recorder passes on a signal, every process of the agent receives the signal once."""
    notes = [tmp_path / "notes", tmp_path / "notes.child"]
    conversation = record(agent("signal_notes", notes[0]), "--grace", "1000")
    conversation.expect(b"ready\nready\n")
    conversation.process.send_signal(signum)
    for path in notes:
        wait_until(lambda path=path: path.read_text(), f"{signum.name} to arrive")  # type: ignore[misc]
    conversation.process.send_signal(signal.SIGUSR1)
    assert conversation.wait() == 0
    for path in notes:
        assert path.read_text().split() == [signum.name, "SIGUSR1"]
    assert [(e["name"], e["action"]) for e in conversation.recording.events("signal")] == [
        (signum.name, "passed on"),
        ("SIGUSR1", "passed on"),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="expected Linux, which names the sender")
@pytest.mark.parametrize("is_client", [True, False])
def test_the_recording_says_who_sent_a_signal(installed: Recorder, is_client: bool) -> None:
    """A recording shows whether its client or somebody else sent the recorder's stop signal."""
    conversation = installed(shell("echo ready; exec sleep 1000"))
    conversation.expect(b"ready\n")
    if is_client:
        conversation.process.send_signal(signal.SIGTERM)
    else:
        subprocess.run(
            ["/bin/sh", "-c", "kill $1", "sh", str(conversation.process.pid)], check=True
        )
    assert conversation.wait() == -signal.SIGTERM
    (event,) = conversation.recording.events("signal")
    assert event.get("sender") == ("parent" if is_client else None)


def test_a_client_can_say_that_it_gave_up(record: Recorder) -> None:
    """If a client sends SIGALRM, its recorder ends the agent, and notes that the client gave up."""
    conversation = record(shell("echo ready; exec sleep 1000"))
    conversation.expect(b"ready\n")
    conversation.process.send_signal(signal.SIGALRM)
    assert conversation.wait() == -signal.SIGTERM
    (event,) = conversation.recording.events("signal")
    assert (event["name"], event["reason"]) == ("SIGTERM", GAVE_UP)


@pytest.mark.parametrize("signum", STOPPING, ids=lambda s: s.name)
def test_an_agent_that_ignores_a_signal_is_killed(record: Recorder, signum: signal.Signals) -> None:
    """If an agent ignores a signal, a recorder kills the agent after the grace time."""
    conversation = record(shell(f"{IGNORE} echo ready; exec sleep 1000"), "--grace", "0.3")
    group = conversation.agent_group()
    conversation.expect(b"ready\n")
    conversation.process.send_signal(signum)
    assert conversation.read_all() == b"ready\n"
    assert conversation.wait() == 128 + signal.SIGKILL
    assert [
        (e["name"], e["action"], e.get("reason")) for e in conversation.recording.events("signal")
    ] == [
        (signum.name, "passed on", None),
        ("SIGKILL", "sent", "still there 0.3 s after it was told to stop"),
    ]
    assert conversation.recording.field("end_reason") == "told to stop"
    assert conversation.recording.field("exit_signal") == signal.SIGKILL
    wait_until(lambda: not living(group), "the group to be gone")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_nothing_is_left_of_a_launcher(record: Recorder, launcher: str) -> None:
    """If a recorder is stopped and a child of its agent ignores SIGTERM, the child is killed."""
    conversation = record(shell(LAUNCHERS[launcher]), "--grace", "0.3")
    group = conversation.agent_group()
    conversation.expect(b"ready\n")
    conversation.process.send_signal(signal.SIGTERM)
    assert conversation.read_all() == b"ready\n"
    is_ours = launcher != "dies at once"
    assert conversation.wait() == (128 + signal.SIGKILL if is_ours else -signal.SIGTERM)
    assert conversation.recording.sent_signals() == [signal.SIGKILL]
    wait_until(lambda: not living(group), "the group to be gone")


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_nothing_is_left_when_we_are_killed(record: Recorder, launcher: str) -> None:
    """If a recorder is killed, its agent ends."""
    conversation = record(shell(LAUNCHERS[launcher]))
    group = conversation.agent_group()
    conversation.expect(b"ready\n")
    conversation.process.kill()
    conversation.read_all()
    conversation.wait()
    wait_until(lambda: not living(group), "the group to be gone")


def test_a_stopped_agent_gets_the_signal(record: Recorder) -> None:
    """If an agent is stopped by SIGSTOP, a SIGTERM to its recorder still ends the agent."""
    conversation = record(shell("echo $$; kill -s STOP $$; exit 9"), "--grace", "1000")
    conversation.run(until=lambda: conversation.received.endswith(b"\n"))
    pid = int(conversation.received)
    stat = Path(f"/proc/{pid}/stat")
    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "it to stop")
    conversation.process.send_signal(signal.SIGTERM)
    assert conversation.wait() == -signal.SIGTERM


@pytest.mark.parametrize("obeys", [True, False])
def test_an_agent_that_leaves_the_group_is_reached(record: Recorder, obeys: bool) -> None:
    """If an agent has changed its process group, its recorder still passes signals on to it."""
    script = "import os, time; os.setsid(); print('ready', flush=True); time.sleep(1000)"
    ignore = "" if obeys else IGNORE
    python = [sys.executable, "-IS", "-c", script]
    conversation = record(shell(f'{ignore} exec "$@"', *python), "--grace", "0.3")
    conversation.expect(b"ready\n")
    conversation.process.send_signal(signal.SIGTERM)
    assert conversation.wait() == (-signal.SIGTERM if obeys else 128 + signal.SIGKILL)
    assert conversation.recording.sent_signals() == ([] if obeys else [signal.SIGKILL])


def test_an_agent_that_handles_the_signal_keeps_its_exit_code(record: Recorder) -> None:
    """If an agent exits by itself after SIGTERM, its recorder exits with the agent's exit code."""
    conversation = record(
        shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
    )
    conversation.expect(b"ready\n")
    conversation.process.send_signal(signal.SIGTERM)
    assert conversation.read_all() == b"ready\nbye\n"
    assert conversation.wait() == 5
    assert conversation.recording.sent_signals() == []
    assert conversation.recording.field("end_reason") == "told to stop"


@pytest.mark.slow
@pytest.mark.parametrize("was_told", [False, True], ids=["agent exits", "told to stop"])
def test_a_daemon_does_not_block_the_end(record: Recorder, tmp_path: Path, was_told: bool) -> None:
    """If a daemon of an ended agent keeps the agent's output open, the recorder still ends."""
    conversation = record(agent("daemon", tmp_path / "pid"), "--grace", "0.3", env=IMPATIENT)
    conversation.expect(b"left\n")
    daemon = int((tmp_path / "pid").read_text())
    try:
        started = time.monotonic()
        wait_until(lambda: conversation.descendants() == [daemon], "the agent to be gone")
        if was_told:
            conversation.process.send_signal(signal.SIGTERM)
        assert conversation.wait() == 0
        assert was_told or time.monotonic() - started > 0.4, "expected it to wait for a last word"
        assert conversation.read_all() == b"left\n"
        assert conversation.descendants() == [daemon]
        reasons = [
            e["reason"] for e in conversation.recording.events("eof") if e["stream"] != "to-agent"
        ]
        assert reasons == ["held open by a process that has left the agent's group"] * 2
        assert conversation.recording.field("state") == "complete"
    finally:
        os.kill(daemon, signal.SIGKILL)
