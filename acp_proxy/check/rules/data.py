"""Rules about metadata, extensions, elicitation, and the paths that no other module checks."""

import re
from collections.abc import Iterator
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, is_relative, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.methods import METHODS
from acp_proxy.check.registry import ANY, end_rule, has_metadata, rule
from acp_proxy.check.rules.json_rpc import unanswered
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import member, pointer
from acp_proxy.protocol.jsonrpc import Direction, Kind
from acp_proxy.redaction.markers import MARKER

_META = "_meta"
_FREE = frozenset(
    {"rawInput", "rawOutput", "input", "requestedSchema", "env", "headers", "mcpParams"}
)
"""Members that may contain any value: the protocol defines no type for them."""
_MOST = 1_000
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?P<more>-.*)?"
)
_NOT_FOUND = -32601
_UNKNOWN_METHOD = re.compile(
    r"(unknown|unsupported|unrecogni[sz]ed|no such) method"
    r"|method\W*( \S+)? *(is |was )?(not (found|known|supported|implemented)|unknown|unsupported)",
    re.IGNORECASE,
)
_PATHS: dict[str, tuple[tuple[str, ...], ...]] = {
    "session/list": (("params", "cwd"),),
    PERMISSION: (("params", "subject", "cwd"),),
    "session/new": (("params", "mcpServers", "*", "transport", "cwd"),),
    "session/load": (("params", "mcpServers", "*", "transport", "cwd"),),
}
"""Where requests contain paths that no other rule checks."""
_RESULT_PATHS: dict[str, tuple[tuple[str, ...], ...]] = {
    "session/list": (
        ("result", "sessions", "*", "cwd"),
        ("result", "sessions", "*", "additionalDirectories", "*"),
    ),
    "session/load": (("result", "workingDirectory"),),
}
_DIFFS = ("path", "oldPath")
_UPDATE_PATHS: dict[str, tuple[tuple[str, ...], ...]] = {
    "terminal_update": (("params", "update", "cwd"),),
    "tool_call_update": (
        *(("params", "update", "content", "*", "changes", "*", name) for name in _DIFFS),
        ("params", "data", "output", "path"),
    ),
    "tool_call": (("params", "data", "output", "path"),),
    "tool_call_content_chunk": tuple(
        ("params", "update", "content", "changes", "*", name) for name in _DIFFS
    ),
}
_SECRET = re.compile(
    r"(^| )(password|passwd|passphrase|passcode|secret|(client|shared) secret"
    r"|(api|private|secret|access|ssh) key|apikey"
    r"|(access|refresh|auth|authentication|authorization|api|bearer|oauth|bot|personal) token"
    r"|recovery code|(credit )?card number|cvv|cvc)"
    r"( (for|of|to|again)( .*)?)?$|^(your )?token$"
)
_NO_SECRET = re.compile(r"^(where|how|which|what|why|should|do|does|is|path|file|name)\b| no ")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@rule("meta.type", "message", when=has_metadata, alone=True)
def metadata_is_an_object(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds metadata that is not an object; null is accepted."""
    for path, value in _metadata(message):
        if value is not None and not isinstance(value, dict):
            yield Breach(f"_meta is {shown(value)}, not an object", place=pointer(path))


@rule("meta.trace", "message", when=has_metadata, alone=True)
def trace_is_w3c(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds trace contexts that are not in the form of the W3C."""
    if not (_mentions(message, b'"trace') or _mentions(message, b'"baggage"')):
        return
    for path, value in _metadata(message):
        for name in ("traceparent", "tracestate", "baggage"):
            given = value.get(name) if isinstance(value, dict) else None
            if given is None or (isinstance(given, str) and MARKER.search(given)):
                continue
            if not isinstance(given, str):
                text = f"{name} is {shown(given)}, not a string"
                yield Breach(text, place=pointer((*path, name)))
            elif name == "traceparent" and not _is_traceparent(given):
                text = f"the traceparent {shown(given)} does not have the form of the W3C"
                yield Breach(text, place=pointer((*path, name)))


@end_rule("ext.unanswered")
def custom_requests_are_answered(conversation: Conversation) -> Breaches:
    """Finds custom requests that the receiver did not answer, although it had the time."""
    for request, breach in unanswered(conversation):
        if (request.method or "").startswith("_"):
            yield breach


@rule("ext.unanswered", answers=(ANY,))
def unknown_is_not_found(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors which say that a custom method is unknown, but have the wrong code."""
    code = message.parsed.error_code
    if not message.is_error or not _is_custom(message) or code in (None, _NOT_FOUND):
        return
    text = message.error.get("message")
    if isinstance(text, str) and _UNKNOWN_METHOD.search(text[:500]):
        related = () if message.answered is None else (message.answered.request_seq,)
        text = f"{_method(message)} is not known; the code for that is {_NOT_FOUND}, not {code}"
        yield Breach(text, related, severity=Severity.WARNING)


@rule("ext.not-advertised", requests=(ANY,))
def extensions_are_announced(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports the first custom request of each namespace that the receiver has not announced."""
    peer = conversation.peer(message.receiver)
    if not _is_custom(message) or not peer.is_known:
        return
    space = re.split(r"[/.:]", (message.method or "")[1:], maxsplit=1)[0].lower()
    reported = conversation.memory.custom_requests
    key = f"{message.sender} {space}"
    if key in reported or len(reported) >= _MOST or _announces(peer.announced, space):
        return
    reported.add(key)
    related = frames_of(peer)
    text = (
        f"the {message.receiver} has announced nothing for {_method(message)} in the _meta of its"
    )
    yield Breach(f"{text} capabilities", related)


@rule("ext.namespace", requests=(ANY,), notifications=(ANY,), alone=True)
def custom_names_have_a_namespace(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports custom methods without a namespace."""
    if _is_custom(message) and "/" not in (message.method or ""):
        yield Breach(f"{_method(message)} has no namespace, such as example in _example/name")


@rule("path.absolute", requests=tuple(_PATHS), results=tuple(_RESULT_PATHS),
      updates=tuple(_UPDATE_PATHS), alone=True)  # fmt: skip
def paths_are_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative paths in messages whose paths no other rule checks."""
    if message.update_kind:
        patterns = _UPDATE_PATHS.get(message.update_kind, ())
    else:
        patterns = (_RESULT_PATHS if message.is_result else _PATHS).get(message.method or "", ())
    for pattern in patterns:
        for path, value in _at(message.value, pattern, ()):
            if is_relative(value):
                name = next(part for part in reversed(pattern) if part != "*")
                yield Breach(f"the {name} {shown(value)} is not absolute", place=pointer(path))


@rule("elicit.complete-known", requests=("elicitation/create",))
def remember_elicitations(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the ids of elicitations. Only elicitations with a URL have ids."""
    if isinstance(name := message.params.get("elicitationId"), str):
        conversation.memory.elicitations.add(name, None)


@rule("elicit.complete-known", answers=(ANY,))
def remember_demanded_elicitations(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the ids of elicitations that an error of the agent requires."""
    data = message.error.get("data") if message.is_error and message.sender == AGENT else None
    every = member(data, "elicitations")
    for entry in items(every):
        if isinstance(name := member(entry, "elicitationId"), str):
            conversation.memory.elicitations.add(name, None)


@rule("elicit.complete-known", notifications=("elicitation/complete",))
def completes_an_open_one(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds completions of elicitations that are unknown or already completed."""
    name = message.params.get("elicitationId")
    if not isinstance(name, str) or message.sender != AGENT or not conversation.client.is_known:
        return
    known = conversation.memory.elicitations
    completed = known.get(name)
    if completed is not None:
        yield Breach(f"the elicitation {shown(name)} is completed already", (completed,),
                     place="/params/elicitationId")  # fmt: skip
    elif known.lacks(name):
        yield Breach(f"the elicitation {shown(name)} was not begun",
                     place="/params/elicitationId")  # fmt: skip
    else:
        known.add(name, message.seq)


@rule("elicit.secret-form", requests=("elicitation/create",), alone=True)
def forms_ask_for_no_secrets(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds forms with a field for a secret, such as a password or a key."""
    properties = member(message.params.get("requestedSchema"), "properties")
    if message.params.get("mode") != "form" or not isinstance(properties, dict):
        return
    for name, form in [*properties.items()][:_MOST]:
        if member(form, "type") != "string" or member(form, "enum") or member(form, "oneOf"):
            continue
        title = member(form, "title")
        label = title if isinstance(title, str) else name
        if _is_secret(name) or _is_secret(label):
            place = pointer(("params", "requestedSchema", "properties", name))
            yield Breach(f"the form asks for {shown(label)}", place=place)


def _mentions(message: CheckedMessage, word: bytes) -> bool:
    """Whether the line contains a word."""
    raw = message.parsed.raw
    return raw is not None and word in raw


def _metadata(message: CheckedMessage) -> list[tuple[tuple[str, ...], Any]]:
    """Returns the values of ``_meta`` at places that the protocol defines, each with its path."""
    if message.metadata is None:
        message.metadata = [*_search_metadata(message)]
    return message.metadata


def _search_metadata(message: CheckedMessage) -> Iterator[tuple[tuple[str, ...], Any]]:
    value = message.value
    if not isinstance(value, dict):
        return
    # The params and results of these methods may have any type.
    is_free = (message.method or "").startswith(("_", "mcp/", "proxy/"))
    if is_free or message.parsed.kind not in (Kind.REQUEST, Kind.NOTIFICATION, Kind.RESPONSE):
        return
    root = "result" if message.is_result else "params"
    waiting: list[tuple[tuple[str, ...], Any]] = [((root,), value.get(root))]
    while waiting:
        path, inner = waiting.pop()
        if isinstance(inner, dict):
            for name, inside in inner.items():
                if name == _META:
                    yield (*path, name), inside
                elif name not in _FREE and isinstance(inside, dict | list):
                    waiting.append(((*path, name), inside))
        else:
            waiting += [
                ((*path, str(at)), inside)
                for at, inside in enumerate(items(inner, None))
                if isinstance(inside, dict | list)
            ]


def _is_traceparent(text: str) -> bool:
    match = _TRACEPARENT.fullmatch(text)
    return match is not None and not (text.startswith("00") and match["more"])


def _is_custom(message: CheckedMessage) -> bool:
    """Whether a message is a custom request or notification, or the answer to one."""
    method = message.method or ""
    return method.startswith("_") and not any(
        (way, method) in table for table in METHODS.values() for way in Direction
    )


def _method(message: CheckedMessage) -> str:
    return (message.method or "")[:80]


def _announces(announced: Any, space: str) -> bool:
    """Whether the metadata of a handshake contains a namespace, in a key or in a value."""
    waiting: list[tuple[Any, bool]] = [(announced, False)]
    while waiting:
        value, is_meta = waiting.pop()
        if isinstance(value, dict):
            for name, inside in value.items():
                if is_meta and space in name.lower():
                    return True
                waiting.append((inside, is_meta or name == _META))
        elif isinstance(value, list):
            waiting += [(inside, is_meta) for inside in value]
        elif is_meta and isinstance(value, str) and space in value.lower():
            return True
    return False


def _at(
    value: Any, pattern: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the paths and values that match a pattern. A star matches any list item."""
    if not pattern:
        yield path, value
    elif pattern[0] == "*":
        for at, inside in enumerate(items(value, 10_000)):
            yield from _at(inside, pattern[1:], (*path, str(at)))
    elif isinstance(value, dict) and pattern[0] in value:
        yield from _at(value[pattern[0]], pattern[1:], (*path, pattern[0]))


def _is_secret(name: str) -> bool:
    """Whether the name or title of a field asks for a secret."""
    words = " ".join(_WORDS.findall(re.sub(r"\(.*?\)", " ", name[:200]))).lower()
    return _SECRET.search(words) is not None and _NO_SECRET.search(words) is None
