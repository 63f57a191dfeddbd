"""Reads the messages of chosen frames, a few hundred at a time, whatever they hold.

A request or an answer is found whether it was a frame by itself or one of the messages of a batch.
"""

import itertools
from collections.abc import Iterable, Iterator

from attrs import fields, frozen

from acp_proxy.inspection.describe.values import HEAD, Value, message_of
from acp_proxy.store.frame_queries import frames_by_number
from acp_proxy.store.reader import RecordingReader

LARGEST = 4 << 20
"""Bytes of the largest line that is read whole."""
_AT_A_TIME = 500


@frozen
class StoredMessage:
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


_NAMES = [field.name for field in fields(StoredMessage)]


def _stored(row: Value) -> StoredMessage:
    values = {name: row[name] for name in _NAMES}
    return StoredMessage(**{**values, "raw": bytes(row["raw"])})


def read_messages(
    reader: RecordingReader, seqs: Iterable[int], largest: int = LARGEST
) -> Iterator[StoredMessage]:
    """Reads the messages of frames by their numbers, each frame once and in order of them.

    A batch gives a line for each of its messages; one that has none, or is too large, gives itself.

    Args:
        reader: the recording.
        seqs: the numbers.
        largest: bytes of a line that is read whole.
    """
    numbers = iter(sorted(set(seqs)))
    while some := list(itertools.islice(numbers, _AT_A_TIME)):
        for row in frames_by_number(reader, some, largest, LARGEST):
            members = reader.members(row) if row["kind"] == "batch" else []
            for message in members or [row]:
                yield _stored(message)


def messages_of_exchanges(
    reader: RecordingReader, wanted: Iterable[tuple[int | None, int]], largest: int = HEAD
) -> dict[tuple[int, int], StoredMessage]:
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
        for line in read_messages(reader, (seq for seq, _ in keys), largest)
        if line.exchange is not None and (line.seq, line.exchange) in keys
    }
