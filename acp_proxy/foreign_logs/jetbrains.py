"""Reads ``acp-transport.log`` of the IDEs of JetBrains.

``2025-11-14 19:57:13,401 [    460]   FINE - AcpTransport - IN: {"jsonrpc":"2.0",...}``: OUT goes to
the agent. Lines of other loggers, and of stack traces, are remarks.
"""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.foreign_logs.json_text import read_message
from acp_proxy.foreign_logs.no_messages import broken
from acp_proxy.foreign_logs.pasted_text import PastedText, remark_kind
from acp_proxy.foreign_logs.times import Clock, read_stamp
from acp_proxy.foreign_logs.values import (
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    Repaired,
    UnreadLines,
    bad_too_long,
    numbered,
)
from acp_proxy.protocol.peers import Stream

_LINE = re.compile(
    rb"(?P<prefix>.{0,200}?)AcpTransport\s+-\s+(?P<side>IN|OUT):\s?(?P<message>.*)", re.DOTALL
)
_IN_HEAD = re.compile(rb"AcpTransport\s+-\s+(?:IN|OUT):")
_STREAMS = {b"OUT": Stream.TO_AGENT, b"IN": Stream.TO_CLIENT}


def _recognizes(head: bytes) -> bool:
    return _IN_HEAD.search(head) is not None


def _read(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    pasted, clock = PastedText(head), Clock()
    for number, line in numbered(pieces):
        if line is None:
            yield bad_too_long(number)
        elif (match := _LINE.match(cleaned := pasted.clean(line))) is not None:
            yield _message(number, match, clock)
        else:
            yield Remark(number, number, remark_kind(cleaned))


def _message(number: int, match: re.Match[bytes], clock: Clock) -> Entry:
    raw = match["message"]
    if raw.lstrip()[:1] in (b"{", b"["):
        found = read_message(raw, repairs=True)
        if found is None:
            return UnreadLines(number, number, broken(raw))
        raw = found.raw
    else:
        found = None
    stamp = read_stamp(match["prefix"])
    time_ns = None if stamp is None else clock.time(stamp)
    has_zone = stamp is None or stamp.has_zone
    stream = _STREAMS[match["side"]]
    line = LoggedLine(number, number, stream, raw, time_ns, has_zone=has_zone)
    return Repaired(line) if found is not None and found.is_elided else line


SOURCE = LogFormat(
    name="jetbrains",
    title="a transport log of a JetBrains IDE",
    lost=("bytes", "command", "ending", "stderr"),
    resolution_ns=1_000_000,
    has_preamble=True,
    recognizes=_recognizes,
    read=_read,
)
