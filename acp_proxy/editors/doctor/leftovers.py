"""Finds files that killed recorders and commands left behind: logs, damaged and partial files.

The checks read logs, but do not index them, and open no database for writing. Files that a program
may still be writing are ignored.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import NAMED
from acp_proxy.base.wording import counted, listed
from acp_proxy.editors.doctor.context import CheckResult, DoctorContext, error, ok, warning
from acp_proxy.editors.known_clients import CLIENTS
from acp_proxy.recording.file_names import DAMAGED_SUFFIX, LOG_SUFFIX, SQLITE_SUFFIXES
from acp_proxy.store.log.log_recovery import check_unfinished

_RECENT_S = 60.0
"""For so many seconds after the last change of a file, a program may still be writing the file."""
_DAMAGED = re.compile(rf"\.db{re.escape(DAMAGED_SUFFIX)}(-\d+)?$")
_PARTIAL = re.compile(r"\.[a-z0-9_]{8}\.import(-journal|-wal|-shm)?|\..+\.(db|jsonl)\.[a-z0-9_]{8}")
_PARTIAL_SETTINGS = re.compile(r"\.acp-proxy-[a-z0-9_]{8}")


def leftovers(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields a warning for each kind of file left in the recordings directory or beside settings.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    names = _names(context.recordings)
    results = [
        *_logs(context, names),
        *_damaged(context, names),
        *_empty(context, names),
        *_side_files(context, names),
        *_partial(context, names),
    ]
    yield from results
    if not results:
        yield ok("no log without its recorder, and nothing half written")


def _logs(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    """Yields results for logs whose recorder has ended; `inspect` finishes their recordings."""
    unfinished = []
    for name in sorted(names):
        path = context.recordings / name.removesuffix(LOG_SUFFIX)
        if not name.endswith(f".db{LOG_SUFFIX}") or _is_recent_and_empty(context, name):
            continue
        if not _size(context.recordings / name) and not _size(path):
            files = [file for file in (path.name, name) if file in names]
            yield warning(
                f"{name} is empty: its recorder was killed before it had recorded anything",
                _remove(context, files),
            )
            continue
        try:
            if check_unfinished(path):
                unfinished.append(path)
        except UnreadableRecording as e:
            advice = "no command can finish it; keep it for a bug report, or move it away"
            yield error(str(e), advice=advice)
    if len(unfinished) == 1:
        path = unfinished[0]
        text = f"the log of {path.stem} is not in its database yet; its recorder is gone"
        yield warning(text, context.command("show", path))
    elif unfinished:
        stems = listed([path.stem for path in unfinished], NAMED)
        text = f"the logs of {counted(len(unfinished), 'recording')} are not in their databases"
        list_ = context.command("list", context.recordings)
        yield warning(f"{text} yet; their recorders are gone: {stems}", list_)


def _damaged(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    damaged = sorted(name for name in names if _DAMAGED.search(name))
    if damaged:
        what = "holds an unreadable part" if len(damaged) == 1 else "hold unreadable parts"
        yield warning(
            f"{listed(damaged, NAMED)} {what} of a damaged log, unmasked",
            _remove(context, damaged),
            advice="no command can add it to the recording, which has all the rest",
        )


def _empty(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    empty = [
        name
        for name in sorted(names)
        if name.endswith(".db")
        and f"{name}{LOG_SUFFIX}" not in names
        and not _size(context.recordings / name)
        and _is_old(context, context.recordings / name)
    ]
    if empty:
        verb = "is" if len(empty) == 1 else "are"
        yield warning(
            f"{listed(empty, NAMED)} {verb} empty and without a log", _remove(context, empty)
        )


def _side_files(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    """Yields warnings for files that SQLite makes beside a database while the database is open."""
    lone = []
    for name in sorted(names):
        database, dash, suffix = name.rpartition("-")
        if not database.endswith(".db") or f"{dash}{suffix}" not in SQLITE_SUFFIXES:
            continue
        if not _is_old(context, context.recordings / name):
            continue
        if database in names or f"{database}{LOG_SUFFIX}" in names:
            if f"{database}{LOG_SUFFIX}" not in names and suffix == "wal":
                show = context.command("show", context.recordings / database)
                yield warning(f"{name} is not in its database yet", show)
        else:
            lone.append(name)
    if lone:
        verb, its = ("is", "its database") if len(lone) == 1 else ("are", "their databases")
        yield warning(f"{listed(lone, NAMED)} {verb} without {its}", _remove(context, lone))


def _partial(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    """Yields a warning for temporary files that a killed command has not renamed or removed."""
    partial = [context.recordings / name for name in names if _PARTIAL.fullmatch(name)]
    for directory in {context.recordings / "setup", *_settings_directories(context)}:
        inside = _names(directory)
        partial += [directory / name for name in inside if _PARTIAL_SETTINGS.fullmatch(name)]
    partial = sorted(path for path in partial if _is_old(context, path))
    if partial:
        verb = "was" if len(partial) == 1 else "were"
        files = listed([path.name for path in partial], NAMED)
        yield warning(
            f"{files} {verb} not finished by a command that was killed",
            shlex.join(["rm", "--", *map(str, partial)]),
        )


def _settings_directories(context: DoctorContext) -> Iterator[Path]:
    for client in CLIENTS:
        if client.section:
            for path in client.files(context.machine):
                yield Path(os.path.realpath(path)).parent


def _names(directory: Path) -> frozenset[str]:
    """Returns the names of the regular files in a directory; none if it cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return frozenset(entry.name for entry in entries if _is_file(entry))
    except OSError:
        return frozenset()


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _is_recent_and_empty(context: DoctorContext, name: str) -> bool:
    """Whether a log is empty and so new that its recorder may just have started."""
    path = context.recordings / name
    return not _size(path) and not _is_old(context, path)


def _is_old(context: DoctorContext, path: Path) -> bool:
    try:
        return context.now - path.stat().st_mtime > _RECENT_S
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _remove(context: DoctorContext, names: list[str]) -> str:
    return shlex.join(["rm", "--", *(str(context.recordings / name) for name in names)])
