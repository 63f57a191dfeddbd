"""Reads logs with one message per line; a time and a direction are before the message."""

import re
from collections.abc import Iterable, Iterator, Mapping

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
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import Lost


def line_log(
    name: str,
    title: str,
    line: re.Pattern[bytes],
    streams: Mapping[bytes, Stream],
    lost: tuple[Lost, ...],
    resolution_ns: int | None = None,
) -> LogFormat:
    """Returns a format in which each line that matches a pattern has one message.

    Other lines are remarks. If the text of a message begins like JSON, it must be JSON. Any other
    text is kept, since the peer may have sent it.

    Args:
        name: the value of ``--from``.
        title: a description of such a log, with an article.
        line: matches a line from its beginning. Its groups are `prefix`, which contains the time,
            `side` and `message`.
        streams: the stream of the messages, by `side`.
        lost: the facts that such logs always lack.
        resolution_ns: the unit of their times in nanoseconds.
    """

    def recognizes(head: bytes) -> bool:
        return any(map(line.match, head.splitlines()))

    def read(pieces: Iterable[bytes], _head: bytes) -> Iterator[Entry]:
        clock = Clock()
        for number, text in numbered(pieces):
            if text is None:
                yield bad_too_long(number)
            elif (match := line.match(text)) is not None:
                yield _message(number, match, streams[match["side"]], clock)
            else:
                kind = RemarkKind.REMARK if text.strip() else RemarkKind.BLANK
                yield Remark(number, number, kind)

    return LogFormat(name, title, lost, recognizes, read, resolution_ns)


def _message(number: int, match: re.Match[bytes], stream: Stream, clock: Clock) -> Entry:
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
    return LoggedLine(number, number, stream, raw, time_ns, has_zone=has_zone)


JETBRAINS = line_log(
    name="jetbrains",
    title="a transport log of a JetBrains IDE",
    line=re.compile(
        rb"(?P<prefix>.{0,200}?)AcpTransport\s+-\s+(?P<side>IN|OUT):\s?(?P<message>.*)", re.DOTALL
    ),
    streams={b"OUT": Stream.TO_AGENT, b"IN": Stream.TO_CLIENT},
    lost=("bytes", "command", "ending", "stderr"),
    resolution_ns=1_000_000,
)
"""The format of ``acp-transport.log``, which the IDEs of JetBrains write.

A line is ``2025-11-14 19:57:13,401 [    460]   FINE - AcpTransport - IN: {"jsonrpc":"2.0",...}``.
OUT marks messages to the agent. Lines of other loggers and of stack traces are remarks.
"""
