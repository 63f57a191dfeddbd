"""Rules about lines: a stream contains only messages, one per line."""

import json
from codecs import BOM_UTF8
from typing import Any

import msgspec

from acp_proxy.check.check_values import Breach, Breaches, Severity
from acp_proxy.check.checked_message import AGENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import end_rule, has_stream_ended, rule
from acp_proxy.protocol.dialects import INITIALIZE, OPENING, PROMPT, V2
from acp_proxy.protocol.jsonrpc import Kind

_MOST_JOINED = 50
"""The largest number of lines that are joined to find a split message."""
_BATCH_ALONE = (*INITIALIZE, "auth/login", *OPENING[:1], "session/resume", PROMPT)
"""Methods that a peer should not send in a batch in v2."""
_encode = msgspec.json.Encoder().encode


@rule("frame.not-json", "odd line", alone=True)
def line_is_json(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds lines that are not JSON. Lines that break a more specific rule are left out."""
    raw = message.parsed.raw
    if message.parsed.kind is not Kind.INVALID or message.value is not None or raw is None:
        return
    if not (_is_lsp(raw) or _is_bad_utf8(raw) or _is_non_finite(message) or _is_null(raw)):
        yield Breach(f"a line is not JSON: {_shown(raw)}")


@rule("frame.lsp-header", "odd line", alone=True)
def no_headers(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds LSP headers before a message."""
    raw = message.parsed.raw
    if message.parsed.kind is Kind.INVALID and raw is not None and _is_lsp(raw):
        yield Breach(f"a header stands before a message: {_shown(raw)}")


@rule("frame.split-message", "odd line")
def one_line_each(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages that are written on several lines, such as indented JSON."""
    pieces = conversation.memory.split_lines
    raw, messages = message.parsed.raw, conversation.messages[message.direction]
    if message.parsed.kind not in (Kind.INVALID, Kind.BLANK) or raw is None:
        return
    before, begun = pieces.get(message.direction, (-1, []))
    if before != messages:  # another message came in between
        pieces.pop(message.direction, None)
        if raw.lstrip().startswith(b"{") and len(raw) < 1 << 20 and message.value is None:
            pieces[message.direction] = messages, [(message.seq, raw)]
        return
    begun.append((message.seq, raw))
    joined = b"\n".join(piece for _, piece in begun)
    if raw.rstrip().endswith(b"}") and _is_object(joined):
        first, *others = (seq for seq, _ in begun)
        text = f"a message is written on {len(begun)} lines"
        explained = ("frame.not-json", "frame.not-object", "frame.blank-line")
        yield Breach(text, tuple(others), seq=first, explains=explained)
        del pieces[message.direction]
    elif len(begun) >= _MOST_JOINED or len(joined) > 1 << 20:
        del pieces[message.direction]


@rule("frame.bad-utf8", "odd line", alone=True)
def is_utf8(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds lines that are not UTF-8 or begin with a byte order mark."""
    raw = message.parsed.raw
    if message.parsed.kind is Kind.INVALID and raw is not None and _is_bad_utf8(raw):
        if raw.startswith(BOM_UTF8):
            yield Breach("a line begins with a byte order mark")
        else:
            yield Breach(f"a line is {message.parsed.parse_error or 'not UTF-8'}")


@rule("frame.blank-line", "odd line", alone=True)
def no_blank_lines(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds blank lines."""
    if message.parsed.kind is Kind.BLANK:
        yield Breach("a line is blank")


@rule("frame.not-object", "odd line", alone=True)
def is_object(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds JSON values that are neither an object nor an array."""
    raw = message.parsed.raw
    if message.parsed.kind is not Kind.INVALID or raw is None:
        return
    is_scalar = message.value is not None and not isinstance(message.value, dict | list)
    if is_scalar or _is_null(raw):
        yield Breach(f"a line is JSON, but not a message: {_cut(raw)}")


@rule("frame.batch", "odd line", alone=True)
def batches(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds all batches in v1. In v2, finds empty batches, and methods that must be sent alone."""
    if message.parsed.kind is not Kind.BATCH:
        return
    members = message.parsed.members
    if conversation.dialect != V2:
        yield Breach(f"a batch of {len(members)} messages was sent; version 1 has no batches")
    elif not members:
        yield Breach("an empty batch was sent")
    else:
        for method in {member.method for member in members if member.method in _BATCH_ALONE}:
            text = f"{method} is in a batch, and should be sent by itself"
            yield Breach(text, severity=Severity.WARNING)


@rule("frame.duplicate-key", "line", alone=True)
def names_do_not_repeat(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds objects with two members of the same name."""
    raw, value = message.parsed.raw, message.value
    if raw is None or not isinstance(value, dict | list) or _is_spelled_once(raw, value):
        return
    repeated: set[str] = set()

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            names = [name for name, _ in pairs]
            repeated.update(name for name in made if names.count(name) > 1)
        return made

    try:
        json.loads(raw, object_pairs_hook=take, parse_int=str)
    except (ValueError, RecursionError):
        return
    for name in sorted(repeated):
        yield Breach(f'the member "{name[:80]}" stands twice in an object')


@rule("frame.non-finite", "odd line", alone=True)
def numbers_are_finite(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds NaN and Infinity, which JSON does not allow."""
    if message.parsed.kind is Kind.INVALID and _is_non_finite(message):
        name = (message.parsed.parse_error or "").removeprefix("not JSON: ").partition(" ")[0]
        yield Breach(f"a number is {name}, which JSON does not have")


@rule("frame.after-exit", "line", when=has_stream_ended)
def nothing_after_the_end(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds lines after the end of their stream."""
    if (seq := conversation.ended_streams.get(message.direction)) is not None:
        yield Breach("a line came after the end of its stream", (seq,))


@end_rule("frame.unterminated")
def ends_with_a_newline(conversation: Conversation) -> Breaches:
    """Finds a last line without a newline."""
    for seq, sender in conversation.cut_lines:
        text = "the stream ended in the middle of a line"
        yield Breach(text, seq=seq, by=sender, explains=("frame.not-json",))


@end_rule("frame.stderr-message")
def no_messages_on_stderr(conversation: Conversation) -> Breaches:
    """Finds messages that the agent wrote to stderr."""
    for seq in conversation.messages_on_stderr:
        yield Breach("a message was written to stderr", seq=seq, by=AGENT)


def _is_lsp(raw: bytes) -> bool:
    return raw[:20].lower().startswith((b"content-length:", b"content-type:"))


def _is_bad_utf8(raw: bytes) -> bool:
    if raw.startswith(BOM_UTF8):
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _is_non_finite(message: CheckedMessage) -> bool:
    return "is no JSON number" in (message.parsed.parse_error or "")


def _is_null(raw: bytes) -> bool:
    return raw.strip() == b"null"


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _is_spelled_once(raw: bytes, value: Any) -> bool:
    """Whether a line keeps its length if it is decoded and encoded again.

    If so, no object of the line has two members with the same name: decoding would drop one of
    them.
    """
    try:
        return len(_encode(value)) == len(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return False


def _shown(raw: bytes) -> str:
    return f'"{_cut(raw)}"'


def _cut(raw: bytes) -> str:
    text = raw[:400].decode(errors="replace").strip()
    return f"{text[:80]}…" if len(text) > 80 else text
