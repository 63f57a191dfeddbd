"""Tests the filter grammar: its meaning, and its errors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.errors import BadFilter
from acp_proxy.recording.filters import TERMS, Known, parse
from tests.support.cases import each_case

ROWS: list[dict[str, Any]] = [
    {
        "seq": seq,
        "stream": stream,
        "kind": kind,
        "method": method,
        "rpc_id": rpc_id,
        "session": session,
        "turn": turn,
        "tool_call": None,
        "terminal": None,
        "size": size,
        "latency_ns": latency,
        "fault": None,
        "raw": raw,
    }
    for seq, stream, kind, method, rpc_id, session, turn, size, latency, raw in [
        (1, "to-agent", "request", "initialize", "0", None, None, 90, None, b'{"id":0}'),
        (2, "to-client", "response", "initialize", "0", None, None, 200, 3 * 10**9, b"{}"),
        (3, "to-agent", "request", "session/prompt", '"7"', "s1", 1, 12000, None, b"not json"),
        (4, "to-client", "notification", "session/update", None, "s1", 1, 300, None,
         b'{"params":{"update":{"sessionUpdate":"tool_call","n":5,"c":[{"t":"x"}]}}}'),
        (5, "to-client", "error", "session/prompt", '"7"', "s1", 1, 50, 10**7, b'{"error":{}}'),
        (6, "stderr", "stderr", None, None, None, None, 5, None, "Grüße FOO".encode()),
    ]
]  # fmt: skip
EVENT = {"seq": 7, "kind": "exit", "data": '{"code": 0, "foo": 1}'}


def chosen(text: str) -> list[int]:
    """Returns the numbers of the rows and events that match a filter."""
    parsed = parse(text)
    return [row["seq"] for row in [*ROWS, EVENT] if parsed.matches(row)]


@each_case(
    ("text", "expected"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7]),
        ("dir:to-agent", [1, 3]),
        ("dir:to-agent|to-client kind:request|error", [1, 3, 5]),
        ("kind:event", [7]),
        ("not kind:event not dir:to-client", [1, 3, 6]),
        ("method:session/*", [3, 4, 5]),
        ("method:initialize or kind:stderr", [1, 2, 6]),
        ("session:s1 (kind:error or size:>10k)", [3, 5]),
        ("id:0", [1, 2]),
        ("id:7", [3, 5]),
        ('id:"7"', [3, 5]),
        ("id:\udcff", []),
        ("method:\udcff* or session:\udcff", []),
        ("seq:2..4", [2, 3, 4]),
        ("seq:5..", [5, 6, 7]),
        ("seq:..2", [1, 2]),
        ("seq:3", [3]),
        ("size:<=90", [1, 5, 6]),
        ("size:1k..20KB", [3]),
        ("latency:>2s", [2]),
        ("latency:10ms", [5]),
        ("latency:10000µs", [5]),
        ("latency:..", [2, 5]),
        ("not latency:.. kind:notification|stderr", [4, 6]),
        ("turn:1 not kind:notification", [3, 5]),
        ('text:"foo"', [6, 7]),
        ('text:"Grüße f"', [6]),
        ("fault:any", []),
        ("params.update.sessionUpdate=tool_call", [4]),
        ("params.update.n=5", [4]),
        ("params.update.c.t=x", [4]),
        ("params.update.c.0.t=x", [4]),
        ("not params.update.sessionUpdate=tool_call and seq:3..4", [3]),
    ],
)
def test_meaning(text: str, expected: list[int]) -> None:
    """Each example of a filter matches exactly the frames in the table of expected results."""
    assert chosen(text) == expected


@each_case(
    ("text", "message"),
    [
        ("dir:to-clinet", "column 5: 'to-clinet' is not a direction.*did you mean to-client?"),
        ("kind:request methd:x", "column 14: unknown key 'methd'; did you mean method?"),
        ("sessionUpdate=x", "column 1: expected params.path=value, got 'sessionUpdate=x'"),
        ("duration:>2s", "unknown key 'duration'; did you mean latency?"),
        ("xyzzy:1", "unknown key 'xyzzy': expected dir, method, session"),
        ("is:eror", "'eror' is not a state: expected unanswered, failed, .*; did you mean error?"),
        ("is:open", "'open' is not a state: .*; did you mean unanswered?"),
        ("status:running", "not a status of a tool call: .*; did you mean in_progress?"),
        (
            "kind:tool_call",
            "frame; for an update use params.update.sessionUpdate=tool_call",
        ),
        ("status:faild", "not a status of a tool call: .*; did you mean failed?"),
        ("turn:last", "column 6: 'last' works only with a single recording"),
        ("size:big", "column 6: 'big' is not a size"),
        ("latency:>2parsec", "column 9: .* is not a time"),
        ("(dir:to-agent", "column 1: a parenthesis that is never closed"),
        ("dir:to-agent)", "column 13: a parenthesis that was never opened"),
        ("dir:to-agent or", "column 16: expected a term here"),
        ("or dir:to-agent", "column 1: expected a term, got 'or'"),
        ("method:", "column 8: expected a value after method:"),
        ('text:"never closed', "column 6: a quote that is never closed"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    """The error about a wrong filter names the column of the mistake."""
    with pytest.raises(BadFilter, match=message):
        parse(text)


@each_case(
    ("text", "expected"),
    [
        ("session:s", [3, 4, 5]),
        ('session:"s"', []),
        ("method:prompt", [3, 5]),
        ("method:up", [4]),
        ("method:session", [3, 4, 5]),
        ("method:pda", []),
        ("params.update.sessionUpdate=tool*", [4]),
        ('params.update.sessionUpdate="tool*"', []),
        ("params.update.n=*", [4]),
        ("foo", [6, 7]),
        ('"not json"', [3]),
        ("not json", [1, 2, 4, 5, 6, 7]),
        ("is:unanswered", [1]),
        ("unanswered or is:stderr", [1, 6]),
        ("is:failed", [4, 5]),
        ("failed kind:error", [5]),
        ("status:failed|pending", [4]),
        ("turn:last", [8]),
    ],
)
def test_short_forms_of_filters(text: str, expected: list[int]) -> None:
    """A filter of frames may shorten a known word to its beginning."""
    update = b'{"params":{"update":{"sessionUpdate":"tool_call_update","status":"failed","n":5}}}'
    rows = [dict(row) for row in ROWS]
    rows[2] |= {"raw": b"not json", "response_seq": 5}
    rows[3] |= {"raw": update, "tool_call": "c1"}
    last = rows[3] | {"seq": 8, "turn": 9, "raw": b"{}", "session": "t", "method": "x"}
    parsed = parse(text, Known(lambda label: label == "session/prompt", 9))
    assert [row["seq"] for row in [*rows, EVENT, last] if parsed.matches(row)] == [
        *expected,
        *([8] if text == "not json" else []),
    ]


def test_a_complete_name_is_not_a_prefix() -> None:
    """A filter by a complete session id does not match sessions whose ids begin with this id."""
    known = Known(lambda label: label == "s1", 1)
    row = ROWS[3] | {"session": "s10"}
    assert parse("session:s").matches(row)
    assert parse("session:s1").matches(row)
    assert not parse("session:s1", known).matches(row)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "expected key:value or params.path=value, got 'hello'; text:hello matches"),
        ("turn:last", "'last' works only with a single recording"),
    ],
)
def test_a_frame_that_passes_is_asked_less(text: str, message: str) -> None:
    """A filter in a fault plan needs a key, such as `method:`, and cannot use `turn:last`."""
    with pytest.raises(BadFilter, match=message):
        parse(text, None)


def test_names_are_written_out_for_frames_that_pass() -> None:
    """A filter in a fault plan has to give names in full, without shortening or stars."""
    assert not parse("method:session/updat", None).matches(ROWS[3])
    assert parse("method:session/update", None).matches(ROWS[3])
    assert not parse("params.update.sessionUpdate=tool*", None).matches(ROWS[3])


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """Any text is either a valid filter, or an error says that it is not valid."""
    try:
        parsed = parse(text)
    except BadFilter:
        return
    for row in [*ROWS, EVENT]:
        parsed.matches(row)


def test_every_key_is_in_the_manual() -> None:
    """The manual names every key that a filter may have."""
    from pathlib import Path

    manual = (Path(__file__).parents[4] / "docs" / "filters.md").read_text()
    assert [key for key in TERMS if f"`{key}:" not in manual] == []


# Filters that anybody may have written


@pytest.mark.parametrize("text", ["(" * 3000, "not " * 15000 + "id:1", "(not " * 51 + "id:1"])
def test_more_than_a_hundred_levels_are_refused(text: str) -> None:
    """A filter with more than a hundred nested parentheses is refused."""
    with pytest.raises(BadFilter, match=r"at column [0-9]+: nested more deeply than 100 levels$"):
        parse(text)


def test_a_hundred_levels_are_accepted() -> None:
    """A filter may have a hundred nested parentheses."""
    assert chosen("(" * 100 + "id:0" + ")" * 100) == [1, 2]
    assert chosen("not " * 100 + "id:0") == [1, 2]
    assert chosen(" or ".join(["(not id:1)"] * 200)) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("key", ["9" * 5000, "\u00b2", "\u0663"])
def test_an_index_of_thousands_of_digits_matches_nothing(key: str) -> None:
    """In a filter by a JSON path, an index with thousands of digits matches nothing."""
    row = {**ROWS[0], "raw": b'{"params":[1,2]}'}
    assert not parse(f"params.{key}=1").matches(row)
    assert parse("params.0=1").matches(row)


@pytest.mark.parametrize("value", ["[" * 700 + "]" * 700, '{"a":' * 700 + "1" + "}" * 700])
def test_a_message_that_is_nested_too_deeply_does_not_match(value: str) -> None:
    """If a message is nested too deeply, a filter by JSON path does not match the message."""
    row = {**ROWS[0], "raw": f'{{"params":{value}}}'.encode()}
    path = ".".join(["params", *"a" * 699])
    assert not parse(f"{path}=2").matches(row)


def test_an_id_is_found_as_its_peer_has_written_it() -> None:
    """A filter by id also matches a message that has the id in an escaped form."""
    tokens = ['"é"', '"\\u00e9"', '"e"']
    assert [parse("id:é").matches({**ROWS[0], "rpc_id": token}) for token in tokens] == [
        True,
        True,
        False,
    ]


def test_half_of_a_surrogate_pair_is_found_by_its_escape() -> None:
    """A filter can name half a surrogate pair in a method by its escape in JSON."""
    assert parse('method:"\\ud800"').matches({**ROWS[0], "method": "\\ud800"})
