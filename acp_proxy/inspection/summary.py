"""The first screen: who talked, how it went, what is open, how it ended."""

import json
from collections import Counter
from typing import Any

from attrs import define, field, frozen

from acp_proxy.inspection.preview import plain, preview, prompt_text
from acp_proxy.inspection.timeline import describe_event
from acp_proxy.recording import Recording
from acp_proxy.store.reader import RecordingReader

STDERR_LINES = 5
_TURNS = (
    "SELECT id, session, prompt_seq, end_seq, stop_reason, duration_ns, updates, tool_calls"
    " FROM turns ORDER BY id"
)


@frozen
class TurnSummary:
    """One turn."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    stop_reason: str | None
    duration_ns: int | None
    updates: int
    tool_calls: int
    prompt: str


@frozen
class OpenRequest:
    """A request that has no answer."""

    seq: int
    direction: str
    method: str | None
    rpc_id: str | None
    waited_ns: int
    """Until the end of the recording, or until now while it runs."""
    preview: str

    @property
    def who_waits(self) -> str:
        """Who waits for whom; a permission is a person's business and no hang."""
        if self.direction == "to-client":
            return "agent waits for client"
        return "client waits for agent"


@define
class Summary:
    """What `inspect show` says."""

    recording: Recording
    path: str
    live: bool
    duration_ns: int
    frames: dict[str, int] = field(factory=dict)
    """Frames by stream."""
    kinds: dict[str, int] = field(factory=dict)
    """Frames by kind, stderr lines left out."""
    sessions: list[str] = field(factory=list)
    turns: list[TurnSummary] = field(factory=list)
    unanswered: list[OpenRequest] = field(factory=list)
    errors: int = 0
    """Requests answered with an error."""
    events: list[str] = field(factory=list)
    """Signals, gaps and undelivered bytes, in words."""
    stderr_tail: list[str] = field(factory=list)


def summarize(reader: RecordingReader) -> Summary:
    """Reads a recording's summary in one pass over its indexes, not over its payloads."""
    recording = reader.recording
    end = next(
        reader.query(
            "SELECT max(coalesce((SELECT max(t_ns) FROM frames), 0),"
            " coalesce((SELECT max(t_ns) FROM events), 0)) AS t_ns"
        )
    )["t_ns"]
    summary = Summary(recording, str(reader.path), reader.live, end)
    frames: Counter[str] = Counter()
    for row in reader.query("SELECT stream, kind, count(*) AS n FROM frames GROUP BY stream, kind"):
        frames[row["stream"] or "damaged"] += row["n"]
        if row["kind"] != "stderr":
            summary.kinds[row["kind"]] = summary.kinds.get(row["kind"], 0) + row["n"]
    summary.frames = dict(frames)
    summary.sessions = [
        row["session"]
        for row in reader.query(
            "SELECT session FROM exchanges WHERE session IS NOT NULL"
            " GROUP BY session ORDER BY min(request_seq)"
        )
    ]
    summary.turns = [_turn(reader, row) for row in reader.query(_TURNS)]
    summary.unanswered = _unanswered(reader, end)
    summary.errors = next(
        reader.query("SELECT count(*) AS n FROM exchanges WHERE outcome = 'error'")
    )["n"]
    for row in reader.query(
        "SELECT kind, data FROM events WHERE kind IN ('signal', 'gap', 'undelivered', 'note')"
        " ORDER BY seq"
    ):
        summary.events.append(describe_event(row["kind"], json.loads(row["data"])))
    tail = reader.query(
        "SELECT substr(raw, 1, 2000) AS raw FROM frames WHERE kind = 'stderr'"
        f" ORDER BY seq DESC LIMIT {STDERR_LINES}"
    )
    summary.stderr_tail = [plain(bytes(row["raw"]).decode(errors="replace")) for row in tail][::-1]
    return summary


def first_prompt(raw: bytes | None) -> str:
    """The text of a ``session/prompt`` request."""
    if raw is None:
        return ""
    try:
        params: dict[str, Any] = json.loads(raw)["params"]
        return plain(prompt_text(params))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""


def _turn(reader: RecordingReader, row: dict[str, Any]) -> TurnSummary:
    raw = reader.query(
        "SELECT substr(raw, 1, 100000) AS raw FROM frames WHERE seq = ?", (row["prompt_seq"],)
    )
    prompt = next((first_prompt(bytes(frame["raw"])) for frame in raw), "")
    return TurnSummary(**row, prompt=prompt[:200])


def _unanswered(reader: RecordingReader, end: int) -> list[OpenRequest]:
    found = reader.query(
        "SELECT e.request_seq, e.direction, e.method, e.rpc_id, f.t_ns,"
        " substr(f.raw, 1, 100000) AS raw"
        " FROM exchanges AS e JOIN frames AS f ON f.seq = e.request_seq"
        " WHERE e.response_seq IS NULL ORDER BY e.id LIMIT 100"
    )
    return [
        OpenRequest(
            seq=row["request_seq"],
            direction=row["direction"],
            method=row["method"],
            rpc_id=row["rpc_id"],
            waited_ns=end - row["t_ns"],
            preview=preview(bytes(row["raw"]), "request", row["method"])[:200],
        )
        for row in found
    ]
