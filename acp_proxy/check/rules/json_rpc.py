"""Rules about envelopes, ids and answers (JSON-RPC 2.0, sections 4 to 6)."""

from collections.abc import Iterator
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, dialect_name, frames_of, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.unpaired_messages import retyped_id
from acp_proxy.check.methods import EITHER_KIND, METHODS, NOTIFICATION, REQUEST, is_custom, kind_of
from acp_proxy.check.registry import ANY, end_rule, rule
from acp_proxy.protocol.capabilities import OFFERS
from acp_proxy.protocol.dialects import CANCEL_REQUEST, DRAFT, INITIALIZE, PERMISSION, PROMPT
from acp_proxy.protocol.jsonrpc import Direction, Kind

_FIELDS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_DEFINED = frozenset({-32700, -32600, -32601, -32602, -32603})
_CODES = {DRAFT: frozenset(range(-32009, -31999))}
_OFFICIAL_CODES = frozenset({-32000, -32002, -32800})
_BASELINE = {
    "v1": ("initialize", "session/new", PROMPT, PERMISSION),
    "v2": (
        "initialize", "session/new", "session/resume", "session/list", "session/close", PROMPT,
        PERMISSION,
    ),
    DRAFT: ("initialize", "session/new", PROMPT, PERMISSION),
}  # fmt: skip
"""The methods of each dialect that every peer must handle."""
_LISTED = {"session/set_mode": "modes", "session/set_config_option": "options",
           "session/set_model": "has_models"}  # fmt: skip
"""For each method that chooses among values, the attribute of `SessionRecord` that lists these
values."""


@rule("rpc.version", "odd object", alone=True)
def version_is_2(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages whose ``jsonrpc`` is missing or has another value."""
    value = message.value
    if not isinstance(value, dict) or value.get("jsonrpc") == "2.0":
        return
    what = f"is {shown(value['jsonrpc'])}" if "jsonrpc" in value else "is missing"
    yield Breach(f'"jsonrpc" {what}')


@rule("rpc.shape", "odd object", alone=True)
def is_a_message(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds objects that are neither a request, a notification nor a response."""
    value = message.value
    if not isinstance(value, dict):
        return
    if isinstance(value.get("method"), str):
        for name in ("result", "error"):
            if name in value:
                yield Breach(f'a message has a "{name}" beside its method')
    elif "method" in value:
        yield Breach(f'"method" is {shown(value["method"])}, which is not a string')
    elif value.keys().isdisjoint(("id", "result", "error")):
        yield Breach("an object has no method, id, result or error")


@rule("rpc.result-and-error", "odd object", alone=True)
def not_both(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers with a result and an error. If one of the two is null, this is a warning."""
    value = message.value
    if isinstance(value, dict) and "method" not in value and {"result", "error"} <= value.keys():
        is_null = value["result"] is None or value["error"] is None
        severity = Severity.WARNING if is_null else None
        name = shown(value.get("id"))
        yield Breach(f"the answer with id {name} has both a result and an error", severity=severity)


@rule("rpc.no-result-or-error", "odd object", alone=True)
def has_one(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers without a result and without an error."""
    value = message.value
    is_answer = isinstance(value, dict) and "id" in value and "method" not in value
    if is_answer and value.keys().isdisjoint(("result", "error")):
        yield Breach(f"the answer with id {shown(value['id'])} has neither a result nor an error")


@rule("rpc.id-type", "odd object", alone=True)
def id_is_string_or_integer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds ids that are neither a string nor an integer.

    In a request, a null id is only a warning. In some errors, a null id is allowed.
    """
    value = message.value
    if not isinstance(value, dict) or "id" not in value:
        return
    name = value["id"]
    if name is None:
        if isinstance(value.get("method"), str):
            yield Breach("the id of a request is null", severity=Severity.WARNING)
    elif isinstance(name, bool) or not isinstance(name, str | int):
        yield Breach(f"an id is {shown(name)}, which is neither a string nor an integer")


@rule("rpc.id-reused", requests=(ANY,))
def ids_are_fresh(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds requests that reuse an id. The severity is info if the first request was answered."""
    opened, token = message.transition.opened, message.parsed.rpc_id or "null"
    if opened is None or token == "null":
        return
    open_ = conversation.connection.state.open[message.direction].get(token, [])
    if len(open_) > 1:
        first = open_[0]
        yield Breach(f"the id {token} is that of {first.method}, which is still open",
                     (first.request_seq,))  # fmt: skip
    elif (answer := conversation.answered[message.direction].get(token)) is not None:
        text = f"the id {token} was used before, by a request that is answered"
        yield Breach(text, (answer,), severity=Severity.INFO)


@rule("rpc.response-unknown", answers=(ANY,))
def answers_a_request(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers to unknown requests. Answers that other rules explain are left out."""
    kind = _stray(message, conversation)
    if kind == "unknown" and not conversation.pairs.explains(message):
        yield Breach(f"no request has the id {_id(message)} of this answer")


@rule("rpc.response-twice", answers=(ANY,))
def answers_once(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds second answers to a request."""
    if _stray(message, conversation) == "twice":
        first = conversation.answered[message.direction.other].get(message.parsed.rpc_id or "null")
        related = frames_of(first)
        yield Breach(f"the request with id {_id(message)} was answered before", related)


@rule("rpc.response-id-retyped", answers=(ANY,))
def answers_with_its_id(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers with the id of an open request in the wrong type, such as "7" for 7."""
    if _stray(message, conversation) == "retyped":
        other = retyped_id(message.parsed.rpc_id or "")
        request = conversation.connection.oldest(message.direction.other, other)
        related = () if request is None else (request.request_seq,)
        text = f"the answer has the id {_id(message)}, and its request the id {other}"
        yield Breach(text, related)


@rule("rpc.notification-answered", answers=(ANY,))
def notifications_have_no_answer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers without an id. Errors about unreadable lines are allowed."""
    if _stray(message, conversation) != "null":
        return
    code = message.parsed.error_code
    if not message.is_error or code not in (-32700, -32600):
        yield Breach("an answer has no id, and so no request")


@rule("rpc.params-type", "odd object", alone=True)
def params_are_named(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds params that are not an object. Params that are null or missing are allowed."""
    value = message.value
    if isinstance(value, dict) and isinstance(value.get("method"), str):
        params = value.get("params")
        if params is not None and not isinstance(params, dict):
            text = f"the params of {value['method']} are {shown(params)}, not an object"
            yield Breach(text, place="/params")


@rule("rpc.error-shape", "odd object", alone=True)
def errors_have_code_and_message(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors without an integer code or a string message."""
    value = message.value
    if not isinstance(value, dict) or "method" in value or value.get("error") is None:
        return
    error = value["error"]
    if not isinstance(error, dict):
        yield Breach(f"an error is {shown(error)}, not an object")
        return
    code, text = error.get("code"), error.get("message")
    if isinstance(code, bool) or not isinstance(code, int):
        yield Breach(_wrong(error, "code", "an integer"))
    if not isinstance(text, str):
        yield Breach(_wrong(error, "message", "a string"))


@rule("rpc.error-code-reserved", answers=(ANY,), alone=True)
def codes_are_defined(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds reserved codes that the dialect does not define."""
    code = message.parsed.error_code if message.is_error else None
    if code is None or not -32768 <= code <= -32000:
        return
    if code not in _DEFINED and code not in _CODES.get(conversation.dialect or "", _OFFICIAL_CODES):
        name = dialect_name(conversation.dialect)
        yield Breach(f"error code {code} is reserved, and {name} does not define it")


@rule("rpc.envelope-field", "odd object", alone=True)
def envelope_has_its_members(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds members that JSON-RPC does not define."""
    value = message.value
    if isinstance(value, dict) and not value.keys() <= _FIELDS:
        others = sorted(name for name in value if name not in _FIELDS)
        if message.parsed.kind not in (Kind.INVALID, Kind.BLANK):
            named = ", ".join(others)[:200]
            yield Breach(f"the message has members beside those of JSON-RPC: {named}")


@rule("rpc.wrong-direction", requests=(ANY,), notifications=(ANY,), odd=True)
def method_is_the_senders(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds methods that only the other side may call."""
    method, direction = message.parsed.method or "", message.direction
    if kind_of(conversation.dialect, direction, method) is not None:
        return
    if conversation.dialect == DRAFT and method == "terminal/output":
        return  # the draft contradicts itself here; another rule covers the method
    if kind_of(conversation.dialect, direction.other, method) is not None:
        yield Breach(f"{method} is for the {message.sender} to handle, not to send")


@rule("rpc.unknown-method", requests=(ANY,), notifications=(ANY,), odd=True)
def method_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds unknown methods that do not begin with an underscore."""
    method, table = message.parsed.method or "", METHODS.get(conversation.dialect or "", {})
    if conversation.dialect is None or (message.direction, method) in table or is_custom(method):
        return
    schema = conversation.schema_of(message)
    if schema is not None and any(schema.knows(way, method) for way in Direction):
        return
    if not any((way, method) in METHODS[conversation.dialect] for way in Direction):
        elsewhere = [
            name for name, table in METHODS.items() for way in Direction if (way, method) in table
        ]
        # Another rule covers methods of the other version of the official protocol.
        if conversation.dialect != DRAFT and any(name != DRAFT for name in elsewhere):
            return
        where = f"; {dialect_name(elsewhere[0])} has it" if elsewhere else ""
        yield Breach(f"{dialect_name(conversation.dialect)} has no method {method[:80]}{where}")


@rule("rpc.request-without-id", notifications=(ANY,), odd=True, alone=True)
def requests_have_ids(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds requests without an id."""
    method = message.parsed.method or ""
    kind = kind_of(conversation.dialect, message.direction, method)
    if kind == REQUEST and method not in EITHER_KIND:
        yield Breach(f"{method} is a request, but has no id")


@rule("rpc.notification-with-id", requests=(ANY,), odd=True, alone=True)
def notifications_have_none(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds notifications with an id."""
    method = message.parsed.method or ""
    if kind_of(conversation.dialect, message.direction, method) == NOTIFICATION:
        yield Breach(f"{method} is a notification, but has an id")


@rule("rpc.advertised-missing", answers=(ANY,))
def offered_methods_exist(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds "method not found" errors for methods that the sender of the error has to support."""
    method = message.method or ""
    if not message.is_error or message.parsed.error_code != -32601 or conversation.dialect is None:
        return
    path = OFFERS.get((conversation.dialect, method))
    session = conversation.session(message.session)
    listed = _LISTED.get(method, "")
    if session is not None and listed and getattr(session, listed):
        text = f"the session has {listed.removeprefix('has_')} to choose from"
        yield Breach(f"{text}, but the agent does not know {method}", (session.seq,))
    elif path is not None and conversation.peer(message.sender).offers(*path):
        yield Breach(f"the {message.sender} offers {'.'.join(path)}, but does not know {method}")
    elif method in _BASELINE.get(conversation.dialect, ()):
        direction = message.direction.other
        if kind_of(conversation.dialect, direction, method) == REQUEST:
            yield Breach(f"every {message.sender} has {method}, but this one does not know it")


@rule("rpc.cancel-request-target", notifications=(CANCEL_REQUEST,))
def cancels_its_own(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds cancels of requests that are not open; the severity is info for answered requests."""
    target = message.parsed.target
    if target is None or message.transition.cancelled is not None:
        return
    if (answer := conversation.answered[message.direction].get(target)) is not None:
        text = f"the request with id {target[:80]} was answered before"
        yield Breach(text, (answer,), severity=Severity.INFO)
    elif not conversation.answered[message.direction].has_forgotten:
        yield Breach(f"the {message.sender} has sent no request with id {target[:80]}")


@rule("rpc.cancel-request-answer", answers=(ANY,))
def cancelled_with_its_code(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds cancelled requests that are answered with any error except "request cancelled"."""
    exchange = message.answered
    if message.is_error and exchange is not None and exchange.cancelled:
        code = message.parsed.error_code
        if code not in (-32800, -32601):
            text = f"{message.method} was cancelled, but is answered with error {code}"
            yield Breach(text, (exchange.request_seq,))


@end_rule("rpc.unanswered")
def all_are_answered(conversation: Conversation) -> Breaches:
    """Finds requests that the receiver did not answer, although it had the time."""
    for request, breach in unanswered(conversation):
        method = request.method or ""
        if method != PERMISSION and not method.startswith("_"):  # these have their own rules
            yield breach


def unanswered(conversation: Conversation) -> Iterator[tuple[CheckedMessage, Breach]]:
    """Yields each unanswered request of any method, with its breach.

    If the agent leaves by itself, it must have answered all requests. If the client leaves or stops
    the agent, an open request is a breach in two cases: its receiver was silent for too long, or
    the request is a prompt and a later turn of its session has ended.
    """
    if not conversation.is_over:
        return
    for request in conversation.open_at_leaving:
        method, by = request.method or "", request.receiver
        if method in INITIALIZE and conversation.memory.was_initialize_open:
            continue  # another rule reports that the client has gone on
        if conversation.left == AGENT:
            if by == AGENT:
                text = f"the agent ended before it answered {method}"
                yield request, Breach(text, by=by, seq=request.seq)
        elif request.seq in conversation.hung:
            yield request, Breach(f"{method} was never answered", by=by, seq=request.seq)
        elif method == PROMPT and conversation.is_overtaken(request.session, request.seq):
            text = f"{method} was never answered, but a later one was"
            yield request, Breach(text, by=by, seq=request.seq)


def _stray(message: CheckedMessage, conversation: Conversation) -> str | None:
    """Returns why an answer has no request, in a word; None for an answer to a request.

    The word is "unknown", "twice", "retyped" or "null".
    """
    if message.parsed.kind not in (Kind.RESPONSE, Kind.ERROR) or message.answered is not None:
        return None
    token = message.parsed.rpc_id
    if token is None or token == "null":
        return "null"
    direction = message.direction.other
    other = retyped_id(token)
    if other is not None and conversation.connection.oldest(direction, other) is not None:
        return "retyped"
    return "twice" if token in conversation.answered[direction] else "unknown"


def _wrong(error: dict[str, Any], name: str, kind: str) -> str:
    if name not in error:
        return f"an error has no {name}"
    return f"the {name} of an error is {shown(error[name])}, not {kind}"


def _id(message: CheckedMessage) -> str:
    return (message.parsed.rpc_id or "null")[:80]
