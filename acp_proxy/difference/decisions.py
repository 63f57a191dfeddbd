"""What a client decided when it was asked for permission, in any dialect."""

from typing import Any

from acp_proxy.difference.forms import canonical
from acp_proxy.engine.shared.steps import PERMISSION
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.recording import Payload

_MOST_ASKED = 10_000
"""How many unanswered requests are remembered."""


def is_decision(frame: Payload) -> bool:
    """Whether a frame answers a request for permission, and no error."""
    answers = frame.kind == "response" and frame.stream == Direction.TO_AGENT
    return answers and frame.method == PERMISSION


class Decisions:
    """Reads answers with the options that their requests offered; fed in recorded order."""

    def __init__(self) -> None:
        self._offered: dict[bytes, list[dict[str, Any]]] = {}

    def feed(self, frame: Payload, message: Any) -> str | None:
        """Takes a request for permission or its answer.

        Args:
            frame: the frame.
            message: its message, decoded.

        Returns:
            The decision of an answer, as of `PermissionAnswer.decision`; None of anything else.
        """
        if frame.method != PERMISSION or not isinstance(message, dict):
            return None
        if frame.kind == "request":
            if len(self._offered) < _MOST_ASKED:
                self._offered[canonical(message.get("id"))] = options_of(message)
            return None
        options = self._offered.pop(canonical(message.get("id")), [])
        return read_answer(options, message).decision if is_decision(frame) else None
