"""Reads a results file, and writes one so that whatever is in it survives our being killed.

Each line is appended with one write. What was cut off, since the machine or the disk gave out, is
the last line: a reader passes it over, and a writer removes it and goes on.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from attrs import evolve

from acp_proxy import system
from acp_proxy.batches.results import (
    JobVerdict,
    ResultsHeader,
    header_of,
    line_of,
    verdict_of,
    versions_of,
)
from acp_proxy.errors import BadResults, EmptyResults
from acp_proxy.plain_files import reason

LONGEST_LINE = 16 << 20
"""Bytes."""
_BEGINNING = b'{"acp_proxy_results":'


def is_results_file(path: Path) -> bool:
    """Whether a file begins as a results file does; False if it cannot be read."""
    with suppress(BadResults), _opened(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING
    return False


class ResultsReader:
    """The verdicts of a file, in its order; it can be iterated several times.

    Attributes:
        path: the file.
        header: its first line.
        is_cut: whether the last line is only the beginning of one; known after an iteration.

    Raises:
        BadResults: the file cannot be read, or is no results file. A bad line raises it as well,
            when the iteration comes to it.
        EmptyResults: the file ends within its first line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_cut = False
        with _opened(path) as file:
            line = next(_lines(path, file), b"")
        if not line.endswith(b"\n"):
            raise EmptyResults(path, "it is empty" if not line else "its first line is cut off")
        self.header: ResultsHeader = _parsed(path, 1, line, header_of)

    def __iter__(self) -> Iterator[JobVerdict]:
        """Yields the verdicts."""
        with _opened(self.path) as file:
            for number, line in enumerate(_lines(self.path, file), 1):
                if not line.endswith(b"\n"):
                    self.is_cut = True
                elif number > 1:
                    yield _parsed(self.path, number, line, verdict_of)


def read_results(path: Path) -> ResultsReader:
    """Opens a results file to read it.

    Raises:
        BadResults: it cannot be read, or is no results file.
    """
    return ResultsReader(path)


class ResultsFile:
    """A results file that is written; no other process can write it meanwhile.

    Verdicts that it has are kept, so that a batch that was stopped can be continued. A context
    manager.

    Args:
        path: the file, which need not exist.
        header: of the batch.
        is_stale: whether a verdict that is there is to be found anew, and so removed.

    Raises:
        BadResults: it cannot be written, is that of another batch, or is written by another
            process.
    """

    def __init__(
        self, path: Path, header: ResultsHeader, is_stale: Callable[[JobVerdict], bool]
    ) -> None:
        self.path = path
        self._fd = _locked(path)
        try:
            self._end = self._begin(header, is_stale)
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

    def _begin(self, header: ResultsHeader, is_stale: Callable[[JobVerdict], bool]) -> int:
        """Writes the header, or brings what is there to a state that can be continued."""
        self._end = 0
        with _opened(self.path) as file:
            lines = _lines(self.path, file)
            first = next(lines, b"")
            is_cut = not first.endswith(b"\n")
            if is_cut and first[: len(_BEGINNING)] == _BEGINNING[: len(first)]:
                os.ftruncate(self._fd, 0)
                self._append(line_of(header))
                return self._end
            before: ResultsHeader = _parsed(self.path, 1, first, header_of)
            _expect_same(self.path, before, header)
            # The words are the same, but with other markers.
            header = evolve(header, words=before.words, versions=versions_of(before, header))
            is_changed, end, number = before != header, len(first), 1
            for line in lines:
                number += 1
                if line.endswith(b"\n"):
                    end += len(line)
                    is_changed |= is_stale(_parsed(self.path, number, line, verdict_of))
        os.ftruncate(self._fd, end)
        return self._rewrite(header, is_stale) if is_changed else end

    def _rewrite(self, header: ResultsHeader, is_stale: Callable[[JobVerdict], bool]) -> int:
        """Puts a file in its place with another header, and without what is stale."""
        fd, name = tempfile.mkstemp(prefix=f".{self.path.name[:40]}.", dir=self.path.parent)
        try:
            _take_lock(self.path, fd)
            with os.fdopen(os.dup(fd), "wb") as new, _opened(self.path) as old:
                old.readline()
                new.write(line_of(header))
                new.writelines(line for line in old if not is_stale(verdict_of(line)))
            os.replace(name, self.path)  # noqa: PTH105  a name, not a path of ours
        except BaseException:
            os.close(fd)
            with suppress(OSError):
                os.unlink(name)  # noqa: PTH108
            raise
        os.close(self._fd)
        self._fd = fd
        return os.fstat(fd).st_size


def _lines(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yields the lines; raises BadResults if one is longer than any that we write."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise BadResults(path, f"line {number}: expected at most {LONGEST_LINE} bytes")
        yield line


def _parsed(path: Path, number: int, line: bytes, read: Callable[[bytes], Any]) -> Any:
    try:
        return read(line)
    except ValueError as e:
        raise BadResults(path, f"line {number}: {' '.join(str(e).splitlines())}") from None


def _expect_same(path: Path, before: ResultsHeader, header: ResultsHeader) -> None:
    """Raises BadResults if a file has the verdicts of another batch."""
    if before.command != header.command:
        other = f"of `{before.command}`"
    elif before.digest != header.digest:
        other = "of other options or another agent"
    elif before.shards:
        other = "that were merged"
    elif before.shard != header.shard:
        other = "of all recordings" if before.shard is None else f"of shard {before.shard}"
    else:
        return
    raise BadResults(path, f"it has results {other}; expected a new file, or that of this batch")


def _opened(path: Path) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | system.flags("O_NONBLOCK", "O_CLOEXEC"))
    except OSError as e:
        raise BadResults(path, reason(e)) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadResults(path, "expected a plain file")
    return os.fdopen(fd, "rb")


def _locked(path: Path) -> int:
    """Opens a file, which is made if there is none, to read it and to append to it."""
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | system.PLAIN, 0o600)
        except OSError as e:
            why = "it is a symbolic link" if e.errno == errno.ELOOP else reason(e)
            raise BadResults(path, f"cannot write: {why}") from None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise BadResults(path, "expected a plain file")
            _take_lock(path, fd)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), path.stat()):
                    return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # another file was just put in its place, or it was removed


def _take_lock(path: Path, fd: int) -> None:
    if system.HAS_LOCKS and not system.take_lock(fd):
        raise BadResults(path, "another acp-proxy is writing it")
