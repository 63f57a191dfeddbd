"""Reads the times of logs."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

LATEST_NS = 1 << 62
"""Times from here on, in the year 2116, are not believed."""
EARLIEST_NS = 10**17
"""A time before it, in 1973, is no date: the log counts from another moment."""
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
"""A time with or without its date, as nearly all logs write it."""


_NUMBER = re.compile(rb"\s*(\d{9,19})(?:\.(\d{1,9}))?\s*")
_UNITS = ((11, 10**9), (14, 10**6), (17, 10**3), (19, 1))
"""How many digits a time since 1970 has at most in each unit, and its nanoseconds."""


class Stamp(NamedTuple):
    """A time in a log."""

    ns: int
    """Nanoseconds since 1970, in UTC if the log has no zone; without a date since midnight."""
    has_date: bool
    has_zone: bool


def read_stamp(text: bytes) -> Stamp | None:
    """Reads the first time in a text; None if it has none."""
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


def read_epoch(text: bytes) -> Stamp | None:
    """Reads seconds, milliseconds, microseconds or nanoseconds since 1970."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    digits, part = match[1].decode(), (match[2] or b"").decode()
    unit = next(ns for length, ns in _UNITS if len(digits) <= length)
    ns = int(digits) * unit + int(part.ljust(9, "0") or "0") * unit // 10**9
    return Stamp(ns, has_date=True, has_zone=True) if ns < LATEST_NS else None


class Clock:
    """Reads the times of a log in order, and notices midnight between two times of day."""

    def __init__(self) -> None:
        self._day_ns = 0
        self._last_ns: int | None = None
        self._kind: tuple[bool, bool] | None = None
        """Whether the first time has a date and a zone, as all others then should."""

    def time(self, stamp: Stamp) -> int | None:
        """Returns nanoseconds that can be compared with those before.

        Args:
            stamp: the next time. If it goes back by half a day and has no date, a day has passed.

        Returns:
            None if only it, or only the first time, has a date or a zone.
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
    """Returns nanoseconds since 1970 in ISO 8601, UTC; None if no calendar has them."""
    try:
        return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds")
    except OverflowError:
        return None
