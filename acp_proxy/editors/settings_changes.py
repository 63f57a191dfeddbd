"""Adds an entry to a settings file, or removes the entry again, with a log of the changes.

The log is written before the settings are changed, and removed after the settings are restored, so
each change can be undone. The log contains a copy of the settings, so only the user can read it.
"""

import base64
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.base.forms import converter
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.editors.settings_edits import Insertion, document, entries, without
from acp_proxy.editors.settings_file import SettingsFile, check_writable, replace


@frozen
class AddedEntry:
    """An entry that was added."""

    name: str
    section: str
    value: Any
    before: str | None
    """The content of the file before the change, in base64; None if there was no file."""
    piece: str
    """The inserted bytes, in base64."""
    after: str
    """The SHA-256 of the file after the change."""
    made_directory: bool = False
    """Whether the directory was made for the settings file."""


def digest(data: bytes) -> str:
    """Returns the SHA-256 of the data, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class ChangeLog:
    """The changes that were made to one settings file, oldest first.

    Args:
        directory: the directory of all logs; made if a log is written.
        file: the settings file.

    Attributes:
        path: the file of the log.
    """

    def __init__(self, directory: Path, file: SettingsFile) -> None:
        self._directory = directory
        self.path = directory / f"{digest(os.fsencode(file.target))[:16]}.json"

    def read(self) -> list[AddedEntry]:
        """Returns the changes; none if there is no log.

        Raises:
            BadSettings: the log cannot be read.
        """
        if not os.path.lexists(self.path):
            return []
        try:
            with open_plain(self.path) as file:
                return converter.loads(file.read(), list[AddedEntry])
        except OSError as e:
            raise BadSettings(f"cannot read {self.path}: {reason(e)}") from None
        except Exception:  # a damaged value may cause any error
            raise BadSettings(f"cannot read {self.path}: it is damaged") from None

    def write(self, changes: list[AddedEntry]) -> None:
        """Replaces the changes in the log; if there are no changes, removes the log.

        Raises:
            BadSettings: the log cannot be written; its old content is kept.
        """
        try:
            if not changes:
                self.path.unlink(missing_ok=True)
                return
            for directory in reversed((self._directory, *self._directory.parents)):
                if not directory.is_dir():
                    directory.mkdir(mode=0o700)
            fd, name = tempfile.mkstemp(prefix=".acp-proxy-", dir=self._directory)
            try:
                with open(fd, "wb") as file:  # noqa: PTH123  a descriptor
                    file.write(converter.dumps(changes).encode())
                    file.flush()
                    os.fsync(fd)
                Path(name).replace(self.path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as e:
            raise BadSettings(f"cannot write {self.path}: {reason(e)}") from None


def add(log: ChangeLog, file: SettingsFile, change: Insertion, section: str, name: str) -> None:
    """Writes an entry into a settings file, and the change into its log.

    Args:
        log: the log of the file.
        file: the file as it was read.
        change: the result of `settings_edits.insertion` for the content of the file.
        section: the section of the entry.
        name: the name of the entry.

    Raises:
        BadSettings: the file cannot be written; it was not changed.
    """
    check_writable(file)
    before = log.read()
    value = entries(change.after, section)[name]
    kept = None if file.data is None else base64.b64encode(file.data).decode()
    piece = base64.b64encode(change.piece).decode()
    directory = file.target.parent
    makes = not directory.exists()
    log.write([*before, AddedEntry(name, section, value, kept, piece, digest(change.after), makes)])
    try:
        if makes:
            _make(directory, file)
        replace(file, change.after)
    except BaseException:
        with contextlib.suppress(BadSettings, OSError):  # `undo` skips a change that was not made
            log.write(before)
            if makes:
                directory.rmdir()
        raise


def _make(directory: Path, file: SettingsFile) -> None:
    try:
        directory.mkdir(mode=0o700)
    except OSError as e:
        raise BadSettings(f"cannot write {file.path}: {reason(e)}") from None


def restored(change: AddedEntry, data: bytes | None) -> bytes | None:
    """Returns the content of a settings file without the entry that a change added.

    Args:
        change: the change.
        data: the content of the file; None if there is no file.

    Returns:
        The content before the change if nothing else was changed since, otherwise the content of
        the file without the entry; None if the file should be removed.

    Raises:
        BadSettings: the entry was changed or removed since, or the file does not exist any more.
    """
    before = None if change.before is None else base64.b64decode(change.before)
    if data is None and before is not None:
        raise BadSettings("it is not there any more")
    if data is None or digest(data) == change.after:
        return before
    parts = data.split(base64.b64decode(change.piece))
    if len(parts) == 2:
        with contextlib.suppress(BadSettings):
            if _is_without(change, data, b"".join(parts)):
                return b"".join(parts)
    return without(data, change.section, change.name, change.value)


def _is_without(change: AddedEntry, data: bytes, rest: bytes) -> bool:
    """Whether ``rest`` is the settings in ``data`` without the entry of a change."""
    mine = entries(data, change.section)
    if mine.pop(change.name, None) != change.value or entries(rest, change.section) != mine:
        return False
    return {**document(data), change.section: mine} == {**document(rest), change.section: mine}


def is_undone(change: AddedEntry, data: bytes | None) -> bool:
    """Whether a settings file has the content that it had before a change.

    Args:
        change: the change.
        data: the content of the file; None if there is no file.
    """
    kept = None if data is None else base64.b64encode(data).decode()
    return change.before == kept


def undo(log: ChangeLog, file: SettingsFile) -> AddedEntry:
    """Undoes the latest change of a settings file, and removes it from the log.

    Args:
        log: the log of the file.
        file: the file as it was read.

    Returns:
        The change that was undone.

    Raises:
        BadSettings: the log has no change, the entry was changed since, or the file cannot be
            written; the file was not changed.
    """
    changes = log.read()
    if not changes:
        raise BadSettings(f"{file.path} has no entry that --write has added")
    change = changes[-1]
    if not is_undone(change, file.data):
        try:
            data = restored(change, file.data)
        except BadSettings as e:
            raise BadSettings(f"cannot undo the change of {file.path}: {e}") from None
        replace(file, data)
        if data is None and change.made_directory:
            with contextlib.suppress(OSError):  # the directory has other files now
                file.target.parent.rmdir()
    log.write(changes[:-1])
    return change
