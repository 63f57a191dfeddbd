"""JSON is read in its original spelling, even if it is cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.protocol.json_text import (
    Member,
    json_or_none,
    json_or_text,
    members,
    parse_beginning,
    parse_or_begin,
    storable,
    tokens,
)
from tests.support.cases import each_case


@each_case(
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
def test_open_brackets_and_strings_are_closed(head: str, value: Any) -> None:
    """If JSON is cut off, acp-proxy still reads its beginning, even within a string."""
    assert parse_beginning(head.encode()) == value


def test_half_of_a_character_is_dropped() -> None:
    """If cut-off JSON ends within a character, acp-proxy reads it without this character."""
    assert parse_beginning('{"a": "né'.encode()[:-1]) == {"a": "n"}


@pytest.mark.parametrize("head", ["", "words", "}", "]]", ":", "\x00{", '{"a": 12abc, "b": "'])
def test_a_beginning_that_cannot_be_repaired_is_none(head: str) -> None:
    """acp-proxy reads no value from a text that is not the beginning of JSON."""
    with pytest.raises(json.JSONDecodeError):
        parse_beginning(head.encode())
    assert parse_or_begin(head.encode(), 100) is None


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a": NaN}', "nan"),
        (b'{"a": "\\ud83d"}', "\ud83d"),
        (b'{"a": 123456789012345678901234567890}', 123456789012345678901234567890),
    ],
)
def test_lines_that_msgspec_refuses_are_parsed(raw: bytes, value: Any) -> None:
    """acp-proxy reads even JSON with NaN or half a surrogate pair, which msgspec refuses."""
    parsed = json_or_none(raw)["a"]
    assert str(parsed) == value if value == "nan" else parsed == value


@pytest.mark.parametrize("raw", [b"words", b"", b"\xff", b"[" * 100_000])
def test_a_line_that_is_not_json_is_none_or_its_text(raw: bytes) -> None:
    """acp-proxy reads no value in a line that is not JSON, and `diff` compares the line as text."""
    assert json_or_none(raw) is None
    assert json_or_text(raw) == raw.decode(errors="surrogateescape")


def test_members_have_their_character_ranges() -> None:
    """acp-proxy finds the name of each member of a JSON object, and the range of its value."""
    text = ' { "a" : [1, {"b": 2}] , "\\u0063":1e3 } '
    spans = list(members(text))
    assert [(key, text[start:end]) for key, start, end in spans] == [
        ("a", '[1, {"b": 2}]'),
        ("c", "1e3"),
    ]
    assert [text[start:end] for _, start, end in members(text, spans[0].start)] == [
        "1",
        '{"b": 2}',
    ]
    assert list(members("7")) == []


def test_a_number_of_any_length_is_passed_over() -> None:
    """acp-proxy can find the members of JSON that contains an integer of any length."""
    assert list(members(f"[{'9' * 10_000}]")) == [Member("*", 1, 10_001)]


def test_an_unfinished_token_is_not_whole() -> None:
    """If JSON is cut off within a string or a number, `tokens` marks this token as not whole."""
    assert [token.is_whole for token in tokens(b'{"a": 1, "b')] == [True] * 5 + [False]
    assert [token.is_whole for token in tokens(b"[1")] == [True, False]


def test_a_lone_surrogate_can_be_stored_as_its_escape() -> None:
    """acp-proxy stores half a surrogate pair in a text as the escape of this half."""
    assert storable("a\ud83d") == "a\\ud83d"
    assert json.dumps(storable("é")) == '"\\u00e9"'
