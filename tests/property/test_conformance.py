"""`check` accepts any conversation, and its findings name frames that exist."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_proxy.check.catalogue import rules
from acp_proxy.check.check_values import SEVERITIES
from acp_proxy.check.checker import Checker
from acp_proxy.check.examples import examples
from acp_proxy.check.methods import METHODS
from acp_proxy.protocol.updates import V1_UPDATES, V2_UPDATES
from tests.support.example_checker import HANDSHAKES, reader_of
from tests.support.labelled_transcripts import frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ARROWS = ("->", "<-")
GROUPS = sorted({rule.group for rule in rules().values()})


def samples() -> Iterator[tuple[str, Any]]:
    """Yields the messages in the examples of all rules, each with its direction."""
    for group in GROUPS:
        for line in (line for example in examples(group) for line in example.lines):
            arrow, _, text = line.partition(" ")
            if arrow in ARROWS:
                with contextlib.suppress(ValueError):
                    if isinstance(value := json.loads(frame(text)), dict | list):
                        yield arrow, value


SAMPLES = [*samples()]
METHOD_NAMES = sorted({method for table in METHODS.values() for _, method in table} | {"_x/y"})
KEYS = sorted(
    {"_meta", "~", ""}
    | {name for _, sample in SAMPLES if isinstance(sample, dict) for name in sample}
    | {
        name
        for _, sample in SAMPLES
        if isinstance(sample, dict)
        for member in sample.values()
        if isinstance(member, dict)
        for name in member
    }
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from([1e300, -0.5, -32601, -32000, 2**70]),
    st.sampled_from(
        ["s", "t", "", "a", "/a", "c1", "t1", "e1", "idle", "running", "pending", "completed",
         "denied", "file_read", "always", "form", "url", "image", "diff", "http://x", "\ud800",
         "\x1b[2J", *sorted(V1_UPDATES | V2_UPDATES)]
    ),
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
MESSAGES = st.one_of(
    VALUES,
    st.builds(
        lambda method, number, params: {"jsonrpc": "2.0", "method": method, **number, **params},
        st.sampled_from(METHOD_NAMES),
        st.just({}) | st.builds(lambda value: {"id": value}, LEAVES),
        st.just({}) | st.builds(lambda value: {"params": value}, VALUES),
    ),
    st.builds(
        lambda number, member, value: {"jsonrpc": "2.0", "id": number, member: value},
        LEAVES,
        st.sampled_from(["result", "error"]),
        VALUES,
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the paths to a value and to all values within it."""
    items: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list):
        items = [*enumerate(value)]
    return [
        path,
        *(p for key, inner in items for p in places(inner, (*path, key))),
    ]


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, Any]:
    """Draws a message from the examples of rules, in which another value replaces one value."""
    arrow, sample = draw(st.sampled_from([case for case in SAMPLES if case[1]]))
    message = copy.deepcopy(sample)
    *path, key = draw(st.sampled_from(places(message)[1:]))
    holder = message
    for step in path:
        holder = holder[step]
    if isinstance(holder, dict) and draw(st.booleans()):
        holder.pop(key, None)
    elif isinstance(holder, dict | list):
        holder[key] = draw(VALUES)
    return arrow, message


STEPS = st.lists(
    st.sampled_from(SAMPLES)
    | changed()
    | st.tuples(st.sampled_from(ARROWS), MESSAGES)
    | st.tuples(st.sampled_from(ARROWS), st.lists(MESSAGES, max_size=2)),
    max_size=12,
)


def lines_of(handshake: str, steps: list[tuple[str, Any]], end: str) -> list[str]:
    """Returns a conversation in the syntax of examples: a handshake, a session, drawn messages."""
    lines = []
    if handshake:
        params, result = HANDSHAKES[handshake]
        lines += [f"-> #0 initialize {json.dumps(params)}", f"<- #0 result {json.dumps(result)}"]
        new = {"cwd": "/proj/app", "workingDirectory": "/proj/app", "mcpServers": []}
        lines += [f"-> #1 session/new {json.dumps(new)}", '<- #1 result {"sessionId": "s"}']
    lines += [f"{arrow} | {json.dumps(message)}" for arrow, message in steps]
    return [*lines, end] if end else lines


@settings(max_examples=30)
@given(
    handshake=st.sampled_from(["", *HANDSHAKES]),
    steps=STEPS,
    end=st.sampled_from(["", "== client leaves", "== agent exits"]),
    dialect=st.sampled_from([None, "v1", "v2", "draft-1.0"]),
)
def test_any_conversation_can_be_checked(
    handshake: str, steps: list[tuple[str, Any]], end: str, dialect: str | None
) -> None:
    """`check` accepts any conversation, and each finding names a frame that exists."""
    lines = lines_of(handshake, steps, end)
    report = Checker(reader_of(lines), dialect).read()
    assert report == Checker(reader_of(lines), dialect).read()
    seqs = range(1, len(lines) + 2)  # an end is two events
    for finding in report.findings:
        rule = rules()[finding.rule]
        assert finding.seq in seqs
        assert set(finding.related) <= {*seqs}
        assert SEVERITIES.index(finding.severity) >= SEVERITIES.index(rule.severity)
        assert finding.by in ("client", "agent")
        assert rule.by in (finding.by, "either")
        assert finding.text
        assert finding.text.isprintable()
        assert finding.place is None or finding.place.startswith("/")
    names = {(finding.rule, finding.by) for finding in report.findings}
    assert names == {(finding.rule, finding.by) for finding in report.counts}
