"""Assigns recorded steps to lanes: one for each ACP session, and one for the connection.

A session's lane begins at the request that creates or loads it. A frame of the agent without a
session, for example a line that is no message, belongs to the lane of the frame recorded before it.
"""

from collections import deque

from acp_proxy.engine.shared.steps import Answer, Step


class LaneFinder:
    """Sets the lane of each step; steps come in recorded order."""

    def __init__(self) -> None:
        self._of_exchange: dict[int, str | None] = {}
        self._last: str | None = None
        self._unreadable: deque[Step] = deque()

    def place(self, step: Step) -> None:
        """Sets a step's lane."""
        if step.kind == "invalid" and not step.from_agent:
            self._unreadable.append(step)
        elif step.kind == "error" and step.from_agent and step.exchange is None:
            self._pair_with_unreadable(step)
        step.lane = self._last = self._lane(step)
        for exchange in (*(ask.exchange for ask in step.asks), step.exchange):
            if exchange is not None:
                self._of_exchange.setdefault(exchange, step.lane)

    def _pair_with_unreadable(self, step: Step) -> None:
        """An error that answers no request answers a line that the agent could not read."""
        if step.rpc_id not in (None, "null") or step.session is not None or not self._unreadable:
            return
        line = self._unreadable.popleft()
        line.exchange = step.exchange = -line.seq
        line.response_seq, step.request_seq = step.seq, line.seq
        step.answers = (Answer(-line.seq, "null"),)
        self._of_exchange[-line.seq] = line.lane

    def _lane(self, step: Step) -> str | None:
        """A reply is in its request's lane; a step without a session follows the step before it."""
        for exchange in (*(answer.exchange for answer in step.answers), step.exchange):
            if exchange is not None and exchange in self._of_exchange:
                return self._of_exchange[exchange]
        if step.session is not None:
            return step.session
        return self._last if step.from_agent else None
