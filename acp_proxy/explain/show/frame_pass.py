"""Counts frames, tracks tool calls and sums up the agent's work, in the pass over frames."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from attrs import define, field

from acp_proxy.base.limits import KEPT_ACTIONS, LINE_EDGE, LISTED, LONG_LIST
from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.content_texts import changed_files, exit_state
from acp_proxy.explain.describe.phrases import part, word
from acp_proxy.explain.describe.tool_texts import params_of, tool_content
from acp_proxy.explain.message_pass import Listener, MessagePass
from acp_proxy.explain.show.chosen_messages import (
    StoredMessage,
    messages_of_exchanges,
    read_messages,
)
from acp_proxy.explain.show.summary_values import BegunCall, FailedCall, ToolTally, WorkDone
from acp_proxy.explain.stats.turn_times import TurnTime
from acp_proxy.explain.waits import Party, Silence, named_wait
from acp_proxy.protocol.call_ids import CallKey, LastCalls
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import body
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.tool_calls import CallState, call_of
from acp_proxy.protocol.updates import FINAL, NEW_CHILD, RUNNING, UPDATE, kind_and_update
from acp_proxy.recording.recording import FrameRun
from acp_proxy.store.queries.call_frames import calls_of_turn
from acp_proxy.store.queries.exchanges import exchanges
from acp_proxy.store.reader import RecordingReader

_SHOWN = re.compile(rb'"(?:title|name|tool|kind|diff)"').search
"""Finds a word that shows that `CallLog` needs more of a message than its status."""


@define(eq=False)
class LoggedCall(CallState):
    """A tool call, and the frame in which it began."""

    key: CallKey = (None, "")
    seq: int = 0
    changed: dict[str, tuple[int, int]] = field(factory=dict)
    """The files in the call's diffs, each with the numbers of added and removed lines."""


class CallLog:
    """Keeps the first 100,000 tool calls of a recording."""

    def __init__(self) -> None:
        self.calls: list[LoggedCall] = []
        self._last: dict[CallKey, LoggedCall] = {}

    def begin(self, key: CallKey) -> None:
        """Prepares for a new call with an id. The next update with this id belongs to the new call.

        Args:
            key: the session and the id of the tool call.
        """
        self._last.pop(key, None)

    def add(self, key: CallKey, seq: int, raw: bytes, status: str | None) -> None:
        """Adds an update of a tool call. Members of the call that the update lacks do not change.

        Args:
            key: the session and the id of the call.
            seq: the number of the update's frame.
            raw: the message, or its beginning.
            status: the status of the call in the message.
        """
        call = self._last.get(key)
        if call is None:
            if len(self.calls) == KEPT_ACTIONS:
                return
            call = self._last[key] = LoggedCall(key=key, seq=seq)
            self.calls.append(call)
        if status in FINAL and not _SHOWN(raw):  # so most updates need not be decoded
            call.take_status(status, seq)
            return
        members = call_of(params_of(raw))
        call.take(members, seq)
        if b'"diff"' in raw:
            call.changed.update(changed_files(members))

    def tallies(self) -> list[ToolTally]:
        """Returns the number of calls of each kind, the most frequent first."""
        tallies = defaultdict[str, Counter[str]](Counter)
        for call in self.calls:
            tallies[call.kind or call.tool or "other"][call.status or "no status"] += 1
        every = [ToolTally(kind, sum(n.values()), dict(n)) for kind, n in tallies.items()]
        return sorted(every, key=lambda tally: (-tally.count, tally.kind))

    def first(self) -> list[BegunCall]:
        """Returns the first calls, in the order in which they began."""
        return [
            BegunCall(call.seq, *call.key, call.title[:80], call.kind or call.tool, call.status)
            for call in self.calls[:LISTED]
        ]

    def failed(self, reader: RecordingReader) -> list[FailedCall]:
        """Returns the first failed calls, in the order in which they failed."""
        failed = {(call.status_seq, call.key[1]): call for call in self.calls if call.is_failed}
        first = dict(sorted(failed.items())[:LISTED])
        failures = []
        for message in read_messages(reader, (seq for seq, _ in first), LINE_EDGE):
            call_id = message.tool_call or ""
            if (call := first.get((message.seq, call_id))) is not None:
                title = (call.title or plain(call_id))[:80]
                why = plain(tool_content(call_of(message.part("params"))))[:200]
                session, status = call.key[0], call.status
                failures.append(FailedCall(message.seq, session, call_id, title, status, why))
        return failures


class FrameCounts(Listener):
    """Counts the frames that a pass reads.

    Args:
        reader: the recording.
        messages: the pass over the recording.

    Attributes:
        counts: the number of frames by stream and kind.
        updates: the number of session updates, including the updates of a history.
        parents: for each child session, the session in which it was announced.
        calls: the tool calls, without the calls of a history.
        calls_of_turns: the number of tool calls in each turn that has ended.
        last_seq: the number of the last frame, except lines of stderr.
        is_exact: whether each frame was read separately. If so, silences of any length are known.
    """

    def __init__(self, reader: RecordingReader, messages: MessagePass) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.updates = self.last_seq = 0
        self.calls = CallLog()
        self.calls_of_turns: dict[int, int] = {}
        self.parents: dict[str, str] = {}
        self.is_exact = True
        self._reader = reader
        self._messages = messages

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Counts a frame, or a run of frames that are pieces of one message.

        Args:
            run: the frame, or the run of frames.
            message: the message of the first frame.
            transition: the changes that this message made to the state of the connection.
        """
        seq, _, stream, kind, _, last_seq, _ = run
        key = stream, kind
        self.counts[key] = self.counts.get(key, 0) + 1 + last_seq - seq
        if kind == "stderr":
            return
        self.last_seq = last_seq
        self._take(run, message, transition)
        if last_seq != seq:
            self.is_exact = False
            self.updates += last_seq - seq

    def _take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        if message.members:
            for member, change in zip(message.members, transition.members, strict=True):
                self._take(run, member, change)
        for turn in transition.ended:
            self.calls_of_turns[turn.id] = turn.tool_calls
        is_update = message.method == UPDATE and message.rpc_id is None
        self.updates += is_update
        if message.update == NEW_CHILD and len(self.parents) < KEPT_ACTIONS:
            child = word(kind_and_update(body(message, "params"))[1], "sessionId")
            self.parents.setdefault(child, message.session or "")
        if transition.tool_call is None:
            return
        calls, key = self.calls, (transition.session, transition.tool_call)
        if transition.turn is None and self._messages.is_history(run.seq, transition.session):
            return
        if transition.begins_call:
            calls.begin(key)
        if is_update:
            raw = message.raw
            if raw is None:
                raw = b"".join(m.raw for m in read_messages(self._reader, [run.seq], LINE_EDGE))
            calls.add(key, run.seq, raw, message.status)


class RunningCalls:
    """Finds the tool calls of a turn that were running at the time of a frame.

    Args:
        reader: the recording.
        turn: the number of the turn.
        first: the number of the frame with the turn's prompt.

    Attributes:
        upto: the number of the last frame that was read.
    """

    def __init__(self, reader: RecordingReader, turn: int, first: int) -> None:
        self.upto = first - 1
        self._reader, self._turn = reader, turn
        self._log = CallLog()
        self._last = LastCalls[CallKey](reader.recording.dialect)

    def at(self, seq: int, statuses: Collection[str | None] = RUNNING) -> dict[int, str]:
        """Returns the titles of the running calls, by the numbers of their first frames.

        Args:
            seq: the number of the frame; at least `upto`.
            statuses: the statuses that count as running.
        """
        span = self.upto + 1, seq
        frames = calls_of_turn(self._reader, self._turn, span)
        for message in read_messages(self._reader, frames, LINE_EDGE):
            self._take(message)
        self.upto = seq
        running = (call for call in self._log.calls if call.status in statuses)
        return {call.seq: (call.title or plain(call.key[1]))[:80] for call in running}

    def _take(self, message: StoredMessage) -> None:
        if message.tool_call is None or message.turn != self._turn or message.method != UPDATE:
            return
        key = message.session, message.tool_call
        kind, update = kind_and_update(message.part("params"))
        status = word(update, "status")
        if self._last.begins(key, self._turn, UPDATE, kind, status):
            self._log.begin(key)
        self._log.add(key, message.seq, message.raw, status)


def silent_call(reader: RecordingReader, silence: Silence | None, turns: Iterable[TurnTime]) -> str:
    """Returns in words which tool calls ran while the agent was silent; empty without a call.

    Args:
        reader: the recording.
        silence: the longest silence; None for an empty result. The result is also empty if the
            silence takes less than half of the time in which the agent was silent.
        turns: the turns whose time is described.
    """
    silent = {turn.id: turn.silent_ns for turn in turns}
    if silence is None or silence.party is not Party.AGENT or silence.request.turn not in silent:
        return ""
    if silence.length_ns * 2 < sum(silent.values()):
        return ""
    calls = RunningCalls(reader, silence.request.turn, silence.request.seq).at(silence.from_seq)
    return named_wait(Party.AGENT, None, [*calls.values()]) if calls else ""


_METHODS = ("fs/write_text_file", "terminal/wait_for_exit", "terminal/output")
"""The methods whose answers show the work of an agent. Only the first method changes a file."""


def read_work(reader: RecordingReader, calls: Iterable[LoggedCall]) -> WorkDone:
    """Reads which files the agent changed, and how its commands ended.

    Args:
        reader: the recording.
        calls: the tool calls of the recording.
    """
    rows = [*exchanges(reader, methods=_METHODS, direction="to-client", outcome="result")]
    keys = [(seq, row.id) for row in rows for seq in (row.request_seq, row.response_seq)]
    messages = messages_of_exchanges(reader, keys if len(rows) <= LONG_LIST else ())
    written, exits = set[str](), dict[str, str]()
    for row in rows:
        asked = messages.get((row.request_seq, row.id))
        reply = messages.get((row.response_seq or 0, row.id))
        if asked is None or reply is None:
            continue
        if row.method == _METHODS[0]:
            written.add(word(params_of(asked.raw), "path"))
        elif state := exit_state(part(reply.part("result"), "exitStatus") or reply.part("result")):
            exits[word(asked.part("params"), "terminalId")] = state
    edited = [call.changed for call in calls if call.status == "completed"]
    changes = [lines for call in edited for lines in call.values()]
    is_whole = reader.recording.knows("parts", "values") and written <= set[str]().union(*edited)
    lines = sum(added for added, _ in changes), sum(removed for _, removed in changes)
    is_few = len(rows) <= LONG_LIST
    return WorkDone(
        len(written.union(*edited)) if is_few else None,
        lines if is_whole else None,
        dict(Counter(exits.values())),
    )
