"""The unanswered requests of both peers, and the open turns.

A state machine (`Connection`) tracks requests and turns; this module maps each request to its
recorded message. The state machine gets recorded session ids, live request ids, and zero for each
frame number and time.

Each peer numbers its own requests, so an id may be open in both directions at the same time.
"""

from attrs import frozen

from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Turn
from acp_proxy.protocol.dialects import CANCEL, V1
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.steps import Ask, Step

_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


@frozen
class OpenClientRequest:
    """An open request of the client."""

    step: Step
    """The recorded request."""
    token: str
    """The live id of the request."""


@frozen
class OpenAgentRequest:
    """An open request of the agent."""

    ask: Ask
    step: Step
    """The recorded frame that contains the request."""


class OpenRequests:
    """The open requests and turns of the live connection."""

    def __init__(self, dialect: str | None) -> None:
        self.live_ids: dict[int, str] = {}
        """The live id of each client request whose recorded answer was not sent, by exchange."""
        self._come: list[int] = []
        self._connection = Connection(dialect=dialect or V1)
        self._of_client: dict[int, OpenClientRequest] = {}
        self._by_lane: dict[str | None, dict[int, OpenClientRequest]] = {}
        self._of_agent: dict[int, OpenAgentRequest] = {}

    def add_of_client(self, step: Step, token: str) -> None:
        """Adds a request that came.

        Args:
            step: the recorded request.
            token: the live id of the request.
        """
        if step.exchange is not None:
            self.live_ids[step.exchange] = token
            self._come.append(step.exchange)
            opened = self._open(_TO_AGENT, step.method, token, step.lane)
            self._of_client[opened] = request = OpenClientRequest(step, token)
            self._by_lane.setdefault(step.lane, {})[opened] = request

    def add_unreadable(self, step: Step) -> None:
        """Adds a line that is not a message but may have a recorded answer."""
        if step.exchange is not None:
            self.live_ids[step.exchange] = "null"
            self._come.append(step.exchange)

    def take_come(self) -> list[int]:
        """Returns the exchanges of the requests that came since the previous call."""
        come, self._come = self._come, []
        return come

    def answer(self, step: Step) -> dict[str, str]:
        """Closes the requests that a recorded frame answers; returns live ids by recorded ids.

        The recorded id of a request that never came is mapped to itself.
        """
        ids = {}
        for answer in step.answers:
            if (token := self.live_ids.pop(answer.exchange, None)) is not None:
                self._answer(token, Kind.ERROR if step.kind == "error" else Kind.RESPONSE)
            ids[answer.rpc_id] = token or answer.rpc_id
        return ids

    def close(self, request: OpenClientRequest) -> None:
        """Closes a request of the client that does not get its recorded answer."""
        self._answer(request.token, Kind.RESPONSE)

    def open_in(self, lane: Lane) -> list[OpenClientRequest]:
        """Returns the unanswered requests of a lane, oldest first."""
        return [*self._by_lane.get(lane.name, {}).values()]

    def with_id(self, token: str) -> OpenClientRequest | None:
        """Returns the client's oldest open request that has this live id."""
        exchange = self._connection.oldest(_TO_AGENT, token)
        return None if exchange is None else self._of_client[exchange.id]

    def exchanges_of(self, token: str) -> set[int]:
        """Returns the exchanges of requests with this live id that wait for recorded answers."""
        return {exchange for exchange, live in self.live_ids.items() if live == token}

    @property
    def ids(self) -> dict[str, str]:
        """The live ids of the client's open requests, by recorded id."""
        every = self._of_client.values()
        return {r.step.rpc_id: r.token for r in every if r.step.rpc_id is not None}

    def add_of_agent(self, ask: Ask, step: Step) -> None:
        """Adds a request that went out.

        Args:
            ask: the request.
            step: the recorded frame that contains the request.
        """
        opened = self._open(_TO_CLIENT, ask.method, ask.rpc_id, step.lane)
        self._of_agent[opened] = OpenAgentRequest(ask, step)

    def oldest_of_agent(self, token: str | None) -> OpenAgentRequest | None:
        """Returns the oldest request of the agent that a reply with this id would answer."""
        exchange = self._connection.oldest(_TO_CLIENT, token)
        return None if exchange is None else self._of_agent[exchange.id]

    def take(self, reply: Message) -> OpenAgentRequest | None:
        """Removes and returns the oldest request of the agent that a live reply answers."""
        answered = self._connection.feed(0, 0, _TO_AGENT, reply).answered
        return None if answered is None else self._of_agent.pop(answered.id)

    def turn_of(self, lane: Lane) -> Turn | None:
        """Returns the newest open turn of a lane; in v2 a turn is open until the agent is idle."""
        return self._connection.turn_of(lane.name)

    def cancel_turns(self, lane: Lane) -> None:
        """Notes that the client cancelled the turns of a lane."""
        cancel = Message(Kind.NOTIFICATION, CANCEL, session=lane.name)
        self._connection.feed(0, 0, _TO_AGENT, cancel)

    def end_turns(self, session: str | None) -> None:
        """Ends the turns of a recorded session, after an idle update of v2."""
        idle = Message(Kind.NOTIFICATION, UPDATE, session=session)
        idle.update, idle.state = "state_update", "idle"
        self._connection.feed(0, 0, _TO_CLIENT, idle)

    def _open(
        self, direction: Direction, method: str | None, token: str, session: str | None
    ) -> int:
        request = Message(Kind.REQUEST, method, token, session=session)
        return self._connection.feed(0, 0, direction, request).exchange or 0

    def _answer(self, token: str, kind: Kind) -> None:
        transition = self._connection.feed(0, 0, _TO_CLIENT, Message(kind, rpc_id=token))
        if transition.answered is not None:
            answered = self._of_client.pop(transition.answered.id)
            del self._by_lane[answered.step.lane][transition.answered.id]
