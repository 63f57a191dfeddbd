"""What faults did to the frames of a recording, as its client saw it.

A recording that was made with faults holds what each peer said. The client heard what was
delivered of the agent's frames and what was made up; and it said all that is its own, whatever
arrived of that.
"""

import sqlite3

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


class FaultedFrames:
    """The frames that faults touched; next to nothing is read where there were none.

    Attributes:
        lost: numbers of frames of the agent that never arrived.
        injected: numbers of frames that nobody has said.
        changed: numbers of frames of which something else arrived, perhaps the same.
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
        """Whether a frame is one that the client heard, or said."""
        return seq not in (self.lost if from_agent else self.injected)

    def delivered(self, seq: int) -> tuple[bytes, str]:
        """What arrived in place of a changed frame, and what ended its line."""
        (data,) = self._connection.execute(_DELIVERED, (seq,)).fetchone()
        for newline in ("\r\n", "\n"):
            if data.endswith(newline.encode()):
                return bytes(data[: -len(newline)]), newline
        return bytes(data), ""
