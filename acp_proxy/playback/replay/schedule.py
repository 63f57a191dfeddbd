"""The recording as lanes and tracks, read as far as the replay needs it.

Steps are read in order until each lane waits for the client or cannot go on. So a recording of a
million frames starts at once. Memory holds only the steps between the slowest lane and the fastest
lane.
"""

from collections.abc import Iterator

from attrs import define, field

from acp_proxy.playback.replay.lanes import ConnectionFrames, Key, Lane, Track
from acp_proxy.playback.replay.withholding import WithheldEffects
from acp_proxy.playback.shared.playback_options import Order
from acp_proxy.protocol.dialects import HANDSHAKE, INITIALIZE
from acp_proxy.recording.steps import LaneFinder, Script, Step


@define
class Exemptions:
    """The client's messages that frames no longer wait for.

    A request is identified by its exchange.
    """

    optional: dict[int, Key] = field(factory=dict)
    """Optional requests and their keys; an optional request that comes late is still answered."""
    prevented: set[int] = field(factory=set)
    """Requests that cannot come because frames were withheld; their answers are not expected."""
    skipped: set[int] = field(factory=set)
    """Missing requests that a lenient replay skips; their answers stay unplayed."""
    overdue: set[Key] = field(factory=set)
    """Messages that frames no longer wait for because they did not come in time."""

    def add_optional(self, step: Step) -> None:
        """Notes that frames no longer wait for an optional request."""
        if step.exchange is not None:
            self.optional[step.exchange] = step.key


class ReplaySchedule:
    """The lanes and tracks of a recording, as far as it was read."""

    def __init__(self, script: Script, order: Order, effects: WithheldEffects) -> None:
        self.order = order
        self.lanes: dict[str | None, Lane] = {None: Lane(None)}
        """The lanes by session id; the connection's lane by None."""
        self.tracks: dict[str | None, Track] = {}
        """The tracks that keep the order of frames: one for each lane, or one for all lanes."""
        self.connection = ConnectionFrames()
        """The connection's frames, if they are not on a track."""
        self.exempt = Exemptions()
        self.now = 0
        """The time of the latest event, in live nanoseconds."""
        self.horizon = 0
        """The frame number of the last step that was read."""
        self.is_whole = False
        """Whether the whole recording was read."""
        self.handshake: int | None = None
        """The frame number of the reply to the first ``initialize``. Later frames wait for this
        reply."""
        self.handshake_is_over = False
        self.gave_up_at = script.gave_up_at
        """The frames after this number wait until the client leaves; None if all frames may go."""
        self.frames = 0
        """How many frames of the agent were read."""
        self.abandoned = 0
        """How many lanes are abandoned."""
        self.awake: dict[Track, None] = {}
        """The tracks that have changed and may have a frame to send."""
        self.drained: dict[Track, None] = {}
        """The tracks on which all steps read so far are played."""
        self.held_by_optional: dict[Track, None] = {}
        """The tracks that wait for an optional message of the client."""
        self.expecting: dict[Lane, None] = {}
        """The lanes that are not abandoned and still expect messages."""
        self.overtaken: dict[Lane, None] = {}
        """The lanes in which a message came while an earlier message may be missing."""
        self._expected_like: dict[tuple[str, str | None], dict[Key, Step]] = {}
        """The expected messages by kind and method, in recorded order."""
        self._script = script
        self._effects = effects
        self._finder = LaneFinder()
        if order is Order.RECORDED:
            self.tracks[None] = Track()

    def read_on(self) -> bool:
        """Reads some more steps; returns False at the end of the recording."""
        steps = self._script.read()
        for step in steps:
            self._add(step)
        self.is_whole = not steps
        return not self.is_whole

    def read_to(self, seq: int) -> None:
        """Reads the recording up to the step with this number."""
        while self.horizon < seq and self.read_on():
            pass

    @property
    def live_lanes(self) -> list[Lane]:
        """The lanes that are not abandoned."""
        return [lane for lane in self.lanes.values() if not lane.abandoned]

    @property
    def expected(self) -> Iterator[Step]:
        """Yields the client's messages, in all lanes, that have not come."""
        return (step for lane in self.lanes.values() for step in lane.expected)

    def as_expected(self, step: Step) -> Step | None:
        """Returns a recorded message as an expected message; None if it is not expected."""
        return self._expected_like.get((step.kind, step.method), {}).get(step.key)

    def expected_like(self, kind: str, method: str | None) -> Iterator[Step]:
        """Yields the expected messages of lanes that are not abandoned, in recorded order.

        Args:
            kind: the kind of the messages.
            method: the method of the messages.
        """
        steps = self._expected_like.get((kind, method), {}).values()
        return (step for step in steps if not self.lanes[step.lane].abandoned)

    @property
    def played(self) -> Iterator[Step]:
        """Yields the most recently matched messages of the recording, lane by lane."""
        return (step for lane in self.lanes.values() for step in lane.played)

    def lane_of(self, session: str | None) -> Lane:
        """Returns the lane of a recorded session; the connection's lane for an unknown session."""
        return self.lanes.get(self._finder.lane_of(session)) or self.lanes[None]

    def track_of(self, lane: str | None) -> Track | None:
        """Returns the track of a lane's frames; None if the connection's lane has no track."""
        return self.tracks.get(None if self.order is Order.RECORDED else lane)

    def match(self, step: Step) -> None:
        """Notes that an expected message of the client has come."""
        lane, connection = self.lanes[step.lane], self.lanes[None]
        lane.match(step)
        self._note_come(lane, step)
        if (track := self.track_of(step.lane)) is not None:
            track.arrived[step.key] = self.now
            self.awake[track] = None
        if lane is connection or step.exchange in self.exempt.optional:
            self.connection.note_message(step, self.now)
            return
        # Sessions begin after the handshake, so a session's message may overtake the handshake.
        awaited = connection.first_missing
        if awaited is not None and awaited.method in HANDSHAKE:
            connection.note_overtaken(step)
            if connection.is_overtaken:
                self.overtaken[connection] = None

    def abandon(self, lane: Lane) -> None:
        """Stops playing a lane."""
        lane.abandon()
        self.abandoned += 1
        self.expecting.pop(lane, None)

    def wake_all(self) -> None:
        """Marks all tracks to be checked again, since a change may have released any of them."""
        self.awake.update(dict.fromkeys(self.tracks.values()))

    def stop_waiting_for_optional(self) -> bool:
        """Ends all waits for optional requests; returns whether there were any."""
        optional = {s.key for s in self.lanes[None].expected if s.is_optional}
        passed = self.connection.stop_waiting_for(optional)
        for step in self.optional_waits:
            if step.exchange is not None:
                self.exempt.add_optional(step)
                passed.add(step.key)
        self.exempt.overdue |= passed
        return bool(passed)

    @property
    def optional_waits(self) -> list[Step]:
        """Returns the optional messages that tracks wait for."""
        steps = (track.waits_for for track in self.held_by_optional)
        return [step for step in steps if step is not None and step.is_optional]

    def skip(self, missing: Step) -> None:
        """Continues without a missing request and its answer."""
        if missing.kind == "request" and missing.exchange is not None:
            self.exempt.skipped.add(missing.exchange)
            self.connection.skip(missing.exchange)
            self.handshake_is_over |= missing.response_seq == self.handshake

    def apply_withholding(self) -> None:
        """Stops waiting for messages that are consequences of withheld requests."""
        for lane in self.lanes.values():
            for step in list(lane.expected):
                if self._effects.prevents(step):
                    lane.forget(step)
                    self._note_come(lane, step)
                    self._prevent(step)
                elif not step.follows_withheld:
                    step.follows_withheld = self._effects.may_prevent(step)
        self.wake_all()

    def drop(self, step: Step) -> None:
        """No longer counts a frame in `frames` if it answers only requests that cannot come."""
        if step.answers and self._answers_only_prevented(step):
            self.frames -= 1

    def _add(self, step: Step) -> None:
        self.horizon = step.seq
        self._finder.place(step)
        if (lane := self.lanes.get(step.lane)) is None:
            lane = self.lanes[step.lane] = Lane(step.lane)
        if step.kind == "request" and step.method in INITIALIZE and self.handshake is None:
            self.handshake = step.response_seq
        if step.from_agent:
            if step.answers and self._answers_only_prevented(step):
                return
            self.frames += 1
        elif self._effects.prevents(step):
            self._prevent(step)
            return
        else:
            step.follows_withheld = self._effects.may_prevent(step)
            self._expect(lane, step)
        self._enqueue(lane, step)

    def _expect(self, lane: Lane, step: Step) -> None:
        lane.expect(step)
        if not lane.abandoned:
            self.expecting[lane] = None
        self._expected_like.setdefault((step.kind, step.method), {})[step.key] = step

    def _note_come(self, lane: Lane, step: Step) -> None:
        """Notes that a lane's message has come, or will never come."""
        self._expected_like.get((step.kind, step.method), {}).pop(step.key, None)
        if not lane.expected:
            self.expecting.pop(lane, None)
        if lane.is_overtaken:
            self.overtaken[lane] = None
        else:
            self.overtaken.pop(lane, None)

    def _enqueue(self, lane: Lane, step: Step) -> None:
        if self.order is Order.RECORDED:
            self._add_to_track(self.tracks[None], step)
        elif step.lane is None:
            self._add_to_connection(step)
        else:
            if (track := self.tracks.get(step.lane)) is None:
                track = self.tracks[step.lane] = Track(lane)
            is_plain = step.from_agent and not step.answers and not step.asks
            self._add_to_track(track, step.seq if is_plain else step)

    def _add_to_track(self, track: Track, item: int | Step) -> None:
        track.queue.append(item)
        self.awake[track] = None
        self.drained.pop(track, None)

    def _answers_only_prevented(self, step: Step) -> bool:
        return {answer.exchange for answer in step.answers} <= self.exempt.prevented

    def _prevent(self, step: Step) -> None:
        if step.exchange is not None:
            self.exempt.prevented.add(step.exchange)
            self.frames -= self.connection.skip(step.exchange)

    def _add_to_connection(self, step: Step) -> None:
        if step.from_agent:
            if step.kind == "error" and step.request_seq is not None:
                self._add_unreadable_line(step)
            self.connection.add_frame(step)
        elif step.is_awaited:
            self.connection.add_request(step)

    def _add_unreadable_line(self, answer: Step) -> None:
        """Treats a line that is not a message as a request, since a recorded error answers it."""
        lane = self.lanes[None]
        for line in (*lane.expected, *lane.played):
            if line.seq == answer.request_seq and line.kind == "invalid":
                self.connection.add_request(line)
