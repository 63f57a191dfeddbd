"""What a client decided when it was asked for permission, in any dialect."""

from typing import Any

from acp_proxy.difference.forms import canonical
from acp_proxy.engine.shared.steps import PERMISSION
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import Payload

GRANTED, DENIED = "granted", "denied"
_MOST_ASKED = 10_000
"""How many questions are remembered that nobody has answered."""


def is_decision(frame: Payload) -> bool:
    """Whether a frame answers a request for permission, and no error."""
    answers = frame.kind == "response" and frame.stream == Direction.TO_AGENT
    return answers and frame.method == PERMISSION


class Decisions:
    """Reads answers with the options that their requests offered; fed in recorded order."""

    def __init__(self) -> None:
        self._offered: dict[bytes, dict[str, str]] = {}

    def feed(self, frame: Payload, message: Any) -> str | None:
        """Takes a request for permission or its answer; returns what an answer says.

        Returns:
            ``granted``, ``denied``, ``cancelled``, or what else it says; None if it is no answer.
        """
        if frame.method != PERMISSION or not isinstance(message, dict):
            return None
        if frame.kind == "request":
            if len(self._offered) < _MOST_ASKED:
                self._offered[canonical(message.get("id"))] = _kinds(message.get("params"))
            return None
        kinds = self._offered.pop(canonical(message.get("id")), {})
        return _decision(message.get("result"), kinds) if is_decision(frame) else None


def _kinds(params: Any) -> dict[str, str]:
    """The kinds of the options, by their ids."""
    options = params.get("options") if isinstance(params, dict) else None
    found = {}
    for option in options if isinstance(options, list) else ():
        name, kind = (
            (option.get("optionId"), option.get("kind")) if isinstance(option, dict) else (0, 0)
        )
        if isinstance(name, str) and isinstance(kind, str):
            found[name] = kind
    return found


def _decision(result: Any, kinds: dict[str, str]) -> str:
    if not isinstance(result, dict):
        return "nothing"
    if isinstance(granted := result.get("granted"), bool):  # draft-1.0
        return GRANTED if granted else DENIED
    outcome = result.get("outcome")
    chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
    if not isinstance(chosen, str):
        said = outcome.get("outcome") if isinstance(outcome, dict) else outcome
        return said if isinstance(said, str) else "nothing"
    kind = kinds.get(chosen, chosen)
    if kind.startswith("allow"):
        return GRANTED
    return DENIED if kind.startswith("reject") else kind
