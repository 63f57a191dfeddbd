"""Describes a recording for the list of the window, in the words of ``acp-proxy list``."""

from pathlib import Path, PurePath
from typing import Any

from acp_proxy.base.wording import in_one_line
from acp_proxy.explain.describe.token_texts import Tokens, brief_words, cost_words
from acp_proxy.explain.findings import Severity
from acp_proxy.explain.origins import lasted
from acp_proxy.explain.show.conversation_summary import first_prompt
from acp_proxy.explain.show.listed_recordings import agent_of, listed, listed_form, made_note
from acp_proxy.explain.show.result_words import result_words
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files.directory import ListedRecording

_PROMPT = 200
"""The largest number of characters that are shown of the first prompt."""


def list_entry(path: Path, *, unredacted: bool) -> dict[str, Any]:
    """Returns what the list shows about a recording.

    Args:
        path: the recording.
        unredacted: whether secrets are shown.

    Returns:
        The object of ``acp-proxy list --json``, with further members. Most of the further
        members are texts to show.
    """
    (entry,) = listed([path], unredacted=unredacted)
    words = _unreadable() if entry.recording is None else _words(entry, entry.recording)
    return {**listed_form(entry), **words}


def _unreadable() -> dict[str, Any]:
    names = ("agent", "client", "project", "prompt", "took", "tokens_text", "started_at", "note")
    return {"result": "cannot be read", "severity": "error", **dict.fromkeys(names, "")}


def _words(entry: ListedRecording, recording: Recording) -> dict[str, Any]:
    findings, tokens = entry.findings or (), entry.tokens or Tokens()
    first = next((f for f in findings if f.severity != Severity.INFO), None)
    is_doubtful = entry.has_faults or first is not None or entry.problem is not None
    is_error = first is not None and first.severity == Severity.ERROR
    return {
        "result": result_words(findings, recording, entry.waiting, live=entry.live),
        "severity": "error" if is_error else "warning" if is_doubtful else "",
        "agent": agent_of(recording),
        "client": recording.client_title,
        "project": PurePath(recording.cwd).name,
        "prompt": in_one_line(first_prompt(entry.first_prompt))[:_PROMPT],
        "took": lasted(recording),
        "tokens_text": ", ".join(filter(None, (brief_words(tokens), cost_words(tokens)))),
        "started_at": recording.started_at,
        "is_imported": recording.known_start is None,
        "note": made_note(entry, recording),
    }
