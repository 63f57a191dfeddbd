"""Running recorders are listed with what they wait for, in the words of `inspect show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from acp_proxy.doctor.recorders import running
from tests.examined import lines, machine
from tests.log_writer import LogWriter, handshake, notification, record_conversation, request, text
from tests.waiting_chat import record_waiting_chat

if TYPE_CHECKING:
    from pathlib import Path


def test_none_is_running(tmp_path: Path) -> None:
    """Recorders that have ended or were killed are not listed."""
    context = machine(tmp_path)
    record_conversation(context.recordings / "x.db")
    with LogWriter(context.recordings / "y.db") as killed:
        handshake(killed)
    assert lines(running(context)) == ["✓ no recorder is running"]
    assert killed.log_path.exists()


def test_what_they_wait_for(tmp_path: Path) -> None:
    """Each running recorder is listed with what it waits for: the user, the agent or nothing."""
    context = machine(tmp_path)
    recorders = [record_waiting_chat(context.recordings / "a.db", finished=False)]
    for name, prompts in {"b": True, "c": False}.items():
        recorders.append(LogWriter(context.recordings / f"{name}.db", id=f"c0ffee00000{name}"))
        handshake(recorders[-1])
        if prompts:
            prompt = request(3, "session/prompt", sessionId="s", prompt=[text("hello")])
            recorders[-1].to_agent(prompt)
            recorders[-1].to_client(notification("x"))
    one, two, three = lines(running(context))
    for recorder in recorders:
        recorder.abandon()
    assert one.startswith("✓ a: agent waits for client: session/request_permission ")
    assert one.endswith("a person decides")
    assert two.startswith("✓ b: in turn 1 (prompt #4), nothing came yet, ")
    assert three == "✓ c: nothing is open"


def test_a_hang_is_worth_knowing(tmp_path: Path) -> None:
    """A hang is a warning with its problem, and a log that cannot be read is an error."""
    context = machine(tmp_path)
    with LogWriter(context.recordings / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(3, "session/new", cwd="/", mcpServers=[]))
        context = evolve(context, monotonic_ns=context.monotonic_ns + 10**12)
        (found,) = running(context)
    (line,) = lines([found])
    assert line.startswith("! x: client waits for agent: session/new")
    assert found.commands == [f"acp-proxy inspect show {context.recordings}/x.db"]
