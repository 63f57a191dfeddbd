"""A results file: what is written is there, whatever happens, and can be continued."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.batches.results import JobVerdict, ResultsHeader, VerdictKind, line_of
from acp_proxy.batches.results_file import ResultsFile, is_results_file
from acp_proxy.errors import BadResults

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = ResultsHeader("0.1.0", "verify", "d", ("agent",))
A, B = (JobVerdict(name, "verify", "d", 0, VerdictKind.CLEAN, 0.0) for name in ("a", "b"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file goes."""
    return tmp_path / "results.jsonl"


def written(path: Path, *verdicts: JobVerdict, header: ResultsHeader = HEADER) -> list[str]:
    """Writes or continues a file, and returns the recordings that it has then."""
    with ResultsFile(path, header) as file:
        for verdict in verdicts:
            file.add(verdict)
    with ResultsFile(path, header) as file:
        return [*file.verdicts]


def test_a_file_is_written_and_continued(path: Path) -> None:
    """Its header stays, and its verdicts are kept; only the owner can read it."""
    assert written(path, A) == ["a"]
    before = path.read_bytes()
    assert written(path, B) == ["a", "b"]
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().startswith(line_of(HEADER))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", [1, 40, 90])
def test_a_verdict_that_is_cut_off_is_removed(path: Path, cut: int) -> None:
    """The verdicts before it are kept."""
    written(path, A, B)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    assert written(path) == ["a"]
    assert written(path, B) == ["a", "b"]
    assert not path.read_bytes().count(b"\n\n")


@pytest.mark.parametrize("size", [0, 5, 21, 60])
def test_a_header_that_is_cut_off_is_written_anew(path: Path, size: int) -> None:
    """As that of a file with nothing in it."""
    path.write_bytes(line_of(HEADER)[:size])
    assert written(path, A) == ["a"]


def test_the_later_of_two_verdicts_counts(path: Path) -> None:
    """A file is only appended to; no other process can write it meanwhile."""
    later = evolve(A, kind=VerdictKind.LOST)
    assert written(path, A, B, later) == ["a", "b"]
    with ResultsFile(path, HEADER) as file:
        assert file.verdicts == {"a": later, "b": B}
        with pytest.raises(BadResults, match="another acp-proxy is writing it"):
            ResultsFile(path, HEADER)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (evolve(HEADER, command="check"), "of `verify`"),
        (evolve(HEADER, digest="e"), "of other options or another agent"),
    ],
)
def test_the_file_of_another_batch_is_left_alone(
    path: Path, header: ResultsHeader, words: str
) -> None:
    """It is refused in one line."""
    written(path, A)
    before = path.read_bytes()
    with pytest.raises(BadResults, match=words):
        written(path, B, header=header)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", [b"x", b"SQLite format 3\0", b"{}\n", b'{"acp_proxy_resul'[:3]])
def test_any_other_file_is_left_alone(path: Path, data: bytes) -> None:
    """Also one that has no line; only what is the beginning of a header is none of them."""
    path.write_bytes(data)
    if data == b'{"a':
        assert written(path, A) == ["a"]
        return
    assert not is_results_file(path)
    with pytest.raises(BadResults, match="line 1"):
        written(path, A)
    assert path.read_bytes() == data


def test_a_bad_line_is_named(path: Path) -> None:
    """The file is left as it was."""
    written(path, A)
    with path.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(BadResults, match="line 3: expected"):
        written(path, B)


@pytest.mark.parametrize("kind", ["directory", "pipe", "link", "missing"])
def test_what_is_no_plain_file_is_refused(path: Path, kind: str) -> None:
    """Without waiting for a pipe."""
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
    """How large files may become."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_what_was_there(path: Path, room: int) -> None:
    """What was half written is gone, and the error is one line."""
    with ResultsFile(path, HEADER) as file:
        file.add(A)
        before = path.read_bytes()
        with pytest.raises(BadResults, match="cannot write: file too large"):
            file.add(evolve(B, error="x" * room))
    assert path.read_bytes() == before
