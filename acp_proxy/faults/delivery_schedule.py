"""The schedule of one connection: the order and time of its bytes and side effects.

A schedule has no clock and does no I/O; all times come from its callers. A driver takes due bytes
from an outlet, writes them, and reports that the bytes are gone. There are two drivers: threads for
a live agent (`record.faulted.fault_runner`), and trio tasks for a replayed agent
(`playback.drivers.replay_faults`).

- On an outlet, bytes go out in the order of their due times. Bytes that are due at the same time go
  out in the order in which they were added.
- A side effect waits until everything added before it, on any outlet, has gone out. So an agent
  that is killed at a frame has received the frames before it.
- While `WAITING_BYTES` or more wait on an outlet, the driver stops reading. So at most 1 MB or one
  frame per direction is in memory.
- When a direction ends, the engine releases all held deliveries. These deliveries go out before the
  end.

All additions are numbered in one sequence. The numbers decide the order of side effects, and of
bytes that are due at the same time.
"""

import heapq
from itertools import count

from attrs import define, field

from acp_proxy.base.limits import WAITING_BYTES
from acp_proxy.faults.fault import (
    DirectionEnd,
    ExitEffect,
    Output,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StderrEffect,
)
from acp_proxy.protocol.jsonrpc import Direction, Stream

_MOST_JOINED = 1 << 18
"""As soon as a write has this size in bytes, no further frame is joined to it."""
_LAST = 1 << 63
"""A time after all other times, in nanoseconds."""

_OUTLETS = {direction: Stream(direction.value) for direction in Direction}

_Item = tuple[int, int, bytes, bool]
"""A write: due time, sequence number, bytes, and whether it may be joined with other writes."""


@define
class Outbox:
    """The bytes that wait for one outlet, or are being written to the outlet."""

    size: int = 0
    """How many bytes wait or are being written."""
    is_hurried: bool = False
    """Whether the bytes go out at once, without waiting until they are due."""
    is_ending: bool = False
    """Whether no more bytes will be added. The bytes that wait still go out."""
    _is_closed: bool = False
    _lost: int = 0
    _waiting: list[_Item] = field(factory=list)
    """A heap ordered by due time."""
    _writing: list[_Item] = field(factory=list)

    @property
    def has_room(self) -> bool:
        """Whether so few bytes wait for the outlet that the driver should read more."""
        return self.size < WAITING_BYTES

    @property
    def has_ended(self) -> bool:
        """Whether the outlet can be closed now: all bytes have gone out, and no more will come."""
        return self.is_ending and not self.size and not self._is_closed

    @property
    def due_at(self) -> int | None:
        """When to take the bytes of the next write, in monotonic nanoseconds.

        The time is None if no bytes wait, or if the previous write has not ended yet.
        """
        if self._writing or not self._waiting:
            return None
        return 0 if self.is_hurried else self._waiting[0][0]

    @property
    def oldest(self) -> int:
        """The lowest sequence number among the bytes that have not gone out."""
        return min((item[1] for item in (*self._writing, *self._waiting)), default=_LAST)

    def put(self, item: _Item) -> None:
        """Adds bytes. If the outlet is closed, the bytes are lost."""
        if self._is_closed:
            self._lost += len(item[2])
            return
        if self.is_hurried:  # otherwise these bytes would overtake delayed bytes
            item = (_LAST, *item[1:])
        heapq.heappush(self._waiting, item)
        self.size += len(item[2])

    def take(self, now: int) -> bytes | None:
        """Returns the bytes of the next write. The driver then calls `gone` or `fail`.

        Returns None if no bytes are due, or if the previous write has not ended yet. Frames without
        faults are joined in one write.
        """
        waiting, taken, size = self._waiting, self._writing, 0
        if taken:
            return None
        while waiting and (waiting[0][0] <= now or self.is_hurried):
            if taken and not (waiting[0][3] and taken[0][3] and size < _MOST_JOINED):
                break
            taken.append(heapq.heappop(waiting))
            size += len(taken[-1][2])
        if not taken:
            return None
        return taken[0][2] if len(taken) == 1 else b"".join(item[2] for item in taken)

    def gone(self) -> None:
        """Notes that the current write has ended: its bytes have gone out."""
        for item in self._writing:
            self.size -= len(item[2])
        self._writing.clear()

    def fail(self, written: int) -> None:
        """Notes that the current write failed after `written` bytes, and closes the outlet.

        The remaining bytes of this write, and all waiting bytes, are lost.
        """
        self._lost += sum(len(item[2]) for item in self._writing) - written
        self.gone()
        self.close()

    def close(self) -> None:
        """Closes the outlet; waiting and later bytes are lost."""
        left = sum(len(item[2]) for item in self._waiting)
        self._is_closed = True
        self._waiting.clear()
        self.size -= left
        self._lost += left

    def take_lost(self) -> int:
        """Returns how many bytes were lost since the previous call of this method."""
        lost, self._lost = self._lost, 0
        return lost


class DeliverySchedule:
    """The waiting bytes and side effects of one connection."""

    def __init__(self) -> None:
        self.outboxes = {outlet: Outbox() for outlet in Stream}
        self._effects: list[tuple[int, int, RuleEffect]] = []
        """The waiting side effects, each as sequence number, earliest time and effect."""
        self._next_number = count(1).__next__

    @property
    def has_effects(self) -> bool:
        """Whether any side effect waits."""
        return bool(self._effects)

    def add(self, output: Output, now: int) -> Stream | None:
        """Adds an output of the engine. Returns the outlet to which bytes were added, or None.

        Args:
            output: the output.
            now: the present time in monotonic nanoseconds. Bytes for the agent's stderr are due at
                once.
        """
        if isinstance(output, ScheduledWrite):  # most outputs are writes
            outlet = _OUTLETS[output.direction]
            item = output.due, self._next_number(), output.data, output.is_joinable
            self.outboxes[outlet].put(item)
            return outlet
        match output:
            case RuleEffect(effect=StderrEffect(data)):
                self.outboxes[Stream.STDERR].put((now, self._next_number(), data, False))
                return Stream.STDERR
            case RuleEffect(effect=SignalEffect() | ExitEffect()):
                self._effects.append((self._next_number(), 0, output))
            case DirectionEnd(direction):
                self.outboxes[_OUTLETS[direction]].is_ending = True
        return None

    def add_later(self, effect: RuleEffect, due: int) -> None:
        """Adds a side effect that happens at a set time, even if bytes wait on the outlets.

        Args:
            effect: the side effect.
            due: the time, in monotonic nanoseconds.
        """
        self._effects.append((0, due, effect))

    def hurry(self) -> None:
        """Makes all waiting bytes, and all bytes added later, due at once. The order stays."""
        for box in self.outboxes.values():
            box.is_hurried = True

    def take_effects(self, now: int) -> list[RuleEffect]:
        """Returns the side effects to run now, in order."""
        if not self._effects:
            return []
        oldest = min(box.oldest for box in self.outboxes.values())
        ready = [entry for entry in self._effects if entry[0] < oldest and entry[1] <= now]
        self._effects = [entry for entry in self._effects if entry not in ready]
        return [effect for _, _, effect in ready]

    def effect_due_at(self) -> int | None:
        """Returns when the first waiting side effect of `add_later` is due; None without any."""
        return min((due for number, due, _ in self._effects if not number), default=None)
