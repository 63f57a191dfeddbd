"""Finds the live option that a recorded answer to a permission request means."""

from typing import Any

from attrs import frozen

from acp_proxy.engine.client.messages import member
from acp_proxy.protocol.permissions import options_of, unambiguous

_FOR_ONE = ("allow_once", "reject_once", "reject_always")
"""Kinds of options of which any two allow the same."""


@frozen
class OptionChoice:
    """What a recorded answer to a permission request becomes."""

    option: str | None
    """The live option's id; None if the answer chose none, or there is none like it."""
    is_possible: bool = True


def choice(asked: Any, live: Any, answer: Any) -> OptionChoice:
    """Finds the live option for a recorded answer: the same one, or else one of its kind.

    It is always of the recorded kind: what was allowed once is not allowed for ever, and an id that
    means another kind now, or two things at once, is not the same. What is allowed for more than
    once has to be called the same as well, by its id or its name, since such options tell by these
    how far they reach.

    Args:
        asked: the recorded request, decoded.
        live: the live one.
        answer: the recorded answer.
    """
    chosen = member(member(answer, "result"), "outcome")
    if not isinstance(chosen, dict) or chosen.get("outcome") != "selected":
        return OptionChoice(None)
    wanted = chosen.get("optionId")
    offered = options_of(live)
    recorded = next((o for o in options_of(asked) if o.get("optionId") == wanted), None)
    if recorded is None:  # a choice of what was not offered is nothing that could be found
        return OptionChoice(None, is_possible=all(o.get("optionId") != wanted for o in offered))
    kind = recorded.get("kind")
    same_kind = [o for o in unambiguous(offered) if o.get("kind") == kind]
    for key in ("optionId", "name", "kind") if kind in _FOR_ONE else ("optionId", "name"):
        value = recorded.get(key)
        for option in same_kind:
            if value is not None and option.get(key) == value:
                return OptionChoice(str(option["optionId"]))
    return OptionChoice(None, is_possible=False)
