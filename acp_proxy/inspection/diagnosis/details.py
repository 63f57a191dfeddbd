"""Reads what a summary says of the conversation itself: peers, sessions, turns, errors."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from acp_proxy.inspection.describe.values import part, word
from acp_proxy.inspection.diagnosis.capabilities import auth_methods, capabilities, required
from acp_proxy.inspection.diagnosis.facts import (
    Capabilities,
    NotAcp,
    OpenRequest,
    SessionSummary,
    Tally,
    TurnSummary,
)
from acp_proxy.inspection.diagnosis.lines import (
    HEAD,
    LARGEST,
    Line,
    halves,
    message_of,
    read_lines,
)
from acp_proxy.inspection.diagnosis.questions import prompt_of
from acp_proxy.inspection.diagnosis.waits import awaited
from acp_proxy.inspection.preview import preview
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

MOST = 100
"""How many unanswered requests and questions are told one by one."""
_OPENING = {
    "session/new": "new", "session/load": "load", "session/resume": "resume",
    "session/fork": "fork",
}  # fmt: skip
_PROMPT = 100_000

Row = dict[str, Any]


def read_halves(reader: RecordingReader) -> dict[str, Row]:
    """What the peers said in the last initialization, answered ones first.

    Returns:
        The agent's half under ``to-agent`` and the client's under ``to-client``, as those who
        receive what goes there.
    """
    marks = ", ".join("?" * len(INITIALIZE))
    row: dict[str, int | None] = next(
        reader.query(
            f"SELECT id, request_seq, response_seq FROM exchanges WHERE method IN ({marks})"
            " AND direction = 'to-agent' ORDER BY response_seq IS NULL, id DESC LIMIT 1",
            INITIALIZE,
        ),
        {"id": None, "request_seq": None, "response_seq": None},
    )
    keys = [(row[name] or 0, row["id"] or 0) for name in ("request_seq", "response_seq")]
    found = halves(reader, keys, LARGEST)
    asked, answered = (found.get(key) for key in keys)
    return {
        "to-client": asked.part("params") if asked is not None else {},
        "to-agent": answered.part("result") if answered is not None else {},
    }


def read_capabilities(peers: dict[str, Row]) -> Capabilities:
    """What the peers can do, from their halves of the initialization."""
    params, result = peers["to-client"], peers["to-agent"]
    return Capabilities(
        [*map(plain, capabilities(params))],
        [*map(plain, capabilities(result))],
        [*map(plain, required(result))],
        [*map(plain, auth_methods(result))],
    )


def read_sessions(reader: RecordingReader, turns: list[TurnSummary]) -> list[SessionSummary]:
    """The sessions in the order of the first request about them."""
    marks = ", ".join("?" * len(_OPENING))
    opened: dict[str, list[Row]] = {}
    for row in reader.query(
        "SELECT id, session, method, request_seq, outcome FROM exchanges"
        f" WHERE method IN ({marks}) AND direction = 'to-agent' AND session IS NOT NULL"
        " ORDER BY id",
        tuple(_OPENING),
    ):
        opened.setdefault(row["session"], []).append(row)
    keys = ((way["request_seq"], way["id"]) for ways in opened.values() for way in ways)
    folders = {
        exchange: plain(word(line.part("params"), "cwd", "workingDirectory"))
        for (_, exchange), line in halves(reader, keys).items()
    }
    counts = Counter(turn.session for turn in turns)
    found = []
    for row in reader.query(
        "SELECT session, min(request_seq) AS seq FROM exchanges WHERE session IS NOT NULL"
        " GROUP BY session ORDER BY min(request_seq)"
    ):
        ways = opened.get(row["session"], [])
        named = [folders[way["id"]] for way in ways if folders.get(way["id"])]
        how = [_OPENING[way["method"]] for way in ways if way["outcome"] == "result"]
        failed = [_OPENING[way["method"]] for way in ways if way["outcome"] != "result"]
        found.append(
            SessionSummary(
                row["session"], named[-1] if named else None, how, row["seq"],
                counts[row["session"]], failed,
            )
        )  # fmt: skip
    return found


def _is_prompt(line: Line) -> bool:
    """Whether a line is the request that begins a turn."""
    return line.kind == "request" and line.method == "session/prompt"


def read_turns(reader: RecordingReader) -> list[TurnSummary]:
    """All turns, each with the beginning of its prompt."""
    rows = list(
        reader.query(
            "SELECT id, session, prompt_seq, end_seq, stop_reason, duration_ns, updates,"
            " tool_calls, (SELECT outcome FROM exchanges AS e WHERE request_seq = prompt_seq"
            " AND method = 'session/prompt' AND e.session IS turns.session LIMIT 1) AS outcome"
            " FROM turns ORDER BY id"
        )
    )
    lines = read_lines(reader, (row["prompt_seq"] for row in rows), _PROMPT)
    prompts = {line.turn: prompt_of(line.part("params")) for line in lines if _is_prompt(line)}
    return [TurnSummary(**row, prompt=prompts.get(row["id"], "")) for row in rows]


def first_prompt(raw: bytes | None) -> str:
    """The text of a ``session/prompt`` request, or of the first one in a batch."""
    if raw is None:
        return ""
    members = read(raw).members if raw.lstrip().startswith(b"[") else ()
    prompts = [member.raw for member in members if member.method == "session/prompt"]
    return prompt_of(part(message_of(next(filter(None, prompts), raw)), "params"), None)


def read_unanswered(reader: RecordingReader, end: int) -> list[OpenRequest]:
    """The first requests that have no answer."""
    rows = list(
        reader.query(
            "SELECT id, request_seq AS seq, direction, method, rpc_id, session FROM exchanges"
            f" WHERE response_seq IS NULL ORDER BY id LIMIT {MOST}"
        )
    )
    lines = halves(reader, ((row["seq"], row["id"]) for row in rows))
    return [
        OpenRequest(
            row["seq"],
            row["direction"],
            row["method"],
            row["rpc_id"],
            waited_ns=end - line.t_ns,
            preview=preview(line.raw, line.kind, row["method"])[:200],
            session=row["session"],
            awaited=awaited(row["direction"], row["method"]).value,
        )
        for row in rows
        if (line := lines.get((row["seq"], row["id"]))) is not None
    ]


def read_tally(reader: RecordingReader, method: str) -> Tally:
    """How many requests of a method to the client were answered, and how."""
    counts: Counter[str] = Counter()
    for row in reader.query(
        "SELECT outcome, response_seq IS NULL AS is_open, count(*) AS n FROM exchanges"
        " WHERE method = ? AND direction = 'to-client' GROUP BY outcome, response_seq IS NULL",
        (method,),
    ):
        word_ = "open" if row["is_open"] else "done" if row["outcome"] == "result" else "failed"
        counts[word_] += row["n"]
    return Tally(counts["done"], counts["failed"], counts["open"])


def read_not_acp(reader: RecordingReader, made: Collection[int]) -> list[NotAcp]:
    """The lines that are no messages, by direction.

    Args:
        reader: the recording.
        made: frames that are not looked at, since a fault made them up.
    """
    known = reader.first_of_kind("invalid", made)
    reasons = {
        row["seq"]: row["parse_error"]
        for seq, _ in known.values()
        for row in reader.query("SELECT seq, parse_error FROM frames WHERE seq = ?", (seq,))
    }
    return [
        NotAcp(
            line.stream,
            known[line.stream][1],
            line.seq,
            plain(line.raw[:400].decode(errors="replace")),
            plain(reasons.get(line.seq) or ""),
        )
        for line in read_lines(reader, (seq for seq, _ in known.values()), HEAD)
    ]
