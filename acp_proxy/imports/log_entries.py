"""The entries that a reader of a foreign log yields, and the description of its format.

A reader gets pieces of the input and yields entries in the order of the input. Each entry has the
numbers of its first and last line, and together the entries cover every line, so that no line is
lost uncounted. Content never makes a reader raise an error: unreadable lines are `UnreadLines`.
"""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.peers import Stream
from acp_proxy.recording.recording import Lost

LONGEST = 64 << 20
"""The size of the longest line, and of the longest message in several lines, in bytes."""
HEAD = 64 << 10
"""How many bytes at the beginning of an input are used to recognize its format."""


class LoggedLine(NamedTuple):
    """A message, or a line of stderr."""

    first: int
    last: int
    stream: Stream | None
    """None if the log does not show the direction."""
    raw: bytes
    """The bytes, which never contain a newline."""
    time_ns: int | None = None
    """Nanoseconds since 1970, or since any other moment; None if the log has no time."""
    is_inferred: bool = False
    """Whether the direction is inferred from the messages."""
    has_zone: bool = True
    """Whether the time zone is known; otherwise UTC is assumed."""
    answered: str | None = None
    """For an answer: the method of its request, if the log has it."""


class RemarkKind(StrEnum):
    """The kinds of lines without a message."""

    REMARK = "remark"
    """Other lines of the log."""
    BLANK = "blank"
    BRACKETS = "brackets"
    """Only the beginning or the end of an array of messages."""
    GAP = "gap"
    """Messages may be missing here, since a person copied two parts of a log."""


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
    """Whether the input ends inside this message."""


class Facts(NamedTuple):
    """The facts of a log about the whole connection; None if the log lacks them."""

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
    """A description of such a log, with an article."""
    lost: tuple[Lost, ...]
    """The facts that such logs always lack."""
    recognizes: Callable[[bytes], bool]
    """Returns whether an input is such a log, from its first `HEAD` bytes."""
    read: Callable[[Iterable[bytes], bytes], Iterator[Entry]]
    """Reads pieces of the input, each a line with its newline, or a part of a line; the second
    argument is the beginning of the input."""
    resolution_ns: int | None = None
    """The unit of its times."""
    has_marks: bool = True
    """Whether its lines may show directions. If not, a direction that neither a method nor an id
    shows is guessed, since the user cannot add a mark."""


class NumberedLine(NamedTuple):
    """A line of the input."""

    number: int
    text: bytes | None
    """The line without its newline; None if it is longer than `LONGEST`."""


def numbered(pieces: Iterable[bytes]) -> Iterator[NumberedLine]:
    """Joins pieces to lines, and numbers the lines; never keeps more than `LONGEST` bytes.

    A byte order mark at the beginning, as written by programs for Windows, is removed.
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
"""The number of remarks after which an incomplete message no longer counts as the end."""


def bad_too_long(number: int) -> UnreadLines:
    """Returns the entry of a line that is too long."""
    return UnreadLines(number, number, f"expected a line of at most {LONGEST >> 20} MiB")


def with_end(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Marks an incomplete message as the end of the input if only remarks follow it."""
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
