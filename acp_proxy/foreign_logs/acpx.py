"""Reads lines that are messages and nothing else, such as the streams of acpx.

Neither times nor directions are in them; the directions are inferred from the messages. Between
them acpx notes where a segment of its journal or a turn begins, and how the turn has ended.
"""

import re
from collections.abc import Iterable, Iterator

from acp_proxy.foreign_logs.json_text import read_message
from acp_proxy.foreign_logs.messages import is_message
from acp_proxy.foreign_logs.no_messages import broken
from acp_proxy.foreign_logs.pasted_text import PastedText, remark_kind
from acp_proxy.foreign_logs.values import (
    OTHER_JSON,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    Repaired,
    UnreadLines,
    bad_too_long,
    numbered,
)

_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(\{[^\n]*\})\s*(?:\n|\Z)")
_JOURNAL = re.compile(rb'\s*\{\s*"schema"\s*:\s*"acpx\.session\.journal\.')
_STARTS = ("initialize", "proxy/initialize")
_BEGIN = re.compile(rb"""\{\s{0,9}["']jsonrpc["']""")


def _recognizes(head: bytes) -> bool:
    if _JOURNAL.match(head):
        return True
    match = _FIRST.match(head)
    found = read_message(match[1]) if match else None
    if found is None or not is_message(found.value) or isinstance(found.value, list):
        return False
    if found.value.get("method") not in _STARTS:  # an excerpt, of whatever log
        return False
    pasted = PastedText(head)
    return not any(_is_beside(pasted.clean(line)) for line in head.split(b"\n")[1:])


def _is_beside(line: bytes) -> bool:
    """Whether a line has a message with other text before it."""
    return line.lstrip()[:1] not in (b"{", b"[") and _BEGIN.search(line) is not None


def _read(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    pasted = PastedText(head)
    for number, line in numbered(pieces):
        if line is None:
            yield bad_too_long(number)
            continue
        text = pasted.clean(line)
        if _JOURNAL.match(text):
            yield Remark(number, number)
            continue
        kind = remark_kind(text)
        found = read_message(text, repairs=True) if kind is RemarkKind.REMARK else None
        if found is not None and is_message(found.value):
            entry = LoggedLine(number, number, None, found.raw)
            yield Repaired(entry) if found.is_elided else entry
        elif text.lstrip()[:1] in (b"{", b"["):
            reason = broken(text) if found is None else OTHER_JSON
            yield UnreadLines(number, number, reason)
        elif _is_beside(text):
            yield UnreadLines(number, number, "expected nothing before the message in a line")
        else:
            yield Remark(number, number, kind)


SOURCE = LogFormat(
    name="acpx",
    title="a stream of messages, one in each line, as acpx keeps it",
    lost=("bytes", "command", "ending", "stderr", "times"),
    recognizes=_recognizes,
    read=_read,
)
