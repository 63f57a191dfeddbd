"""The recorded story, unrolled as far as anybody needs it: steps become lanes and tracks.

Steps are read in order, until each lane that could go on has something to wait for. A lane that
waits for its client needs no more of the recording; so one that is a million frames long begins at
once, and what is held is what lies between the lane that is furthest behind and the one ahead.
"""

from collections.abc import Callable

from acp_proxy.engine.agent.lanes import Connection, Key, Lane, Track
from acp_proxy.engine.shared.lane_finder import LaneFinder
from acp_proxy.engine.shared.playback_options import Order
from acp_proxy.engine.shared.steps import Script, Step
from acp_proxy.protocol.dialects import INITIALIZE

_Test = Callable[[Step], bool]


class ReplaySchedule:
    """A recording as lanes.

    Attributes:
        lanes: by session, None for the connection's.
        tracks: in what order frames go out: by lane, or one for all.
        connection: the connection's frames, where they have no track.
        horizon: the number of the last step that was read.
        is_whole: whether all was read.
        handshake: the reply to the first initialize, without which nothing else goes out; None if
            there is none or it is not read yet.
        frames: how many frames of the agent's were read.
        let_pass: in recorded order, the requests that nobody waits for any longer, by exchange.
        passed_over: messages that were waited for, and are no longer.
        forgone: exchanges of requests of the client's that will not come.
        is_forgone: whether a message of the client's will not come; for whoever withholds frames.
        may_be_left_out: whether one need not come, likewise.
    """

    def __init__(self, script: Script, order: Order) -> None:
        self.script = script
        self.order = order
        self.lanes: dict[str | None, Lane] = {None: Lane(None)}
        self.tracks: dict[str | None, Track] = {}
        self.connection = Connection()
        self.horizon = 0
        self.is_whole = False
        self.handshake: int | None = None
        self.frames = 0
        self.let_pass: dict[int, Key] = {}
        self.passed_over: set[Key] = set()
        self.forgone: set[int] = set()
        self.is_forgone: _Test = _never
        self.may_be_left_out: _Test = _never
        self._finder = LaneFinder()
        if order is Order.RECORDED:
            self.tracks[None] = Track()

    def read_on(self) -> bool:
        """Reads some more steps; False at the end of the recording."""
        steps = self.script.read()
        for step in steps:
            self._add(step)
        self.is_whole = not steps
        return not self.is_whole

    def read_to(self, seq: int) -> None:
        """Reads on until a number is known."""
        while self.horizon < seq and self.read_on():
            pass

    def let_go(self, step: Step) -> None:
        """Has nobody wait for a request any longer; its answer goes out if it comes after all."""
        if step.exchange is not None:
            self.let_pass[step.exchange] = step.key

    def track_of(self, lane: str | None) -> Track | None:
        """The track that a lane's frames are on; None for the connection's, if it has none."""
        return self.tracks.get(None if self.order is Order.RECORDED else lane)

    def _add(self, step: Step) -> None:
        self.horizon = step.seq
        self._finder.place(step)
        lane = self.lanes.get(step.lane)
        if lane is None:
            lane = self.lanes[step.lane] = Lane(step.lane)
        if step.kind == "request" and step.method in INITIALIZE and self.handshake is None:
            self.handshake = step.response_seq
        if step.from_agent:
            if step.answers and {a.exchange for a in step.answers} <= self.forgone:
                return
            self.frames += 1
        elif self.is_forgone(step):
            self._note_forgone(lane, step)
            return
        else:
            step.is_optional = self.may_be_left_out(step)
            lane.expect(step)
        if self.order is not Order.RECORDED and step.lane is None:
            self._add_to_connection(step)
            return
        track = self.track_of(step.lane)
        if track is None:
            track = self.tracks[step.lane] = Track(lane=lane)
        plain = step.from_agent and not step.answers and not step.asks
        track.queue.append(step.seq if plain and self.order is not Order.RECORDED else step)

    def forgo(self) -> None:
        """Waits no longer for what follows from requests that were withheld."""
        for lane in self.lanes.values():
            for step in list(lane.expected):
                if self.is_forgone(step):
                    lane.expected.remove(step)
                    self._note_forgone(lane, step)
                elif not step.is_optional:
                    step.is_optional = self.may_be_left_out(step)

    def drop(self, step: Step) -> None:
        """Counts a frame of the agent's no longer, if it only answers what will not come."""
        if {answer.exchange for answer in step.answers} <= self.forgone:
            self.frames -= 1

    def _note_forgone(self, lane: Lane, step: Step) -> None:
        if step.exchange is not None:
            self.forgone.add(step.exchange)
            lane.skipped.add(step.exchange)
            self.frames -= self.connection.skip({step.exchange})

    def _add_to_connection(self, step: Step) -> None:
        if step.from_agent:
            if step.kind == "error" and step.request_seq is not None:
                self._add_garbage(step)
            self.connection.add_frame(step)
        elif step.is_required:
            self.connection.add_request(step)

    def _add_garbage(self, answer: Step) -> None:
        """A line that is no message counts as a request once an error is known to answer it."""
        lane = self.lanes[None]
        for line in (*lane.expected, *lane.played):
            if line.seq == answer.request_seq and line.kind == "invalid":
                self.connection.add_request(line)


def _never(_: Step) -> bool:
    return False
