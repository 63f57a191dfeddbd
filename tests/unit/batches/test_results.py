"""Tests that the results file of a batch keeps its verdicts and can be continued."""

from __future__ import annotations

import json
import os
import resource
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.base.errors import BadResults
from acp_proxy.batches.results import (
    FirstDivergence,
    JobVerdict,
    ResultsFile,
    ResultsHeader,
    VerdictKind,
    digest_of,
    header_of,
    is_results_file,
    line_of,
    verdict_of,
    worst_exit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = ResultsHeader("0.1.0", "verify", "d", ("--check", "--", "agent"))
VERDICT = JobVerdict("a/b.db", "verify", "d", 0, VerdictKind.CLEAN, 0.25)
DIFFERS = evolve(
    VERDICT,
    exit=1,
    kind=VerdictKind.DIFFERS,
    first_divergence=FirstDivergence(None, "\ud800 \x1b é"),
    error="a\nb",
)


def test_a_header_is_read_as_it_was_written() -> None:
    """The first line of a results file of `check --results` is read as it was written."""
    line = line_of(HEADER)
    assert line.startswith(b'{"acp_proxy_results":1,')
    assert header_of(line) == HEADER


@pytest.mark.parametrize("verdict", [VERDICT, DIFFERS])
def test_a_verdict_is_read_as_it_was_written(verdict: JobVerdict) -> None:
    """A result in a file of `check --results` is one line of ASCII, and is read back unchanged."""
    line = line_of(verdict)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert verdict_of(line) == verdict


def test_members_of_other_versions_are_passed_over() -> None:
    """A results file of `check` is read even if its lines have JSON members of later versions."""
    others = {"later": {"a": 1}, "attempt": 2, "shard": "3/7", "shards": [], "total": 9}
    for line, read in ((line_of(HEADER), header_of), (line_of(DIFFERS), verdict_of)):
        assert read(json.dumps({**json.loads(line), **others}).encode()) == read(line)


def test_an_agent_that_an_earlier_version_calls_killed_differs() -> None:
    """A verdict `killed` that an earlier version of `verify` wrote is read as `differs`."""
    assert verdict_of(line_of(DIFFERS).replace(b'"differs"', b'"killed"')) == DIFFERS


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "other"},
        {"exit": "x"},
        {"seconds": None},
        {"first_divergence": [1]},
        {"first_divergence": {}},
        {"findings": 3},
        {"findings": [{"rule": "rpc.id"}]},
    ],
)
def test_a_line_that_is_no_verdict_is_refused(changed: dict[str, Any]) -> None:
    """The error about an invalid line in a results file of `check` says what was expected."""
    members = {**json.loads(line_of(VERDICT)), **changed}
    with pytest.raises(ValueError, match=r"expected a (verdict|finding)"):
        verdict_of(json.dumps(members).encode())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"x\n", "expected a header"),
        (b"SQLite\xec\0", "expected a header"),
        (b"[" * 100_000, "expected a header"),
        (b"[]", "expected a header"),
        (b'{"acp_proxy_results":1}', "expected a header"),
        (line_of(HEADER).replace(b'results":1', b'results":2'), "format 2"),
    ],
)
def test_a_line_that_is_no_header_is_refused(line: bytes, words: str) -> None:
    """A results file of `check` is refused if its first line is not a known header."""
    with pytest.raises(ValueError, match=words):
        header_of(line)


@pytest.mark.parametrize(
    ("exits", "worst"), [((), 0), ((0, 0), 0), ((0, 1), 1), ((1, 3, 0), 3), ((3, 2, 1), 2)]
)
def test_a_batch_ends_as_its_worst_verdict(exits: tuple[int, ...], worst: int) -> None:
    """A command on many recordings exits with 2 if any is unreadable, else with the worst code."""
    assert worst_exit(exits) == worst


def test_the_digest_depends_on_each_word() -> None:
    """`digest_of`, which tells batches apart, differs for another command or other arguments."""
    words = [("verify", ["a", "b"]), ("check", ["a", "b"]), ("verify", ["ab"]), ("verify", ["b"])]
    assert len({digest_of(*word) for word in words}) == len(words)


BATCH = ResultsHeader("0.1.0", "verify", "d", ("agent",))
A, B = (JobVerdict(name, "verify", "d", 0, VerdictKind.CLEAN, 0.0) for name in ("a", "b"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Returns the path of the results file."""
    return tmp_path / "results.jsonl"


def written(path: Path, *verdicts: JobVerdict, header: ResultsHeader = BATCH) -> list[str]:
    """Writes or continues a results file, and returns the names of all recordings in it."""
    with ResultsFile(path, header) as file:
        for verdict in verdicts:
            file.add(verdict)
    with ResultsFile(path, header) as file:
        return [*file.verdicts]


def test_a_file_is_written_and_continued(path: Path) -> None:
    """If `check --results` is run again, new results are appended to the file."""
    assert written(path, A) == ["a"]
    before = path.read_bytes()
    assert written(path, B) == ["a", "b"]
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().startswith(line_of(BATCH))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", [1, 40, 90])
def test_a_verdict_that_is_cut_off_is_removed(path: Path, cut: int) -> None:
    """If the last line of a results file of `check` is incomplete, only this line is removed."""
    written(path, A, B)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    assert written(path) == ["a"]
    assert written(path, B) == ["a", "b"]
    assert not path.read_bytes().count(b"\n\n")


@pytest.mark.parametrize("size", [0, 5, 21, 60])
def test_a_header_that_is_cut_off_is_written_anew(path: Path, size: int) -> None:
    """If the first line of a results file of `check` is incomplete, the line is written again."""
    path.write_bytes(line_of(BATCH)[:size])
    assert written(path, A) == ["a"]


def test_the_later_of_two_verdicts_counts(path: Path) -> None:
    """If a file of `check --results` has two verdicts on a recording, the later one counts."""
    later = evolve(A, kind=VerdictKind.LOST)
    assert written(path, A, B, later) == ["a", "b"]
    with ResultsFile(path, BATCH) as file:
        assert file.verdicts == {"a": later, "b": B}
        with pytest.raises(BadResults, match="another acp-proxy is writing it"):
            ResultsFile(path, BATCH)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (evolve(BATCH, command="check"), "of `verify`"),
        (evolve(BATCH, digest="e"), "of other options or another agent"),
    ],
)
def test_the_file_of_another_batch_is_left_alone(
    path: Path, header: ResultsHeader, words: str
) -> None:
    """`check --results` refuses the results file of another command, and leaves it unchanged."""
    written(path, A)
    before = path.read_bytes()
    with pytest.raises(BadResults, match=words):
        written(path, B, header=header)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", [b"x", b"SQLite format 3\0", b"{}\n", b'{"acp_proxy_resul'[:3]])
def test_any_other_file_is_left_alone(path: Path, data: bytes) -> None:
    """`check --results` does not change a file that is not a results file."""
    path.write_bytes(data)
    if data == b'{"a':
        assert written(path, A) == ["a"]
        return
    assert not is_results_file(path)
    with pytest.raises(BadResults, match="line 1"):
        written(path, A)
    assert path.read_bytes() == data


def test_a_bad_line_is_named(path: Path) -> None:
    """If a line of a `check --results` file is invalid, the error names it; the file is kept."""
    written(path, A)
    with path.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(BadResults, match="line 3: expected"):
        written(path, B)


@pytest.mark.parametrize("kind", ["directory", "pipe", "link", "missing"])
def test_what_is_no_plain_file_is_refused(path: Path, kind: str) -> None:
    """`check --results` refuses a pipe in place of a results file."""
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to("elsewhere")
        case "missing":
            path = path / "results.jsonl"
    with pytest.raises(BadResults, match=rf"^cannot use {path} as a results file: "):
        written(path, A)
    assert not is_results_file(path)


@pytest.fixture
def room() -> Iterator[int]:
    """Limits the size of files, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_what_was_there(path: Path, room: int) -> None:
    """If the disk is full, `check --results` removes the incomplete last line of its file."""
    with ResultsFile(path, BATCH) as file:
        file.add(A)
        before = path.read_bytes()
        with pytest.raises(BadResults, match="cannot write: file too large"):
            file.add(evolve(B, error="x" * room))
    assert path.read_bytes() == before
