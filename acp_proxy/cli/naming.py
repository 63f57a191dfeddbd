"""Finds the recording that a user names, and says where ``latest`` may not be what he means."""

import os
import time
from pathlib import Path

from acp_proxy.cli.main import recordings
from acp_proxy.store.lookup import LatestRecording, latest, latest_running, resolve

_POLL_S = 0.25


def working_directory() -> Path:
    """Returns the current directory; where it has been removed, the path that it had.

    A shell goes on in a directory that somebody else removes, and names of recordings are found
    from there all the same.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or os.sep)


def find_recording(word: str) -> Path:
    """Finds a recording by path, name, start of its id, or as the latest.

    Says on stderr if ``latest`` passes over a newer one, which was made in another directory.

    Raises:
        NoSuchRecording: none goes by that word, or several do.
    """
    if word != "latest":
        return resolve(word, recordings(), working_directory())
    return _told(latest(recordings(), working_directory()), "the latest of this directory")


def wait_for_running() -> Path:
    """Finds the latest recording that is running; waits for one if there is none, and says so."""
    from acp_proxy.cli.render.output import warn

    where = recordings()
    found = latest_running(where, working_directory())
    if found is None:
        warn(f"no recording is running in {where}; waiting for the next one, Ctrl-C ends")
    while found is None:
        time.sleep(_POLL_S)
        found = latest_running(where, working_directory())
    return _told(found, "running")


def _told(found: LatestRecording, reason: str) -> Path:
    if found.passed_over is not None:
        from acp_proxy.cli.render.output import warn  # late: a replay starts sooner

        path, recording = found.passed_over
        warn(
            f"latest is {found.path.name}, which is {reason}; {path.name} is newer, made in"
            f" {recording.cwd or 'an unknown directory'}"
        )
    return found.path
