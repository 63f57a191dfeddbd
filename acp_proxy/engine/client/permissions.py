"""What permission requests and the answers to them look like, and which option an answer means.

In v1 and v2 a request offers options, and the answer chooses one. In the 1.0 draft it names an
operation, and the answer is ``granted`` or not.
"""

from typing import Any

from attrs import frozen

from acp_proxy.engine.client.messages import member

_FOR_ONE = ("allow_once", "reject_once", "reject_always")
"""Kinds of options of which any two allow the same."""

_OFFICIAL = ("options", "toolCall", "subject")
"""Members of a request in v1 and v2 that the 1.0 draft does not know."""


@frozen
class Choice:
    """What a recorded answer to a permission request becomes."""

    option: str | None
    """The live option's id; None if the answer chose none, or there is none like it."""
    is_possible: bool = True


def choice(asked: Any, live: Any, answer: Any) -> Choice:
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
        return Choice(None)
    wanted = chosen.get("optionId")
    offered = options_of(live)
    recorded = next((o for o in options_of(asked) if o.get("optionId") == wanted), None)
    if recorded is None:  # a choice of what was not offered is nothing that could be found
        return Choice(None, is_possible=all(o.get("optionId") != wanted for o in offered))
    kind = recorded.get("kind")
    same_kind = [o for o in _tellable(offered) if o.get("kind") == kind]
    for key in ("optionId", "name", "kind") if kind in _FOR_ONE else ("optionId", "name"):
        value = recorded.get(key)
        for option in same_kind:
            if value is not None and option.get(key) == value:
                return Choice(str(option["optionId"]))
    return Choice(None, is_possible=False)


def allows(asked: Any, answer: Any) -> bool:
    """Whether an answer may give leave: whatever is not known to refuse it.

    Args:
        asked: the request, decoded.
        answer: its answer.
    """
    if member(answer, "error") is not None:
        return False
    result = member(answer, "result")
    if member(result, "granted") is False:
        return False
    chosen = member(result, "outcome")
    if not isinstance(chosen, dict):
        return result not in (None, {})
    if chosen.get("outcome") == "cancelled":
        return False
    same = [o for o in options_of(asked) if o.get("optionId") == chosen.get("optionId")]
    return not same or not all(str(o.get("kind")).startswith("reject_") for o in same)


def is_draft(request: Any) -> bool:
    """Whether a request has the form of the 1.0 draft: no options, and no tool call of v1 or v2."""
    params = member(request, "params")
    return isinstance(params, dict) and params.keys().isdisjoint(_OFFICIAL)


def rejecting(request: Any) -> str | None:
    """The id of the option that rejects, rather for once; None if there is none."""
    offered = _tellable(options_of(request))
    for kind in ("reject_once", "reject_always"):
        for option in offered:
            if option.get("kind") == kind:
                return str(option["optionId"])
    return None


def kinds_of(request: Any) -> list[str]:
    """The kinds of a request's options, sorted."""
    return sorted(str(option.get("kind")) for option in options_of(request))


def options_of(request: Any) -> list[dict[str, Any]]:
    """The options of a permission request."""
    options = member(member(request, "params"), "options")
    return [o for o in options if isinstance(o, dict)] if isinstance(options, list) else []


def _tellable(options: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose id means nothing else; an answer names an option by its id alone."""
    return [
        option
        for option in options
        if isinstance(wanted := option.get("optionId"), str)
        and all(other == option for other in options if other.get("optionId") == wanted)
    ]
