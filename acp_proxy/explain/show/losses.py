"""Finds peers that did not read, bytes without a receiver, and gaps in the recording."""

from collections.abc import Iterator

from acp_proxy.base.limits import CHUNK, LISTED
from acp_proxy.base.wording import numbered, plain, seconds
from acp_proxy.explain.findings import FAULT, Finding, Severity
from acp_proxy.explain.observed_faults import ENDING, read_rules
from acp_proxy.explain.origins import took
from acp_proxy.explain.show.chosen_messages import request_text, requests_by_number
from acp_proxy.explain.show.diagnosis_context import READERS, RECEIVERS, DiagnosisContext
from acp_proxy.recording.recording import RecordedEvent, needs
from acp_proxy.store.queries.fired_faults import undelivered_frames
from acp_proxy.store.queries.frames import frames_before

EFFECT = "fault.effect"
_LOST = {"unrecorded": "nothing was recorded", "damaged": "the log was damaged"}


def stalls(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds peers that stopped reading, and whether and when they began to read again."""
    notes = context.of_kind("note")
    for note in notes:
        stream = note.data.get("stream")
        if note.data.get("action") != "stalled" or stream not in READERS:
            continue
        later = (n for n in notes if n.seq > note.seq and n.data.get("stream") == stream)
        resumed = next((n for n in later if n.data.get("action") == "resumed"), None)
        begun = _since(context, note)
        frame = _first_unread(context, stream, note.seq, begun)
        unread = note.data.get("bytes")
        waited = f": {unread:,} bytes waited" if isinstance(unread, int) else ""
        until_ns = context.end_ns if resumed is None else resumed.t_ns
        lasted = took(context.recording, until_ns - begun)
        never = "it has not read since" if context.reader.live else "it never read again"
        end = lasted and f"; {never}, {lasted}"
        if resumed is not None:
            end = f"; it read again{lasted and f' after {lasted}'}"
        where = f" (from frame #{frame})" if frame is not None else ""
        at = _said(context, "at", begun)
        text = f"{READERS[stream]} stopped reading{at}{where}{waited}{end}"
        seq, by = note.seq if frame is None else frame, RECEIVERS.get(stream)
        whose = None if by is not None else "nobody reads the agent's stderr"
        yield Finding("pipe.not-reading", Severity.ERROR, by, seq, text, unblamed=whose)


@needs("times", unknown="")
def _said(_context: DiagnosisContext, word: str, t_ns: int) -> str:
    """Returns a word and a time as text; empty if the times of the recording are not known."""
    return f" {word} {seconds(t_ns)} s"


def _since(context: DiagnosisContext, note: RecordedEvent) -> int:
    """Returns the time when acp-proxy read the first bytes that the peer did not read."""
    start = next(iter(context.of_kind("start")), None)
    origin, since = (start.data.get("origin") if start else None), note.data.get("since")
    if isinstance(origin, int) and isinstance(since, int) and 0 <= since - origin <= note.t_ns:
        return since - origin
    return note.t_ns


def _first_unread(context: DiagnosisContext, stream: str, before: int, since: int) -> int | None:
    """Returns the number of the first frame that the peer did not read whole, or None."""
    first = None
    for frame in frames_before(context.reader, stream, before, CHUNK):
        if frame.t_ns < since:
            break
        first = frame.seq
    return first


def fault_effects(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds messages that faults withheld or changed; neither peer is to blame for them."""
    lost = context.faults.lost_answers()
    lines = requests_by_number(context.reader, (answer.request_seq for answer in lost))
    for answer in lost:
        seq = answer.request_seq
        what = request_text(answer.method, seq, lines.get(seq))
        text = f"fault {answer.rule} withheld #{answer.response_seq}, the answer to {what}"
        if answer.is_broken:
            text = f"fault {answer.rule} broke #{answer.response_seq}, the answer to {what}"
        brief = f"fault {answer.rule} #{answer.response_seq}"
        yield Finding(EFFECT, Severity.WARNING, FAULT, answer.response_seq, text, (seq,),
                      brief=brief)  # fmt: skip
    reported = {answer.rule for answer in lost} | _reported_with_effects(context)
    for rule in read_rules(context.reader) if context.faults.any_fired else []:
        if rule.effects and plain(rule.name) not in reported:
            seq = min(rule.seqs, default=0)
            what, more = "; ".join(rule.effects), tuple(n for n in rule.seqs if n != seq)
            text = f"fault {plain(rule.name)} {what}"
            brief = f"fault {plain(rule.name)}" + (f" #{seq}" if seq else "")
            yield Finding(EFFECT, Severity.WARNING, FAULT, seq, text, more, brief=brief)


def _reported_with_effects(context: DiagnosisContext) -> set[str | None]:
    """Returns the rules of faults that other findings already name as a cause."""
    exit_ = next(iter(context.of_kind("exit")), None)
    ended = None if exit_ is None else context.faults.first_rule(ENDING, exit_.seq)
    errors = {error.why for error in context.errors if error.charged == FAULT}
    withheld = context.faults.withheld(request.seq for request in context.unanswered)
    return {ended, context.holding_fault, *errors, *withheld.values()}


def gaps(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds bytes that passed while no recorder ran, or while the recorder could not write."""
    for note in context.of_kind("note"):
        if what := _LOST.get(str(note.data.get("action"))):
            why = plain(str(note.data.get("reason", "")))
            yield _gap(f"{what}: {why} (#{note.seq})", note.seq)
    for gap in context.of_kind("gap"):
        lost = [f"{n:,} bytes {s}" for s in READERS if isinstance(n := gap.data.get(s), int)]
        why = plain(str(gap.data.get("reason", "")))
        what = f"{', '.join(lost) or 'bytes'} passed unrecorded"
        text = f"{what}{_said(context, 'until', gap.t_ns)}: {why} (#{gap.seq})"
        yield _gap(text, gap.seq)


def _gap(text: str, seq: int) -> Finding:
    why = "the recorder could not write"
    return Finding("recording.gap", Severity.ERROR, None, seq, text, unblamed=why)


def undelivered(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds bytes that could not be delivered because their receiver had already left."""
    by_stream: dict[str, list[RecordedEvent]] = {}
    for event in context.of_kind("undelivered"):
        stream = event.data.get("stream")
        if stream in READERS:
            by_stream.setdefault(stream, []).append(event)
    for stream, events in by_stream.items():
        count = sum(n for e in events if isinstance(n := e.data.get("bytes"), int))
        near = events[-1].seq - CHUNK, events[-1].seq + 1000
        frames = undelivered_frames(context.reader, stream, near, LISTED)
        what = f" ({numbered(frames)})" if frames else ""
        text = f"{READERS[stream]} was gone: {count:,} bytes could not be delivered to it{what}"
        seqs = tuple(frames) or (events[0].seq,)
        why = "the receiver had left"
        yield Finding("pipe.undelivered", Severity.INFO, None, seqs[0], text, seqs[1:], why)
