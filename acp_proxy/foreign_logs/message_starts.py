"""Finds where messages may begin in a line of any log, and where they end."""

import re
from collections.abc import Iterator
from itertools import islice

from acp_proxy.foreign_logs.json_text import ReadMessage, read_message
from acp_proxy.foreign_logs.line_pattern import MessageStart
from acp_proxy.foreign_logs.markers import edges, is_stderr, read_marker
from acp_proxy.foreign_logs.messages import is_message
from acp_proxy.foreign_logs.splitting import Brackets
from acp_proxy.foreign_logs.times import read_stamp

_NAMES = ("jsonrpc", "method", "params", "result", "error", "id")
_ANY_NAME = "|".join(_NAMES).encode()
_BEGUN_NAME = "|".join(name[:size] for name in _NAMES for size in range(len(name), 0, -1)).encode()
_JSON = re.compile(rb"""\[?\s{0,9}\{(?=\s{0,9}(?:["'}]|\.\.|\xe2\x80\xa6|\Z))""")
_MESSAGE = re.compile(rb"""["'](?:%s)["']\s*:""" % _ANY_NAME)
_CUT_OFF = re.compile(rb"""\s*\[?\s*\{\s*["'](?:%s)["']?\s*""" % _BEGUN_NAME)
_COMPLAINT = re.compile(rb"(?i:\b(?:error|warn|warning|failed|panic(?:ked)?|raw)\b)")
_FAILED = re.compile(rb"(?i:\b(?:error|failed)\b)")
_RAW = re.compile(rb"(?i:\braw:\s{0,9}(?=\{))")
"""What stands before a message that could not be read, and that is repeated here."""
_BETWEEN = re.compile(rb'[\s,;}\]]*+(?:"[^"]{0,60}"\s*:\s*)?')
"""What stands between two messages, also within one large object."""
_APART = re.compile(
    rb"(.*?\bnotif(?:y|ication)?\s*:?\s+)([a-z_$][\w$]*(?:/[\w$]+)+)\s*:?\s*(\{.*\})\s*",
    re.IGNORECASE,
)
"""A notification whose method stands before its params."""
_MOST_BEFORE = 300
_MOST_COMPLAINT = 1_000
_MOST_STARTS = 4
_MOST_BRACES = 16
"""Places of a line that are looked at: it may be one large object that is no message."""


def starts_in(number: int, line: bytes) -> Iterator[MessageStart]:
    """Yields the first places of a line at which a message may begin.

    Args:
        number: of the line.
        line: its text.
    """
    count = 0
    repeated_at = quoted_at(line)
    for match in islice(_JSON.finditer(line), _MOST_BRACES):
        prefix = edges(line[: match.start()])
        marker = read_marker(prefix)
        is_quoted = repeated_at is not None and match.start() >= repeated_at
        if (marker is None and is_stderr(prefix)) or is_quoted or count == _MOST_STARTS:
            return
        says_so = marker is not None or not prefix.strip()
        if says_so or _COMPLAINT.search(prefix) is None:
            text = line[match.start() :]
            yield MessageStart(number, text, marker, read_stamp(prefix), says_so)
            count += 1


def starts_after(start: MessageStart, end: int) -> Iterator[MessageStart]:
    """Yields what may be messages after another in the same line, each with its own text alone.

    The text between two messages says which way the second went and when. Without any text that is
    not known, and the time is that of the first. What follows words is a remark. A text that
    does not end is the last.

    Args:
        start: the message before.
        end: where it ends in its text.
    """
    line, place = start.text, end
    while (match := _JSON.search(line, place)) is not None:
        prefix = edges(line[place : match.start()])
        marker = read_marker(prefix)
        ends = Brackets().end(line, match.start())
        place = len(line) if ends is None else ends
        if marker is not None or _BETWEEN.fullmatch(prefix) is not None:
            stamp = read_stamp(prefix) or start.stamp
            yield start._replace(text=line[match.start() : place], marker=marker, stamp=stamp)


def read_start(text: bytes) -> tuple[ReadMessage | None, int]:
    """Reads the message at the beginning of a text.

    Returns:
        The message, None if it cannot be read; and where it ends.
    """
    if (found := read_message(text)) is not None:
        return found, len(text)
    end = Brackets().end(text)
    if end is not None and (found := read_message(text[:end])) is not None:
        return found, end
    if (found := read_message(text, repairs=True)) is not None or end is None:
        return found, len(text)
    return read_message(text[:end], repairs=True), end


def is_of_message(text: bytes) -> bool:
    """Whether a text has a member of a message, or is cut off in the name of its first member."""
    return _MESSAGE.search(text) is not None or _CUT_OFF.fullmatch(text) is not None


def quoted_at(line: bytes) -> int | None:
    """Returns where a line repeats a message that could not be read; None if it does not."""
    raw = None if line[:1] == b"{" else _RAW.search(line, 0, _MOST_COMPLAINT)
    if raw is None or _FAILED.search(line, 0, raw.start()) is None:
        return None
    return raw.end()


def with_method(line: bytes) -> bytes:
    """Makes one message of the method and the params of a notification, where they are apart."""
    if b"notif" not in line[:_MOST_BEFORE].lower():
        return line
    match = _APART.fullmatch(line)
    params = read_message(match[3]) if match else None
    if match is None or params is None or is_message(params.value):
        return line
    return match[1] + b'{"jsonrpc":"2.0","method":"%s","params":%s}' % (match[2], params.raw)
