"""Tests the size limits of `import`, and how it reads times, directions and commands."""

from __future__ import annotations

import io
import json
import time
import tracemalloc

import pytest

from acp_proxy.check.methods import METHODS
from acp_proxy.imports import embedded_json, log_entries, message_lines
from acp_proxy.imports.connections import DirectionFinder, direction_of_method
from acp_proxy.imports.embedded_json import read_message
from acp_proxy.imports.headings import Clock, read_stamp
from acp_proxy.imports.log_entries import (
    Facts,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.imports.log_formats import source_named
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.jsonrpc import Stream
from tests.support.cases import each_case
from tests.support.foreign_log_entries import bad, messages, read_as
from tests.support.foreign_log_writers import TO_CLIENT, WRITERS, Sent

LONG = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"' + b"a" * 3000 + b'"}}'
SHORT = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'


@pytest.mark.parametrize("name", WRITERS)
def test_a_message_that_is_too_long_is_skipped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a message in an imported log is too long, `import` still reads the next lines."""
    for module in (log_entries, embedded_json, message_lines):
        monkeypatch.setattr(module, "LONGEST", 2000)
    writer = WRITERS[name]
    text = writer.write([Sent(TO_CLIENT, SHORT), Sent(TO_CLIENT, LONG), Sent(TO_CLIENT, SHORT)])
    file = io.BytesIO(text.encode())
    entries = list(
        source_named(writer.format).read(iter(lambda: file.readline(512), b""), text.encode())
    )
    lines = [entry for entry in entries if isinstance(entry, LoggedLine | UnreadLines)]
    kinds = [type(entry) for entry in lines]
    assert [kinds[0], kinds[-1]] == [LoggedLine] * 2
    assert set(kinds[1:-1]) == {UnreadLines}


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_long_text_between_messages_gets_one_remark(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a very long line is between two messages of an imported log, `import` makes one remark."""
    monkeypatch.setattr(embedded_json, "LONGEST", 2000)
    message = WRITERS[name if name == "zed" else f"{name}-lines"].write([Sent(TO_CLIENT, SHORT)])
    text = "x" * 3000 + "\n" + message.rstrip("\n") + "\n" + "y" * 3000 + "\n"
    entries = read_as(name, text)
    long = [
        entry for entry in entries if isinstance(entry, Remark) and entry.kind is RemarkKind.REMARK
    ]
    last = text.count("\n")
    assert [(entry.first, entry.last) for entry in long if entry.first in (1, last)] == [
        (1, 1),
        (last,) * 2,
    ]
    assert [entry.raw for entry in messages(entries)] == [SHORT]


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_quotation_marks_in_words_are_read_once(name: str) -> None:
    """`import` reads a line with many quotation marks in linear time."""
    before = time.process_time()
    read_as(name, '\\"' * 20_000 + "\n")
    assert time.process_time() - before < 1


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_command_of_an_export_is_read_beside_its_messages(
    indent: int | None, mark: str
) -> None:
    """`import` finds the agent's command in an export of acp-devtools, indented or not."""
    export = json.loads(WRITERS["acp-devtools"].write([Sent(TO_CLIENT, SHORT)] * 3))
    entries = read_as("acp-devtools", mark + json.dumps(export, indent=indent))
    commands = [item.command for item in entries if isinstance(item, Facts)]
    assert commands == [("npx", "-y", "an agent")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a": 1.0,\r\n "b": [1e400,\t"x  y"]}', b'{"a":1.0,"b":[1e400,"x  y"]}'),
        (b' {"a": [1, 2]} ', b'{"a": [1, 2]}'),
        (b'{"a":12345678901234567890123}', b'{"a":12345678901234567890123}'),
        (b'{"a":[1,2,]}', None),
        (b'{"a":"b', None),
        (b'"a"', None),
        (b'{"a":\xff}', None),
    ],
)
def test_json_is_read_as_it_is_spelled(text: bytes, expected: bytes | None) -> None:
    """If `import` joins JSON of several lines to a message, it changes nothing but white space."""
    read = read_message(text)
    assert (read and read.raw) == expected


def test_times_are_read() -> None:
    """`import` reads times with and without a date."""
    stamp = read_stamp(b"x 2026-01-02 03:04:05,678 y")
    assert stamp is not None
    assert stamp == (1767323045678000000, True, False)
    assert read_stamp(b"[2026-01-02T05:04:05.678+02:00]") == (1767323045678000000, True, True)
    assert read_stamp(b"99:99:99 2026-13-45T00:00:00Z") is None
    clock = Clock()
    first, second = read_stamp(b"23:59:59.5"), read_stamp(b"00:00:00.5")
    assert first is not None
    assert second is not None
    assert clock.time(first) == first.ns
    assert clock.time(second) == first.ns + 10**9
    assert clock.time(stamp) is None
    assert Clock().time(stamp) == stamp.ns


@each_case(
    ("text", "hour"),
    [
        ("[3:04:05 PM] →", 15),
        ("03:04:05.000 am", 3),
        ("12:04:05\u202fAM", 0),
        ("1/2/2026, 12:04:05 PM", 12),
        ("13:04:05 PM", 13),
        ("03:04:05 amber", 3),
        ("took 3:04:05", None),
        ("123:04:05", None),
    ],
)
def test_hours_before_and_after_noon_are_told_apart(text: str, hour: int | None) -> None:
    """`import` reads times of day with AM and PM."""
    stamp = read_stamp(text.encode())
    assert (stamp and stamp.ns) == (None if hour is None else (hour * 3600 + 4 * 60 + 5) * 10**9)


def test_methods_tell_who_sends_them() -> None:
    """If a method may be sent by only one peer, `import` infers the direction from the method."""
    for dialect, methods in METHODS.items():
        for direction, method in methods:
            both = {other for other, name in methods if name == method}
            if len(both) == 1 and not (dialect == DRAFT and method == "terminal/output"):
                assert direction_of_method(method) is Stream(direction), method


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_messages_in_brackets_of_somebodys_words_are_named(name: str) -> None:
    """If words in a log open a bracket and never close it, `import` reports the lines as unread."""
    message = WRITERS[name if name == "zed" else f"{name}-lines"].write([Sent(TO_CLIENT, SHORT)])
    entries = read_as(name, f"{message}\nand then [it hung\n{message}\n")
    assert [line.raw for line in messages(entries)] == [SHORT]
    assert len(bad(entries)) == 1


def test_long_ids_of_open_requests_are_not_kept() -> None:
    """If a request id is very long, `import` keeps a hash in place of the id, to save memory."""
    finder = DirectionFinder()
    finder.note({"id": "warm up", "method": "session/prompt"}, Stream.TO_AGENT)
    long = "x" * 100_000
    tracemalloc.start()
    try:
        for number in range(30):
            request = {"id": f"{long}{number}", "method": "fs/read_text_file"}
            finder.note(request, Stream.TO_CLIENT)
        assert tracemalloc.get_traced_memory()[0] < 2 * len(long)
    finally:
        tracemalloc.stop()
    assert finder.find({"id": f"{long}7", "result": {}}) is Stream.TO_AGENT


def test_several_copies_of_zed_have_a_gap() -> None:
    """If a log copied from Zed has two JSON arrays, `import` notes a gap between them."""
    row = '{"_direction":"incoming","_type":"notification","method":"m","params":"a"}'
    text = f"[\n{row}\n]\n[\n{row},\n{row}\n]\n".encode()
    entries = list(source_named("zed").read(io.BytesIO(text), text))
    assert len([*messages(entries)]) == 3
    kinds = [entry.kind for entry in entries if isinstance(entry, Remark)]
    assert kinds.count(RemarkKind.GAP) == 1
