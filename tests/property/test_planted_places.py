"""Masking finds secrets of every form wherever chunks cut them, but spares harmless texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.recording.log_format import MARKER_KEY, TO_AGENT, TO_CLIENT
from acp_proxy.recording.log_format import STDERR as TO_STDERR
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, notification, text
from tests.support.planted_places import AGENT, CLIENT, STDERR, Leaks, conversation
from tests.unit.redaction.look_alikes import look_alikes
from tests.unit.redaction.secrets_corpus import secrets

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = {CLIENT: TO_AGENT, AGENT: TO_CLIENT, STDERR: TO_STDERR}


def masking(path: Path, **start: Any) -> LogWriter:
    """Yields the capture log of a recorder that masks secrets."""
    return LogWriter(path, **{"redaction": "secrets", MARKER_KEY: "00" * 16, **start})


@pytest.mark.parametrize("dialect", ["draft-1.0", pytest.param("unstable", marks=pytest.mark.soak)])
def test_no_cut_lets_a_secret_through(tmp_path: Path, dialect: str) -> None:
    """A masked recording does not contain a secret, wherever chunks split the secret."""
    made = conversation(dialect, every_cut=True, large=0, early=True)
    with masking(tmp_path / "x.db", arg=["agent", *made.command]) as recorder:
        for side, line in made.steps:
            recorder.chunk(STREAMS[side], line)
        recorder.end()
        recorder.close()
        recorder.finish()
    assert Leaks(made.secrets).leaks_in((tmp_path / "x.db").read_bytes()) == []


def _output(words: str) -> dict[str, Any]:
    content = [{"type": "content", "content": text(words)}]
    tool = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "content": content}
    return notification("session/update", sessionId="s1", update=tool)


AT_ONCE = 40
"""The number of secrets in a recording; each is searched for in all later lines."""


def test_secrets_of_all_shapes_are_masked_in_output(tmp_path: Path) -> None:
    """A recorder masks secrets in the output of tools, whatever text is around them."""
    chosen = secrets()[::3]
    assert len(chosen) > 250
    for first in range(0, len(chosen), AT_ONCE):
        some, path = chosen[first : first + AT_ONCE], tmp_path / f"{first}.db"
        with masking(path) as recorder:
            recorder.to_client(*(_output(case.text) for case in some))
            recorder.finish()
        data = path.read_bytes()
        assert [case for case in some if case.secret.encode() in data] == []


def test_look_alikes_stay_as_they_are(tmp_path: Path) -> None:
    """Masking changes at most one of 200 harmless texts."""
    lines = [_output(words) for words in look_alikes()]
    with masking(tmp_path / "x.db") as recorder:
        recorder.to_client(*lines)
        recorder.finish()
    with RecordingReader(tmp_path / "x.db") as reader:
        stored = [json.loads(row["raw"]) for row in reader.frames()]
    assert len(stored) == len(lines) >= 2000
    changed = [new for new, old in zip(stored, lines, strict=True) if new != old]
    assert len(changed) <= 0.005 * len(lines)
    assert all(message["params"]["update"]["toolCallId"] == "c1" for message in changed)
