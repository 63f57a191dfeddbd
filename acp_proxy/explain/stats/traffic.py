"""Counts traffic: frames, bytes and latencies of each method, and the bytes of each tool call.

The module is pure and incremental. It keeps a few counters for each method, eight bytes for each
latency, and one row for each tool call.

The p-th percentile is a recorded latency. At least p percent of all latencies are not longer than
it, and it is the smallest recorded latency with this property.
"""

import heapq
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import define, field, frozen

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.exchanges import ExchangeRow
from acp_proxy.store.queries.frames import Span

BUCKETS = 24
"""The number of equal parts that the time of a recording is divided into."""

_OPPOSITE = {"to-agent": "to-client", "to-client": "to-agent", "stderr": "stderr"}
_ANSWERS = ("response", "error")


@frozen
class MethodStatistics:
    """The traffic of one method in one direction."""

    direction: str
    """The direction of the requests or notifications: to-agent, to-client, or stderr for lines of
    stderr."""
    method: str | None
    kind: str | None
    """The kind of the frames, if they have no method; otherwise None."""
    frames: int
    """The number of frames: requests, answers and notifications."""
    bytes: int
    """The number of bytes in these frames, without newlines."""
    requests: int
    errors: int
    """The number of requests that were answered with an error."""
    cancelled: int
    unanswered: int
    p50_ns: int | None
    """The median of the latencies of results and errors, in nanoseconds; None without answers."""
    p90_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    activity: list[int] | None
    """The number of frames in each of `BUCKETS` equal parts of the recording's time; None if times
    are not known."""


@frozen
class CallStatistics:
    """The traffic of one tool call. Its title, kind and status are read later."""

    session: str | None
    tool_call: str
    title: str | None
    kind: str | None
    status: str | None
    turn: int | None
    """The number of the turn in which the first frame was sent; None outside of turns."""
    frames: int
    bytes: int
    start_ns: int
    """The time of the first frame, in nanoseconds since the start of the recording."""
    duration_ns: int
    """The time from the first frame to the last frame in the same turn, in nanoseconds."""


def percentile(ordered: Sequence[int], percent: int) -> int | None:
    """Returns a percentile of latencies, by nearest rank; None without latencies.

    Args:
        ordered: the latencies in ascending order.
        percent: the percentage, from 1 to 100.
    """
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None


def halved(activity: Sequence[int]) -> list[int]:
    """Returns an activity with half as many parts: each count is the sum of two adjacent counts."""
    return [a + b for a, b in zip(activity[::2], activity[1::2], strict=True)]


def sparkline(activity: Sequence[int]) -> str:
    """Returns one bar for each part of the activity; a blank for a part without frames.

    The height of a bar is relative to the busiest part.
    """
    most = max(activity, default=0) or 1
    return "".join(" ▁▂▃▄▅▆▇█"[-(-count * 8 // most)] for count in activity)


@define
class _Method:
    frames: int = 0
    bytes: int = 0
    activity: list[int] = field(factory=lambda: [0] * BUCKETS)
    latencies: "array[int]" = field(factory=lambda: array("q"))
    outcomes: Counter[str | None] = field(factory=Counter)

    def statistics(self, direction: str, method: str | None, kind: str | None) -> MethodStatistics:
        ordered = sorted(self.latencies)
        p50, p90, p99, longest = (percentile(ordered, percent) for percent in (50, 90, 99, 100))
        outcomes = self.outcomes
        return MethodStatistics(
            direction, method, kind, self.frames, self.bytes, outcomes.total(), outcomes["error"],
            outcomes["cancelled"], outcomes["unanswered"], p50, p90, p99, longest, self.activity,
        )  # fmt: skip


class Traffic:
    """Counts the traffic of frames, and afterwards of exchanges.

    Args:
        end_ns: the end of the recording's time, which is divided into `BUCKETS` parts.
        repeated: for each id that several tool calls share, the numbers of the frames that begin
            the later calls.
    """

    def __init__(
        self, end_ns: int, repeated: "Mapping[CallKey, array[int]]" = MappingProxyType({})
    ) -> None:
        self.turns: set[int] = set()
        """The turns to which the counted frames belong."""
        self._exchanges: set[int] = set()
        self._batches: set[int] = set()
        self._repeated = repeated
        self._span = max(1, end_ns)
        self._bucket = self._from = self._to = 0
        self._passing: dict[tuple[str, str, str | None], _Method] = {}
        """The counters of frames, by stream, kind and method."""
        self._calls: dict[tuple[str | None, str, int], list[Any]] = {}
        self._methods: dict[tuple[str, str | None, str | None], _Method] = {}

    def feed(self, head: StoredFrame) -> None:
        """Counts a frame and its size. The line of the frame is not needed."""
        seq, t_ns, stream, kind, method, exchange, session, turn, call, _, size, _ = head
        count = self._passing.get((stream, kind, method))
        if count is None:
            count = self._passing[stream, kind, method] = self._method_of(stream, kind, method)
        count.frames += 1
        count.bytes += size
        if not self._from <= t_ns < self._to:
            self._locate(t_ns)
        count.activity[self._bucket] += 1
        if turn is not None:
            self.turns.add(turn)
        if kind == "batch":
            self._batches.add(seq)
        elif exchange is not None and kind != "notification":
            self._exchanges.add(exchange)
        if call is not None:
            repeated = self._repeated.get((session, call))
            number = 0 if repeated is None else bisect_right(repeated, seq)
            self._call((session, call, number), t_ns, turn, size)

    def take(self, exchange: ExchangeRow) -> None:
        """Counts the outcome and the latency of an exchange."""
        method = self._method(exchange.direction, exchange.method, None)
        outcome, latency = exchange.outcome, exchange.latency_ns
        method.outcomes[outcome] += 1
        if latency is not None and outcome in ("result", "error"):
            method.latencies.append(latency)

    def includes(self, exchange: ExchangeRow) -> bool:
        """Whether the request or the response of an exchange was counted."""
        return (
            exchange.id in self._exchanges
            or exchange.request_seq in self._batches
            or exchange.response_seq in self._batches
        )

    def methods(self) -> list[MethodStatistics]:
        """Returns the traffic of each method, and of each kind of frames without a method.

        The method with the most bytes comes first.
        """
        totals = (method.statistics(*key) for key, method in self._methods.items())
        return sorted(totals, key=lambda m: (-m.bytes, m.direction, m.method or "", m.kind or ""))

    def heaviest_calls(self, most: int) -> list[tuple[CallStatistics, Span]]:
        """Returns the tool calls with the most bytes, each with the range of its frames."""
        heaviest = heapq.nlargest(most, self._calls.items(), key=lambda item: item[1][2])
        return [
            (
                CallStatistics(
                    session, call, None, None, None, turn, frames, size, start, end - start
                ),
                self._span_of((session, call), number),
            )
            for (session, call, number), (turn, frames, size, start, end) in heaviest
        ]

    def _span_of(self, key: CallKey, number: int) -> Span:
        repeated = self._repeated.get(key) or array("q")
        first = repeated[number - 1] if number else 0
        return first, repeated[number] - 1 if number < len(repeated) else LAST_NUMBER

    @property
    def calls(self) -> int:
        """The number of tool calls that the counted frames are about."""
        return len(self._calls)

    def _locate(self, t_ns: int) -> None:
        """Finds the part of the recording's time that contains a moment, and the part's limits."""
        self._bucket = min(max(t_ns * BUCKETS // self._span, 0), BUCKETS - 1)
        self._from = -(-self._bucket * self._span // BUCKETS)
        self._to = -(-(self._bucket + 1) * self._span // BUCKETS)

    def _call(
        self, key: tuple[str | None, str, int], t_ns: int, turn: int | None, size: int
    ) -> None:
        call = self._calls.setdefault(key, [turn, 0, 0, t_ns, t_ns])
        call[1] += 1
        call[2] += size
        if turn == call[0]:  # a frame of a replayed history adds no time
            call[4] = max(call[4], t_ns)

    def _method_of(self, stream: str, kind: str, name: str | None) -> _Method:
        if name is None:
            return self._method(stream, None, kind)
        return self._method(_OPPOSITE[stream] if kind in _ANSWERS else stream, name, None)

    def _method(self, direction: str, name: str | None, kind: str | None) -> _Method:
        return self._methods.setdefault((direction, name, kind), _Method())
