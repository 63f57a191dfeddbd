"""What the pipes and the recording lost: readers that stopped, bytes that nobody took or kept."""

from collections.abc import Iterator

from acp_proxy.inspection.diagnosis.course import Happened
from acp_proxy.inspection.diagnosis.evidence import READERS, Evidence, request_text, requests
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, Problem
from acp_proxy.inspection.timeline import duration, seconds
from acp_proxy.safe_text import plain


def stalls(evidence: Evidence) -> Iterator[Problem]:
    """Peers that stopped reading, and whether they went on."""
    notes = evidence.of_kind("note")
    for note in notes:
        stream = note.data.get("stream")
        if note.data.get("action") != "stalled" or stream not in READERS:
            continue
        later = (n for n in notes if n.seq > note.seq and n.data.get("stream") == stream)
        resumed = next((n for n in later if n.data.get("action") == "resumed"), None)
        begun = _since(evidence, note)
        frame = _first_unread(evidence, stream, note.seq, begun)
        unread = note.data.get("bytes")
        waited = f": {unread:,} bytes waited" if isinstance(unread, int) else ""
        if resumed is not None:
            end = f"; it read again after {duration(resumed.t_ns - begun)}"
        else:
            lasts = duration(evidence.end_ns - begun)
            end = (
                f"; {'it has not read since' if evidence.live else 'it never read again'}, {lasts}"
            )
        where = f" (from frame #{frame})" if frame is not None else ""
        text = f"{READERS[stream]} stopped reading at {seconds(begun)} s{where}{waited}{end}"
        yield Problem("not-reading", PROBLEM, text, [note.seq] if frame is None else [frame])


def _since(evidence: Evidence, note: Happened) -> int:
    """When the chunk was read that nobody took, on the recording's clock."""
    start = next(iter(evidence.of_kind("start")), None)
    origin, since = (start.data.get("origin") if start else None), note.data.get("since")
    if isinstance(origin, int) and isinstance(since, int) and 0 <= since - origin <= note.t_ns:
        return since - origin
    return note.t_ns


def _first_unread(evidence: Evidence, stream: str, before: int, since: int) -> int | None:
    """The first frame of the chunk that could not be written; a chunk has 65,536 bytes at most."""
    first = None
    sql = "SELECT seq, t_ns FROM frames WHERE stream = ? AND seq < ? ORDER BY seq DESC LIMIT 65536"
    for row in evidence.reader.query(sql, (stream, before)):
        if row["t_ns"] < since:
            break
        first = row["seq"]
    return first


def lost_answers(evidence: Evidence) -> Iterator[Problem]:
    """Answers that a fault has kept from who asked, which are no fault of either peer."""
    lost = evidence.injected.lost_answers()
    lines = requests(evidence, (answer.request_seq for answer in lost))
    for answer in lost:
        seq = answer.request_seq
        what = request_text(answer.method, seq, lines.get(seq))
        text = f"fault {answer.rule} kept the answer to {what} back (#{answer.response_seq})"
        yield Problem("undelivered", REMARK, text, [answer.response_seq, seq])


def gaps(evidence: Evidence) -> Iterator[Problem]:
    """Bytes that passed while nothing could be recorded, or all of them without a recorder."""
    for note in evidence.of_kind("note"):
        if note.data.get("action") == "unrecorded":
            why = plain(str(note.data.get("reason", "")))
            yield Problem("gap", PROBLEM, f"nothing was recorded: {why} (#{note.seq})", [note.seq])
    for gap in evidence.of_kind("gap"):
        lost = [f"{n:,} bytes {s}" for s in READERS if isinstance(n := gap.data.get(s), int)]
        why = plain(str(gap.data.get("reason", "")))
        what = f"{', '.join(lost) or 'bytes'} passed unrecorded"
        text = f"{what} until {seconds(gap.t_ns)} s: {why} (#{gap.seq})"
        yield Problem("gap", PROBLEM, text, [gap.seq])


def undelivered(evidence: Evidence) -> Iterator[Problem]:
    """Bytes that were read for a peer that was gone by then."""
    by_stream: dict[str, list[Happened]] = {}
    for event in evidence.of_kind("undelivered"):
        stream = event.data.get("stream")
        if stream in READERS:
            by_stream.setdefault(stream, []).append(event)
    for stream, events in by_stream.items():
        count = sum(n for e in events if isinstance(n := e.data.get("bytes"), int))
        frames = _lost_frames(evidence, stream, events[-1].seq)
        named = ", ".join(f"#{seq}" for seq in frames[:3]) + (", ..." if len(frames) > 3 else "")
        what = f" ({named})" if frames else ""
        text = f"{READERS[stream]} was gone: {count:,} bytes {stream} could not be delivered{what}"
        yield Problem("undelivered", REMARK, text, frames or [events[0].seq])


def _lost_frames(evidence: Evidence, stream: str, around: int) -> list[int]:
    """The frames that were not delivered whole; they end about where the loss was noted."""
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND stream = ? AND delivered != 'full'"
        " ORDER BY seq LIMIT 100"
    )
    rows = evidence.reader.query(sql, (around - 65536, around + 1000, stream))
    return [row["seq"] for row in rows]
