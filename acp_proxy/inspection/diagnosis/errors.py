"""The errors of a recording by method and code, and who is to blame for each.

A refusal (-32600 to -32602) of a request that breaks a rule of its dialect is its sender's problem.
An internal error (-32603) is the answerer's. What a fault has answered is the fault's. Any other
error is told without blame: that a login is needed, or that a file is missing, is nobody's mistake.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from acp_proxy.inspection.describe.methods import METHODS, describe_error
from acp_proxy.inspection.diagnosis.codes import code_name
from acp_proxy.inspection.diagnosis.facts import ErrorTally
from acp_proxy.inspection.diagnosis.legality import Rules
from acp_proxy.inspection.diagnosis.lines import Line, halves
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_MOST_ERRORS = 10_000
_REFUSED = (-32600, -32601, -32602)
_ROUTINE = {("fs/read_text_file", "resource not found")}

Row = dict[str, Any]


@frozen
class _Kind:
    """What errors have in common that are told as one."""

    direction: str
    method: str | None
    code: int | None
    charged: str | None
    why: str


def read_errors(
    reader: RecordingReader,
    dialect: str | None,
    read_rules: Callable[[], Rules],
    made: dict[int, str],
) -> list[ErrorTally]:
    """The errors by method, code and blame, the most frequent first; looks at ten thousand.

    Args:
        reader: the recording.
        dialect: by which codes have names.
        read_rules: reads what its peers may ask; called only if something was refused.
        made: the frames that a fault made up, with its name.
    """
    rows = {
        (row["response_seq"], row["id"]): row
        for row in reader.query(
            "SELECT id, direction, method, request_seq, response_seq FROM exchanges"
            f" WHERE outcome = 'error' ORDER BY response_seq LIMIT {_MOST_ERRORS}"
        )
    }
    lines = halves(reader, rows)
    codes = {key: _code(line) for key, line in lines.items()}
    refused = ((rows[key]["request_seq"], key[1]) for key in lines if codes[key] in _REFUSED)
    sent = halves(reader, refused)
    rules = read_rules() if sent else Rules(dialect, {})
    found: dict[_Kind, list[Line]] = {}
    for key, line in lines.items():
        row, code = rows[key], codes[key]
        asked = sent.get((row["request_seq"], row["id"]))
        charged, why = _blame(row, code, asked, rules, made.get(line.seq))
        kind = _Kind(row["direction"], row["method"], code, charged, why)
        found.setdefault(kind, []).append(line)
    tallies = [_tally(kind, same, dialect) for kind, same in found.items()]
    return sorted(tallies, key=lambda tally: (-tally.count, tally.seq))


def _blame(
    row: Row, code: int | None, sent: Line | None, rules: Rules, rule: str | None
) -> tuple[str | None, str]:
    """Who is to blame for an error, and why."""
    asker, answerer = ("client", "agent") if row["direction"] == "to-agent" else ("agent", "client")
    if rule is not None:
        return "fault", rule
    if sent is not None and (why := rules.fault_of(row["direction"], row["method"], sent.message)):
        return asker, why
    return (answerer, "") if code == -32603 else (None, "")


def _code(line: Line) -> int | None:
    code = line.part("error").get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _tally(kind: _Kind, lines: list[Line], dialect: str | None) -> ErrorTally:
    name = code_name(kind.code, dialect)
    try:
        text = plain(describe_error(lines[0].message.get("error")))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        text = ""
    unknown = name == "method not found" and kind.method not in METHODS
    return ErrorTally(
        kind.direction, kind.method, kind.code, name,
        text.removeprefix(f"{kind.code} ")[:200], lines[0].seq, len(lines),
        kind.charged != "fault" and (unknown or (kind.method or "", name) in _ROUTINE),
        kind.charged, kind.why,
    )  # fmt: skip


def error_text(error: ErrorTally) -> str:
    """An error's code, what the dialect calls it, and what it said."""
    code = "an error without a code" if error.code is None else f"error {error.code}"
    name = f" ({error.name})" if error.name and error.name not in error.message.lower() else ""
    said = f": {error.message[:100]}" if error.message else ""
    return f"{code}{name}{said}"
