"""The state of an indexer between two batches, and how it is stored in the database."""

import json
import sqlite3
from typing import Any

from attrs import define, field

from acp_proxy.base.forms import converter
from acp_proxy.protocol.connection_state import State
from acp_proxy.protocol.framing import LineFramer, Segment
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording.recording import Recording


@define
class IndexerState:
    """What an indexer remembers; stored as JSON, so its names are a format.

    `RowWriter` counts and correlates in it, `RecordHandler` keeps what is known of streams and of
    the recording, and `Indexer` moves ``offset``.
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
    """The places of the pieces of a line that a fault has changed or made up."""
    held: dict[int, int] = field(factory=dict)
    """The frames that faults hold: `frames.seq`, by the number in the log."""
    masked_sizes: dict[int, int] = field(factory=dict)
    """The sizes of the latest masked frames as they were received, in bytes without newlines."""
    search_before: int = 0
    """Up to this number secrets were recognized, and earlier rows are not searched for them yet;
    0 if there are none."""
    correlation: State = field(factory=State)
    recording: Recording | None = None


def load_state(connection: sqlite3.Connection) -> IndexerState:
    """Reads the state that the last indexer of a database stored; a fresh one if there was none.

    Raises:
        ValueError: it cannot be read.
    """
    row = connection.execute("SELECT state FROM main.indexing WHERE id = 1").fetchone()
    if row is None:
        return IndexerState()
    try:
        return converter.structure(_upgraded(json.loads(row[0])), IndexerState)
    except Exception as e:  # a foreign or damaged value makes the converter raise anything
        raise ValueError(f"its indexing state cannot be read: {e}") from None


def _upgraded(stored: dict[str, Any]) -> dict[str, Any]:
    """Adapts what an earlier version has stored to the fields of today.

    Before version 0.2 the state of a connection knew the terminals of the draft alone, by their
    sessions; ``settled`` tells such a state. A dialect was detected by one message, and stays.
    """
    state = stored.get("correlation", {})
    if "evidence" not in state and state.get("handshake", {}).get("dialect"):
        state["evidence"] = {"is_complete": True}
    if "settled" in state:
        terminals = state["unnamed"].get("terminals", {})
        state["terminals"] = {name: {"session": session} for name, session in terminals.items()}
    return stored
