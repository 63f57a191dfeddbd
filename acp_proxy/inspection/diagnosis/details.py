"""Reads what a summary says of the conversation itself: peers, sessions, turns, errors."""

from collections import Counter
from typing import Any

from acp_proxy.inspection.describe.methods import METHODS, describe_error
from acp_proxy.inspection.describe.values import part, word
from acp_proxy.inspection.diagnosis.capabilities import auth_methods, capabilities, required
from acp_proxy.inspection.diagnosis.codes import code_name
from acp_proxy.inspection.diagnosis.facts import (
    Capabilities,
    ErrorTally,
    OpenRequest,
    SessionSummary,
    Tally,
    TurnSummary,
)
from acp_proxy.inspection.diagnosis.lines import LARGEST, Line, halves, message_of, read_lines
from acp_proxy.inspection.diagnosis.questions import prompt_of
from acp_proxy.inspection.diagnosis.waits import awaited
from acp_proxy.inspection.preview import preview
from acp_proxy.inspection.safe_text import plain
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.store.reader import RecordingReader

MOST = 100
"""How many unanswered requests and questions are told one by one."""
_OPENING = {
    "session/new": "new", "session/load": "load", "session/resume": "resume",
    "session/fork": "fork",
}  # fmt: skip
_MOST_ERRORS = 10_000
_PROMPT = 100_000
_ROUTINE = {("fs/read_text_file", "resource not found")}

Row = dict[str, Any]


def read_capabilities(reader: RecordingReader) -> Capabilities:
    """What the peers said in the last initialization, answered ones first."""
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
    params = asked.part("params") if asked is not None else {}
    result = answered.part("result") if answered is not None else {}
    return Capabilities(
        [*map(plain, capabilities(params))],
        [*map(plain, capabilities(result))],
        [*map(plain, required(result))],
        [*map(plain, auth_methods(result))],
    )


def read_sessions(reader: RecordingReader, turns: list[TurnSummary]) -> list[SessionSummary]:
    """The sessions in the order of the first request about them."""
    marks = ", ".join("?" * len(_OPENING))
    opened: dict[str, list[tuple[int, int, str]]] = {}
    for row in reader.query(
        f"SELECT id, session, method, request_seq FROM exchanges WHERE method IN ({marks})"
        " AND session IS NOT NULL AND direction = 'to-agent' ORDER BY id",
        tuple(_OPENING),
    ):
        way = (row["request_seq"], row["id"], row["method"])
        opened.setdefault(row["session"], []).append(way)
    lines = halves(reader, (way[:2] for ways in opened.values() for way in ways))
    folders = {
        exchange: plain(word(line.part("params"), "cwd", "workingDirectory"))
        for (_, exchange), line in lines.items()
    }
    counts = Counter(turn.session for turn in turns)
    found = []
    for row in reader.query(
        "SELECT session, min(request_seq) AS seq FROM exchanges WHERE session IS NOT NULL"
        " GROUP BY session ORDER BY min(request_seq)"
    ):
        ways = opened.get(row["session"], [])
        named = [folders[exchange] for _, exchange, _ in ways if folders.get(exchange)]
        how = [_OPENING[method] for _, _, method in ways]
        found.append(
            SessionSummary(
                row["session"], named[-1] if named else None, how, row["seq"],
                counts[row["session"]],
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
    """The text of a ``session/prompt`` request."""
    return "" if raw is None else prompt_of(part(message_of(raw), "params"), None)


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


def read_errors(reader: RecordingReader, dialect: str | None) -> list[ErrorTally]:
    """The errors by method and code, the most frequent first; looks at ten thousand of them."""
    rows = {
        (row["response_seq"], row["id"]): row
        for row in reader.query(
            "SELECT id, direction, method, response_seq FROM exchanges WHERE outcome = 'error'"
            f" ORDER BY response_seq LIMIT {_MOST_ERRORS}"
        )
    }
    found: dict[tuple[str, str | None, int | None], list[Line]] = {}
    for key, line in halves(reader, rows).items():
        row, code = rows[key], _code(line)
        found.setdefault((row["direction"], row["method"], code), []).append(line)
    tallies = [_error(*key, lines, dialect) for key, lines in found.items()]
    return sorted(tallies, key=lambda tally: (-tally.count, tally.seq))


def _code(line: Line) -> int | None:
    code = line.part("error").get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _error(
    direction: str, method: str | None, code: int | None, lines: list[Line], dialect: str | None
) -> ErrorTally:
    name = code_name(code, dialect)
    try:
        text = plain(describe_error(lines[0].message.get("error")))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        text = ""
    unknown = name == "method not found" and method not in METHODS
    return ErrorTally(
        direction, method, code, name, text.removeprefix(f"{code} ")[:200], lines[0].seq,
        len(lines), unknown or (method or "", name) in _ROUTINE,
    )  # fmt: skip
