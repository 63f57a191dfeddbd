"""Numbers and correlates frames and events in order, and writes their rows.

The indexer, which reads a log, and the import of the text form both use this module, so equal
frames become equal rows. The writer derives each frame's exchange, turn and other labels.

Some labels depend on the dialect, which may change up to the end of the first turn. If the dialect
changes, the sessions and turns of all earlier frames are determined again. The numbers of frames
and all other labels stay.

The callers decide where frames come from, and how a line becomes a message.
"""

import json
import sqlite3

from acp_proxy.base.forms import converter
from acp_proxy.base.limits import LARGE_LINE, LINE_EDGE
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State, Transition
from acp_proxy.protocol.dialects import V1
from acp_proxy.protocol.jsonrpc import DIRECTIONS, Kind, Message, Stream, read
from acp_proxy.protocol.outline import read_outline
from acp_proxy.recording.recording import Recording
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_batch import LargeLine, RowBatch, Same
from acp_proxy.store.tables.schema import (
    DELIVERED_CODES,
    KIND_CODES,
    MASKED,
    NEWLINE_CODES,
    STREAM_CODES,
    STREAMS,
)

_ANSWERS = (Kind.RESPONSE, Kind.ERROR)
_FRAMES = f"""
SELECT seq, t_ns, flags & 3, session, turn,
  substr(raw, 1, iif(length(raw) > {LARGE_LINE}, {LINE_EDGE}, {LARGE_LINE})),
  iif(length(raw) > {LARGE_LINE}, substr(raw, -{LINE_EDGE}), NULL)
FROM {{}}.frame_rows WHERE flags & 3 < 3 ORDER BY seq
"""
_MOST_SIZES = 512
"""The most sizes of masked frames that are kept; fewer frames are in transit at any time."""


class RowWriter:
    """Collects rows and writes them; each batch is one transaction.

    Args:
        connection: a database with our tables, writable at least in ``schema``.
        state: the numbers and correlations, which the writer updates. The caller sets
            ``recording``, and ``next_seq`` if numbers are skipped.
        schema: the database to write to: ``main``, or ``tail`` if a reader indexes the tail of the
            log for itself.
        resumable: whether each batch continues existing rows and stores ``state`` for the next
            indexer. Otherwise this writer writes all rows.

    Attributes:
        conversation: the state machine that labels the frames.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        state: IndexerState,
        *,
        schema: str = "main",
        resumable: bool = True,
    ) -> None:
        self.connection = connection
        self.state = state
        self.conversation = Connection(state.correlation)
        self._schema = schema
        self._resumable = resumable
        self._labels: dict[str, int] = dict(connection.execute("SELECT text, id FROM main.labels"))
        self._batch = RowBatch()
        self._written = state.recording if resumable else None
        self._dialect = self.conversation.dialect or V1
        self._is_mislabelled = False

    def set_dialect(self, dialect: str) -> None:
        """Sets the dialect of all later frames; ``auto`` detects the dialect from these frames."""
        self.conversation = Connection(self.state.correlation, dialect)
        self._dialect = self.conversation.dialect or V1

    def add_frame(
        self,
        stream: Stream,
        message: Message,
        newline: bytes,
        t_ns: int,
        lag_ns: int,
        raw: bytes | LargeLine,
        delivered: str = "full",
        fault: str | None = None,
        masked: bool = False,
        received: int | None = None,
        answered: str | None = None,
    ) -> None:
        """Adds the next frame.

        Args:
            stream: the stream of the frame.
            message: the labels of the frame; a line of stderr has the kind stderr.
            newline: the line ending of the frame, a key of ``NEWLINE_CODES``.
            t_ns: nanoseconds from the start of the recording to the last byte of the frame.
            lag_ns: nanoseconds from the first byte of the frame to its last byte.
            raw: the bytes of the frame without the newline. A large line is copied at the commit.
            delivered: ``full``, ``partial`` or ``none``.
            fault: the rule that fired on the frame.
            masked: whether something in the frame is masked.
            received: the size in bytes before masking; None if nothing in the frame is masked.
            answered: the method of the request, if the frame answers a request that is not in the
                recording.
        """
        state, label = self.state, self._label
        seq = state.next_seq
        state.next_seq = seq + 1
        direction = DIRECTIONS.get(stream)
        if direction is None:
            labels = Transition()
        else:
            labels = self.conversation.feed(seq, t_ns, direction, message)
            self._batch.keep(labels)
            if (dialect := self.conversation.dialect or V1) != self._dialect:
                self._dialect = dialect
                is_first = labels.opened is not None and labels.exchange == 1
                self._is_mislabelled |= not is_first
        flags = STREAM_CODES[stream] | NEWLINE_CODES[newline] << 2 | DELIVERED_CODES[delivered] << 4
        if masked:
            flags |= MASKED
        if received is not None:
            self._keep_size(seq, received)
        row = (
            seq,
            flags,
            KIND_CODES[message.kind],
            t_ns,
            lag_ns,
            label(labels.method or (answered if message.kind in _ANSWERS else None)),
            message.rpc_id,
            labels.exchange,
            label(labels.session),
            labels.turn,
            label(labels.tool_call),
            label(labels.terminal),
            message.parse_error,
            fault,
            raw if isinstance(raw, bytes) else None,
        )
        if isinstance(raw, bytes):
            self._batch.frames.append(row)
        else:
            self._batch.large.append((row, raw))

    def add_event(self, kind: str, t_ns: int, data: str) -> None:
        """Adds the next event.

        Args:
            kind: the kind of the event, such as ``exit``.
            t_ns: nanoseconds from the start of the recording.
            data: a JSON object.
        """
        seq = self.state.next_seq
        self.state.next_seq = seq + 1
        self._batch.events.append((seq, t_ns, kind, data))

    def add_fired(
        self,
        seq: int,
        rule: str | None,
        action: str | None,
        received: bytes | Same | None,
        delivered: bytes | Same | None,
        late_ns: int | None = None,
    ) -> None:
        """Adds a row of ``faults_fired``.

        Args:
            seq: the number of the frame. A frame whose bytes are copied (`Same`) must have been
                added before.
            rule: the rule's name.
            action: the kind of the rule.
            received: the received bytes, without newline; None for a line that the fault injected.
            delivered: the forwarded bytes, with newline; None if nothing was forwarded.
            late_ns: the delay of the forwarded bytes; None if nothing was forwarded, or if the
                delay is unknown.
        """
        self._batch.fired.append((seq, rule, action, received, delivered, late_ns))

    def mark_late(self, seq: int, late_ns: int) -> None:
        """Sets the delay of a line that a fault held back.

        Args:
            seq: the number of the line's frame.
            late_ns: the delay in nanoseconds.
        """
        self._batch.late.append((late_ns, seq))

    def mark_fault(self, seq: int, rule: str, delivered: str) -> None:
        """Marks a frame that a rule fired on.

        Args:
            seq: the number of the frame.
            rule: the rule's name.
            delivered: as in `add_frame`.
        """
        self._batch.touched.append((rule, DELIVERED_CODES.get(delivered, 0) << 4, seq))

    def mark_undelivered(self, stream: Stream, lost: int) -> None:
        """Marks the undelivered frames at the end of a stream.

        Args:
            stream: the stream that lost the bytes.
            lost: how many bytes at the end of the stream were read but could not be forwarded.
        """
        sizes = dict(self.state.masked_sizes)
        self._batch.undelivered.append((stream, lost, self.state.next_seq, sizes))

    def dropped_by_faults(self, seqs: list[int]) -> set[int]:
        """Returns which of the given frames a fault withheld; leaves out frames without a row."""
        if not seqs:
            return set()
        sql = (
            f"SELECT seq FROM {self._schema}.frame_rows WHERE fault IS NOT NULL"
            " AND (flags >> 4) & 3 = 2 AND seq IN (SELECT value FROM json_each(?))"
        )
        return {seq for (seq,) in self.connection.execute(sql, (json.dumps(seqs),))}

    def commit(self) -> None:
        """Writes all collected rows in one transaction.

        The rows of a tail are written in the transaction in which the reader reads.

        Raises:
            sqlite3.Error: nothing was written. The rows are kept for the next commit. A tail is
                lost.
        """
        batch, state = self._batch, self.state
        correlation, place = state.correlation, (self.connection, self._schema)
        batch.recording = state.recording if state.recording != self._written else None
        batch.state = self._stored_state()
        try:
            batch.write(*place)
            if self._is_mislabelled:
                state.correlation = label_again(*place, correlation, self._dialect)
                RowBatch(state=self._stored_state()).write(*place)
            if self._schema == "main":  # a tail belongs to a read transaction
                self.connection.commit()
        except sqlite3.Error:
            self.connection.rollback()
            state.correlation = correlation
            raise
        self._written = state.recording
        self._batch = RowBatch()
        if state.correlation is not correlation:
            self.conversation = Connection(state.correlation)
            self._is_mislabelled = False

    def _stored_state(self) -> tuple[int, str] | None:
        return (self.state.offset, converter.dumps(self.state)) if self._resumable else None

    def finish(self, recording: Recording) -> None:
        """Writes the remaining rows, and the final row of the recording.

        If an import lost the durations, the durations of exchanges and turns become NULL.

        Args:
            recording: the row of the recording.

        Raises:
            sqlite3.Error: the rows could not be written.
        """
        self.state.recording = recording
        self.commit()
        if not recording.knows("durations"):
            for column in ("exchanges SET latency_ns", "turns SET duration_ns"):
                self.connection.execute(f"UPDATE {self._schema}.{column} = NULL")
            self.connection.commit()

    def _keep_size(self, seq: int, size: int) -> None:
        """Keeps the size of a frame for `mark_undelivered`, which needs the latest sizes."""
        sizes = self.state.masked_sizes
        sizes[seq] = size
        if len(sizes) > _MOST_SIZES:
            del sizes[next(iter(sizes))]

    def _label(self, text: str | None) -> int | None:
        if text is None:
            return None
        label_id = self._labels.get(text)
        if label_id is None:
            label_id = self._labels[text] = len(self._labels) + 1
            self._batch.labels.append((label_id, text))
        return label_id


def label_again(connection: sqlite3.Connection, schema: str, state: State, dialect: str) -> State:
    """Labels the frames of a recording as if their dialect had been known from the start.

    Args:
        connection: a database with our tables; nothing is committed.
        schema: the database to label: ``main``, or ``tail``, whose rows follow the rows of
            ``main``.
        state: the state of the conversation after the last frame.
        dialect: the detected dialect.

    Returns:
        The new state of the conversation.

    Raises:
        sqlite3.Error: the rows could not be written, for instance because the file is open
            read-only.
    """
    again, batch = Connection(State(), dialect), RowBatch()
    labels: dict[str | None, int] = {}
    for name in dict.fromkeys(("main", schema)):
        labels |= connection.execute(f"SELECT text, id FROM {name}.labels")
        changed = []
        for seq, t_ns, stream, *old, head, tail in connection.execute(_FRAMES.format(name)):
            message = read(head) if tail is None else read_outline(head, tail)
            transition = again.feed(seq, t_ns, DIRECTIONS[STREAMS[stream]], message)
            batch.keep(transition)
            new = [labels.get(transition.session), transition.turn]
            if new != old:
                changed.append((*new, seq))
        sql = f"UPDATE {name}.frame_rows SET session = ?, turn = ? WHERE seq = ?"
        connection.executemany(sql, changed)
    batch.write(connection, schema)
    made = again.state
    made.forced, made.evidence, made.handshake = False, state.evidence, state.handshake
    return made
