"""Every exception of the package, on one screen.

Bad traffic is data and raises nothing. These are for bad use and for recordings that cannot be
read; the message is one line: what was expected, what came, and what to do.
"""

from pathlib import Path


class AcpProxyError(Exception):
    """An error that the user can fix."""


class NoSuchRecording(AcpProxyError):
    """No recording has that name, or several have it."""


class UnreadableRecording(AcpProxyError):
    """The file exists but cannot be read as a recording."""

    def __init__(self, path: Path, reason: str) -> None:
        one_line = " ".join(reason.splitlines())  # it may quote what the file holds
        super().__init__(f"cannot read {path} as a recording: {one_line}")


class NotARecording(UnreadableRecording):
    """The file is not a recording."""


class DamagedRecording(UnreadableRecording):
    """The recording is damaged; it is never shown as an empty one."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, f"it is damaged ({reason}); try `sqlite3 {path} .recover`")


class NewerRecording(UnreadableRecording):
    """The file was made by a newer version."""

    def __init__(self, path: Path, version: int, ours: int) -> None:
        super().__init__(
            path, f"it has format {version} and this is format {ours}; upgrade acp-proxy"
        )


class CannotAnnotate(AcpProxyError):
    """The note or name of a recording cannot be changed, or not now."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot change {path}: {reason}")


class BadPattern(AcpProxyError):
    """Invalid regular expression."""


class BadFilter(AcpProxyError):
    """Invalid filter."""


class BadPlan(AcpProxyError):
    """Invalid plan of faults."""


class BadSettings(AcpProxyError):
    """The settings of an ACP client cannot be read or changed."""
