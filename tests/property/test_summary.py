"""`show` prints a summary of any recording."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.describe.method_texts import METHODS
from acp_proxy.explain.describe.peer_texts import auth_method_ids
from acp_proxy.explain.describe.session_texts import UPDATES
from acp_proxy.explain.show.conversation_summary import capabilities
from acp_proxy.explain.show.summary import find_quickly, summarize
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import STREAM_NAMES
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.explain.findings import Finding

WORDS = st.sampled_from(
    ["s", "c", "t", "y", "pending", "completed", "\x1b[2J", "你好", "", "x" * 300]
)
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | WORDS
KEYS = st.sampled_from(
    ["sessionId", "toolCallId", "terminalId", "toolCall", "options", "optionId", "kind", "status",
     "title", "outcome", "granted", "cwd", "prompt", "content", "text", "path", "exitStatus",
     "protocolVersion", "clientCapabilities", "agentCapabilities", "authMethods", "message"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
IDS = st.integers(0, 2)
UPDATE = st.builds(
    lambda kind, rest: {"sessionId": "s", "update": {**rest, "sessionUpdate": kind}},
    st.sampled_from(sorted(UPDATES)),
    OBJECTS,
)
MESSAGES: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda i, m, p: {"id": i, "method": m, "params": p}, IDS,
              st.sampled_from(sorted(METHODS)), OBJECTS | VALUES),
    st.builds(lambda i: {"id": i, "method": "session/prompt", "params": {"sessionId": "s"}}, IDS),
    st.builds(lambda p: {"method": "session/update", "params": p}, UPDATE),
    st.builds(lambda i, r: {"id": i, "result": r}, IDS, OBJECTS | VALUES),
    st.builds(lambda i, e: {"id": i, "error": e}, IDS, OBJECTS | VALUES),
)  # fmt: skip
LINES = st.one_of(
    MESSAGES.map(lambda m: json.dumps(m).encode()),
    st.lists(MESSAGES, max_size=3).map(lambda m: json.dumps(m).encode()),
    st.binary(max_size=20),
)
EVENTS = st.tuples(
    st.sampled_from(
        [capture_log.END, capture_log.UNDELIVERED, capture_log.SIGNAL, capture_log.EXIT,
         capture_log.GAP, capture_log.NOTE]
    ),
    st.integers(0, 3),
    st.dictionaries(
        st.sampled_from(
            ["reason", "action", "signal", "code", "bytes", "since", *STREAM_NAMES[1:]]
        ),
        st.sampled_from(["stalled", "resumed", "end of file", "9", "7", "1" * 19, "\x1b"]),
    ),
)  # fmt: skip
STEPS = st.lists(st.tuples(st.integers(1, 3), LINES) | EVENTS, max_size=25)


@given(steps=STEPS, is_closed=st.booleans(), pause=st.sampled_from([0, 70 * 10**9]))
def test_any_recording_has_a_first_screen(steps: list[Any], is_closed: bool, pause: int) -> None:
    """Whatever a recording contains, `show` prints no control characters."""
    with tempfile.TemporaryDirectory() as directory:
        with LogWriter(Path(directory, "x.db")) as recorder:
            for step in steps:
                recorder.t_ns += pause
                if len(step) == 2:
                    recorder.chunk(step[0], step[1] + b"\n")
                else:
                    recorder.event(step[0], step[1], **step[2])
            look_at(recorder.path)
            if is_closed:
                recorder.close()
        look_at(recorder.path)


def look_at(path: Path) -> None:
    """Asserts that `show` prints a recording as text without control characters, and as JSON."""
    shown = run("inspect", "show", path)
    assert shown.exit_code == 0
    assert shown.stdout.replace("\n", "").isprintable()
    assert json.loads(run("inspect", "show", "--json", path).stdout)["recording"]
    with RecordingReader(path) as reader:
        quick, *_ = find_quickly(reader)
        assert told(quick) == told(summarize(reader).findings)


def told(findings: Iterable[Finding]) -> list[Finding]:
    """Returns all findings except those about pauses, which need a pass over all frames."""
    return [
        finding for finding in findings if finding.rule not in ("wait.silence", "agent.slow-start")
    ]


@given(half=VALUES)
def test_any_initialize_has_capabilities(half: Any) -> None:
    """Whatever a peer sends in `initialize`, `show` can list its capabilities."""
    params = half if isinstance(half, dict) else {}
    demanded = capabilities(params, "requiredClientCapabilities")
    for names in (capabilities(params), demanded, auth_method_ids(params)):
        assert all(isinstance(name, str) and name for name in names)
