"""The formats of foreign logs that are read.

To add a format, write a module for it, or a pattern in `line_logs`, and list it in `SOURCES`.
"""

from acp_proxy.imports import acp_devtools, zed
from acp_proxy.imports.line_logs import JETBRAINS
from acp_proxy.imports.log_entries import LogFormat
from acp_proxy.imports.message_lines import ACPX, LINES

SOURCES: tuple[LogFormat, ...] = (
    acp_devtools.SOURCE, zed.SOURCE, JETBRAINS, ACPX, LINES,
)  # fmt: skip
"""The formats in the order in which they are tried; the most general one is last."""
NAMES = tuple(source.name for source in SOURCES)


def source_of(head: bytes) -> LogFormat | None:
    """Returns the format of an input from its beginning; None if no format recognizes it."""
    return next((source for source in SOURCES if source.recognizes(head)), None)


def import_hint(head: bytes) -> str:
    """Returns what to do with a file that is not a recording, as the end of an error message.

    Args:
        head: the beginning of the file.
    """
    log_format = source_of(head)
    if log_format is None:
        return ""
    return f"; it looks like {log_format.title}: `acp-proxy import` makes a recording of it"


def source_named(name: str) -> LogFormat:
    """Returns a format by its name, which is one of `NAMES`."""
    return next(source for source in SOURCES if source.name == name)
