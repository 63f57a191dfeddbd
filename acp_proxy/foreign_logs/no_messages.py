"""Names logs in which messages are not to be found, or only in part, and says what to do."""

import re

from acp_proxy.foreign_logs.splitting import Brackets
from acp_proxy.foreign_logs.values import BROKEN, CUT_OFF

_KNOWN = (
    (re.compile(rb"(?m)^[ \t]*(?:-->|<--)[ \t]+\S{1,99}[ \t]+\(id="),
     "it has messages shortened for people to read, as gptme writes them"),
    (re.compile(rb"\[acp::[a-z_]+\]"), "it is a log of CodeCompanion, which has no messages"),
    (re.compile(rb"(?m)^[A-Z]{4,5}[ \t]+\d{4}-\d\d-\d\dT\S{1,40}[ \t]+\+\d{1,9}ms[ \t]+service="),
     "it is a log of opencode, which has no messages"),
    (re.compile(rb"(?m)^\[acpx\] "), "it is what acpx --verbose prints, which has no messages"),
)  # fmt: skip


_UTF_16 = "it is UTF-16: `iconv -f UTF-16 -t UTF-8 FILE | acp-proxy inspect import -` reads it"
_BINARY = (
    (b"\x1f\x8b", "it is compressed with gzip: `zcat FILE | acp-proxy inspect import -` reads it"),
    (b"PK\x03\x04",
     "it is a ZIP archive: `unzip -p FILE NAME | acp-proxy inspect import -` reads a file of it"),
    (b"\x28\xb5\x2f\xfd",
     "it is compressed with zstd: `zstdcat FILE | acp-proxy inspect import -` reads it"),
    (b"%PDF-", "it is a PDF; expected text"),
    (b"\xff\xfe", _UTF_16),
    (b"\xfe\xff", _UTF_16),
)  # fmt: skip
"""How files begin that are no text in UTF-8."""
_IN_THE_WAY = (
    (re.compile(rb"[{\[,:]\s{0,9}&(?:quot|#34|#x22);"),
     "its quotation marks are HTML entities, such as &quot;; copy the text of the page instead of"
     " its source"),
    (re.compile(rb"[{\[,:]\s{0,9}\xe2\x80[\x9c-\x9f]"),
     "its quotation marks are typographic: `sed 's/[\u201c\u201d]/\"/g' FILE | acp-proxy inspect"
     " import -` reads it"),
    (re.compile(rb"[{\[,:]\s{0,9}\xc2\xa0"),
     r"it has non-breaking spaces: `sed 's/\xc2\xa0/ /g' FILE | acp-proxy inspect import -` reads"
     " it"),
)  # fmt: skip
"""What text editors and web pages make of JSON."""
_INSTEAD = "; `acp-proxy record` makes a recording of what a client and an agent send"


def nothing_in(head: bytes, expected: str = "an ACP message") -> str:
    """Returns why nothing of an input can be imported, and what to do instead.

    Args:
        head: its beginning.
        expected: what none of its lines is.
    """
    if (found := why_not_text(head) or _in_the_way(head)) is not None:
        return found
    return (why_without_messages(head) or f"none of its lines is {expected}") + _INSTEAD


def broken(text: bytes) -> str:
    """Returns what was expected in place of JSON that cannot be read, and what is in the way."""
    if Brackets().end(text) is None:
        return CUT_OFF
    found = _in_the_way(text)
    return BROKEN if found is None else f"{BROKEN}: {found}"


def _in_the_way(text: bytes) -> str | None:
    return next((what for pattern, what in _IN_THE_WAY if pattern.search(text)), None)


def why_not_text(head: bytes) -> str | None:
    """Returns what an input is that is no text; None if it may be one."""
    if not head:
        return "it is empty"
    return next((what for start, what in _BINARY if head.startswith(start)), None)


def why_without_messages(head: bytes) -> str | None:
    """Returns what an input is that has no messages; None if it is unknown."""
    return next((reason for pattern, reason in _KNOWN if pattern.search(head)), None)
