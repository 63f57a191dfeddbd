"""Reads the messages of chosen frames, a few hundred at a time, whatever they hold."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from attrs import frozen

from acp_proxy.inspection.describe.heads import completed
from acp_proxy.store.reader import RecordingReader

HEAD = 65536
"""Bytes that are read of a line which is too large to be read whole."""
_LARGEST = 4 << 20
_AT_A_TIME = 500
_SELECT = (
    "SELECT seq, t_ns, stream, kind, method, session, turn, tool_call,"
    f" CASE WHEN length(raw) <= ? THEN raw ELSE substr(raw, 1, {HEAD}) END AS raw"
    " FROM frames WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
)

Value = dict[str, Any]


@frozen
class Line:
    """A frame and its line; of a very large one the beginning."""

    seq: int
    t_ns: int
    stream: str
    kind: str
    method: str | None
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


def read_lines(
    reader: RecordingReader, seqs: Iterable[int], largest: int = _LARGEST
) -> Iterator[Line]:
    """Reads frames by their numbers, each once and in order of them.

    Args:
        reader: the recording.
        seqs: the numbers.
        largest: bytes of a line that is read whole.
    """
    numbers = iter(sorted(set(seqs)))
    while some := list(itertools.islice(numbers, _AT_A_TIME)):
        for row in reader.query(_SELECT, (largest, json.dumps(some))):
            yield Line(**{**row, "raw": bytes(row["raw"])})


def message_of(raw: bytes) -> Value:
    """Reads a line, or as much of it as there is; never raises, and is empty if it is no object."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = _read_tolerantly(raw)
    return value if isinstance(value, dict) else {}


def _read_tolerantly(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(completed(raw[:HEAD].decode(errors="replace")))
    except (ValueError, RecursionError):
        return None
