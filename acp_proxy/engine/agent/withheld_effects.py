"""Tracks the effects of withheld requests: what was not created, and which messages cannot come.

A client that was not asked to create a terminal does not send its output. One that did not get an
unknown request may leave out requests of its own.
"""

from typing import Any

from acp_proxy.engine.shared.steps import Script, Step
from acp_proxy.protocol.effects import ClientEffect, effect_of
from acp_proxy.protocol.json_text import json_or_none, member, params_of

_MADE = {"terminal/create": "terminalId", "mcp/connect": "connectionId"}
"""Requests that make something, and the name of its id in the answer."""
_USING = {"terminal/output": "terminalId", "mcp/message": "connectionId"}
"""Requests of the client that name such an id."""


class WithheldEffects:
    """Notes withheld requests that have consequences for later messages."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._has_hidden_unknown = False
        self._unmade: set[tuple[str, str]] = set()
        """Terminals and connections that were never made, as the recording calls them."""

    @property
    def has_unmade(self) -> bool:
        """Whether anything was not made."""
        return bool(self._unmade)

    def note_withheld(self, method: str | None) -> None:
        """Notes that a request of this method was withheld."""
        if effect_of(method, self._script.dialect) is ClientEffect.OTHER:
            self._has_hidden_unknown = True

    def note_unmade(self, method: str | None, reply: Any) -> None:
        """Notes what a withheld request would have made, if anything.

        Args:
            method: the request's.
            reply: its recorded answer, decoded.
        """
        name = _MADE.get(method or "")
        if name is not None and isinstance(made := member(reply, "result", name), str):
            self._unmade.add((name, made))

    def may_prevent(self, step: Step) -> bool:
        """Returns whether a request of the client may follow from what was withheld."""
        is_own = (step.method or "").startswith("_")
        return self._has_hidden_unknown and step.kind == "request" and is_own

    def prevents(self, step: Step) -> bool:
        """Returns whether a message of the client will not come: it is about what was not made."""
        name = _USING.get(step.method or "")
        if not self._unmade or name is None or step.kind not in ("request", "notification"):
            return False
        params = params_of(json_or_none(self._script.wire(step.seq).message_of(step)))
        return self._is_unmade(name, params.get(name))

    def concerns(self, raw: bytes) -> bool:
        """Returns whether a recorded request of the agent is about what was not made."""
        params = params_of(json_or_none(raw))
        return any(self._is_unmade(name, params.get(name)) for name in _MADE.values())

    def _is_unmade(self, name: str, value: object) -> bool:
        return isinstance(value, str) and (name, value) in self._unmade
