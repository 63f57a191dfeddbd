"""The Python API returns the same values as the commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

import acp_proxy
from acp_proxy import api
from acp_proxy.base.errors import BadFilter, NoSuchRecording
from acp_proxy.explain.show.summary import summarize
from acp_proxy.recording import library_values
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted((ROOT / "recordings").glob("*.db"))
TOUR = ROOT / "recordings" / "tour.db"
MANUAL = ROOT / "docs" / "library.md"


@pytest.fixture
def tour() -> Iterator[api.OpenRecording]:
    """Opens `tour`, the shipped recording with the most kinds of messages."""
    with acp_proxy.open(TOUR) as recording:
        yield recording


def test_importing_it_loads_nothing() -> None:
    """`import acp_proxy` loads no other module of the package until a name is used."""
    script = (
        "import sys, acp_proxy; before = {n for n in sys.modules if n.startswith('acp_proxy.')};"
        "acp_proxy.RecordedFrame; print(sorted(before), 'acp_proxy.api' in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert printed.stdout == "[] True\n"


def test_the_package_exports_the_python_api() -> None:
    """The package `acp_proxy` exports all names of the Python API, and no others."""
    assert all(getattr(acp_proxy, name) is not None for name in acp_proxy.__all__)
    assert set(acp_proxy.__all__) <= set(dir(acp_proxy))
    values = {name for name in vars(library_values) if name.startswith("Recorded")}
    assert values | {"AcpProxyError", "OpenRecording", "Recording", "open", "recordings"} == {
        *acp_proxy.__all__
    }
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        acp_proxy.opne  # noqa: B018


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_it_agrees_with_show(path: Path) -> None:
    """For each shipped recording, the Python API has the turns, calls and frames of `show`."""
    with acp_proxy.open(path) as recording, RecordingReader(path) as reader:
        summary = summarize(reader)
        assert recording.facts == summary.recording
        assert [(turn.id, turn.prompt, turn.first_seq) for turn in recording.turns()] == [
            (turn.id, turn.prompt, turn.prompt_seq) for turn in summary.turns
        ]
        calls = [call for call in recording.tool_calls() if call.turn is not None]
        assert len(calls) == sum(tally.count for tally in summary.tool_calls)
        assert sum(call.has_failed for call in calls) == len(summary.failed_calls)
        frames = list(recording.frames())
        assert {s: sum(f.stream == s for f in frames) for s in summary.frames} == summary.frames
        requests = [frame for frame in frames if frame.kind == "request"]
        assert [(e.request_seq, e.response_seq, e.seconds) for e in recording.exchanges()] == [
            (frame.seq, frame.pair, frame.latency) for frame in requests
        ]
        assert attrs.asdict(recording.summary().capabilities) == attrs.asdict(summary.capabilities)


def test_messages_are_whole(tour: api.OpenRecording) -> None:
    """In the Python API, `messages` returns each message as one text, not as its chunks."""
    said = [(m.role, m.turn, m.text) for m in tour.messages("turn:1")]
    assert said[:3] == [
        ("user", 1, "tour"),
        ("thought", 1, "A greeting. I should answer it."),
        ("agent", 1, "Hello! Grüße, café, 你好, 😀.\n"),
    ]


def test_a_repeated_history_has_no_turn(tour: api.OpenRecording) -> None:
    """In the Python API, messages and tool calls of a loaded session's history have no turn."""
    assert tour.facts.agent_name == "demo-agent"
    twice = [call for call in tour.tool_calls() if call.id == "call-1"]
    assert [(call.session, call.turn) for call in twice] == [
        ("demo-session-1", 1),
        ("demo-session-1", None),
    ]
    assert {message.turn for message in tour.messages() if message.text == "tour"} == {1, None}


def test_tool_calls_are_whole(tour: api.OpenRecording) -> None:
    """In the Python API, `tool_calls` returns each call once, with its last status."""
    first = next(tour.tool_calls())
    assert (first.id, first.title, first.kind, first.status) == (
        "call-1",
        "Edit greeting.txt",
        "edit",
        "completed",
    )
    assert first.first_seq < first.last_seq
    assert first.seconds is not None
    assert not first.has_failed


def test_frames_are_decoded(tour: api.OpenRecording) -> None:
    """In the Python API, a frame has its decoded message, its time, and its answer's number."""
    prompt = next(tour.frames("method:session/prompt kind:request"))
    assert prompt.message["params"]["prompt"][0]["text"] == "tour"
    assert prompt.message["id"] == prompt.id
    assert prompt.raw.startswith(b"{")
    assert prompt.pair is not None
    answer = tour.frame(prompt.pair)
    assert (answer.pair, answer.latency) == (prompt.seq, prompt.latency)
    assert answer.time is not None
    assert prompt.time is not None
    assert answer.time > prompt.time
    assert all(frame.message is None for frame in tour.frames("kind:stderr"))


def test_one_method_s_exchanges(tour: api.OpenRecording) -> None:
    """In the Python API, `exchanges("session/prompt")` returns only exchanges of this method."""
    methods = {exchange.method for exchange in tour.exchanges("session/prompt")}
    assert methods == {"session/prompt"}


def test_every_form_gives_the_same(tmp_path: Path, tour: api.OpenRecording) -> None:
    """The Python API returns the same values for a database and its text form."""
    file = tmp_path / "tour.jsonl"
    tour.export(file)
    assert file.stat().st_mode & 0o777 == 0o600
    with RecordingReader(TOUR) as reader:
        assert file.read_bytes() == b"".join(write_text_form(reader))
    with acp_proxy.open(str(file)) as again:
        assert list(again.frames()) == list(tour.frames())
        assert list(again.messages()) == list(tour.messages())
        assert again.path == file


def test_an_export_replaces_nothing(tmp_path: Path, tour: api.OpenRecording) -> None:
    """An export by the Python API does not overwrite an existing file."""
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(FileExistsError):
        tour.export(file)
    assert file.read_text() == "mine"


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """If an export by the Python API fails because the recording was closed, no file remains."""
    recording = acp_proxy.open(TOUR)
    recording.close()
    with pytest.raises(Exception, match="closed"):
        recording.export(tmp_path / "half.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_bad_use_is_an_error_of_ours(
    tmp_path: Path, tour: api.OpenRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the Python API, a wrong filter, frame or recording raises an error that names it."""
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", str(tmp_path))
    with pytest.raises(BadFilter, match="knd"):
        list(tour.frames("knd:error"))
    with pytest.raises(KeyError, match="no frame 999"):
        tour.frame(999)
    with pytest.raises(NoSuchRecording, match="no recording named 'nosuch'"):
        acp_proxy.open("nosuch")
    with pytest.raises(acp_proxy.AcpProxyError, match="no recording in"):
        acp_proxy.open()


def test_secrets_are_masked(tmp_path: Path) -> None:
    """The Python API masks secrets unless the recording is opened with `unredacted`."""
    secret = "ghp_" + "k3JdLw9QzX" * 3 + "abcdef"
    with acp_proxy.open(ROOT / "recordings" / "hello.db") as recording:
        text = b"".join(recording.text_form()).replace(b"hello", b"token " + secret.encode())
    text = text.replace(b'"redaction":"secrets"', b'"redaction":"none"')
    file = tmp_path / "x.jsonl"
    file.write_bytes(text)
    with acp_proxy.open(file) as masked:
        assert secret not in repr([*masked.messages(), *masked.frames()])
        assert any("[redacted:" in message.text for message in masked.messages())
    with acp_proxy.open(file, unredacted=True) as plain:
        assert any(secret in message.text for message in plain.messages())


def test_recordings_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the Python API, `recordings` lists the newest first, and says which are unreadable."""
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", str(ROOT / "recordings"))
    listed = acp_proxy.recordings()
    assert sorted(entry.path for entry in listed) == RECORDINGS
    assert [entry.started_at for entry in listed] == sorted(
        (entry.started_at for entry in listed), reverse=True
    )
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)
    (broken,) = acp_proxy.recordings(tmp_path)
    assert broken.recording is None
    assert broken.problem is not None


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
)
def test_the_manual_s_examples_run(
    block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each example of the Python API in the manual prints what its comments say."""
    monkeypatch.chdir(ROOT)
    exec(compile(block, str(MANUAL), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    shown = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert shown
    assert printed[: len(shown)] == shown
