"""Tests the recordings that are shipped with the code."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.agents import sick_agent
from tests.agents.make_recordings import RECORDINGS, SICK
from tests.agents.sick_client import SCRIPTS
from tests.support.cases import each_case
from tests.support.shipped_recordings import DIRECTORY, HEALTHY, SHIPPED
from tests.support.shipped_recordings import SICK as SICK_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ABSOLUTE_PATH = re.compile(r'"(/[^"]*)|(?<![\w.:/<-])(?:file://)?(/\w+(?:/[\w.-]+)+)')
"""A JSON string with a slash at its beginning, or a path of two parts or more within a text."""


def test_each_is_made_by_make_recordings() -> None:
    """The directory `recordings/` has exactly the recordings that `make recordings` makes."""
    assert {path.stem for path in SHIPPED} == {*RECORDINGS, *SICK}


def test_each_is_explained() -> None:
    """The README of `recordings/` has one row for each recording."""
    readme = (DIRECTORY / "README.md").read_text(encoding="utf-8")
    assert SHIPPED
    assert [path.name for path in SHIPPED if f"| `{path.name}` |" not in readme] == []
    assert readme.count(".db` |") == len(SHIPPED)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_each_healthy_one_ended_well(path: Path) -> None:
    """In each shipped recording of a healthy agent, all turns have ended."""
    with RecordingReader(path) as reader:
        assert reader.recording.command == '["python", "-m", "tests.agents.sdk_agent"]'
        outcomes = {row["outcome"] for row in reader.query("SELECT outcome FROM exchanges")}
        assert outcomes == ({"result", "error"} if path.stem == "tour" else {"result"})
        turns = list(reader.query("SELECT * FROM turns"))
        assert turns
        assert all(turn["stop_reason"] for turn in turns)


@each_case("path", SHIPPED, ids=lambda path: path.stem)
def test_each_is_complete(path: Path) -> None:
    """Each recording in `recordings/` is complete, masked, and names no path of a machine."""
    with RecordingReader(path) as reader:
        recording = reader.recording
        assert recording.state == "complete"
        assert recording.cwd == "/tmp/acp-proxy-demo"
        assert recording.redaction == "secrets"
        assert (recording.dialect, recording.agent_name) == ("v1", "demo-agent")
        text = b"\n".join(bytes(row["raw"]) for row in reader.frames()).decode()
        actual = {quoted or bare for quoted, bare in _ABSOLUTE_PATH.findall(text)}
        assert actual
        assert [each for each in actual if not each.startswith("/tmp/acp-proxy-demo")] == []


@pytest.mark.parametrize("path", SICK_PATHS, ids=lambda path: path.stem)
def test_each_sick_one_can_be_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' `sick_agent` can send again every byte of each shipped recording with an error."""
    monkeypatch.setattr(sick_agent, "LATE_S", 0)
    script, scenario = SICK[path.stem]
    out, expected, requests = io.BytesIO(), bytearray(), []

    def lines() -> Iterator[bytes]:
        for stream, line in said:
            if stream == "to-agent":
                assert out.getvalue() == expected
                yield line
            elif stream == "to-client":
                expected.extend(line)

    with RecordingReader(path) as reader:
        said = [(row["stream"], bytes(row["raw"]) + b"\n") for row in reader.frames()]
    for stream, line in said:
        message = json.loads(line) if stream == "to-agent" else {}
        if "method" in message and "id" in message:
            requests.append((message["method"], message["params"]))
    assert requests[2:] == SCRIPTS[script]
    agent = sick_agent.SickAgent(lines(), out, scenario)
    if path.stem in ("hang", "crash"):
        with pytest.raises((sick_agent.HangError, sick_agent.CrashError)):
            agent.serve()
        expected.extend(b"".join(line for stream, line in said[5:] if stream == "to-client"))
    else:
        agent.serve()
    assert out.getvalue() == expected != b""
    stderr = b"".join(line for stream, line in said if stream == "stderr")
    assert stderr == (sick_agent.LAST_WORDS if path.stem == "crash" else b"")
