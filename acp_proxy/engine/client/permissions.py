"""Which of the live options of a permission request the recorded answer means."""

from typing import Any

from attrs import frozen

from acp_proxy.engine.client.reading import member


@frozen
class Choice:
    """What a recorded answer to a permission request becomes."""

    option: str | None
    """The live option's id; None if the answer chose none, or there is none like it."""
    is_possible: bool = True


def choice(asked: Any, live: Any, answer: Any) -> Choice:
    """Finds the live option for a recorded answer: the same one, or else one of its kind.

    It is always of the recorded kind: what was allowed once is not allowed for ever, and an id that
    means another kind now is not the same.

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
    same_kind = [o for o in offered if o.get("kind") == kind and isinstance(o.get("optionId"), str)]
    for key in ("optionId", "name", "kind"):
        value = recorded.get(key)
        for option in same_kind:
            if value is not None and option.get(key) == value:
                return Choice(str(option["optionId"]))
    return Choice(None, is_possible=False)


def allows(asked: Any, answer: Any) -> bool:
    """Whether an answer may give leave: it chooses an option that is not known to reject.

    Args:
        asked: the request, decoded.
        answer: its answer.
    """
    chosen = member(member(answer, "result"), "outcome")
    if not isinstance(chosen, dict) or chosen.get("outcome") != "selected":
        return False
    same = [o for o in options_of(asked) if o.get("optionId") == chosen.get("optionId")]
    return not same or not all(str(o.get("kind")).startswith("reject_") for o in same)


def rejecting(request: Any) -> str | None:
    """The id of the option that rejects, rather for once; None if there is none."""
    for kind in ("reject_once", "reject_always"):
        for option in options_of(request):
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return str(option["optionId"])
    return None


def kinds_of(request: Any) -> list[str]:
    """The kinds of a request's options, sorted."""
    return sorted(str(option.get("kind")) for option in options_of(request))


def options_of(request: Any) -> list[dict[str, Any]]:
    """The options of a permission request."""
    options = member(member(request, "params"), "options")
    return [o for o in options if isinstance(o, dict)] if isinstance(options, list) else []
