"""Reads exports of acp-devtools: one JSON object with all messages, or one message per line.

Each message in an export contains the original line as a string. So lines that are not JSON are
kept too.
"""

import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.imports.embedded_json import FoundObject, ObjectSplitter, read_message, too_long
from acp_proxy.imports.headings import LATEST_NS
from acp_proxy.imports.log_entries import (
    BROKEN,
    MISPLACED,
    NOT_WHOLE,
    Entry,
    Facts,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import Stream

_STREAMS = {"editor-to-agent": Stream.TO_AGENT, "agent-to-editor": Stream.TO_CLIENT}
_DIRECTION = re.compile(rb'"direction"\s*:\s*"(?:editor-to-agent|agent-to-editor)"')
_MOST_AROUND = 1 << 20
_MS = 10**6


def _recognizes(head: bytes) -> bool:
    if _DIRECTION.search(head):
        return True
    return head.lstrip()[:1] == b"{" and b'"acp-devtools"' in head and b'"messages"' in head


def _read(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    is_export = b'"messages"' in head[: _first_direction(head)]
    around = bytearray()
    last = 1
    for part in ObjectSplitter(b"{[" if is_export else b"").split(pieces):
        last = part.last
        if part.text is None:
            yield too_long(part)
            continue
        if isinstance(part, FoundObject):
            yield _message(part.first, last, part.text, is_whole=part.is_whole)
            continue
        if _DIRECTION.search(part.text):
            yield UnreadLines(part.first, last, MISPLACED)
            continue
        words = part.text.strip(b" \t\r\n,")
        if words:  # more than the separator of two messages
            around += part.text[: max(0, _MOST_AROUND - len(around))]
        kind = RemarkKind.REMARK if part.text.strip() else RemarkKind.BLANK
        yield Remark(part.first, last, kind)
    if is_export:
        yield _facts(bytes(around), last)


def _first_direction(head: bytes) -> int:
    match = _DIRECTION.search(head)
    return len(head) if match is None else match.start()


def _message(first: int, last: int, text: bytes, *, is_whole: bool) -> Entry:
    if not is_whole:
        return UnreadLines(first, last, NOT_WHOLE)
    read = read_message(text)
    value = read.value if read is not None else None
    if not isinstance(value, dict):
        return UnreadLines(first, last, BROKEN)
    direction, raw, time = value.get("direction"), value.get("raw"), value.get("timestamp")
    if not isinstance(direction, str) or direction not in _STREAMS:
        return UnreadLines(first, last, f"expected direction to be one of {', '.join(_STREAMS)}")
    if not isinstance(raw, str) or "\n" in raw:
        return UnreadLines(first, last, "expected raw to be one line")
    time_ns = None
    if isinstance(time, int | float) and 0 <= time < LATEST_NS // _MS:
        time_ns = int(time * _MS)
    return LoggedLine(first, last, _STREAMS[direction], storable(raw).encode(), time_ns)


def _facts(around: bytes, last: int) -> Facts:
    """Reads the facts in the members of an export other than its messages."""
    read = read_message(around.removeprefix(BOM_UTF8))
    session = read.value.get("session") if read and isinstance(read.value, dict) else None
    words = session.get("agentCommand") if isinstance(session, dict) else None
    return Facts(last, last, command=_words_of(words))


def _words_of(command: Any) -> tuple[str, ...] | None:
    """Splits a command whose words acp-devtools joined with spaces; None if it is not a command."""
    if not isinstance(command, str) or not command:
        return None
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return (command,)


SOURCE = LogFormat(
    name="acp-devtools",
    title="an export of acp-devtools",
    lost=("bytes", "command", "ending", "stderr"),
    resolution_ns=_MS,
    recognizes=_recognizes,
    read=_read,
)
