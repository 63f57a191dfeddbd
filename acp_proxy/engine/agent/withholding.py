"""Decides which of the recorded agent's frames the client is not to see.

A replayed agent makes its client do things. *Inert*, it may only have files read and a person
asked; otherwise it may not have files changed or commands run outside the directories that the
client has named. A request that is withheld is answered from the recording.

The frame itself decides, and not what the recording says of it: a recording may be anybody's. So
an inert agent does not say a line either that is no message, but may be one to a client which reads
less strictly.
"""

import json
import re
from typing import Any

from attrs import define, field, frozen

from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.steps import Script, Step, Wire
from acp_proxy.protocol.directories import is_within
from acp_proxy.protocol.effects import Effect, effect_of
from acp_proxy.protocol.jsonrpc import Kind, Message, read

_HARMLESS = frozenset({Effect.TELLS, Effect.ASKS, Effect.READS})
_PATHS = frozenset({
    "path", "paths", "oldpath", "newpath", "file", "files", "directory", "dir", "from", "to",
    "source", "destination", "src", "dst", "target", "uri", "olduri", "newuri",
})  # fmt: skip
"""Names, in lower case and without underscores, of what a change of files is about."""
_DIRECTORIES = frozenset({"cwd", "workingdirectory"})
_ESCAPE = re.compile(rb"\\u00([0-7][0-9A-Fa-f])")
_ACTING = re.compile(rb'(?i)"method"\s*:\s*"\s*(?:fs|terminal)/(?!read_text_file")')
"""A request that changes or runs something, in a line that is no message to a strict reader."""
_CREATE, _CONNECT, _FORM = "terminal/create", "mcp/connect", "elicitation/create"
_MADE = {_CREATE: "terminalId", _CONNECT: "connectionId"}
"""What the answer to a request makes, by the name of its id."""
_USING = {"terminal/output": "terminalId", "mcp/message": "connectionId"}
"""Requests of the client's that are about such a thing."""


@frozen
class Shown:
    """What the client sees of a frame."""

    raw: bytes | None
    """None if nothing is left."""
    withheld: frozenset[str] = frozenset()
    """The ids' tokens of the requests that it does not see."""
    is_whole: bool = True
    """Whether it sees all."""


@define
class Withholding:
    """Looks at frames before they go out.

    Attributes:
        frames: numbers of the frames that were withheld, or of which a part was.
        has_hidden_unknown: whether a method was withheld of which nobody knows what it does.
    """

    _bindings: Bindings
    _script: Script
    _inert: bool = False
    _allow_outside: bool = False
    frames: list[int] = field(factory=list)
    has_hidden_unknown: bool = False
    _unmade: set[tuple[str, str]] = field(factory=set)
    """Terminals and connections that were never made, as the recording calls them."""
    _tokens: set[str] = field(factory=set)

    @property
    def is_on(self) -> bool:
        """Whether anything may be withheld."""
        return self._inert or not self._allow_outside

    def look(self, recorded: Wire, written: bytes) -> Shown:
        """Decides what of a frame the client sees.

        Args:
            recorded: the frame as it was recorded.
            written: the same as the client would see it.
        """
        if not self.is_on:
            return Shown(written)
        message = read(written)
        if message.kind is not Kind.BATCH:
            tokens = _tokens(message)
            if not self._is_withheld(message, recorded.raw):
                self._tokens -= tokens
                return Shown(written)
            self._tokens |= tokens
            return Shown(None, tokens, is_whole=False)
        return self._look_at_batch(message, recorded.raw, written)

    def _look_at_batch(self, batch: Message, recorded: bytes, written: bytes) -> Shown:
        olds = [old.raw or b"" for old in read(recorded).members]
        pairs = [*zip(batch.members, olds, strict=True)]
        unseen = {n for n, pair in enumerate(pairs) if self._is_withheld(*pair)}
        tokens = frozenset[str]().union(*(_tokens(pairs[n][0]) for n in unseen))
        unseen |= {n for n, (one, _) in enumerate(pairs) if _tokens(one) & tokens}
        if not unseen:
            return Shown(written)
        self._tokens |= tokens
        kept = [one.raw or b"" for n, (one, _) in enumerate(pairs) if n not in unseen]
        raw = b"[" + b",".join(kept) + b"]" if kept else None
        return Shown(raw, tokens, is_whole=False)

    @property
    def outside(self) -> list[int]:
        """Those frames, if they were withheld since the client's directories do not hold them."""
        return [] if self._inert else self.frames

    def note_hidden(self, method: str | None) -> None:
        """Notes that a request was withheld.

        Args:
            method: the request's.
        """
        is_unknown = effect_of(method, self._script.dialect) is Effect.OTHER
        self.has_hidden_unknown = self.has_hidden_unknown or is_unknown

    def note_unmade(self, method: str | None, reply: Any) -> None:
        """Notes what a withheld request would have made, if anything.

        Args:
            method: the request's.
            reply: its recorded answer, decoded.
        """
        name = _MADE.get(method or "")
        result = reply.get("result") if isinstance(reply, dict) else None
        made = result.get(name) if name and isinstance(result, dict) else None
        if name is not None and isinstance(made, str):
            self._unmade.add((name, made))

    def may_be_left_out(self, step: Step) -> bool:
        """Whether a request of the client's may follow from what was withheld."""
        is_own = (step.method or "").startswith("_")
        return self.has_hidden_unknown and step.kind == "request" and is_own

    def is_forgone(self, step: Step) -> bool:
        """Whether a message of the client's will not come: it is about what was never made."""
        name = _USING.get(step.method or "")
        if not self._unmade or name is None or step.kind not in ("request", "notification"):
            return False
        raw = self._script.wire(step.seq).raw
        if step.member is not None:
            raw = read(raw).members[step.member].raw or b""
        value = _params(raw).get(name)
        return isinstance(value, str) and (name, value) in self._unmade

    def _is_withheld(self, message: Message, recorded: bytes) -> bool:
        """Whether a message is kept from the client."""
        if self._is_about_unmade(message, recorded):
            return True
        return self._is_active(message) if self._inert else self._is_outside(message)

    def _is_active(self, message: Message) -> bool:
        """Whether a message asks for more than an inert agent may ask for."""
        raw = message.raw or b""
        if message.kind is Kind.INVALID:
            return _may_be_a_request(raw)
        if _names_it_twice(raw):
            return True
        if message.kind not in (Kind.REQUEST, Kind.NOTIFICATION):
            return False
        effect = effect_of(message.method, self._script.dialect)
        if message.method == _FORM:  # a page to be opened is no form to be filled in
            return bool(_params(raw).get("mode", "form") != "form")
        if effect is Effect.TELLS and message.kind is Kind.REQUEST:
            return True
        return effect not in _HARMLESS

    def _is_about_unmade(self, message: Message, recorded: bytes) -> bool:
        if message.kind is Kind.NOTIFICATION and message.target is not None:
            return message.target in self._tokens
        if not self._unmade or message.kind is not Kind.REQUEST:
            return False
        params = _params(recorded)
        ids = ((name, params.get(name)) for name in ("terminalId", "connectionId"))
        return any(isinstance(value, str) and (name, value) in self._unmade for name, value in ids)

    def _is_outside(self, message: Message) -> bool:
        """Whether a message changes or runs something outside the client's directories."""
        raw = message.raw or b""
        if message.kind is Kind.INVALID:
            return _ACTING.search(_unescaped(raw)) is not None
        if _names_it_twice(raw):
            return True
        if message.kind not in (Kind.REQUEST, Kind.NOTIFICATION):
            return False
        effect = effect_of(message.method)
        if effect is Effect.WRITES:
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
    """The id of a request, if it is one."""
    is_request = message.kind is Kind.REQUEST and message.rpc_id is not None
    return frozenset({message.rpc_id}) if is_request and message.rpc_id else frozenset()


def _may_be_a_request(raw: bytes) -> bool:
    """Whether a client that reads less strictly may take a line for a request."""
    return b"{" in raw and (b"method" in raw.lower() or b"\\" in raw)


def _names_it_twice(raw: bytes) -> bool:
    """Whether readers differ in what a message's method is, or its params.

    Some take the first of two members of one name, others the last; for some capitals do not
    matter.
    """
    folded = _unescaped(raw).lower()
    if folded.count(b'"method"') == raw.count(b'"method"') < 2 and (
        folded.count(b'"params"') == raw.count(b'"params"') < 2
    ):
        return False
    try:
        members = json.loads(raw, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return True
    if not isinstance(members, _Pairs):
        return False
    names = [name for name, _ in members if name.lower() in ("method", "params")]
    return names not in ([], ["method"], ["params"], ["method", "params"], ["params", "method"])


def _unescaped(raw: bytes) -> bytes:
    """A line without escapes of characters that need none, however it goes on."""
    if b"\\" not in raw:
        return raw
    plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), raw)
    return plain.replace(b"\\/", b"/")


def _params(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    params = value.get("params") if isinstance(value, dict) else None
    return params if isinstance(params, dict) else {}


def _named(raw: bytes, names: frozenset[str]) -> list[object] | None:
    """The values under some names in the params of a message; None if nobody can say which count.

    Readers differ in which of two members of one name they take, and whether capitals matter.
    """
    try:
        members = json.loads(raw, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    all_params = [value for name, value in members if name == "params"]
    params = all_params[0] if len(all_params) == 1 else None
    if not isinstance(params, _Pairs):
        return None
    found: list[object] = []
    for name, value in params:
        if name.lower().replace("_", "") in names and value is not None:
            found += value if isinstance(value, list) and not isinstance(value, _Pairs) else [value]
    return found


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, each as often as it stands there."""
