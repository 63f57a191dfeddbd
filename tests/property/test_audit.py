"""Every recording has an audit, in each of its forms."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.render.markdown import code
from acp_proxy.inspection.audit.paths import locate, mentions
from tests.commands import run
from tests.log_writer import LogWriter

PATHS = st.sampled_from(
    ["/w/a", "a", "../b", "/w/../.env", "~/.ssh/id_rsa", "C:\\x", "file:///w/%00", "\x1b[2J|", ""]
)
LEAVES = st.none() | st.booleans() | st.integers(-1, 2) | PATHS | st.sampled_from(
    ["s", "c", "t", "edit", "read", "execute", "diff", "terminal", "pending", "completed", "1"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["toolCallId", "id", "title", "kind", "status", "content", "locations", "path", "rawInput",
     "command", "args", "cwd", "type", "terminalId", "changes", "operation", "resource", "tool",
     "input", "output", "optionId", "exitCode", "exitStatus", "outcome", "granted", "url"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)
IDS = st.integers(0, 2)
CALLS = st.sampled_from(["c", "d"])
OPTIONS = [{"optionId": "1", "kind": "allow_always"}, {"optionId": "2", "kind": "reject_once"}]
REQUESTS = st.sampled_from(
    ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "fs/x", "_x"]
)
TO_CLIENT = st.one_of(
    st.builds(
        lambda kind, call, rest: {
            "method": "session/update",
            "params": {"sessionId": "s", "update": {**rest, "sessionUpdate": kind, **call}},
        },
        st.sampled_from(["tool_call", "tool_call_update", "terminal_update"]),
        st.builds(lambda call: {"toolCallId": call}, CALLS) | st.just({"terminalId": "t"}),
        OBJECTS,
    ),
    st.builds(
        lambda number, method, params: {
            "id": number, "method": method, "params": {"sessionId": "s", "path": "/w/a", **params},
        },
        IDS, REQUESTS, OBJECTS,
    ),
    st.builds(
        lambda number, call, rest: {
            "id": number,
            "method": "session/request_permission",
            "params": {
                "sessionId": "s", "toolCall": {**rest, "toolCallId": call}, "options": OPTIONS,
            },
        },
        IDS, CALLS, OBJECTS,
    ),
    st.builds(lambda i, r: {"id": i, "result": {**r, "sessionId": "s"}}, IDS, OBJECTS),
)  # fmt: skip
TO_AGENT = st.one_of(
    st.builds(lambda i, r: {"id": i, "result": r}, IDS, OBJECTS | VALUES),
    st.builds(
        lambda i, chosen: {
            "id": i, "result": {"outcome": {"outcome": "selected", "optionId": chosen}},
        },
        IDS, st.sampled_from(["1", "2"]),
    ),
    st.builds(lambda i: {"id": i, "result": {"terminalId": "t"}}, IDS),
    st.builds(lambda i: {"id": i, "error": {"code": 1, "message": "\x1b"}}, IDS),
    st.builds(lambda i: {"id": i, "method": "session/prompt", "params": {"sessionId": "s"}}, IDS),
    st.builds(
        lambda i, p: {"id": i, "method": "session/load", "params": {"sessionId": "s", **p}},
        IDS, st.just({"cwd": "/w"}) | OBJECTS,
    ),
)  # fmt: skip
STEPS = st.lists(
    st.tuples(st.just(1), TO_AGENT | st.lists(TO_AGENT, max_size=2))
    | st.tuples(st.just(2), TO_CLIENT | st.lists(TO_CLIENT, max_size=2)),
    max_size=25,
)


@given(steps=STEPS)
def test_any_recording_has_an_audit(steps: list[tuple[int, Any]]) -> None:
    """Without control characters; numbers of actions and of frames lead somewhere."""
    with tempfile.TemporaryDirectory() as directory:
        with LogWriter(Path(directory, "x.db")) as recorder:
            recorder.to_agent({"id": 7, "method": "session/new", "params": {"cwd": "/w"}})
            recorder.to_client({"id": 7, "result": {"sessionId": "s"}})
            for stream, message in steps:
                recorder.chunk(stream, json.dumps(message).encode() + b"\n")
            recorder.close()
        path = recorder.path
        for form in ([], ["--markdown"], ["turn:1"]):
            shown = run("inspect", "audit", path, *form)
            assert shown.exit_code == 0
            assert shown.stdout.replace("\n", "").isprintable()
        found = json.loads(run("inspect", "audit", "--json", path).stdout)
    actions = found["actions"]
    assert [action["id"] for action in actions] == [*range(1, len(actions) + 1)]
    assert [action["seq"] for action in actions] == sorted(action["seq"] for action in actions)
    for action in actions:
        assert set(action["perhaps_same_as"]) <= {one["id"] for one in actions} - {action["id"]}
        assert (action["source"] == "client") == bool(action["requests"])
        if action["status"] in ("done", "started") and action["requests"]:
            assert "result" in [one["outcome"] for one in action["requests"]]
    for finding in found["findings"]:
        assert finding["text"].isprintable()
        assert finding["seqs"] == [actions[number - 1]["seq"] for number in finding["actions"]]
    assert sum(sum(kind.values()) for kind in found["counts"].values()) == len(actions)


@given(path=st.text(), directories=st.lists(st.text(max_size=5), max_size=2))
def test_any_path_has_a_place(path: str, directories: list[str]) -> None:
    """Whatever it is written like, and however a command is."""
    found = locate(path, directories)
    assert len(found.shown) <= 2000
    if not directories:
        assert found.place != "inside"
    mentions(path, directories)


@given(text=st.text())
def test_any_text_is_one_cell(text: str) -> None:
    """Nothing in it can end the cell, the line or the element that it stands in."""
    inner = re.sub(r"^<code>|</code>$", "", code(text))
    assert not set(inner) & set("|`<>*[]\\\n\r@~$")
