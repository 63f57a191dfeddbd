"""The errors that users see, and `LogMoved`, which several rooms use.

Bad traffic is data and raises no exception. The errors are for incorrect use and for unreadable
recordings. The message of an error is one line: what was expected, what was found, and what the
user can do.
"""

import shlex
from pathlib import Path


class AcpProxyError(Exception):
    """Base class of the errors that the user can fix."""


class NoSuchRecording(AcpProxyError):
    """Raised when no recording has the given name, or when several recordings have it."""


class UnreadableRecording(AcpProxyError):
    """Raised when a file exists but cannot be read as a recording."""

    def __init__(self, path: Path, reason: str) -> None:
        one_line = " ".join(reason.splitlines())  # the reason may quote the file
        super().__init__(f"cannot read {path} as a recording: {one_line}")


class NotARecording(UnreadableRecording):
    """Raised when a file is not a recording."""


class DamagedRecording(UnreadableRecording):
    """Raised when a recording is damaged or was changed."""

    def __init__(self, path: Path, reason: str, *, is_foreign: bool = False) -> None:
        quoted = shlex.quote(str(path))
        damaged = f"it is damaged ({reason}); try `sqlite3 {quoted} .recover`"
        # Do not suggest another program for a file that may have been crafted to attack its reader.
        super().__init__(path, f"no recorder writes this ({reason})" if is_foreign else damaged)


class NewerRecording(UnreadableRecording):
    """Raised when a newer version of acp-proxy made the recording."""

    def __init__(self, path: Path, version: int, ours: int) -> None:
        super().__init__(path, f"expected at most format {ours}, got {version}; upgrade acp-proxy")


class CannotAnnotate(AcpProxyError):
    """Raised when the note of a recording cannot be changed."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot change {path}: {reason}")


class BadPattern(AcpProxyError):
    """Raised when a regular expression is not valid."""


class BadFilter(AcpProxyError):
    """Raised when a filter is not valid."""


class BadPlan(AcpProxyError):
    """Raised when a plan of faults is not valid."""


class BadSettings(AcpProxyError):
    """Raised when the settings of an ACP client cannot be read or changed."""


class NoSuchRule(AcpProxyError):
    """Raised when a given name is not a rule of the protocol, or is a rule that is not checked."""


class BadBaseline(AcpProxyError):
    """Raised when a file of known findings cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot read {path} as known findings: {reason}")


class BadResults(AcpProxyError):
    """Raised when a file of results cannot be read, written or continued."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"cannot use {path} as a results file: {reason}")


class ClusterFailed(AcpProxyError):
    """Raised when a cluster cannot start a batch, or stops before the batch is finished."""


class LogMoved(Exception):
    """Raised if the database must be read again, for example since the log was emptied."""
