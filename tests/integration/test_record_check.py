"""``record --check`` prints broken rules at the end, and changes nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.processes import Gate, shell
from tests.integration.test_short_sessions import ANSWER, REQUEST, SAYS, hindered

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder


def test_findings_are_printed_at_the_end(record: Recorder, tmp_path: Path) -> None:
    """`record --check` prints findings on stderr at the end."""
    gate = Gate(tmp_path / "gate")
    agent = shell(f'{SAYS}; echo "a log line"; read go <"$1"; exit 3', gate.path)
    conversation = record(agent, "--check")
    conversation.write(REQUEST.encode() + b"\n")
    conversation.expect(f"{ANSWER}\na log line\n".encode())
    conversation.catch_up()
    gate.open()
    assert conversation.wait() == 3
    path = conversation.recording.path
    lines = conversation.stderr.decode().splitlines()
    assert lines[0].startswith("acp-proxy: 2 errors, ")
    assert 'acp-proxy: ✗ frame.not-json by the agent: #4: a line is not JSON: "a log line"' in lines
    assert lines[-1] == f"acp-proxy: `acp-proxy check {path}` shows everything"
    assert len(lines) <= 20


def test_a_short_session_names_the_command(record: Recorder, tmp_path: Path) -> None:
    """If a session is too short for `record --check`, stderr names the `check` command to type."""
    Gate(tmp_path / "never")
    env = hindered(tmp_path, f"open({str(tmp_path / 'never')!r}).read()")
    conversation = record(shell(SAYS), "--check", env=env)
    assert conversation.exchange(REQUEST.encode() + b"\n") == ANSWER.encode() + b"\n"
    assert conversation.wait() == 0
    assert conversation.stderr.decode() == (
        "acp-proxy: there was no time to check the recording;"
        f" `acp-proxy check {conversation.recording.path}` does\n"
    )
