"""Tests how `try --probe` assigns lines of a connection to probes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.probe_tape import ProbeTape

OUT, IN = Direction.TO_AGENT, Direction.TO_CLIENT


def line(**message: Any) -> bytes:
    """Returns a message as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def test_lines_are_counted_in_each_direction() -> None:
    """`try --probe` notes for each probe the numbers of the lines with its requests and answers."""
    tape = ProbeTape(open={'"a"': None})
    tape.watch(OUT, line(id="a", method="m"))
    tape.watch(OUT, line(id=1, result={}))
    tape.watch(OUT, b"")
    tape.watch(IN, line(method="_note"))
    tape.watch(IN, line(id="a", result={}))
    assert tape.lines == [(OUT, 1), (OUT, 3), (IN, 2)]
    assert tape.open == {}
    assert tape.moved.is_set()
    assert tape.offences == {}


def test_a_request_that_only_follows_is_no_line_of_the_probe() -> None:
    """`try --probe` does not list a request that it sends only to wait for the agent."""
    tape = ProbeTape(open={'"probe:a:next"': None})
    tape.watch(OUT, line(id="probe:a:next", method="m"))
    tape.watch(IN, line(id="probe:a:next", result={}))
    assert tape.lines == []


def test_other_answers_are_strays_if_they_are_expected() -> None:
    """`try --probe` accepts an answer with the id null only in probes that expect one."""
    tape = ProbeTape(strays=[])
    tape.watch(IN, line(id=None, error={"code": -32700}))
    assert tape.strays == [{"jsonrpc": "2.0", "id": None, "error": {"code": -32700}}]
    tape.strays = None
    tape.watch(IN, line(id=None, result={}))
    assert tape.offences == {"answers": [((IN, 2), "an answer came that has the id null")]}


@pytest.mark.parametrize(
    ("raw", "probe"),
    [
        (b"Loading...", "lines"),
        (line(id=1, method="terminal/create"), "calls"),
        (line(id=1, method="session/request_permission"), None),
        (line(id=1, method="_vendor/thing"), None),
        (b"", None),
        (b"[" + line(id=9, result={}) + b"]", "answers"),
    ],
)
def test_offences_are_noted(raw: bytes, probe: str | None) -> None:
    """`try --probe` counts a line of plain text against the probe `lines`, but no blank line."""
    tape = ProbeTape()
    tape.watch(IN, raw)
    assert [*tape.offences] == ([] if probe is None else [probe])


@pytest.mark.parametrize(
    ("session", "kind", "is_offence"),
    [("a", "tool_call", False), ("b", "tool_call", True), ("b", "usage_update", False)],
)
def test_output_belongs_to_an_open_request(session: str, kind: str, is_offence: bool) -> None:
    """`try --probe` reports a tool call that comes while no prompt is open in the session."""
    tape = ProbeTape(open={"1": "a"})
    update = {"sessionUpdate": kind}
    tape.watch(IN, line(method="session/update", params={"sessionId": session, "update": update}))
    assert ("updates" in tape.offences) is is_offence
    assert tape.moved.is_set() is (session == "a")
