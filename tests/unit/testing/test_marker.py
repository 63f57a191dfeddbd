"""Tests where the pytest plugin looks for recordings, and its marker's options."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.testing.marker import (
    BadOption,
    default_name,
    files_of,
    numbered,
    recording_place,
    replay_arguments,
)


@pytest.mark.parametrize(
    ("file", "names", "name"),
    [
        ("test_panel.py", ["test_hello"], "panel-hello"),
        ("test_panel.py", ["TestEdit", "test_allowed[once]"], "panel-Edit-allowed-once"),
        ("test_panel.py", ["test_x[../../etc/passwd]"], "panel-x-..-..-etc-passwd"),
        ("panel_test.py", ["test_你好"], "panel_test-你好"),
    ],
)
def test_a_recording_is_named_after_its_test(file: str, names: list[str], name: str) -> None:
    """The pytest plugin names a recording after its test."""
    assert default_name(Path("/tests", file), names) == name


def test_a_name_is_looked_up_beside_the_test(tmp_path: Path) -> None:
    """The pytest plugin finds a recording in the folder `recordings` beside the test."""
    usual, other = tmp_path / "recordings", tmp_path / "acp_recordings"
    assert recording_place("x", tmp_path, None) == usual / "x.jsonl"
    other.mkdir()
    assert recording_place("x", tmp_path, None) == other / "x.jsonl"
    usual.mkdir()
    assert recording_place("x", tmp_path, None) == usual / "x.jsonl"
    assert recording_place("x", tmp_path, tmp_path) == tmp_path / "x.jsonl"


def test_a_path_is_one_from_the_test(tmp_path: Path) -> None:
    """If the pytest marker names a recording by a path, the path begins at the test's folder."""
    assert recording_place("./x", tmp_path, Path("/y")) == tmp_path / "x.jsonl"
    assert recording_place("a/x.db", tmp_path, Path("/y")) == tmp_path / "a" / "x.db"
    assert recording_place("/a/x", tmp_path, Path("/y")) == Path("/a/x.jsonl")


def test_a_database_is_found_where_there_is_no_text(tmp_path: Path) -> None:
    """The pytest plugin finds a recording's database, but prefers a text form of the same name."""
    (tmp_path / "v1.2.db").touch()
    assert recording_place("v1.2", tmp_path, tmp_path) == tmp_path / "v1.2.db"
    (tmp_path / "v1.2.jsonl").touch()
    assert recording_place("v1.2", tmp_path, tmp_path) == tmp_path / "v1.2.jsonl"


def test_the_files_end_where_a_number_is_missing(tmp_path: Path) -> None:
    """The pytest plugin plays recordings x, x.2 and x.3, and stops at the first missing number."""
    place = tmp_path / "x.jsonl"
    assert files_of(place) == []
    for number in (1, 2, 4):
        numbered(place, number).touch()
    assert [path.name for path in files_of(place)] == ["x.jsonl", "x.2.jsonl"]


def test_options_become_arguments_of_replay() -> None:
    """The arguments of the plugin's pytest marker become options of `replay`."""
    assert replay_arguments({}) == []
    assert replay_arguments({"agent": ["x"], "lenient": False, "idle_cap": None}) == []
    assert replay_arguments({"timing": "x0.5", "idle_cap": 2, "rewrite_text": True}) == [
        "--timing", "x0.5", "--idle-cap", "2", "--rewrite-text",
    ]  # fmt: skip
    assert replay_arguments({"ignore": "/a"}) == ["--ignore", "/a"]
    assert replay_arguments({"ignore": ("/a", "/b")}) == ["--ignore", "/a", "--ignore", "/b"]


@pytest.mark.parametrize("options", [{"ordr": "x"}, {"ignore": 3}, {"ignore": ["/a", 3]}])
def test_unknown_options_are_refused(options: dict[str, object]) -> None:
    """A misspelt argument of the plugin's pytest marker is an error."""
    with pytest.raises(BadOption):
        replay_arguments(options)
