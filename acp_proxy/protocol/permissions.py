"""Reads permission requests and their answers, in any dialect.

In v1 and v2 a request offers options, and the answer selects one of them by its id. In the 1.0
draft a request names an operation, and the answer is ``granted`` or not.
"""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from acp_proxy.protocol.json_text import member

GRANTED, DENIED = "granted", "denied"
"""The two usual decisions, in any dialect."""
_CANCELLED, _NO_DECISION = "cancelled", "nothing"
_OFFICIAL = ("options", "toolCall", "subject")
"""Members of a request in v1 and v2 that the 1.0 draft does not have."""


@frozen
class PermissionAnswer:
    """The answer of a client to a permission request."""

    result: Any
    """The result of the answer; None if the answer is an error."""
    kinds: tuple[Any, ...] = ()
    """The kinds of the options with the selected id, which several options may have."""

    @property
    def granted(self) -> bool | None:
        """The decision in an answer of the 1.0 draft; None in other dialects."""
        if isinstance(self.result, dict) and "granted" in self.result:
            return bool(self.result["granted"])
        return None

    @property
    def has_outcome(self) -> bool:
        """Whether the answer has the form of v1 and v2."""
        return isinstance(member(self.result, "outcome"), dict)

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is ``cancelled``.

        A client that cancels a turn must give this answer to the turn's open permission requests.
        """
        return bool(member(self.result, "outcome", "outcome") == _CANCELLED)

    @property
    def option_id(self) -> Any:
        """The id of the selected option; None if no option is selected."""
        return member(self.result, "outcome", "optionId")

    @property
    def kind(self) -> str:
        """The kind of the selected option; the option's id if the option was not offered."""
        return str(self.kinds[0] if self.kinds else self.option_id)

    @property
    def decision(self) -> str:
        """The decision: ``granted``, ``denied``, ``cancelled``, ``nothing``, or another word.

        Another word is an unknown outcome, or an option's kind or id that tells no decision.
        """
        if self.granted is not None:
            return GRANTED if self.granted else DENIED
        if not isinstance(self.option_id, str):
            outcome = member(self.result, "outcome")
            word = member(outcome, "outcome") if isinstance(outcome, dict) else outcome
            return word if isinstance(word, str) else _NO_DECISION
        kind = next((kind for kind in self.kinds if isinstance(kind, str)), self.option_id)
        if kind.startswith("allow"):
            return GRANTED
        return DENIED if kind.startswith("reject") else kind

    @property
    def may_allow(self) -> bool:
        """Whether an agent could read the answer as permission; False only for a clear refusal."""
        if member(self.result, "granted") is False:
            return False
        if not self.has_outcome:
            return self.result not in (None, {})
        if self.is_cancelled:
            return False
        return not self.kinds or not all(str(kind).startswith("reject_") for kind in self.kinds)


def read_answer(options: Iterable[dict[str, Any]], answer: Any) -> PermissionAnswer:
    """Reads the answer to a permission request.

    Args:
        options: the options that `options_of` returned for the request.
        answer: the whole answer, decoded.
    """
    result = member(answer, "result") if member(answer, "error") is None else None
    undecided = PermissionAnswer(result)
    if not undecided.has_outcome:
        return undecided
    wanted = undecided.option_id
    kinds = [option.get("kind") for option in options if option.get("optionId") == wanted]
    return PermissionAnswer(result, tuple(kinds))


def options_of(request: Any) -> list[dict[str, Any]]:
    """Returns the options of a decoded permission request; skips options that are not objects."""
    options = member(request, "params", "options")
    return [item for item in options if isinstance(item, dict)] if isinstance(options, list) else []


def unambiguous(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the options whose ids identify them, since an answer names only an option's id.

    If options with the same id differ, all of them are left out.
    """
    return [
        option
        for option in options
        if isinstance(wanted := option.get("optionId"), str)
        and all(other == option for other in options if other.get("optionId") == wanted)
    ]


def rejecting_option(request: Any) -> str | None:
    """Returns the id of an offered option that rejects; None if no option rejects.

    Prefers an option that rejects once to an option that always rejects.
    """
    offered = unambiguous(options_of(request))
    for kind in ("reject_once", "reject_always"):
        for option in offered:
            if option.get("kind") == kind:
                return str(option["optionId"])
    return None


def is_draft(request: Any) -> bool:
    """Whether a permission request has the form of the 1.0 draft: no options and no tool call."""
    params = member(request, "params")
    return isinstance(params, dict) and params.keys().isdisjoint(_OFFICIAL)
