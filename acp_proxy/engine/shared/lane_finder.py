"""Assigns recorded steps to lanes: one for each ACP session, and one for the connection.

A session's lane begins at the request that creates or loads it. What the agent said without naming
a session, a stray line, say, belongs to the lane of the frame that was recorded just before it.
"""

from collections import deque

from acp_proxy.engine.shared.steps import Answer, Step


class LaneFinder:
    """Says in which lane each step is; steps come in recorded order."""

    def __init__(self) -> None:
        self._of_exchange: dict[int, str | None] = {}
        self._last: str | None = None
        self._garbage: deque[Step] = deque()

    def place(self, step: Step) -> None:
        """Sets a step's lane."""
        if step.kind == "invalid" and not step.from_agent:
            self._garbage.append(step)
        elif step.kind == "error" and step.from_agent and step.exchange is None:
            self._pair_with_garbage(step)
        step.lane = self._last = self._lane(step)
        for exchange in (*(ask.exchange for ask in step.asks), step.exchange):
            if exchange is not None:
                self._of_exchange.setdefault(exchange, step.lane)

    def _pair_with_garbage(self, step: Step) -> None:
        """An error that answers no request answers a line that the agent could not read."""
        if step.rpc_id not in (None, "null") or step.session is not None or not self._garbage:
            return
        line = self._garbage.popleft()
        line.exchange = step.exchange = -line.seq
        line.response_seq, step.request_seq = step.seq, line.seq
        step.answers = (Answer(-line.seq, "null"),)
        self._of_exchange[-line.seq] = line.lane

    def _lane(self, step: Step) -> str | None:
        """A reply is in its request's lane; what names no session follows what was there."""
        for exchange in (*(answer.exchange for answer in step.answers), step.exchange):
            if exchange is not None and exchange in self._of_exchange:
                return self._of_exchange[exchange]
        if step.session is not None:
            return step.session
        return self._last if step.from_agent else None
