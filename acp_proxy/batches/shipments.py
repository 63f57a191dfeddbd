"""What travels between the machine that runs a batch and the one that does a job of it.

There go the job, the bytes of its recording, and those of the files that its options name. Back
come the verdict and the bytes of the new run. A recording that is named by a URL does not travel:
whoever does the job fetches it.
"""

import json
import os
import pickle
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from acp_proxy import system
from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict, VerdictKind, line_of, verdict_of
from acp_proxy.batches.words import is_url
from acp_proxy.capture.files import LOG_SUFFIX, candidates, make_private
from acp_proxy.plain_files import is_plain, open_plain, reason
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_export import write_text_form

Fetch = Callable[[str, Path], None]
"""Writes what is at a URL into a file."""
Contents = bytes | dict[str, bytes]
"""Of a file; or of a directory, those of the files in it by their names."""
_NEW = "new.db"
_QUICKLY = 1
_PRIVATE = system.flags("O_NOFOLLOW", "O_CLOEXEC")


@frozen
class Shipment:
    """A job, and all that it needs of the machine that it comes from."""

    job: Job
    """With the paths that its files have there."""
    files: Mapping[str, Contents]
    """By these paths; what a URL names is not among them."""


@frozen
class Unpacked:
    """A job whose files are on this machine."""

    job: Job
    """With the paths that they have here."""
    names: Mapping[str, str] = field(factory=dict)
    """Of each path here, the one that it has on the machine that the job comes from."""


@frozen
class Reply:
    """What was found, and the bytes of the new run; None if none is kept."""

    verdict: JobVerdict
    new_run: bytes | None = None


def to_bytes(value: Shipment | Reply) -> bytes:
    """Returns a value for the way: a tenth as large, since recordings compress well."""
    return zlib.compress(pickle.dumps(value), _QUICKLY)


def from_bytes(data: bytes) -> Any:
    """Returns the value that `to_bytes` has made these bytes of; they can run any code."""
    return pickle.loads(zlib.decompress(data))


def packed(job: Job) -> Shipment:
    """Returns a job with what it needs of this machine.

    Raises:
        OSError: a file cannot be read.
        UnreadableRecording: it is one that is still being recorded, and cannot be read.
    """
    files = {path: _contents(Path(path)) for path in job.files}
    if not is_url(job.path):
        files[job.path] = _recording(Path(job.path))
    return Shipment(job, files)


def unpacked(shipment: Shipment, directory: Path, fetch: Fetch) -> Unpacked:
    """Writes the files of a job into a directory.

    Args:
        shipment: the job.
        directory: an empty one.
        fetch: gets what did not travel.
    """
    job = shipment.job
    places: dict[str, str] = {}
    for number, path in enumerate(dict.fromkeys((job.path, *job.files))):
        # Each in a directory of its own, since files of several directories may have one name.
        name = Path(urlsplit(path).path if is_url(path) else path).name
        place = directory / str(number) / (name or "recording")
        place.parent.mkdir()
        contents = shipment.files.get(path)
        if contents is None:
            fetch(path, place)
        else:
            _write(contents, place)
        places[path] = str(place)
    here = evolve(
        job,
        path=places[job.path],
        options=tuple(_with_place(word, places) for word in job.options),
        files=tuple(places[path] for path in job.files),
        output=None if job.output is None else str(directory / _NEW),
    )
    return Unpacked(here, {place: path for path, place in places.items()})


def reply_of(verdict: JobVerdict, unpacked: Unpacked) -> Reply:
    """Returns a verdict as the machine that the job comes from is to see it.

    Args:
        verdict: of the job here.
        unpacked: the job.
    """
    new, line = verdict.new_recording, line_of(verdict)
    for place, path in unpacked.names.items():
        line = line.replace(_within_json(place), _within_json(path))
    return Reply(verdict_of(line), None if new is None else _read(Path(new)))


def delivered(reply: Reply, job: Job) -> JobVerdict:
    """Writes the new run to where a job says, or beside it, and returns the verdict.

    Args:
        reply: what has come back.
        job: the job, with its paths on this machine.

    Raises:
        OSError: it cannot be written.
    """
    if reply.new_run is None or job.output is None:
        return evolve(reply.verdict, new_recording=None)
    make_private(os.path.dirname(os.path.abspath(job.output)))  # noqa: PTH100, PTH120
    for path in candidates(job.output):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PRIVATE, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(reply.new_run)
        return evolve(reply.verdict, new_recording=path)
    raise FileExistsError(f"no free name is left for {job.output}")


def unreadable(job: Job, error: Exception) -> JobVerdict:
    """Returns the verdict of a job whose recording cannot be read.

    Args:
        job: the job.
        error: why.
    """
    return JobVerdict(
        recording=job.recording,
        command=job.command,
        digest=job.digest,
        exit=2,
        kind=VerdictKind.UNREADABLE,
        seconds=0.0,
        attempt=job.attempt,
        error=reason(error) if isinstance(error, OSError) else str(error),
    )


def _with_place(word: str, places: Mapping[str, str]) -> str:
    """Replaces the value of an option that names a file."""
    option, equals, path = word.partition("=")
    place = places.get(str(Path(path))) if equals and path else None
    return word if place is None else f"{option}={place}"


def _within_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()


def _contents(path: Path) -> Contents:
    if not path.is_dir():
        return _read(path)
    return {one.name: _read(one) for one in path.iterdir() if is_plain(one)}


def _write(contents: Contents, place: Path) -> None:
    if isinstance(contents, bytes):
        place.write_bytes(contents)
        return
    place.mkdir()
    for name, data in contents.items():
        (place / name).write_bytes(data)


def _recording(path: Path) -> bytes:
    """Returns a recording as one file; as its text form if it is still being recorded."""
    if not Path(f"{path}{LOG_SUFFIX}").exists():
        return _read(path)
    with RecordingReader(path, unredacted=True) as reader:  # which finishes it if it can
        return b"".join(write_text_form(reader)) if reader.live else _read(path)


def _read(path: Path) -> bytes:
    with open_plain(path) as file:
        return file.read()
