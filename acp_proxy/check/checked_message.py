"""A decoded message, with its place in the conversation, as rules receive it."""

from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import Any

from attrs import define, field

from acp_proxy.base.limits import LONG_LIST
from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.check.schema_problems import ABSENT, SchemaComparison
from acp_proxy.protocol.connection_state import Exchange, Transition
from acp_proxy.protocol.json_text import json_or_none, member
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.updates import UPDATE, kind_and_update

CLIENT, AGENT = "client", "agent"
SENDERS = {Direction.TO_AGENT: CLIENT, Direction.TO_CLIENT: AGENT}
"""The side that sends messages of each direction."""
_RESPONSE, _ERROR = Kind.RESPONSE, Kind.ERROR  # enum lookups are slow
_WITH_PARAMS = (Kind.REQUEST, Kind.NOTIFICATION)
_FORMS = {
    3: ({"jsonrpc", "method", "params"}, {"jsonrpc", "id", "result"}),
    4: ({"jsonrpc", "id", "method", "params"},),
}
"""The usual sets of member names of a message, by the number of members."""


@define(eq=False)
class CheckedMessage:
    """A message, or a line that is not a message.

    A line that is too large is not decoded: `value` and the members made from it are empty, and
    only the labels in `parsed` are known.
    """

    seq: int
    t_ns: int
    direction: Direction
    parsed: Message
    transition: Transition
    """The change that the message caused in the state of the connection."""
    request: "CheckedMessage | None" = None
    """The request that the message answers; None for an unknown request, and for a message that is
    not an answer."""
    value: Any = None
    """The decoded message; None if the line is not JSON, or too large."""
    params: dict[str, Any] = field(factory=dict)
    """The params of a request or notification; empty if they are not an object."""
    result: dict[str, Any] = field(factory=dict)
    """The result of an answer; empty if the result is not an object."""
    update_kind: str = ""
    """The kind of a session update in any dialect; empty for any other message."""
    update: dict[str, Any] = field(factory=dict)
    """The members of a session update; empty for any other message."""
    is_plain: bool = False
    """Whether the message has exactly the usual members, each with the right type."""
    metadata: list[tuple[tuple[str, ...], Any]] | None = None
    """The values of ``_meta`` with their paths; None before they were searched for."""
    comparison: SchemaComparison | None = None
    """The comparison of the message with its type; None before the comparison is made."""
    broken: list[str] = field(factory=list)
    """The JSON pointers of values that have broken a rule so far."""

    @property
    def sender(self) -> str:
        """The side that sent the message: client or agent."""
        return SENDERS[self.direction]

    @property
    def receiver(self) -> str:
        """The side that receives the message: client or agent."""
        return SENDERS[self.direction.other]

    @property
    def is_result(self) -> bool:
        """Whether the message answers a request with a result."""
        return self.parsed.kind is _RESPONSE

    @property
    def is_error(self) -> bool:
        """Whether the message answers a request with an error."""
        return self.parsed.kind is _ERROR

    @property
    def method(self) -> str | None:
        """The method of the message, or of the request that the message answers."""
        return self.transition.method

    @property
    def session(self) -> str | None:
        """The session of the message."""
        return self.transition.session

    @property
    def answered(self) -> Exchange | None:
        """The exchange that the message answers; None if it answers no known request."""
        return self.transition.answered

    def compared_with(self, schema: DialectSchema | None) -> SchemaComparison:
        """Returns where the params or the result of the message do not match their type.

        An error, or an answer to an unknown request, has no type, and so no problems.

        Args:
            schema: the types of a dialect; None while the dialect is not known.
        """
        if schema is not None and isinstance(self.value, dict):
            method = self.method or ""
            if self.is_result and self.answered is not None:
                return schema.compare(self.direction.other, method, True, self.value.get("result"))
            if self.parsed.kind in _WITH_PARAMS:
                params = self.value.get("params", ABSENT)
                return schema.compare(self.direction, method, False, params)
        return SchemaComparison()

    @property
    def error(self) -> dict[str, Any]:
        """The error of an answer; empty if the error is not an object."""
        error = self.value.get("error") if isinstance(self.value, dict) else None
        return error if isinstance(error, dict) else {}


def checked(
    seq: int, t_ns: int, direction: Direction, message: Message, transition: Transition
) -> CheckedMessage:
    """Decodes a message.

    Args:
        seq: the number of the frame.
        t_ns: the time of the frame on the recording's clock.
        direction: the direction of the frame.
        message: the labels of the message, without its content.
        transition: the change that the message caused in the state of the connection.
    """
    checked_message = CheckedMessage(seq, t_ns, direction, message, transition)
    raw = message.raw
    if raw is None or raw.startswith(BOM_UTF8):  # json.loads would skip the mark
        return checked_message
    value = checked_message.value = json_or_none(raw)
    if not isinstance(value, dict):
        return checked_message
    checked_message.is_plain = _is_plain(value)
    if message.method is not None:
        if isinstance(params := value.get("params"), dict):
            checked_message.params = params
            if message.method == UPDATE:
                checked_message.update_kind, checked_message.update = kind_and_update(params)
    elif isinstance(result := value.get("result"), dict):
        checked_message.result = result
    return checked_message


def _is_plain(value: dict[str, Any]) -> bool:
    members = _FORMS.get(len(value))
    if members is None or value.keys() not in members or value["jsonrpc"] != "2.0":
        return False
    if type(value.get("id", 0)) not in (int, str):
        return False
    return "method" not in value or (type(value["method"]) is str and type(value["params"]) is dict)


def items(value: Any, most: int | None = LONG_LIST) -> list[Any]:
    """Returns the items of a list. Any other value has no items.

    Args:
        value: any JSON value, decoded.
        most: the largest number of items that are returned; None for all.
    """
    return value[:most] if isinstance(value, list) else []


def strings(values: Iterable[Any]) -> list[str]:
    """Returns the strings among some values; leaves out all other values."""
    return [value for value in values if isinstance(value, str)]


def names_in(values: Any, name: str = "id", most: int | None = 10_000) -> list[str]:
    """Returns the names of the objects in a list. Names that are not strings are left out.

    Args:
        values: the list of objects. Any other value has no names.
        name: the key under which each object has its name.
        most: the largest number of objects to read; None for all.
    """
    return strings(member(value, name) for value in items(values, most))


def integer(value: Any) -> int | None:
    """Returns an integer; None for any other value, including true and false."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
