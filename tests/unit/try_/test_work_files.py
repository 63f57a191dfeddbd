"""Tests the files that an agent reads and writes through `try`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from acp_proxy.try_.work_files import WorkFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> WorkFiles:
    """Returns the files of a working directory that has a file beside it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "work" / "lines.txt").write_text("one\ntwo\r\nthree")
    return WorkFiles(tmp_path / "work")


@pytest.mark.parametrize(
    ("first", "most", "text"),
    [
        (1, None, "one\ntwo\r\nthree"),
        (2, None, "two\r\nthree"),
        (2, 1, "two\r\n"),
        (9, 1, ""),
        (0, 2, "one\ntwo\r\n"),
        (1, 0, ""),
    ],
)
def test_lines_are_read_with_their_ends(
    files: WorkFiles, first: int, most: int | None, text: str
) -> None:
    """If an agent requests some lines of a file, `try` sends these lines with their line ends."""
    assert files.read(str(files.root / "lines.txt"), first, most) == text


@pytest.mark.parametrize(
    "path", ["../secret.txt", "link", "a/../../secret.txt", "linked/secret.txt"]
)
def test_no_path_leads_out_of_the_directory(files: WorkFiles, path: str) -> None:
    """`try` refuses each file request whose path leads out of the working directory."""
    (files.root / "link").symlink_to(files.root.parent / "secret.txt")
    (files.root / "linked").symlink_to(files.root.parent)
    with pytest.raises(ValueError, match="is not in"):
        files.read(path)
    with pytest.raises(ValueError, match="is not in"):
        files.write(path, "changed")
    assert (files.root.parent / "secret.txt").read_text() == "secret"


def test_a_link_within_the_directory_is_followed(files: WorkFiles) -> None:
    """`try` follows a symbolic link if the link's target is in the working directory."""
    (files.root / "link").symlink_to("lines.txt")
    assert not files.write("link", "new")
    assert (files.root / "lines.txt").read_text() == "new"


def test_a_write_makes_the_directories_above(files: WorkFiles) -> None:
    """If an agent writes a file into a missing directory, `try` creates the directory."""
    assert files.write("a/b/c.txt", "é")
    assert not files.write("a/b/c.txt", "")
    assert (files.root / "a" / "b" / "c.txt").read_bytes() == b""


@pytest.mark.parametrize("path", [None, 3, "", "a\0b", ["x"]])
def test_a_value_that_is_not_a_path_is_refused(files: WorkFiles, path: object) -> None:
    """If the path in a file request is not a string, `try` answers with an error."""
    with pytest.raises(ValueError, match=r"is not a path|null byte"):
        files.read(path)


def test_special_files_are_neither_read_nor_written(files: WorkFiles) -> None:
    """`try` refuses an agent's requests to read or write a named pipe or a directory."""
    os.mkfifo(files.root / "pipe")
    for path, kind in (("pipe", "a pipe"), (".", "a directory")):
        with pytest.raises(OSError, match=kind):
            files.read(path)
        with pytest.raises(ValueError, match=kind):
            files.write(path, "x")


def test_text_that_is_no_text_is_refused(files: WorkFiles) -> None:
    """`try` refuses to read a file that is not UTF-8."""
    (files.root / "image.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(ValueError, match="utf-8"):
        files.read("image.png")
    for text in (None, {"a": 1}, "\ud800"):
        with pytest.raises(ValueError, match=r"string|utf-8"):
            files.write("lines.txt", text)
    assert (files.root / "lines.txt").read_text() == "one\ntwo\nthree"
