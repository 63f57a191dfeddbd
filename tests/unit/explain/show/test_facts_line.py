"""The summary line of `show` says what happened in a recording, and omits unknown facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.show.facts_line import Fact, facts_line
from acp_proxy.explain.show.summary import summarize
from acp_proxy.explain.show.summary_values import ToolTally
from acp_proxy.recording.recording import LOST, Lost, Origin
from acp_proxy.store.reader import RecordingReader
from tests.support.audit_conversation import Talk
from tests.support.cases import each_case
from tests.support.log_writer import LogWriter, update
from tests.support.shipped_recordings import DIRECTORY
from tests.support.waiting_chat import record_waiting_chat

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.explain.show.summary_values import Summary

SHIPPED = {
    "cancelled": "1 turn cancelled · 4 ms",
    "crash": "1 turn never ended ✗ · 403 ms · 1 call never ended ✗",
    "edit-allowed": "1 turn · 4 ms · 1 call ✓ · 1 permission allowed · 1 file +1 −1",
    "edit-rejected": "1 turn · 3 ms · 1 call rejected · 1 permission rejected",
    "hang": "1 turn never ended ✗ · 4.0 s, 100% call pytest -q · 1 call never ended ✗",
    "hello": "1 turn · 2 ms",
    "late-updates": "1 turn · 96 µs · 1 call ✓",
    "lost-permission": (
        "1 turn never ended ✗ · 3.5 s, 100% a person · 1 call never ended ✗"
        " · 1 permission never answered ✗"
    ),
    "terminal": "1 turn · 5 ms · 1 call failed ✗ · 1 command, exit 1",
    "tour": (
        "1 turn · 9 ms · 2 calls ✓ · 1 permission allowed · 1 file +1 −1 · 1 command, exit 0"
        " · 1 error answer #58"
    ),
    "wrong-params": "1 turn failed ✗ · 372 µs",
}


def summary_of(path: Path) -> Summary:
    """Returns the summary of a recording."""
    with RecordingReader(path) as reader:
        return summarize(reader)


def line_of(summary: Summary) -> str:
    """Returns the facts of a recording as one text."""
    return " · ".join(fact.text for fact in facts_line(summary))


def test_the_facts_of_the_shipped_recordings() -> None:
    """For each shipped recording, `show` prints the expected summary line."""
    lines = {path.stem: line_of(summary_of(path)) for path in DIRECTORY.glob("*.db")}
    assert lines == SHIPPED


def test_the_longest_wait_has_its_share(tmp_path: Path) -> None:
    """The summary line of `show` says who was waited for longest, and for what share of time."""
    path = record_waiting_chat(tmp_path / "x.db").path
    assert line_of(summary_of(path)) == (
        "2 turns, 1 never ended ✗ · 83.3 s, 67% a person · 1 call failed ✗"
        " · 2 permissions, 1 allowed, 1 never answered ✗ · 1 command, exit 1"
        " · 1 error answer #34"
    )


@each_case("lost", LOST)
def test_facts_that_an_import_lacks_are_left_out(lost: Lost) -> None:
    """The summary line of `show` leaves out data that an imported log lacks."""
    summary = summary_of(DIRECTORY / "hang.db")
    recording = evolve(summary.recording, origin=Origin("zed", (lost,)))
    line = line_of(evolve(summary, recording=recording))
    assert ("4.0 s" in line) is (lost not in ("middle", "times"))
    assert ("never" in line) is (lost not in ("middle", "ending"))
    assert " 0" not in line


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ((850, None), "850 tokens"),
        ((9_960, 200_000), "10.0k of 200k tokens"),
        ((21_400, 262_144), "21k of 262k tokens"),
        ((1_020_000, 1_048_576), "1.0M of 1.0M tokens"),
    ],
)
def test_tokens_are_short(tokens: tuple[int, int | None], words: str) -> None:
    """The summary line of `show` prints tokens in thousands or millions."""
    used, window = tokens
    shown = Tokens(used=used, window=window)
    summary = evolve(summary_of(DIRECTORY / "hello.db"), tokens=shown)
    assert facts_line(summary)[-1] == Fact(words)


@pytest.mark.parametrize(
    ("statuses", "fact"),
    [
        ({"completed": 6}, Fact("6 calls ✓", "good")),
        ({"completed": 5, "failed": 1}, Fact("6 calls, 1 failed ✗", "trouble")),
        ({"denied": 2}, Fact("2 calls denied ✗", "trouble")),
        ({"completed": 1, "cancelled": 2}, Fact("3 calls, 2 cancelled")),
        ({"in_progress": 1}, Fact("1 call never ended ✗", "trouble")),
    ],
)
def test_calls_are_counted_by_their_ends(statuses: dict[str, int], fact: Fact) -> None:
    """The summary line of `show` counts the tool calls that failed or never ended."""
    tally = ToolTally("other", sum(statuses.values()), statuses)
    summary = evolve(summary_of(DIRECTORY / "hello.db"), tool_calls=[tally])
    assert facts_line(summary)[-1] == fact


def edit(path: str, old: str | None, new: str, status: str = "completed") -> dict[str, Any]:
    """A tool call whose diff changes a file."""
    content = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
    return update("s", "tool_call", toolCallId=f"{path}{new}", status=status,
                  content=content)  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "writes", "words"),
    [
        ([("a", "1\n2\n", "1\n3\n4\n"), ("a", "x\n", "y\n"), ("b", None, "1\n2\n")], [],
         "2 files +5 −2"),
        ([("a", "1\n", "2\n", "failed"), ("b", "1\n", "2\n")], [], "1 file +1 −1"),
        ([("a", "1\n", "2\n")], ["a"], "1 file +1 −1"),
        ([("a", "1\n", "2\n")], ["b"], "2 files"),
        ([], ["a", "b"], "2 files"),
    ],
)  # fmt: skip
def test_changed_files_are_counted_once(
    tmp_path: Path, edits: list[Any], writes: list[str], words: str
) -> None:
    """The summary line of `show` counts each changed file once."""
    conversation = Talk()
    conversation.to_client(*(edit(*values) for values in edits))
    for path in writes:
        conversation.asks("fs/write_text_file", {}, path=path, content="")
    with LogWriter(tmp_path / "x.db") as recorder:
        for stream, line in conversation.lines:
            (recorder.to_agent if stream == "to-agent" else recorder.to_client)(line)
    assert line_of(summary_of(recorder.path)).endswith(f" · {words}")


def test_the_last_usage_is_read(tmp_path: Path) -> None:
    """The summary line of `show` has the size of the context as last reported."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for used in (900, 21_400):
            recorder.to_client(update("s", "usage_update", used=used, size=262_144))
        recorder.to_client(update("s", "agent_message_chunk", content={"type": "text"}))
    assert line_of(summary_of(recorder.path)) == "21k of 262k tokens"


def test_usual_errors_are_counted() -> None:
    """The summary line of `show` counts routine error answers, and names the first one's frame."""
    summary = summary_of(DIRECTORY / "tour.db")
    (error,) = summary.error_codes
    assert facts_line(summary)[-1] == Fact("1 error answer #58", seq=58)
    others = [evolve(error, seq=20, count=3), evolve(error, seq=3, is_routine=False)]
    more = evolve(summary, error_codes=[error, *others])
    assert facts_line(more)[-1] == Fact("4 error answers, first #20", seq=20)
    assert Fact("1 error answer #58", seq=58) not in facts_line(evolve(summary, error_codes=[]))
