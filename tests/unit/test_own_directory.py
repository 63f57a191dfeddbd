"""A temporary directory goes with its owner, or with the next one's if the owner was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.work_directory import own_directory, remove_abandoned

if TYPE_CHECKING:
    from pathlib import Path

OWNER = """
from acp_proxy.cli.work_directory import own_directory
with own_directory() as made:
    (made / "work").mkdir()
    (made / "work" / "file").touch()
    print(made, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which they are made, in other processes, too."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def an_owner() -> tuple[subprocess.Popen[str], str]:
    """A process that has one, and the name of it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, os.path.basename(process.stdout.readline().strip())  # noqa: PTH119


def names(directory: Path) -> set[str]:
    """What is in a directory."""
    return {entry.name for entry in directory.iterdir()}


def test_one_whose_owner_was_killed_is_removed(temporary: Path) -> None:
    """With all that is in it, by the next one; and one whose owner lives stays."""
    living, kept = an_owner()
    killed, left = an_owner()
    killed.kill()
    killed.communicate()
    assert names(temporary) == {kept, left}
    with own_directory() as made:
        assert names(temporary) == {kept, made.name}
        with own_directory() as other:
            assert names(temporary) == {kept, made.name, other.name}
        assert (temporary / kept / "work" / "file").exists()
    living.communicate("\n", timeout=60)
    assert living.returncode == 0
    assert names(temporary) == set()


def test_what_is_not_surely_one_stays(temporary: Path) -> None:
    """Another name, another mode, a link, a file, and one that somebody else holds."""
    killed, left = an_owner()
    killed.kill()
    killed.communicate()
    ours = temporary / left
    other_name, other_mode = temporary / f"{left}x", temporary / "acp-proxy-verify-aaaaaaaa"
    other_name.mkdir()
    other_name.chmod(0o1700)
    other_mode.mkdir(0o700)
    (temporary / "acp-proxy-verify-bbbbbbbb").touch(0o700)
    elsewhere = temporary / "elsewhere"
    ours.rename(elsewhere)
    ours.symlink_to(elsewhere)
    before = names(temporary)
    remove_abandoned(temporary)
    assert names(temporary) == before
    assert (elsewhere / "work" / "file").exists()


def test_one_of_another_user_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where we might remove it."""
    killed, left = an_owner()
    killed.kill()
    killed.communicate()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: temporary.stat().st_uid + 1)
        remove_abandoned(temporary)
    assert names(temporary) == {left}
    remove_abandoned(temporary)
    assert names(temporary) == set()


def test_one_that_is_just_being_made_stays(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner may not have its lock yet."""
    seen = []
    plain = tempfile.mkdtemp

    def made_slowly(*, prefix: str) -> str:
        made = plain(prefix=prefix)
        remove_abandoned(temporary)
        seen.append(names(temporary))
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", made_slowly)
    with own_directory() as made:
        assert seen == [{made.name}]


def test_a_directory_of_which_nothing_can_be_listed(tmp_path: Path) -> None:
    """It is nobody's trouble."""
    remove_abandoned(tmp_path / "nowhere")
