"""Reads a settings file, and replaces it atomically if it has not changed since."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from attrs import frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.base.limits import SETTINGS_FILE
from acp_proxy.base.plain_files import kind_of, open_plain, reason

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
            read. This call has not changed the file.
    """
    try:
        check_writable(file)
        if data is None:
            _check_unchanged(file)
            file.target.unlink(missing_ok=True)
        else:
            _write(file, data)
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
    if file.data is None and not directory.exists():  # `settings_changes.add` makes the directory
        directory = directory.parent
    if not directory.is_dir():
        raise _cannot(file.path, f"{directory} is not there")
    if not _is_writable(directory):
        raise _cannot(file.path, f"{directory} is read-only")
    if file.data is None:
        return
    stats = file.target.stat()
    if not _is_writable(file.target):
        raise _cannot(file.path, "it is read-only")
    if stats.st_nlink > 1:
        raise _cannot(file.path, "it has a second name, which would keep the old content")


def _write(file: SettingsFile, data: bytes) -> None:
    fd, name = tempfile.mkstemp(prefix=".acp-proxy-", dir=file.target.parent)
    made = Path(name)
    try:
        with open(fd, "wb") as new:  # noqa: PTH123  a descriptor
            new.write(data)
            new.flush()
            if file.data is not None:
                _copy_owner(file.target, fd)
            os.fsync(fd)
        _check_unchanged(file)
        made.replace(file.target)
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
    if Path(os.path.realpath(file.path)) != file.target or _data(file.path, file.target) != (
        file.data
    ):
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

    False if its mode forbids everybody to write; this includes the superuser, who could still
    write.
    """
    return bool(path.stat().st_mode & _ANY_WRITE) and os.access(path, os.W_OK)


def _cannot(path: Path, why: str) -> BadSettings:
    return BadSettings(f"cannot write {path}: {why}")
