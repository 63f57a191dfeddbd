"""JSON in many lines says what was sent, whatever that is, and comes to an end."""

from __future__ import annotations

import base64
import json

import pytest

from acp_proxy.inspection.highlight import TokenKind, pretty


def shown(raw: bytes, *, elide: bool = False) -> str:
    """All lines, without their colours."""
    return "\n".join("".join(text for _, text in line) for line in pretty(raw, elide=elide))


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        0,
        "a",
        None,
        {"a": {}, "b": [], "c": [1, [2, {"d": None}]], "e": {"f": True, "g": "x\ny\t\"z\\"}},
        [{"a": 1}, {"b": -1.5e30}],
        [[[[]]], {"": ""}],
        {"你好": "é😀"},
    ],
)  # fmt: skip
def test_it_looks_as_json_does_everywhere(value: object) -> None:
    """Lines and indents are those of Python's own."""
    expected = json.dumps(value, indent=2, ensure_ascii=False)
    assert shown(json.dumps(value, ensure_ascii=False).encode()) == expected
    assert shown(json.dumps(value, ensure_ascii=False, indent=7).encode()) == expected


def test_nothing_is_rewritten() -> None:
    """Numbers keep their digits, strings their escapes, and a name may stand twice."""
    raw = rb'{"a":1.0,"a":1E+2,"n":123456789012345678901234567890,"s":"\/\n\\u00e9"}'
    assert shown(raw).replace("\n  ", "").replace("\n", "").replace(": ", ":").encode() == raw


def test_letters_are_written_out() -> None:
    """A letter that was sent as a number can be read; what commands or is half of one cannot."""
    raw = rb'["\u4f60\u00e9\ud83d\ude00","\u001b[2J\u202e\ud83d","\\u4f60","\u0022"]'
    assert (
        shown(raw)
        == "\n".join(
            [
                "[",
                '  "你é😀",',
                r'  "\u001b[2J\u202e\ud83d",',
                r'  "\\u4f60",',
                r'  "\u0022"',
                "]",
            ]
        )
    )  # fmt: skip


def test_each_piece_has_its_role() -> None:
    """A name is told from a text, and words and numbers from both."""
    lines = list(pretty(b'{"a":["b",1,true]}'))
    roles = [(text, role) for line in lines for role, text in line if role is not TokenKind.SPACE]
    assert roles == [
        ("{", TokenKind.SIGN),
        ('"a"', TokenKind.KEY),
        (": ", TokenKind.SIGN),
        ("[", TokenKind.SIGN),
        ('"b"', TokenKind.STRING),
        (",", TokenKind.SIGN),
        ("1", TokenKind.NUMBER),
        (",", TokenKind.SIGN),
        ("true", TokenKind.WORD),
        ("]", TokenKind.SIGN),
        ("}", TokenKind.SIGN),
    ]


def test_base64_is_told_by_its_size_where_that_is_asked_for() -> None:
    """Nobody reads an image's data; a text with blanks, or a short one, stays."""
    data = base64.b64encode(bytes(3000)).decode()
    words = "word " * 100
    raw = json.dumps({"data": data, "text": words, "short": data[:100]}).encode()
    assert data in shown(raw)
    elided = shown(raw, elide=True)
    assert f'"data": "{data[:31]}… base64 of 3.0 kB,' in elided
    assert words in elided
    assert data[:100] in elided


@pytest.mark.parametrize(
    "raw",
    [
        b"not json",
        b'{"a": 1} trailing',
        b'{"a": "unfinished',
        b'{"a": \x1b[2J}',
        b"}}}",
        b"",
        b'{"a": "\xff\xc2\x9b"}',
        "[1,\u009b2J]".encode(),
    ],
)
def test_what_is_no_json_is_written_as_it_is(raw: bytes) -> None:
    """Nothing is left out, and nothing of it could command a terminal."""
    text = shown(raw)
    assert all(line.isprintable() for line in text.split("\n"))
    kept = raw.decode(errors="backslashreplace").translate({ord(" "): None})
    visible = "".join(c if c.isprintable() else repr(c)[1:-1] for c in kept)
    assert text.translate({ord(" "): None, ord("\n"): None}) == visible


def test_a_huge_message_is_cut() -> None:
    """A note says how large all of it is; what stands before it is the beginning."""
    raw = b'{"a":"' + b"x" * 3_000_000 + b'","b":[' + b"1," * 3_000_000 + b"1]}"
    text = shown(raw)
    assert text.startswith('{\n  "a": "xxx')
    assert text.endswith("x… cut: all of it is 9.0 MB")
    assert len(text) < 1_100_000
    assert '"b"' in shown(raw.replace(b"x" * 3_000_000, b"A" * 3_000_000), elide=True)


def test_nesting_without_end_is_cut() -> None:
    """A message nested a hundred thousand deep takes no more room than any other."""
    text = shown(b"[" * 100_000 + b"]" * 100_000)
    assert len(text) < 1_200_000
    assert "… cut" in text
