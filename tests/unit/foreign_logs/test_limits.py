"""What readers of foreign logs refuse, and what they read of text that is nearly JSON or Lisp."""

from __future__ import annotations

import io
import json
import time
import tracemalloc
from typing import Any

import pytest

from acp_proxy.conformance.methods import METHODS
from acp_proxy.foreign_logs import agent_shell, lines, splitting, values
from acp_proxy.foreign_logs.directions import DirectionFinder, direction_of_method
from acp_proxy.foreign_logs.json_text import read_message
from acp_proxy.foreign_logs.s_expressions import NotLisp, read_expression
from acp_proxy.foreign_logs.sources import source_named
from acp_proxy.foreign_logs.times import Clock, read_epoch, read_stamp
from acp_proxy.foreign_logs.values import (
    Facts,
    LoggedLine,
    Remark,
    RemarkKind,
    Repaired,
    UnreadLines,
)
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.peers import Stream
from tests.foreign_entries import bad, messages, read, read_as
from tests.foreign_logs import TO_CLIENT, WRITERS, Sent

LONG = b'{"jsonrpc":"2.0","method":"session/update","params":{"text":"' + b"a" * 3000 + b'"}}'
SHORT = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "toad"])
def test_what_is_too_long_is_never_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one error with its lines, and what follows it is read."""
    for module in (values, splitting, agent_shell, lines):
        monkeypatch.setattr(module, "LONGEST", 2000)
    writer = WRITERS[name]
    text = writer.write([Sent(TO_CLIENT, SHORT), Sent(TO_CLIENT, LONG), Sent(TO_CLIENT, SHORT)])
    file = io.BytesIO(text.encode())
    entries = list(
        source_named(writer.format).read(iter(lambda: file.readline(512), b""), text.encode())
    )
    found = [entry for entry in entries if isinstance(entry, LoggedLine | UnreadLines)]
    kinds = [type(entry) for entry in found]
    assert [kinds[0], kinds[-1]] == [LoggedLine] * 2
    assert set(kinds[1:-1]) == {UnreadLines}


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_long_text_between_messages_is_no_blank_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted once, with its own line alone."""
    monkeypatch.setattr(splitting, "LONGEST", 2000)
    message = WRITERS[name if name == "zed" else f"{name}-lines"].write([Sent(TO_CLIENT, SHORT)])
    text = "x" * 3000 + "\n" + message.rstrip("\n") + "\n" + "y" * 3000 + "\n"
    entries = read_as(name, text)
    long = [one for one in entries if isinstance(one, Remark) and one.kind is RemarkKind.REMARK]
    last = text.count("\n")
    assert [(one.first, one.last) for one in long if one.first in (1, last)] == [
        (1, 1),
        (last,) * 2,
    ]
    assert [one.raw for one in messages(entries)] == [SHORT]


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_quotation_marks_in_words_are_read_once(name: str) -> None:
    """A line of forty thousand took seconds, and a megabyte hours."""
    before = time.process_time()
    read_as(name, '\\"' * 20_000 + "\n")
    assert time.process_time() - before < 1


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_command_of_an_export_is_read_beside_its_messages(
    indent: int | None, mark: str
) -> None:
    """However it is laid out, and however many messages it has."""
    export = json.loads(WRITERS["acp-devtools"].write([Sent(TO_CLIENT, SHORT)] * 3))
    entries = read_as("acp-devtools", mark + json.dumps(export, indent=indent))
    found = [one.command for one in entries if isinstance(one, Facts)]
    assert found == [("npx", "-y", "an agent")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"{'a': None, 'b': [True, 'x\\x41'], 'c': {}}", b'{"a":null,"b":[true,"xA"],"c":{}}'),
        (b"{'a': '\\d'}", b'{"a":"\\\\d"}'),
        (b'{"a": 1.0,\r\n "b": [1e400,\t"x  y"]}', b'{"a":1.0,"b":[1e400,"x  y"]}'),
        (b'{"a":"b\tc"}', b'{"a":"b\\u0009c"}'),
        (b'{"a":[1,2,],},', b'{"a":[1,2]}'),
        (b'{"a":12345678901234567890123}', b'{"a":12345678901234567890123}'),
        (b'{"a":{...},"b":...}', b'{"a":{"...":"..."},"b":"..."}'),
        (b"{'a': (1, 2)}", None),
        (b"{'a': b'x'}", None),
        (b"{'a': __import__('os')}", None),
        (b"{'a': " * 100 + b"1" + b"}" * 100, None),
        (b"{'a': 1e999}", None),
        (b'{"a":"b', None),
        (b'"a"', None),
        (b'{"a":\xff}', None),
    ],
)  # fmt: skip
def test_json_is_read_as_it_is_spelled(text: bytes, expected: bytes | None) -> None:
    """Only blanks go, and what Python or a person has written becomes JSON; nothing is run."""
    found = read_message(text, repairs=True)
    assert (found and found.raw) == expected
    assert found is None or found.is_elided == (b"..." in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"a\"b\\c\n\t\e\x41\ \u00e9\101"', 'a"b\\c\n\t\x1bA\u00e9A'),
        ("-12", -12),
        ("1.5e3", 1500.0),
        ("9" * 4200, int("9" * 4200)),
        ("[1 [2] ()]", None),
    ],
)
def test_lisp_is_read_as_emacs_prints_it(text: str, expected: Any) -> None:
    """Strings with escapes, numbers, vectors."""
    found = read_expression(text)
    assert isinstance(found, tuple) if expected is None else found == expected


@pytest.mark.parametrize(
    "text",
    ["", ")", "(a", "(a . b c)", '"a', "a b", "#1#", "(" * 5000, "9" * 5000, "[#1=" * 500, "1e999"],
)
def test_what_is_not_lisp_is_refused(text: str) -> None:
    """With one error, however deep or long."""
    with pytest.raises(NotLisp):
        read_expression(text)


def test_values_that_are_named_are_read_again_within_limits() -> None:
    """A few lines cannot become a billion values."""
    text = (
        b"(((:direction . incoming) (:object (a . #1=((b . 1))) (c . #1#)))\n"
        b" ((:direction . incoming) (:object (d . #1#) 'x (function . [#'f])))\n"
        b" ((:direction . incoming) (:object (d . #1#) (quote (e . 2)))))\n"
    )
    entries = list(agent_shell.SOURCE.read(io.BytesIO(text), text))
    found = [json.loads(one.raw) for one in entries if isinstance(one, LoggedLine)]
    shared = {"b": 1}
    assert found == [{"a": shared, "c": shared}, {"d": shared, "quote": {"e": 2}}]
    assert [entry.first for entry in entries if isinstance(entry, UnreadLines)] == [2]
    laughs = "".join(f"[#{n}=[#{n - 1}# #{n - 1}#] " for n in range(2, 60))
    with pytest.raises(NotLisp, match="too large"):
        read_expression(f"[#1=[1 1] {laughs}{']' * 59}")
    with pytest.raises(NotLisp, match="too large"):
        read_expression(f'[#1="{"x" * 100_000}" {"#1# " * 1000}]')


def test_lisp_that_emacs_on_windows_has_saved() -> None:
    """A byte order mark is no part of it, and half of a surrogate pair stays its escape."""
    text = '\ufeff(((:direction . incoming) (:object (id . "\\ud800"))))'
    name, entries = read(text)
    assert name == "agent-shell"
    assert [one.raw for one in messages(entries)] == [b'{"id":"\\ud800"}']


def test_times_are_read() -> None:
    """With and without date, zone and fractions; midnight passes; what is no time is none."""
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
    times = [read_epoch(text) for text in (b"1767323045.5", b"1767323045500", b"1767323045500000")]
    assert [time and time.ns for time in times] == [1767323045500000000] * 3
    assert read_epoch(b"17") is read_epoch(b"9" * 19) is None


@pytest.mark.parametrize(
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
    """As clocks of twelve hours write them."""
    stamp = read_stamp(text.encode())
    assert (stamp and stamp.ns) == (None if hour is None else (hour * 3600 + 4 * 60 + 5) * 10**9)


def test_methods_tell_who_sends_them() -> None:
    """As the table of the protocol has it, but for what both may send and the draft's exception."""
    for dialect, methods in METHODS.items():
        for direction, method in methods:
            both = {other for other, name in methods if name == method}
            if len(both) == 1 and not (dialect == DRAFT and method == "terminal/output"):
                assert direction_of_method(method) is Stream(direction), method


@pytest.mark.parametrize("name", ["zed", "acp-devtools"])
def test_messages_in_brackets_of_somebodys_words_are_named(name: str) -> None:
    """Messages there are not read, and they are not counted as other text."""
    message = WRITERS[name if name == "zed" else f"{name}-lines"].write([Sent(TO_CLIENT, SHORT)])
    entries = read_as(name, f"{message}\nand then [it hung\n{message}\n")
    assert [one.raw for one in messages(entries)] == [SHORT]
    assert len(bad(entries)) == 1


def test_long_ids_of_open_requests_are_not_kept() -> None:
    """Each may be as long as a line, and ten thousand may be open."""
    finder = DirectionFinder()
    finder.find({"id": "warm up", "method": "session/prompt"})
    long = "x" * 100_000
    tracemalloc.start()
    try:
        for number in range(30):
            finder.find({"id": f"{long}{number}", "method": "fs/read_text_file"})
        assert tracemalloc.get_traced_memory()[0] < len(long)
    finally:
        tracemalloc.stop()
    assert finder.find({"id": f"{long}7", "result": {}}) is Stream.TO_AGENT


def test_several_copies_of_zed_have_a_gap() -> None:
    """And a newline within a string is a newline, as an editor may have wrapped it."""
    row = '{"_direction":"incoming","_type":"notification","method":"m","params":"a\nb"}'
    text = f"[\n{row}\n]\n[\n{row},\n{row}\n]\n".encode()
    entries = list(source_named("zed").read(io.BytesIO(text), text))
    raws = [one.raw for one in entries if isinstance(one, LoggedLine)]
    assert [json.loads(raw)["params"] for raw in raws] == ["a\nb"] * 3
    kinds = [entry.kind for entry in entries if isinstance(entry, Remark)]
    assert kinds.count(RemarkKind.ELISION) == 1
    assert not any(isinstance(entry, Repaired) for entry in entries)
