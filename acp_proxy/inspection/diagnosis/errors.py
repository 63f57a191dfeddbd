"""Groups the errors of a recording by method and code, and finds who is to blame for each.

A refusal (-32600 to -32602) of a request that breaks a rule of its dialect is its sender's problem.
An internal error (-32603) is the answerer's. What a fault has answered is the fault's. Any other
error is listed without blame: a missing login or a missing file is a mistake of neither peer.
"""

from collections.abc import Callable

from attrs import frozen

from acp_proxy.inspection.describe.errors import code_name, describe_error
from acp_proxy.inspection.describe.methods import METHODS
from acp_proxy.inspection.diagnosis.legality import Rules
from acp_proxy.inspection.diagnosis.messages import StoredMessage, messages_of_exchanges
from acp_proxy.inspection.diagnosis.values import ErrorTally
from acp_proxy.safe_text import plain
from acp_proxy.store.exchange_queries import ExchangeRow, exchanges
from acp_proxy.store.reader import RecordingReader

_MOST_ERRORS = 10_000
_REFUSED = (-32600, -32601, -32602)
_ROUTINE = {("fs/read_text_file", "resource not found")}


@frozen
class _ErrorGroup:
    """What errors have in common that make up one tally."""

    direction: str
    method: str | None
    code: int | None
    charged: str | None
    why: str


def read_errors(
    reader: RecordingReader,
    dialect: str | None,
    read_rules: Callable[[], Rules],
    injected: dict[int, str],
) -> list[ErrorTally]:
    """Returns errors by method, code and blame, the most frequent first; reads ten thousand.

    Args:
        reader: the recording.
        dialect: by which codes have names.
        read_rules: reads what its peers may request; called only if something was refused.
        injected: the frames that a fault put in, with its rule.
    """
    failed = exchanges(reader, outcome="error", order="response_seq", most=_MOST_ERRORS)
    rows = {(row.response_seq, row.id): row for row in failed}
    answers = messages_of_exchanges(reader, rows)
    codes = {key: _code(answer) for key, answer in answers.items()}
    refused = ((rows[key].request_seq, key[1]) for key in answers if codes[key] in _REFUSED)
    requests = messages_of_exchanges(reader, refused)
    rules = read_rules() if requests else Rules(dialect, {})
    groups: dict[_ErrorGroup, list[StoredMessage]] = {}
    for key, answer in answers.items():
        row, code = rows[key], codes[key]
        request = requests.get((row.request_seq, row.id))
        charged, why = _blame(row, code, request, rules, injected.get(answer.seq))
        group = _ErrorGroup(row.direction, row.method, code, charged, why)
        groups.setdefault(group, []).append(answer)
    tallies = [_tally(group, same, dialect) for group, same in groups.items()]
    return sorted(tallies, key=lambda tally: (-tally.count, tally.seq))


def _blame(
    row: ExchangeRow,
    code: int | None,
    request: StoredMessage | None,
    rules: Rules,
    rule: str | None,
) -> tuple[str | None, str]:
    """Who is to blame for an error, and why."""
    sender, answerer = ("client", "agent") if row.direction == "to-agent" else ("agent", "client")
    if rule is not None:
        return "fault", rule
    if request is not None and (why := rules.violation(row.direction, row.method, request.message)):
        return sender, why
    return (answerer, "") if code == -32603 else (None, "")


def _code(answer: StoredMessage) -> int | None:
    code = answer.part("error").get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _tally(group: _ErrorGroup, answers: list[StoredMessage], dialect: str | None) -> ErrorTally:
    name = code_name(group.code, dialect)
    try:
        text = plain(describe_error(answers[0].message.get("error")))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        text = ""
    unknown = name == "method not found" and group.method not in METHODS
    is_routine = unknown or (group.method or "", name) in _ROUTINE
    return ErrorTally(
        group.direction, group.method, group.code, name,
        text.removeprefix(f"{group.code} ")[:200], answers[0].seq, len(answers),
        group.charged != "fault" and is_routine, group.charged, group.why,
    )  # fmt: skip


def error_text(error: ErrorTally) -> str:
    """Returns an error's code, what the dialect calls it, and its message."""
    code = "an error without a code" if error.code is None else f"error {error.code}"
    name = f" ({error.name})" if error.name and error.name not in error.message.lower() else ""
    said = f": {error.message[:100]}" if error.message else ""
    return f"{code}{name}{said}"
