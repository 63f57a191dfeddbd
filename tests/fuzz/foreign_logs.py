"""Fuzzes the formats of `import`: each input is read, and each line belongs to an entry."""

from __future__ import annotations

import io
import json

from acp_proxy.imports.connections import Sent as SentMessage
from acp_proxy.imports.connections import connections
from acp_proxy.imports.log_entries import HEAD
from acp_proxy.imports.log_formats import SOURCES, import_hint, source_of
from acp_proxy.protocol.jsonrpc import Stream
from tests.fuzz import seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target
from tests.support.foreign_log_entries import assert_covered
from tests.support.foreign_log_writers import WRITERS, Sent, conversation_of


def check(data: bytes) -> None:
    """Imports an input; its first byte selects the format, its second the size of the chunks."""
    bytes_left = ByteSource(data)
    source = SOURCES[bytes_left.number(len(SOURCES)) % len(SOURCES)]
    longest = bytes_left.number(300) or -1
    text = bytes_left.rest()
    file = io.BytesIO(text)
    entries = list(source.read(iter(lambda: file.readline(longest), b""), text[:HEAD]))
    assert_covered(entries, text)
    for item in connections(entries):
        if isinstance(item, SentMessage):
            assert b"\n" not in item.line.raw
            if item.line.raw[:1] == b"{" and source.name != "acp-devtools":
                json.loads(item.line.raw)
            assert item.stream in Stream
    recognized = source_of(text[:HEAD])
    assert (recognized is None) == (not import_hint(text[:HEAD]))


def _seeds() -> list[bytes]:
    conversation: list[Sent] = []
    for path in seeds.RECORDINGS[:3]:
        conversation += conversation_of(path)[:8]
    conversation = [
        message
        for message in conversation
        if message.stream is not Stream.STDERR and len(message.raw) < 600
    ]
    names = [source.name for source in SOURCES]
    return [
        bytes([names.index(writer.format), 0]) + writer.write(conversation[:6]).encode()
        for writer in WRITERS.values()
    ]


WORDS = (
    b"OUT: ", b"IN: ", b"-->", b"<--", "→".encode(), "←".encode(), b"...", "…".encode(), b"> ",
    b"```\n", b'{"jsonrpc":"2.0",', b'"method":"initialize"', b"AcpTransport - IN: ", b'"raw":"',
    b'"_direction":"incoming"', b'"_direction":"stderr"', b"# ", b"Sending data:\n",
    b"[client] {'a': ", b"\x1b[31m", b"\\", b'\\"', b"{" * 200, b"[" * 200, b"'" * 50, b"\n\n",
    b"2026-01-02 03:04:05,678", b"23:59:59", b"\xff", b"\r\n", b",\n", b'"error":{}}\n',
    b'{"schema":"acpx.session.journal.v1"}\n',
)  # fmt: skip
TARGET = Target(
    "foreign_logs",
    check,
    _seeds,
    WORDS,
    longest=8192,
    steps=300_000,
    steps_per_byte=600,
    examples=15,
)
