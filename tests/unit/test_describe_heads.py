"""The beginning of JSON becomes JSON by closing what is open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.inspection.describe.heads import completed


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ('{"a": [1, {"b": "some te', {"a": [1, {"b": "some te"}]}),
        ('{"a": [1, {"b": "text"', {"a": [1, {"b": "text"}]}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b"', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": 1, "b": tr', {"a": 1}),
        ('{"a": 1, "b": 12', {"a": 1}),
        ('{"a": 1, "b": 12,', {"a": 1, "b": 12}),
        ('{"a": 1, "b": {', {"a": 1, "b": {}}),
        ('{"a": [', {"a": []}),
        ('{"a": [],', {"a": []}),
        ("{", {}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u00', {"a": "x"}),
        ('{"a": "x\\\\', {"a": "x\\"}),
        ('{"a": "x\\"', {"a": 'x"'}),
        ('{"a": {"b": 1}, "c": "{[', {"a": {"b": 1}, "c": "{["}),
        ('["a", "b', ["a", "b"]),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_what_is_open_is_closed(head: str, value: Any) -> None:
    """A string is kept as far as it goes; what is not whole otherwise is dropped."""
    assert json.loads(completed(head)) == value


@pytest.mark.parametrize("head", ["", "words", "}", "]]", '"', ":", "\x00{"])
def test_what_never_was_json_does_not_raise(head: str) -> None:
    """Its answer need not be JSON either."""
    assert len(completed(head)) <= len(head) + 2
