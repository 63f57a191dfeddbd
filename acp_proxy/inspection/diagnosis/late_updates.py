"""Finds updates that came after the end of a turn, by where turns begin and end.

Only the frames between two turns of a session are read, so that `inspect list` can do this
without a pass over all frames.
"""

import bisect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acp_proxy.inspection.describe.values import HEAD, word
from acp_proxy.inspection.diagnosis.context import DiagnosisContext
from acp_proxy.inspection.diagnosis.messages import LARGEST, StoredMessage, read_messages
from acp_proxy.inspection.diagnosis.values import PROBLEM, Finding
from acp_proxy.inspection.message_pass import HISTORY
from acp_proxy.inspection.preview import preview
from acp_proxy.protocol.updates import TURN_OUTPUT, UPDATE, kind_and_update
from acp_proxy.store.exchange_queries import TurnRow, exchanges
from acp_proxy.store.frame_queries import (
    Span,
    TimedFrame,
    batches_of_agent,
    frame_times,
    updates_outside_turns,
)
from acp_proxy.store.reader import RecordingReader
from acp_proxy.wording import counted, duration

_MOST = 10_000
_LAST = 1 << 62


class LateUpdate(NamedTuple):
    """An update in a session that had no open turn any more."""

    seq: int
    turn: int
    """The last turn of the session."""
    end_seq: int
    after_ns: int


class _TurnGap(NamedTuple):
    """The frames between the end of a turn and the next prompt of its session."""

    turn: int
    first: int
    """The frame that ended the turn."""
    last: int
    """The next prompt."""


def late_updates(context: DiagnosisContext) -> Iterator[Finding]:
    """Returns updates that belong to the work of a turn but came after its end, by turn."""
    if context.recording.lost("middle"):
        return  # the prompt of another turn may be missing
    injected = context.faults.injected
    late = {
        each.seq: each
        for each in _candidates(context.reader, context.turns)
        if each.seq not in injected
    }
    recording = context.recording
    by_turn: dict[int, list[tuple[StoredMessage, str]]] = {}
    running: set[str | None] = set()  # v2: a session may work without a prompt
    for message in read_messages(context.reader, late, HEAD):
        if message.turn is not None:
            continue  # another message of the same batch
        kind, update = kind_and_update(message.part("params"))
        if kind == "state_update":
            change = running.add if word(update, "state") == "running" else running.discard
            change(message.session)
        if kind in TURN_OUTPUT and message.session not in running:
            by_turn.setdefault(late[message.seq].turn, []).append((message, kind))
    for turn, updates in by_turn.items():
        (message, kind), *others = updates
        first, last = late[message.seq], late[updates[-1][0].seq]
        text = preview(message.raw, message.kind, message.method).partition(": ")[2][:60]
        what = f'{kind} "{text}" (#{message.seq})' if text else f"{kind} (#{message.seq})"
        more = f" and {counted(len(others), 'other update')}" if others else ""
        when = f"came after turn {turn} had ended (#{first.end_seq})"
        lateness = f", {duration(last.after_ns, recording.step_ns)} late"
        late_by = lateness if recording.has_durations else ""
        sentence = f"{what}{more} {when}{late_by}"
        seqs = [message.seq for message, _ in updates][:100]
        yield Finding("late-update", PROBLEM, sentence, seqs, "agent")


def _candidates(reader: RecordingReader, turns: list[TurnRow]) -> Iterator[LateUpdate]:
    """Yields the first ten thousand updates between turns, of any kind."""
    gaps = _gaps(turns)
    if not gaps:
        return
    spans = _merged((gap.first, gap.last) for each in gaps.values() for gap in each)
    updates = _within(updates_outside_turns(reader, spans), gaps)
    found = sorted([*updates, *_within(_in_batches(reader, spans), gaps)], key=lambda f: f[0].seq)
    ends = frame_times(reader, {gap.first for _, gap in found})
    histories = _histories(reader) if found else {}
    for frame, gap in found:
        if not any(a < frame.seq < b for a, b in histories.get(frame.session, [])):
            after_ns = frame.t_ns - ends.get(gap.first, frame.t_ns)
            yield LateUpdate(frame.seq, gap.turn, gap.first, after_ns)


def _gaps(turns: Iterable[TurnRow]) -> dict[str | None, list[_TurnGap]]:
    """The stretches in which a session that had a turn has none, by session and in order."""
    by_session: dict[str | None, list[TurnRow]] = {}
    for turn in turns:
        by_session.setdefault(turn.session, []).append(turn)
    gaps: dict[str | None, list[_TurnGap]] = {}
    for session, found in by_session.items():
        covered = last = 0
        for turn, later in zip(found, [*found[1:], None], strict=True):
            end = _LAST if turn.end_seq is None else turn.end_seq
            if end >= covered:
                covered, last = end, turn.id
            following = _LAST if later is None else later.prompt_seq
            if following > covered + 1:
                gaps.setdefault(session, []).append(_TurnGap(last, covered, following))
    return gaps


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Joins stretches that overlap, so that each frame is read once."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


def _within(
    frames: Iterable[TimedFrame], gaps: dict[str | None, list[_TurnGap]]
) -> Iterator[tuple[TimedFrame, _TurnGap]]:
    """Yields the first ten thousand frames that lie in a gap between turns of their session."""
    count = 0
    for frame in frames:
        own = gaps.get(frame.session, [])
        at = bisect.bisect_left(own, frame.seq, key=lambda gap: gap.first) - 1
        if at >= 0 and frame.seq < own[at].last:
            yield frame, own[at]
            count += 1
            if count == _MOST:
                return


def _in_batches(reader: RecordingReader, spans: list[Span]) -> Iterator[TimedFrame]:
    """Returns the updates in batches that belong to no turn."""
    if not reader.first_of_kind("batch"):
        return
    for batch in batches_of_agent(reader, spans[0][0], LARGEST, _MOST):
        for message in reader.members(batch):
            if message["method"] == UPDATE and message["turn"] is None:
                yield TimedFrame(batch["seq"], batch["t_ns"], message["session"])


def _histories(reader: RecordingReader) -> dict[str | None, list[Span]]:
    """The stretches in which a session's history was streamed."""
    found: dict[str | None, list[Span]] = {}
    for row in exchanges(reader, methods=HISTORY):
        last = _LAST if row.response_seq is None else row.response_seq
        found.setdefault(row.session, []).append((row.request_seq, last))
    return found
