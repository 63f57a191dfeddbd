"""What requests ask, shortly, and what a person answered."""

from collections.abc import Iterator
from typing import Any

from acp_proxy.inspection.describe.tools import tool_name
from acp_proxy.inspection.describe.values import Value, part, parts, word
from acp_proxy.inspection.diagnosis.facts import Question
from acp_proxy.inspection.diagnosis.lines import Line, halves
from acp_proxy.inspection.preview import prompt_text
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_QUESTIONS = ("session/request_permission", "elicitation/create")

Row = dict[str, Any]


def gist(line: Line) -> str:
    """What a request is about, in a word or two: a title, a file, a command."""
    params = line.part("params")
    if line.method == "session/prompt":
        return prompt_of(params)[:80]
    if line.method in _QUESTIONS:
        return _title(params)
    for name in ("path", "command", "terminalId", "modeId", "mode", "methodId", "method"):
        if found := word(params, name):
            return plain(found)[:80]
    return ""


def read_questions(reader: RecordingReader, end: int) -> Iterator[Question]:
    """What a person was asked, in its order."""
    marks = ", ".join("?" * len(_QUESTIONS))
    rows = list(
        reader.query(
            "SELECT id, method, session, request_seq, response_seq, latency_ns, outcome"
            f" FROM exchanges WHERE method IN ({marks}) AND direction = 'to-client' ORDER BY id",
            _QUESTIONS,
        )
    )
    for start in range(0, len(rows), 500):
        some = rows[start : start + 500]
        both = ("request_seq", "response_seq")
        lines = halves(reader, ((row[name], row["id"]) for row in some for name in both))
        for row in some:
            if asked := lines.get((row["request_seq"], row["id"])):
                params = asked.part("params")
                yield Question(
                    asked.seq, row["method"], row["session"], asked.turn, _title(params),
                    _answer(row, params, lines.get((row["response_seq"], row["id"]))),
                    end - asked.t_ns if row["latency_ns"] is None else row["latency_ns"],
                )  # fmt: skip


def prompt_of(params: Value, most: int | None = 200) -> str:
    """The text of a prompt, in either dialect; empty if there is none."""
    try:
        return plain(prompt_text(params))[:most]
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        return ""


def _title(params: Value) -> str:
    call = part(params, "toolCall") or part(part(params, "subject"), "toolCall")
    asked = word(params, "title", "message") or tool_name(call)
    operation = " ".join(filter(None, (word(params, "operation"), word(params, "resource"))))
    return plain(asked or operation)[:80]


def _answer(row: Row, params: Value, answered: Line | None) -> str | None:
    if row["response_seq"] is None:
        return None
    if row["outcome"] != "result" or answered is None:
        return str(row["outcome"])
    result = answered.part("result")
    if isinstance(granted := result.get("granted"), bool):
        return "granted" if granted else "denied"
    outcome = part(result, "outcome") or result
    chosen = word(outcome, "optionId")
    for option in parts(params, "options"):
        if chosen and word(option, "optionId") == chosen:
            return plain(word(option, "kind") or chosen)[:80]
    return plain(chosen or word(outcome, "outcome", "action") or "answered")[:80]
