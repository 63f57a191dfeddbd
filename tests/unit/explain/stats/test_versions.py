"""``stats --by`` groups recordings by version, and compares each version with the one before."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.stats.versions import COUNTS, version_key
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import TO_AGENT, TO_CLIENT
from tests.support.command_line import complaint, run
from tests.support.log_writer import (
    LogWriter,
    record_conversation,
    request,
    result,
    update,
)
from tests.unit.test_docs import first_cells, page, section

if TYPE_CHECKING:
    from pathlib import Path

MS = 10**6
TOOL = "call-1"


def record_turn(
    path: Path,
    version: str,
    *,
    name: str = "coder",
    cwd: str = "/srv/a",
    first_ms: int = 10,
    turn_ms: int = 100,
    status: str = "completed",
    ending: str = "good",
    day: int = 0,
    usage: dict[str, int] | None = None,
) -> None:
    """Makes a recording with one turn of an agent.

    Args:
        path: the file.
        version: the version of the agent.
        name: the name of the agent.
        cwd: the directory of the agent.
        first_ms: milliseconds from the prompt to the first word.
        turn_ms: milliseconds from the prompt to the end of the turn.
        status: the last status of the turn's tool call.
        ending: ``good``, ``crash`` in the middle of the turn, or ``hang`` until the client left.
        day: the day on which the recording began.
        usage: the tokens that the agent reports at the end of the turn.
    """
    wall = (1_750_000_000 + day * 86_400) * 10**9
    with LogWriter(path, id=f"c0ffee{day:06}", wall=wall, cwd=cwd) as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=1))
        info = {"name": name, "version": version}
        recorder.to_client(result(0, protocolVersion=1, agentInfo=info))
        recorder.to_agent(request(1, "session/new", cwd=cwd, mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        prompt = [{"type": "text", "text": "go"}]
        recorder.to_agent(request(2, "session/prompt", sessionId="s", prompt=prompt))
        start_ns = recorder.t_ns
        recorder.to_client(update("s", "available_commands_update", availableCommands=[]))
        recorder.t_ns = start_ns + (first_ms - 1) * MS
        text = {"type": "text", "text": "hello"}
        recorder.to_client(update("s", "agent_message_chunk", content=text))
        recorder.to_client(update("s", "tool_call", toolCallId=TOOL, title="T", status="pending"))
        recorder.to_client(update("s", "tool_call_update", toolCallId=TOOL, status=status))
        if ending == "good":
            recorder.t_ns = start_ns + (turn_ms - 1) * MS
            recorder.to_client(result(2, stopReason="end_turn", usage=usage))
        elif ending == "hang":
            recorder.t_ns += 300 * 10**9
        if ending == "crash":
            recorder.event(capture_log.END, TO_CLIENT, reason="end of file")
            recorder.event(capture_log.EXIT, code=1)
        else:
            recorder.event(capture_log.END, TO_AGENT, reason="end of file")
            recorder.end()
        recorder.close()
        recorder.finish()


def rows(directory: Path, by: str, *words: str) -> list[dict[str, Any]]:
    """Returns the rows that ``stats --by`` prints as JSON."""
    printed = run("stats", directory, "--by", by, "--json", *words)
    assert printed.exit_code == 0, printed.output
    return [json.loads(line) for line in printed.stdout.splitlines()]


def test_versions_are_in_their_natural_order() -> None:
    """`stats --by` sorts versions by number, so that 1.10.0 comes after 1.9.0."""
    versions = ["", "0.9", "1.9.0", "1.10.0-rc1", "1.10.0-rc2", "1.10.0", "v1.10.1", "2"]
    shuffled = random.Random(3).sample(versions, len(versions))
    assert sorted(shuffled, key=version_key) == versions


def test_each_version_has_the_numbers_of_its_recordings(tmp_path: Path) -> None:
    """`stats --by` sums up the times and errors of all recordings of one agent version."""
    for number in range(4):
        record_turn(tmp_path / f"old-{number}.db", "1.9", turn_ms=100 * (number + 1), day=number)
    record_turn(tmp_path / "new.db", "1.10", first_ms=30, turn_ms=900, status="failed", day=9)
    record_turn(tmp_path / "crash.db", "1.10", ending="crash", day=10)
    record_turn(tmp_path / "hang.db", "1.10", ending="hang", day=11)
    old, new = rows(tmp_path, "agent")
    assert (old["name"], old["version"], old["recordings"], old["turns"]) == ("coder", "1.9", 4, 4)
    assert (old["turn_p50_ns"], old["turn_p90_ns"]) == (200 * MS, 400 * MS)
    assert old["first_word_p50_ns"] == old["first_word_p90_ns"] == 10 * MS
    assert [old[name] for name in COUNTS] == [0, 0, 0, 0, 0]
    assert old["change"] is None
    assert (new["version"], new["recordings"]) == ("1.10", 3)
    assert (new["turn_p50_ns"], new["first_word_p90_ns"]) == (900 * MS, 30 * MS)
    assert (new["failed_calls"], new["hangs"], new["crashes"]) == (1, 1, 1)
    assert new["errors"] >= 2
    assert new["change"]["turn_p50_ns"] == 700 * MS
    assert new["change"]["recordings"] == -1


def test_counts_are_compared_with_as_many_recordings(tmp_path: Path) -> None:
    """`stats --by` compares the numbers of failed calls per recording, not the totals."""
    for number in range(6):
        status = "failed" if number % 2 else "completed"
        record_turn(
            tmp_path / f"{number}.db", "1" if number < 4 else "2", status=status, day=number
        )
    old, new = rows(tmp_path, "agent")
    assert (old["failed_calls"], new["failed_calls"]) == (2, 1)
    assert new["change"]["failed_calls"] == 0


def test_tokens_are_an_average_of_the_turns_that_report_them(tmp_path: Path) -> None:
    """`stats --by` averages tokens only over the turns that report tokens."""
    record_turn(tmp_path / "a.db", "1")
    record_turn(tmp_path / "b.db", "2", usage={"inputTokens": 90, "outputTokens": 10}, day=1)
    record_turn(tmp_path / "c.db", "2", usage={"inputTokens": 1, "totalTokens": 300}, day=2)
    record_turn(tmp_path / "d.db", "2", day=3)
    record_turn(tmp_path / "e.db", "3", usage={"totalTokens": 250}, day=4)
    of_versions = rows(tmp_path, "agent")
    assert [row["tokens_per_turn"] for row in of_versions] == [None, 200, 250]
    changes = [row["change"]["tokens_per_turn"] for row in of_versions[1:]]
    assert changes == [None, 50]
    assert "tokens/turn" in run("stats", tmp_path, "--by", "agent").stdout
    for name in "bce":
        (tmp_path / f"{name}.db").unlink()
    assert "tokens" not in run("stats", tmp_path, "--by", "agent").stdout


def test_only_versions_of_one_name_are_compared(tmp_path: Path) -> None:
    """`stats --by` compares versions only with versions of the same agent."""
    record_turn(tmp_path / "a.db", "1", name="ant")
    record_turn(tmp_path / "b.db", "2", name="bee", cwd="/srv/b", day=1)
    assert [row["change"] for row in rows(tmp_path, "agent")] == [None, None]
    projects = rows(tmp_path, "project")
    assert [(row["name"], row["version"], row["change"]) for row in projects] == [
        ("/srv/a", None, None),
        ("/srv/b", None, None),
    ]


def test_every_member_is_documented(tmp_path: Path) -> None:
    """The manual lists the JSON members of `stats --by --json`."""
    record_turn(tmp_path / "a.db", "1")
    (row,) = rows(tmp_path, "agent")
    assert first_cells(section(page("json.md"), "Version")) == list(row)


def test_a_filter_chooses_recordings(tmp_path: Path) -> None:
    """`stats --by` with a filter counts only recordings with a matching frame."""
    record_turn(tmp_path / "a.db", "1")
    record_turn(tmp_path / "b.db", "2", status="failed", day=1)
    (row,) = rows(tmp_path, "agent", "text:failed")
    assert row["version"] == "2"
    nothing = run("stats", tmp_path, "--by", "agent", "text:nowhere")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "match text:nowhere" in nothing.stderr


def test_the_recordings_directory_is_the_default(tmp_path: Path) -> None:
    """`stats --by` without a directory compares all recordings."""
    record_conversation(tmp_path / "x.db")
    (tmp_path / "broken.db").write_bytes(b"no database")
    printed = run("stats", "--by", "client", home=tmp_path)
    assert re.search(r"^ed 1\.2 +1 +1 ", printed.stdout, re.MULTILINE)
    assert "broken.db" in printed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("stats", "no-such", "--by", "agent"), "expected a directory of recordings"),
        (("stats", "--by", "agent", "--turn", "1"), "--turn and --by cannot be combined"),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    """`stats --by` refuses a missing directory or the option `--turn` with an error of one line."""
    assert message in complaint(*words, home=tmp_path)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """At 80 or 120 columns, no line of the table of `stats --by` is longer than the terminal."""
    record_turn(tmp_path / "a.db", "1.9.0", turn_ms=100)
    record_turn(tmp_path / "b.db", "1.10.0", turn_ms=300, ending="good", day=1)
    record_turn(tmp_path / "c.db", "1.10.0", ending="crash", day=2)
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: columns)
    lines = run("stats", tmp_path, "--by", "agent").stdout.splitlines()
    assert max(map(len, lines)) <= columns
    title, old, new, change = lines
    assert {"agent", "recs", "hangs", "crashes", "errors"} <= {*title.split()}
    assert old.startswith("coder 1.9.0 ")
    assert new.startswith("coder 1.10.0 ")
    assert change.startswith("  ±")
    assert "+200 ms" in change
