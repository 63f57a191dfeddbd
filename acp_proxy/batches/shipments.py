"""The messages between the machine that runs a batch and the machines that run the jobs.

A request contains the job, the bytes of its recording, and the files in its options. The reply
contains the verdict, and the bytes of the new run's recording. A recording at a shared path is not
sent.
"""

import json
import os
import pickle
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from acp_proxy.base import system
from acp_proxy.base.plain_files import open_plain
from acp_proxy.batches.batch import Job
from acp_proxy.batches.results import JobVerdict, line_of, verdict_of
from acp_proxy.recording.file_names import LOG_SUFFIX, candidates, make_private
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.reader import RecordingReader

_PRIVATE = system.flags("O_NOFOLLOW", "O_CLOEXEC")


def packed(job: Job) -> bytes:
    """Returns a job and the files that it needs, as compressed bytes.

    Raises:
        OSError: a file cannot be read.
        UnreadableRecording: the recorder of the recording still runs, and the recording cannot be
            read.
    """
    files = {path: _read(Path(path)) for path in job.files}
    if not job.is_shared:
        files[job.path] = _recording(Path(job.path))
    return _to_bytes((job, files))


def unpacked(data: bytes, directory: Path) -> tuple[Job, dict[str, str]]:
    """Writes the files of a job into a directory.

    Args:
        data: the result of `packed`. It must come from a trusted sender, since unpacking can run
            any code.
        directory: an empty directory.

    Returns:
        The job with paths on this machine, and a mapping from these paths to the paths on the
        sender's machine.
    """
    job, files = _from_bytes(data)
    places: dict[str, str] = {}
    for number, (path, contents) in enumerate(files.items()):
        # Each file has its own directory, because files from different directories may have the
        # same name.
        place = directory / str(number) / Path(path).name
        place.parent.mkdir()
        place.write_bytes(contents)
        places[path] = str(place)
    here = evolve(
        job,
        path=places.get(job.path, job.path),
        options=tuple(_with_place(word, places) for word in job.options),
        files=tuple(places[path] for path in job.files),
        output=None if job.output is None else str(directory / "new.db"),
    )
    return here, {place: path for path, place in places.items()}


def reply_of(verdict: JobVerdict, names: Mapping[str, str]) -> bytes:
    """Returns the reply to a job: the new recording, and the verdict with the sender's own paths.

    Args:
        verdict: the verdict with paths on this machine.
        names: the mapping of paths that `unpacked` returned.
    """
    new, line = verdict.new_recording, line_of(verdict)
    for place, path in names.items():
        line = line.replace(_within_json(place), _within_json(path))
    return _to_bytes((verdict_of(line), None if new is None else _read(Path(new))))


def delivered(data: bytes, job: Job) -> JobVerdict:
    """Writes the recording of the new run to a file, and returns the verdict.

    The file has the job's output path, or a similar path that is free.

    Args:
        data: the result of `reply_of`. It must come from a trusted sender, since unpacking can run
            any code.
        job: the job, with its paths on this machine.

    Raises:
        OSError: the run cannot be written.
    """
    verdict: JobVerdict
    verdict, new_run = _from_bytes(data)
    if new_run is None or job.output is None:
        return evolve(verdict, new_recording=None)
    make_private(os.path.dirname(os.path.abspath(job.output)))  # noqa: PTH100, PTH120
    for path in candidates(job.output):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PRIVATE, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(new_run)
        return evolve(verdict, new_recording=path)
    raise FileExistsError(f"no free name is left for {job.output}")


def _to_bytes(value: tuple[Any, Any]) -> bytes:
    return zlib.compress(pickle.dumps(value), level=1)


def _from_bytes(data: bytes) -> Any:
    return pickle.loads(zlib.decompress(data))


def _with_place(word: str, places: Mapping[str, str]) -> str:
    """Replaces the path of a job's file, within an option, by its path on this machine."""
    option, equals, path = word.partition("=")
    place = places.get(str(Path(path))) if equals and path else None
    return word if place is None else f"{option}={place}"


def _within_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()


def _recording(path: Path) -> bytes:
    """Returns the bytes of a recording; in the text form if it is still being recorded."""
    if Path(f"{path}{LOG_SUFFIX}").exists():
        with RecordingReader(path, unredacted=True) as reader:  # completes the recording if it can
            if reader.live:
                return b"".join(write_text_form(reader))
    return _read(path)


def _read(path: Path) -> bytes:
    with open_plain(path) as file:
        return file.read()
