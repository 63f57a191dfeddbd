"""Reads ``acp-transport.log`` of JetBrains IDEs.

A line looks like ``2025-11-14 19:57:13,401 [    460]   FINE - AcpTransport - IN: {"jsonrpc":...}``.
OUT means to the agent. Lines of other loggers and stack traces are remarks.
"""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.imports.embedded_json import Brackets, read_message
from acp_proxy.imports.headings import Clock, read_stamp
from acp_proxy.imports.log_entries import (
    CUT_OFF,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
    bad_too_long,
    numbered,
)
from acp_proxy.imports.no_messages import broken
from acp_proxy.protocol.peers import Stream

_LINE = re.compile(
    rb"(?P<prefix>.{0,200}?)AcpTransport\s+-\s+(?P<side>IN|OUT):\s?(?P<message>.*)", re.DOTALL
)
_IN_HEAD = re.compile(rb"AcpTransport\s+-\s+(?:IN|OUT):")
_STREAMS = {b"OUT": Stream.TO_AGENT, b"IN": Stream.TO_CLIENT}


def _recognizes(head: bytes) -> bool:
    return _IN_HEAD.search(head) is not None


def _read(pieces: Iterable[bytes], _head: bytes) -> Iterator[Entry]:
    clock = Clock()
    for number, line in numbered(pieces):
        if line is None:
            yield bad_too_long(number)
        elif (match := _LINE.match(line)) is not None:
            yield _message(number, match, clock)
        else:
            yield Remark(number, number, RemarkKind.REMARK if line.strip() else RemarkKind.BLANK)


def _message(number: int, match: re.Match[bytes], clock: Clock) -> Entry:
    raw = match["message"]
    if raw.lstrip()[:1] in (b"{", b"["):
        message = read_message(raw)
        if message is None:
            reason = CUT_OFF if Brackets().end(raw) is None else broken(raw)
            return UnreadLines(number, number, reason)
        raw = message.raw
    stamp = read_stamp(match["prefix"])
    time_ns = None if stamp is None else clock.time(stamp)
    has_zone = stamp is None or stamp.has_zone
    stream = _STREAMS[match["side"]]
    return LoggedLine(number, number, stream, raw, time_ns, has_zone=has_zone)


SOURCE = LogFormat(
    name="jetbrains",
    title="a transport log of a JetBrains IDE",
    lost=("bytes", "command", "ending", "stderr"),
    resolution_ns=1_000_000,
    recognizes=_recognizes,
    read=_read,
)
