"""Groups the errors of a recording by method and code, and finds who is to blame for each.

Who is to blame depends on the error:

- The request breaks a rule of its dialect and is refused (-32600 to -32602): its sender.
- The error is internal (-32603), or refuses a login that the answering peer offers: this peer.
- A fault sent the error: the fault.
- Any other error: nobody.

`required_params.json` lists the methods that each peer may call in each dialect, with their
required params. No other rules of the protocol are checked here. A method with a leading ``_`` is
never reported.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_proxy.base.limits import REMEMBERED_CALLS, SENTENCE
from acp_proxy.base.wording import plain, without_middle
from acp_proxy.explain.describe.error_texts import code_name, describe_error
from acp_proxy.explain.describe.method_texts import METHODS, mcp_error
from acp_proxy.explain.describe.peer_texts import auth_method_ids
from acp_proxy.explain.describe.phrases import Value, number, part, word
from acp_proxy.explain.show.chosen_messages import StoredMessage, messages_of_exchanges
from acp_proxy.explain.show.summary_values import ErrorTally
from acp_proxy.protocol.capabilities import CAPABILITIES, OFFERS
from acp_proxy.protocol.dialects import LOGIN, OPENING, PERMISSION, V1
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import SENDERS, Direction
from acp_proxy.recording.recording import needs
from acp_proxy.store.queries.exchanges import ExchangeRow, exchanges
from acp_proxy.store.reader import RecordingReader

Params = dict[str, str]
"""The required params of a method, each with its JSON type. ``any`` means several types."""
_FILE = Path(__file__).with_name("required_params.json")
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "integer": ("a number", (int, float, str)),  # peers that write "1" are understood
    "array": ("a list", (list,)),
    "string": ("a string", (str,)),
    "object": ("an object", (dict,)),
    "any": ("a value", (object,)),
}
"""The words for each JSON type, and the Python types of values that count as this type."""


@cache
def _required() -> dict[str, dict[str, Params]]:
    """Returns the required params of requests: by dialect, direction and method."""
    required: dict[str, dict[str, Params]] = json.loads(_FILE.read_bytes())
    return required


_NEEDED = {**OFFERS, (V1, "elicitation/create"): ("elicitation",)}
"""For each method, the capability that the receiver must announce before the method is called."""


@frozen
class Rules:
    """The rules for requests. They depend on the dialect and on what the peers announced."""

    dialect: str | None
    announced: Mapping[str, dict[str, Any]]
    """The announcement of the receiver, by the direction of requests: the params or the result of
    ``initialize``; empty before it was sent."""

    def violation(self, direction: str, method: str | None, message: dict[str, Any]) -> str:
        """Returns the mistake in a request, in words that follow ``sent METHOD``.

        The text is empty without a mistake.

        Args:
            direction: the direction of the request.
            method: the method of the request.
            message: the request.
        """
        known = _required().get(self.dialect or "")
        if known is None or method is None or method.startswith("_"):
            return ""
        required = known.get(f"{direction} {method}")
        if required is not None:
            return self._lacking(required, message) or self._unoffered(direction, method)
        if f"{(other := Direction(direction).other)} {method}" in known:
            return f"which only the {SENDERS[other]} may send in {self.dialect}"
        if any(f"{way} {method}" in rules for rules in _required().values() for way in SENDERS):
            return f"which {self.dialect} does not define"
        return "" if method in METHODS else "which no version of ACP defines"

    def offers(self, direction: str, method: str | None, message: dict[str, Any]) -> bool:
        """Whether the receiver of a request has announced that it supports the method.

        Args:
            direction: the direction of the request.
            method: the method of the request.
            message: the request. It is read only if it is a login.
        """
        half = self.announced.get(direction) or {}
        if method in LOGIN:
            return word(part(message, "params"), "methodId", "method") in auth_method_ids(half)
        is_tied = (self.dialect, method) in _NEEDED
        return is_tied and bool(half) and not self._unoffered(direction, method or "")

    def _lacking(self, required: Params, message: dict[str, Any]) -> str:
        params = message.get("params")
        if not isinstance(params, dict):
            return "without params" if required else ""
        for name, of in required.items():
            kind, types = _TYPES[of]
            if name not in params:
                return f'without "{name}", which {self.dialect} requires'
            if not isinstance(params[name], types):
                return f'with a "{name}" that is not {kind}'
        return ""

    def _unoffered(self, direction: str, method: str) -> str:
        path = _NEEDED.get((self.dialect or "", method))
        half = self.announced.get(direction)
        if path is None or not half:
            return ""
        announced = next((half[name] for name in CAPABILITIES if name in half), None)
        if member(announced, *path) in (None, False):
            receiver = SENDERS[Direction(direction).other]
            return f"which the {receiver} does not offer ({'.'.join(path)})"
        return ""


_REFUSED = (-32600, -32601, -32602)
_read_requests = needs("parts", unknown={})(messages_of_exchanges)
"""Reads refused requests. The result is empty if an imported recording may lack parts of messages.
"""
_MISSING = re.compile(
    r"not (?:found|a directory)|no such|does ?n.t exist|does not exist|ENOENT|invalid directory",
    re.IGNORECASE,
)
"""Words in an error that report that a path does not exist."""
_ROUTINE = {("fs/read_text_file", "resource not found")}


_Group = tuple[str, str | None, int | None, str | None, str]
"""The values that are equal for the errors of a group: direction, method, code, who is to blame,
and why."""


def read_errors(
    reader: RecordingReader, read_rules: Callable[[], Rules], injected: dict[int, str]
) -> list[ErrorTally]:
    """Returns the errors, grouped by method, code and blame, the most frequent first.

    At most 10,000 errors are read.

    Args:
        reader: the recording.
        read_rules: a function that reads the rules of the connection. It is called only for a
            refused request.
        injected: the number of each frame that a fault made up, with the name of the fault's rule.
    """
    failed = exchanges(reader, outcome="error", order="response_seq", most=REMEMBERED_CALLS)
    rows = {(row.response_seq, row.id): row for row in failed}
    answers = messages_of_exchanges(reader, rows)
    codes = {key: number(_error(answer), "code") for key, answer in answers.items()}
    refused = ((rows[key].request_seq, key[1]) for key in answers
               if codes[key] in _REFUSED or rows[key].method in OPENING)  # fmt: skip
    requests = _read_requests(reader, refused)
    dialect = reader.recording.dialect
    rules = read_rules() if requests else Rules(dialect, {})
    groups: dict[_Group, list[tuple[StoredMessage, int]]] = {}
    for key, answer in answers.items():
        row, code = rows[key], codes[key]
        request = requests.get((row.request_seq, row.id))
        blame = _blame(row, answer, request, rules, injected.get(answer.seq))
        group = row.direction, row.method, code, *blame
        groups.setdefault(group, []).append((answer, row.request_seq))
    tallies = [_tally(group, same, dialect) for group, same in groups.items()]
    return sorted(tallies, key=lambda tally: (-tally.count, tally.seq))


def _error(answer: StoredMessage) -> Value:
    """Returns the error in an answer; empty without an error.

    The error of an MCP server is in the result of the answer.
    """
    return answer.part("error") or mcp_error(answer.part("result"))


def _blame(
    row: ExchangeRow,
    answer: StoredMessage,
    request: StoredMessage | None,
    rules: Rules,
    rule: str | None,
) -> tuple[str | None, str]:
    sender, answerer = ("client", "agent") if row.direction == "to-agent" else ("agent", "client")
    if rule is not None:
        return "fault", rule
    if request is not None and (why := rules.violation(row.direction, row.method, request.message)):
        return sender, why
    if request is not None and row.method in OPENING:
        cwd, error = word(request.part("params"), "cwd"), json.dumps(_error(answer))
        if cwd and cwd in error and _MISSING.search(error):
            return sender, f"whose cwd the {answerer} does not find"
    is_internal = number(_error(answer), "code") == -32603
    is_answerers = is_internal or row.method == PERMISSION  # a valid request has an answer
    if row.method in LOGIN and request is not None:
        is_answerers = is_answerers or rules.offers(row.direction, row.method, request.message)
    return (answerer, "") if is_answerers else (None, "")


def _tally(
    group: _Group, answers: list[tuple[StoredMessage, int]], dialect: str | None
) -> ErrorTally:
    direction, method, code, charged, why = group
    first, request_seq = answers[0]
    is_own = "error" in first.message  # `code_name` has no names for codes of MCP
    name = code_name(code, dialect) if is_own else ""
    try:
        text = plain(describe_error(_error(first) or first.message.get("error")))
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        text = ""
    unknown = name == "method not found" and method not in METHODS
    is_routine = charged != "fault" and (unknown or (method or "", name) in _ROUTINE)
    return ErrorTally(
        direction, method, code, name,
        without_middle(text.removeprefix(f"{code} "), SENTENCE), first.seq, len(answers),
        is_routine, charged, why, request_seq,
    )  # fmt: skip


def error_text(error: ErrorTally) -> str:
    """Returns a text with an error's code, the name of the code, and the message."""
    code = "an error without a code" if error.code is None else f"error {error.code}"
    name = f" ({error.name})" if error.name and error.name not in error.message.lower() else ""
    detail = f": {error.message}" if error.message else ""
    return f"{code}{name}{detail}"
