"""The entries that a reader of a foreign log yields, and the description of its format.

A reader gets pieces of the input and yields entries in order. Each entry has the numbers of its
first and last line, and together the entries cover every line. A reader never raises an error
because of the input: lines that cannot be read become `UnreadLines`.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import Lost

LONGEST = 64 << 20
"""The largest size, in bytes, of a line, and of a message over several lines."""
HEAD = 64 << 10
"""The number of bytes at the beginning of an input that are used to recognize the format."""


class LoggedLine(NamedTuple):
    """A message, or a line of stderr."""

    first: int
    last: int
    stream: Stream | None
    """The stream; None if the log does not show the direction."""
    raw: bytes
    """The bytes of the line; they never contain a newline."""
    time_ns: int | None = None
    """The time in nanoseconds, since 1970 or since another moment; None if the log has no time for
    the line."""
    is_inferred: bool = False
    """Whether the direction was inferred from the messages."""
    has_zone: bool = True
    """Whether the time zone is known; if not, the time is taken as UTC."""
    answered: str | None = None
    """For an answer: the method of its request, if the log names the method."""


class RemarkKind(StrEnum):
    """The kinds of lines without a message."""

    REMARK = "remark"
    """Lines with text that is not a message."""
    BLANK = "blank"
    BRACKETS = "brackets"
    """Lines with only the beginning or the end of an array of messages."""
    GAP = "gap"
    """A place where messages may be missing, since a person has joined two parts of a log."""


class Remark(NamedTuple):
    """Lines without a message."""

    first: int
    last: int
    kind: RemarkKind = RemarkKind.REMARK


class UnreadLines(NamedTuple):
    """Lines that should contain a message but cannot be read."""

    first: int
    last: int
    reason: str
    """The expected and the actual content, as part of a sentence."""
    is_end: bool = False
    """Whether the input ends inside the message."""


class Facts(NamedTuple):
    """The facts in a log about the whole connection; None for each fact that the log lacks."""

    first: int
    last: int
    command: tuple[str, ...] | None = None
    """The words of the agent's command."""


Entry = LoggedLine | Remark | UnreadLines | Facts


@frozen
class LogFormat:
    """A format of foreign logs, and how it is read."""

    name: str
    """The value of ``--from``."""
    title: str
    """A description of a log in this format, with an article: ``a plain log``."""
    lost: tuple[Lost, ...]
    """The facts that logs in this format always lack."""
    recognizes: Callable[[bytes], bool]
    """Returns whether an input is in this format; the argument is the first `HEAD` bytes."""
    read: Callable[[Iterable[bytes], bytes], Iterator[Entry]]
    """Yields the entries of an input. The arguments are the input's pieces (lines, or parts of
    lines) and its beginning."""
    resolution_ns: int | None = None
    """How many nanoseconds the unit of the log's times has; None if there is no fixed unit."""
    has_marks: bool = True
    """Whether lines may have direction marks. If not, unclear directions are guessed."""


class NumberedLine(NamedTuple):
    """A line of the input."""

    number: int
    text: bytes | None
    """The line without its newline; None if it is longer than `LONGEST`."""


def numbered(pieces: Iterable[bytes]) -> Iterator[NumberedLine]:
    """Joins pieces to lines and numbers the lines from 1; never keeps more than `LONGEST` bytes.

    Removes a byte order mark, which programs for Windows may write, from the input's beginning.
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
MISPLACED = "expected a message outside of other JSON, or in an array"
TOO_LONG = f"longer than {LONGEST >> 20} MiB"
_MOST_HELD = 10_000
"""How many remarks after a cut message are kept, to see whether the input ends with them."""


def bad_too_long(number: int) -> UnreadLines:
    """Returns the entry for a line that is too long."""
    return UnreadLines(number, number, f"expected a line of at most {LONGEST >> 20} MiB")


def with_end(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yields the entries. Sets `is_end` of an incomplete message if only remarks follow it."""
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
