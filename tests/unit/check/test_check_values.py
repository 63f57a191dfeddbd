"""`check` recognizes recordings of protocols other than ACP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.check.check_values import note_of
from tests.support.example_checker import HANDSHAKES, check_lines

MCP = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": "ed", "version": "1"},
}
LSP: dict[str, Any] = {"processId": None, "rootUri": "file:///proj", "capabilities": {}}


@pytest.mark.parametrize(
    ("params", "name"),
    [
        (MCP, "MCP, the Model Context Protocol"),
        (LSP, "LSP, the Language Server Protocol"),
        ({**LSP, "rootUri": None, "processId": 7}, "LSP, the Language Server Protocol"),
    ],
)
def test_another_protocol_is_recognized(params: dict[str, Any], name: str) -> None:
    """From the initialize message, `check` recognizes a recording of a protocol other than ACP."""
    assert note_of(params) == f"this is not ACP: initialize looks like that of {name}"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": "2025-06-18"},
        {**LSP, "protocolVersion": 1},
        *(params for params, _ in HANDSHAKES.values()),
    ],
)
def test_acp_is_not_called_otherwise(params: dict[str, Any]) -> None:
    """`check` does not call ACP another protocol, even if `initialize` has a wrong version."""
    assert note_of(params) is None


@given(st.dictionaries(st.sampled_from([*MCP, *LSP]), st.none() | st.integers() | st.text()))
def test_any_values_are_read(params: dict[str, Any]) -> None:
    """When `check` looks for another protocol, no value of `initialize` makes it raise an error."""
    note_of(params)


def test_a_check_says_that_it_is_another_protocol() -> None:
    """If a recording is of MCP and not of ACP, the first note of `check` says so."""
    result = check_lines([f"-> #0 initialize {json.dumps(MCP)}"])
    assert result.notes[0] == note_of(MCP)
    assert check_lines(['-> #0 initialize {"protocolVersion": 1}']).notes == []
