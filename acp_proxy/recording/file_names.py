"""The recordings directory, and the names of a recording's files."""

import os
import sys
import time

from acp_proxy.recording.agent_names import agent_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LOG_SUFFIX = ".log"
"""The suffix of capture logs. The log ``NAME.db.log`` is next to its database ``NAME.db``."""

DAMAGED_SUFFIX = ".damaged"
"""The suffix of the file with the unreadable parts of a log: ``NAME.db.damaged``."""

SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to ``NAME.db``."""

_LONGEST_AGENT = 40


def recordings_directory(environ: "Mapping[str, str]") -> str:
    """Returns ``$ACP_PROXY_RECORDINGS`` if it is set, else the user's data directory for acp-proxy.

    The data directory equals ``platformdirs.user_data_dir("acp-proxy", appauthor=False)``. This
    module does not import platformdirs, since the import would delay the start of the agent.

    Args:
        environ: the environment variables.
    """
    if chosen := environ.get("ACP_PROXY_RECORDINGS"):
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/acp-proxy")
    if sys.platform == "win32":
        data = environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
        return os.path.join(data, "acp-proxy")
    data = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # invalid by the XDG specification
        data = os.path.join(_home(environ), ".local", "share")
    return os.path.join(data, "acp-proxy")


def _home(environ: "Mapping[str, str]") -> str:
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir


def make_private(directory: str) -> None:
    """Creates a directory and its missing parents, accessible only to their owner.

    Raises:
        OSError: a directory cannot be created.
    """
    if not os.path.isdir(directory):
        make_private(os.path.dirname(directory))
        os.mkdir(directory, 0o700)


def fresh_name(command: "Sequence[str]", recording_id: str, wall_ns: int) -> str:
    """Returns a file name that sorts by time and contains the agent's name.

    Args:
        command: the agent's program and its arguments.
        recording_id: the recording's id; its first characters make the name unique.
        wall_ns: when the recording began, in nanoseconds since 1970.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(wall_ns // 10**9))
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in agent_name(command))
    plain = plain.strip("-")[:_LONGEST_AGENT]
    return f"{stamp}-{plain or 'agent'}-{recording_id[:4]}"


def candidates(path: str) -> "Iterator[str]":
    """Yields the paths to try for a new file: ``path``, then ``NAME-2.db`` and so on."""
    stem, suffix = os.path.splitext(path)
    yield path
    for n in range(2, 1_000_000):
        yield f"{stem}-{n}{suffix}"
