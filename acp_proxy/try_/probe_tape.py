"""The lines between the probes and one agent: answers of requests, and offences.

A line is named by its direction and its number, so that it can be found as a frame of the
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
"""The end of the id of a request that only shows what the agent has read."""
_ANSWERS = (Kind.RESPONSE, Kind.ERROR)
_OFFERED = (PERMISSION, "fs/read_text_file", "_", "$")
"""How the methods begin that the agent may call; extensions need no offer."""


LinePlace = tuple[Direction, int]
"""A line of a connection: its direction, and its number, from 1 on, in this direction."""


@define(eq=False)
class ProbeTape:
    """The connection with one agent.

    Attributes:
        lines: the lines of the probe that is being played: its own, and their answers.
        offences: the lines that break a probe without steps, each with a few words.
        open: the JSON text of the id of each open request, and the session of the request.
        strays: the answers to no request, while such answers are expected; otherwise None.
        moved: set by an update of an open request, and by each answer.
    """

    lines: list[LinePlace] = field(factory=list)
    offences: dict[str, list[tuple[LinePlace | None, str]]] = field(factory=dict)
    open: dict[str, Any] = field(factory=dict)
    strays: list[Any] | None = None
    moved: trio.Event = field(factory=trio.Event)
    _counts: Counter[Direction] = field(factory=Counter)

    def watch(self, direction: Direction, raw: bytes) -> None:
        """Takes a line of the connection.

        Args:
            direction: the direction.
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
        """Notes an offence.

        Args:
            probe: the probe that is broken.
            line: the line; None if there is none.
            words: what is wrong.
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
