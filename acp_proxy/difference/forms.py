"""A message as a form, and the values that stand in its slots.

What differs between any two runs is taken out of a message: times are left out, ids and directories
leave a slot behind. What remains is the form. Two messages say the same if their forms are equal
and their slots hold values that have the same names. So a message is read once, and what the other
recording calls a value can be found out later.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

import msgspec
from attrs import define, field

from acp_proxy.difference.defaults import PROCESS, REQUEST, RUNNING, TITLED
from acp_proxy.difference.rules import PlaceState
from acp_proxy.difference.values import Scope, Values
from acp_proxy.protocol.peers import Direction

_encode = msgspec.json.Encoder(order="sorted").encode
Peers = tuple[str, str]
CLIENTS = (Direction.TO_AGENT.value, Direction.TO_AGENT.value)
"""Where all requests are the client's."""
_LEAST = 2
"""Characters of the shortest text that may name a directory."""
_DIGITS = re.compile(r"(?<![\w.:-])\d{3,}(?!\w)")
_MARKS = re.compile("[\ue000\ue001]|\ue002\\d*\ue003")
_SLOT = "\ue000{}\ue001"
_ANOTHER = "\ue002{}\ue003"
"""What tells a key from another one that looks alike."""


class Form(NamedTuple):
    """A message without what differs between any two runs; a tuple, since there are many."""

    digest: int
    """A number of 64 bits that tells it from others."""
    slots: tuple[int, ...] = ()
    """The values that were taken out, by their index, in the order of the sorted keys."""


@define
class Canonicalizer:
    """Takes values out of messages; messages come in recorded order.

    Attributes:
        rules: the state in which a message begins.
        titled: the same for what tells titles of sessions.
        running: and for what names directories in which something is to run.
        values: what was taken out so far.
    """

    rules: PlaceState
    titled: PlaceState
    running: PlaceState
    values: Values = field(factory=Values)

    def form(
        self,
        read: Callable[[], Any],
        scope: Scope,
        title: str,
        rules: PlaceState | None = None,
        peers: Peers = CLIENTS,
    ) -> Form:
        """Returns a message's form.

        Args:
            read: decodes the message; each time it gives another one, which is used up.
            scope: its lane's session.
            title: what it is, besides what it says: its kind, and the method that it answers.
            rules: the state in which it begins, if it is only a part of a message.
            peers: in which direction the request went that it is or answers, and one that it names.

        Raises:
            RecursionError: it is nested too deeply.
        """
        rules = self.rules if rules is None else rules
        if rules.is_ignored:
            return Form(0)
        slots: list[int] = []

        def put(index: int, _: bool) -> str:
            slots.append(index)
            return _SLOT.format(self.values.every[index].kind)

        known, renamed = len(self.values.every), self.values.renamed
        rest = canonical(_Walk(rules, self.values, (scope, peers), put).through(read()))
        named_before = self.values.renamed > renamed or self.values.may_have_passed(known, rest)
        if named_before:  # it named a value before it introduced it
            slots.clear()
            rest = canonical(_Walk(rules, self.values, (scope, peers), put).through(read()))
        return Form(digest_of(title, rest), tuple(slots))

    def begin(self, title: str) -> PlaceState:
        """The state in which a message begins that goes by a title."""
        if title in RUNNING:
            return self.running
        return self.titled if title in TITLED else self.rules

    def named(
        self,
        message: Any,
        scope: Scope,
        names: dict[int, str],
        title: str = "",
        peers: Peers = CLIENTS,
    ) -> Any:
        """Returns a message with names in place of values; those without one stay as they are.

        They are marked, so that nobody can say what looks like one; `unmarked` takes that away.

        Args:
            message: decoded; it is used up.
            scope: its lane's session.
            names: by index.
            title: what it goes by.
            peers: in which direction the request went that it is or answers, and one that it names.

        Raises:
            RecursionError: it is nested too deeply.
        """

        def put(index: int, is_whole: bool) -> str:
            name = names.get(index, self.values.every[index].text)
            return _SLOT.format(name if is_whole else f"«{name}»")

        return _Walk(self.begin(title), self.values, (scope, peers), put).through(message)


class _Walk:
    """Goes through one message and puts something in the place of each value."""

    def __init__(
        self,
        start: PlaceState,
        values: Values,
        scopes: tuple[Scope, Peers],
        put: Callable[[int, bool], str],
    ) -> None:
        self._start = start
        self._values = values
        self._scope, (self._peer, self._named) = scopes
        self._put = put
        self._numbers: dict[str, int] = {}

    def through(self, message: Any) -> Any:
        """Walks through a message; a batch is a list of them."""
        members = message if isinstance(message, list) else [message]
        members = [self._member(member) for member in members]
        if self._numbers:
            members = [self._with_numbers(member) for member in members]
        return members if isinstance(message, list) else members[0]

    def _inner(self, value: Any, state: PlaceState) -> Any:
        """What is put in the place of a value."""
        kind = type(value)
        if kind is str:
            if state.alias is not None:
                return self._put(self._index(state.alias, value), True)
            return value if len(value) < _LEAST else self._text(value)
        if kind is dict:
            self._object(value, state)
        elif kind is list:
            items = [(item, state[str(place)]) for place, item in enumerate(value)]
            value[:] = [self._inner(item, at) for item, at in items if not at.is_ignored]
        elif kind is float:
            if not isfinite(value):
                return f"({value})"
            return int(value) if value.is_integer() else value
        elif kind is int and state.alias is not None:
            index = self._index(state.alias, str(value))
            if state.alias == PROCESS and value > 99:
                self._numbers[str(value)] = index
            return self._put(index, True)
        return value

    def _member(self, message: Any) -> Any:
        """One message: its id is that of a request, in one direction or the other."""
        rpc_id = message.get("id") if isinstance(message, dict) else None
        if type(rpc_id) not in (str, int, float) or self._start["id"].alias != REQUEST:
            return self._inner(message, self._start)
        del message["id"]
        text = str(int(rpc_id) if isinstance(rpc_id, float) and rpc_id.is_integer() else rpc_id)
        name = self._put(self._values.index(REQUEST, text, self._peer), True)
        self._inner(message, self._start)
        message["id"] = name
        return message

    def _index(self, kind: str, text: str) -> int:
        return self._values.index(kind, text, self._named if kind == REQUEST else self._scope)

    def _object(self, value: dict[str, Any], state: PlaceState) -> None:
        naming: set[str] = set()
        for key in sorted(value):
            inner, at = value[key], state[key]
            if len(key) >= _LEAST and self._values.may_be_in(key):
                naming.add(key)
            elif at.is_ignored:
                del value[key]
            elif at.is_cut and type(inner) is str:
                value[key] = self._cut(inner)
            elif type(inner) is str and at.alias is None:  # as most are
                if len(inner) >= _LEAST and self._values.may_be_in(inner):
                    value[key] = self._text(inner)
            elif type(inner) is dict:
                self._object(inner, at)
            else:
                value[key] = self._inner(inner, at)
        if naming:
            self._name_keys(value, naming, state)

    def _name_keys(self, value: dict[str, Any], naming: set[str], state: PlaceState) -> None:
        """Keys with values in them, such as paths; how these are spelled gives them no order."""
        alike: Counter[str] = Counter()
        for key in [key for key in value if key in naming]:
            inner, at = value.pop(key), state[key]
            if at.is_ignored:
                continue
            spelled = name = self._text(key, is_key=True)
            while name in value:  # values of one kind look alike
                alike[spelled] += 1
                name = spelled + _ANOTHER.format(alike[spelled])
            is_cut = at.is_cut and isinstance(inner, str)
            value[name] = self._cut(inner) if is_cut else self._inner(inner, at)

    def _text(self, text: str, *, is_key: bool = False) -> str:
        """A text with something in the place of each value in its middle."""
        parts, after = [], 0
        for start, end, index in self._values.found_in(text, self._scope):
            is_whole = end - start == len(text) and not is_key
            parts += [text[after:start], self._put(index, is_whole)]
            after = end
        return "".join([*parts, text[after:]]) if parts else text

    def _cut(self, text: str) -> str:
        """A text up to the first directory in it."""
        found = self._values.directories.cut_in(text)
        return text if found is None else text[: found[0]] + self._put(found[1], False)

    def _with_numbers(self, value: Any) -> Any:
        """Process ids are small numbers; they are looked for in the texts of their own message."""
        if isinstance(value, dict):
            return {key: self._with_numbers(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._with_numbers(inner) for inner in value]
        if isinstance(value, str):
            known = self._numbers
            return _DIGITS.sub(
                lambda found: self._put(known[found[0]], False) if found[0] in known else found[0],
                value,
            )
        return value


def unmarked(value: Any) -> Any:
    """What a name looks like, anywhere in a value."""
    if isinstance(value, str):
        return _MARKS.sub("", value)
    if isinstance(value, dict):
        return {unmarked(key): unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


def canonical(value: Any) -> bytes:
    """JSON that is the same for equal values: keys in order, and one kind of number.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        return _encode(value)
    except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError):
        return json.dumps(value, sort_keys=True).encode()


def digest_of(title: str, *parts: bytes) -> int:
    """A number of 64 bits."""
    return digest_of_pieces(title, parts)


def digest_of_pieces(title: str, parts: Iterable[bytes]) -> int:
    """A number of 64 bits for what comes in pieces; the same only if it is cut in the same way."""
    digest = blake2b(title.encode(errors="backslashreplace"), digest_size=8)
    for part in parts:
        digest.update(b"\0")
        digest.update(part)
    return int.from_bytes(digest.digest())
