"""A line is read as it is stored, whatever its size."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from acp_proxy.capture import log_format
from acp_proxy.protocol.framing import LineFramer
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Stream
from acp_proxy.redaction.redactor import RedactorState
from acp_proxy.store import line_reader, masking
from acp_proxy.store.line_reader import ReadLine, read_line
from acp_proxy.store.log_reader import LogReader
from acp_proxy.store.row_batch import LargeLine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RAW = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"token": "a1"}}).encode()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogReader]:
    """A log with one line, which ends as on Windows."""
    path = tmp_path / "log"
    data = RAW + b"\r\n"
    base = log_format.HEADER.pack(log_format.MAGIC, log_format.BASE, 0, 8, 0) + bytes(8)
    kind, stream = log_format.DATA, log_format.TO_AGENT
    header = log_format.HEADER.pack(log_format.MAGIC, kind, stream, len(data), 1)
    path.write_bytes(base + header + data)
    fd = os.open(path, os.O_RDONLY)
    yield LogReader(fd)
    os.close(fd)


def read(log: LogReader, *, masked: bool) -> ReadLine:
    """The line as it is stored."""
    record = next(one for one in log.records(0, 1 << 20) if one.kind == log_format.DATA)
    line = next(iter(LineFramer().feed(record.payload, record.offset, 1)))
    used = masking.start(log, "secrets", RedactorState("00" * 16), waits=False) if masked else None
    return read_line(log, used, Stream.TO_AGENT, line)


def test_a_line_is_read_with_its_labels(log: LogReader) -> None:
    """Its newline is apart."""
    found = read(log, masked=False)
    assert (found.message.kind, found.message.method) == (Kind.REQUEST, "m")
    assert (found.newline, found.body, found.received) == (b"\r\n", RAW, None)


def test_a_masked_line_says_how_large_it_was(log: LogReader) -> None:
    """What is stored is masked."""
    found = read(log, masked=True)
    assert isinstance(found.body, bytes)
    assert b"[redacted:token:" in found.body
    assert found.received == len(RAW)


@pytest.mark.parametrize("masked", [False, True])
def test_a_large_line_is_read_in_pieces(
    log: LogReader, monkeypatch: pytest.MonkeyPatch, masked: bool
) -> None:
    """As the same line that is held."""
    held = read(log, masked=masked)
    monkeypatch.setattr(line_reader, "LARGE", 10)
    monkeypatch.setattr(line_reader, "EDGE", 60)
    found = read(log, masked=masked)
    assert isinstance(found.body, LargeLine)
    assert b"".join(found.body.pieces()) == held.body
    assert (found.message.method, found.newline) == ("m", b"\r\n")
    assert found.received == held.received
