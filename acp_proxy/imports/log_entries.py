"""What a reader of a foreign log yields, and what it says of itself.

A reader gets pieces of the input and yields entries in the order of the input. Each entry has the
numbers of its first and last line, and together they cover every line, so that nothing is lost
without being counted. Reading never raises for what the input holds: what cannot be read is a
`UnreadLines`.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.peers import Stream
from acp_proxy.recording.recording import Lost

LONGEST = 64 << 20
"""Bytes of the longest line, and of the longest message in several lines."""
HEAD = 64 << 10
"""Bytes from the beginning of an input by which it is recognized."""


class LoggedLine(NamedTuple):
    """A message, or a line of stderr."""

    first: int
    last: int
    stream: Stream | None
    """None if the log does not say which way it went."""
    raw: bytes
    """Without a newline, in it or at its end."""
    time_ns: int | None = None
    """Nanoseconds since 1970, or since any other moment; None if the log does not say."""
    is_inferred: bool = False
    """Whether the direction is inferred from what the messages say."""
    has_zone: bool = True
    """Whether the offset of the time is known; otherwise it was read as UTC."""
    answered: str | None = None
    """Of an answer: the method of its request, if the log has it."""


class RemarkKind(StrEnum):
    """What lines without a message are."""

    REMARK = "remark"
    """Other lines of the log."""
    BLANK = "blank"
    BRACKETS = "brackets"
    """Only what begins or ends an array of messages."""
    GAP = "gap"
    """Messages may be missing here, since a person has copied two parts of a log."""


class Remark(NamedTuple):
    """Lines that hold no message."""

    first: int
    last: int
    kind: RemarkKind = RemarkKind.REMARK


class UnreadLines(NamedTuple):
    """Lines that should hold a message and cannot be read."""

    first: int
    last: int
    reason: str
    """What was expected and what came, as part of a sentence."""
    is_end: bool = False
    """Whether the input ends within a message, and none follows."""


class Facts(NamedTuple):
    """What a log says of the whole connection; None where it does not."""

    first: int
    last: int
    command: tuple[str, ...] | None = None
    """The words of the agent's command."""


Entry = LoggedLine | Remark | UnreadLines | Facts


@frozen
class LogFormat:
    """A format of foreign logs, and how it is read."""

    name: str
    """For ``--from``."""
    title: str
    """What such a log is, with an article."""
    lost: tuple[Lost, ...]
    """What no such log has."""
    recognizes: Callable[[bytes], bool]
    """Whether an input is such a log, by its first `HEAD` bytes."""
    read: Callable[[Iterable[bytes], bytes], Iterator[Entry]]
    """Reads pieces of the input, each a line with its newline or a part of one; the second argument
    is the beginning of the input."""
    resolution_ns: int | None = None
    """The unit of its times."""
    has_marks: bool = True
    """Whether its lines may say which way messages went; otherwise that is guessed where neither a
    method nor an id shows it, since nobody can add it."""


class NumberedLine(NamedTuple):
    """A line of the input."""

    number: int
    text: bytes | None
    """The line without its newline; None if it is longer than `LONGEST`."""


def numbered(pieces: Iterable[bytes]) -> Iterator[NumberedLine]:
    """Joins pieces of lines, and numbers the lines; never holds more than `LONGEST`.

    A byte order mark at the beginning, as programs for Windows write it, is no part of a line.
    """
    number, parts, size = 1, [], 0
    for piece in pieces:
        size += len(piece)
        if size <= LONGEST:
            parts.append(piece)
        else:
            parts.clear()
        if piece.endswith(b"\n"):
            yield NumberedLine(number, _line(number, parts) if size <= LONGEST else None)
            number, parts, size = number + 1, [], 0
    if size:
        yield NumberedLine(number, _line(number, parts) if size <= LONGEST else None)


def _line(number: int, parts: list[bytes]) -> bytes:
    line = b"".join(parts).removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(BOM_UTF8) if number == 1 else line


BROKEN = "expected a message, got JSON that is broken or cut off"
CUT_OFF = "expected a message, got one that is cut off"
OTHER_JSON = "expected a message, got other JSON"
OTHER_TEXT = "expected a message, with at most a time and > or < before it, got other text"
NOT_WHOLE = "expected a message, got a part of one"
MISPLACED = "expected a message in no other brackets than those of an array"
TOO_LONG = f"longer than {LONGEST >> 20} MiB"
_MOST_HELD = 10_000
"""Entries after a message that is cut off, until it is not the last."""


def bad_too_long(number: int) -> UnreadLines:
    """Returns the entry of a line that is too long to be held."""
    return UnreadLines(number, number, f"expected a line of at most {LONGEST >> 20} MiB")


def with_end(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Marks a message that is cut off as the end of the input if only remarks follow."""
    pending: list[Entry] = []
    for entry in entries:
        if pending and isinstance(entry, Remark) and len(pending) < _MOST_HELD:
            pending.append(entry)
            continue
        yield from pending
        pending = []
        if isinstance(entry, UnreadLines) and entry.reason in (CUT_OFF, NOT_WHOLE):
            pending = [entry]
        else:
            yield entry
    if pending and isinstance(pending[0], UnreadLines):
        yield pending[0]._replace(is_end=True)
    yield from pending[1:]
