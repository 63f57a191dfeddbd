"""Takes away what a terminal, a mail or a bug report puts around the lines of a log."""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.foreign_logs.values import RemarkKind

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_ARROWS = re.compile(rb"(?m)^[ \t]*<{1,3}[ \t]*[{\[]|^[ \t]*<--|^[ \t]*>>")
_QUOTE = re.compile(rb"\s{0,3}(?:> ?)+")
_FENCE = re.compile(rb"\s*+(?:`{3,}+|~{3,}+)[^`]*+")
_ELISION = re.compile(
    rb"[\s/#*;(\[<{]*+(?:\.{3,}+|\xe2\x80\xa6|snip(?:ped)?|omitted|truncated|elided)[\s\])>}*,.]*+",
    re.IGNORECASE,
)


_HEADING = re.compile(rb"\s*(INCOMING|OUTGOING) (TEXT|LINE|OBJECT) >\s*")


class RepeatedText:
    """Finds what acp.el logs two times: the text as it came in, whose lines follow.

    Args:
        head: the beginning of the input.
    """

    def __init__(self, head: bytes) -> None:
        self._has_lines = b"INCOMING LINE >" in head
        self._is_inside = False

    def has(self, line: bytes) -> bool:
        """Whether the next line is a part of such a text."""
        if self._has_lines and (heading := _HEADING.fullmatch(line)) is not None:
            self._is_inside = heading.groups() == (b"INCOMING", b"TEXT")
        return self._is_inside


class PastedText:
    """Cleans the lines of one input.

    Args:
        head: its beginning, which decides whether ``>`` is a quotation mark or an arrow.
    """

    def __init__(self, head: bytes) -> None:
        self._has_quotes = _ARROWS.search(head) is None

    def clean(self, line: bytes) -> bytes:
        """Returns a line without colours and marks of quotation."""
        if b"\x1b" in line:
            line = _ANSI.sub(b"", line)
        if self._has_quotes and (match := _QUOTE.match(line)) is not None:
            return line[match.end() :]
        return line

    def cleaned(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields pieces of lines without colours and marks of quotation.

        Args:
            pieces: each a line with its newline, or a part of one.
        """
        is_start = True
        for piece in pieces:
            yield (self.clean(piece) or b" ") if is_start else piece
            is_start = piece.endswith(b"\n")


def is_fence(line: bytes) -> bool:
    """Whether a line begins or ends a block of code in Markdown."""
    return _FENCE.fullmatch(line) is not None


def remark_kind(line: bytes) -> RemarkKind:
    """Returns what a line without a message is."""
    if not line or line.isspace():
        return RemarkKind.BLANK
    return RemarkKind.ELISION if _ELISION.fullmatch(line) else RemarkKind.REMARK
