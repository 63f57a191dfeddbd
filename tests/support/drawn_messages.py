"""Draws recordings with Hypothesis: tool calls, requests and answers with any members."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests.support.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextlib.contextmanager
def recorded(steps: list[tuple[int, Any]]) -> Iterator[Path]:
    """Yields the path of a recording: a new session, then the drawn messages."""
    with tempfile.TemporaryDirectory() as directory:
        with LogWriter(Path(directory, "x.db")) as recorder:
            recorder.to_agent({"id": 7, "method": "session/new", "params": {"cwd": "/w"}})
            recorder.to_client({"id": 7, "result": {"sessionId": "s"}})
            for stream, message in steps:
                recorder.chunk(stream, json.dumps(message).encode() + b"\n")
            recorder.close()
        yield recorder.path
