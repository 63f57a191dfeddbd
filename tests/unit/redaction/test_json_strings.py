"""Masking finds the strings in a line of JSON, with their paths and offsets."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction import json_strings
from acp_proxy.redaction.json_strings import Decoded, StringWalk


def strings_in(*pieces: bytes) -> list[tuple[tuple[str, ...], str]]:
    """Returns the paths and texts of the strings in a line that is read in pieces."""
    return [(s.path, Decoded(s.raw).text) for s in StringWalk().strings(pieces)]


def leaves(value: object, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Yields the paths and texts of the strings in a parsed value."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item, (*path, "*"))]
    return [(path, value)] if isinstance(value, str) else []


def joined(text: str) -> str:
    """Returns a text in which the two halves of each surrogate pair are joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def map_joined(path: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the path with the halves of surrogate pairs in its keys joined."""
    return tuple(map(joined, path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(JSON, st.booleans(), st.integers(1, 40))
def test_all_strings_are_found(value: object, ascii_only: bool, size: int) -> None:
    """`StringWalk` finds all strings in a JSON line, with their paths, from chunks of any size."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    walk = StringWalk()
    pieces = [raw[n : n + size] for n in range(0, len(raw), size)]
    strings = [*walk.strings(pieces)]
    texts = [(map_joined(s.path), joined(Decoded(s.raw).text)) for s in strings]
    assert texts == leaves(value)
    assert all(raw[s.start : s.end] == s.raw for s in strings)
    assert walk.is_json


@given(st.text(st.characters(codec="utf-8")), st.booleans())
def test_characters_have_places(text: str, ascii_only: bool) -> None:
    """For each character of a JSON string, `Decoded.place` returns the offset of its first byte."""
    raw = json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1]
    decoded = Decoded(raw)
    places = [decoded.place(n) for n in range(len(decoded.text) + 1)]
    assert places[0] == 0
    assert places[-1] == len(raw)
    for n, char in enumerate(decoded.text):
        assert Decoded(raw[places[n] : places[n + 1]]).text == char


PIECES = [rb"\u00e9", rb"\u0000", rb"\ud83d", rb"\uDE00", rb"\\", rb"\"", rb"\n", rb"\x", rb"\u12",
          "é😀".encode(), b"\xff", b"ud83d", b"\n"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join))
def test_a_text_does_not_change_if_a_place_in_it_is_needed(raw: bytes) -> None:
    """Masking decodes any string to the same text, whether or not it needs places in the string."""
    decoded = Decoded(raw)
    text = decoded.text
    decoded.place(len(text))
    assert decoded.text == text


def test_repeated_names_are_all_found() -> None:
    """If a JSON object has two members of one name, masking finds both strings."""
    assert strings_in(b'{"a":"x","a":"y"}') == [(("a",), "x"), (("a",), "y")]


@pytest.mark.parametrize(
    "raw", [b"{'a': 'b'}", b'{"a":"b', b'{"a":"b"} rest', b"[x]", b'{"a":"b\\', b'{"a":NOPE}']
)
def test_invalid_json_is_noticed(raw: bytes) -> None:
    """If a line is not JSON, masking searches it as text."""
    walk = StringWalk()
    assert len([*walk.strings([raw])]) <= 2
    assert not walk.is_json


def test_a_long_string_comes_in_parts_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a JSON string is long, masking searches it in overlapping parts."""
    monkeypatch.setattr(json_strings, "WINDOW", 64)
    monkeypatch.setattr(json_strings, "OVERLAP", 16)
    raw = b'{"p":"' + b"ab\\n\\u0041" * 40 + b'","q":["z"]}'
    walk = StringWalk()
    strings = [*walk.strings([raw[n : n + 7] for n in range(0, len(raw), 7)])]
    parts = [s for s in strings if s.path == ("p",)]
    assert not any(s.is_whole for s in parts)
    assert all(raw[s.start : s.end] == s.raw for s in strings)
    assert parts[0].start == 6
    assert all(b.start <= a.end - 10 for a, b in itertools.pairwise(parts))
    assert all(Decoded(s.raw).text.strip("abA\n") == "" for s in parts)
    assert strings[-1][0] == ("q", "*")
    assert walk.is_json


def test_a_long_string_without_an_end_is_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a long JSON string has no end, masking reads it to its last byte."""
    monkeypatch.setattr(json_strings, "WINDOW", 64)
    monkeypatch.setattr(json_strings, "OVERLAP", 16)
    raw = b'{"p":"' + b"x" * 500
    walk = StringWalk()
    strings = [*walk.strings([raw])]
    assert strings[-1].end == len(raw)
    assert not walk.is_json
