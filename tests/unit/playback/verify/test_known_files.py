"""`verify` learns the contents of files from recorded writes and from answers to reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify import known_files
from acp_proxy.playback.verify.known_files import READ, WRITE, KnownFiles
from acp_proxy.playback.verify.recorded_client import RecordedClient
from tests.support.playbook import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


@pytest.fixture
def files(tmp_path: Path) -> Iterator[KnownFiles]:
    """Known files, before any content is learned."""
    recorded = record(tmp_path, "-> #0 initialize {}")
    yield KnownFiles(RecordedClient(recorded.script()), Bindings())
    recorded.close()


def asking(**params: Any) -> dict[str, Any]:
    """A request for a file."""
    return {"params": {"path": "/f", **params}}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, "1\n2\n3\n"),
        ({"line": None, "limit": None}, "1\n2\n3\n"),
        ({"line": 2}, "2\n3\n"),
        ({"limit": 2}, "1\n2\n"),
        ({"line": 2, "limit": 1}, "2\n"),
        ({"line": 3, "limit": 7}, "3\n"),
        ({"line": 9}, ""),
        ({"line": 0}, "1\n2\n3\n"),
        ({"line": "x", "limit": []}, "1\n2\n3\n"),
    ],
)
def test_a_part_of_a_file_is_some_lines(
    files: KnownFiles, params: dict[str, Any], expected: str
) -> None:
    """If an agent requests some lines of a recorded file, `verify` answers with these lines."""
    files.learn(WRITE, asking(content="1\n2\n3\n"), None)
    assert files.content(asking(**params)) == expected


@pytest.mark.parametrize(
    ("params", "is_whole"),
    [({}, True), ({"line": 1}, True), ({"line": 2}, False), ({"limit": 10}, False)],
)
def test_only_a_whole_file_is_learnt(
    files: KnownFiles, params: dict[str, Any], is_whole: bool
) -> None:
    """`verify` learns the content of a file only from a read of the whole file."""
    files.learn(READ, asking(**params), {"result": {"content": "text"}})
    assert files.content(asking()) == ("text" if is_whole else None)


def test_the_oldest_contents_are_forgotten(
    files: KnownFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an agent reads too many files, `verify` forgets the oldest contents."""
    monkeypatch.setattr(known_files, "KEPT_CONTENTS", 10)
    for path, text in (("a", "1234"), ("b", "1234"), ("a", "12345"), ("c", "123")):
        files.learn(WRITE, asking(path=path, content=text), None)
    result = [files.content(asking(path=path)) for path in "abc"]
    assert result == ["12345", None, "123"]
