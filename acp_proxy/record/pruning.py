"""Deletes old recordings when a new recording starts, and logs the names of their files.

The search may be cancelled at any time. Every deletion is logged, even after a cancellation.
"""

import os
from pathlib import Path

import trio

from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.wording import byte_size, counted, listed, visible
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.file_names import recordings_directory
from acp_proxy.recording.log_format import NOTE, Log
from acp_proxy.store.files.directory import OldRecording, delete, prunable

_MOST_IN_EVENT = 500
"""The largest number of files that one event lists."""


async def make_room(log: Log, keep: tuple[str, float], spare: Path) -> None:
    """Deletes old recordings of the recordings directory, as --keep requires.

    Args:
        log: the log of the new recording, which gets an event that lists the deleted files.
        keep: see `capture.record_options.read_keep`.
        spare: the new recording, which is not deleted.
    """
    what, amount = keep
    age, total = (amount, None) if what == "age" else (None, amount)
    directory = Path(recordings_directory(os.environ))
    gone: list[OldRecording] = []
    try:
        old = await trio.to_thread.run_sync(
            lambda: prunable(directory, older_than=age, larger_than=total, spare=spare),
            abandon_on_cancel=True,
        )
        await trio.to_thread.run_sync(_delete, old, gone)
    except OSError:
        pass
    finally:
        _report(log, gone)


def _delete(old_recordings: list[OldRecording], gone: list[OldRecording]) -> None:
    """Deletes recordings until the task is cancelled; adds each deleted recording to ``gone``."""
    for old in old_recordings:
        trio.from_thread.check_cancelled()
        if delete(old.path):
            gone.append(old)


def _report(log: Log, gone: list[OldRecording]) -> None:
    for start in range(0, len(gone), _MOST_IN_EVENT):
        part = gone[start : start + _MOST_IN_EVENT]
        fields: dict[str, str | int | list[str]] = {
            "action": "deleted",
            "reason": _sentence(part),
            "size": sum(old.size for old in part),
            "file": [old.path.name for old in part],
        }
        log.event(NOTE, fields)
    if gone and os.isatty(2):
        warn(visible(_sentence(gone)))


def _sentence(gone: list[OldRecording]) -> str:
    names = listed([old.path.name for old in gone], EXAMPLES)
    total = byte_size(sum(old.size for old in gone))
    what = counted(len(gone), "old recording")
    return f"deleted {what} ({total}), as --keep asks: {names}"
