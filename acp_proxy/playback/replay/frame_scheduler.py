"""Decides which recorded frame goes out next, and when.

A frame goes out when three conditions hold:

- The frame is next on its track, which keeps the recorded order of a lane.
- The requests that the frame answers and the client's earlier messages on the track have come.
- The handshake is over.

Of several frames, the frame with the lowest recorded number goes first. Recorded times only delay
frames; they never change the order.
"""

from collections.abc import Iterator

from attrs import define, field, frozen

from acp_proxy.playback.replay.lanes import Lane, Track, WaitingFrame
from acp_proxy.playback.replay.replay_requests import OpenRequests
from acp_proxy.playback.replay.schedule import ReplaySchedule
from acp_proxy.playback.shared.playback_options import Order, PlaybackOptions
from acp_proxy.recording.steps import Script, Step


@frozen
class ScheduledFrame:
    """A frame that waits for no message, and so goes out when it is due."""

    seq: int
    step: Step | None
    """The step; None for a notification, since only the number of a notification is kept."""
    source: Track | WaitingFrame
    due: int
    """When the frame goes out, in live nanoseconds."""


@define(eq=False)
class FrameScheduler:
    """Chooses the frames that go out next, and removes them from the unsent frames."""

    _script: Script
    _schedule: ReplaySchedule
    _requests: OpenRequests
    _options: PlaybackOptions
    _last_state: tuple[int, ...] = field(init=False, default=())
    """The values that can block tracks, as they were at the previous check."""
    _held_by: dict[int, set[Track]] = field(init=False, factory=dict)
    """The tracks that wait for requests of the client. The key is the highest exchange number of
    these requests."""

    def next(self, *, at_once: bool = False) -> ScheduledFrame | None:
        """Returns the due frame with the lowest number; with ``at_once``, all frames are due."""
        now = self._schedule.now
        return min(
            (ready for ready in self.ready_frames() if at_once or ready.due <= now),
            key=lambda ready: ready.seq,
            default=None,
        )

    def ready_frames(self) -> Iterator[ScheduledFrame]:
        """Yields the frames that wait for no message. They may still wait for their time."""
        self._wake()
        for track in [*self._schedule.awake]:
            if (ready := self._next_on(track)) is not None:
                yield ready
            else:
                del self._schedule.awake[track]
                if not track.queue:
                    self._schedule.drained[track] = None
        for waiting in self._schedule.connection.waiting:
            step = waiting.step
            if waiting.is_free and self._may_go(step.seq):
                yield ScheduledFrame(step.seq, step, waiting, self._due(waiting, step.seq))

    def _wake(self) -> None:
        """Wakes the tracks that may go on because requests came or are no longer awaited."""
        schedule, exempt = self._schedule, self._schedule.exempt
        exempted = len(exempt.optional), len(exempt.prevented), len(exempt.skipped)
        state = (*exempted, schedule.abandoned, schedule.handshake_is_over)
        if state != self._last_state:
            self._last_state = state
            schedule.wake_all()
        for exchange in self._requests.take_come():
            schedule.awake.update(dict.fromkeys(self._held_by.pop(exchange, ())))

    def next_before(self, lane: Lane, seq: int) -> ScheduledFrame | None:
        """Returns the next frame on a lane's track, even if it is not due.

        Args:
            lane: the lane.
            seq: the largest number that the returned frame may have.
        """
        track = self._schedule.track_of(lane.name)
        ready = None if track is None else self._next_on(track)
        return ready if ready is not None and ready.seq <= seq else None

    def take(self, ready: ScheduledFrame, recorded: int) -> None:
        """Removes a frame, which goes out now, from its track or from the connection's frames.

        Args:
            ready: the frame.
            recorded: when the frame went out in the recording.
        """
        if isinstance(ready.source, Track):
            self._schedule.awake[ready.source] = None
            ready.source.send_first(self._schedule.now, recorded)
        else:
            self._schedule.connection.remove(ready.source, self._schedule.now)
        self._schedule.handshake_is_over |= ready.seq == self._schedule.handshake

    def has_earlier_frames(self, step: Step) -> bool:
        """Returns whether a frame that precedes a message in its session has not passed yet.

        With `Order.RECORDED`, and for messages without a session, returns False.
        """
        track = self._schedule.track_of(step.lane)
        if track is None or self._options.order is not Order.SESSION:
            return False
        self._head(track)
        return bool(track.queue) and _number(track.queue[0]) < step.seq

    def unsent(self, lane: Lane) -> Iterator[int]:
        """Yields the numbers of a lane's unsent frames, except those that `left_out` counts."""
        if lane.name is None and self._options.order is not Order.RECORDED:
            yield from self._unsent_of_connection()
            return
        track = self._schedule.track_of(lane.name)
        for item in track.queue if track is not None else ():
            if isinstance(item, int):
                yield item
            elif item.from_agent and item.lane == lane.name:
                yield item.seq

    @property
    def left_out(self) -> int:
        """How many frames answer only optional requests that the client did not send."""
        unsent = sum(1 for _ in self._unsent_of_connection())
        return len(self._schedule.connection.waiting) - unsent

    def read_if_needed(self) -> bool:
        """Reads more steps if new frames may go out now; returns whether steps were read."""
        if self._schedule.is_whole or not self._needs_more():
            return False
        self._schedule.read_on()
        return True

    def _needs_more(self) -> bool:
        schedule = self._schedule
        requests = self._requests.open_in(schedule.lanes[None])
        answered = max((request.step.response_seq or 0 for request in requests), default=0)
        if schedule.horizon == 0 or answered > schedule.horizon:
            return True
        if len(schedule.lanes) == 1 and not schedule.connection.waiting and not requests:
            return True  # there is no session yet, and the connection does not wait
        return any(track.lane is None or not track.lane.abandoned for track in schedule.drained)

    def _unsent_of_connection(self) -> Iterator[int]:
        """Yields the numbers of the connection's unsent frames that are not left out.

        A frame is left out if all the requests that it answers are optional and did not come.
        """
        if not (every := self._schedule.connection.waiting):
            return
        expected = self._schedule.lanes[None].expected
        optional = {step.key for step in expected if step.is_optional}
        optional.update(self._schedule.exempt.optional.values())
        for waiting in every:
            has_come = any(a.exchange in self._requests.live_ids for a in waiting.step.answers)
            if has_come or not waiting.asked or not waiting.asked <= optional:
                yield waiting.step.seq

    def _next_on(self, track: Track) -> ScheduledFrame | None:
        head = self._head(track)
        if head is None or not self._may_go(seq := _number(head)):
            return None
        step = None if isinstance(head, int) else head
        return ScheduledFrame(seq, step, track, self._due(track, seq))

    def _head(self, track: Track) -> int | Step | None:
        """Returns the next frame on a track; None while the track waits for the client."""
        queue = track.queue
        track.waits_for = None
        self._schedule.held_by_optional.pop(track, None)
        if track.lane is not None and track.lane.abandoned:
            queue.clear()
        while queue:
            head = queue[0]
            if isinstance(head, int):
                return head
            if self._is_given_up(head):
                self._schedule.drop(head)
            elif head.from_agent:
                optional, unasked = self._schedule.exempt.optional, self._unasked(head)
                if not unasked:
                    return head
                if not unasked <= optional.keys():
                    self._held_by.setdefault(max(unasked), set()).add(track)
                    return None
                # The answer to optional requests goes out only if these requests come.
                asked = {optional[exchange] for exchange in unasked}
                self._schedule.connection.waiting.append(WaitingFrame(head, asked))
            elif not self._can_pass(track, head):
                track.waits_for = head
                if head.is_optional:
                    self._schedule.held_by_optional[track] = None
                return None
            queue.popleft()
        return None

    def _is_given_up(self, head: Step) -> bool:
        """Whether a step is in an abandoned lane, or answers requests that will not come."""
        if self._schedule.lanes[head.lane].abandoned:
            return True
        answered = {answer.exchange for answer in head.answers}
        exempt = self._schedule.exempt
        return bool(answered) and answered - exempt.prevented <= exempt.skipped

    def _unasked(self, head: Step) -> set[int]:
        """Returns the exchanges that a frame answers and whose requests have not come."""
        answered = {a.exchange for a in head.answers} - self._schedule.exempt.prevented
        return {exchange for exchange in answered if exchange not in self._requests.live_ids}

    def _can_pass(self, track: Track, step: Step) -> bool:
        """Whether the frames that follow a client's message on a track may go out."""
        if step.exchange in self._schedule.exempt.prevented or track.pass_arrived(step):
            return True
        if not self._blocks_nothing(step):
            return False
        if step.is_push:
            self._schedule.exempt.add_optional(step)
        return True

    def _blocks_nothing(self, step: Step) -> bool:
        """Whether later frames need not wait for the given message of the client."""
        if step.exchange in self._schedule.exempt.optional:
            return True
        return not step.is_awaited and (step.kind != "invalid" or step.exchange is None)

    def _may_go(self, seq: int) -> bool:
        """Whether a frame waits neither for the handshake nor for the client to leave."""
        handshake, gave_up = self._schedule.handshake, self._schedule.gave_up_at
        is_first = handshake is None or self._schedule.handshake_is_over or seq <= handshake
        return is_first and (gave_up is None or seq < gave_up)

    def _due(self, source: Track | WaitingFrame, seq: int) -> int:
        if self._options.pacing.is_instant or source.since is None:
            return self._schedule.now
        return self._options.pacing.due(*source.since, self._script.wire(seq).t_ns)


def _number(item: int | Step) -> int:
    return item if isinstance(item, int) else item.seq
