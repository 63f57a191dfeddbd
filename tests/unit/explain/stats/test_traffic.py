"""Tests how `stats` counts frames, bytes and latencies by method and by tool call."""

from __future__ import annotations

from typing import Any

from acp_proxy.explain.stats.traffic import (
    BUCKETS,
    Traffic,
    halved,
    percentile,
    sparkline,
)
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.exchanges import ExchangeRow
from tests.support.cases import each_case


def head(seq: int, t_ns: int = 0, **fields: Any) -> StoredFrame:
    """Returns a notification to the client; the fields replace its values."""
    values = {
        "stream": "to-client", "kind": "notification", "method": "m", "exchange": None,
        "session": None, "turn": None, "tool_call": None, "terminal": None, "size": 10, **fields,
    }  # fmt: skip
    return StoredFrame(seq, t_ns, **values)


def exchange(number: int, outcome: str, latency_ns: int | None, **fields: Any) -> ExchangeRow:
    """A request to the agent."""
    row = ExchangeRow(number, "to-agent", "m", None, None, number, None, latency_ns, outcome)
    return row._replace(**fields)


@each_case(
    ("ordered", "percent", "expected"),
    [
        ([], 50, None),
        ([7], 1, 7),
        ([7], 100, 7),
        ([1, 2], 50, 1),
        ([1, 2], 51, 2),
        (list(range(1, 101)), 90, 90),
        (list(range(1, 101)), 99, 99),
        (list(range(1, 12)), 90, 10),
    ],
)
def test_a_percentile_is_one_that_occurred(
    ordered: list[int], percent: int, expected: int | None
) -> None:
    """In `stats`, every percentile is one of the measured latencies."""
    assert percentile(ordered, percent) == expected


def test_an_answer_counts_for_the_method_it_answers() -> None:
    """`stats` counts an answer under the method of its request."""
    traffic = Traffic(100)
    traffic.feed(head(1, stream="to-agent", kind="request", exchange=1, size=30))
    traffic.feed(head(2, kind="error", exchange=1, size=5))
    traffic.feed(head(3, size=1))
    asked, told = traffic.methods()
    assert (asked.direction, asked.method, asked.frames, asked.bytes) == ("to-agent", "m", 2, 35)
    assert (told.direction, told.frames, told.bytes) == ("to-client", 1, 1)
    assert [sum(m.frames for m in (asked, told)), sum(m.bytes for m in (asked, told))] == [3, 36]


def test_frames_without_a_method_are_counted_by_their_kind() -> None:
    """`stats` counts stderr lines and invalid lines, which have no method, by their kind."""
    traffic = Traffic(100)
    traffic.feed(head(1, stream="stderr", kind="stderr", method=None))
    traffic.feed(head(2, kind="invalid", method=None, size=2))
    groups = [(m.direction, m.method, m.kind) for m in traffic.methods()]
    assert groups == [("stderr", None, "stderr"), ("to-client", None, "invalid")]


def test_outcomes_are_counted_apart() -> None:
    """`stats` counts cancelled and open requests apart, and ignores latencies of cancelled ones."""
    traffic = Traffic(100)
    for number, (outcome, latency) in enumerate(
        [("result", 10), ("error", 30), ("cancelled", 9000), ("unanswered", None), ("result", 20)]
    ):
        traffic.take(exchange(number, outcome, latency))
    (method,) = traffic.methods()
    assert (method.requests, method.errors, method.cancelled, method.unanswered) == (5, 1, 1, 1)
    assert (method.p50_ns, method.p90_ns, method.p99_ns, method.max_ns) == (20, 30, 30, 30)
    assert method.frames == 0


def test_activity_divides_the_time_of_the_recording() -> None:
    """`stats` counts frames in time intervals of equal length."""
    end = BUCKETS * 10 + 7
    traffic = Traffic(end)
    for seq, t_ns in enumerate([0, 10, 11, end - 1, end, end * 2, -5]):
        traffic.feed(head(seq, t_ns))
    (method,) = traffic.methods()
    assert method.activity == [3, 1, *([0] * (BUCKETS - 3)), 3]


def test_the_cached_part_is_the_computed_one() -> None:
    """`stats` caches the current time interval, and still counts each frame in the right one."""
    for end in (1, 5, 24, 25, 997):
        traffic = Traffic(end)
        expected = [0] * BUCKETS
        for t_ns in range(end + 1):
            traffic.feed(head(t_ns, t_ns))
            expected[min(t_ns * BUCKETS // end, BUCKETS - 1)] += 1
        assert traffic.methods()[0].activity == expected


def test_a_sparkline_shows_the_busiest_part_highest() -> None:
    """A sparkline of `stats` is highest at the busiest time, and shows even a single frame."""
    assert sparkline([0, 1, 50, 100]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""
    assert halved([1, 2, 3, 4]) == [3, 7]


def test_a_tool_call_has_all_its_frames() -> None:
    """`stats` adds up a tool call's frames, without another session's call of the same id."""
    traffic = Traffic(1000)
    call = {"session": "s", "tool_call": "c", "turn": 1}
    traffic.feed(head(1, 100, **call, size=5))
    traffic.feed(head(2, 160, **call, size=6))
    traffic.feed(head(3, 170, **{**call, "session": "t"}, size=90))
    traffic.feed(head(4, 900, **{**call, "turn": None}, size=7))
    (other, _), (own, _) = traffic.heaviest_calls(5)
    assert (other.session, other.bytes, other.duration_ns) == ("t", 90, 0)
    assert (own.session, own.frames, own.bytes) == ("s", 3, 18)
    assert (own.start_ns, own.duration_ns, own.turn) == (100, 60, 1)
    assert [call for call, _ in traffic.heaviest_calls(1)] == [other]
    assert traffic.calls == 2


def test_a_filter_is_followed_to_exchanges() -> None:
    """If a filter matches a request, `stats` also counts the response."""
    traffic = Traffic(100)
    traffic.feed(head(5, kind="response", exchange=1))
    traffic.feed(head(6, kind="notification", exchange=2))  # a request to cancel it
    traffic.feed(head(7, kind="batch", method=None))
    assert traffic.includes(exchange(1, "result", 1))
    assert not traffic.includes(exchange(2, "result", 1))
    assert traffic.includes(exchange(3, "result", 1, request_seq=7))
    assert traffic.includes(exchange(4, "result", 1, response_seq=7))
    assert traffic.turns == set()
