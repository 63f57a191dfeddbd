"""What goes out when: the bytes and side effects of one connection, each in its order.

Pure: it is given the outputs of the fault engine and moments; it keeps no clock and does no I/O.
A driver takes what is due on an outlet, writes it, and reports that it is gone. There are two
drivers: threads for a live agent (`runtime.fault_runner`), trio tasks for a replayed one
(`runtime.replay_faults`).

- On an outlet, bytes go out in the order of their moments. What is due at one moment goes out in
  the order in which it was added.
- A side effect waits until all that was added before it, on any outlet, is gone. So an agent that
  is killed at a frame has had the frames before it.
- An outlet on which `WAITING_BYTES` wait has no room. A driver that then stops reading keeps 1 MB
  or one frame per direction, and back-pressure holds.
- When a direction ends, the engine releases what it has held back. It goes out before the end.

Every addition has a number, in one sequence for all outlets; the numbers decide both orders.
"""

import heapq
from itertools import count

from attrs import define, field

from acp_proxy.base.limits import WAITING_BYTES
from acp_proxy.faults.fault_effects import (
    DirectionEnd,
    ExitEffect,
    Output,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StderrEffect,
)
from acp_proxy.protocol.peers import Direction, Stream

_MOST_JOINED = 1 << 18
"""Bytes from which on no further frame is joined to those that are written together."""
_LAST = 1 << 63
"""A moment after all others, in nanoseconds."""

_OUTLETS = {direction: Stream(direction.value) for direction in Direction}

_Item = tuple[int, int, bytes, bool]
"""When it is due, its number, its bytes, and whether they may be joined with others."""


@define
class Outbox:
    """The bytes that wait on one outlet, and those being written."""

    size: int = 0
    """Bytes that wait or are being written."""
    is_hurried: bool = False
    """Whether nothing waits for its moment any more."""
    is_ending: bool = False
    """Whether nothing more is to be read for the outlet; what waits still goes out."""
    _is_closed: bool = False
    _lost: int = 0
    _waiting: list[_Item] = field(factory=list)
    """A heap: what is due first comes first."""
    _writing: list[_Item] = field(factory=list)

    @property
    def has_room(self) -> bool:
        """Whether the source of the outlet may be read."""
        return self.size < WAITING_BYTES

    @property
    def has_ended(self) -> bool:
        """Whether the outlet is ending, nothing waits there any more, and it was not closed yet."""
        return self.is_ending and not self.size and not self._is_closed

    @property
    def due_at(self) -> int | None:
        """When to take the next bytes, monotonic nanoseconds.

        None if nothing waits, or if what was taken before is not gone yet.
        """
        if self._writing or not self._waiting:
            return None
        return 0 if self.is_hurried else self._waiting[0][0]

    @property
    def oldest(self) -> int:
        """The lowest number of the bytes that are not gone yet."""
        return min((item[1] for item in (*self._writing, *self._waiting)), default=_LAST)

    def put(self, item: _Item) -> None:
        """Adds bytes; they are lost if the outlet is closed."""
        if self._is_closed:
            self._lost += len(item[2])
            return
        if self.is_hurried:  # or it would overtake what is late
            item = (_LAST, *item[1:])
        heapq.heappush(self._waiting, item)
        self.size += len(item[2])

    def take(self, now: int) -> bytes | None:
        """Returns the bytes of the next write, which the driver reports with `gone` or `fail`.

        None if nothing is due, or if what was taken before is not gone yet. Frames to which nothing
        has happened are joined, all else goes out in a write of its own.
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
        """Takes note that what was taken has gone out."""
        for item in self._writing:
            self.size -= len(item[2])
        self._writing.clear()

    def fail(self, written: int) -> None:
        """Takes note that a write broke after some bytes; all that is left is lost."""
        self._lost += sum(len(item[2]) for item in self._writing) - written
        self.gone()
        self.close()

    def close(self) -> None:
        """Lets nothing more out; waiting bytes are lost, and so are later ones."""
        left = sum(len(item[2]) for item in self._waiting)
        self._is_closed = True
        self._waiting.clear()
        self.size -= left
        self._lost += left

    def take_lost(self) -> int:
        """Returns how many bytes were lost since this was last called."""
        lost, self._lost = self._lost, 0
        return lost


class DeliverySchedule:
    """The bytes and side effects that are on their way on one connection."""

    def __init__(self) -> None:
        self.outboxes = {outlet: Outbox() for outlet in Stream}
        self._effects: list[tuple[int, int, RuleEffect]] = []
        """The number of each, the moment before which it does not happen, and what it is."""
        self._next_number = count(1).__next__

    @property
    def has_effects(self) -> bool:
        """Whether a side effect waits."""
        return bool(self._effects)

    def add(self, output: Output, now: int) -> Stream | None:
        """Adds what the engine has decided; returns the outlet that got bytes, if any.

        Args:
            output: the engine's.
            now: when bytes for the agent's stderr are due, monotonic nanoseconds.
        """
        if isinstance(output, ScheduledWrite):  # as most outputs are
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
        """Adds a side effect that happens at a moment, whatever waits on the outlets.

        Args:
            effect: the side effect.
            due: the moment, monotonic nanoseconds.
        """
        self._effects.append((0, due, effect))

    def hurry(self) -> None:
        """Lets nothing wait for its moment any more; the order stays."""
        for box in self.outboxes.values():
            box.is_hurried = True

    def take_effects(self, now: int) -> list[RuleEffect]:
        """Returns the side effects that are to happen now, in order."""
        if not self._effects:
            return []
        oldest = min(box.oldest for box in self.outboxes.values())
        ready = [entry for entry in self._effects if entry[0] < oldest and entry[1] <= now]
        self._effects = [entry for entry in self._effects if entry not in ready]
        return [effect for _, _, effect in ready]

    def effect_due_at(self) -> int | None:
        """When the first side effect of `add_later` is due; None if there is none."""
        return min((due for number, due, _ in self._effects if not number), default=None)
