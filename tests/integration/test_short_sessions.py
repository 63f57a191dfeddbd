"""A session that ends while its recorder still starts is recorded completely."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import Gate, shell, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder, Talk

REQUEST = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
ANSWER = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
SAYS = f"read line; echo '{ANSWER}'"


def hindered(directory: Path, what: str) -> dict[str, str]:
    """Returns an environment in which importing trio runs other code."""
    (directory / "modules").mkdir()
    (directory / "modules" / "trio.py").write_text(what)
    return {"PYTHONPATH": str(directory / "modules")}


def short_talk(installed: Recorder, tmp_path: Path) -> Talk:
    """Records a conversation that ends while the recorder hangs in an import."""
    Gate(tmp_path / "never")
    env = hindered(tmp_path, f"open({str(tmp_path / 'never')!r}).read()")
    conversation = installed(shell(SAYS), env=env)
    assert conversation.exchange(REQUEST.encode() + b"\n") == ANSWER.encode() + b"\n"
    assert conversation.wait() == 0
    assert conversation.stderr == b""
    return conversation


def test_a_short_session_leaves_its_log(installed: Recorder, tmp_path: Path) -> None:
    """If a session ends while its recorder starts, its log remains beside an empty database.

    The database is created first, so that no other user can put a file there.
    """
    conversation = short_talk(installed, tmp_path)
    assert conversation.recording.path.stat().st_size == 0
    assert conversation.recording.path.stat().st_mode & 0o777 == 0o600
    assert conversation.recording.path.with_name("talk-1.db.log").exists()


def test_a_log_is_listed_printed_and_indexed(installed: Recorder, tmp_path: Path) -> None:
    """`inspect` lists a session that left only its capture log, and makes a database of the log."""
    conversation = short_talk(installed, tmp_path)
    (entry,) = map(json.loads, installed.inspect("list", tmp_path, "--json").splitlines())
    assert (entry["recording"]["state"], entry["frames"]) == ("complete", 2)
    printed = installed.inspect("log", conversation.recording.path, "--raw")
    assert printed.splitlines() == [REQUEST, ANSWER]
    shown = json.loads(installed.inspect("show", conversation.recording.path, "--json"))
    assert shown["frames"] == {"to-agent": 1, "to-client": 1}
    assert shown["recording"]["exit_code"] == 0
    assert conversation.recording.path.exists()
    assert not conversation.recording.path.with_name("talk-1.db.log").exists()


@pytest.mark.parametrize("where", ["", "def run(*_): "], ids=["import", "run"])
def test_a_failing_start_up_does_not_stop_the_conversation(
    installed: Recorder, tmp_path: Path, where: str
) -> None:
    """If the indexer of a recorder fails to start, the conversation is still recorded."""
    env = hindered(tmp_path, f"{where}raise RuntimeError('broken')")
    gate = Gate(tmp_path / "gate")
    run = installed(shell(f'read go <"$1"; {SAYS}', gate.path), env=env)
    wait_until(lambda: run.stderr.endswith(b"\n"), "a complaint")
    gate.open()
    assert run.exchange(REQUEST.encode() + b"\n") == ANSWER.encode() + b"\n"
    assert run.wait() == 0
    assert run.stderr.decode() == (
        "acp-proxy: internal error: RuntimeError: broken; recording goes on without its indexer;"
        " a later command indexes the log\n"
    )
    assert run.recording.stream("to-client") == ANSWER.encode() + b"\n"
    assert run.recording.field("state") == "complete"
