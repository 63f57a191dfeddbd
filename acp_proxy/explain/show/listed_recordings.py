"""Reads recordings for a list: what happened in each, as far as stored rows show it."""

import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from attrs import asdict

from acp_proxy.base.forms import converter
from acp_proxy.base.limits import SHORT_LIST
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.findings import Finding, Severity
from acp_proxy.explain.show.current_waits import waiting_for
from acp_proxy.explain.show.summary import find_quickly
from acp_proxy.recording.agent_names import agent_name
from acp_proxy.recording.notes import note_in_words
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files.directory import ListedRecording, Mapped, list_recordings
from acp_proxy.store.reader import RecordingReader


def listed(
    recordings: Iterable[Path], *, unredacted: bool, mapped: Mapped = map
) -> list[ListedRecording]:
    """Reads recordings and the problems of their conversations, newest first.

    Args:
        recordings: the paths of the recordings.
        unredacted: whether secrets are shown.
        mapped: a function like `map`, which may use several processes.
    """
    find = partial(_find, now_ns=time.monotonic_ns())
    return list_recordings(recordings, find, unredacted=unredacted, mapped=mapped)


def _find(reader: RecordingReader, now_ns: int) -> tuple[tuple[Finding, ...], str, Tokens | None]:
    findings, waiting, tokens = find_quickly(reader, now_ns)
    return tuple(findings[:SHORT_LIST]), waiting_for(waiting), tokens


def listed_form(entry: ListedRecording) -> dict[str, object]:
    """Returns an entry of a list as plain JSON; see `docs/json.md`.

    Args:
        entry: the entry, with its findings.
    """
    hidden = ("first_prompt", "masked")
    form = asdict(entry, recurse=False, filter=lambda field, _: field.name not in hidden)
    findings = entry.findings
    errors = [f for f in findings or () if f.severity == Severity.ERROR]
    return form | {
        "tokens": entry.tokens and converter.unstructure(entry.tokens),
        "path": str(entry.path),
        "damaged": [str(file) for file in entry.damaged],
        "has_problem": None if findings is None else bool(errors),
        "findings": None if findings is None else [converter.unstructure(f) for f in findings],
    }


def agent_of(recording: Recording) -> str:
    """Returns the name that an agent sent, or else a name that is made from its command."""
    return recording.agent_title or (agent_name(recording.words) if recording.words else "")


def made_note(entry: ListedRecording, recording: Recording) -> str:
    """Returns a recording's note; without a note, words such as ``by verify``, or an empty text.

    Args:
        entry: the entry of the recording.
        recording: the recording itself, since `entry.recording` may be None.
    """
    return note_in_words(recording.note) or (f"by {entry.made_by}" if entry.made_by else "")
