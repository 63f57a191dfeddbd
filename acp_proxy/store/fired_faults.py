"""What faults did to the frames of a recording: rows of `faults_fired`, and what the client got.

A recording that was made with faults holds what each peer sent. The client received what was
delivered of the agent's frames, and the frames that faults made up; and it sent all that is its
own, whatever arrived of that.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from acp_proxy.protocol.peers import Stream
from acp_proxy.store.schema import DELIVERED_CODES, STREAM_CODES

_LOST = f"""
SELECT seq FROM frame_rows
WHERE flags & 3 = {STREAM_CODES[Stream.TO_CLIENT]} AND fault IS NOT NULL
  AND (flags >> 4) & 3 = {DELIVERED_CODES["none"]}
"""
_DELIVERED = """
SELECT delivered FROM faults_fired
WHERE seq = ? AND received IS NOT NULL ORDER BY rowid DESC LIMIT 1
"""


Row = dict[str, Any]


class FiredRows:
    """Rows of `faults_fired` beside frames: both are read once, by numbers that only grow.

    Args:
        rows: in the order of their numbers; nothing is read before it is asked for.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next: Row | None = None

    def before(self, seq: int) -> Iterator[Row]:
        """Yields those of earlier frames that were not asked for; they have to be passed over."""
        while (row := self._peek()) is not None and row["seq"] < seq:
            self._next = None
            yield row

    def at(self, seq: int) -> Iterator[Row]:
        """Yields those of a frame, in the order of the rules, once none is left before it."""
        while (row := self._peek()) is not None and row["seq"] == seq:
            self._next = None
            yield row

    def rest(self) -> Iterator[Row]:
        """Yields all that are left."""
        while (row := self._peek()) is not None:
            self._next = None
            yield row

    def _peek(self) -> Row | None:
        if self._next is None:
            self._next = next(self._rows, None)
        return self._next


class FaultedFrames:
    """The frames that faults touched; next to nothing is read where there were none.

    Attributes:
        lost: numbers of frames of the agent that never arrived.
        injected: numbers of frames that faults made up.
        changed: numbers of frames of which other bytes were delivered, perhaps the same ones.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.lost: set[int] = set()
        self.injected: set[int] = set()
        self.changed: set[int] = set()
        fired = connection.execute(
            "SELECT seq, received IS NULL, delivered IS NOT NULL FROM faults_fired"
        ).fetchall()
        for seq, is_injected, has_arrived in fired:
            if is_injected:
                self.injected.add(seq)
            elif has_arrived:
                self.changed.add(seq)
        if fired:
            self.lost.update(seq for (seq,) in connection.execute(_LOST))

    def reached_client(self, seq: int, *, from_agent: bool) -> bool:
        """Whether the client received a frame of the agent, or sent one of its own.

        Args:
            seq: the frame.
            from_agent: whether it is the agent's, as the client received it.
        """
        return seq not in (self.lost if from_agent else self.injected)

    def delivered(self, seq: int) -> tuple[bytes, str]:
        """Returns what arrived in place of a changed frame, and what ended its line."""
        (data,) = self._connection.execute(_DELIVERED, (seq,)).fetchone()
        for newline in ("\r\n", "\n"):
            if data.endswith(newline.encode()):
                return bytes(data[: -len(newline)]), newline
        return bytes(data), ""
