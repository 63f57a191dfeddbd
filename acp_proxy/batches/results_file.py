"""Reads a results file and appends to it, so that whatever is in it survives our being killed.

Each line is appended with one write. What was cut off, since the machine or the disk gave out, is
the last line: it is removed. Of two verdicts on one recording, the later one counts.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from acp_proxy import system
from acp_proxy.batches.results import JobVerdict, ResultsHeader, header_of, line_of, verdict_of
from acp_proxy.errors import BadResults
from acp_proxy.plain_files import open_plain, reason

_LONGEST_LINE = 16 << 20
"""Bytes."""
_BEGINNING = b'{"acp_proxy_results":'


def is_results_file(path: Path) -> bool:
    """Whether a file begins as a results file does; False if it cannot be read."""
    with suppress(OSError), open_plain(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING
    return False


class ResultsFile:
    """A results file that is written; no other process can write it meanwhile.

    A context manager.

    Args:
        path: the file, which need not exist.
        header: of the batch; that of the file may have other markers in its words.

    Attributes:
        verdicts: those that were there, by the names of the recordings.

    Raises:
        BadResults: it cannot be read or written, is that of another batch, or is written by another
            process.
    """

    def __init__(self, path: Path, header: ResultsHeader) -> None:
        self.path = path
        self.verdicts: dict[str, JobVerdict] = {}
        self._fd = _locked(path)
        try:
            self._end = self._read(header)
            os.ftruncate(self._fd, self._end)
            if not self._end:
                self._append(line_of(header))
        except OSError as e:
            os.close(self._fd)
            raise BadResults(path, reason(e)) from None
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> "ResultsFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def add(self, verdict: JobVerdict) -> None:
        """Appends a verdict.

        Raises:
            BadResults: the disk is full, or the like; what was there before is as it was.
        """
        self._append(line_of(verdict))

    def _append(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError as e:
            with suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise BadResults(self.path, f"cannot write: {reason(e)}") from None
        self._end += len(line)

    def _read(self, header: ResultsHeader) -> int:
        """Reads what is there; returns how many bytes of it are whole lines."""
        end = number = 0
        with os.fdopen(os.dup(self._fd), "rb") as file:
            while (line := file.readline(_LONGEST_LINE)).endswith(b"\n"):
                end, number = end + len(line), number + 1
                try:
                    if number > 1:
                        verdict = verdict_of(line)
                        self.verdicts[verdict.recording] = verdict
                    else:
                        _expect_same(self.path, header_of(line), header)
                except ValueError as e:
                    raise BadResults(self.path, f"line {number}: {e}") from None
        is_ours = bool(end) or line[: len(_BEGINNING)] == _BEGINNING[: len(line)]
        if len(line) == _LONGEST_LINE or not is_ours:
            raise BadResults(self.path, f"line {number + 1}: expected a line of results")
        return end


def _expect_same(path: Path, before: ResultsHeader, header: ResultsHeader) -> None:
    """Raises BadResults if a file has the verdicts of another batch."""
    if before.command != header.command:
        other = f"of `{before.command}`"
    elif before.digest != header.digest:
        other = "of other options or another agent"
    else:
        return
    raise BadResults(path, f"it has results {other}; expected a new file, or that of this batch")


def _locked(path: Path) -> int:
    """Opens a file, which is made if there is none, to read it and to append to it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | system.PLAIN, 0o600)
    except OSError as e:
        why = "it is a symbolic link" if e.errno == errno.ELOOP else reason(e)
        raise BadResults(path, f"cannot write: {why}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        why = "expected a plain file"
    elif system.HAS_LOCKS and not system.take_lock(fd):
        why = "another acp-proxy is writing it"
    else:
        return fd
    os.close(fd)
    raise BadResults(path, why)
