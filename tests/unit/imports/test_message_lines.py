"""An import reads each line of a log as a message with time and direction, or an error."""

from __future__ import annotations

import json

import pytest

from acp_proxy.imports.connections import Sent, connections
from acp_proxy.imports.headings import read_heading
from acp_proxy.imports.log_entries import Remark, RemarkKind, UnreadLines
from tests.support.cases import each_case
from tests.support.foreign_log_entries import (
    ANSWER,
    INITIALIZE,
    UPDATE,
    bad,
    messages,
    read,
    read_as,
)
from tests.support.foreign_log_writers import TO_AGENT, TO_CLIENT

_I, _A, _U = INITIALIZE.decode(), ANSWER.decode(), UPDATE.decode()
_PRETTY = json.dumps(json.loads(INITIALIZE), indent=2)


def test_a_byte_order_mark_hides_no_message() -> None:
    """`import` ignores a byte order mark at the start of a log."""
    _, entries = read(f"\ufeff{_PRETTY}\n{_A}\n", "acpx")
    assert [json.loads(message.raw) for message in messages(entries)] == [
        json.loads(_I),
        json.loads(_A),
    ]


def test_the_messages_of_an_array_are_read_one_by_one() -> None:
    """If a log contains a JSON array without an arrow, `import` reads its items as messages."""
    array = f"[{_I},\n  {_A}]\n"
    assert [message.raw for message in messages(read_as("lines", array))] == [INITIALIZE, ANSWER]
    (batch,) = messages(read_as("lines", f"< {array}"))
    assert (batch.stream, batch.first, batch.last) == (TO_CLIENT, 1, 2)
    assert [json.loads(message) for message in (_I, _A)] == json.loads(batch.raw)


@each_case(
    ("line", "reason"),
    [
        (f"See {_I}", "expected a message, with at most a time and > or < before it, got other"),
        ("It got stuck here", "expected a message, with at most a time and > or < before it, got"),
        ("> see below", "expected a message, with at most a time and > or < before it, got other"),
        ("It hung.", "expected a message, with at most a time and > or < before it, got other"),
        (f"> {_I} and so on", "expected nothing after the message"),
        (f"> {_I} {_A}", "expected nothing after the message"),
        ('> {"a": 1}', "expected a message, got other JSON"),
        ('> {"frame": {"jsonrpc": "2.0"}}', "expected a message, got other JSON; `jq -c .NAME"),
        ('> {"jsonrpc": }', "expected a message, got JSON that is broken or cut off"),
        ('{"id":1,"params":{...}}', "expected a message, got JSON that is broken or cut off: a"),
        ("{'id': 1, 'result': None}", "expected a message, got JSON that is broken or cut off: it"),
    ],
)  # fmt: skip
def test_any_other_line_is_named(line: str, reason: str) -> None:
    """`import` reports a line of a log that is not a message, with its number and the reason."""
    entries = read_as("lines", f"> {_I}\n{line}\n< {_A}\n")
    (unread,) = [entry for entry in entries if isinstance(entry, UnreadLines)]
    assert (unread.first, unread.last) == (2, 2)
    assert unread.reason.startswith(reason)
    assert [entry.raw for entry in messages(entries)] == [INITIALIZE, ANSWER]


def test_fences_comments_and_blanks_are_skipped() -> None:
    """`import` skips blank lines, comments and code fences between messages of a log."""
    text = f"# Report\n```json\n// one\n  \x1b[32m→\x1b[0m {_I},\n\n---\n← {_A}\n```\n"
    entries = read_as("lines", text)
    assert [message.raw for message in messages(entries)] == [INITIALIZE, ANSWER]
    kinds = [entry.kind for entry in entries if isinstance(entry, Remark)]
    assert kinds == [*[RemarkKind.REMARK] * 3, RemarkKind.BLANK, *[RemarkKind.REMARK] * 2]


def test_time_and_mark_may_stand_on_the_lines_before() -> None:
    """`import` reads the time and the direction of a message also from the lines above it."""
    text = "".join(
        f"[INFO] 2026-01-02 03:04:0{n}\n{mark}:\n{raw.decode()}\n\n"
        for n, (mark, raw) in enumerate((("Sent", INITIALIZE), ("Received", ANSWER)))
    )
    lines = [*messages(read(text, "lines")[1])]
    assert [line.stream for line in lines] == [TO_AGENT, TO_CLIENT]
    first, second = (line.time_ns or 0 for line in lines)
    assert second - first == 10**9


@pytest.mark.parametrize("tail", ['{"', '{"jsonrpc', '{"jsonrpc":"2.0","id":0,', "[{"])
def test_a_last_message_that_is_cut_off_is_named(tail: str) -> None:
    """`import` reports an incomplete message at the end of a log."""
    assert bad(read_as("lines", f"→ {_I}\n← {tail}")) == [(2, 2)]


def test_a_message_that_is_cut_off_hides_none_of_those_after_it() -> None:
    """`import` reads messages that follow an incomplete message in a log."""
    _, entries = read(f"    → {_I[:40]}\n    ← {_A}\n    ← {_U}\n", "lines")
    assert (bad(entries), [message.raw for message in messages(entries)]) == (
        [(1, 1)],
        [ANSWER, UPDATE],
    )
    stamp = "[2026-01-02T03:04:05.678Z]"
    text = f"{stamp} >>> CLIENT → AGENT\n{_PRETTY[:30]}\n{stamp} <<< AGENT → CLIENT\n{_A}\n"
    _, entries = read(text, "lines")
    assert (bad(entries), [message.raw for message in messages(entries)]) == ([(2, 4)], [ANSWER])
    text = '→ {\n"jsonrpc":"2.0",\n"x":"03:04:05 sent",\n"id":1,"method":"m"}\n'
    assert len(list(messages(read(text, "lines")[1]))) == 1


@each_case(
    ("prefix", "stream"),
    [
        (">", TO_AGENT), ("<<<", TO_CLIENT), ("-->", TO_AGENT), ("<==", TO_CLIENT),
        ("→", TO_AGENT), ("⬅️", TO_CLIENT), ("OUT:", TO_AGENT), ("[in]", TO_CLIENT),
        ("TX |", TO_AGENT), ("DEBUG wire::rpc: Sending:", TO_AGENT), ("got", TO_CLIENT),
        ("[acp] Received message:", TO_CLIENT), ("stdin:", TO_AGENT), ("[agent]", TO_CLIENT),
        ("Client -> Agent:", TO_AGENT), ("A <- C", TO_AGENT), ("agent to client", TO_CLIENT),
        ("from-agent", TO_CLIENT), ("client:", TO_AGENT), ("C →", TO_AGENT), ("C ←", TO_CLIENT),
        (">>> CLIENT → AGENT [REQUEST] initialize", TO_AGENT),
        ("2026-01-02 03:04:05.678 INFO", None), ("[03:04:05]", None), ("  ", None),
    ],
)  # fmt: skip
def test_marks_say_which_way_a_message_went(prefix: str, stream: object) -> None:
    """`import` reads a message's direction from words or an arrow before the message."""
    heading = read_heading(f"{prefix} ".encode())
    assert heading is not None
    assert (heading.mark and heading.mark.stream) is stream


@pytest.mark.parametrize("prefix", ["See", "json", "1. ", "echo '", "It says: ", "x" * 400])
def test_words_are_no_mark(prefix: str) -> None:
    """`import` reads no direction from ordinary words before a message."""
    assert read_heading(prefix.encode()) is None


def test_arrows_of_an_agents_log_are_turned_round() -> None:
    """If the methods in an imported log contradict all arrows, `import` reverses the arrows."""
    entries = read_as("lines", f"received {_I}\nsent {_A}\n")
    directions = [(message.stream, message.is_inferred) for message in messages(entries)]
    assert directions == [(TO_AGENT, True), (TO_CLIENT, True)]


def test_an_arrow_is_believed_though_a_method_contradicts_it() -> None:
    """If only one message of an imported log contradicts its arrow, `import` trusts the arrow."""
    entries = read_as("lines", f"→ {_I}\n← {_I}\n← {_A}\n")
    directions = [(message.stream, message.is_inferred) for message in messages(entries)]
    assert directions == [(TO_AGENT, False), (TO_CLIENT, False), (TO_CLIENT, False)]


def test_a_direction_that_nothing_shows_is_asked_for() -> None:
    """If the direction of a message is unknown, the error of `import` asks for an arrow."""
    text = f'{_U}\n{_A}\n{{"jsonrpc":"2.0","method":"_x/y"}}\n'
    update, *unknown = connections(read_as("lines", text))
    assert isinstance(update, Sent)
    assert [entry.reason for entry in unknown if isinstance(entry, UnreadLines)] == [
        "expected > (to the agent) or < (to the client) before the message: neither its method nor"
        " its id shows which way it went"
    ] * 2


def test_a_line_of_many_objects_is_read_once() -> None:
    """`import` skips 20 000 JSON objects after an ordinary word in linear time."""
    entries = read_as("lines", "error " + '{"a":1} ' * 20_000 + f"\n→ {_I}\n")
    assert ([message.raw for message in messages(entries)], bad(entries)) == (
        [INITIALIZE],
        [(1, 1)],
    )
