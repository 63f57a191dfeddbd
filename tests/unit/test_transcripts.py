"""The scenarios of the tests are read correctly."""

from __future__ import annotations

import json

import pytest

from tests.support.labelled_transcripts import check, frame


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#0 initialize", {"id": 0, "method": "initialize"}),
        ('#"a" x {"b": [1]}', {"id": "a", "method": "x", "params": {"b": [1]}}),
        ("session/cancel", {"method": "session/cancel"}),
        ('session/cancel {"s": 1}', {"method": "session/cancel", "params": {"s": 1}}),
        ("#1 result null", {"id": 1, "result": None}),
        ('#1 error {"code": 2}', {"id": 1, "error": {"code": 2}}),
        ("error {}", {"error": {}}),
    ],
)
def test_messages_are_written_short(text: str, message: dict[str, object]) -> None:
    """In the tests' scenarios, `#0 initialize` is short for a JSON-RPC request with the id 0."""
    assert json.loads(frame(text)) == {"jsonrpc": "2.0", **message}


def test_other_labels_fail() -> None:
    """A scenario of the tests fails if a label of a frame, such as its exchange, is different."""
    with pytest.raises(AssertionError, match="exchange 1"):
        check("""
            -> #0 initialize
               initialize, exchange 2
        """)


def test_missing_labels_fail() -> None:
    """A scenario of the tests fails if it gives no labels for a frame, not even `nothing`."""
    check("-> {}\n nothing")
    with pytest.raises(AssertionError):
        check("-> {}")
