"""Reads a settings file and replaces it: at once, by what is complete, and only as it was read."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from attrs import frozen

from acp_proxy.errors import BadSettings
from acp_proxy.plain_files import kind_of, open_plain, reason

_LARGEST = 16 << 20
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@frozen
class SettingsFile:
    """A file as it was read."""

    path: Path
    """As the client names it."""
    target: Path
    """The file itself, where `path` is a symbolic link."""
    data: bytes | None
    """None if it is not there."""


def read(path: Path) -> SettingsFile:
    """Reads a settings file, which need not be there.

    Raises:
        BadSettings: it is there and cannot be read.
    """
    target = Path(os.path.realpath(path))
    return SettingsFile(path, target, _data(path, target))


def replace(file: SettingsFile, data: bytes | None) -> None:
    """Gives a settings file other bytes, or removes it; its mode and owner stay.

    Args:
        file: as it was read.
        data: the new bytes; None to remove it.

    Raises:
        BadSettings: it cannot be written, or has changed since it was read; then it is as it was.
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
    """Checks that a settings file can be replaced, before anything is written.

    Args:
        file: as it was read.

    Raises:
        BadSettings: it cannot.
    """
    directory = file.target.parent
    if file.data is None and not directory.exists():  # which is then made
        directory = directory.parent
    if not directory.is_dir():
        raise _cannot(file.path, f"{directory} is not there")
    if not _is_writable(directory):
        raise _cannot(file.path, f"{directory} is read-only")
    if file.data is None:
        return
    found = file.target.stat()
    if not _is_writable(file.target):
        raise _cannot(file.path, "it is read-only")
    if found.st_nlink > 1:
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
    found, made = old.stat(), os.fstat(fd)
    if (found.st_uid, found.st_gid) != (made.st_uid, made.st_gid):
        os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, stat.S_IMODE(found.st_mode))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):  # such as those that only the system may set
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
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise BadSettings(f"cannot read {path}: {reason(e)}") from None
    if len(data) > _LARGEST:
        raise BadSettings(f"cannot read {path}: it has more than {_LARGEST >> 20} MB")
    return data


def _is_writable(path: Path) -> bool:
    """Whether somebody may write it, and we may; no permission holds the superuser."""
    return bool(path.stat().st_mode & _ANY_WRITE) and os.access(path, os.W_OK)


def _cannot(path: Path, why: str) -> BadSettings:
    return BadSettings(f"cannot write {path}: {why}")
