"""Reads the text before a message in a log: the time and the direction of the message."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from acp_proxy.protocol.jsonrpc import Stream

LATEST_NS = 1 << 62
"""The lowest time that is considered wrong, in nanoseconds since 1970 (in the year 2116)."""
EARLIEST_NS = 10**17
"""The lowest time that counts as a date, in nanoseconds since 1970 (in the year 1973). A log with
a lower time does not count its times from 1970."""
_S = 10**9
_DAY = 86_400 * _S
_NOON = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

STAMP = re.compile(
    rb"(?P<date>\d{4}-\d\d-\d\d)?(?(date)[T ]|(?<!\d))"
    rb"(?P<clock>[0-2]\d:[0-5]\d:[0-5]\d|\d:[0-5]\d:[0-5]\d(?=(?:[.,]\d{1,9})?\W{0,3}[AaPp][Mm]))"
    rb"(?:[.,](?P<part>\d{1,9}))?\d*(?:(?:\s|\xe2\x80\xaf)?(?P<half>[AaPp])[Mm]\b)?"
    rb"(?P<zone>Z|[+-]\d\d:?\d\d)?(?![\d:])"
)
"""Matches a time with or without a date, in the format of nearly all logs."""


class Stamp(NamedTuple):
    """A time in a log."""

    ns: int
    """The time in nanoseconds since 1970, or since midnight if there is no date. A time without a
    time zone is read as UTC."""
    has_date: bool
    has_zone: bool


def read_stamp(text: bytes) -> Stamp | None:
    """Reads the first time in a text; None if there is no time."""
    for match in STAMP.finditer(text):
        if (stamp := _stamp(match)) is not None:
            return stamp
    return None


def _stamp(match: re.Match[bytes]) -> Stamp | None:
    date, clock, part, half, zone = (
        (match[name] or b"").decode() for name in ("date", "clock", "part", "half", "zone")
    )
    try:
        moment = datetime.fromisoformat(f"{date or '1970-01-01'}T{clock:0>8}+00:00")
    except ValueError:
        return None
    if half and moment.hour <= _NOON:
        moment = moment.replace(hour=moment.hour % _NOON + (_NOON if half in "Pp" else 0))
    since = moment - _EPOCH
    ns = (since.days * 86_400 + since.seconds) * _S + int(part.ljust(9, "0") or 0)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * _S
        ns += offset if zone[0] == "-" else -offset
    return Stamp(ns, bool(date), bool(zone)) if 0 <= ns < LATEST_NS else None


class Clock:
    """Reads the times of a log in order, and detects midnight between two times of day."""

    def __init__(self) -> None:
        self._day_ns = 0
        self._last_ns: int | None = None
        self._kind: tuple[bool, bool] | None = None
        """Whether the first time has a date, and whether it has a zone; None before the first time.
        Later times must have the same form."""

    def time(self, stamp: Stamp) -> int | None:
        """Converts the next time to nanoseconds that can be compared with the earlier results.

        If a time without a date is more than half a day earlier than the previous time, midnight
        has passed.

        Args:
            stamp: the next time.

        Returns:
            The nanoseconds; None if this time cannot be compared with the log's first time: only
            one of the two has a date, or only one has a time zone.
        """
        self._kind = self._kind or stamp[1:]
        if stamp[1:] != self._kind:
            return None
        if stamp.has_date:
            return stamp.ns
        ns = stamp.ns + self._day_ns
        if self._last_ns is not None and self._last_ns - ns > _DAY // 2:
            self._day_ns += _DAY
            ns += _DAY
        self._last_ns = ns
        return ns


def as_iso(ns: int) -> str | None:
    """Writes nanoseconds since 1970 as a time in ISO 8601 and UTC; None if out of range."""
    try:
        return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds")
    except OverflowError:
        return None


_RIGHT = rb"(?:-{1,9}>|={1,9}>|\xe2\x86\x92|\xe2\x87\x92|\xe2\x9e\xa1(?:\xef\xb8\x8f)?)"
_LEFT = rb"(?:<-{1,9}|<={1,9}|\xe2\x86\x90|\xe2\x87\x90|\xe2\xac\x85(?:\xef\xb8\x8f)?)"
_CLIENT = rb"(?<![a-z\d])(?:client|editor|c)(?![a-z\d])"
_AGENT = rb"(?<![a-z\d])(?:agent|server|a)(?![a-z\d])"


def _marks(outward: bytes, inward: bytes) -> re.Pattern[bytes]:
    """Returns a pattern for a direction mark. Only the message's kind and method may follow it.

    Args:
        outward: matches a mark of the direction to the agent.
        inward: matches a mark of the direction to the client.
    """
    either = rb"(?:(?P<out>" + outward + rb")|" + inward + rb")"
    behind = rb"(?P<behind>(?:\s*\[\w+\])?(?:\s+[\w$/.-]{1,60}){0,2})[\s:|\]]*\Z"
    return re.compile(either + behind, re.IGNORECASE)


_PEERS = _marks(
    rb"%s\s*(?:%s|to\s)\s*%s|%s\s*%s\s*%s" % (_CLIENT, _RIGHT, _AGENT, _AGENT, _LEFT, _CLIENT),
    rb"%s\s*(?:%s|to\s)\s*%s|%s\s*%s\s*%s" % (_AGENT, _RIGHT, _CLIENT, _CLIENT, _LEFT, _AGENT),
)
_ARROWS = _marks(rb"%s|>{1,3}" % _RIGHT, rb"(?:%s|<{1,3})" % _LEFT)
_WORDS = _marks(
    rb"(?<![a-z])(?:outgoing|send(?:s|ing)?|sent|stdin|writ(?:es?|ing)|to[-_ ]agent"
    rb"|from[-_ ]client|(?:out|tx)(?=\s*[:\]|]))(?![a-z])|\[client\]|(?<![a-z])client(?=\s*:)",
    rb"(?:(?<![a-z])(?:incoming|recv|receiv(?:es?|ed|ing)|stdout|read|got|to[-_ ]client"
    rb"|from[-_ ]agent|(?:in|rx)(?=\s*[:\]|]))(?![a-z])|\[(?:agent|server)\]"
    rb"|(?<![a-z])(?:agent|server)(?=\s*:))",
)
_BRACKETED = re.compile(rb"\[[^\[\]]{0,60}\]")
_LEVEL = re.compile(rb"[^\w\"'`]*(?:[A-Z]{4,8}[^\w\"'`]*)?")
"""Matches a text that has no words except a log level. Its times are already removed."""
_LONGEST = 300
"""The size in bytes of the longest text that can be a heading."""


class DirectionMark(NamedTuple):
    """A mark that shows the direction of a message."""

    stream: Stream
    names_peers: bool
    """Whether the mark names the two peers. Otherwise its meaning depends on who wrote the log."""
    is_alone: bool
    """Whether a line with only this mark announces the message on the next lines."""


class Heading(NamedTuple):
    """The mark and the time before a message, on the same line or on the lines above."""

    mark: DirectionMark | None = None
    stamp: Stamp | None = None


def read_heading(text: bytes) -> Heading | None:
    """Reads the text before a message; None if this text is too long, or is not a heading.

    A text without a mark is a heading if its only words, outside of brackets, are a time and a
    log level.

    Args:
        text: the text, which may be blank.
    """
    if not text or text.isspace():
        return Heading()
    if len(text) > _LONGEST:
        return None
    mark, stamp = _mark(text), read_stamp(text)
    if mark is None and _LEVEL.fullmatch(_BRACKETED.sub(b"", STAMP.sub(b"", text))) is None:
        return None
    return Heading(mark, stamp)


def _mark(text: bytes) -> DirectionMark | None:
    for pattern in (_PEERS, _ARROWS, _WORDS):
        if (match := pattern.search(text)) is not None:
            stream = Stream.TO_AGENT if match["out"] else Stream.TO_CLIENT
            is_peers = pattern is _PEERS
            is_alone = is_peers or (pattern is _ARROWS and not match["behind"])
            return DirectionMark(stream, is_peers, is_alone or text.rstrip().endswith(b":"))
    return None
