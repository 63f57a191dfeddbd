"""``acp-proxy import`` reads excerpts from Zed's logs, which name the methods of answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.recording.recording import NamedAnswer
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.text_recordings import assert_comes_back, run_with

if TYPE_CHECKING:
    from pathlib import Path

IN, OUT = "incoming", "outgoing"


def entry(direction: str, kind: str, id_: Any, method: str, params: Any) -> dict[str, Any]:
    """Returns a message as Zed logs it."""
    return {"_direction": direction, "_type": kind, "id": id_, "method": method, "params": params}


def update(session: str, what: str, /, **values: Any) -> dict[str, Any]:
    """Returns a session update."""
    params = {"sessionId": session, "update": {"sessionUpdate": what, **values}}
    return entry(IN, "notification", None, "session/update", params)


def call(session: str, id_: str, command: str) -> dict[str, Any]:
    """Returns a tool call that ran a command."""
    return update(
        session, "tool_call", toolCallId=id_, title=command, kind="execute", status="completed",
        rawInput={"command": command},
    )  # fmt: skip


PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}
EXCERPT = [
    entry(OUT, "response", "q", "session/request_permission",
          {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    entry(IN, "response", "a", "session/prompt", {"stopReason": "end_turn"}),
    entry(IN, "response", "l", "session/load", {"code": 3, "message": "no"}),
    entry(OUT, "request", "b", "session/prompt", PROMPT),
    entry(IN, "response", "b", "session/prompt", {"stopReason": "end_turn"}),
]  # fmt: skip
HISTORY = [
    update("s", "user_message_chunk", content={"type": "text", "text": "old"}),
    call("s", "c-0", "rm -rf old"),
]
LOADED = entry(IN, "response", "l", "session/load", {"modes": None})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The recordings directory."""
    return tmp_path / "home"


def imported(entries: list[dict[str, Any]], home: Path) -> str:
    """Imports a log of Zed as ``zed``; returns the text on stderr."""
    text = json.dumps(entries, indent=2).encode()
    result = run_with(text, "inspect", "import", "-", "--name", "zed", home=home)
    assert result.exit_code == 0, result.stderr
    return result.stderr


def test_an_answer_keeps_the_method_that_zed_names(home: Path) -> None:
    """If a log of Zed lacks a request, `import` keeps the method that Zed wrote at its response."""
    imported(EXCERPT, home)
    with RecordingReader(home / "zed.db") as reader:
        rows = list(reader.query("SELECT method, exchange FROM frames ORDER BY seq"))
        origin = reader.recording.origin
    assert [tuple(row.values()) for row in rows] == [
        ("session/request_permission", None),
        ("session/prompt", None),
        ("session/load", None),
        ("session/prompt", 1),
        ("session/prompt", 1),
    ]
    assert origin is not None
    assert origin.named_answers == (
        NamedAnswer(1, "session/request_permission"),
        NamedAnswer(2, "session/prompt"),
        NamedAnswer(3, "session/load"),
    )


def test_screens_show_the_method_of_such_an_answer(home: Path) -> None:
    """If a log of Zed lacks a request, `log` still shows its response's method, which Zed wrote."""
    imported(EXCERPT, home)
    shown = run("inspect", "log", "zed", home=home).stdout.splitlines()
    assert [line.split()[2] for line in shown] == [
        "session/request_permission", "session/prompt", "session/load", "session/prompt",
        "session/prompt",
    ]  # fmt: skip
    assert run("inspect", "log", "zed", "method:load", home=home).stdout.count("\n") == 1
    assert "(response)" not in run("inspect", "stats", "zed", home=home).stdout
    summary = json.loads(run("inspect", "show", "zed", "--json", home=home).stdout)
    named = summary["recording"]["origin"]["named_answers"]
    assert named[1] == {"seq": 2, "method": "session/prompt"}


def test_such_a_recording_comes_back(home: Path) -> None:
    """If a Zed log lacks a request, its response's method survives an export and a new import."""
    imported(EXCERPT, home)
    assert b'"named_answers":[{"seq":1,' in assert_comes_back(home / "zed.db")
    imported(EXCERPT[3:], home)
    assert b"named_answers" not in assert_comes_back(home / "zed-2.db")


@pytest.mark.parametrize("method", [None, 7, "", "x" * 101, "a b", "ü"], ids=repr)
def test_what_is_no_method_is_not_kept(method: Any, home: Path) -> None:
    """If a log of Zed has an invalid method at a response, `import` leaves the method out."""
    imported([entry(IN, "response", "a", method, {})], home)
    with RecordingReader(home / "zed.db") as reader:
        assert [row["method"] for row in reader.frames()] == [None]
        assert reader.recording.origin is not None
        assert reader.recording.origin.named_answers == ()


def test_the_history_before_a_loaded_session_is_history(home: Path) -> None:
    """If a log of Zed has the history of a loaded session, `audit` does not list its actions."""
    imported([*HISTORY, LOADED, call("s", "c-1", "rm -rf new")], home)
    said = run("inspect", "audit", "zed", home=home).stdout
    assert "rm -rf new" in said
    assert "rm -rf old" not in said
    transcript = run("inspect", "transcript", "zed", home=home).stdout
    old, new = [line for line in transcript.splitlines() if "<summary>" in line]
    assert "<code>history</code>" in old
    assert "<code>outside of a turn</code>" in new


@pytest.mark.parametrize(
    "more",
    [
        [entry(IN, "response", "p", "session/prompt", {"stopReason": "end_turn"})],
        [
            entry(OUT, "request", "n", "session/new", {"cwd": "/x", "mcpServers": []}),
            entry(IN, "response", "n", "session/new", {"sessionId": "s"}),
        ],
    ],
    ids=["the answer to a prompt", "a session that was opened"],
)
def test_what_may_have_been_done_now_counts(more: list[dict[str, Any]], home: Path) -> None:
    """If a Zed log uses a session before loading it, `audit` lists the actions of the history."""
    imported([*more, *HISTORY, LOADED], home)
    assert "rm -rf old" in run("inspect", "audit", "zed", home=home).stdout


def test_a_session_is_not_called_lost_if_the_log_ends_before_the_answer(home: Path) -> None:
    """If a log of Zed ends before the answer to `session/load`, `show` prints "load open"."""
    load = {"sessionId": "s", "cwd": "/x", "mcpServers": []}
    imported([*EXCERPT[:2], entry(OUT, "request", "l", "session/load", load)], home)
    said = run("inspect", "show", "zed", home=home).stdout
    assert [line.split("  ") for line in said.splitlines() if "/x" in line] == [
        ["", "s", "load open", "0 turns", "/x"]
    ]
    assert "session/load (#3) has no answer in the import" in said
    assert "did not say its name" not in said
    (session,) = json.loads(run("inspect", "show", "zed", "--json", home=home).stdout)["opened"]
    assert (session["failed"], session["open"]) == ([], ["load"])


def test_the_brackets_of_arrays_are_called_so(home: Path) -> None:
    """`import` counts lines of a Zed log that hold only an array's brackets apart from messages."""
    array = json.dumps(EXCERPT[3:], indent=0)
    lines = len(array.splitlines())
    for number, text in enumerate((array, f"{array}\n\n{array}\n")):
        name = f"zed{number}"
        result = run_with(text.encode(), "inspect", "import", "-", "--name", name, home=home)
        times = number + 1
        blank = ", 1 blank" if number else ""
        assert (
            f"{times * lines + number} lines: {times * (lines - 2)} of messages,"
            f" {times * 2} of brackets around messages{blank};"
        ) in result.stderr
        assert ("whether lines are missing in between" in result.stderr) is (number == 1)


def test_an_audit_of_an_excerpt_names_each_file_once(home: Path) -> None:
    """If a tool call in a Zed log names a file by two paths, `audit` prints only one of them."""
    write = {"toolCallId": "c", "title": "Write", "kind": "edit", "status": "completed"}
    files = {"locations": [{"path": "/x/src/a.txt"}], "rawInput": {"path": "src/a.txt"}}
    info = {"protocolVersion": 1, "agentInfo": {"name": "agent", "version": "2"}}
    entries = [
        entry(OUT, "request", "i", "initialize", {"protocolVersion": 1}),
        entry(IN, "response", "i", "initialize", info),
        EXCERPT[3],
        update("s", "tool_call", **write, **files),
        update("s", "tool_call", **write | {"toolCallId": "d"}, rawInput={"path": "a.txt"}),
    ]
    imported(entries, home)
    said = run("inspect", "audit", "zed", home=home).stdout.splitlines()
    assert "agent       agent 2" in said
    assert [line.count("UNKNOWN PLACE") for line in said if " done " in line] == [1, 1]
    audit = json.loads(run("inspect", "audit", "zed", "--json", home=home).stdout)
    assert len(audit["actions"][0]["paths"]) == 2
