"""The requests of both peers that have no answer yet.

Both peers number their own requests, so the same id may be open in both directions at once.
"""

from attrs import frozen

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.shared.steps import Ask, Step


@frozen
class OpenClientRequest:
    """A request of the client that has come."""

    lane: Lane
    step: Step
    """The recorded request."""
    token: str
    """Its live id."""


class OpenClientRequests:
    """The client's requests that have come.

    Attributes:
        live_ids: the live ids of those whose recorded answer has not gone out, by exchange. A
            request that was closed without it is still among them.
    """

    def __init__(self) -> None:
        self.live_ids: dict[int, str] = {}
        self._open: dict[int, OpenClientRequest] = {}

    def add(self, lane: Lane, step: Step, token: str) -> None:
        """Adds a request that came.

        Args:
            lane: its lane.
            step: the recorded request.
            token: the live id.
        """
        if step.exchange is not None:
            self.live_ids[step.exchange] = token
            self._open[step.exchange] = OpenClientRequest(lane, step, token)

    def add_unreadable(self, step: Step) -> None:
        """Adds a line that is no message, which the recorded agent may have answered."""
        if step.exchange is not None:
            self.live_ids[step.exchange] = "null"

    def answer(self, exchange: int, recorded: str) -> str:
        """Closes a request to which the recorded answer goes out.

        Args:
            exchange: the request's.
            recorded: the recorded id.

        Returns:
            the live id; the recorded one if the request never came.
        """
        self._open.pop(exchange, None)
        return self.live_ids.pop(exchange, recorded)

    def close(self, request: OpenClientRequest) -> None:
        """Closes a request that gets another answer than the recorded one."""
        assert request.step.exchange is not None
        del self._open[request.step.exchange]

    def open_in(self, lane: Lane) -> list[OpenClientRequest]:
        """Returns the requests of a lane that have no answer, oldest first."""
        return [one for one in self._open.values() if one.lane is lane]

    def with_id(self, token: str) -> OpenClientRequest | None:
        """Returns the oldest open request with a live id."""
        return next((one for one in self._open.values() if one.token == token), None)

    def exchanges_of(self, token: str) -> set[int]:
        """Returns the exchanges of the requests with a live id that wait for recorded answers."""
        return {exchange for exchange, live in self.live_ids.items() if live == token}

    @property
    def ids(self) -> dict[str, str]:
        """The live ids of the open requests, by the recorded ids."""
        return {
            one.step.rpc_id: one.token for one in self._open.values() if one.step.rpc_id is not None
        }


@frozen
class OpenAgentRequest:
    """A request of the agent that went out."""

    ask: Ask
    step: Step
    """The frame that it is in."""


class OpenAgentRequests:
    """The agent's requests that went out and have no answer yet."""

    def __init__(self) -> None:
        self._open: dict[str, list[OpenAgentRequest]] = {}

    def add(self, ask: Ask, step: Step) -> None:
        """Adds a request that went out.

        Args:
            ask: the request.
            step: the frame that it is in.
        """
        self._open.setdefault(ask.rpc_id, []).append(OpenAgentRequest(ask, step))

    def take(self, token: str) -> OpenAgentRequest | None:
        """Removes and returns the oldest request with an id, if one is open."""
        requests = self._open.get(token)
        if requests is None:
            return None
        request = requests.pop(0)
        if not requests:
            del self._open[token]
        return request
