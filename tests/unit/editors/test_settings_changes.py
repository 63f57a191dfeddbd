"""`setup` may be interrupted while it adds or removes an entry, without damage to settings."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.settings_changes import ChangeLog, add, read, undo
from acp_proxy.editors.settings_edits import insertion

if TYPE_CHECKING:
    from collections.abc import Callable

SECTION, NAME, ENTRY = "agent_servers", "x", {"command": "y"}
BEFORE = b'{\n  // mine\n  "agent_servers": {"a": {}},\n}\n'
CALLS = [
    (tempfile, "mkstemp"),
    (os, "fsync"),
    (os, "fchmod"),
    (Path, "mkdir"),
    (Path, "replace"),
    (Path, "rmdir"),
    (Path, "unlink"),
]


class Interruption:
    """Makes one system call fail, and for a kill all calls after it.

    Args:
        patch: patches the calls.
        at: the number of the call that fails, from 0.
        is_kill: whether all later calls fail as well.
    """

    def __init__(self, patch: pytest.MonkeyPatch, at: int, *, is_kill: bool) -> None:
        self.count = 0
        self._at = at
        self._is_kill = is_kill
        for owner, name in CALLS:
            patch.setattr(owner, name, self._failing(getattr(owner, name)))

    @property
    def has_happened(self) -> bool:
        """Whether the system call that is meant to fail was made."""
        return self.count > self._at

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count == self._at + 1 or (self._is_kill and self.has_happened):
                raise OSError(28, "No space left on device")
            return call(*args, **kwargs)

        return failing


@pytest.mark.parametrize("is_kill", [False, True], ids=["error", "kill"])
@pytest.mark.parametrize("is_there", [True, False], ids=["file", "no-file"])
def test_an_interrupted_change_can_be_taken_back(
    tmp_path: Path, is_there: bool, is_kill: bool
) -> None:
    """If `setup --write` is interrupted, the settings are unchanged or complete, never in between.

    `setup --undo` then restores the old settings, even if it was once interrupted itself.
    """
    result = [False, False]
    for number in range(40):
        path = tmp_path / str(number) / "config/settings.json"
        path.parent.parent.mkdir()
        if is_there:
            path.parent.mkdir()
            path.write_bytes(BEFORE)
        for step, act in enumerate((change, take_back)):
            if result[step]:
                continue
            if step:
                change(path)
            with pytest.MonkeyPatch.context() as patch:
                interruption = Interruption(patch, number, is_kill=is_kill)
                with contextlib.suppress(BadSettings):
                    act(path)
            result[step] = not interruption.has_happened
            before, after = BEFORE if is_there else None, insertion_of(is_there)
            assert content(path) in (before, after)
            if content(path) == after:
                take_back(path)
            assert content(path) == before
            if log(path).read():
                take_back(path)
            assert log(path).read() == []
            assert content(path) == before
    assert result == [True, True]


def change(path: Path) -> None:
    """Adds the entry to the settings file."""
    file = read(path)
    add(log(path), file, insertion(file.data or b"", SECTION, NAME, ENTRY), SECTION, NAME)


def take_back(path: Path) -> None:
    """Undoes the change of the settings file."""
    undo(log(path), read(path))


def log(path: Path) -> ChangeLog:
    """Returns the change log of the settings file."""
    return ChangeLog(path.parents[1] / "kept", read(path))


def content(path: Path) -> bytes | None:
    """Returns the content of the settings file, or None if there is no file."""
    return path.read_bytes() if path.exists() else None


def insertion_of(is_there: bool) -> bytes:
    """Returns the content of the settings file with the entry."""
    return insertion(BEFORE if is_there else b"", SECTION, NAME, ENTRY).after
