"""The indexer reads the state that an earlier version of acp-proxy has stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from acp_proxy.protocol.connection_state import Terminal
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.store.indexing.indexer_state import load_state
from tests.support.indexed_rows import empty_database


def exchange(number: int, method: str) -> dict[str, Any]:
    """Returns an open request as version 0.1 stored it."""
    return {
        "id": number, "direction": "to-agent", "method": method, "rpc_id": str(number),
        "session": None, "request_seq": number, "request_ns": 1000, "response_seq": None,
        "latency_ns": None, "outcome": "unanswered", "turn": None, "tool_call": None,
        "terminal": None, "cancelled": False,
    }  # fmt: skip


def stored(*methods: str, settled: bool) -> dict[str, Any]:
    """Returns a state as version 0.1 stored it, with some open requests."""
    asked = {str(n): [exchange(n, method)] for n, method in enumerate(methods, 1)}
    turn = {
        "id": 1, "session": "a", "prompt_seq": 2, "prompt_ns": 2000, "end_seq": None,
        "stop_reason": None, "updates": 1, "tool_calls": 1, "duration_ns": None, "seen": ["c"],
    }  # fmt: skip
    correlation = {
        "next_exchange": 4, "next_turn": 2, "open": {"to-agent": asked, "to-client": {}},
        "turns": {"a": [turn]},
        "handshake": {"dialect": "draft-1.0", "dialect_reason": "forced by --dialect"},
        "params": {"protocolVersion": 1}, "forced": True, "settled": settled,
        "unnamed": {"directories": {"a": ["/a"]}, "opening": {}, "terminals": {"t": "a"}},
    }  # fmt: skip
    return {"offset": 100, "next_seq": 7, "correlation": correlation}


@pytest.mark.parametrize(
    ("methods", "settled"), [(["initialize"], False), (["session/prompt"], True)]
)
def test_a_state_of_version_0_1_is_read(methods: list[str], settled: bool) -> None:
    """An indexer continues from a state stored by version 0.1, with the open requests in it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(empty_database())
        values = (1, 100, json.dumps(stored(*methods, settled=settled)))
        connection.execute("INSERT OR REPLACE INTO main.indexing VALUES (?, ?, ?)", values)
        state = load_state(connection)
    connected = state.correlation
    assert state.offset == 100
    assert connected.terminals == {"t": Terminal("a")}
    assert connected.unnamed.directories == {"a": ["/a"]}
    assert connected.turns["a"][0].counted == {"c"}
    assert [e.method for open_ in connected.open[Direction.TO_AGENT].values() for e in open_] == (
        methods
    )
