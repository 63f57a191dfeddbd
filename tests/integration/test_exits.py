"""How an agent ends, or fails to begin, is how the proxy ends, and the recording says so."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import Gate, shell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder

PROMPT = b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s"}}\n'
QUESTION = b'{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s"}}\n'


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_an_exit_code_comes_through(record: Recorder, code: int) -> None:
    """The proxy exits with the agent's code, which the recording has."""
    talk = record(shell('exit "$1"', str(code)))
    assert talk.wait() == code
    assert (talk.recording.say("exit_code"), talk.recording.say("exit_signal")) == (code, None)
    assert talk.recording.events("exit") == [{"code": code}]


@pytest.mark.parametrize("name", ["SEGV", "TERM", "KILL"])
def test_a_death_comes_through(record: Recorder, name: str) -> None:
    """An agent that a signal kills makes the proxy return 128 + n; open requests show.

    That they were never answered is recorded, for those of both sides.
    """
    signum = signal.Signals[f"SIG{name}"]
    talk = record(
        shell('ulimit -c 0; read line; echo "$1"; kill -s $2 $$', QUESTION[:-1].decode(), name)
    )
    talk.say(PROMPT)
    assert talk.hear_all() == QUESTION
    assert talk.wait() == 128 + signum
    assert (talk.recording.say("exit_code"), talk.recording.say("exit_signal")) == (None, signum)
    assert talk.recording.rows(
        "select direction, method, rpc_id, outcome, response_seq from exchanges order by id"
    ) == [
        ("to-agent", "session/prompt", "7", "unanswered", None),
        ("to-client", "fs/read_text_file", "7", "unanswered", None),
    ]
    assert talk.recording.sent_signals() == []


def test_a_death_comes_through_after_indexing(record: Recorder, tmp_path: Path) -> None:
    """An agent that dies in a session that was indexed meanwhile leaves the same recording."""
    gate = Gate(tmp_path / "gate")
    talk = record(shell('read line; read go <"$1"; kill -s TERM $$', gate.path))
    talk.say(PROMPT)
    talk.wait_for_rows("select 1 from exchanges")
    gate.open()
    assert talk.wait() == 128 + signal.SIGTERM
    assert talk.recording.say("exit_signal") == signal.SIGTERM
    assert talk.recording.rows("select outcome from exchanges") == [("unanswered",)]


@pytest.mark.parametrize(
    ("name", "mode", "content", "code", "complaint"),
    [
        ("missing", None, "", 127, "No such file or directory; check the path"),
        ("plain", 0o644, "#!/bin/sh\n", 126, "Permission denied; is it executable?"),
        ("orphan", 0o755, "#!/no/such/interpreter\n", 127,
         "No such file or directory; the interpreter of its first line was not found"),
        ("nothing", 0o755, "\x7fELF", 126, "Exec format error"),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_start(
    record: Recorder,
    tmp_path: Path,
    name: str,
    mode: int | None,
    content: str,
    code: int,
    complaint: str,
) -> None:
    """An agent that cannot start is one line on stderr, 127 or 126, and a recording."""
    program = tmp_path / name
    if mode is not None:
        program.write_text(content)
        program.chmod(mode)
    talk = record([str(program)])
    assert talk.hear_all() == b""
    assert talk.wait() == code
    reason = f"cannot start the agent {str(program)!r}: {complaint}"
    assert talk.stderr.decode() == f"acp-proxy: {reason}\n"
    shown = record.inspect("show", talk.recording.path)
    assert f"exit {code}, {reason}" in shown
    assert talk.recording.say("exit_code") == code
    assert talk.recording.rows("select count(*) from frames") == [(0,)]


def test_an_agent_that_is_not_on_the_path(record: Recorder) -> None:
    """A bare name that the PATH does not have is 127, with a hint."""
    talk = record(["no-such-agent"])
    assert talk.wait() == 127
    assert talk.stderr.endswith(
        b"'no-such-agent': No such file or directory; give its absolute path\n"
    )
    assert talk.stderr.count(b"\n") == 1
