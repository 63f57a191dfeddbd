"""Decodes coded rows: numbers become the words that they stand for.

A million rows pass here, so each is decoded without a dict or a call in between.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.recording import FrameHead, Payload
from acp_proxy.store.checked_rows import Mistyped, Row
from acp_proxy.store.schema import KIND_CODES, STREAM_CODES

HEAD = (
    "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.exchange, f.session, f.turn, f.tool_call,"
    " f.terminal, length(f.raw)"
)
"""The columns that `heads` decodes."""
PAYLOAD = "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.session, f.turn, f.tool_call"
"""The columns that `payloads` decodes, but for the line."""
STREAMS = {code: stream.value for stream, code in STREAM_CODES.items()}
_KINDS = {code: kind.value for kind, code in KIND_CODES.items()}

Texts = dict[int | None, str | None]
"""The text of each label, and None for none."""


def texts_by_code(labels: Iterable[tuple[int, str]]) -> Texts:
    """Returns what `heads` and `payloads` look labels up in."""
    return {**dict(labels), None: None}


def heads(rows: Iterable[tuple[Any, ...]], texts: Texts) -> Iterator[FrameHead]:
    """Decodes rows of `HEAD`.

    Args:
        rows: the rows.
        texts: the labels.

    Raises:
        Mistyped: a row holds what no recorder writes.
    """
    for seq, t_ns, stream, kind, method, exchange, session, turn, call, terminal, size in rows:
        if type(t_ns) is not int or type(size) is not int:
            raise Mistyped(f"frame {seq} has no time or no size")
        try:
            values = (
                seq, t_ns, STREAMS[stream], _KINDS[kind], texts[method], exchange,
                texts[session], turn, texts[call], texts[terminal], size,
            )  # fmt: skip
            # What a NamedTuple does itself, in half the time.
            yield tuple.__new__(FrameHead, values)
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has a code that stands for nothing") from None


def payloads(rows: Iterable[tuple[Any, ...]], texts: Texts) -> Iterator[Payload]:
    """Decodes rows of `PAYLOAD` and the line, or NULL for one that is too large.

    Args:
        rows: the rows.
        texts: the labels.

    Raises:
        Mistyped: a row holds what no recorder writes.
    """
    for seq, t_ns, stream, kind, method, session, turn, call, raw in rows:
        if type(t_ns) is not int or (type(raw) is not bytes and raw is not None):
            raise Mistyped(f"frame {seq} has no time or no bytes")
        try:
            words = (STREAMS[stream], _KINDS[kind], texts[method], texts[session])
            # What a NamedTuple does itself, in half the time.
            yield tuple.__new__(Payload, (seq, t_ns, *words, turn, texts[call], raw))
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has a code that stands for nothing") from None


def head_of(row: Row) -> FrameHead:
    """Returns the head of a row of `frames`."""
    return FrameHead._make(row[name] for name in FrameHead._fields)


def payload_of(row: Row, largest: int) -> Payload:
    """Returns the payload of a row of `frames`.

    Args:
        row: the row.
        largest: bytes; a longer line is left out.
    """
    payload = Payload._make(row[name] for name in Payload._fields)
    return payload if row["size"] <= largest else payload._replace(raw=None)
