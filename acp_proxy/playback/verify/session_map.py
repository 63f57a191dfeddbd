"""Maps the sessions of the live agent to lanes of the recording."""

from collections.abc import Iterable, Mapping

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify.lane import ClientFrame, ClientLane, SentRequest
from acp_proxy.playback.verify.stream_progress import StreamProgress
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.typed_places import Place

_Lanes = Mapping[str | None, ClientLane]
_Joined = Iterable[tuple[str, str]]
"""Recorded sessions that no request opened, each with the name of its lane."""
_CREATING = ("session/new", FORK)
"""Requests in whose answer the agent names a session."""


class SessionMap:
    """Knows the lane of each live session, and the lane in which anything was last sent.

    An agent may send updates of a session before the answer that names it. While several sessions
    are being created, it is unknown then to which of them a new name belongs.
    """

    def __init__(self, lanes: _Lanes, bindings: Bindings, joined: _Joined = ()) -> None:
        self.last = lanes[None]
        """The lane in which either side last sent something."""
        self._lanes = lanes
        self._bindings = bindings
        self._by_live: dict[str, ClientLane] = {}
        self._creating: list[SentRequest] = []
        self._unknown = ClientLane(None)
        """Stands for sessions with an unknown lane."""
        self._unknown_session = ""
        self._unknown_progress: dict[str, StreamProgress] = {}
        self._announced: dict[str, ClientLane] = {}
        """The lanes in which the live agent has announced sessions that no request opens."""
        self._joined: dict[str | None, dict[str, None]] = {}
        """The recorded sessions of this kind that have no live name, by lane."""
        for name, lane in joined:
            self._joined.setdefault(lane, {})[name] = None

    @property
    def is_creating(self) -> bool:
        """Whether the agent has still to name a session."""
        return bool(self._creating)

    def lane_of(self, session: str | None) -> ClientLane | None:
        """Returns the lane of a live session; None while it is unknown.

        A new name is that of the only session that is being created. A message without a session
        belongs to the lane in which anything was last sent.
        """
        if session is None:
            return self.last
        if (lane := self._by_live.get(session)) is not None:
            return lane
        is_child = session in self._announced
        if len(self._creating) == 1 and not is_child:
            lane = self._creating[0].lane
            self.bind(lane, session)
            return lane
        return self._join(session) if is_child or not self._creating else None

    def announce(self, session: str) -> None:
        """Notes that the agent announces a session where it sends something now."""
        self._announced[session] = self.last

    def _join(self, session: str) -> ClientLane | None:
        """Returns the lane of a session that no request opened; None if none was recorded there.

        It stands for the recorded one of its name, or else for the next one of that lane.
        """
        lane = self._announced.get(session, self.last)
        if not (recorded := self._joined.get(lane.name)):
            return None
        name = session if session in recorded else next(iter(recorded))
        del recorded[name]
        self._bindings.bind(Place.SESSION, name, session)
        self._by_live[session] = lane
        return lane

    def enter(self, session: str | None) -> ClientLane | None:
        """Notes that the agent sends a message of a session; returns its lane as `lane_of`."""
        lane = self.lane_of(session)
        if lane is None and session is not None and self.is_creating:
            self.last, self._unknown_session = self._unknown, session
        else:
            self.last = lane or self._lanes[None]
        return lane

    @property
    def progress(self) -> StreamProgress:
        """What counts the messages of the session in which anything was last sent."""
        if self.last is not self._unknown:
            return self.last.progress
        return self._unknown_progress.setdefault(self._unknown_session, StreamProgress())

    def bind(self, lane: ClientLane, live: str) -> None:
        """Notes the live name of a lane's session.

        Args:
            lane: the lane.
            live: the name.
        """
        if lane.name is None:
            return
        self._bindings.bind(Place.SESSION, lane.name, live)
        self._by_live[live] = lane
        if (unknown := self._unknown_progress.pop(live, None)) is not None:
            lane.progress.states.update(unknown.states)  # all else is counted from here on

    def note_sent(self, request: SentRequest) -> None:
        """Notes a request of the client, which may create a session."""
        if request.step.method in _CREATING and request.step.session is not None:
            self._creating.append(request)

    def note_answered(self, request: SentRequest, session: str | None) -> None:
        """Notes that a request was answered.

        Args:
            request: the request.
            session: the session that the answer names, if it names one.
        """
        if request in self._creating:
            self._creating.remove(request)
            if session is not None:
                self.bind(request.lane, session)

    def bind_before(self, frame: ClientFrame) -> None:
        """Gives a session its recorded name, unless it has a live one or the frame creates it."""
        name = frame.lane.name
        creates = any(step.method in _CREATING for step in frame.steps)
        if name is not None and name not in self._bindings.sessions and not creates:
            self.bind(frame.lane, name)
