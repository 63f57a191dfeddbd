"""`stats` accepts any recording, and the parts of a turn add up to the turn."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.message_pass import PAUSE_NS, MessagePass
from acp_proxy.explain.stats.statistics import gather, waterfall, with_texts
from acp_proxy.explain.stats.traffic import percentile
from acp_proxy.explain.stats.turn_times import (
    WAITING,
    Part,
    RunningTurn,
    TurnTime,
)
from acp_proxy.explain.stats.waterfall import Waterfalls
from acp_proxy.protocol.connection_state import Exchange, Turn
from acp_proxy.store.queries.exchanges import turns as read_turns
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.log_writer import MS, LogWriter, notification, request, result, text, update
from tests.support.strategies import broken_lines, lines

if TYPE_CHECKING:
    from acp_proxy.explain.stats.waterfall import TurnWaterfall

_TALK = [
    (1, request(1, "session/prompt", sessionId="s", prompt=[text("go")])),
    (1, request(2, "session/prompt", sessionId="t", prompt=[text("go")])),
    (2, update("s", "agent_message_chunk", content=text("a"))),
    (2, update("t", "agent_thought_chunk", content=text("a"))),
    (2, update("s", "tool_call", toolCallId="c", status="pending")),
    (2, update("s", "tool_call_update", toolCallId="c", status="completed")),
    (2, update("s", "state_update", state="idle")),
    (2, request(1, "session/request_permission", sessionId="s")),
    (2, request(2, "fs/read_text_file", sessionId="t")),
    (2, request(3, "terminal/wait_for_exit", sessionId="s")),
    (2, request(4, "_x/y")),
    (2, [request(1, "_x/y", sessionId="s"), request(2, "fs/read_text_file", sessionId="t")]),
    *[(1, result(number)) for number in (1, 2, 3, 4)],
    (1, [result(1), result(2)]),
    (1, notification("session/cancel", sessionId="s")),
    (2, result(1, stopReason="end_turn")),
    (2, result(2, stopReason="cancelled")),
]
"""Messages that may come in any order, from the client (1) or the agent (2)."""

moments = st.tuples(st.sampled_from(_TALK), st.integers(0, 3000))
dialects = st.sampled_from(["v1", "v2", "draft-1.0"])


def check(turn: TurnTime, fall: TurnWaterfall) -> None:
    """Asserts that the parts of each turn add up, and that no step is outside of its turn."""
    parts = [turn.part_ns(part) for part in Part]
    assert min(parts) >= 0
    assert sum(parts) == turn.duration_ns == turn.agent_ns + turn.client_ns
    assert turn.client_ns == sum(turn.part_ns(part) for part in WAITING)
    for first in (turn.first_update_ns, turn.first_chunk_ns):
        assert first is None or 0 <= first <= turn.duration_ns
    for step in fall.steps:
        assert 0 <= step.start_ns <= step.start_ns + step.duration_ns <= turn.duration_ns
    silence = sum(step.duration_ns for step in fall.steps if step.kind == "silence")
    assert silence <= turn.silent_ns


@given(st.lists(moments, max_size=30), dialects)
def test_the_parts_of_a_turn_make_up_the_turn(
    messages: list[tuple[tuple[int, object], int]], dialect: str
) -> None:
    """In `stats`, the parts of a turn add up to the turn, even if its requests overlap."""
    with TemporaryDirectory() as directory:
        with LogWriter(Path(directory) / "x.db", dialect=dialect) as recorder:
            for (stream, message), pause in messages:
                (recorder.to_agent if stream == 1 else recorder.to_client)(message)
                recorder.t_ns += pause * MS
        with RecordingReader(recorder.path) as reader:
            statistics = gather(reader)
            rows = {row["id"]: row for row in reader.query("SELECT * FROM turns")}
            assert {turn.id for turn in statistics.turns} == set(rows)
            turns = with_texts(reader, statistics.turns)
            replayed = MessagePass(reader)
            steps = Waterfalls(reader, replayed, read_turns(reader), statistics.duration_ns)
            replayed.play_to([steps], PAUSE_NS)
            for turn, fall in zip(turns, steps.finish(), strict=True):
                check(turn, fall)
                assert fall == waterfall(reader, turn)
                if rows[turn.id]["duration_ns"] is not None:
                    assert turn.duration_ns == rows[turn.id]["duration_ns"]
        whole = statistics.time
        assert whole.before_turns_ns + whole.in_turns_ns + whole.between_turns_ns == (
            statistics.duration_ns
        )


@given(st.lists(st.tuples(st.integers(1, 3), lines() | broken_lines()), max_size=12), dialects)
def test_any_recording_has_statistics(messages: list[tuple[int, bytes]], dialect: str) -> None:
    """`stats` can print any recording."""
    with TemporaryDirectory() as directory:
        with LogWriter(Path(directory) / "x.db", dialect=dialect) as recorder:
            for stream, line in messages:
                recorder.chunk(stream, line + b"\n")
        for more in ((), ("--json",), ("kind:request",)):
            result = run("inspect", "stats", recorder.path, *more)
            assert result.exit_code == 0
            assert more == ("--json",) or result.stdout.replace("\n", "").isprintable()


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(1, 100))
def test_a_percentile_is_by_nearest_rank(latencies: list[int], percent: int) -> None:
    """A percentile in `stats` is the value at the nearest rank of the sorted values."""
    ordered = sorted(latencies)
    rank = math.ceil(percent * len(ordered) / 100)
    assert percentile(ordered, percent) == (ordered[rank - 1] if ordered else None)


@given(st.lists(st.tuples(st.sampled_from(["said", *WAITING]), st.integers(-5, 5 * 10**9))))
def test_a_turn_distributes_all_of_its_time(happened: list[tuple[str, int]]) -> None:
    """In `stats`, the parts of a turn add up to its duration."""
    turn, t_ns = RunningTurn(Turn(1, "s", 1, 0), 0, 0), 0
    asked = Exchange(1, "to-client", None, None, None, 1, 0)
    for what, pause in happened:
        t_ns += pause
        before, waiting = turn.now_ns, [str(part) for _, part, _ in turn.waits.values()]
        part, passed = turn.pass_time(t_ns)
        assert not waiting or part == next(each for each in WAITING if each in waiting)
        assert turn.now_ns == before + passed
        if what == "said":
            turn.has_spoken = True
        elif what in waiting:
            del turn.waits[WAITING.index(Part(what))]
            turn.awaited[Part(what)] -= 1
        else:
            turn.waits[WAITING.index(Part(what))] = asked, Part(what), t_ns
            turn.awaited[Part(what)] += 1
    assert sum(turn.spent.values()) == turn.now_ns
