"""Checks whether recordings can be made, lists running recorders, and finds leftovers.

Leftovers are files of killed recorders and commands: logs, damaged files and partial files. The
checks read logs but do not index them, and open no database for writing. Files that a program may
still be writing are ignored.
"""

import contextlib
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import NAMED
from acp_proxy.base.plain_files import reason
from acp_proxy.base.wording import byte_size, counted, listed
from acp_proxy.editors.doctor.context import (
    CheckResult,
    CheckStatus,
    DoctorContext,
    error,
    ok,
    warning,
)
from acp_proxy.editors.known_clients import CLIENTS
from acp_proxy.explain.findings import Severity
from acp_proxy.explain.show.summary import find_quickly
from acp_proxy.record.capture.process_groups import SHELL
from acp_proxy.recording.file_names import DAMAGED_SUFFIX, LOG_SUFFIX, SQLITE_SUFFIXES
from acp_proxy.store.files.directory import disk_size, paths
from acp_proxy.store.log.log_recovery import check_unfinished, has_recorder
from acp_proxy.store.reader import RecordingReader

_SCARCE = 1_000_000_000
"""If fewer bytes of disk space are free, there is a warning."""
_TOO_LITTLE = 50_000_000
"""If fewer bytes of disk space are free, there is an error: an hour's recording may not fit."""
_PATIENCE_S = 30
_OURS = b"acp-proxy: "


def recordings_directory(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields the results for the directory that `record` writes into.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    where = context.recordings
    try:
        status = where.stat()
    except FileNotFoundError:
        yield _missing(context)
        return
    except OSError as e:
        yield error(f"{where} cannot be read: {reason(e)}")
        return
    if not stat.S_ISDIR(status.st_mode):
        yield error(
            f"{where} is not a directory, so nothing is recorded",
            advice="move it away; the next recording makes the directory",
        )
        return
    troubles = [*_permissions(where, status), *_room(context)]
    if not troubles and (why := _trial(context)):
        troubles.append(error(f"record does not work here: {why}"))
    if not any(trouble.status is CheckStatus.ERROR for trouble in troubles):
        files = paths(where)
        size = byte_size(sum(map(disk_size, files)))
        takes = "takes" if len(files) == 1 else "take"
        number = f"{counted(len(files), 'recording')} {takes} {size}" if files else "it is empty"
        yield ok(f"{where}: {number}, {byte_size(_free(where))} are free")
    yield from troubles


def _trial(context: DoctorContext) -> str:
    """Makes and removes a recording; returns the reason if recording fails, or ""."""
    where = context.recordings
    made = [place for place in (where, *where.parents) if not place.exists()]
    path = where / f"doctor-{os.urandom(4).hex()}.db"
    words = [sys.executable, "-P", "-m", "acp_proxy", "record", "-o"]
    words += [str(path), "--", SHELL, "-c", ":"]
    environ = context.machine.environ.items()
    env = {name: value for name, value in environ if not name.startswith("ACP_PROXY_")}
    try:
        ended = subprocess.run(words, env=env, input=b"", capture_output=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return f"it has not ended within {_PATIENCE_S} seconds"
    finally:
        with contextlib.suppress(OSError):
            for file in where.glob(f"{path.name}*"):
                file.unlink()
            for place in made:
                place.rmdir()
    own = [line for line in ended.stderr.splitlines() if line.startswith(_OURS)]
    if own:
        return own[-1].removeprefix(_OURS).decode(errors="replace")
    return f"it exits with {ended.returncode}" if ended.returncode else ""


def _missing(context: DoctorContext) -> CheckResult:
    where = context.recordings
    if where.is_symlink():
        return error(f"{where} is a symbolic link to nothing")
    if why := _trial(context):
        return error(
            f"{where} cannot be made: {why}",
            advice="nothing is recorded until it can be made, or ACP_PROXY_RECORDINGS names"
            " another directory",
        )
    return ok(f"{where} does not exist yet; the first recording makes it")


def _permissions(where: Path, status: os.stat_result) -> Iterator[CheckResult]:
    mode, uid, quoted = stat.S_IMODE(status.st_mode), os.getuid(), shlex.quote(str(where))
    if status.st_uid != uid and uid:
        yield error(
            f"{where} belongs to user {status.st_uid}, and you are {uid}",
            f"sudo chown -R {uid} {quoted}",
        )
        return
    if status.st_uid != uid:
        yield warning(f"{where} belongs to user {status.st_uid}, and you are the superuser")
    has_mode, chmod = f"{where} has mode {mode:04o}", f"chmod 700 {quoted}"
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        yield error(f"{has_mode}, so recordings cannot be made or read", chmod)
    elif mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield error(f"{has_mode}: others can remove recordings, or put files there", chmod)
    elif mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(f"{has_mode}: others can see the names of recordings", chmod)
    elif not os.access(where, os.W_OK):
        yield error(f"{where} cannot be written to; is its file system read-only?")


def _room(context: DoctorContext) -> Iterator[CheckResult]:
    where = context.recordings
    free = _free(where)
    if free >= _SCARCE:
        return
    total = sum(map(disk_size, paths(where)))
    commands = []
    advice = ""
    if total:
        unit, name = (10**6, "MB") if total > 10**8 else (1000, "kB")
        half = f"{-(-total // (2 * unit))}{name}"
        commands = [context.command("prune", "--larger-than", half)]
        advice = "this deletes the oldest half of them; --dry-run lists what would be deleted"
    make = error if free < _TOO_LITTLE else warning
    text = f"{byte_size(free)} are free in {where}; its recordings take {byte_size(total)}"
    yield make(text, *commands, advice=advice)


def _free(where: Path) -> int:
    stats = os.statvfs(where)
    return stats.f_bavail * stats.f_frsize


def running(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields a result for each running recorder that writes into the recordings directory.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    has_any = False
    for path in paths(context.recordings):
        if not os.path.lexists(f"{path}{LOG_SUFFIX}") or not has_recorder(path):
            continue
        result = _running(context, path)
        if result is not None:
            has_any = True
            yield result
    if not has_any:
        yield ok("no recorder is running")


def _running(context: DoctorContext, path: Path) -> CheckResult | None:
    """Returns a result that says what a recorder waits for; None if the recorder just ended."""
    try:
        with RecordingReader(path, unredacted=context.unredacted) as reader:
            live = reader.live
            findings, waiting, _ = find_quickly(reader, context.monotonic_ns)
    except UnreadableRecording as e:
        return error(str(e))
    if not live:
        return None
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    problems = [finding.brief or finding.text for finding in errors]
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        show = context.command("show", path)
        return warning(f"{path.stem}: {problems[0]}{more}", show)
    waits = "; ".join(wait.text for wait in waiting[:NAMED])
    return ok(f"{path.stem}: {waits or 'nothing is open'}")


_RECENT_S = 60.0
"""For this many seconds after a change of a file, a program may still be writing the file."""
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
        yield ok("no killed recorder or command has left a log or an unfinished file")


def _logs(context: DoctorContext, names: frozenset[str]) -> Iterator[CheckResult]:
    """Yields results for logs of ended recorders. A log is indexed when its recording is read."""
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
        what = "contains an unreadable part" if len(damaged) == 1 else "contain unreadable parts"
        yield warning(
            f"{listed(damaged, NAMED)} {what} of a damaged log, unmasked",
            _remove(context, damaged),
            advice="no command can read them; the recording has everything else from its log",
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
    """Yields warnings for leftover files that SQLite makes beside an open database."""
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
    """Yields a warning for leftover temporary files of commands that were killed."""
    partial = [context.recordings / name for name in names if _PARTIAL.fullmatch(name)]
    for directory in {context.recordings / "setup", *_settings_directories(context)}:
        inside = _names(directory)
        partial += [directory / name for name in inside if _PARTIAL_SETTINGS.fullmatch(name)]
    partial = sorted(path for path in partial if _is_old(context, path))
    if partial:
        verb = "was" if len(partial) == 1 else "were"
        files = listed([path.name for path in partial], NAMED)
        yield warning(
            f"{files} {verb} left unfinished by a command that was killed",
            shlex.join(["rm", "--", *map(str, partial)]),
        )


def _settings_directories(context: DoctorContext) -> Iterator[Path]:
    for client in CLIENTS:
        if client.section:
            for path in client.files(context.machine):
                yield Path(os.path.realpath(path)).parent


def _names(directory: Path) -> frozenset[str]:
    """Returns the names of the regular files in a directory; empty if it cannot be read."""
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
