"""Decides which frames of the recorded agent are not sent to the client.

A replayed agent makes its client act. An *inert* agent may only ask the client to read files or to
ask a person. Any other agent may not ask for changes or commands outside the directories that the
client has named. A withheld request is answered from the recording.

The bytes of the frame decide, not the recording's labels, since a recording is untrusted. An inert
agent also sends no invalid line, which a tolerant client might accept as a message.
"""

import json
import re
from typing import Any

from attrs import define, field, frozen

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.protocol.directories import is_within
from acp_proxy.protocol.effects import ClientEffect, effect_of
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.recording.steps import Script, Step, Wire

_MADE = {"terminal/create": "terminalId", "mcp/connect": "connectionId"}
"""Requests that create a terminal or a connection, each with the member of the answer that has the
new id."""
_USING = {"terminal/output": "terminalId", "mcp/message": "connectionId"}
"""Requests of the client that contain the id of a terminal or connection."""


class WithheldEffects:
    """Notes withheld requests that affect later messages.

    A client that was not asked to create a terminal does not send the terminal's output. A client
    that did not get an unknown request may omit requests of its own.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._has_hidden_unknown = False
        self._unmade: set[tuple[str, str]] = set()
        """Recorded terminals and connections that were never created in the replay."""

    @property
    def has_unmade(self) -> bool:
        """Whether a withheld request would have created any terminal or connection."""
        return bool(self._unmade)

    def note_withheld(self, method: str | None) -> None:
        """Notes that a request of this method was withheld."""
        if effect_of(method, self._script.dialect) is ClientEffect.OTHER:
            self._has_hidden_unknown = True

    def note_unmade(self, method: str | None, reply: Any) -> None:
        """Notes the terminal or connection that a withheld request would have created, if any.

        Args:
            method: the request's method.
            reply: the recorded answer, decoded.
        """
        name = _MADE.get(method or "")
        if name is not None and isinstance(made := member(reply, "result", name), str):
            self._unmade.add((name, made))

    def may_prevent(self, step: Step) -> bool:
        """Returns whether a request of the client may be a consequence of withheld requests."""
        is_own = (step.method or "").startswith("_")
        return self._has_hidden_unknown and step.kind == "request" and is_own

    def prevents(self, step: Step) -> bool:
        """Returns whether a client message will not come because its terminal was not created."""
        name = _USING.get(step.method or "")
        if not self._unmade or name is None or step.kind not in ("request", "notification"):
            return False
        params = params_of(json_or_none(self._script.wire(step.seq).message_of(step)))
        return self._is_unmade(name, params.get(name))

    def concerns(self, raw: bytes) -> bool:
        """Returns whether an agent's recorded request needs a terminal that was not created."""
        params = params_of(json_or_none(raw))
        return any(self._is_unmade(name, params.get(name)) for name in _MADE.values())

    def _is_unmade(self, name: str, value: object) -> bool:
        return isinstance(value, str) and (name, value) in self._unmade


_HARMLESS = frozenset({ClientEffect.INFORMS, ClientEffect.ASKS, ClientEffect.READS})
_PATHS = frozenset({
    "path", "paths", "oldpath", "newpath", "file", "files", "directory", "dir", "from", "to",
    "source", "destination", "src", "dst", "target", "uri", "olduri", "newuri",
})  # fmt: skip
"""Names, in lower case and without underscores, of params that say which files to change."""
_DIRECTORIES = frozenset({"cwd", "workingdirectory"})
_ESCAPE = re.compile(rb"\\u00([0-7][0-9A-Fa-f])")
_ACTING = re.compile(rb'(?i)"method"\s*:\s*"\s*(?:fs|terminal)/(?!read_text_file")')
"""Matches a request that changes or runs something, in a line that strict readers do not accept."""
_CREATE, _FORM = "terminal/create", "elicitation/create"
_SUSPICIOUS = (b"fs/", b"terminal/", b"\\u00", b"\\/")
"""Texts in lower case. Every line that asks to change files or run commands contains one of these
texts: the start of the method, or an escape that may hide this start."""


@frozen
class Shown:
    """The part of a frame that the client gets."""

    raw: bytes | None
    """The bytes to send; None if nothing is left."""
    withheld: frozenset[str] = frozenset()
    """The ids of the withheld requests."""


@define
class Withholding:
    """Checks frames before they go out."""

    _bindings: Bindings
    _effects: WithheldEffects
    _dialect: str | None = None
    _inert: bool = False
    _allow_outside: bool = False
    frames: list[int] = field(factory=list)
    """Numbers of the frames that were withheld, at least in part."""
    _tokens: set[str] = field(factory=set)
    """The ids of withheld requests, until another request with the same id goes out."""

    @property
    def outside(self) -> list[int]:
        """The numbers of the frames withheld for acting outside the client's directories.

        Frames that were withheld in part are included. The list is empty for an inert agent, whose
        frames are also withheld for other reasons.
        """
        return [] if self._inert else self.frames

    def look(self, seq: int, recorded: Wire, written: bytes) -> Shown:
        """Decides which part of a frame the client gets.

        Args:
            seq: the frame's number.
            recorded: the frame as it was recorded.
            written: the frame as the client would get it.
        """
        if self._is_surely_harmless(written):
            return Shown(written)
        message = read(written)
        if message.kind is Kind.BATCH:
            shown = self._look_at_batch(message, recorded.raw, written)
        else:
            shown = self._look_at_message(message, recorded.raw, written)
        if shown.raw is not written:
            self.frames.append(seq)
        return shown

    def _is_surely_harmless(self, line: bytes) -> bool:
        """Whether a line can go out without being parsed.

        If a line contains no text of `_SUSPICIOUS`, it neither changes nor runs anything. The lines
        of an inert agent are always parsed.
        """
        if self._allow_outside and not self._inert:
            return True
        if self._inert or self._tokens or self._effects.has_unmade:
            return False
        folded = line.lower()
        return not any(word in folded for word in _SUSPICIOUS) and _is_unique(line, folded)

    def _look_at_message(self, message: Message, recorded: bytes, written: bytes) -> Shown:
        tokens = _tokens(message)
        if not self._is_withheld(message, recorded):
            self._tokens -= tokens
            return Shown(written)
        self._tokens |= tokens
        return Shown(None, tokens)

    def _look_at_batch(self, batch: Message, recorded: bytes, written: bytes) -> Shown:
        olds = [old.raw or b"" for old in read(recorded).members]
        pairs = [*zip(batch.members, olds, strict=True)]
        unseen = {n for n, pair in enumerate(pairs) if self._is_withheld(*pair)}
        tokens = frozenset[str]().union(*(_tokens(pairs[n][0]) for n in unseen))
        unseen |= {n for n, (message, _) in enumerate(pairs) if _tokens(message) & tokens}
        if not unseen:
            return Shown(written)
        self._tokens |= tokens
        kept = [message.raw or b"" for n, (message, _) in enumerate(pairs) if n not in unseen]
        raw = b"[" + b",".join(kept) + b"]" if kept else None
        return Shown(raw, tokens)

    def _is_withheld(self, message: Message, recorded: bytes) -> bool:
        """Whether the client does not get a message."""
        if self._is_about_unmade(message, recorded):
            return True
        if message.kind is not Kind.INVALID:
            if _is_ambiguous(message.raw or b""):
                return True
            if message.kind not in (Kind.REQUEST, Kind.NOTIFICATION):
                return False
        return self._is_active(message) if self._inert else self._is_outside(message)

    def _is_about_unmade(self, message: Message, recorded: bytes) -> bool:
        if message.kind is Kind.NOTIFICATION and message.target is not None:
            return message.target in self._tokens
        if not self._effects.has_unmade or message.kind is not Kind.REQUEST:
            return False
        return self._effects.concerns(recorded)

    def _is_active(self, message: Message) -> bool:
        """Whether a message requests more than an inert agent may request."""
        raw = message.raw or b""
        if message.kind is Kind.INVALID:
            # A less strict client may accept the line as a request.
            return b"{" in raw and (b"method" in raw.lower() or b"\\" in raw)
        effect = effect_of(message.method, self._dialect)
        if message.method == _FORM:  # a page to open is not a form to fill in
            return bool(params_of(json_or_none(raw)).get("mode", "form") != "form")
        if effect is ClientEffect.INFORMS and message.kind is Kind.REQUEST:
            return True
        return effect not in _HARMLESS

    def _is_outside(self, message: Message) -> bool:
        """Whether a message changes or runs something outside the client's directories."""
        raw = message.raw or b""
        if message.kind is Kind.INVALID:
            return _ACTING.search(_unescaped(raw)) is not None
        effect = effect_of(message.method)
        if effect is ClientEffect.WRITES:
            paths = _named(raw, _PATHS)
            return not paths or not all(map(self._is_within, paths))
        if message.method != _CREATE:
            return False
        directories = _named(raw, _DIRECTORIES)
        if directories is None or not self._bindings.roots:
            return True
        return not all(map(self._is_within, directories))

    def _is_within(self, path: object) -> bool:
        return is_within(path, self._bindings.roots.values())


def _tokens(message: Message) -> frozenset[str]:
    """Returns a set with the id of a request; an empty set for any other message."""
    if message.kind is not Kind.REQUEST or not message.rpc_id:
        return frozenset()
    return frozenset({message.rpc_id})


def _is_ambiguous(raw: bytes) -> bool:
    """Whether readers may disagree on a message's method or params.

    Of two members with the same name, some readers use the first, and others the last. Some readers
    ignore case.
    """
    if _is_unique(raw, _unescaped(raw).lower()):
        return False
    if (members := _members(raw)) is None:
        return True
    names = [name for name, _ in members if name.lower() in ("method", "params")]
    return names not in ([], ["method"], ["params"], ["method", "params"], ["params", "method"])


def _is_unique(raw: bytes, folded: bytes) -> bool:
    """Whether method and params occur at most once each; `folded` is `raw` in lower case."""
    return folded.count(b'"method"') == raw.count(b'"method"') < 2 and (
        folded.count(b'"params"') == raw.count(b'"params"') < 2
    )


def _unescaped(raw: bytes) -> bytes:
    """Returns a line, valid or not, without unnecessary escapes."""
    if b"\\" not in raw:
        return raw
    plain = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw)
    return plain.replace(b"\\/", b"/")


def _named(raw: bytes, names: frozenset[str]) -> list[object] | None:
    """Returns the values that a message's params have under the given names.

    The case of a name and its underscores do not matter. The items of a list count as values.

    Returns None if the message does not have exactly one ``params``, or if ``params`` is not an
    object. Of two members with the same name, some readers use the first, and others the last.
    """
    all_params = [value for name, value in _members(raw) or () if name == "params"]
    params = all_params[0] if len(all_params) == 1 else None
    if not isinstance(params, _Pairs):
        return None
    result: list[object] = []
    for name, value in params:
        if name.lower().replace("_", "") in names and value is not None:
            result += value if type(value) is list else [value]
    return result


def _members(raw: bytes) -> "_Pairs | None":
    """Returns the members of a message; None if the message is not a JSON object."""
    try:
        value = json.loads(raw, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, _Pairs) else None


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, including repeated members."""
