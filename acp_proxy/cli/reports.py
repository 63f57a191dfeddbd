"""Reports in files: that nothing is lost by them, before anything begins, and how to write them."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.cli.main import Refusal
from acp_proxy.plain_files import reason


def check_report_files(*files: Path | None) -> None:
    """Makes sure, before anything is played, that reports can be written.

    Raises:
        Refusal: one cannot, or one would be lost.
    """
    given = [file for file in files if file is not None]
    for file in given:
        if not stat.S_ISDIR(_mode(file.absolute().parent)):
            raise Refusal(f"cannot write {file}: {file.absolute().parent} is no directory")
        if stat.S_ISDIR(_mode(file)):
            raise Refusal(f"cannot write {file}: it is a directory")
    places = [os.path.realpath(file) for file in given if _keeps(file)]
    if len({*places}) < len(places):
        raise Refusal(f"cannot write two reports into one file: {places[0]}")
    for file in given:
        if file.is_symlink():
            raise Refusal(f"cannot write {file}: it is a symbolic link; give the path it leads to")
        if not _keeps(file) and not stat.S_ISCHR(_mode(file)):
            raise Refusal(f"cannot write {file}: it is no plain file")


def spare_recordings(files: Iterable[Path | None], recordings: Iterable[Path]) -> None:
    """Makes sure, before anything is played, that no report takes the place of a recording.

    Args:
        files: the reports'.
        recordings: those that are read, and those that will be there; each may have a log.

    Raises:
        Refusal: one does; or it would take that of any other.
    """
    known = {os.path.realpath(f"{path}{end}") for path in recordings for end in ("", LOG_SUFFIX)}
    for file in files:
        if file is None or not _keeps(file):
            continue
        if os.path.realpath(file) in known or _holds_a_recording(file):
            raise Refusal(f"cannot write a report into the file of a recording: {file}")


def write_text(path: Path, text: str) -> None:
    """Writes a report, for its owner alone; it takes the place of a plain file that is there.

    What is written into a device, such as ``/dev/null``, goes there.

    Raises:
        Refusal: it cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    if stat.S_ISCHR(_mode(path)):
        _write_into_device(path, data)
        return
    from acp_proxy.cli.new_file import new_file  # late: most replays write none

    with new_file(path, force=True) as file:
        file.write(data)


def _write_into_device(path: Path, data: bytes) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK)
        with open(fd, "wb") as device:  # noqa: PTH123  a descriptor
            device.write(data)
    except OSError as e:
        raise _unwritable(path, e) from None


def try_write(path: Path, text: str) -> bool:
    """Writes a report, for who has more to do than that; if it cannot be written, says so.

    Returns:
        Whether it is written.
    """
    try:
        write_text(path, text)
    except Refusal as refusal:
        refusal.show()
        return False
    return True


def _keeps(file: Path) -> bool:
    """Whether what is written there takes the place of what was there, as in no device or pipe."""
    mode = _mode(file)
    return not mode or stat.S_ISREG(mode)


def _holds_a_recording(file: Path) -> bool:
    """Whether there is one, or the log of one, by how it begins."""
    if not _mode(file):
        return False
    from acp_proxy.store.database import is_sqlite
    from acp_proxy.store.log_reader import is_log
    from acp_proxy.store.text_import import is_transcript

    return is_sqlite(file) or is_log(file) or is_transcript(file)


def _mode(path: Path) -> int:
    """What there is, for `stat`; 0 if there is nothing.

    Raises:
        Refusal: nobody may know, or nothing can be called so.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as e:
        raise _unwritable(path, e) from None


def _unwritable(path: Path, error: OSError) -> Refusal:
    return Refusal(f"cannot write {path}: {reason(error)}")
