"""Explains why an input has no messages, or none that can be read, and what the user can do."""

import re

from acp_proxy.imports.log_entries import BROKEN, OTHER_JSON

_KNOWN = (
    (re.compile(rb"(?m)^[ \t]*(?:-->|<--)[ \t]+\S{1,99}[ \t]+\(id="),
     "it has messages shortened for people to read, as gptme writes them"),
    (re.compile(rb"\[acp::[a-z_]+\]"),
     "it is a log of CodeCompanion without messages, which are there with log_level DEBUG"),
    (re.compile(rb"(?m)^[A-Z]{4,5}[ \t]+\d{4}-\d\d-\d\dT\S{1,40}[ \t]+\+\d{1,9}ms[ \t]+service="),
     "it is a log of opencode, which has no messages"),
    (re.compile(rb"(?m)^\[acpx\] "), "it is what acpx --verbose prints, which has no messages"),
    (re.compile(rb"\(:direction |\((?:jsonrpc|:object) "),
     "it is Lisp, as Emacs prints it, which does not tell null, false and {} apart"),
)  # fmt: skip
"""Patterns of logs that have no JSON messages, each with an explanation for the user."""
_UTF_16 = "it is UTF-16: `iconv -f UTF-16 -t UTF-8 FILE | acp-proxy import -` reads it"
_BINARY = (
    (b"\x1f\x8b", "it is compressed with gzip: `zcat FILE | acp-proxy import -` reads it"),
    (b"PK\x03\x04",
     "it is a ZIP archive: `unzip -p FILE NAME | acp-proxy import -` reads a file of it"),
    (b"\x28\xb5\x2f\xfd",
     "it is compressed with zstd: `zstdcat FILE | acp-proxy import -` reads it"),
    (b"%PDF-", "it is a PDF; expected text"),
    (b"\xff\xfe", _UTF_16),
    (b"\xfe\xff", _UTF_16),
)  # fmt: skip
"""The first bytes of files that are not text in UTF-8, each with an explanation for the user."""
_PROBLEMS = (
    (re.compile(rb"[{\[,:]\s{0,9}&(?:quot|#34|#x22);"),
     "its quotation marks are HTML entities, such as &quot;; copy the text of the page instead of"
     " its source"),
    (re.compile(rb"[{\[,:]\s{0,9}\xe2\x80[\x9c-\x9f]"),
     "its quotation marks are typographic: `sed 's/[\u201c\u201d]/\"/g' FILE | acp-proxy import -`"
     " reads it"),
    (re.compile(rb"[{\[,:]\s{0,9}\xc2\xa0"),
     r"it has non-breaking spaces: `sed 's/\xc2\xa0/ /g' FILE | acp-proxy import -` reads"
     " it"),
    (re.compile(rb"[{\[,:]\s{0,9}(?:\.{2,}|\xe2\x80\xa6)|\d\s{0,9}(?:\.{3}|\xe2\x80\xa6)"),
     "a part of it was left out where it has `...`: paste the whole message"),
    (re.compile(rb"[{\[,:]\s{0,9}'[\w/]{1,99}'\s{0,9}[:,}\]]"),
     "its quotation marks are those of Python: print the message with `json.dumps`"),
)  # fmt: skip
"""Patterns of JSON that a program, a web page or a person has changed, each with advice."""
_AROUND = (
    "its messages have other text around them: leave in each line a time, > or <, and the message"
)
_TAKE_OUT = "`jq -c .NAME FILE | acp-proxy import -` takes messages out of other JSON"
_INSTEAD = "; `acp-proxy record` makes a recording of what a client and an agent send"


def nothing_in(head: bytes, expected: str = "an ACP message") -> str:
    """Returns the reason why an input cannot be imported, and what the user can do.

    Args:
        head: the beginning of the input.
        expected: the content that a line should have, in words.
    """
    if (problem := why_not_text(head)) is not None:
        return problem
    known = next((reason for pattern, reason in _KNOWN if pattern.search(head)), None)
    if known is None and b"jsonrpc" in head:
        return f"{_AROUND}; {_TAKE_OUT}"
    return (known or f"none of its lines is {expected}") + _INSTEAD


def broken(text: bytes, otherwise: str = BROKEN) -> str:
    """Returns the error about broken JSON; names the problem if it is known.

    Args:
        text: the broken JSON.
        otherwise: the error if the problem is not known.
    """
    reason = next((reason for pattern, reason in _PROBLEMS if pattern.search(text)), None)
    return otherwise if reason is None else f"{BROKEN}: {reason}"


def other_json(text: bytes) -> str:
    """Returns the error about JSON that is not a message."""
    return f"{OTHER_JSON}; {_TAKE_OUT}" if b"jsonrpc" in text else OTHER_JSON


def why_not_text(head: bytes) -> str | None:
    """Returns the reason why an input is not text, with advice; None if it may be text."""
    if not head:
        return "it is empty"
    return next((reason for start, reason in _BINARY if head.startswith(start)), None)
