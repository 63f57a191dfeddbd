"""URLs name recordings as paths do, and are read with whatever fsspec knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import pytest

from acp_proxy.batches.shared_files import expand_url, fetch
from acp_proxy.errors import NoSuchRecording
from tests.shipped import DIRECTORY, SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("runs/b.db", "runs/a/c.jsonl", "runs/a/d.txt", "runs/.hidden/e.db", "runs/a/.f.db", "g.db")


@pytest.fixture(autouse=True)
def bucket() -> Iterator[None]:
    """Files in memory."""
    storage = fsspec.filesystem("memory")
    for name in NAMES:
        storage.pipe(f"/{name}", name.encode())
    yield
    storage.rm("/", recursive=True)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("memory://runs", ["runs/a/c.jsonl", "runs/b.db"]),
        ("memory://runs/*.db", ["runs/b.db"]),
        ("memory://**/*.db", ["g.db", "runs/b.db"]),
        ("memory://runs/a/d.txt", ["runs/a/d.txt"]),
        ("memory://runs/.hidden/*.db", ["runs/.hidden/e.db"]),
    ],
)
def test_a_url_is_one_recording_a_directory_or_a_pattern(word: str, names: list[str]) -> None:
    """Sorted, and without hidden files; a single one is what it is called."""
    assert expand_url(word) == [f"memory:///{name}" for name in names]


def test_files_of_a_shared_directory_are_urls(tmp_path: Path) -> None:
    """Whoever mounts it at the same place fetches the same bytes."""
    found = expand_url(f"file://{DIRECTORY}")
    assert found == [f"file://{path}" for path in SHIPPED]
    fetch(found[0], tmp_path / "x.db")
    assert (tmp_path / "x.db").read_bytes() == SHIPPED[0].read_bytes()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("memory://nothing", "no recordings in memory://nothing; expected .db or .jsonl files"),
        ("memory://runs/*.zip", "no recordings in memory://runs/*.zip; expected .db or"),
        ("nothing://runs", "cannot read nothing://runs: Protocol not known: nothing"),
    ],
)
def test_a_url_of_nothing_is_an_error(word: str, said: str) -> None:
    """One line says why; of a storage whose package is missing, fsspec names the package."""
    with pytest.raises(NoSuchRecording, match=said.replace("*", r"\*")):
        expand_url(word)


def test_what_is_gone_cannot_be_fetched(tmp_path: Path) -> None:
    """Where the job is done, that is known from other errors, which may pass."""
    with pytest.raises(FileNotFoundError):
        fetch("memory://runs/gone.db", tmp_path / "x.db")
    with pytest.raises(OSError, match="Protocol not known"):
        fetch("nothing://runs/gone.db", tmp_path / "x.db")
