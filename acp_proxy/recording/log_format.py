"""The format of a capture log: its records, and the interface that writes them.

A log is a sequence of records, each with a header of 20 bytes and a payload. The header contains a
magic word, the kind of record, the stream, the length of the payload, and the time in nanoseconds
of the monotonic clock. The payload of a data record is the bytes that were read. Most other
payloads are lists of fields.
"""

import os
import struct
from _signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM

MAGIC = b"\xf5acp"
HEADER = struct.Struct("<4sBBxxIQ")
HEADER_SIZE = HEADER.size
MAX_PAYLOAD = 1 << 24
"""The largest length of a payload. A larger length in a header means that the record is damaged."""

# Streams.
NO_STREAM, TO_AGENT, TO_CLIENT, STDERR = 0, 1, 2, 3
STREAM_NAMES = ("", "to-agent", "to-client", "stderr")

# Kinds of record.
DATA = 1  # payload: the chunk as it was read
END = 2  # a stream ended; fields: reason
UNDELIVERED = 3  # the last `bytes` bytes of the stream were read but could not be forwarded
START = 4  # fields: everything known at the start
SIGNAL = 5  # we received a signal, or sent one; fields: signal, action, reason
EXIT = 6  # the agent process ended; fields: code or signal
GAP = 7  # bytes that could not be logged; fields: reason, since, the number of bytes per stream
CLOSE = 8  # the recording is complete; fields: reason
BASE = 9  # payload: the logical offset of the next record, 8 bytes
NOTE = 10  # information for readers; fields: action, reason and details
PART = 11  # payload: a piece of a line, for the next FAULT or MADE record of its stream
FAULT = 12  # a rule fired at the latest line of the stream; see `record.faulted.fault_notes`
MADE = 13  # a line that a rule made up, from the preceding parts
EFFECT = 14  # an effect of a rule that is not a line; fields: rule, action and details
MASKING = 15  # first in an emptied log: the state of masking, as JSON
SENT = 16  # a delayed line is delivered; fields: held, late
LAST_KIND = SENT

STOPPING = (SIGTERM, SIGINT, SIGHUP, SIGQUIT)
"""Signals that stop a recorder. All other signals are only forwarded to the agent."""

GAVE_UP = "its client gave up on it"
"""The reason in a `SIGNAL` event: the client gave up on the agent. The client sent SIGALRM to the
recorder, and the recorder sent SIGTERM to the agent."""

MARKER_KEY = "marker_key"
"""The field of ``START`` with the key that makes the markers of secrets. Only the log has this
field."""

SECRETS_KEY = "secret"
"""The field of ``START`` with the secrets that are known when the recording begins, each after its
marker. Only the log has this field."""

HASHES_KEY = "secret_hash"
"""The field of ``START`` with keyed hashes of the secrets in the recorder's environment. Only the
log has this field."""

BASE_SIZE = HEADER_SIZE + 8


def pack_fields(fields: "dict[str, str | int | list[str]]") -> bytes:
    """Encodes the fields of a record as ``key=value``, joined by NUL.

    A list becomes one ``key=value`` for each item, all with the same key. NUL as the separator
    preserves file names and arguments, since they can contain any byte except NUL.
    """
    parts = []
    for key, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            parts.append(f"{key}={item}")
    return os.fsencode("\0".join(parts))


def unpack_fields(payload: bytes) -> "dict[str, list[str]]":
    """Decodes the result of `pack_fields`; each key has the list of its values, in order."""
    fields: dict[str, list[str]] = {}
    for part in payload.split(b"\0") if payload else []:
        key, _, value = os.fsdecode(part).partition("=")
        fields.setdefault(key, []).append(value)
    return fields


class Log:
    """The interface of a log. This class stores nothing; it is used if nothing can be recorded.

    Attributes:
        path: the path of the log file; empty if there is none.
        size: the logical offset of the log's end: how many bytes were logged, including bytes that
            were removed from the file later.
    """

    path = ""
    size = 0

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk that was read.

        Args:
            stream: the stream that the chunk was read from.
            t_ns: when the chunk was read, in nanoseconds of the monotonic clock.
            chunk: the bytes.
        """

    def event(self, kind: int, fields: "dict[str, str | int | list[str]]", stream: int = 0) -> bool:
        """Logs something other than a chunk, with the current time.

        Args:
            kind: the kind of record.
            fields: see `pack_fields`.
            stream: the stream that the record is about, if any.

        Returns:
            Whether the record was logged.
        """
        return False

    def append_all(self, records: "list[tuple[int, int, int, bytes]]") -> None:
        """Logs several records together: chunks, and records of what faults did to them.

        Args:
            records: for each record, its kind, stream, monotonic nanoseconds and payload.
        """
