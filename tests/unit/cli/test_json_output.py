"""The output of ``--json`` cannot control a terminal, whatever was recorded."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.store.files.annotations import set_note
from tests.support.command_line import commands_with, run, words_for
from tests.support.log_writer import (
    LogWriter,
    notification,
    record_conversation,
    request,
    result,
    text,
)
from tests.support.planted_secrets import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNSEEN = "\x7f\x85\x9b31m\u202e\u2028\u2066\u200b\ufeff\U000e0041"
"""DEL, C1, a command of eight bits, bidi, a line separator, and what cannot be seen."""
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\U000e0041]")

_OF_NO_RECORDING = {"setup", "doctor", "faults list", "faults explain", "faults sweep", "try"}
"""Commands whose JSON holds no text of a recording."""
COMMANDS = [
    *(words_for(name, "bad", "needle") for name in commands_with("--json")
      if name not in _OF_NO_RECORDING),
    ["log", "bad", "--seq", "2"],
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recordings, one of them with invisible and control characters in every text."""
    bad = f"needle{UNSEEN}"
    tmp_path /= bad
    tmp_path.mkdir()
    monkeypatch.chdir(tmp_path)
    record_conversation(tmp_path / "good.db", id="aaaa")
    with LogWriter(tmp_path / "bad.db", id="bbbb", name=bad, cwd=f"/{bad}", arg=[bad]) as recorder:
        names = {"clientInfo": {"name": bad, "version": bad, "title": bad}}
        recorder.to_agent(raw(request(bad, "initialize", protocolVersion=1, **names)))
        recorder.to_client(raw(result(bad, protocolVersion=1, agentInfo=names["clientInfo"])))
        recorder.to_agent(raw(request(1, "session/new", cwd=f"/{bad}", mcpServers=[])))
        recorder.to_client(raw(result(1, sessionId=bad)))
        recorder.to_agent(raw(request(2, "session/prompt", sessionId=bad, prompt=[text(bad)])))
        update = {"sessionUpdate": "tool_call", "toolCallId": bad, "title": bad, "kind": bad}
        recorder.to_client(raw(notification("session/update", sessionId=bad, update=update)))
        recorder.to_client(
            raw(request(bad, f"_{bad}", x=bad, **{bad: {"token": KEY}})),
            f"no json {bad}\n".encode(),
        )
        recorder.stderr(bad)
        recorder.to_client(raw({"id": 2, "error": {"code": -32000, "message": bad, "data": bad}}))
        recorder.end(code=1)
        recorder.close()
        recorder.finish()
    set_note(tmp_path / "bad.db", bad)
    plan = '[[fault]]\nkind = "drop"\nwhere = "method:_needle*"\n'
    (tmp_path / "plan.toml").write_text(plan)
    return tmp_path


def raw(message: dict[str, Any]) -> bytes:
    """Returns a message as JSON that escapes only the characters which JSON forbids."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


def strings(value: Any) -> Iterator[str]:
    """All strings within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value if isinstance(value, list) else value.values():
            yield from strings(inner)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words))
def test_json_is_safe_to_print(home: Path, command: list[str]) -> None:
    """With `--json`, commands escape characters that could control a terminal."""
    output = run(*command, "--json", home=home).stdout
    assert "needle" in output
    assert not RAW.search(output)
    values = [json.loads(line) for line in output.splitlines()]
    assert any(UNSEEN in string for string in strings(values))


def test_a_name_that_is_not_utf8_is_valid_json(home: Path) -> None:
    """The JSON output of commands is valid even if a recording's path is not UTF-8."""
    (home / "bad.db").rename(home / "needle\udcff.db")
    for command in (("list",), ("prune", "--larger-than", "0kB", "--noted", "--dry-run")):
        lines = run("inspect", *command, "--json", home=home).stdout.splitlines()
        assert any(json.loads(line)["path"].endswith("needle\udcff.db") for line in lines)
