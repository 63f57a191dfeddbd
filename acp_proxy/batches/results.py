"""A results file: a header, and a verdict for each recording.

Each line is a JSON object in ASCII; `docs/json.md` lists its members. Readers ignore unknown
members.

Each line is appended with a single write. Only the last line can be incomplete, and an incomplete
line is removed. If a recording has two verdicts, the later verdict counts.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from attrs import asdict, field, frozen

from acp_proxy.base import system
from acp_proxy.base.errors import BadResults
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.explain.findings import Finding

FORMAT = 1
SWEEP = "faults sweep"
T = TypeVar("T")
_LONGEST_LINE = 16 << 20
"""The largest size of a line, in bytes."""
_BEGINNING = b'{"acp_proxy_results":'


class VerdictKind(StrEnum):
    """The kinds of verdicts on jobs."""

    CLEAN = "clean"
    DIFFERS = "differs"
    BROKEN_RULES = "broken-rules"
    FINDINGS = "findings"
    """A check has a finding that counts as a failure."""
    FAILED = "failed"
    """A client hung or crashed in a sweep."""
    INCOMPLETE = "incomplete"
    """The recording is incomplete. The command checked or played the recorded part."""
    STALLED = "stalled"
    LOST = "lost"
    """The process of the job ended without a verdict."""
    CANNOT_START = "cannot-start"
    UNREADABLE = "unreadable"
    UNTESTED = "untested"
    """The sweep tested nothing."""
    REFUSED = "refused"
    """The command refused the job, and no other kind of verdict states the reason."""

    @classmethod
    def _missing_(cls, value: object) -> "VerdictKind | None":
        """Reads ``killed``, which earlier versions wrote for a killed agent, as ``differs``."""
        return cls.DIFFERS if value == "killed" else None


@frozen
class FirstDivergence:
    """The first difference between the live and the recorded agent's behaviour."""

    seq: int | None
    """The number of the recorded frame; None if the difference is not in a frame."""
    text: str


@frozen
class JobVerdict:
    """The verdict on one recording."""

    recording: str
    command: str
    digest: str
    exit: int
    """The exit code of the command for this recording alone, from 0 to 3. For a lost job, 3."""
    kind: VerdictKind
    seconds: float
    sha256: str | None = None
    """The SHA-256 of the recording's file."""
    node: str = ""
    """The name of the machine that ran the job."""
    new_recording: str | None = None
    first_divergence: FirstDivergence | None = None
    broken: int | None = None
    """The number of all findings, including those that are not listed."""
    findings: tuple[Mapping[str, Any], ...] | None = None
    """The worst findings of a check, or the runs of a sweep."""
    error: str | None = None
    """Why the job failed, in one line."""
    ending: str | None = None
    """How the agent ended, with its last line on stderr. None if the ending explains no problem."""


@frozen
class ResultsHeader:
    """The first line of a results file. It describes the batch that the file belongs to."""

    acp_proxy_results: int = field(default=FORMAT, kw_only=True)
    """The number of the format. A results file begins with this member."""
    version: str
    """The version of acp-proxy that began the file."""
    command: str
    digest: str
    words: tuple[str, ...]
    """The options and the agent's command, with secrets masked."""


def line_of(value: ResultsHeader | JobVerdict) -> bytes:
    """Returns a header or a verdict as a line of a results file."""
    return json.dumps(asdict(value), separators=(",", ":")).encode() + b"\n"


def header_of(line: bytes) -> ResultsHeader:
    """Reads the first line of a results file.

    Raises:
        ValueError: the line is not a header, or has a newer format.
    """
    header = _read(line, ResultsHeader, "a header")
    if header.acp_proxy_results > FORMAT:
        raise ValueError(
            f"expected format {FORMAT}, got format {header.acp_proxy_results}: upgrade acp-proxy"
        )
    return header


def verdict_of(line: bytes) -> JobVerdict:
    """Reads a verdict from any line of a results file except the first line.

    Raises:
        ValueError: the line is not a verdict.
    """
    verdict = _read(line, JobVerdict, "a verdict")
    findings_of(verdict)
    return verdict


def findings_of(verdict: JobVerdict) -> list[Finding]:
    """Returns the findings in a verdict; empty for a sweep, whose verdict lists runs instead.

    Raises:
        ValueError: the verdict lists something other than findings.
    """
    members = () if verdict.command == SWEEP else verdict.findings or ()
    return [_structured(member, Finding, "a finding") for member in members]


def _read(line: bytes, kind: type[T], name: str) -> T:
    try:
        members = json.loads(line)
    except (RecursionError, ValueError):
        members = None
    return _structured(members, kind, name)


def _structured(members: Any, kind: type[T], name: str) -> T:
    from acp_proxy.base.forms import converter  # late: few batches continue a file

    try:
        return converter.structure(members, kind)
    except Exception:  # unknown values can make a converter raise anything
        raise ValueError(f"expected {name}") from None


def digest_of(command: str, words: Sequence[str]) -> str:
    """Returns a hash of a command and its words. All verdicts of a results file have this hash.

    Args:
        command: the name of the command.
        words: the options, in a fixed order, and the agent's command.
    """
    return hashlib.sha256(json.dumps([command, *words]).encode()).hexdigest()


def worst_exit(exits: Iterable[int]) -> int:
    """Returns the exit code of a batch: the first of 2, 3, 1 and 0 that any of its jobs had."""
    codes = set(exits)
    return next((code for code in (2, 3, 1) if code in codes), 0)


def is_results_file(path: Path) -> bool:
    """Whether a file begins like a results file. False for a file that cannot be read."""
    with suppress(OSError), open_plain(path) as file:
        return file.read(len(_BEGINNING)) == _BEGINNING
    return False


class ResultsFile:
    """A results file that is open for writing. No other process can write to the file.

    The file is a context manager.

    Args:
        path: the path of the file. A missing file is created.
        header: the header of the batch. An existing file must have an equal header, except for the
            markers of masked words.

    Attributes:
        verdicts: the verdicts that the file contained when it was opened, by the recording's name.

    Raises:
        BadResults: the file cannot be read or written, it belongs to another batch, or another
            process is writing it.
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
        """Appends a verdict to the file.

        Raises:
            BadResults: writing failed, for example because the disk is full. Earlier verdicts are
                kept.
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
        """Reads the existing lines; returns the number of bytes in complete lines."""
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
    """Raises BadResults if a file belongs to another batch."""
    if before.command != header.command:
        of_other = f"of `{before.command}`"
    elif before.digest != header.digest:
        of_other = "of other options or another agent"
    else:
        return
    raise BadResults(path, f"it has results {of_other}; expected a new file, or this batch's file")


def _locked(path: Path) -> int:
    """Opens a file for reading and appending. Creates a missing file."""
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
