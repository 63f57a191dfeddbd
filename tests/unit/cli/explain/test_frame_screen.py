"""`log --seq` shows a line as indented JSON, as unfolded texts, and as bytes in hex."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.cli.explain.frame_screen import hex_view, pretty, unfolded
from acp_proxy.cli.screens.styled_text import Ink
from tests.support.cases import each_case
from tests.support.command_line import run
from tests.support.log_writer import LogWriter, handshake, line, request, result, text, update

if TYPE_CHECKING:
    from pathlib import Path


def shown(raw: bytes, *, elide: bool = False) -> str:
    """Returns the lines that `log --seq` prints for a message, without colours."""
    return "\n".join("".join(text for text, _, _ in line) for line in pretty(raw, elide=elide))


@each_case(
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
def test_the_layout_is_that_of_python(value: object) -> None:
    """`log --seq` indents a message as Python's json module does."""
    expected = json.dumps(value, indent=2, ensure_ascii=False)
    assert shown(json.dumps(value, ensure_ascii=False).encode()) == expected
    assert shown(json.dumps(value, ensure_ascii=False, indent=7).encode()) == expected


def test_values_are_not_changed() -> None:
    """`log --seq` prints numbers with all recorded digits."""
    raw = rb'{"a":1.0,"a":1E+2,"n":123456789012345678901234567890,"s":"\/\n\\u00e9"}'
    assert shown(raw).replace("\n  ", "").replace("\n", "").replace(": ", ":").encode() == raw


def test_escaped_letters_are_written_out() -> None:
    """If the JSON of a message escapes letters, `log --seq` prints the letters themselves."""
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


def test_each_piece_has_its_colour() -> None:
    """`log --seq` prints JSON names, strings and numbers in different colours."""
    lines = list(pretty(b'{"a":["b",1,true]}'))
    inks = [(text, ink) for line in lines for text, ink, _ in line if text.strip()]
    assert inks == [
        ("{", None),
        ('"a"', Ink.TO_AGENT),
        (": ", None),
        ("[", None),
        ('"b"', Ink.TO_CLIENT),
        (",", None),
        ("1", Ink.STDERR),
        (",", None),
        ("true", Ink.PERMISSION),
        ("]", None),
        ("}", None),
    ]


def test_base64_is_replaced_by_its_size_on_request() -> None:
    """On a terminal, `log --seq` prints long base64 cut, with its size, and other text whole."""
    data = base64.b64encode(bytes(3000)).decode()
    words = "word " * 100
    raw = json.dumps({"data": data, "text": words, "short": data[:100]}).encode()
    assert data in shown(raw)
    elided = shown(raw, elide=True)
    assert f'"data": "{data[:31]}… base64 of 3.0 kB,' in elided
    assert words in elided
    assert data[:100] in elided


@each_case(
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
def test_invalid_json_is_written_as_it_is(raw: bytes) -> None:
    """`log --seq` prints invalid JSON unchanged, except for control characters."""
    text = shown(raw)
    assert all(line.isprintable() for line in text.split("\n"))
    kept = raw.decode(errors="backslashreplace").translate({ord(" "): None})
    visible = "".join(c if c.isprintable() else repr(c)[1:-1] for c in kept)
    assert text.translate({ord(" "): None, ord("\n"): None}) == visible


def test_a_huge_message_is_cut() -> None:
    """`log --seq` cuts a huge message, and says how large the whole message is."""
    raw = b'{"a":"' + b"x" * 3_000_000 + b'","b":[' + b"1," * 3_000_000 + b"1]}"
    text = shown(raw)
    assert text.startswith('{\n  "a": "xxx')
    assert text.endswith("x… cut: the whole has 9.0 MB")
    assert len(text) < 1_100_000
    assert '"b"' in shown(raw.replace(b"x" * 3_000_000, b"A" * 3_000_000), elide=True)


def test_deep_nesting_is_cut() -> None:
    """`log --seq` cuts the indented form of 100,000 nested arrays to less than 1.2 MB."""
    text = shown(b"[" * 100_000 + b"]" * 100_000)
    assert len(text) < 1_200_000
    assert "… cut" in text


# Unfolded texts


def texts(message: Any) -> list[tuple[str, list[str]]]:
    """Returns the unfolded texts of a message."""
    return list(unfolded(json.dumps(message).encode()))


def test_a_plan_has_a_line_for_each_entry() -> None:
    """`log --seq` shows each entry of an agent's plan on a line with its status, in any dialect."""
    entries = [
        {"content": "Look", "priority": "high", "status": "completed"},
        {"content": "Edit", "status": "in_progress"},
    ]
    assert texts(update("s", "plan", entries=entries)) == [("plan", ["✓ Look (high)", "▸ Edit"])]
    data = {"planId": "p", "steps": [{"id": "1", "description": "Wait", "status": "pending"}]}
    message = {"params": {"sessionId": "s", "type": "plan", "data": data}}
    assert texts(message) == [("plan", ["· Wait"])]


def test_a_diff_has_the_lines_that_changed() -> None:
    """`log --seq` shows a diff in a message as changed lines, not as two whole texts."""
    diff = {"type": "diff", "path": "/a.py", "oldText": "x\ny\nz\n", "newText": "x\nY\nz\n"}
    assert texts(update("s", "tool_call", toolCallId="c", content=[diff])) == [
        ("/params/update/content/0 /a.py", ["@@ -1,3 +1,3 @@", " x", "-y", "+Y", " z"])
    ]


def test_a_file_has_its_lines(tmp_path: Path) -> None:
    """`log --seq` repeats a text of several lines below the message, after its JSON pointer."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        written = {"sessionId": "s", "path": "/a", "content": "one\n\x1b[2Jtwo\n"}
        recorder.to_client(request(1, "fs/write_text_file", **written))
    out = run("inspect", "log", "--seq", "4", recorder.path).stdout
    assert out.endswith("\n\n/params/content:\n  one\n  \\x1b[2Jtwo\n")


def test_a_long_line_is_wrapped() -> None:
    """`log --seq` wraps a long line between words."""
    said = "word " * 60 + "end"
    ((place, lines),) = texts(update("s", "agent_message_chunk", content=text(said)))
    assert place == "/params/update/content/text"
    assert max(map(len, lines)) <= 100
    assert " ".join(lines) == said
    assert texts(update("s", "agent_message_chunk", content=text("x" * 900))) == []


def test_only_newlines_end_a_line() -> None:
    """`log --seq` treats only newlines as the ends of a text's lines."""
    assert texts({"result": {"content": "a\tb\u2028c\r\nd\r\n\n"}}) == [
        ("/result/content", ["a       b\u2028c", "d", ""])
    ]


def test_the_output_of_a_terminal_is_decoded() -> None:
    """In v2, `log --seq` decodes the base64 of terminal output."""
    data = base64.b64encode("3 passed…\n1 failed\n".encode()).decode()
    chunk = update("s", "terminal_output_chunk", terminalId="t", data=data)
    assert texts(chunk) == [("/params/update/data", ["3 passed…", "1 failed"])]
    whole = update("s", "terminal_update", terminalId="t", output={"data": data})
    assert texts(whole) == [("/params/update/output/data", ["3 passed…", "1 failed"])]
    assert texts(update("s", "terminal_output_chunk", data="no base64")) == []
    assert texts(update("s", "other", data=data)) == []


def test_the_answer_is_unfolded_as_well(tmp_path: Path) -> None:
    """`log --seq` of a request also prints the texts in its response."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(request(1, "fs/read_text_file", sessionId="s", path="/a"))  # 2
        recorder.to_agent(result(1, content="-one\n+two\n"))  # 3
        diff = {"type": "diff", "path": "/a", "oldText": "one\n", "newText": "two\n"}
        recorder.to_client(update("s", "tool_call", toolCallId="c", content=[diff]))  # 4
    shown = run("inspect", "log", recorder.path, "--seq", "2", FORCE_COLOR="1").stdout
    assert "/result/content:\x1b[0m\n  -one\n  +two\n" in shown
    changed = run("inspect", "log", recorder.path, "--seq", "4", FORCE_COLOR="1").stdout
    assert "m-one\x1b[0m\n" in changed
    assert "m+two\x1b[0m\n" in changed


def test_an_invalid_line_has_no_unfolded_texts() -> None:
    """If a line is invalid JSON, `log --seq` repeats no texts of several lines below it."""
    assert list(unfolded(b"not json")) == []
    assert list(unfolded(b"[" * 1000)) == []
    assert texts({"params": {"newText": 1, "update": [{"entries": "a\nb"}]}}) == [
        ("/params/update/0/entries", ["a", "b"])
    ]
    assert list(unfolded(line({"params": {"a~/b": "x\ny"}}))) == [("/params/a~0~1b", ["x", "y"])]


# Bytes in hex


def test_a_row_has_offset_bytes_and_ascii() -> None:
    """The hex view of `log --seq` shows offsets, bytes and ASCII."""
    assert list(hex_view(b"caf\xe9 \x1b[2J and more")) == [
        "00000000  63 61 66 e9 20 1b 5b 32 4a 20 61 6e 64 20 6d 6f  caf. .[2J and mo",
        "00000010  72 65                                            re",
    ]


@pytest.mark.parametrize("raw", [b"", b"text", "你好é😀".encode() * 3000])
def test_utf8_has_no_rows(raw: bytes) -> None:
    """If a frame is valid UTF-8, `log --seq` shows no hex view."""
    assert list(hex_view(raw)) == []


def test_only_rows_near_bad_bytes_are_shown() -> None:
    """The hex view of `log --seq` shows only invalid bytes and the bytes around them."""
    shown = list(hex_view(b"x" * 100_000 + b"\xff" + b"y" * 100_000))
    assert [row[:8] for row in shown] == ["…", "00018690", "000186a0", "000186b0", "…"]
    assert " ff 79 " in shown[2]


def test_the_number_of_rows_is_limited() -> None:
    """If a whole line is binary data, the hex view of `log --seq` shows only its first bytes."""
    shown = list(hex_view(b"\xff" * 1_000_000))
    assert len(shown) == 33
    assert shown[-1] == "…"


def test_half_a_character_at_the_end_is_found() -> None:
    """If a line ends within a UTF-8 character, `log --seq` shows a hex view."""
    assert list(hex_view("é".encode()[:1])) == [
        "00000000  c3                                               ."
    ]
