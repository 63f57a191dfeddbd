"""A results file: a header, and a verdict for each recording.

A line is one JSON object, in ASCII, whose members `docs/json.md` documents. A reader ignores
members that it does not know, so that a later version can add some.

Each line is appended with one write, so that whatever is in the file survives our being killed.
What was cut off, since the machine or the disk gave out, is the last line: it is removed. Of two
verdicts on one recording, the later one counts.
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
_SEVEREST = (2, 3, 1)
T = TypeVar("T")
_LONGEST_LINE = 16 << 20
"""Bytes."""
_BEGINNING = b'{"acp_proxy_results":'


class VerdictKind(StrEnum):
    """How it went with a recording."""

    CLEAN = "clean"
    DIFFERS = "differs"
    BROKEN_RULES = "broken-rules"
    FINDINGS = "findings"
    """A check has found what counts as a failure."""
    FAILED = "failed"
    """In a sweep, a client hung or crashed."""
    INCOMPLETE = "incomplete"
    """The recording is; it was checked, or played, to its end."""
    STALLED = "stalled"
    LOST = "lost"
    """The process that was to find the verdict has ended without one."""
    CANNOT_START = "cannot-start"
    UNREADABLE = "unreadable"
    UNTESTED = "untested"
    """A sweep that tests nothing."""
    REFUSED = "refused"
    """Wrong use, in any other way."""

    @classmethod
    def _missing_(cls, value: object) -> "VerdictKind | None":
        """Reads the kind that earlier versions gave an agent that was killed."""
        return cls.DIFFERS if value == "killed" else None


@frozen
class FirstDivergence:
    """Where a live agent first did something else."""

    seq: int | None
    """The number of the recorded frame; None if it is about none."""
    text: str


@frozen
class JobVerdict:
    """What was found about one recording."""

    recording: str
    command: str
    digest: str
    exit: int
    """0 to 3, as the command would end for this recording alone; 3 for a lost one."""
    kind: VerdictKind
    seconds: float
    sha256: str | None = None
    """Of the recording's file."""
    node: str = ""
    """The name of the machine."""
    new_recording: str | None = None
    first_divergence: FirstDivergence | None = None
    broken: int | None = None
    """How many findings there are, listed or not."""
    findings: tuple[Mapping[str, Any], ...] | None = None
    """The worst findings of a check, or the runs of a sweep."""
    error: str | None = None
    """Why there is no other verdict, in one line."""
    ending: str | None = None
    """How the agent ended, and its last line on stderr, where that may explain the verdict."""


@frozen
class ResultsHeader:
    """What the verdicts of a file have in common."""

    acp_proxy_results: int = field(default=FORMAT, kw_only=True)
    """The first member, by which the file is recognized."""
    version: str
    """Of the acp-proxy that began the file."""
    command: str
    digest: str
    words: tuple[str, ...]
    """The options and the agent's command, without secrets."""


def line_of(value: ResultsHeader | JobVerdict) -> bytes:
    """Returns a line of a results file."""
    return json.dumps(asdict(value), separators=(",", ":")).encode() + b"\n"


def header_of(line: bytes) -> ResultsHeader:
    """Reads the first line.

    Raises:
        ValueError: it is no header, or one of a later format.
    """
    header = _read(line, ResultsHeader, "a header")
    if header.acp_proxy_results > FORMAT:
        raise ValueError(
            f"it has format {header.acp_proxy_results}, and this is format {FORMAT}; upgrade"
            " acp-proxy"
        )
    return header


def verdict_of(line: bytes) -> JobVerdict:
    """Reads any other line.

    Raises:
        ValueError: it is no verdict.
    """
    verdict = _read(line, JobVerdict, "a verdict")
    findings_of(verdict)
    return verdict


def findings_of(verdict: JobVerdict) -> list[Finding]:
    """Returns the broken rules that a verdict lists; a sweep lists its runs instead.

    Raises:
        ValueError: they are none.
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
    from acp_proxy.base.forms import converter  # late: most batches continue no file

    try:
        return converter.structure(members, kind)
    except Exception:  # whatever the values of a stranger do to a converter
        raise ValueError(f"expected {name}") from None


def digest_of(command: str, words: Sequence[str]) -> str:
    """Returns a hash of a command and of its words; equal for batches that can be continued.

    Args:
        command: its name.
        words: its options and the agent's command, in one order.
    """
    return hashlib.sha256(json.dumps([command, *words]).encode()).hexdigest()


def worst_exit(exits: Iterable[int]) -> int:
    """Returns the exit code of a batch: 2 before 3 before 1 before 0."""
    codes = set(exits)
    return next((code for code in _SEVEREST if code in codes), 0)


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
