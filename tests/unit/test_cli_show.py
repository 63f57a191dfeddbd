"""``inspect show``: the summary, for a person and as JSON."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.capture import log as capture_log
from tests.commands import run
from tests.scribe import MS, Scribe, handshake, notification, record_story, request, text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are those of Greenwich."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def shown(path: Path) -> dict[str, str]:
    """Returns the rows above the sections, by their label."""
    result = run("inspect", "show", path)
    assert result.exit_code == 0
    top = result.stdout.partition("\n\n")[0].splitlines()[1:]
    return {row[:12].strip(): row[12:] for row in top}


def test_the_first_screen(tmp_path: Path) -> None:
    """Who talked, how it went, what is open and the last words, in this order."""
    path = record_story(tmp_path / "story.db")
    dialect = "v1 (protocolVersion 1 in initialize and nothing else that tells)"
    assert (
        run("inspect", "show", path).stdout
        == f"""\
story  (c0ffee000001)  complete
file        {path}
command     agent --acp
directory   /srv/project
started     2025-06-15 15:06:40 +0000, 22 ms
client      ed 1.2
agent       ag 3.4
dialect     {dialect}
ended       exit 3, the client closed its end
frames      1 stderr, 6 to-agent, 11 to-client
kinds       1 error, 6 request, 4 response, 1 blank, 2 invalid, 3 notification
errors      1 requests were answered with an error
not ACP     2 lines were no messages
sessions    s-1

turns
  1. #6 end_turn 9 ms  3 updates, 1 tool calls  hello 你好

unanswered
  #16 client waits for agent: session/set_mode (id 3), 7 ms  code

stderr
  agent: careful
"""
    )


def test_a_running_one_says_so(tmp_path: Path) -> None:
    """Of a recording whose recorder lives, the end is that it is still running."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        assert shown(scribe.path)["ended"] == "still running"


def test_an_incomplete_one_says_so(tmp_path: Path) -> None:
    """Of a recording whose recorder was killed, the end says what that means."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
    ended = shown(scribe.path)["ended"]
    assert ended == "incomplete: the recorder was killed; what it had read is here"


def test_a_signal_is_the_end(tmp_path: Path) -> None:
    """An agent that was killed ended by a signal, not with a code."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.event(capture_log.EXIT, signal=9)
        scribe.close("told to stop")
    assert shown(scribe.path)["ended"] == "sig 9, told to stop"


def test_peers_that_did_not_say_their_names(tmp_path: Path) -> None:
    """Where there was no handshake, the peers are not invented."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.to_agent(notification("x"))
    found = shown(scribe.path)
    assert found["client"] == found["agent"] == "(did not say its name)"
    assert "dialect" not in found


def test_what_happened_has_a_section(tmp_path: Path) -> None:
    """Signals and gaps are told between what is open and the last words."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.event(capture_log.SIGNAL, signal=15, action="passed on")
        scribe.event(capture_log.GAP, reason="No space left on device", stderr=7, since=1)
    out = run("inspect", "show", scribe.path).stdout
    assert out.endswith(
        "\n\nhappened\n  SIGTERM passed on\n"
        "  not recorded: 7 bytes stderr (No space left on device)\n"
    )


def test_open_turns_and_permissions_are_told_as_what_they_are(tmp_path: Path) -> None:
    """A turn that never ended and a permission that nobody gave both have their age."""
    with Scribe(tmp_path / "x.db") as scribe:
        scribe.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        scribe.to_client(
            request("p", "session/request_permission", sessionId="s", toolCall={"title": "Edit"})
        )
        scribe.t_ns += 240_000 * MS
        scribe.event(capture_log.EXIT, code=0)
    out = run("inspect", "show", scribe.path).stdout
    assert "  1. #2 never ended   0 updates, 0 tool calls  go\n" in out
    assert (
        '  #3 agent waits for client: session/request_permission (id "p"), 4 min 0 s  Edit' in out
    )


def test_nothing_recorded_commands_the_terminal(tmp_path: Path) -> None:
    """Names, methods, ids, paths and texts reach the screen without control characters."""
    evil = "\x1b[31m\x9b2J\u202e\nforged"
    with Scribe(tmp_path / "x.db", name=evil, cwd=evil, arg=["agent", evil]) as scribe:
        info = {"name": evil, "version": evil}
        scribe.to_agent(request(1, "initialize", protocolVersion=1, clientInfo=info))
        scribe.to_agent(request(evil, evil, sessionId=evil, prompt=[text(evil)]))
        scribe.to_agent(request(evil, "session/prompt", sessionId=evil, prompt=[text(evil)]))
        scribe.stderr(evil)
        scribe.event(capture_log.EXIT, code=0, reason=evil)
    for command, where in (("show", scribe.path), ("log", scribe.path), ("list", tmp_path)):
        out = run("inspect", command, where).stdout
        assert out.replace("\n", "").isprintable()
        assert not [line for line in out.splitlines() if line.startswith("forged")]


def test_a_summary_as_json_is_one_object(tmp_path: Path) -> None:
    """Everything on the first screen is in the object, in numbers rather than words."""
    result = run("inspect", "show", "--json", record_story(tmp_path / "story.db"))
    assert result.stdout.count("\n") == 1
    summary = json.loads(result.stdout)
    assert summary["recording"]["id"] == "c0ffee000001"
    assert summary["frames"] == {"stderr": 1, "to-agent": 6, "to-client": 11}
    assert summary["duration_ns"] == 22 * MS
    assert summary["turns"] == [
        {
            "id": 1,
            "session": "s-1",
            "prompt_seq": 6,
            "end_seq": 15,
            "stop_reason": "end_turn",
            "duration_ns": 9 * MS,
            "updates": 3,
            "tool_calls": 1,
            "prompt": "hello 你好",
        }
    ]
    assert summary["unanswered"] == [
        {
            "seq": 16,
            "direction": "to-agent",
            "method": "session/set_mode",
            "rpc_id": "3",
            "waited_ns": 7 * MS,
            "preview": "code",
        }
    ]
    assert summary["stderr_tail"] == ["agent: careful"]


def test_the_environment_can_ask_for_json(tmp_path: Path) -> None:
    """An option of a command is a variable too."""
    path = record_story(tmp_path / "x.db")
    assert json.loads(run("inspect", "show", path, ACP_PROXY_SHOW_JSON="1").stdout)
