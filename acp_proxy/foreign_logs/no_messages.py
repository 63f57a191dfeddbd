"""Names logs in which messages are not to be found, or only in part, and says what to do."""

import re

_KNOWN = (
    (re.compile(rb"(?m)^[ \t]*(?:-->|<--)[ \t]+\S{1,99}[ \t]+\(id="),
     "it has messages shortened for people to read, as gptme writes them"),
    (re.compile(rb"\[acp::[a-z_]+\]"), "it is a log of CodeCompanion, which has no messages"),
    (re.compile(rb"(?m)^[A-Z]{4,5}[ \t]+\d{4}-\d\d-\d\dT\S{1,40}[ \t]+\+\d{1,9}ms[ \t]+service="),
     "it is a log of opencode, which has no messages"),
    (re.compile(rb"(?m)^\[acpx\] "), "it is what acpx --verbose prints, which has no messages"),
)  # fmt: skip


_INSTEAD = "; `acp-proxy record` makes a recording of what a client and an agent send"


def nothing_in(head: bytes) -> str:
    """Returns why nothing of an input can be imported, and what to do instead.

    Args:
        head: its beginning.
    """
    found = why_without_messages(head)
    if found is None:
        found = "none of its lines is an ACP message"
    return found + _INSTEAD


def why_without_messages(head: bytes) -> str | None:
    """Returns what an input is that has no messages; None if it is unknown."""
    return next((reason for pattern, reason in _KNOWN if pattern.search(head)), None)
