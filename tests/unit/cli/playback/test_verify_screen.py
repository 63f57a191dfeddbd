"""Tests which facts about a verification `verify` prints, and which it does not compute."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.cli.diff.diff_lines import DiffLines
from acp_proxy.cli.playback.verify_screen import ComparisonSettings, PlayedRun, conclude
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_requests import VerifyOptions
from acp_proxy.store.reader import RecordingReader
from tests.support.permission_playbook import END, SESSION, read
from tests.support.playbook import record
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MANY, _SHOWN, _REPORTED = 120, 100, 50


def chatty(word: str) -> str:
    """An agent that sends many notifications of one kind."""
    said = [f'<- _x/y {{"sessionId": "s", "n": {n}, "said": "{word}"}}' for n in range(_MANY)]
    return "\n".join(['-> #0 initialize {"protocolVersion": 1}', "<- #0 result {}", *said])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the entries that lines were made from."""
    actual: list[str] = []
    really = DiffLines.entry

    def entry(lines: DiffLines, entry: Any) -> Iterator[str]:
        actual.append(entry.title)
        yield from really(lines, entry)

    monkeypatch.setattr(DiffLines, "entry", entry)
    return actual


@pytest.mark.parametrize(("has_junit", "most"), [(False, _SHOWN), (True, _SHOWN + _REPORTED + 1)])
def test_only_lines_that_are_printed_are_made(
    tmp_path: Path,
    made: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_junit: bool,
    most: int,
) -> None:
    """If there are very many differences, `verify` formats only those that it prints or reports."""
    monkeypatch.setattr("acp_proxy.cli.playback.verify_screen._MOST_PRINTED", _SHOWN)
    monkeypatch.setattr("acp_proxy.cli.diff.diff_reports._MOST_LINES", _REPORTED)
    junit = tmp_path / "report.xml" if has_junit else None
    old, new = (record(tmp_path, chatty(word)) for word in ("one", "another"))
    engine = Verification(RecordedClient(old.script(as_sent=True)), VerifyOptions())
    settings = ComparisonSettings("old", DiffOptions(), None, junit)
    with RecordingReader(old.path) as a, RecordingReader(new.path) as b:
        assert conclude(a, [PlayedRun(engine, b)], settings) == 1
    old.close()
    new.close()
    assert f"{_MANY:,} differences: {_MANY:,} changed" in capsys.readouterr().out
    assert _SHOWN <= len(made) <= most
    if junit is not None:
        messages = [failure.get("message") for failure in ET.parse(junit).iter("failure")]
        assert f"{_MANY:,} differences: {_MANY:,} changed" in messages


def test_frames_sent_early_are_reported_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` lists on stderr the frames that it sent earlier than recorded."""
    transcript = f"""
        {SESSION}
        -> #2 session/prompt {{"sessionId": "s"}}
        <- {read("/a", "10")}
        <- {read("/b", "11")}
        -> #11 result {{"content": "B"}}
        -> #10 result {{"content": "A"}}
        <- {END}
    """
    recorded = record(tmp_path, transcript)
    live = verify(recorded)
    live.play("<- 2", "<- 4", f"<- {read('/a', '10')}", ".. 2s", f"<- {END}")
    settings = ComparisonSettings("recorded", DiffOptions(), None, None)
    with RecordingReader(recorded.path) as a, RecordingReader(recorded.path) as b:
        conclude(a, [PlayedRun(live.engine, b)], settings)
    recorded.close()
    notes = [line for line in capsys.readouterr().err.splitlines() if "early in" in line]
    assert notes
    assert all(note.startswith("acp-proxy: early in ") for note in notes)


def test_a_stall_in_a_later_run_is_a_stall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the second run of `verify --runs` stalls, `verify` exits with 3."""
    junit = tmp_path / "report.xml"
    recorded = record(
        tmp_path, '1-2 handshake\n-> #1 session/list {}\n<- #1 result {"sessions": []}'
    )
    clean, stalled = verify(recorded), verify(recorded)
    clean.check("-> 1\n<- 2\n-> 3\n<- 4\n-> end")
    stalled.check("-> 1\n<- 2\n-> 3\n.. 31s\n-> end")
    settings = ComparisonSettings("recorded", DiffOptions(), None, junit)
    with RecordingReader(recorded.path) as a, RecordingReader(recorded.path) as b:
        runs = [PlayedRun(clean.engine, b), PlayedRun(stalled.engine, b)]
        assert conclude(a, runs[:1], settings) == 0
        assert conclude(a, runs, settings) == 3
    recorded.close()
    assert "run 2:\nstall in " in capsys.readouterr().out
    assert [failure.get("type") for failure in ET.parse(junit).iter("failure")] == ["stalled"]
