"""The tables of states are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.states import CALLS, PHASES, SESSIONS, TERMINALS, TURNS
from acp_proxy.protocol.updates import FINAL, RUNNING

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize("table", [PHASES, SESSIONS, TURNS, TERMINALS])
def test_each_state_has_a_row(table: Mapping[Any, Mapping[Any, Any]]) -> None:
    """Also one in which nothing may happen any more."""
    kind: Any = type(next(iter(table)))
    assert set(table) == {*kind}
    assert all(isinstance(after, kind) for row in table.values() for after in row.values())


def test_each_status_of_a_tool_call_has_a_row() -> None:
    """A final status stays."""
    assert set(CALLS) == {*RUNNING, *FINAL}
    assert all(CALLS[status] == {status} for status in FINAL)
