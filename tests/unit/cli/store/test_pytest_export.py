"""``acp-proxy export --format pytest`` writes a test and its recording, or refuses to."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.store.pytest_export import name_of_test, source_of_test
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, Rank
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.rehearsal import rehearse
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, request, result
from tests.support.text_recordings import text_of

RECORDINGS = Path(__file__).parents[4] / "recordings"
EXPORT = ("inspect", "export")
PYTEST = ("--format", "pytest", "-o")
DIVERGENCE = Divergence(DivergenceKind.UNMATCHED, Rank.PRIMARY, "connection", "not\x1b one line")


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """A recording with four turns. The last turn is open, since the recorder was killed."""
    with LogWriter(tmp_path / "Four Turns!.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/new", cwd="/", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        for number in range(2, 6):
            said = [{"type": "text", "text": f'number {number} """ \\ \n\x1b[2J'}]
            recorder.to_agent(request(number, "session/prompt", sessionId="s", prompt=said))
            if number < 5:
                recorder.to_client(result(number, stopReason="end_turn"))
        recorder.index()
    return recorder.path


def test_it_makes_a_test_and_its_recording(tmp_path: Path) -> None:
    """`export --format pytest` writes a Python test of a recording, and a copy of the recording."""
    made = run(*EXPORT, RECORDINGS / "hello.db", *PYTEST, tmp_path / "new" / "tests")
    test = tmp_path / "new" / "tests" / "test_hello.py"
    recording = test.parent / "recordings" / "hello.jsonl"
    assert made.stdout.splitlines() == [str(test), str(recording)]
    assert recording.read_bytes() == text_of(RECORDINGS / "hello.db")
    source = test.read_text(encoding="utf-8")
    assert '@pytest.mark.acp_recording("hello")\ndef test_hello(' in source
    assert "PUT YOUR OWN IN ITS PLACE" in source
    compile(source, str(test), "exec")


@pytest.mark.parametrize(
    ("words", "name", "numbers"),
    [
        ("2", "four_turns_turn_2", [3]),
        ("2..3", "four_turns_turn_2_3", [3, 4]),
        ("..2", "four_turns_turn_1_2", [2, 3]),
        ("3..", "four_turns_turn_3_4", [4, 5]),
        ("4", "four_turns_turn_4", [5]),
        ("1..99", "four_turns_turn_1_4", [2, 3, 4, 5]),
    ],
)
def test_turns_are_chosen(
    turns: Path, tmp_path: Path, words: str, name: str, numbers: list[int]
) -> None:
    """`export --format pytest --turn 2..3` writes a test and a copy of only these turns.

    It does so even if the recorder was killed.
    """
    made = run(*EXPORT, turns, "--turn", words, *PYTEST, tmp_path)
    recording = tmp_path / "recordings" / f"{name}.jsonl"
    assert made.stdout.splitlines() == [str(tmp_path / f"test_{name}.py"), str(recording)]
    with RecordingReader(recording) as reader:
        assert reader.recording.state == "complete"
        rows = reader.query("SELECT rpc_id FROM exchanges WHERE method = 'session/prompt'")
        assert [int(row["rpc_id"]) for row in rows] == numbers
        assert rehearse(reader).verdict == "clean"
    assert recording.read_text().startswith("# Not the whole recording, only what turn ")


def test_later_events_are_left_out(tmp_path: Path) -> None:
    """`export --format pytest --turn 1` leaves out the agent's exit if it came in a later turn."""
    run(*EXPORT, RECORDINGS / "tour.db", "--turn", "1", *PYTEST, tmp_path)
    lines = (tmp_path / "recordings" / "tour_turn_1.jsonl").read_text().splitlines()
    events = [json.loads(line).get("event") for line in lines if line.startswith("{")]
    assert [event for event in events if event] == ["start"]


def test_files_are_only_overwritten_with_force(tmp_path: Path) -> None:
    """`export --format pytest` replaces an existing test only with `--force`."""
    test = tmp_path / "test_hello.py"
    test.write_text("mine")
    command = (*EXPORT, RECORDINGS / "hello.db", *PYTEST, tmp_path)
    assert f"{test} exists; expected the path of a new file" in complaint(*command)
    assert not (tmp_path / "recordings" / "hello.jsonl").exists()
    assert run(*command, "--force").exit_code == 0
    assert test.read_text() != "mine"
    assert "exists" in complaint(*command)


def test_wrong_use_is_reported(turns: Path, tmp_path: Path) -> None:
    """`export --format pytest` refuses a missing directory, a filter, or an unknown turn."""
    expected = "--format pytest writes several files: expected their directory, -o DIR"
    assert complaint(*EXPORT, turns, "--format", "pytest") == expected
    assert complaint(*EXPORT, turns, *PYTEST, "-") == expected
    expected = "--format pytest takes no FILTER and no --dir; choose with --turn N..M"
    assert complaint(*EXPORT, turns, "kind:error", *PYTEST, tmp_path) == expected
    assert complaint(*EXPORT, turns, "--dir", "to-agent", *PYTEST, tmp_path) == expected
    assert "no turn 7 in" in complaint(*EXPORT, turns, "--turn", "7", *PYTEST, tmp_path)
    assert ": it has 1..4" in complaint(*EXPORT, turns, "--turn", "7..8", *PYTEST, tmp_path)
    for word in ("x", "1-2", "..", "", "3..2", "1..2..3"):
        assert "--turn" in complaint(*EXPORT, turns, "--turn", word, *PYTEST, tmp_path)
    assert "--turn is for --format pytest" in complaint(*EXPORT, turns, "--turn", "1")
    file = tmp_path / "file"
    file.touch()
    assert "cannot make" in complaint(*EXPORT, turns, *PYTEST, file)


def test_a_recording_that_does_not_replay_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a replay of a recording diverges, `export --format pytest` writes no test."""
    with RecordingReader(RECORDINGS / "hello.db") as reader:
        clean = rehearse(reader)
    diverged = evolve(clean, verdict="diverged", divergences=(DIVERGENCE,))
    monkeypatch.setattr("acp_proxy.testing.rehearsal.rehearse", lambda _: diverged)
    told = complaint(*EXPORT, RECORDINGS / "hello.db", *PYTEST, tmp_path / "tests")
    assert told.endswith(
        "hello.db does not replay, so no test was written: "
        "unmatched in connection (primary): not\\x1b one line"
    )
    assert not (tmp_path / "tests").exists()


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_recorded_text_never_becomes_code(client: str, name: str, prompts: list[str]) -> None:
    """No recorded text becomes code of the test that `export --format pytest` writes."""
    name = name_of_test(name)
    source = source_of_test(
        name, client=client, agent=client, date=client, what="turn 1", prompts=prompts
    )
    plain = source_of_test(name, client="", agent="", date="", what="turn 1", prompts=[])
    assert statements(source) == statements(plain)
    assert source.replace("\n", "").isprintable()
    assert max(map(len, source.splitlines())) <= 250


@pytest.mark.parametrize("text", ['"""', "\\", 'a"""\nimport os\n"""', "\\N{x}", "{name}", "\x00"])
def test_python_syntax_in_a_name_is_plain_text(text: str) -> None:
    """Python syntax in recorded text stays text in a test that `export --format pytest` writes."""
    source = source_of_test(
        "x", client=text, agent=text, date="", what="turn 1", prompts=[text, text]
    )
    plain = source_of_test("x", client="", agent="", date="", what="turn 1", prompts=[])
    assert statements(source) == statements(plain)


def statements(source: str) -> str:
    """Returns the code of a file, without its docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef):
            assert isinstance(node.body[0], ast.Expr)
            node.body.pop(0)
    return ast.dump(tree)


def test_names_are_those_of_modules() -> None:
    """`export --format pytest` turns a recording's name into a valid name of a Python module."""
    assert name_of_test("2025-06-15 OpenCode/x.db") == "2025_06_15_opencode_x_db"
    assert name_of_test("test_hello") == "hello"
    assert name_of_test("你好") == "recording"
    assert len(name_of_test("a-" * 100)) <= 60


def test_the_test_imports_nothing_from_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that `export --format pytest` wrote imports no module from the current directory."""
    for name in ("json", "queue", "selectors", "subprocess"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    source = source_of_test("x", client="", agent="", date="", what="turn 1", prompts=[])
    made: dict[str, Any] = {}
    exec(compile(source, "test_x.py", "exec"), made)
    recording = RECORDINGS / "hello.db"
    command = [sys.executable, "-P", "-m", "acp_proxy", "replay", str(recording)]
    made["run_client"](SimpleNamespace(recording=recording, command=command))
