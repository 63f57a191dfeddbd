"""Fuzzes masking: cuts do not change the result, JSON stays JSON, and no secret remains."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attrs import frozen

from acp_proxy.base.forms import converter
from acp_proxy.protocol.chunks import mended
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Stream, read
from acp_proxy.redaction.edits import Edits, apply
from acp_proxy.redaction.markers import MARKER, MARKER_BYTES
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.redaction.text_streams import NotYet
from tests.fuzz import seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target
from tests.support.log_writer import notification, request, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KEY = "5a" * 16
_ALPHABET = "aZ0-_+/=.%\"\\é你 :,'"
_MOST_LINES = 16


@frozen
class Fed:
    """A line of a stream."""

    stream: Stream
    raw: bytes


def check(data: bytes) -> None:
    """Masks random lines or a conversation with a secret in several ways, and compares them."""
    source = ByteSource(data)
    choice = source.number(255)
    private = bool(choice & 4)
    cuts = hashlib.blake2b(data).digest()
    if choice & 1:
        lines, secret = _conversation(source)
    else:
        lines, secret = _any_lines(source), None
    masked = _check_masked(lines, cuts, private=private)
    if secret is not None:
        _check_hidden(masked, secret)
    _check_text(b"\n".join(line.raw for line in lines))


def _any_lines(source: ByteSource) -> list[Fed]:
    """Returns lines of random bytes, each with its stream."""
    streams = source.take(8) or b"\0"
    raws = source.rest().split(b"\n")[:_MOST_LINES]
    return [Fed([*Stream][streams[n % len(streams)] % 3], raw) for n, raw in enumerate(raws)]


# A conversation with a secret


def _conversation(source: ByteSource) -> tuple[list[Fed], str]:
    """Returns lines that repeat a value, after a line whose JSON key marks it as a secret."""
    secret = _secret(source)
    lines = [Fed(Stream.TO_AGENT, _spelled(source, _named(source, secret)))]
    while source and len(lines) < _MOST_LINES:
        lines += _more(source, secret)
    return lines, secret


def _secret(source: ByteSource) -> str:
    """Returns a value that does not look like a word, a number or a path."""
    digest = hashlib.blake2b(source.take(2), digest_size=24).digest()
    code = base64.b64encode(digest).decode().replace("/", "-")[: 12 + source.number(18)]
    odd = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in source.short(3))
    return code[:6] + odd + code[6:]


def _named(source: ByteSource, secret: str) -> Any:
    name = source.choice(("API_KEY", "DB_PASSWORD", "GITHUB_TOKEN", "x-secret"))
    server: dict[str, Any] = {"name": "m", "command": "x", "args": []}
    match source.number(3):
        case 0:
            server["env"] = [{"name": name, "value": secret}]
        case 1:
            server["headers"] = [{"value": secret, "name": name}]
        case 2:
            server["env"] = {name: secret}
        case _:
            server["_meta"] = {name: secret}
    return request(1, "session/new", cwd="/srv", mcpServers=[server])


def _more(source: ByteSource, secret: str) -> list[Fed]:
    form = source.choice(_FORMS)(secret)
    before, after = source.choice(_AROUND), source.choice(_AROUND)
    content = before + form + after
    match source.number(7):
        case 0 | 1 | 2:
            return _chunks(source, content)
        case 3:
            place = source.choice(("title", "rawOutput", "error", "apiKey", "content"))
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", place: content}
            return [_to_client(source, _update(update))]
        case 4:
            return [Fed(Stream.STDERR, content.replace("\n", " ").encode())]
        case 5:
            batch = [_update({"sessionUpdate": "plan", "entries": [content]}), {"id": 7}]
            return [_to_client(source, batch)]
        case 6:
            whole = _spelled(source, request(2, "terminal/create", command="x", args=[content]))
            cut = source.number(40)
            return [Fed(Stream.TO_CLIENT, whole[cut:] if cut % 2 else whole + b"}" * cut)]
        case _:
            raw = source.short(80).replace(b"\n", b"")
            return [Fed(source.choice([*Stream]), raw)]


def _chunks(source: ByteSource, content: str) -> list[Fed]:
    """Returns lines that contain a text in chunks of any size, with other lines between them."""
    kind = source.choice(("agent_message_chunk", "agent_thought_chunk"))
    lines = []
    while content:
        size = 31 - source.number(30)
        piece, content = content[:size], content[size:]
        update = {"sessionUpdate": kind, "content": text(piece)}
        lines.append(_to_client(source, _update(update)))
        if source.number(9) == 9:
            lines.append(_to_client(source, _update({"sessionUpdate": "plan", "entries": []})))
    return lines


def _update(update: dict[str, Any]) -> dict[str, Any]:
    return notification("session/update", sessionId="s1", update=update)


def _to_client(source: ByteSource, message: Any) -> Fed:
    return Fed(Stream.TO_CLIENT, _spelled(source, message))


def _spelled(source: ByteSource, message: Any) -> bytes:
    """Returns a message as JSON, in the style of one of several peers."""
    how = source.number(7)
    line = json.dumps(message, ensure_ascii=bool(how & 1), separators=(",", ":"))
    return (line.replace("/", "\\/") if how == 6 else line).encode()


_FORMS: tuple[Callable[[str], str], ...] = (
    str,
    lambda secret: quote(secret, safe=""),
    lambda secret: base64.b64encode(secret.encode()).decode(),
    lambda secret: json.dumps({"key": secret}),
)
_AROUND = ("", " ", "the key is ", "é\n", "/", ".", '"', "{", "password=", "Bearer ", "日本")


# Guarantees


def _check_masked(lines: list[Fed], cuts: bytes, *, private: bool) -> list[Fed]:
    """Masks lines in several ways, checks that they agree, and returns the masked lines."""
    whole = _edits(lines, lambda _: _MOST_LINES, private=private)
    masked = []
    for line, edits in zip(lines, whole, strict=True):
        _check_edits(line.raw, edits)
        masked.append(Fed(line.stream, apply(line.raw, edits)))
        if line.stream is not Stream.STDERR:  # every line of stderr is text
            _check_structure(line.raw, masked[-1].raw)
    later = _edits(lines, lambda n: cuts[n % 64] % 4, private=private)
    assert later == whole, "what follows is known later"
    anew = _edits(lines, lambda _: _MOST_LINES, private=private, anew=cuts[0] % 9 + 3)
    assert anew == whole, "another redactor goes on"
    _check_pieces(lines, cuts, private=private)
    _check_restored(lines, cuts, private=private)
    again = _edits(masked, lambda _: _MOST_LINES, private=private)
    for line, edits in zip(masked, again, strict=True):
        once_more = apply(line.raw, edits)
        if json_or_none(line.raw) is not None:
            assert once_more == line.raw, "what is masked is not masked once more"
        # In endless text a search gives up, and finds more if there is less text.
        for marker in MARKER_BYTES.finditer(line.raw):
            assert marker[0] in once_more
    return masked


def _edits(
    lines: list[Fed], ahead: Callable[[int], int], *, private: bool, anew: int = 0
) -> list[Edits]:
    """Masks lines one by one, and returns the edits of each line.

    Args:
        lines: all lines.
        ahead: returns how many later lines are known when a line is masked.
        private: whether private text is masked.
        anew: the number of lines after which a new redactor continues; 0 for never.
    """
    redactor = _redactor(RedactorState(_KEY), private=private)
    edits = []
    for n in range(len(lines)):
        if anew and n % anew == anew - 1:
            state = converter.dumps(converter.unstructure(redactor.snapshot())).encode()
            known = converter.structure(converter.loads(state, dict), RedactorState)
            redactor = _redactor(known, private=private)
        edits.append(_masked(redactor, lines, n, ahead(n)))
    return edits


def _masked(redactor: Redactor, lines: list[Fed], n: int, ahead: int) -> Edits:
    line, known = lines[n], ahead
    message = None if line.stream is Stream.STDERR else read(line.raw)
    rest = [later.raw for later in lines[n + 1 :] if later.stream is line.stream]

    def following() -> Iterator[bytes]:
        yield from rest[:known]
        if known < len(rest):
            raise NotYet

    while True:
        try:
            return redactor.line(line.stream, line.raw, following, message)
        except NotYet:
            assert known < len(rest)
            known += 1


def _redactor(state: RedactorState, *, private: bool) -> Redactor:
    return Redactor(state, private=private)


def _check_edits(raw: bytes, edits: Edits) -> None:
    place = 0
    for edit in edits:
        assert place <= edit.start <= edit.end <= len(raw)
        place = edit.end


def _check_structure(raw: bytes, masked: bytes) -> None:
    """Checks that masking keeps the keys and types of JSON, and the labels of the message."""
    before = json_or_none(raw)
    assert (before is None) == (json_or_none(masked) is None)
    if before is not None:
        assert _outline(before) == _outline(json_or_none(masked))
    for own in ("rpc_id", "method", "session", "update", "tool_call", "kind"):
        assert getattr(read(raw), own) == getattr(read(masked), own)


def _outline(value: Any) -> Any:
    """Returns a JSON value in which all texts are removed."""
    if isinstance(value, dict):
        return [(key, _outline(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [_outline(inner) for inner in value]
    return str if isinstance(value, str) else repr(value)


def _check_pieces(lines: list[Fed], cuts: bytes, *, private: bool) -> None:
    """Checks that masking a line in pieces gives the same result as masking it whole."""
    whole = _redactor(RedactorState(_KEY), private=private)
    pieces = _redactor(RedactorState(_KEY), private=private)
    for n, line in enumerate(lines):
        raw, size = line.raw, 1 + cuts[n % 64] % 80
        cut = [raw[at : at + size] for at in range(0, len(raw), size)]
        edits = whole.large(line.stream, lambda raw=raw: (raw,))  # type: ignore[misc]
        _check_edits(raw, edits)
        assert pieces.large(line.stream, lambda cut=cut: cut) == edits  # type: ignore[misc]


def _check_restored(lines: list[Fed], cuts: bytes, *, private: bool) -> None:
    """Checks that lines which are masked again after a reset give the same result."""
    redactor = _redactor(RedactorState(_KEY), private=private)
    for n, line in enumerate(lines):
        mark = redactor.mark()
        for more in range(n, min(len(lines), n + cuts[n % 64] % 3)):
            _masked(redactor, lines, more, _MOST_LINES)
        redactor.restore(mark)
        edits = _masked(redactor, lines, n, _MOST_LINES)
        _check_edits(line.raw, edits)
        if line.stream is not Stream.STDERR:
            _check_structure(line.raw, apply(line.raw, edits))


def _check_hidden(masked: list[Fed], secret: str) -> None:
    """Checks that neither a line nor the joined text of chunks contains the secret."""
    streams: dict[tuple[object, ...], str] = {}
    for line in masked:
        assert secret not in line.raw.decode(errors="replace"), line
        for form in _FORMS:
            inner = json.dumps(form(secret))[1:-1]
            assert inner not in line.raw.decode(errors="replace"), line
        message = read(line.raw)
        if message.text is not None:
            key = message.session, message.update
            streams[key] = streams.get(key, "") + message.text
    for whole in streams.values():
        assert secret not in mended(whole)


def _check_text(raw: bytes) -> None:
    """Checks that masking a text twice gives the same as masking it once.

    A secret right beside another secret is recognized only after the other became a marker.
    """
    redactor = Redactor(RedactorState(_KEY))
    shown = raw.decode("utf-8", "surrogateescape")
    once = redactor.text(redactor.text(shown))
    assert redactor.text(once) == once
    assert redactor.text(once, loose=False) == once
    words = shown.split(" ")
    command = redactor.command(redactor.command(words))
    assert len(command) == len(words)
    assert redactor.command(command) == command
    assert len(MARKER.findall(once)) <= len(MARKER.findall(shown)) + redactor.count


def _seeds() -> list[bytes]:
    lines = [line for line in seeds.lines() if len(line) < 600]
    plain = [
        b"\0" + bytes([place % 3] * 8) + b"\n".join(lines[place : place + 4])
        for place in range(0, len(lines), 3)
    ]
    made = [hashlib.blake2b(bytes([n])).digest() * 4 for n in range(24)]
    return [*plain, *(bytes([1 + 4 * (n % 2)]) + text for n, text in enumerate(made))]


WORDS = (b'"env":[{"name":"API_KEY","value":"', b'"headers":{"Authorization":"Bearer ',
         b"sk-ant-api03-Vb7QxL2mRk9TzWp4Yc8NdHf5", b"ghp_16C7e42F292c6912E7710c838347Ae178B4a",
         b"-----BEGIN RSA PRIVATE KEY-----", b"-----END RSA PRIVATE KEY-----",
         b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1rwW1gFWFOEjXk",
         b"password=Zr7Qv2Lm9Xk4", b"https://user:Qm4Vz8Lk2@host/", b"Basic dXNlcjpaejdRdjJMbTk=",
         b"[redacted:token:1f0c9a3e]", b'"apiKey":"', b'"_meta":{', b'"args":["--token","',
         b'"method":"session/update","params":{"sessionId":"s","update":{',
         b'"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"',
         b'"sessionUpdate":"terminal_output_chunk","data":"', b"\\u0073k-", b"\\/", b"%2F",
         b"${TOKEN}", b"Set-Cookie: sid=Qm4Vz8Lk2Xr7Tn; b=",
         b'"method":"authenticate"')  # fmt: skip
TARGET = Target(
    "redactor", check, _seeds, WORDS, steps=400_000, steps_per_byte=8000, longest=2048, examples=20
)
