"""Writes an entry into settings and takes it back, with what is needed for that kept in a file.

What is kept is written before the settings are, and removed after they are restored, so it is there
whenever it may be needed. It holds settings, so only their owner can read it.
"""

import base64
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.clients.edits import Insertion, document, entries, without
from acp_proxy.clients.settings_file import SettingsFile, check_writable, replace
from acp_proxy.errors import BadSettings
from acp_proxy.forms import converter
from acp_proxy.plain_files import open_plain, reason


@frozen
class AddedEntry:
    """An entry that was added."""

    name: str
    section: str
    value: Any
    before: str | None
    """The whole file until then, in base64; None if it was not there."""
    piece: str
    """What was inserted, in base64."""
    after: str
    """The SHA-256 of the file with the entry."""
    made_directory: bool = False
    """Whether the directory of the file was not there."""


def digest(data: bytes) -> str:
    """Returns the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


class ChangeLog:
    """The changes of one settings file, in their order.

    Args:
        directory: where such logs are kept; made when it is needed.
        file: the settings file.
    """

    def __init__(self, directory: Path, file: SettingsFile) -> None:
        self._directory = directory
        self._file = file
        self.path = directory / f"{digest(os.fsencode(file.target))[:16]}.json"

    def read(self) -> list[AddedEntry]:
        """Returns the changes.

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
        except Exception:  # whatever a damaged value makes the converter raise
            raise BadSettings(f"cannot read {self.path}: it is damaged") from None

    def write(self, changes: list[AddedEntry]) -> None:
        """Keeps changes in place of those before.

        Raises:
            BadSettings: they cannot be written; those before are kept.
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
    """Writes an entry into a settings file.

    Args:
        log: of the file.
        file: as it was read.
        change: what `edits.insertion` returned for what was read.
        section: the section of the entry.
        name: the name of the entry.

    Raises:
        BadSettings: it cannot be written; then the file is as it was.
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
        with contextlib.suppress(BadSettings, OSError):  # one that was not done is passed over
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
    """Returns a settings file without the entry of a change.

    Args:
        change: the change.
        data: the file; None if it is not there.

    Returns:
        The bytes from before the change if nothing else was changed, else those of the file
        without the entry; None if there is to be no file.

    Raises:
        BadSettings: the entry cannot be told from what was changed since.
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
    """Whether settings lack the entry of a change, and nothing else that others have."""
    mine = entries(data, change.section)
    if mine.pop(change.name, None) != change.value or entries(rest, change.section) != mine:
        return False
    return {**document(data), change.section: mine} == {**document(rest), change.section: mine}


def is_undone(change: AddedEntry, data: bytes | None) -> bool:
    """Whether a settings file is as it was before a change.

    Args:
        change: the change.
        data: the file; None if it is not there.
    """
    kept = None if data is None else base64.b64encode(data).decode()
    return change.before == kept


def undo(log: ChangeLog, file: SettingsFile) -> AddedEntry:
    """Takes the latest change of a settings file back.

    Args:
        log: of the file.
        file: as it was read.

    Returns:
        The change.

    Raises:
        BadSettings: there is none, or the entry was changed since, or the file cannot be written;
            then the file is as it was.
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
            with contextlib.suppress(OSError):  # somebody has put something there
                file.target.parent.rmdir()
    log.write(changes[:-1])
    return change
