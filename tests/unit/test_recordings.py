"""The recordings that are shipped with the code."""

from pathlib import Path

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.agents.make_recordings import RECORDINGS

DIRECTORY = Path(__file__).parents[2] / "recordings"
KEPT = sorted(DIRECTORY.glob("*.db"))


def test_each_is_made_by_make_recordings() -> None:
    """And no other is."""
    assert {path.stem for path in KEPT} == {*RECORDINGS}


def test_each_is_explained() -> None:
    """The README of the directory has a row for each recording, and none for another."""
    readme = (DIRECTORY / "README.md").read_text()
    assert KEPT
    assert [path.name for path in KEPT if f"`{path.name}`" not in readme] == []
    assert readme.count(".db` |") == len(KEPT)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_each_is_complete(path: Path) -> None:
    """Correlated, and without a person's directory."""
    with RecordingReader(path) as reader:
        recording = reader.recording
        assert recording.state == "complete"
        assert recording.cwd == "/tmp/acp-proxy-demo"
        assert recording.command == '["python", "-m", "tests.agents.sdk_agent"]'
        assert (recording.dialect, recording.agent_name) == ("v1", "demo-agent")
        outcomes = {row["outcome"] for row in reader.query("SELECT outcome FROM exchanges")}
        assert outcomes == ({"result", "error"} if path.stem == "tour" else {"result"})
        turns = list(reader.query("SELECT * FROM turns"))
        assert turns
        assert all(turn["stop_reason"] for turn in turns)
        assert not any(b"/home/" in bytes(row["raw"]) for row in reader.frames())
