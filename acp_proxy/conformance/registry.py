"""How the function of a rule is bound to the messages that it looks at.

    @rule("fs.path-absolute", requests=("fs/read_text_file", "fs/write_text_file"))
    def path_is_absolute(seen: CheckedMessage, talk: Conversation) -> Iterator[Breach]:
        if is_relative(seen.params.get("path")):
            yield Breach(f"{seen.method} names a relative path")

A function gets the message and the conversation *as it was before the message*, but for the state
machine of the connection, which has taken it. It yields what is broken, never raises, whatever JSON
it gets, and changes nothing but `Conversation.memory`. A rule may have several functions; one that
only keeps something for another one returns None.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from acp_proxy.conformance.checked_message import CheckedMessage
from acp_proxy.conformance.conversation import Conversation
from acp_proxy.conformance.session_record import EndedTurn
from acp_proxy.conformance.values import Breach

ANY = "*"
"""In a list of methods or kinds: every one."""

MessageRule = Callable[[CheckedMessage, Conversation], Iterable[Breach] | None]
Condition = Callable[[CheckedMessage, Conversation], bool]
TurnRule = Callable[[EndedTurn, Conversation], Iterable[Breach]]
EndRule = Callable[[Conversation], Iterable[Breach]]


class Registered(NamedTuple):
    """A function, and the rule that it looks for."""

    rule: str
    function: MessageRule
    is_alone: bool
    """Whether it judges by the message alone, so that a gap in the recording does not matter."""
    is_for_odd: bool = False
    """Whether it looks only at methods and updates that the dialect does not have there."""
    when: Condition | None = None
    """What has to hold first; asked once for all functions with the same condition."""


class Registry:
    """The functions of all rules, by what they look at.

    Attributes:
        by_trigger: by a trigger and a method, a kind of update or `ANY`.
        at_turn_end: for each turn that has ended.
        at_end: for the end of the conversation.
    """

    def __init__(self) -> None:
        self.by_trigger: dict[tuple[str, str], list[Registered]] = {}
        self.at_turn_end: list[tuple[str, TurnRule]] = []
        self.at_end: list[tuple[str, EndRule]] = []

    def rule(
        self,
        rule_id: str,
        *,
        lines: bool = False,
        odd_lines: bool = False,
        odd_objects: bool = False,
        messages: bool = False,
        requests: Iterable[str] = (),
        notifications: Iterable[str] = (),
        answers: Iterable[str] = (),
        results: Iterable[str] = (),
        updates: Iterable[str] = (),
        last: bool = False,
        odd: bool = False,
        when: Condition | None = None,
        alone: bool = False,
    ) -> Callable[[MessageRule], MessageRule]:
        """Registers a function that looks at messages.

        Args:
            rule_id: the rule.
            lines: it looks at every line, also at those that are no message, and at batches.
            odd_lines: at lines that are not one message: no JSON, blank ones, batches and so on.
            odd_objects: at JSON objects, also in batches, that are not `CheckedMessage.is_plain`.
            messages: at every message that is one, those of batches each by itself.
            requests: at requests of these methods, or of `ANY`.
            notifications: at notifications of these methods.
            answers: at results and errors that answer these methods.
            results: at results only.
            updates: at session updates of these kinds.
            last: at messages that are not of their type, after all others have looked at them.
            odd: only at methods that the dialect does not have in that direction and as that kind
                of message, and at kinds of updates that it does not have.
            when: only when this holds.
            alone: it judges by the message alone.
        """
        triggers = [("line", ANY)] if lines else []
        triggers += [("odd line", ANY)] if odd_lines else []
        triggers += [("odd object", ANY)] if odd_objects else []
        triggers += [("message", ANY)] if messages else []
        triggers += [("request", name) for name in requests]
        triggers += [("notification", name) for name in notifications]
        triggers += [("result", name) for name in (*answers, *results)]
        triggers += [("error", name) for name in answers]
        triggers += [("update", name) for name in updates]
        triggers += [("last", ANY)] if last else []

        def register(function: MessageRule) -> MessageRule:
            for trigger in triggers:
                entry = Registered(rule_id, function, alone, odd, when)
                self.by_trigger.setdefault(trigger, []).append(entry)
            return function

        return register

    def turn_rule(self, rule_id: str) -> Callable[[TurnRule], TurnRule]:
        """Registers a function that looks at a turn that has just ended."""

        def register(function: TurnRule) -> TurnRule:
            self.at_turn_end.append((rule_id, function))
            return function

        return register

    def end_rule(self, rule_id: str) -> Callable[[EndRule], EndRule]:
        """Registers a function that looks at the conversation when it is over."""

        def register(function: EndRule) -> EndRule:
            self.at_end.append((rule_id, function))
            return function

        return register

    def ids(self) -> Iterator[str]:
        """Yields the rules that have functions, some several times."""
        for entries in self.by_trigger.values():
            yield from (entry.rule for entry in entries)
        yield from (rule_id for rule_id, _ in (*self.at_turn_end, *self.at_end))


REGISTRY = Registry()
"""What the modules of `rules` register."""
rule, turn_rule, end_rule = REGISTRY.rule, REGISTRY.turn_rule, REGISTRY.end_rule
