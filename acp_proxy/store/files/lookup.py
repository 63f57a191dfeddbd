"""Finds the recording that a user means: by path, part of a name, start of an id, or the latest."""

import contextlib
import re
import shlex
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from acp_proxy.base.errors import NoSuchRecording, UnreadableRecording
from acp_proxy.base.limits import EXAMPLES, NAMED
from acp_proxy.base.plain_files import is_plain, kind_of, open_plain, trouble_with
from acp_proxy.base.wording import did_you_mean, listed
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.log_format import MAGIC
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files.database import is_sqlite
from acp_proxy.store.files.directory import TEXT_SUFFIX, paths, read_recording, recording_at
from acp_proxy.store.files.newest import in_reading_order, is_run, may_have, newest_first
from acp_proxy.store.reader import is_text

_ID = re.compile("[0-9a-f]{4,12}")
"""Matches an id, or the beginning of an id with at least four digits."""
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
_Known = tuple[Path, Recording]


class LatestRecording(NamedTuple):
    """The recording that ``latest`` means."""

    path: Path
    passed_over: _Known | None = None
    """The newest recording of all, if the search preferred an older recording; otherwise None."""


def resolve(word: str, directory: Path, here: Path) -> Path:
    """Finds the recording that a user means.

    Args:
        word: the recording: a path, a name, a part of a name, the start of an id, or ``latest``.
            ``latest~1`` is the recording before the latest, and so on.
        directory: the recordings directory.
        here: the current directory. ``latest`` prefers recordings that were made in this directory.

    Raises:
        NoSuchRecording: no recording matches the word, or several do.
    """
    if match := _LATEST.fullmatch(word):
        return _nth_latest(directory, here, int(match[1] or 0))
    path, other = _at_path((Path(word), directory / word))
    if path is not None:
        return path
    try:
        if word.endswith((".db", TEXT_SUFFIX)) or "/" in word:
            raise NoSuchRecording(
                _other(word, directory)
                or f"no recording at {word}; `acp-proxy list` shows all recordings"
            )
        return _by_name_or_id(word, directory)
    except NoSuchRecording:
        if other is None:
            raise
        return other


def _at_path(places: Iterable[Path]) -> tuple[Path | None, Path | None]:
    """Finds the recording at the first path that leads to one; paths may lack the file's suffix.

    Returns:
        The recording, and the first file that may belong to another tool; each may be None.
    """
    other = None
    for place in places:
        for suffix in ("", ".db", TEXT_SUFFIX):
            named = Path(f"{place}{suffix}")
            if (path := recording_at(named)) is None:
                continue
            if suffix == ".db" or _is_ours(named, suffix):
                return path, other
            other = other or path
    return None, other


def is_named(word: str, directory: Path) -> bool:
    """Whether a word names a recording by its path, by its whole name, or by the start of an id.

    Args:
        word: a word that may also mean something else, such as a filter.
        directory: the recordings directory.
    """
    path, _ = _at_path((Path(word), directory / word))
    if path is not None:
        has_log = is_plain(Path(f"{path}{LOG_SUFFIX}"))
        return path.suffix == ".db" or has_log or is_sqlite(path) or is_text(path)
    return word == "latest" or (_ID.fullmatch(word) is not None and bool(_ids(word, directory)))


def hidden_by(file: Path, word: str, directory: Path) -> Path | None:
    """Returns the recording that a word would name if ``file`` did not exist.

    Args:
        file: an existing file at the path that the word names.
        word: the user's word.
        directory: the recordings directory.

    Returns:
        The recording; None if no such recording exists, or if the file itself is the recording.
    """
    if Path(word).name != word or not is_plain(file):
        return None
    hidden, _ = _at_path([directory / word])
    if hidden is None and _ID.fullmatch(word):
        hidden = next(iter(_ids(word, directory)), None)
    is_same = hidden is None or (is_plain(hidden) and hidden.samefile(file))
    return None if is_same else hidden


def _ids(start: str, directory: Path) -> list[Path]:
    """Returns a directory's recordings whose ids begin with a text."""
    likely = _readable(path for path in paths(directory) if may_have(path, start))
    return [path for path, recording in likely if recording.id.startswith(start)]


def _is_ours(named: Path, suffix: str) -> bool:
    """Whether the file found for a user's word is a recording, and not a file of another tool.

    A file at exactly the path that the user wrote counts as a recording without a check. Any other
    file must look like a recording by its name or its content: after an import of ``app.log``, the
    word ``app`` must find the recording, not ``app.log`` beside it.
    """
    if is_plain(named):
        return suffix != TEXT_SUFFIX or is_text(named)
    if named.suffix in (".db", LOG_SUFFIX):
        return True
    try:
        with open_plain(Path(f"{named}{LOG_SUFFIX}")) as log:
            return log.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _by_name_or_id(word: str, directory: Path) -> Path:
    """Finds the only recording that a word names; raises `NoSuchRecording` for none or several."""
    every = paths(directory)
    likely = (path for path in every if word in path.name or may_have(path, word))
    known = _without_texts_of_databases(_readable(likely))
    matches = (
        [match for match in known if match[1].name == word]
        or [match for match in known if match[1].id.startswith(word)]
        or [match for match in known if match[0].name.startswith(word)]
        or [match for match in known if match[1].name.startswith(word)]
        or [match for match in known if word in match[0].name or word in match[1].name]
    )
    if len(matches) == 1:
        return matches[0][0]
    if not matches:
        names = [*(path.stem for path in every), *(recording.name for _, recording in known)]
        near = did_you_mean(word, names)
        raise NoSuchRecording(
            _other(word, directory)
            or f"no recording named {word!r} in {directory}: expected a path, a part of a "
            f"name, the start of an id, latest or latest~1{near}; `acp-proxy list` shows all"
        )
    or_latest = ", or latest~1 for the second latest" if word.isdecimal() else ""
    named = listed([f"{path.name} ({match.id})" for path, match in matches], EXAMPLES)
    raise NoSuchRecording(
        f"{word!r} matches {len(matches)} recordings: {named}; give more of the name or the id,"
        f" or the file{or_latest}"
    )


def latest(directory: Path, here: Path) -> LatestRecording:
    """Finds the newest recording that was made in the current directory, or else the newest of all.

    An imported recording, and a recording whose directory is unknown, counts as made in the current
    directory. A recording that a command made for its own use is found only if there is no other
    recording.

    Args:
        directory: the recordings directory.
        here: the current directory.

    Raises:
        NoSuchRecording: there is no recording.
    """
    order = in_reading_order(directory)
    every = newest_first(directory, order=order)
    first = next(every, (directory, None))
    own = (e for e in chain([first], every) if e[1] is not None and not is_run(e[0]))
    newest, known = next(own, first)
    if known is None:
        raise NoSuchRecording(
            f"no recording in {directory}; put `acp-proxy record --` before an agent's command"
        )
    if known.cwd == str(here):
        return LatestRecording(newest)
    for path, recording in newest_first(directory, str(here), order):
        if recording is not None and not is_run(path):
            return _latest(path, (newest, known))
    return LatestRecording(newest)


def _nth_latest(directory: Path, here: Path, back: int) -> Path:
    """Returns the latest recording, or the recording that is ``back`` steps older.

    Raises:
        NoSuchRecording: there are not that many recordings.
    """
    newest = latest(directory, here)
    if not back:
        return newest.path
    is_own = newest.passed_over or read_recording(newest.path).cwd == str(here)
    every = newest_first(directory, str(here) if is_own else "")
    own = (path for path, recording in every if recording is not None and not is_run(path))
    chosen = next(islice(own, back, None), None)
    if chosen is None:
        raise NoSuchRecording(
            f"there are fewer than {back + 1} recordings; `acp-proxy list` shows all"
        )
    return chosen


def latest_running(directory: Path, here: Path) -> LatestRecording | None:
    """Chooses like `latest`, but only among running recordings; None if none is running.

    Args:
        directory: the recordings directory.
        here: the current directory.
    """
    from acp_proxy.store.log.log_recovery import has_recorder

    with_log = [log.with_suffix("") for log in sorted(directory.glob(f"*.db{LOG_SUFFIX}"))]
    running = _readable(filter(has_recorder, with_log))
    if not running:
        return None
    own = [entry for entry in running if entry[1].cwd == str(here)]
    return _latest((own or running)[0][0], next(iter(newest_first(directory))))


def _latest(chosen: Path, newest: tuple[Path, Recording | None]) -> LatestRecording:
    path, recording = newest
    if recording is None or path == chosen:
        return LatestRecording(chosen)
    return LatestRecording(chosen, (path, recording))


def _readable(every: Iterable[Path]) -> list[_Known]:
    """Reads the recordings at the given paths, newest first; leaves out unreadable recordings."""
    readable = []
    for path in every:
        with contextlib.suppress(UnreadableRecording):
            readable.append((path, read_recording(path)))
    return sorted(readable, key=lambda known: known[1].started_at, reverse=True)


def _without_texts_of_databases(knowns: Iterable[_Known]) -> list[_Known]:
    """Leaves out each text form whose recording is also in the list as a database."""
    every = list(knowns)
    databases = {recording.id for path, recording in every if path.suffix != TEXT_SUFFIX}
    return [
        (path, recording)
        for path, recording in every
        if path.suffix != TEXT_SUFFIX or recording.id not in databases
    ]


def _other(word: str, directory: Path) -> str | None:
    """Describes a file that is not a recording, without opening it; None if there is no file."""
    for place in (Path(word), directory / word) if word else ():
        if (problem := trouble_with(place)) is not None:
            return f"cannot look at {place}: {problem}"
        if place.is_dir():
            return _directory(place, [path.name for path in paths(place)])
        if (kind := kind_of(place)) is not None:
            hint = "; `acp-proxy show -` reads a text from a pipe" if kind == "a pipe" else ""
            return f"{place} is {kind}: expected the file of a recording{hint}"
    return None


def _directory(place: Path, names: list[str]) -> str:
    if not names:
        return (
            f"{place} is a directory without recordings: expected a recording; "
            "`acp-proxy list` shows all recordings"
        )
    return (
        f"{place} is a directory: expected one of its recordings, {listed(names, NAMED)}"
        f"; `acp-proxy list {shlex.quote(str(place))}` shows them"
    )
