"""Maps the sessions of the live agent to lanes of the recording."""

from collections.abc import Iterable, Mapping

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify.lane import ClientFrame, ClientLane, SentRequest
from acp_proxy.playback.verify.stream_progress import StreamProgress
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.typed_places import Place

_Lanes = Mapping[str | None, ClientLane]
_Joined = Iterable[tuple[str, str]]
"""Recorded sessions that were not opened by a request, each with the name of its lane."""
_CREATING = ("session/new", FORK)
"""Requests that the agent answers with the id of a new session."""


class SessionMap:
    """Keeps the lane of each live session, and the lane of the latest message.

    An agent may send updates of a session before the answer that names the session. If several
    sessions are being created, the updates may belong to any of them.
    """

    def __init__(self, lanes: _Lanes, bindings: Bindings, joined: _Joined = ()) -> None:
        self.last = lanes[None]
        """The lane of the latest message of either side."""
        self._lanes = lanes
        self._bindings = bindings
        self._by_live: dict[str, ClientLane] = {}
        self._creating: list[SentRequest] = []
        self._unknown = ClientLane(None)
        """Stands for the lane of a session whose lane is unknown."""
        self._unknown_session = ""
        self._unknown_progress: dict[str, StreamProgress] = {}
        self._announced: dict[str, ClientLane] = {}
        """The lanes in which the agent announced sessions that no request opened, by live
        session."""
        self._joined: dict[str | None, dict[str, None]] = {}
        """The recorded sessions that no request opens and that have no live name yet, by lane."""
        for name, lane in joined:
            self._joined.setdefault(lane, {})[name] = None

    @property
    def is_creating(self) -> bool:
        """Whether the agent still has to name a session that it creates."""
        return bool(self._creating)

    def lane_of(self, session: str | None) -> ClientLane | None:
        """Returns the lane of a live session; None while the lane is unknown.

        A new name belongs to the session that is being created, if there is only one. A message
        without a session belongs to the lane of the latest message.
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
        """Notes that the agent announces a session in the lane of the latest message."""
        self._announced[session] = self.last

    def _join(self, session: str) -> ClientLane | None:
        """Binds a live session that no request opened to a recorded session; returns the lane.

        The recorded session is one that no request opened: the one with the same name, or else the
        next one in the lane. Returns None if the lane has no such session left.
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
        """Notes that the agent sends a message of a session; returns the lane like `lane_of`."""
        lane = self.lane_of(session)
        if lane is None and session is not None and self.is_creating:
            self.last, self._unknown_session = self._unknown, session
        else:
            self.last = lane or self._lanes[None]
        return lane

    @property
    def progress(self) -> StreamProgress:
        """The counter of what the agent sends in the session of the latest message."""
        if self.last is not self._unknown:
            return self.last.progress
        return self._unknown_progress.setdefault(self._unknown_session, StreamProgress())

    def bind(self, lane: ClientLane, live: str) -> None:
        """Notes the live name of a lane's session.

        Args:
            lane: the lane.
            live: the live name of its session.
        """
        if lane.name is None:
            return
        self._bindings.bind(Place.SESSION, lane.name, live)
        self._by_live[live] = lane
        if (unknown := self._unknown_progress.pop(live, None)) is not None:
            lane.progress.states.update(unknown.states)  # everything else is counted from now on

    def note_sent(self, request: SentRequest) -> None:
        """Notes a request of the client, which may create a session."""
        if request.step.method in _CREATING and request.step.session is not None:
            self._creating.append(request)

    def note_answered(self, request: SentRequest, session: str | None) -> None:
        """Notes that a request was answered.

        Args:
            request: the request.
            session: the session that the answer names, if any.
        """
        if request in self._creating:
            self._creating.remove(request)
            if session is not None:
                self.bind(request.lane, session)

    def bind_before(self, frame: ClientFrame) -> None:
        """Uses the recorded id of a frame's session also as its live id.

        Does nothing if the session has a live id already, or if the frame creates the session.
        """
        name = frame.lane.name
        creates = any(step.method in _CREATING for step in frame.steps)
        if name is not None and name not in self._bindings.sessions and not creates:
            self.bind(frame.lane, name)
