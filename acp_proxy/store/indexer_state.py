"""What an indexer remembers between two batches, and how it is kept in the database."""

import sqlite3

from attrs import define, field

from acp_proxy.forms import converter
from acp_proxy.protocol.correlation import State
from acp_proxy.protocol.framing import LineFramer, Segment
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording import Recording


@define
class IndexerState:
    """All that is remembered between two batches; stored as JSON, so its names are a format.

    `RowWriter` counts in ``next_seq`` and correlates in ``correlation``, `RecordHandler` keeps
    what is known of streams and of the recording, and `Indexer` moves ``offset``.
    """

    offset: int = 0
    """Logical: everything before it is in rows or in `framers`."""
    next_seq: int = 1
    origin_ns: int = 0
    last_ns: int = 0
    wall_ns: int = 0
    closed: bool = False
    """Whether the log's last record was seen."""
    framers: dict[Stream, LineFramer] = field(
        factory=lambda: {stream: LineFramer() for stream in Stream}
    )
    undelivered: dict[Stream, int] = field(factory=dict)
    """Bytes of an unfinished line that were read and not written on."""
    latest: dict[Stream, int] = field(factory=dict)
    """The number of the last line that was received on each stream."""
    parts: dict[Stream, list[Segment]] = field(factory=dict)
    """Where the pieces of a line stand that a fault has changed or made up."""
    correlation: State = field(factory=State)
    recording: Recording | None = None


def load_state(connection: sqlite3.Connection) -> IndexerState:
    """Reads what the last indexer of a database remembered; a fresh state if there was none.

    Raises:
        ValueError: the database holds something else there.
    """
    row = connection.execute("SELECT state FROM main.indexing WHERE id = 1").fetchone()
    if row is None:
        return IndexerState()
    try:
        return converter.loads(row[0], IndexerState)
    except Exception as e:  # whatever a foreign or damaged value makes the converter raise
        raise ValueError(f"its indexing state cannot be read: {e}") from None
