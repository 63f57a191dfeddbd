"""`stats` computes the same values in one pass or two, and for running recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.explain.message_pass import PAUSE_NS, MessagePass
from acp_proxy.explain.stats.statistics import TurnsAndCalls, gather, slowest, with_texts
from acp_proxy.recording.filters import parse
from acp_proxy.store.reader import RecordingReader
from tests.support.audit_conversation import Talk
from tests.support.log_writer import (
    MS,
    LogWriter,
    record_conversation,
    request,
    result,
    text,
    update,
)
from tests.support.waiting_chat import record_waiting_chat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.recording.recording import StoredFrame


def test_a_filter_that_matches_everything_changes_nothing(tmp_path: Path) -> None:
    """With a filter that matches all frames, `stats` prints the same as without a filter."""
    with RecordingReader(record_waiting_chat(tmp_path / "x.db").path) as reader:
        assert gather(reader, parse("seq:>0")) == gather(reader)


def test_everything_is_counted_once(tmp_path: Path) -> None:
    """`stats` counts each frame of a recording once."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        statistics = gather(reader)
        sums = next(reader.query("SELECT count(*) AS n, sum(size) AS bytes FROM frames"))
    assert (statistics.frames, statistics.bytes) == (sums["n"], sums["bytes"])
    assert sum(method.requests for method in statistics.methods) == 6
    assert [m.method for m in statistics.methods if m.errors] == ["fs/read_text_file"]
    assert [m.method for m in statistics.methods if m.unanswered] == ["session/set_mode"]


def test_a_watcher_gets_every_head(tmp_path: Path) -> None:
    """While `stats` counts, a progress bar's watcher gets each frame that matches the filter."""
    numbers: list[int] = []

    def watch(heads: Iterator[StoredFrame]) -> Iterator[StoredFrame]:
        for head in heads:
            numbers.append(head.seq)
            yield head

    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        gather(reader, parse("kind:error"), watch=watch)
    assert numbers == [12]


def test_the_first_chunk_is_one_of_the_agent(tmp_path: Path) -> None:
    """For `stats`, the first chunk of a turn is the agent's first text or thought."""
    with LogWriter(tmp_path / "x.db") as recorder:
        prompt = [text("x" * 500)]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=prompt))
        recorder.to_client(
            update("s", "available_commands_update", availableCommands=[]),
            update("s", "user_message_chunk", content=text("x")),
            update("s", "tool_call", toolCallId="c"),
            update("t", "agent_message_chunk", content=text("another session's")),
            update("s", "agent_thought_chunk", content=text("hm")),
            result(1, stopReason="end_turn"),
        )
    with RecordingReader(recorder.path) as reader:
        (turn,) = gather(reader).turns
        (told,) = with_texts(reader, [turn])
    assert (turn.first_update_ns, turn.first_chunk_ns, turn.prompt) == (MS, 5 * MS, "")
    assert (told.first_update_ns, told.first_chunk_ns, told.prompt) == (MS, 5 * MS, "x" * 200)


def test_a_tool_call_is_described_by_its_first_and_last_updates(tmp_path: Path) -> None:
    """`stats` prints the latest title and status of a tool call."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s", "tool_call", toolCallId="c", title="Read"))
        for _ in range(40):
            recorder.to_client(update("s", "tool_call_update", toolCallId="c"))
        completed = update("s", "tool_call_update", toolCallId="c", status="completed")
        recorder.to_client(
            update("s", "tool_call_update", toolCallId="c", title="Read a"), completed
        )
        recorder.to_client(update("t", "tool_call", toolCallId="c", title="Other"))
    with RecordingReader(recorder.path) as reader:
        call, other = gather(reader).tool_calls
    assert (call.title, call.status, call.frames) == ("Read a", "completed", 43)
    assert (other.title, other.status, other.frames) == ("Other", None, 1)


def test_the_slowest_turns_keep_their_order(tmp_path: Path) -> None:
    """`stats` lists the slowest turns in the order of their prompts."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number in (3, 1, 2, 4):
            recorder.to_agent(request(number, "session/prompt", sessionId="s", prompt=[]))
            recorder.t_ns += number * MS
            recorder.to_client(result(number, stopReason="end_turn"))
    with RecordingReader(recorder.path) as reader:
        turns = gather(reader).turns
    assert [turn.id for turn in slowest(turns, 2)] == [1, 4]
    assert slowest(turns, 0) == []


def test_unindexed_frames_are_counted(tmp_path: Path) -> None:
    """`stats` also counts the frames that are only in the recorder's capture log."""
    recorder = LogWriter(tmp_path / "x.db")
    with recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(request(0, "session/request_permission", sessionId="s"))
        recorder.index()
        recorder.to_agent(result(0))
        recorder.to_client(update("s", "tool_call", toolCallId="c"), result(1, stopReason="x"))
        with RecordingReader(recorder.path) as reader:
            live = gather(reader)
    with RecordingReader(recorder.path) as reader:
        finished = gather(reader)
    assert live.live
    assert live.turns == finished.turns
    assert live.tool_calls == finished.tool_calls
    assert [m.p50_ns for m in live.methods] == [m.p50_ns for m in finished.methods]


def repeated(conversation: Talk) -> dict[str, list[int]]:
    """Returns the first frames of tool calls that `stats` calls repeated, by the id of the call."""
    with conversation.reader() as reader:
        messages = MessagePass(reader)
        passed = TurnsAndCalls(reader, messages)
        messages.play_to([passed], PAUSE_NS)
    return {call: [*seqs] for (_, call), seqs in passed.repeated.items()}


def test_the_first_call_with_an_id_is_not_repeated() -> None:
    """If an id is used again before its tool call has ended, `stats` counts no repeated call."""
    conversation = Talk()
    for call in "aabcc":
        conversation.call(call)
    conversation.ends("c")
    conversation.call("c")  # 12
    conversation.ends("c")
    conversation.call("c")  # 14
    assert repeated(conversation) == {"c": [12, 14]}


def test_a_history_repeats_no_id_of_before() -> None:
    """`stats` does not count tool calls in the history of a loaded session as repeated."""
    conversation = Talk()
    conversation.call("a", status="completed")
    conversation.to_client(result(3, stopReason="end_turn"))
    conversation.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    for call in "aabb":
        conversation.call(call, status="completed")  # 9 to 12
    conversation.to_client(result(9))
    assert repeated(conversation) == {"b": [12]}
