"""`search` finds text as a person reads it: decoded, across chunks, and in lines of any size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.search.search import Searcher
from acp_proxy.explain.search.search_patterns import Pattern
from acp_proxy.recording.recording import StoredFrame
from tests.support.cases import each_case
from tests.support.log_writer import line, notification, request, result, text, update

if TYPE_CHECKING:
    from acp_proxy.explain.search.stream_matches import SearchHit


def frame(seq: int, message: Any, **known: Any) -> StoredFrame:
    """Returns a frame with a text."""
    raw = line(message).rstrip(b"\n")
    method = message.get("method") if isinstance(message, dict) else None
    values = {
        "t_ns": seq * 1000,
        "stream": "to-client",
        "kind": "notification",
        "method": method,
        "exchange": None,
        "session": "s",
        "turn": None,
        "tool_call": None,
        "terminal": None,
        "size": len(raw),
        "raw": raw,
    }
    return StoredFrame(seq, **{**values, **known})


def chunks(*texts: str, first: int = 1, **fields: Any) -> list[StoredFrame]:
    """Returns the chunks of a streamed message."""
    return [
        frame(n, update("s", "agent_message_chunk", content=text(t), **fields))
        for n, t in enumerate(texts, first)
    ]


def search(pattern: str, frames: list[StoredFrame], **options: Any) -> list[SearchHit]:
    """Searches frames for a pattern."""
    with_pointers = options.pop("with_pointers", False)
    searcher = Searcher(Pattern(pattern, **options), with_pointers=with_pointers)
    hits = [hit for f in frames for hit in searcher.feed(f)]
    return hits + list(searcher.finish())


def numbers(hits: list[SearchHit]) -> list[tuple[int, int]]:
    """Returns the frames in which matches begin and end."""
    return [(hit.place.seq, hit.last_seq) for hit in hits]


@each_case(
    ("written", "pattern"),
    [
        (b'{"a":"caf\\u00e9"}', "café"),
        (b'{"a":"say \\"quoted\\" word"}', '"quoted" word'),
        (b'{"a":"one\\ntwo"}', "one\ntwo"),
        (b'{"a":"one\\ntwo"}', r"one\ntwo"),
        (b'{"a":"\\ud83d\\ude00"}', "😀"),
        ('{"a":"你好"}'.encode(), "你好"),
        (b'{"method":"a/b"}', '"method":"a/b"'),
        (b"not \xff json", "json"),
        (b'{"a":"cut caf\\u00e9', "café"),
    ],
)
def test_a_text_is_found_however_it_is_written(written: bytes, pattern: str) -> None:
    """`search` finds a text in JSON strings, whether or not the text was escaped."""
    assert numbers(search(pattern, [frame(1, {}, raw=written, method=None)])) == [(1, 1)]


@each_case(
    ("pattern", "is_found"),
    [
        ("jsonrpc", False),
        ("content", False),
        ("diff", False),
        ("2.0", False),
        ("café", False),
        ("true", True),
        ("17", True),
        ("a type of bug", True),
        ("POST", True),
        ('"readTextFile"', True),
        ('"session/new"', True),
        ('é": 17', False),
        ("session.new", False),
        ("[a-z]+/new", True),
        ("readTextFile", True),
        ("session/new", True),
        ("tool_call", True),
        ('"method": "session/(new|load)"', True),
    ],
)
def test_names_of_the_protocol_are_found_by_a_pattern_that_may_be_one(
    pattern: str, is_found: bool
) -> None:
    """`search` finds names of ACP by patterns like `session/new`, but not by a word like `diff`."""
    raw = (
        b'{"jsonrpc": "2.0", "method": "session/new", "params": {"readTextFile": true,'
        b' "sessionUpdate":"tool_call", "content": {"type": "diff"}, "caf\\u00e9": 17,'
        b' "rawInput": {"type": "a type of bug", "method": "POST"}}}'
    )
    sought = frame(1, {}, raw=raw, method="session/new")
    assert numbers(search(pattern, [sought], is_regex="+" in pattern or "(" in pattern)) == (
        [(1, 1)] * is_found
    )


def test_names_are_found_in_lines_of_other_programs() -> None:
    """In lines that are not JSON-RPC, `search` also finds the names of JSON members."""
    raw = b'{"level": "info", "type": "request"}'
    for sought in ("level", "request"):
        log = frame(1, {}, raw=raw, stream="stderr", kind="stderr", method=None)
        assert numbers(search(sought, [log])) == [(1, 1)]


def test_escapes_are_undone_within_strings_only() -> None:
    """`search` decodes escapes only within JSON strings."""
    written = b'{"a":"x\\ny","b":1}'
    assert search('x\ny","b"', [frame(1, {}, raw=written)]) == []
    assert search('y","b"', [frame(1, {}, raw=written)]) != []


def test_a_regular_expression_sees_each_string_by_itself() -> None:
    """In `search`, `^` matches at the start of each JSON string."""
    message = notification("x", title="Hello", other="say Hello")
    assert len(search("^Hello$", [frame(1, message)], is_regex=True)) == 1
    assert search("^say$", [frame(1, message)], is_regex=True) == []


def test_a_text_across_chunks_is_found_at_its_first_frame() -> None:
    """If a text spans several chunks, `search` names its first and its last frame."""
    hits = search("hello world", chunks("Oh! Hel", "lo wor", "ld."))
    assert numbers(hits) == [(1, 3)]
    assert hits[0].excerpt == ("Oh! ", "Hello world", ".")


def test_a_frame_is_a_hit_once() -> None:
    """`search` lists a frame only once, even if it has several matches."""
    assert numbers(search("aba", chunks("aba", "ba"))) == [(1, 1)]
    assert numbers(search("aa", chunks("a", "a", "a"))) == [(1, 2), (2, 3)]


def test_a_surrogate_pair_may_be_split_between_chunks() -> None:
    """`search` finds a character whose surrogate pair is split between two chunks."""
    halves = [
        frame(n, {}, method="session/update", raw=line(update("s", "agent_message_chunk",
              content=text("@"))).rstrip().replace(b"@", half))
        for n, half in enumerate((b"a \\ud83d", b"\\ude00 b"), 1)
    ]  # fmt: skip
    hits = search("a 😀 b", halves)
    assert numbers(hits) == [(1, 2)]
    assert hits[0].excerpt.match == "a 😀 b"
    alone = search("😀", halves)
    assert numbers(alone) == [(1, 1)]
    assert alone[0].excerpt.before == "a "


@pytest.mark.parametrize(
    "between",
    [
        frame(2, update("s", "agent_thought_chunk", content=text("hm"))),
        frame(2, update("s", "user_message_chunk", content=text("hm"))),
        frame(2, update("s", "tool_call", toolCallId="c"), tool_call="c"),
        frame(2, request(1, "session/prompt"), kind="request"),
        frame(2, result(1), kind="response", method="session/prompt"),
    ],
    ids=["thought", "user", "tool call", "prompt", "end of turn"],
)
def test_a_new_message_ends_the_one_before(between: StoredFrame) -> None:
    """`search` does not find a text that spans two messages."""
    first, two = chunks("Hel", "lo", first=1)
    assert search("hello", [first, between, two._replace(seq=3)]) == []


@pytest.mark.parametrize(
    "between",
    [
        frame(2, {}, stream="stderr", kind="stderr", method=None, raw=b"log"),
        frame(2, update("s", "tool_call_update", toolCallId="c"), tool_call="c"),
        frame(2, update("t", "agent_message_chunk", content=text("x")), session="t"),
        frame(2, request(1, "fs/read_text_file"), kind="request"),
    ],
    ids=["stderr", "tool call update", "other session", "request"],
)
def test_unrelated_frames_do_not_end_a_message(between: StoredFrame) -> None:
    """`search` joins the chunks of a message even if unrelated frames come between them."""
    first, two = chunks("Hel", "lo", first=1)
    assert numbers(search("hello", [first, between, two._replace(seq=3)])) == [(1, 3)]


def test_messages_with_ids_may_be_interleaved() -> None:
    """If the chunks of two messages alternate, `search` joins those with one message id."""
    frames = [
        *chunks("Hel", messageId="a"),
        *chunks("Good", first=2, messageId="b"),
        *chunks("lo", first=3, messageId="a"),
        *chunks("bye", first=4, messageId="b"),
    ]
    assert numbers(search("hello", frames)) == [(1, 3)]
    assert numbers(search("goodbye", frames)) == [(2, 4)]
    assert search("helgood", frames) == []


def test_hits_come_in_order() -> None:
    """`search` lists matches in the order of their frames."""
    first, two = chunks("Hel", "lo", first=1)
    between = frame(2, {}, stream="stderr", kind="stderr", method=None, raw=b"hello")
    assert numbers(search("hello", [first, between, two._replace(seq=3)])) == [(1, 3), (2, 2)]


def test_a_waiting_hit_is_returned_as_soon_as_possible() -> None:
    """If no chunk can extend a match, `search` returns the match before it reads the next frame."""
    searcher = Searcher(Pattern("hello"))
    assert searcher.feed(frame(1, notification("x", title="hello")))
    searcher = Searcher(Pattern("hello"))
    assert searcher.feed(chunks("Oh! ")[0]) == []
    assert searcher.feed(frame(2, notification("x", title="hello"))) == []


def test_a_match_of_a_regular_expression_goes_across_chunks() -> None:
    """In `search`, a match of a regular expression may span several chunks."""
    words = ["word "] * 5000 + ["needle in a ", "haystack"] + ["word "] * 5000
    assert numbers(search(r"needle \w+ a hay", chunks(*words), is_regex=True)) == [(5001, 5002)]
    assert numbers(search("^word", chunks(*words), is_regex=True))[:2] == [(1, 1), (2, 2)]


def test_an_end_assertion_waits_for_the_end_of_the_message() -> None:
    r"""In `search`, `\Z` matches at the end of a message, but not at the end of earlier chunks."""
    many = ["x" * 100] * 400
    assert numbers(search(r"lo\Z", chunks("hel", "lo", *many), is_regex=True)) == [(2, 2)]
    assert search(r"hello\Z", chunks("hel", "lo", *many), is_regex=True) == []
    assert numbers(search(r"hello\Z", chunks(*many, "hel", "lo"), is_regex=True)) == [(401, 402)]


def test_a_long_text_is_found_across_many_chunks() -> None:
    """`search` finds a text that spans many chunks."""
    sought = "".join(chr(0x4E00 + n % 5000) for n in range(40_000))
    pieces = [sought[n : n + 7] for n in range(0, len(sought), 7)]
    hits = search(sought, chunks("before ", *pieces, " after"))
    assert numbers(hits) == [(2, len(pieces) + 1)]


def test_memory_is_bounded_however_long_a_message_is() -> None:
    """While a message is incomplete, `search` keeps only the end of its text in memory."""
    searcher = Searcher(Pattern("nothing like that"))
    for chunk in chunks(*["some text "] * 20_000):
        assert searcher.feed(chunk) == []
    (message,) = searcher._streams._texts.values()
    assert message.size < 20_000


def test_a_hit_has_a_pointer() -> None:
    """`search` prints the JSON pointer of a match."""
    message = notification("x", list=[{"a/b": "find me"}])
    (hit,) = search("find me", [frame(1, message)], with_pointers=True)
    assert hit.pointer == "/params/list/0/a~1b"
    (hit,) = search("hello", chunks("Hel", "lo"), with_pointers=True)
    assert hit.pointer == "/params/update/content/text"
    (hit,) = search('"method":"x"', [frame(1, message)], with_pointers=True)
    assert hit.pointer is None


@each_case("size", [1, 7, 1000])
@each_case(
    ("pattern", "is_found"), [("caf\u00e9 \u4f60", True), ("nothing", False), ('"quoted"', True)]
)
def test_a_line_too_large_to_hold_is_searched_in_pieces(
    size: int, pattern: str, is_found: bool
) -> None:
    """If a line is too large for memory, `search` reads it in pieces and still finds a text."""
    raw = json.dumps({"a": "x" * 500 + 'café 你 "quoted" \\'}).encode() + b" "
    pieces = [raw[n : n + size] for n in range(0, len(raw), size)]
    searcher = Searcher(Pattern(pattern))
    hits = searcher.feed_large(frame(1, {}, raw=None), lambda: pieces)
    assert [hit.place.seq for hit in hits] == [1] * is_found


def test_an_excerpt_is_bounded_and_can_be_encoded() -> None:
    """`search` shows at most 200 characters beside a match, and half a surrogate pair as U+FFFD."""
    raw = b'{"a":"' + b"x" * 10_000 + b"needle\\ud83d" + b"y" * 10_000 + b'"}'
    (hit,) = search("needle", [frame(1, {}, raw=raw)])
    assert (len(hit.excerpt.before), hit.excerpt.match) == (200, "needle")
    assert hit.excerpt.after == "\ufffd" + "y" * 199
