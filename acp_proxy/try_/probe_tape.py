"""Watches the lines between the probes and one agent: answers to requests, and broken rules.

A line is identified by its direction and its number, so that its frame can be found in the
recording.
"""

from collections import Counter
from typing import Any

import trio
from attrs import define, field

from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message, read
from acp_proxy.protocol.updates import TURN_OUTPUT, UPDATE
from acp_proxy.try_.probes import brief

NEXT = ":next"
"""The end of the id of an extra request. Its answer shows that the agent has read all earlier
lines."""
_ANSWERS = (Kind.RESPONSE, Kind.ERROR)
_OFFERED = (PERMISSION, "fs/read_text_file", "_", "$")
"""The beginnings of the methods that the agent may call; ``_`` and ``$`` begin extensions."""


LinePlace = tuple[Direction, int]
"""Identifies a line of a connection: its direction, and its number in that direction, from 1."""


@define(eq=False)
class ProbeTape:
    """Collects what passes between the probes and one agent.

    Attributes:
        lines: the lines that the current probe sent, and the answers to these lines.
        offences: the lines that break a probe without steps, each with a few words; by the probe's
            id. None in place of a line if no single line breaks the probe.
        open: the session of each open request, by the request's id as JSON text.
        strays: the answers that belong to no open request. None if no answer of this kind is
            expected now.
        moved: an event. It is set by each answer, and by an update in a session with an open
            request.
    """

    lines: list[LinePlace] = field(factory=list)
    offences: dict[str, list[tuple[LinePlace | None, str]]] = field(factory=dict)
    open: dict[str, Any] = field(factory=dict)
    strays: list[Any] | None = None
    moved: trio.Event = field(factory=trio.Event)
    _counts: Counter[Direction] = field(factory=Counter)

    def watch(self, direction: Direction, raw: bytes) -> None:
        """Notes what a line of the connection shows.

        Args:
            direction: the direction of the line.
            raw: the line, without its newline.
        """
        self._counts[direction] += 1
        line, labels = (direction, self._counts[direction]), read(raw)
        if direction is Direction.TO_AGENT:
            if labels.kind not in _ANSWERS and NEXT not in (labels.rpc_id or ""):
                self.lines.append(line)
            return
        if labels.kind is Kind.INVALID:
            self.blame("lines", line, brief(raw.decode(errors="replace")))
        for label in labels.members or (labels,):
            if label.kind in _ANSWERS:
                self._take_answer(label, line)
            elif label.method == UPDATE:
                self._take_update(label, line)
            elif label.kind is Kind.REQUEST and not str(label.method).startswith(_OFFERED):
                self.blame("calls", line, f"it called {label.method}")

    def blame(self, probe: str, line: LinePlace | None, words: str) -> None:
        """Notes that the agent broke a probe.

        Args:
            probe: the id of the probe.
            line: the line that breaks the probe; None if no single line breaks it.
            words: what is wrong, in a few words.
        """
        self.offences.setdefault(probe, []).append((line, words))

    def _take_answer(self, label: Message, line: LinePlace) -> None:
        token = label.rpc_id or "null"
        if token in self.open:
            del self.open[token]
            self.moved.set()
        elif self.strays is not None:
            self.strays.append(json_or_none(label.raw or b""))
        else:
            self.blame("answers", line, f"an answer came that has the id {token}")
            return
        if NEXT not in token:
            self.lines.append(line)

    def _take_update(self, label: Message, line: LinePlace) -> None:
        if label.session in self.open.values():
            self.moved.set()
        elif label.update in TURN_OUTPUT:
            self.blame("updates", line, f"{label.update} came in a session without a turn")
