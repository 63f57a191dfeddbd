"""Adds an entry to a settings file, or removes the entry again, with a log of the changes.

The log is written before the settings are changed, and removed after they are restored. Only the
user can read the log, since it contains a copy of the settings. A file is replaced atomically, and
only if no other program has changed it since it was read.
"""

import base64
import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.base.forms import converter
from acp_proxy.base.limits import SETTINGS_FILE
from acp_proxy.base.plain_files import kind_of, open_plain, reason
from acp_proxy.editors.settings_edits import Insertion, document, entries, without

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@frozen
class SettingsFile:
    """A settings file and its content when it was read."""

    path: Path
    """The path under which the client opens the file."""
    target: Path
    """The path without symbolic links; differs from `path` if `path` contains a link."""
    data: bytes | None
    """The content; None if the file does not exist."""


def read(path: Path) -> SettingsFile:
    """Reads a settings file, which need not exist.

    Raises:
        BadSettings: the file exists and cannot be read.
    """
    target = Path(os.path.realpath(path))
    return SettingsFile(path, target, _data(path, target))


def replace(file: SettingsFile, data: bytes | None) -> None:
    """Replaces the content of a settings file and keeps its mode and owner, or removes the file.

    Args:
        file: the file as it was read.
        data: the new content; None to remove the file.

    Raises:
        BadSettings: the file cannot be written, or another program has changed it since it was
            read. The file stays as it is.
    """
    try:
        check_writable(file)
        if data is None:
            _check_unchanged(file)
            file.target.unlink(missing_ok=True)
        else:
            _write(file.target, data, file)
    except OSError as e:
        raise _cannot(file.path, reason(e)) from None


def check_writable(file: SettingsFile) -> None:
    """Checks that a settings file can be replaced, without writing anything.

    Args:
        file: the file as it was read.

    Raises:
        BadSettings: the file cannot be replaced.
    """
    directory = file.target.parent
    if file.data is None and not directory.exists():  # `add` makes the directory
        directory = directory.parent
    if not directory.is_dir():
        raise _cannot(file.path, f"{directory} does not exist")
    if not _is_writable(directory):
        raise _cannot(file.path, f"{directory} is read-only")
    if file.data is None:
        return
    stats = file.target.stat()
    if not _is_writable(file.target):
        raise _cannot(file.path, "it is read-only")
    if stats.st_nlink > 1:
        raise _cannot(
            file.path, "it has a second name (a hard link), which would keep the old content"
        )


def _write(target: Path, data: bytes, old: SettingsFile | None = None) -> None:
    """Replaces a file atomically. Keeps owner and mode of `old`; refuses if `old` has changed."""
    fd, name = tempfile.mkstemp(prefix=".acp-proxy-", dir=target.parent)
    made = Path(name)
    try:
        with open(fd, "wb") as new:  # noqa: PTH123  a descriptor
            new.write(data)
            new.flush()
            if old is not None and old.data is not None:
                _copy_owner(target, fd)
            os.fsync(fd)
        if old is not None:
            _check_unchanged(old)
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _copy_owner(old: Path, fd: int) -> None:
    before, made = old.stat(), os.fstat(fd)
    if (before.st_uid, before.st_gid) != (made.st_uid, made.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):  # some attributes can be set by the system only
                os.setxattr(fd, name, os.getxattr(old, name))


def _check_unchanged(file: SettingsFile) -> None:
    is_moved = Path(os.path.realpath(file.path)) != file.target
    if is_moved or _data(file.path, file.target) != file.data:
        raise _cannot(file.path, "it has changed since it was read; try again")


def _data(path: Path, target: Path) -> bytes | None:
    try:
        if kind_of(target) is None and not os.path.lexists(target):
            return None
        with open_plain(target) as file:
            data = file.read(SETTINGS_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise BadSettings(f"cannot read {path}: {reason(e)}") from None
    if len(data) > SETTINGS_FILE:
        raise BadSettings(f"cannot read {path}: it has more than {SETTINGS_FILE >> 20} MB")
    return data


def _is_writable(path: Path) -> bool:
    """Whether this process may write a file or directory.

    False if the mode forbids everybody to write, although the superuser could still write.
    """
    return bool(path.stat().st_mode & _ANY_WRITE) and os.access(path, os.W_OK)


def _cannot(path: Path, why: str) -> BadSettings:
    return BadSettings(f"cannot write {path}: {why}")


@frozen
class AddedEntry:
    """An entry that acp-proxy added to a settings file."""

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
    """Whether acp-proxy made the directory of the settings file."""


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
            _write(self.path, converter.dumps(changes).encode())
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
        BadSettings: the file cannot be written. The file stays as it is.
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
        If the file still has the content that the change gave it: the content before the change.
        Otherwise: the content without the entry. None if the file should be removed.

    Raises:
        BadSettings: the entry was changed or removed later, or the file does not exist any more.
    """
    before = None if change.before is None else base64.b64decode(change.before)
    if data is None and before is not None:
        raise BadSettings("the file does not exist any more")
    if data is None or digest(data) == change.after:
        return before
    parts = data.split(base64.b64decode(change.piece))
    if len(parts) == 2:
        with contextlib.suppress(BadSettings):
            if _is_without(change, data, b"".join(parts)):
                return b"".join(parts)
    return without(data, change.section, change.name, change.value)


def _is_without(change: AddedEntry, data: bytes, rest: bytes) -> bool:
    """Whether ``rest`` equals the settings in ``data``, except for the entry of a change."""
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
    """Undoes the latest change of a settings file, and removes the change from the log.

    Args:
        log: the log of the file.
        file: the file as it was read.

    Returns:
        The change that was undone.

    Raises:
        BadSettings: the log has no change, the entry was changed later, or the file cannot be
            written. The file stays as it is.
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
