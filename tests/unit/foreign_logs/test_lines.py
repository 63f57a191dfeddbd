"""Lines of any log: no message is lost without being named, and nothing is guessed unmarked."""

from __future__ import annotations

import json

import pytest

from acp_proxy.foreign_logs.markers import Marker, read_marker
from acp_proxy.foreign_logs.values import Repaired
from tests.foreign_entries import (
    ANSWER,
    INITIALIZE,
    UPDATE,
    bad,
    directed,
    messages,
    read,
    read_as,
)
from tests.foreign_logs import STDERR, TO_AGENT, TO_CLIENT

_I, _A, _U = INITIALIZE.decode(), ANSWER.decode(), UPDATE.decode()
_PRETTY = json.dumps(json.loads(INITIALIZE), indent=2)


def test_a_byte_order_mark_hides_no_message() -> None:
    """Programs for Windows write it; the first message is still the first."""
    _, entries = read(f"\ufeff{_PRETTY}\n{_A}\n", "lines")
    assert [json.loads(one.raw) for one in messages(entries)] == [json.loads(_I), json.loads(_A)]
    _, entries = read(f"\ufeff{_I}\n{_A}\n", "acpx")
    assert [one.raw for one in messages(entries)] == [INITIALIZE, ANSWER]


@pytest.mark.parametrize(
    ("text", "inferred"),
    [
        (f"→ {_I} {_A}", [False, True]),
        (f"→ {_I}{_A}", [False, True]),
        (f"→ {_I} ← {_A}", [False, False]),
        (f"→ {_PRETTY}, {_A}", [False, True]),
        (
            f'[{{"direction":"sent","frame":{_I}}},{{"direction":"received","frame":{_A}}}]',
            [False, False],
        ),
        (f'{{"log":{{"entries":[{{"request":{_I},"response":{_A}}}]}}}}', [True, True]),
        ("[client] {'jsonrpc':'2.0','id':0,'method':'initialize'} [agent] " + _A, [False, False]),
    ],
)
def test_several_messages_in_a_line_are_all_read(text: str, inferred: list[bool]) -> None:
    """A direction that stands before the first is not taken for that of the others."""
    _, entries = read(f"{text}\n", "lines")
    found = directed(entries)
    assert [json.loads(one.line.raw)["id"] for one in found] == [0, 0]
    assert [one.stream for one in found] == [TO_AGENT, TO_CLIENT]
    assert [one.line.is_inferred for one in found] == inferred


def test_words_after_a_message_are_no_message() -> None:
    """What a person writes beside one may quote another; one that is cut off is named."""
    _, entries = read(f"→ {_I} // not {_A}\n← {_A} {_U[:30]}\n", "lines")
    assert [one.raw for one in messages(entries)] == [INITIALIZE, ANSWER]
    assert bad(entries) == [(2, 2)]


@pytest.mark.parametrize("tail", ['{"', '{"js', '{"jsonrpc', '{"jsonrpc"', '{ "id"', '[{"m'])
def test_a_message_cut_off_in_its_first_name_is_named(tail: str) -> None:
    """As in the last line of a log that is still being written."""
    _, entries = read(f"→ {_I}\n← {tail}", "lines")
    assert bad(entries) == ([(2, 2)] if tail != '{"' else [])


def test_a_message_that_is_cut_off_hides_none_of_those_after_it() -> None:
    """Neither in an indented block, nor if a line without JSON begins the next one."""
    _, entries = read(f"    → {_I[:40]}\n    ← {_A}\n    ← {_U}\n", "lines")
    assert (bad(entries), [one.raw for one in messages(entries)]) == ([(1, 1)], [ANSWER, UPDATE])
    stamp = "[2026-01-02T03:04:05.678Z]"
    text = f"{stamp} >>> CLIENT → AGENT\n{_PRETTY[:30]}\n{stamp} <<< AGENT → CLIENT\n{_A}\n"
    _, entries = read(text, "lines")
    assert (bad(entries), [one.raw for one in messages(entries)]) == ([(2, 4)], [ANSWER])
    text = '→ {\n"jsonrpc":"2.0",\n"x":"03:04:05 sent",\n"id":1,"method":"m"}\n'
    assert len(list(messages(read(text, "lines")[1]))) == 1


def test_a_message_in_several_lines_that_is_broken_is_named() -> None:
    """With or without a direction; other JSON without one is a remark."""
    broken = '{\n "jsonrpc":"2.0",\n "id":\n}'
    other = '{\n "params": 1\n}'
    _, entries = read(f"{broken}\n→ {broken}\n{other}\n→ {other}\n{_I}\n", "lines")
    assert bad(entries) == [(1, 4), (5, 8), (12, 14)]


def test_a_message_beside_other_text_is_no_remark_of_a_stream() -> None:
    """Where the beginning shows it, directions and times are read; further on it is named."""
    text = f"{_I}\n← {_A}\n"
    name, entries = read(text)
    assert (name, [one.stream for one in messages(entries)]) == ("lines", [None, TO_CLIENT])
    entries = read_as("acpx", text)
    assert bad(entries) == [(2, 2)]
    name, _ = read(f"{_I}\n  {_A}\n[acpx] sent it\nError: x\n")
    assert name == "acpx"


@pytest.mark.parametrize(
    "text",
    [
        '{"direction":"\\ud800","frame":%s}',
        '{"ts":"\\ud800","frame":%s}',
        '{"ts":%s,"frame":%%s}' % ("9" * 5000),
        '{"ts":true,"direction":[],"frame":%s}',
    ],
)  # fmt: skip
def test_an_envelope_may_have_any_values(text: str) -> None:
    """Half of a surrogate pair, a number of many digits."""
    _, entries = read(text % _I + "\n")
    assert [one.raw for one in messages(entries)] == [INITIALIZE]


def test_what_was_left_out_in_an_envelope_is_marked() -> None:
    """Also if the message is a string in it."""
    elided = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{...}}'
    for frame in (elided, json.dumps(elided)):
        _, entries = read(f'{{"direction":"sent","frame":{frame}}}\n', "lines")
        assert [type(one) for one in entries] == [Repaired]


def test_stderr_in_an_envelope_may_have_several_lines() -> None:
    """Each is a line of stderr; a newline at the end makes none."""
    text = f'{{"stream":"stderr","data":"a\\nb\\n"}}\n{{"direction":"sent","frame":{_I}}}\n'
    _, entries = read(text, "lines")
    found = [(one.stream, one.raw) for one in messages(entries)]
    assert found == [(STDERR, b"a"), (STDERR, b"b"), (TO_AGENT, INITIALIZE)]


@pytest.mark.parametrize(
    ("words", "inferred"),
    [
        (("Client sends:", "Agent sends:", "The agent sent"), [False, False, False]),
        (("The agent received", "The client received", "client gets"), [False, False, False]),
        (("Zed sends", "and the server replied", "it was sent that"), [False, False, True]),
        (("I sent", "what I sent and then got", "sent this and received"), [False] * 3),
        (("received", "sent", "sent"), [True, True, True]),
    ],
)
def test_words_say_which_way_messages_went(
    words: tuple[str, str, str], inferred: list[bool]
) -> None:
    """Of the side that is named, else of the nearest verb, unless a method contradicts it."""
    text = "".join(f"{a}: {b}\n" for a, b in zip(words, (_I, _A, _U), strict=True))
    _, entries = read(text, "lines")
    found = directed(entries)
    assert [one.stream for one in found] == [TO_AGENT, TO_CLIENT, TO_CLIENT]
    assert [one.line.is_inferred for one in found] == inferred


def test_an_arrow_is_believed_though_a_method_contradicts_it() -> None:
    """An agent may send back what it got: that is to be seen."""
    _, entries = read(f"→ {_I}\n← {_I}\n← {_A}\n", "lines")
    found = [(one.stream, one.is_inferred) for one in messages(entries)]
    assert found == [(TO_AGENT, False), (TO_CLIENT, False), (TO_CLIENT, False)]


def test_a_line_of_many_objects_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a megabyte of JSON after the word error, and is no message."""
    looked_at = []

    def counted(prefix: bytes) -> Marker | None:
        looked_at.append(prefix)
        return read_marker(prefix)

    monkeypatch.setattr("acp_proxy.foreign_logs.message_starts.read_marker", counted)
    entries = read_as("lines", "error " + '{"a":1} ' * 2000 + f"\n→ {_I}\n")
    assert [one.raw for one in messages(entries)] == [INITIALIZE]
    assert len(looked_at) < 100
