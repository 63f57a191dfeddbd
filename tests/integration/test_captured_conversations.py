"""Conversations of real agents pass a recorder unchanged, and are recorded unchanged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import player
from tests.integration.processes import DEADLINE_S, Recording
from tests.support.captures import (
    ROOT,
    Stream,
    all_text_forms,
    load,
    load_text_form,
    save,
    weighted_captures,
)

PLAYER = [sys.executable, "-IS", str(Path(player.__file__))]
STREAMS: tuple[Stream, ...] = ("to-agent", "to-client", "stderr")


def name(path: Path) -> str:
    """Return the names of a capture's agent and scenario, joined by a slash."""
    return str(path.relative_to(ROOT)).partition(".jsonl")[0]


@pytest.mark.parametrize("path", all_text_forms(), ids=name)
def test_a_recorded_conversation_passes(acp_proxy: Path, tmp_path: Path, path: Path) -> None:
    """The bytes of a shipped recording pass through a recorder unchanged."""
    capture = tmp_path / "capture.jsonl"
    save(load_text_form(path), capture)
    assert_passes(acp_proxy, tmp_path, capture)


@pytest.mark.parametrize("path", [*weighted_captures()])
def test_a_captured_conversation_passes(acp_proxy: Path, tmp_path: Path, path: Path) -> None:
    """The bytes of a conversation with a real agent pass through a recorder unchanged."""
    assert_passes(acp_proxy, tmp_path, path)


def assert_passes(acp_proxy: Path, tmp_path: Path, path: Path) -> None:
    """Play a capture through a recorder, and compare the received and recorded bytes with it."""
    recording = Recording(tmp_path / "talk.db")
    record = [str(acp_proxy), "record", "--redact", "none", "-o", str(recording.path), "--"]
    agent = [*PLAYER, "agent", str(path)]
    result = subprocess.run(
        [*PLAYER, "client", "--deadline", str(DEADLINE_S), str(path), "--", *record, *agent],
        capture_output=True,
        check=False,
    )
    capture = load(path)
    assert result.stdout == b""
    assert result.stderr == capture.stream_bytes("stderr")
    assert result.returncode == 0
    for stream in STREAMS:
        assert recording.stream(stream) == capture.stream_bytes(stream)
    code = capture.exit.returncode
    assert recording.field("exit_code") == (code if code >= 0 else None)
    assert recording.field("exit_signal") == (-code if code < 0 else None)
    assert recording.field("state") == "complete"
    assert recording.rows("select count(*) from frames where delivered != 'full'") == [(0,)]
