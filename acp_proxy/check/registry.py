"""Registers the functions of rules for the messages that they check.

    @rule("fs.path-absolute", requests=("fs/read_text_file", "fs/write_text_file"))
    def path_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
        if is_relative(message.params.get("path")):
            yield Breach(f"{message.method} names a relative path")

A function receives the message, and the conversation as it was *before* the message. (Only
`Conversation.connection` includes the message.) The function yields breaches, accepts any JSON,
never raises, and changes only `Conversation.memory`.

A rule may have several functions. A function that only remembers something returns None.
"""

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.check.check_values import Breach
from acp_proxy.check.checked_message import CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.methods import UPDATE_KINDS, kind_of
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.updates import UPDATE

ANY = "*"
"""Stands for all methods, or for all kinds of updates."""

MessageRule = Callable[[CheckedMessage, Conversation], Iterable[Breach] | None]
Condition = Callable[[CheckedMessage, Conversation], bool]
TurnRule = Callable[[EndedTurn, Conversation], Iterable[Breach]]
EndRule = Callable[[Conversation], Iterable[Breach]]


class Registered(NamedTuple):
    """A function of a rule, with the id of the rule."""

    rule: str
    function: MessageRule
    is_alone: bool
    """Whether the function looks at single messages only, so that gaps in the recording do not
    matter."""
    is_for_odd: bool = False
    """Whether the function receives only undefined messages: methods that the dialect does not
    define for this direction and kind of message, and undefined kinds of updates."""
    when: Condition | None = None
    """The function is called only if this condition is true; None to call it always. Functions with
    the same condition share one evaluation for each message."""


BY_TRIGGER: dict[tuple[str, str], list[Registered]] = {}
"""The functions for messages. A key has two parts: a kind of message; and a method, a kind of
update, or `ANY`."""
AT_TURN_END: list[tuple[str, TurnRule]] = []
"""The functions that are called for each ended turn."""
AT_END: list[tuple[str, EndRule]] = []
"""The functions that are called at the end of the conversation."""


def rule(
    rule_id: str,
    every: str = "",
    *,
    requests: Iterable[str] = (),
    notifications: Iterable[str] = (),
    answers: Iterable[str] = (),
    results: Iterable[str] = (),
    updates: Iterable[str] = (),
    odd: bool = False,
    when: Condition | None = None,
    alone: bool = False,
) -> Callable[[MessageRule], MessageRule]:
    """Registers a function that checks messages.

    The argument `every` is empty, or one of these words:

    - "line": all lines, including batches and lines that are not messages;
    - "odd line": lines that are not one message, such as invalid JSON, blank lines and batches;
    - "odd object": JSON objects, alone or in a batch, whose `CheckedMessage.is_plain` is False;
    - "message": all messages, including each message of a batch;
    - "last": messages that do not match their type; the function is called after all others.

    Args:
        rule_id: the id of the rule.
        every: the lines that the function receives in addition to the messages that the next
            arguments choose; see above.
        requests: requests with these methods; `ANY` stands for all methods.
        notifications: notifications with these methods.
        answers: results and errors that answer requests with these methods.
        results: results that answer requests with these methods.
        updates: session updates of these kinds.
        odd: whether the function receives only undefined messages: methods that the dialect does
            not define for this direction and kind of message, and undefined kinds of updates.
        when: the condition for a call of the function; None to call the function always.
        alone: whether the function looks at each message by itself, so that gaps in the recording
            do not matter.
    """
    triggers = [(every, ANY)] if every else []
    triggers += [("request", name) for name in requests]
    triggers += [("notification", name) for name in notifications]
    triggers += [("result", name) for name in (*answers, *results)]
    triggers += [("error", name) for name in answers]
    triggers += [("update", name) for name in updates]

    def register(function: MessageRule) -> MessageRule:
        for trigger in triggers:
            entry = Registered(rule_id, function, alone, odd, when)
            BY_TRIGGER.setdefault(trigger, []).append(entry)
        return function

    return register


def turn_rule(rule_id: str) -> Callable[[TurnRule], TurnRule]:
    """Registers a function that checks a turn when it has ended."""

    def register(function: TurnRule) -> TurnRule:
        AT_TURN_END.append((rule_id, function))
        return function

    return register


def end_rule(rule_id: str) -> Callable[[EndRule], EndRule]:
    """Registers a function that checks the conversation at its end."""

    def register(function: EndRule) -> EndRule:
        AT_END.append((rule_id, function))
        return function

    return register


def registered_ids() -> set[str]:
    """Returns the ids of the rules that have functions."""
    of_messages = {entry.rule for entries in BY_TRIGGER.values() for entry in entries}
    return of_messages | {rule_id for rule_id, _ in (*AT_TURN_END, *AT_END)}


IN_FLIGHT_NS = 10_000_000
"""Two messages of different sides that are closer in time than this have probably crossed: neither
sender had read the message of the other side."""
MOMENT_NS = 500_000_000
"""The longest time that a busy peer needs to read a message."""


def is_early(_message: CheckedMessage, conversation: Conversation) -> bool:
    """Whether the agent has not answered ``initialize`` yet.

    Args:
        _message: the message.
        conversation: the conversation before the message.
    """
    return conversation.agent.announced is None


def is_while_opening(_message: CheckedMessage, conversation: Conversation) -> bool:
    """Whether a session is being opened.

    Args:
        _message: the message.
        conversation: the conversation before the message.
    """
    return bool(conversation.opening)


def has_stream_ended(_message: CheckedMessage, conversation: Conversation) -> bool:
    """Whether any stream has ended.

    Args:
        _message: the message.
        conversation: the conversation before the message.
    """
    return bool(conversation.ended_streams)


def has_metadata(message: CheckedMessage, _conversation: Conversation) -> bool:
    """Whether a message may contain ``_meta`` at any depth.

    Args:
        message: the message.
        _conversation: the conversation before the message.
    """
    return message.parsed.raw is not None and b'"_meta"' in message.parsed.raw


def is_first(message: CheckedMessage, conversation: Conversation) -> bool:
    """Whether a message is the first of its direction.

    Args:
        message: the message.
        conversation: the conversation before the message.
    """
    return message.direction not in conversation.first


class RulePlan(NamedTuple):
    """The functions for one kind of message."""

    always: list[Registered]
    conditional: list[tuple[Condition, list[Registered]]]
    """Functions that are called only if a condition is true, grouped by the condition."""


class RulePlans:
    """The functions of the rules that are checked.

    Args:
        rules: the ids of the rules that are checked.
        dialect: the dialect whose rules apply; None for an unknown dialect.
    """

    def __init__(self, rules: Container[str], dialect: str | None) -> None:
        self._by_trigger = {
            trigger: [registered for registered in entries if registered.rule in rules]
            for trigger, entries in BY_TRIGGER.items()
        }
        self._dialect = dialect
        self._plans: dict[tuple[str, str, Direction], RulePlan] = {}

    def find(self, trigger: str, name: str, direction: Direction = Direction.TO_AGENT) -> RulePlan:
        """Returns the functions for messages with a method, or for updates of a kind.

        Args:
            trigger: the kind of message.
            name: the method or the kind of update; `ANY` for functions that receive all messages.
            direction: the direction of a request or notification.
        """
        key = trigger, name, direction
        plan = self._plans.get(key)
        if plan is None:
            find = self._by_trigger.get
            registered = [*find((trigger, ANY), ())]
            registered += find(("message", ANY), ()) if name != ANY else ()
            if trigger == "update":
                registered += find(("notification", UPDATE), ())
                registered += find(("notification", ANY), ())
            registered += find((trigger, name), ()) if name != ANY else ()
            if self._is_usual(*key):
                registered = [entry for entry in registered if not entry.is_for_odd]
            plan = _planned(registered)
            if len(self._plans) < REMEMBERED:
                self._plans[key] = plan
        return plan

    def _is_usual(self, trigger: str, name: str, direction: Direction) -> bool:
        """Whether the dialect defines the update, or the method for this trigger and direction."""
        if trigger == "update":
            return name in UPDATE_KINDS.get(self._dialect or "", ())
        return kind_of(self._dialect, direction, name) == trigger


def _planned(entries: Iterable[Registered]) -> RulePlan:
    plan, conditional = RulePlan([], []), dict[Condition, list[Registered]]()
    for entry in entries:
        if entry.when is None:
            plan.always.append(entry)
        else:
            conditional.setdefault(entry.when, []).append(entry)
    plan.conditional.extend(conditional.items())
    return plan
