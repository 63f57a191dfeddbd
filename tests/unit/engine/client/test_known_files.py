"""What is known of files, and parts of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.client import known_files as files
from acp_proxy.engine.client.known_files import KnownFiles, is_whole, part
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.shared.bindings import Bindings
from tests.playbook import record

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


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
def test_a_part_is_some_lines(params: dict[str, Any], expected: str) -> None:
    """Counted from 1; what is no number does not count."""
    assert part("1\n2\n3\n", params) == expected


def test_a_whole_file_is_one_without_limits() -> None:
    """The first line is where it begins anyway."""
    assert is_whole({"path": "/p"})
    assert is_whole({"line": 1})
    assert not is_whole({"line": 2})
    assert not is_whole({"limit": 10})


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """When there is too much; what was written anew counts as new."""
    monkeypatch.setattr(files, "_MOST", 10)
    recorded = record(tmp_path, "-> #0 initialize {}")
    known = KnownFiles(RecordedClient(recorded.script()), Bindings())
    for path, text in (("a", "1234"), ("b", "1234"), ("a", "12345"), ("c", "123")):
        known.learn(files.WRITE, {"params": {"path": path, "content": text}}, None)
    found = [known.content({"params": {"path": path}}) for path in "abc"]
    assert found == ["12345", None, "123"]
    recorded.close()
