"""Makes a trace of a recording that Perfetto and the tracing page of Chromium open.

Each party is a process: the client, the agent, and where they are waited for a person, the files
and the terminals of the client; what acp-proxy did is one as well. In each process a session has a
thread with what the party sent, and threads with what it was asked: a request is a slice from its
frame to its answer in the process of the party that has to act. Turns and tool calls are slices of
the agent. Arrows lead from a request to its answer.

Pure and incremental: what is kept grows with what is open, not with the frames.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any

import msgspec
from attrs import define, field

from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.inspection.describe.tools import state_of
from acp_proxy.inspection.diagrams.trace_threads import FOREVER, Event, Slice, Thread, Threads
from acp_proxy.inspection.fault_effects import described
from acp_proxy.inspection.folding import ChunkRun, fold, run_line
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.measures.turn_times import Part, waiting_part
from acp_proxy.inspection.timeline import began_ns, event_line, frame_line
from acp_proxy.protocol.updates import FINAL, UPDATE
from acp_proxy.recording import origin_values
from acp_proxy.safe_text import plain
from acp_proxy.store.checked_values import Row
from acp_proxy.store.exchange_queries import TurnRow, turns
from acp_proxy.store.reader import RecordingReader

_LONGEST = 200
"""Characters of a name."""
_TEXT = 1000
"""Characters of a text beside a name."""
_SECOND = 10**9


class TraceProcess(IntEnum):
    """The parties of a conversation, as the trace numbers them."""

    CLIENT = 1
    AGENT = 2
    PERSON = 3
    FILES = 4
    TERMINALS = 5
    PROXY = 6


_PARTS = {
    Part.PERSON: TraceProcess.PERSON,
    Part.FILES: TraceProcess.FILES,
    Part.TERMINALS: TraceProcess.TERMINALS,
}
_SENDERS = {"to-agent": TraceProcess.CLIENT}
_encode = msgspec.json.Encoder().encode


@define
class _Traffic:
    """The bytes of a stream in the second that is being read."""

    second: int | None = None
    size: int = 0


@define
class Trace:
    """One recording as a trace.

    Attributes:
        reader: the recording.
        chosen: what of it is in the trace.
        metadata: more of what is known of the trace itself.
    """

    reader: RecordingReader
    chosen: Filter = EVERYTHING
    metadata: dict[str, Any] = field(factory=dict)
    _hints: HintReader = field(init=False)
    _threads: Threads = field(init=False, factory=Threads)
    _processes: set[TraceProcess] = field(init=False, factory=set)
    _turns: dict[int, TurnRow] = field(init=False, factory=dict)
    _requests: dict[int, Slice] = field(init=False, factory=dict)
    _calls: dict[tuple[str | None, str], Slice] = field(init=False, factory=dict)
    _flows: dict[int, tuple[Thread, int]] = field(init=False, factory=dict)
    _due: list[tuple[int, int, int, Slice]] = field(init=False, factory=list)
    _traffic: dict[str, _Traffic] = field(init=False, factory=dict)
    _now_ns: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._hints = HintReader(self.reader)

    def parts(self, watch: Callable[[Iterator[Row]], Iterable[Row]] = iter) -> Iterator[bytes]:
        """Yields the file, an event on each line.

        Args:
            watch: is given the rows that are read, and passes them on.
        """
        reader = self.reader
        is_masked = not reader.unredacted or reader.is_masked
        known = {
            "name": reader.recording.name, "started_at": reader.recording.started_at,
            "masked": is_masked, **self.metadata,
        }  # fmt: skip
        if reader.recording.origin is not None:
            known["origin"] = origin_values(reader.recording.origin)
        yield b'{"displayTimeUnit":"ms","metadata":' + _encode(known) + b',"traceEvents":['
        separator = b"\n"
        for event in self._events(watch(reader.rows(self.chosen))):
            yield separator + _encode(event)
            separator = b",\n"
        yield b"\n]}\n"

    def _events(self, rows: Iterable[Row]) -> Iterator[Event]:
        self._turns = {turn.prompt_seq: turn for turn in turns(self.reader)}
        for item in fold(rows):
            row = item.first if isinstance(item, ChunkRun) else item
            self._now_ns = max(self._now_ns, row["t_ns"])
            yield from self._end_due(row["t_ns"])
            if isinstance(item, ChunkRun):
                yield from self._run(item)
            elif "raw" not in item:
                line = event_line(item)
                yield from self._instant(
                    TraceProcess.PROXY, "events", item, line.cells.method, line.text
                )
            else:
                yield from self._frame(item)
        yield from self._end_due(FOREVER - 1)
        yield from self._threads.end_all(self._now_ns)
        for stream, traffic in self._traffic.items():
            yield from self._count(stream, traffic, None)

    def _frame(self, row: Row) -> Iterator[Event]:
        yield from self._add_size(row["stream"], row["t_ns"], row["size"])
        process = _SENDERS.get(row["stream"], TraceProcess.AGENT)
        group = "stderr" if row["stream"] == "stderr" else f"{_session(row)}: sent"
        line = frame_line(row, live=self.reader.live, hints=self._hints.of(row))
        name = line.cells.method or row["kind"]
        if row["kind"] in ("notification", "stderr", "blank"):
            yield from self._instant(process, group, row, name, line.text)
            thread = None
        else:
            first_ns, args = began_ns(row), _args(row, line.text)
            thread, events = self._sent(process, group, name, first_ns, row["t_ns"], args)
            yield from events
        for rule in described(row):
            yield from self._instant(TraceProcess.PROXY, "faults", row, rule, line.text)
        for message in row.get("members") or [row]:
            yield from self._message(message, thread)

    def _run(self, run: ChunkRun) -> Iterator[Event]:
        row = run.first
        yield from self._add_size(row["stream"], row["t_ns"], run.size)
        line = run_line(run)
        args = {
            **_args(row, line.text),
            "last_seq": run.last,
            "frames": run.count,
            "size": run.size,
        }
        process, group = _SENDERS.get(row["stream"], TraceProcess.AGENT), f"{_session(row)}: sent"
        name = line.cells.method
        _, events = self._sent(process, group, name, began_ns(row), run.last_ns, args)
        yield from events
        self._now_ns = max(self._now_ns, run.last_ns)

    def _message(self, row: Row, thread: Thread | None) -> Iterator[Event]:
        """Begins and ends what a message begins and ends."""
        kind, exchange = row["kind"], row["exchange"]
        if kind == "request":
            yield from self._ask(row)
            if exchange is not None and row["response_seq"] is not None and thread is not None:
                self._flows[exchange] = thread, thread.last_ns - 1
        elif kind in ("response", "error") and exchange is not None:
            if (answered := self._requests.pop(exchange, None)) is not None:
                answered.args |= {"seq": row["seq"], "outcome": kind}
                yield from self._threads.end(answered, row["t_ns"])
            begun = self._flows.pop(exchange, None)
            if begun is not None and thread is not None:
                more = {"name": _name(row["method"] or kind), "cat": "exchange", "id": exchange}
                yield begun[0].event("s", begun[1], **more)
                yield thread.event("f", thread.last_ns - 1, bp="e", **more)
        elif kind == "notification" and row["method"] == UPDATE and row["tool_call"] is not None:
            yield from self._update_call(row)

    def _ask(self, row: Row) -> Iterator[Event]:
        turn = self._turns.get(row["seq"]) if row["stream"] == "to-agent" else None
        end_ns = FOREVER if row["latency_ns"] is None else row["t_ns"] + row["latency_ns"]
        process = TraceProcess.AGENT
        if row["stream"] == "to-client":
            process = _PARTS.get(waiting_part(row["method"]), TraceProcess.CLIENT)
        name = _name(row["method"] or "request")
        if turn is not None and turn.session == row["session"]:
            name = f"Turn {turn.id}"
            end_ns = FOREVER if turn.duration_ns is None else row["t_ns"] + turn.duration_ns
        if end_ns == FOREVER:
            end = "never ended" if turn is not None else "unanswered"
            name += ", open" if self.reader.is_open else f", {end}"
        asked = Slice(name, end_ns, ends_others=turn is not None)
        if turn is not None and turn.end_seq is not None:
            asked.args |= {"seq": turn.end_seq, "stop_reason": _name(turn.stop_reason or "")}
        line = frame_line(row, live=self.reader.live, hints=self._hints.of(row))
        yield from self._begin(process, _session(row), asked, row, line.text)
        if end_ns != FOREVER:
            heappush(self._due, (end_ns, -row["seq"], id(asked), asked))
        if row["exchange"] is not None and turn is None:
            self._requests[row["exchange"]] = asked

    def _update_call(self, row: Row) -> Iterator[Event]:
        key = row["session"], row["tool_call"]
        state = state_of(bytes(row["raw"]))
        call = self._calls.get(key)
        is_final = state.status in FINAL
        if call is not None and call.is_open:
            call.args |= {"seq": row["seq"], "status": state.status or ""}
            if is_final:
                yield from self._threads.end(self._calls.pop(key), row["t_ns"])
            return
        title = state.title or self._hints.title_of(*key, row["seq"]) or key[1]
        self._calls.pop(key, None)
        if not is_final:
            call = self._calls[key] = Slice(_name(title), args={"unfinished": True})
            yield from self._begin(TraceProcess.AGENT, _session(row), call, row, state.status or "")

    def _begin(
        self, process: TraceProcess, group: str, begun: Slice, row: Row, text: str
    ) -> Iterator[Event]:
        yield from self._named(process)
        yield from self._threads.begin(process, group, begun, row["t_ns"], _args(row, text))

    def _end_due(self, before_ns: int) -> Iterator[Event]:
        """Ends what ended before a time, where the frame that ended it is not in the trace."""
        while self._due and self._due[0][0] < before_ns:
            end_ns, _, _, ended = heappop(self._due)
            yield from self._threads.end(ended, end_ns)

    def _sent(
        self, process: TraceProcess, group: str, name: str, first_ns: int, last_ns: int, args: Event
    ) -> tuple[Thread, list[Event]]:
        """Adds a slice for what was sent, after the one before and a nanosecond long at least."""
        thread, named = self._threads.get(process, group)
        begin = max(first_ns, thread.last_ns)
        thread.last_ns = max(last_ns, begin + 1)
        took = (thread.last_ns - begin) / 1000
        sent = thread.event("X", begin, dur=took, name=_name(name), args=args)
        return thread, [*self._named(process), *named, sent]

    def _instant(
        self, process: TraceProcess, group: str, row: Row, name: str, text: str
    ) -> Iterator[Event]:
        thread, named = self._threads.get(process, group)
        yield from self._named(process)
        yield from named
        yield thread.event("i", row["t_ns"], s="t", name=_name(name), args=_args(row, text))

    def _named(self, process: TraceProcess) -> Iterator[Event]:
        """Names a process when it first appears."""
        if process in self._processes:
            return
        self._processes.add(process)
        recording = self.reader.recording
        titles = {
            TraceProcess.CLIENT: recording.client_title,
            TraceProcess.AGENT: recording.agent_title,
        }
        word = "acp-proxy" if process is TraceProcess.PROXY else process.name.lower()
        name = ": ".join(filter(None, (word, _name(titles.get(process, "")))))
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
        order = {"sort_index": int(process)}
        yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": order}

    def _add_size(self, stream: str, t_ns: int, size: int) -> Iterator[Event]:
        """Counts bytes, and shows how many there were in the second before."""
        traffic = self._traffic.setdefault(stream, _Traffic())
        second = t_ns // _SECOND
        if traffic.second is not None and second > traffic.second:
            yield from self._count(stream, traffic, second)
            traffic.size = 0
        traffic.second = second if traffic.second is None else max(second, traffic.second)
        traffic.size += size

    def _count(self, stream: str, traffic: _Traffic, upto: int | None) -> Iterator[Event]:
        assert traffic.second is not None
        process = _SENDERS.get(stream, TraceProcess.AGENT)
        counter = {"ph": "C", "pid": process, "name": f"bytes per second {stream}"}
        yield {**counter, "ts": traffic.second * 1e6, "args": {"bytes": traffic.size}}
        if upto is None or upto > traffic.second + 1:
            yield {**counter, "ts": (traffic.second + 1) * 1e6, "args": {"bytes": 0}}


def _session(row: Row) -> str:
    return _name(row["session"]) if row["session"] else "connection"


def _name(text: str) -> str:
    return plain(text[:_LONGEST])


def _args(row: Row, text: str) -> Event:
    """What is known of a row besides its name and its time."""
    found = {"seq": row["seq"], "text": text[:_TEXT]}
    for name in ("turn", "rpc_id", "tool_call", "terminal", "size"):
        if (value := row.get(name)) is not None:
            found[name] = _name(value) if isinstance(value, str) else value
    return found
