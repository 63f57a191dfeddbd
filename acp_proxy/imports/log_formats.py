"""The formats of foreign logs that can be imported.

To add a format, write a reader, and list the format in `SOURCES`.
"""

import shlex

from acp_proxy.imports.exports import ACP_DEVTOOLS, ZED
from acp_proxy.imports.log_entries import LogFormat
from acp_proxy.imports.message_lines import ACPX, JETBRAINS, LINES

SOURCES: tuple[LogFormat, ...] = (ACP_DEVTOOLS, ZED, JETBRAINS, ACPX, LINES)
"""The formats, in the order in which they are tried; the most general format is last."""
NAMES = tuple(source.name for source in SOURCES)


def source_of(head: bytes) -> LogFormat | None:
    """Returns the format of an input; None if no format recognizes the input.

    Args:
        head: the first `HEAD` bytes of the input.
    """
    return next((source for source in SOURCES if source.recognizes(head)), None)


def import_hint(head: bytes, path: str = "FILE") -> str:
    """Returns the end of an error message: how to import a file that is not a recording.

    Empty if the file is not a log that can be imported.

    Args:
        head: the beginning of the file.
        path: the file, if it is known.
    """
    log_format = source_of(head)
    if log_format is None:
        return ""
    command = f"`acp-proxy import {shlex.quote(path)}`"
    return f"; it looks like {log_format.title}: {command} makes a recording of it"


def source_named(name: str) -> LogFormat:
    """Returns the format with the given name, which must be one of `NAMES`."""
    return next(source for source in SOURCES if source.name == name)
