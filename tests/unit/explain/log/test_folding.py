"""`log` joins adjacent chunks of one message into one line, and no other frames."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.explain.log.folding import ChunkRun, fold
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import MS, LogWriter, line, notification, request, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]


def chunk(said: str, session: str = "s", kind: str = "agent_message_chunk", **more: Any) -> Row:
    """Returns a message that is a chunk of text."""
    return update(session, kind, content=text(said), **more)


def row(seq: int, message: Row, **more: Any) -> Row:
    """Returns a row of `RecordingReader.rows`, a millisecond after the one before."""
    raw = line(message).rstrip(b"\n")
    return {
        "seq": seq,
        "t_ns": seq * MS,
        "t_first_ns": seq * MS,
        "stream": "to-client",
        "kind": "notification",
        "method": message["method"],
        "session": message["params"].get("sessionId"),
        "turn": 1,
        "size": len(raw),
        "raw": raw,
        "newline": "\n",
        "delivered": "full",
        "fault": None,
        **more,
    }


def rows(*messages: Row) -> list[Row]:
    """Returns the rows of messages, from number 1 on."""
    return [row(seq, message) for seq, message in enumerate(messages, 1)]


def spans(items: Iterator[Row | ChunkRun]) -> list[tuple[int, int]]:
    """Returns the first and the last frame number of each line that `log` would print."""
    return [
        (i.first["seq"], i.last) if isinstance(i, ChunkRun) else (i["seq"], i["seq"]) for i in items
    ]


def test_a_run_is_one_value() -> None:
    """`log` prints consecutive chunks on one line with their joined text."""
    given = rows(chunk("Hel"), chunk("lo, "), chunk(""), chunk("你好"))
    (run,) = fold(given)
    assert isinstance(run, ChunkRun)
    assert run.first is given[0]
    assert (run.last, run.last_ns, run.count) == (4, 4 * MS, 4)
    assert run.update == "agent_message_chunk"
    assert (run.text, run.characters) == ("Hello, 你好", 9)
    assert run.size == sum(row["size"] for row in given)


def test_a_single_chunk_stays_a_row() -> None:
    """`log` prints a single chunk as a line of its own."""
    given = rows(chunk("a"))
    assert list(fold(given)) == given


@pytest.mark.parametrize(
    "between",
    [
        chunk("x", session="other"),
        chunk("x", kind="agent_thought_chunk"),
        chunk("x", messageId="m-2"),
        update("s", "tool_call", toolCallId="c", title="t", status="pending"),
        update("s", "agent_message_chunk", content={"type": "image", "data": "AA=="}),
        notification("_x/y"),
    ],
    ids=["session", "kind", "message", "tool call", "image", "other"],
)
def test_any_other_row_ends_a_run(between: Row) -> None:
    """`log` does not join two chunks if another frame is between them."""
    given = rows(chunk("a"), chunk("b"), between, chunk("c"), chunk("d"))
    assert spans(fold(given)) == [(1, 2), (3, 3), (4, 5)]


@pytest.mark.parametrize(
    "odd",
    [
        {"delivered": "partial"},
        {"newline": ""},
        {"fault": "delay"},
        {"kind": "invalid"},
        {"stream": "stderr", "kind": "stderr", "method": None},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_odd_chunks_are_not_folded(odd: Row) -> None:
    """`log` prints an unusual chunk, such as one that a fault changed, on a line of its own."""
    given = [row(n, chunk("a"), **(odd if n == 3 else {})) for n in range(1, 6)]
    assert spans(fold(given)) == [(1, 2), (3, 3), (4, 5)]


@pytest.mark.parametrize(
    ("seq", "other"),
    [(3, {"turn": None}), (3, {"t_ns": 5003 * MS, "t_first_ns": 5003 * MS})],
    ids=["turn", "silence"],
)
def test_a_run_ends_with_its_turn_and_with_a_silence(seq: int, other: Row) -> None:
    """`log` does not join two chunks if a turn ends or a long silence is between them."""
    given = [row(n, chunk("a")) for n in range(1, 3)] + [row(seq, chunk("a"), **other)]
    assert spans(fold(given)) == [(1, 2), (3, 3)]


def test_an_event_ends_a_run() -> None:
    """`log` does not join two chunks if an event is between them."""
    given = rows(*[chunk("a")] * 5)
    given[2] = {"seq": 3, "t_ns": 3 * MS, "kind": "signal", "data": "{}"}
    assert spans(fold(given)) == [(1, 2), (3, 3), (4, 5)]


def test_marked_frames_are_not_folded() -> None:
    """A chunk that `log --around` marks has a line of its own."""
    assert spans(fold(rows(*[chunk("a")] * 6), {3, 4})) == [(1, 2), (3, 3), (4, 4), (5, 6)]


def test_only_the_beginning_of_a_long_text_is_kept() -> None:
    """If `log` joins many chunks, it keeps only the beginning of the joined text in memory."""
    total = 12_000
    given = (row(n, chunk("x" * 50)) for n in range(1, total + 1))
    tracemalloc.start()
    try:
        (run,) = fold(given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(run, ChunkRun)
    assert (run.count, run.characters) == (total, total * 50)
    assert SHOWN_LINE <= len(run.text) < 2 * SHOWN_LINE
    assert peak < 500_000


def test_the_other_direction_ends_a_run(tmp_path: Path) -> None:
    """`log` prints a client's message between the chunks before and after it."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(chunk("a"), chunk("b"))
        recorder.to_agent(request(1, "session/set_mode", sessionId="s", modeId="m"))
        recorder.to_client(chunk("c"), chunk("d"))
        recorder.stderr("hm")
        recorder.to_client(chunk("e"), chunk("f"))
        recorder.close()
    with RecordingReader(recorder.path) as reader:
        assert spans(fold(reader.rows())) == [(1, 1), (2, 3), (4, 4), (5, 6), (7, 7), (8, 9)]
