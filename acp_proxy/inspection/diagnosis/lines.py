"""Reads the messages of chosen frames, a few hundred at a time, whatever they hold.

Whoever looks for a request or an answer finds it here whether it was a frame by itself or one of
the messages of a batch: `read_lines` gives the messages of a batch one by one.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import fields, frozen

from acp_proxy.protocol.json_text import parse_or_begin
from acp_proxy.store.reader import RecordingReader

HEAD = 65536
"""Bytes that are read of a line which is too large to be read whole."""
LARGEST = 4 << 20
"""Bytes of the largest line that is read whole."""
_AT_A_TIME = 500
_SELECT = (
    "SELECT seq, t_ns, stream, kind, method, exchange, session, turn, tool_call,"
    " CASE WHEN length(raw) <= CASE kind WHEN 'batch' THEN"
    f" {LARGEST} ELSE ? END THEN raw ELSE substr(raw, 1, {HEAD}) END AS raw"
    " FROM frames WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)

Value = dict[str, Any]


@frozen
class Line:
    """A message and its text, of a very large one the beginning; or a line that is no message."""

    seq: int
    """Of the frame; the messages of a batch share it."""
    t_ns: int
    stream: str
    kind: str
    method: str | None
    exchange: int | None
    session: str | None
    turn: int | None
    tool_call: str | None
    raw: bytes

    @property
    def message(self) -> Value:
        """The message; empty if it is no object."""
        return message_of(self.raw)

    def part(self, name: str) -> Value:
        """The params, the result or the error; empty if it is no object."""
        found = self.message.get(name)
        return found if isinstance(found, dict) else {}


_NAMES = [field.name for field in fields(Line)]


def _line(row: Value) -> Line:
    values = {name: row[name] for name in _NAMES}
    return Line(**{**values, "raw": bytes(row["raw"])})


def read_lines(
    reader: RecordingReader, seqs: Iterable[int], largest: int = LARGEST
) -> Iterator[Line]:
    """Reads the messages of frames by their numbers, each frame once and in order of them.

    A batch gives a line for each of its messages; one that has none, or is too large, gives itself.

    Args:
        reader: the recording.
        seqs: the numbers.
        largest: bytes of a line that is read whole.
    """
    numbers = iter(sorted(set(seqs)))
    while some := list(itertools.islice(numbers, _AT_A_TIME)):
        for row in reader.query(_SELECT, (largest, json.dumps(some))):
            members = reader.members(row) if row["kind"] == "batch" else []
            for message in members or [row]:
                yield _line(message)


def halves(
    reader: RecordingReader, wanted: Iterable[tuple[int | None, int]], largest: int = HEAD
) -> dict[tuple[int, int], Line]:
    """Reads requests and answers by the number of their frame and that of their exchange.

    Args:
        reader: the recording.
        wanted: the number of the frame, or None for an answer that never came, and the exchange.
        largest: bytes of a line that is read whole.

    Returns:
        those that there are, by both numbers.
    """
    keys = {(seq, exchange) for seq, exchange in wanted if seq is not None}
    return {
        (line.seq, line.exchange): line
        for line in read_lines(reader, (seq for seq, _ in keys), largest)
        if line.exchange is not None and (line.seq, line.exchange) in keys
    }


def message_of(raw: bytes) -> Value:
    """Reads a line, or as much of it as there is; never raises, and is empty if it is no object."""
    value = parse_or_begin(raw, HEAD)
    return value if isinstance(value, dict) else {}
