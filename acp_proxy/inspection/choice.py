"""Which frames and events ``inspect log`` shows: a filter, a turn, a session, a neighbourhood."""

import heapq
import operator
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from acp_proxy.errors import BadFilter
from acp_proxy.filters import Filter, all_of, parse
from acp_proxy.filters.terms import none_of
from acp_proxy.filters.terms import of_session as session_filter
from acp_proxy.inspection.timeline import pair_of
from acp_proxy.safe_text import visible
from acp_proxy.store.reader import RecordingReader

_LARGEST = 2**63 - 1  # that SQLite can compare with
_NAMED = 5
"""Sessions that a complaint names."""
Row = dict[str, Any]


@frozen
class Around:
    """A frame or event, the one it is paired with, and what happened about the same time."""

    seq: int
    pair: int | None
    context: int

    def rows(self, reader: RecordingReader, chosen: Filter) -> Iterator[Row]:
        """Streams what is chosen within the context; both of the two are always there."""
        first, last = max(1, self.seq - self.context), self.seq + self.context
        both = [number(seq) for seq in (self.seq, self.pair) if seq is not None]
        others = all_of([chosen, parse(f"seq:{first}..{last}"), *map(none_of, both)])
        found = [reader.rows(others, first - 1), *(reader.rows(one) for one in both)]
        return heapq.merge(*found, key=operator.itemgetter("seq"))


def number(seq: int) -> Filter:
    """The frame or event of one number."""
    return parse(f"seq:{min(seq, _LARGEST)}")


def row_of(reader: RecordingReader, seq: int) -> Row:
    """Reads one frame or event.

    Raises:
        BadFilter: there is none of that number.
    """
    row = next(reader.rows(number(seq)), None)
    if row is None:
        raise BadFilter(f"no frame or event {seq} in {reader.path}; the last one is {last(reader)}")
    return row


def neighbourhood(reader: RecordingReader, seq: int, context: int) -> Around:
    """The neighbourhood of a frame or event.

    Raises:
        BadFilter: there is none of that number.
    """
    return Around(seq, pair_of(row_of(reader, seq)), context)


def last(reader: RecordingReader) -> int:
    """The number of the last frame or event."""
    rows = reader.query(
        "SELECT max(coalesce((SELECT max(seq) FROM frames), 0),"
        " coalesce((SELECT max(seq) FROM events), 0)) AS seq"
    )
    return int(next(rows)["seq"])


def of_turn(reader: RecordingReader, turn: int) -> Filter:
    """The frames of a turn, and what came on stderr between its first and its last.

    Nobody knows of a line of stderr which of two concurrent turns it is about; both get it.

    Raises:
        BadFilter: there is none of that number, and the recording has ended.
    """
    wanted = min(turn, _LARGEST)
    sql = "SELECT prompt_seq, end_seq FROM turns WHERE id = ?"
    row = next(reader.query(sql, (wanted,)), None)
    if row is None and not reader.live:
        n = next(reader.query("SELECT count(*) AS n FROM turns"))["n"]
        raise BadFilter(f"no turn {turn} in {reader.path}; it has {n or 'none'}")
    if row is None:
        return parse(f"turn:{turn}")
    end = _LARGEST if row["end_seq"] is None else row["end_seq"]
    return parse(f"turn:{turn} or kind:stderr seq:{row['prompt_seq']}..{end}")


def of_session(reader: RecordingReader, start: str) -> Filter:
    """The frames of the session whose id begins so.

    Raises:
        BadFilter: none does, or several do.
    """
    known = _sessions(reader, "exchanges")
    matching = _beginning(known, start)
    if not matching:  # perhaps one of which no request tells
        known = known + [s for s in _sessions(reader, "frames") if s not in known]
        matching = _beginning(known, start)
    if len(matching) != 1:
        problem = f"{len(matching)} sessions begin with" if matching else "no session begins with"
        raise BadFilter(f"{problem} {start!r} in {reader.path}; {_named(matching or known)}")
    (session,) = matching
    return session_filter(session)


def _sessions(reader: RecordingReader, table: str) -> list[str]:
    sql = f"SELECT DISTINCT session FROM {table} WHERE session IS NOT NULL"
    return [row["session"] for row in reader.query(sql)]


def _beginning(known: list[str], start: str) -> list[str]:
    return [start] if start in known else [s for s in known if s.startswith(start)]


def _named(sessions: list[str]) -> str:
    if not sessions:
        return "it has no sessions"
    more = f" and {len(sessions) - _NAMED} more" if len(sessions) > _NAMED else ""
    return f"there is {visible(', '.join(sessions[:_NAMED]))}{more}"
