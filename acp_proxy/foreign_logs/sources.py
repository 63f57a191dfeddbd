"""The formats of foreign logs that are read. To add one: a module, and its line here."""

from acp_proxy.foreign_logs import acp_devtools, acpx, agent_shell, jetbrains, lines, zed
from acp_proxy.foreign_logs.late_messages import surroundings
from acp_proxy.foreign_logs.values import HEAD, LogFormat

SOURCES: tuple[LogFormat, ...] = (
    acp_devtools.SOURCE,
    zed.SOURCE,
    agent_shell.SOURCE,
    jetbrains.SOURCE,
    acpx.SOURCE,
    lines.SOURCE,
)
"""In the order in which they are tried: what fits nearly everything comes last."""
NAMES = tuple(source.name for source in SOURCES)


def source_of(head: bytes) -> LogFormat | None:
    """Returns the format of an input by its beginning; None if nothing in it is a message."""
    return next((source for source in SOURCES if source.recognizes(head)), None)


def source_after_preamble(beginning: bytes) -> tuple[LogFormat, bytes] | None:
    """Returns the format of an input whose messages begin late, and the part in which they do.

    Args:
        beginning: up to `SEARCHED` bytes of the input.

    Returns:
        None if no message is found.
    """
    sources = [source for source in SOURCES if source.has_preamble]
    parts = surroundings(beginning)
    found = ((one, part) for part in parts for one in sources if one.recognizes(part))
    return next(found, None)


def head_of(source: LogFormat, beginning: bytes) -> bytes:
    """Returns the part of an input in which its messages begin, for `LogFormat.read`.

    Args:
        source: the format of the input.
        beginning: up to `SEARCHED` bytes of the input.
    """
    parts = surroundings(beginning)
    return next((part for part in parts if source.recognizes(part)), beginning[:HEAD])


def import_hint(head: bytes) -> str:
    """Returns what to do with a file that is no recording, as the end of an error message.

    Args:
        head: its beginning.
    """
    found = source_of(head)
    if found is None:
        return ""
    return f"; it looks like {found.title}: `acp-proxy inspect import` makes a recording of it"


def source_named(name: str) -> LogFormat:
    """Returns a format by its name, which is one of `NAMES`."""
    return next(source for source in SOURCES if source.name == name)
