"""The state of an indexer between two batches, and how it is stored in the database."""

import json
import sqlite3
from typing import Any

from attrs import define, field

from acp_proxy.base.forms import converter
from acp_proxy.protocol.connection_state import State
from acp_proxy.protocol.framing import LineFramer, Segment
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import Recording


@define
class IndexerState:
    """The state of an indexer; stored as JSON, so the names of its fields are a file format.

    The state is changed by `RowWriter` (numbers and correlation), `RecordHandler` (streams and the
    recording) and `Indexer` (``offset``).
    """

    offset: int = 0
    """The logical offset in the log; everything before this offset is in rows or in `framers`."""
    next_seq: int = 1
    origin_ns: int = 0
    last_ns: int = 0
    wall_ns: int = 0
    closed: bool = False
    """Whether the record ``CLOSE``, the end of a complete log, was read."""
    framers: dict[Stream, LineFramer] = field(
        factory=lambda: {stream: LineFramer() for stream in Stream}
    )
    undelivered: dict[Stream, int] = field(factory=dict)
    """By stream: how many bytes of an unfinished line were read but not forwarded."""
    latest: dict[Stream, int] = field(factory=dict)
    """By stream: the frame number of the latest line that was read."""
    parts: dict[Stream, list[Segment]] = field(factory=dict)
    """By stream: where the log contains the pieces of a line that a fault changed or injected."""
    delayed: dict[int, int] = field(factory=dict, metadata={"json": "held"})
    """The row number of each frame that faults are holding back, by the frame's number in the
    log."""
    masked_sizes: dict[int, int] = field(factory=dict)
    """The received sizes of the latest masked frames, in bytes without newlines."""
    search_before: int = 0
    """Rows before this number must be searched again for secrets that were recognized later; 0 if
    no search is due."""
    correlation: State = field(factory=State)
    recording: Recording | None = None


def load_state(connection: sqlite3.Connection) -> IndexerState:
    """Reads the state that an earlier indexer stored in a database; a new state if there is none.

    Raises:
        ValueError: the stored state cannot be read.
    """
    sql = "SELECT state, log_offset FROM main.indexing WHERE id = 1"
    row = connection.execute(sql).fetchone()
    if row is None:
        return IndexerState()
    try:
        state = converter.structure(_upgraded(json.loads(row[0])), IndexerState)
    except Exception as e:  # a foreign or damaged value makes the converter raise anything
        raise ValueError(f"its indexing state cannot be read: {e}") from None
    if state.offset != row[1]:
        raise ValueError(f"its indexing state has the offset {state.offset}, its rows {row[1]}")
    return state


def _upgraded(stored: dict[str, Any]) -> dict[str, Any]:
    """Returns the state that an earlier version stored, in the form of this version.

    A state from before version 0.2 has a member ``settled``. It knows the terminals of the 1.0
    draft, but no other terminals. Its dialect was detected from a single message, and is kept.
    """
    state = stored.get("correlation", {})
    if "evidence" not in state and state.get("handshake", {}).get("dialect"):
        state["evidence"] = {"is_complete": True}
    if "settled" in state:
        terminals = state["unnamed"].get("terminals", {})
        state["terminals"] = {name: {"session": session} for name, session in terminals.items()}
    return stored
