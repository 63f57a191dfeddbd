"""Fuzzes filters: each text is parsed or refused; SQL and Python select the same rows."""

from __future__ import annotations

import atexit
import re
from functools import cache
from typing import Any

from acp_proxy.base.errors import BadFilter
from acp_proxy.recording.filters import Filter, parse, terms_of
from acp_proxy.recording.filters.filter_terms import TERMS
from acp_proxy.store.reader import RecordingReader
from tests.fuzz import seeds
from tests.fuzz.target import Target

_COLUMN = re.compile(r"bad filter at column (\d+): ")


def check(data: bytes) -> None:
    """Checks that a filter is refused with a column, or selects the same rows in SQL and Python."""
    text = data.decode(errors="surrogateescape")
    try:
        chosen = parse(text)
    except BadFilter as e:
        match = _COLUMN.match(str(e))
        assert match is not None, e
        assert 1 <= int(match[1]) <= len(text) + 1
        return
    assert isinstance(terms_of(text), list)
    _check_choice(chosen)
    _check_choice(parse(f"not ({text})") if text.strip() else chosen)


def _check_choice(chosen: Filter) -> None:
    """Checks that the store finds exactly the rows that a parsed filter matches."""
    reader, rows = _recording()
    expected = [row["seq"] for row in rows if chosen.finds(row)]
    assert [row["seq"] for row in reader.rows(chosen)] == expected
    frames = {row["seq"] for row in rows if "raw" in row}
    assert [head.seq for head in reader.heads(chosen)] == [n for n in expected if n in frames]


@cache
def _recording() -> tuple[RecordingReader, list[dict[str, Any]]]:
    """Returns a recording with all features, and all of its rows."""
    reader = RecordingReader(seeds.ROOT / "recordings/tour.db")
    atexit.register(reader.close)
    return reader, list(reader.rows())


def _seeds() -> list[bytes]:
    return [text.encode() for text in (
        "", "dir:to-agent", "method:session/*", "method:*prompt or kind:error", "kind:stderr|event",
        "not (kind:request and seq:3..9)", 'id:"a b" or id:7', "size:>1k size:<=2M", "latency:>2ms",
        "turn:1..2 call:c*", "session:* kind:batch", "params.update.content.text=hello",
        "result.stopReason=end_turn", 'params.prompt.0.type="text"', 'text:"say hello"',
        "fault:any", "error.code=-32000 or fault:slow?", "terminal:[a-z]*", "((kind:request))",
        "seq:>=7",
    )]  # fmt: skip


WORDS = (*(f"{key}:".encode() for key in TERMS), b" and ", b" or ", b" not ", b"(", b")", b"*",
         b"?", b"[!a]", b"[a-", b"..", b">", b"<=", b"|", b"ms", b"params.", b"=", b'"', b'\\"',
         b"any", b"to-client", b"request", b"9" * 40, b"(" * 60, b"not " * 60)  # fmt: skip
TARGET = Target("filter_grammar", check, _seeds, WORDS, longest=1024, steps=300_000, examples=50)
