"""What a capture log is: its records, and the interface by which they are written.

A log is a run of records, each a header of 20 bytes and a payload. A header has a magic word, the
kind of record, the stream, the length of the payload, and monotonic nanoseconds. The payload of a
chunk is its bytes; that of most others is fields.
"""

import os
import struct
from _signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM

MAGIC = b"\xf5acp"
HEADER = struct.Struct("<4sBBxxIQ")
HEADER_SIZE = HEADER.size
MAX_PAYLOAD = 1 << 24
"""No record is larger, so a length beyond it is a torn record and never a reason to allocate."""

# Streams.
NO_STREAM, TO_AGENT, TO_CLIENT, STDERR = 0, 1, 2, 3
STREAM_NAMES = ("", "to-agent", "to-client", "stderr")

# Kinds of record.
DATA = 1  # payload: the chunk as it was read
END = 2  # a stream ended; fields: reason
UNDELIVERED = 3  # the last `bytes` bytes of the stream were read and could not be written on
START = 4  # fields: everything known at the start
SIGNAL = 5  # we received a signal, or sent one; fields: signal, action, reason
EXIT = 6  # the agent process ended; fields: code or signal
GAP = 7  # bytes that could not be written; fields: reason, since, a count per stream
CLOSE = 8  # the recording is whole; fields: reason
BASE = 9  # payload: the logical offset of the next record, 8 bytes
NOTE = 10  # something a reader should know; fields: action, reason and what belongs to it
PART = 11  # payload: a piece of a line, for the next FAULT or MADE record of its stream
FAULT = 12  # a rule fired at the last line of the stream; see `record.faulted.fault_notes`
MADE = 13  # a line that a rule made up, which is the parts before
EFFECT = 14  # what a rule did that is no line; fields: rule, action and what belongs to it
MASKING = 15  # first in an emptied log: what masking the rest has to know, as JSON
SENT = 16  # a line that a rule has held goes out; fields: held, late
LAST_KIND = SENT

STOPPING = (SIGTERM, SIGINT, SIGHUP, SIGQUIT)
"""The signals on which a recorder stops; all others are only passed on."""

MARKER_KEY = "marker_key"
"""The field of ``START`` with the key of the markers that replace secrets; only the log has it."""

SECRETS_KEY = "secret"
"""The field of ``START`` with secrets that are known before: markers and values, by turns. Only the
log has it."""

HASHES_KEY = "secret_hash"
"""The field of ``START`` with keyed hashes of secrets in our environment; only the log has it."""

BASE_SIZE = HEADER_SIZE + 8


def pack_fields(fields: "dict[str, str | int | list[str]]") -> bytes:
    """Encodes an event's fields as ``key=value`` joined by NUL; a list repeats its key.

    File names and arguments may hold any byte but NUL, so they come through unchanged.
    """
    parts = []
    for key, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            parts.append(f"{key}={item}")
    return os.fsencode("\0".join(parts))


def unpack_fields(payload: bytes) -> "dict[str, list[str]]":
    """Decodes what `pack_fields` made; every value is a list, in the order written."""
    fields: dict[str, list[str]] = {}
    for part in payload.split(b"\0") if payload else []:
        key, _, value = os.fsdecode(part).partition("=")
        fields.setdefault(key, []).append(value)
    return fields


class Log:
    """The interface of a log; this one keeps nothing, for a recording that cannot be made.

    Attributes:
        path: of the file, or empty.
        size: the logical end of the log, in bytes.
    """

    path = ""
    size = 0

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk that was read.

        Args:
            stream: where it was read.
            t_ns: when, by the monotonic clock.
            chunk: its bytes.
        """

    def event(self, kind: int, fields: "dict[str, str | int | list[str]]", stream: int = 0) -> bool:
        """Logs something that is not a chunk, now.

        Args:
            kind: the kind of record.
            fields: see `pack_fields`.
            stream: the stream that it is about, if any.

        Returns:
            Whether it could be logged.
        """
        return False

    def append_all(self, records: "list[tuple[int, int, int, bytes]]") -> None:
        """Logs chunks with the notes on them.

        Args:
            records: the kind, stream, monotonic nanoseconds and payload of each.
        """
