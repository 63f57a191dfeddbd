"""Where a batch of `verify` records its new runs, and which of them it removes again."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path

from acp_proxy.batches.job import Job
from acp_proxy.batches.results import JobVerdict
from acp_proxy.capture.files import LOG_SUFFIX, candidates, fresh_name, make_private
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.plain_files import reason


def new_names(command: Sequence[str], output: Path | None) -> Callable[[str], str]:
    """Returns a function that chooses a new, unused path for the run of each recording.

    Nothing has such a name, so whatever is there later is that run, or a part of it.

    Args:
        command: that of the agent.
        output: the directory of all runs; None for the recordings directory.
    """
    if output is not None:
        directory, used, given = output.absolute(), Counter[str](), set[str]()

        def beside(path: str) -> str:
            stem = Path(path).stem
            used[stem] += 1
            name = f"{stem}.db" if used[stem] == 1 else f"{stem}.{used[stem]}.db"
            every = candidates(str(directory / name))
            free = next(one for one in every if one not in given and not _is_taken(one))
            given.add(free)
            return free

        return beside
    numbers = count(int.from_bytes(os.urandom(2), "big"))

    def fresh(_: str) -> str:
        name = fresh_name(command, f"{next(numbers) & 0xFFFF:04x}", time.time_ns())
        return str(recordings() / f"{name}.db")

    return fresh


def _is_taken(path: str) -> bool:
    """Whether there is a recording, or anything else, where one is to be made."""
    return os.path.lexists(path) or os.path.lexists(f"{path}{LOG_SUFFIX}")


def discard(_: Job, verdict: JobVerdict) -> None:
    """Deletes the run of an attempt that is followed by another one.

    Args:
        _: the job.
        verdict: of that attempt.
    """
    if verdict.new_recording is not None:
        from acp_proxy.store.library import delete

        delete(Path(verdict.new_recording))


def expect_elsewhere(words: Iterable[str]) -> None:
    """Raises Refusal if new runs would be recorded into a directory that is to be verified.

    Args:
        words: name the recordings.
    """
    home = os.path.realpath(recordings())
    for word in words:
        place = os.path.realpath(word)
        if os.path.isdir(place) and Path(home).is_relative_to(place):  # noqa: PTH112
            raise Refusal(
                f"new runs would be recorded into {home}, and be verified the next time; give"
                " another directory with --output"
            )


def make_directory(path: Path) -> None:
    """Makes the directory of new runs, for its owner alone.

    Args:
        path: the directory, which may be there.

    Raises:
        Refusal: it cannot be made.
    """
    try:
        make_private(str(path.absolute()))
    except OSError as e:
        raise Refusal(f"cannot make {path}: {reason(e)}") from None
