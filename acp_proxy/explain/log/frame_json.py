"""Converts frames and events to JSON, and to a list of facts for people."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from acp_proxy.base.wording import duration, visible_json
from acp_proxy.explain.observed_faults import described
from acp_proxy.explain.origins import known_members, took
from acp_proxy.protocol.jsonrpc import MESSAGE_KINDS
from acp_proxy.recording.recording import Recording
from acp_proxy.recording.text_form.text_lines import Pieces, large_member
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row, is_excerpt

FRAME_MEMBERS = (
    "seq", "t_ns", "t_first_ns", "stream", "kind", "method", "rpc_id", "exchange", "session",
    "turn", "tool_call", "terminal", "size", "newline", "delivered", "parse_error", "fault",
)  # fmt: skip
"""The members of a frame's JSON that come before the frame's line."""
_encode = msgspec.json.Encoder().encode


def frame_json(row: Row) -> bytes:
    """Returns the JSON of a row of `frames`, with a person's note in the member ``note``.

    The last member contains the line of the frame:

    - ``message`` for a message, which is copied unchanged;
    - ``text`` for a line that is not a message, and for a message that strict parsers refuse;
    - ``base64`` for a line that is not UTF-8.
    """
    value = _labels(row)
    raw = bytes(row["raw"])
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        value["base64"] = base64.b64encode(raw).decode()
    else:
        is_message = row["kind"] in MESSAGE_KINDS and _is_json(raw)
        value["message" if is_message else "text"] = msgspec.Raw(raw) if is_message else text
    return _encode(value)


def large_frame_json(row: Row, pieces: Pieces) -> Iterator[bytes]:
    """Yields the JSON of a frame that is too large for memory, without a member ``message``.

    Args:
        row: a row of `frames` without its line.
        pieces: a function that yields the frame's line in pieces.
    """
    yield visible_json(_encode(_labels(row)))[:-1] + b","
    yield from large_member(pieces)
    yield b"}"


def line_parts(row: Row, reader: RecordingReader) -> Iterator[bytes]:
    """Yields the bytes of a frame's line and newline. A very large line comes in pieces.

    Args:
        row: a row of `frames`.
        reader: the recording of the row.
    """
    if is_excerpt(row):
        yield from reader.pieces(row["seq"])
        yield row["newline"].encode()
    else:
        yield row["raw"] + row["newline"].encode()


def _labels(row: Row) -> Row:
    return {name: row[name] for name in (*FRAME_MEMBERS, *("note",) * ("note" in row))}


def event_json(row: Row) -> bytes:
    """Returns the JSON of a row of `events`, with a person's note in the member ``note``."""
    data = json.loads(row["data"])
    value = {"seq": row["seq"], "t_ns": row["t_ns"], "event": row["kind"], "data": data}
    value |= {"note": row["note"]} if "note" in row else {}
    return json.dumps(value, separators=(",", ":")).encode()


def facts(row: Row, recording: Recording, *, live: bool = False) -> Iterator[tuple[str, Any]]:
    """Yields the names and values of all facts about a frame or event, except its bytes.

    Args:
        row: a row of `RecordingReader.rows`.
        recording: the recording of the row.
        live: whether an answer to the frame may still come.
    """
    row = known_members(recording, row)
    if row["seq"] in recording.row_notes:
        yield "note", recording.row_notes[row["seq"]]
    if (t_ns := row["t_ns"]) is not None:
        at = f"{recording.clock(t_ns):%Y-%m-%d %H:%M:%S.%f %z}".rstrip()
        clock = "" if recording.known_start is None else f"{at}, "
        yield "time", f"{clock}{t_ns / 1e9:.6f} s after the start"
    if "raw" not in row:
        yield "event", row["kind"]
        return
    if t_ns != row["t_first_ns"] and (lasted := took(recording, t_ns - row["t_first_ns"])):
        yield "arrived", f"over {lasted}"
    for name in ("stream", "kind", "method"):
        yield name, row[name]
    yield "id", row["rpc_id"]
    for name in ("exchange", "session", "turn", "tool_call", "terminal"):
        yield name, row[name]
    if row["size"] is not None:
        yield "size", f"{row['size']} bytes"
        yield "newline", {"\n": "\\n", "\r\n": "\\r\\n"}.get(row["newline"], "none")
    yield "delivered", row["delivered"]
    yield "fault", row["fault"]
    for text in described(row):
        yield "fired", text
    yield "parse_error", row["parse_error"]
    yield "answer" if row["kind"] == "request" else "answers", _answer(row, recording, live)


def _answer(row: Row, recording: Recording, live: bool) -> str:
    if row["request_seq"] is None:
        return ""
    if row["kind"] != "request":
        return f"{row['request_seq']}{_after(row, recording)}"
    if row["response_seq"] is None:
        still = "none yet" if recording.origin is None else "none in the import"
        return still if live else "none"
    return f"{row['response_seq']}{_after(row, recording)}"


def _after(row: Row, recording: Recording) -> str:
    latency_ns = row["latency_ns"]
    return "" if latency_ns is None else f", after {duration(latency_ns, recording.step_ns)}"


_check = msgspec.json.Decoder(msgspec.Raw)


def _is_json(raw: bytes) -> bool:
    try:
        _check.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return b"\n" not in raw and b"\r" not in raw
