"""Every exception of the package, on one screen.

Bad traffic is data and raises nothing. These are for bad use and for recordings that cannot be
read; each reads as one line that says what was expected, what came, and what to do.
"""

from pathlib import Path


class AcpProxyError(Exception):
    """Something that the user can do something about."""


class NoSuchRecording(AcpProxyError):
    """No recording goes by that name, or several do."""


class UnreadableRecording(AcpProxyError):
    """The file is there and cannot be read as a recording."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot read {path} as a recording: {reason}")


class NotARecording(UnreadableRecording):
    """The file is something else."""


class DamagedRecording(UnreadableRecording):
    """The file is a recording and broken; a broken one is never shown as an empty one."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, f"it is damaged ({reason}); try `sqlite3 {path} .recover`")


class NewerRecording(UnreadableRecording):
    """The file was made by a newer version."""

    def __init__(self, path: Path, version: int, ours: int) -> None:
        super().__init__(
            path, f"it has format {version} and this is format {ours}; upgrade acp-proxy"
        )


class CannotAnnotate(AcpProxyError):
    """A recording's note or name cannot be changed, or not now."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot change {path}: {reason}")


class BadPattern(AcpProxyError):
    """A regular expression that is none."""


class BadFilter(AcpProxyError):
    """A filter that cannot be understood."""


class BadPlan(AcpProxyError):
    """A plan of faults that cannot be understood."""
