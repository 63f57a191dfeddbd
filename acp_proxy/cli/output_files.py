"""Writes reports and other files, each as a whole or not at all. Never replaces a recording.

All files that the command line writes go through `write_files` or `write_text`.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from acp_proxy.base import system
from acp_proxy.base.plain_files import reason
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.record.capture.record_options import read_name
from acp_proxy.recording.file_names import DAMAGED_SUFFIX, LOG_SUFFIX, candidates, fresh_name


def write_files(files: Mapping[Path, Iterable[bytes]], *, force: bool) -> None:
    """Writes files that only their owner can read. All files appear at the end, together.

    A symbolic link to a directory is followed. A symbolic link in place of a file is refused.

    Args:
        files: the contents of each file, part by part.
        force: whether to replace existing files.

    Raises:
        Refusal: a file exists and `force` is False, or a file cannot be written.
    """
    with ExitStack() as stack:
        for path, parts in files.items():
            stack.enter_context(_new_file(path, force=force)).writelines(parts)


def write_page(
    parts: Iterable[bytes],
    output: Path | None,
    name: str,
    recordings: Iterable[Path],
    *,
    force: bool,
) -> Path | None:
    """Writes a page into a file; the file ``-`` is standard output.

    Args:
        parts: the page, part by part.
        output: the file; None for a file in the current directory.
        name: the base name of the new file in the current directory; see `named_file`.
        recordings: the recordings that the page must not replace.
        force: whether to replace an existing file.

    Returns:
        The file; None for standard output.

    Raises:
        Refusal: the page cannot be written.
    """
    if str(output) == "-":
        from acp_proxy.cli.screens.output import Writer  # late: files need no writer

        writer = Writer()
        writer.all(parts)
        writer.flush()
        return None
    path = output or named_file(name, "html")
    spare_recordings([path], recordings)
    write_files({path: parts}, force=force)
    return path


def named_file(name: str, suffix: str) -> Path:
    """Returns the path of a file that is named after a recording, in the current directory.

    Args:
        name: the name of the recording. It may contain any characters.
        suffix: the ending of the file's name, without its dot.
    """
    with suppress(ValueError):
        return Path(f"{read_name(name)}.{suffix}")
    return Path(f"report.{suffix}")


def check_report_files(*files: Path | None) -> None:
    """Checks that reports can be written. To be called before a run.

    Raises:
        Refusal: a report cannot be written, or two reports have the same path.
    """
    given = [file for file in files if file is not None]
    for file in given:
        if not stat.S_ISDIR(_mode(file.absolute().parent)):
            raise _cannot_write(file, f"{file.absolute().parent} is not a directory")
        if stat.S_ISDIR(_mode(file)):
            raise _cannot_write(file, "it is a directory")
    places = [os.path.realpath(file) for file in given if _is_replaced(file)]
    if len({*places}) < len(places):
        raise Refusal(f"cannot write two reports into one file: {places[0]}")
    for file in given:
        if file.is_symlink():
            raise _symbolic_link(file)
        if not _is_replaced(file) and not stat.S_ISCHR(_mode(file)):
            raise _cannot_write(file, "it is not a plain file")


_OWN = ("", LOG_SUFFIX, DAMAGED_SUFFIX)


def spare_recordings(files: Iterable[Path | None], recordings: Iterable[Path]) -> None:
    """Checks that no report replaces a recording. To be called before a run.

    Args:
        files: the reports.
        recordings: the recordings that are read or will be made. The log of a recording counts,
            too.

    Raises:
        Refusal: a report would replace a recording.
    """
    known = {os.path.realpath(f"{path}{end}") for path in recordings for end in _OWN}
    for file in files:
        if file is None or not _is_replaced(file):
            continue
        if os.path.realpath(file) in known or _holds_a_recording(file):
            raise Refusal(f"cannot write a report into the file of a recording: {file}")


def write_text(path: Path, text: str) -> None:
    """Writes a report to a plain file that only its owner can read, or to a device.

    Args:
        path: the path of the file or device.
        text: the report.

    Raises:
        Refusal: the report cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    if not stat.S_ISCHR(_mode(path)):
        write_files({path: [data]}, force=True)
        return
    try:
        fd = os.open(path, os.O_WRONLY | system.PLAIN | system.flags("O_NOCTTY"))
        with open(fd, "wb") as device:  # noqa: PTH123  a descriptor
            device.write(data)
    except OSError as e:
        raise _cannot_write(path, reason(e)) from None


def json_report(value: Any) -> str:
    """Returns a report as JSON for a file, with null in place of NaN and infinities."""
    from acp_proxy.base.forms import converter  # late: a replay without reports needs no converter

    values = json.loads(converter.dumps(value), parse_constant=lambda _: None)
    return json.dumps(values, indent=2) + "\n"


def write_reports(*reports: tuple[Path | None, Callable[[], str]]) -> bool:
    """Writes the reports that have a path. Prints an error for each report that cannot be written.

    Returns:
        Whether all reports were written.
    """
    are_written = True
    for path, text in reports:
        try:
            if path is not None:
                write_text(path, text())
        except Refusal as refusal:
            refusal.show()
            are_written = False
    return are_written


@contextmanager
def _new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    import tempfile  # late: a replay without reports needs no temporary file

    try:
        path = path.parent.resolve() / path.name
    except OSError as e:  # the working directory has been removed
        raise _cannot_write(path, reason(e)) from None
    check_new(path, force=force)
    made = None
    try:
        fd, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        made = Path(name)
        with open(fd, "wb") as file:  # noqa: PTH123  a descriptor
            yield file
        if not force:
            path.touch(0o600, exist_ok=False)
        made = made.replace(path) and None
    except FileExistsError:
        raise _exists(path) from None
    except BrokenPipeError:
        raise
    except OSError as e:
        raise _cannot_write(path, reason(e)) from None
    finally:
        if made is not None:
            made.unlink(missing_ok=True)


def check_new(path: Path, *, force: bool) -> None:
    """Checks that a new file can be written at a path, or may replace an existing file.

    Args:
        path: the file.
        force: whether an existing plain file may be replaced.

    Raises:
        Refusal: the file exists and must not be replaced, or is not a plain file.
    """
    if path.is_symlink():
        raise _symbolic_link(path)
    if os.path.lexists(path) and not path.is_file():
        raise _cannot_write(path, "it is not a plain file")
    if path.exists() and not force:
        raise _exists(path)


def _is_replaced(file: Path) -> bool:
    """Whether writing to a path creates or replaces a plain file; False for a device or a pipe."""
    mode = _mode(file)
    return not mode or stat.S_ISREG(mode)


def _holds_a_recording(file: Path) -> bool:
    """Whether a file begins like a recording or the log of a recording."""
    if not _mode(file):
        return False
    from acp_proxy.store.copies.text_import import is_text_form
    from acp_proxy.store.files.database import is_sqlite
    from acp_proxy.store.log.log_reader import is_log

    return is_sqlite(file) or is_log(file) or is_text_form(file)


def _mode(path: Path) -> int:
    """Returns the mode of a file (see `stat`); 0 for a file that does not exist.

    Raises:
        Refusal: a directory in the path cannot be read, or the path is not valid.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as e:
        raise _cannot_write(path, reason(e)) from None


def _cannot_write(path: Path, why: str) -> Refusal:
    return Refusal(f"cannot write {path}: {why}")


def _symbolic_link(path: Path) -> Refusal:
    return _cannot_write(path, "it is a symbolic link; give the path it leads to")


def _exists(path: Path) -> Refusal:
    return Refusal(f"{path} exists; expected the path of a new file, or --force to replace it")


def new_path(command: tuple[str, ...], output: Path | None, given: Collection[Path] = ()) -> Path:
    """Returns an unused path for the recording of a new run.

    Args:
        command: the agent's command.
        output: the path that the user asked for; None for a new file in the recordings directory.
        given: the paths that are reserved for other runs.

    Raises:
        Refusal: a recording cannot be written at the path.
    """
    if output is not None and output.suffix == ".jsonl":
        raise Refusal(f"`verify` writes a database: expected a name such as NAME.db, got {output}")
    if output is None:
        output = recordings() / f"{fresh_name(command, os.urandom(2).hex(), time.time_ns())}.db"
    for path in map(Path, candidates(str(output.absolute()))):
        if path in given:
            continue
        if not os.path.lexists(path) and not os.path.lexists(f"{path}{LOG_SUFFIX}"):
            return path
    raise Refusal(f"cannot record into {output}: no free name is left")
