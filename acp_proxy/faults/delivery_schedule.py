"""What goes out when: the bytes and side effects of one connection, each in its order.

Pure: it is given the outputs of the fault engine and moments; it keeps no clock and does no I/O.
A driver takes what is due on an outlet, writes it, and reports that it is gone. There are two
drivers: threads for a live agent (`runtime.fault_runner`), trio tasks for a replayed one
(`runtime.faulty_streams`).

- On an outlet, bytes go out in the order of their moments. What is due at one moment goes out in
  the order in which it was added.
- A side effect waits until all that was added before it, on any outlet, is gone. So an agent that
  is killed at a frame has had the frames before it.
- An outlet on which `LIMIT` bytes wait has no room. A driver that then stops reading keeps 1 MB or
  one frame per direction, and back-pressure holds.
- When a direction ends, the engine releases what it has held back. It goes out before the end.

Every addition has a number, in one sequence for all outlets; the numbers decide both orders.
"""

import heapq
from itertools import count

from attrs import define, field

from acp_proxy.faults.effects import ExitEffect, SignalEffect, StderrEffect
from acp_proxy.faults.outputs import DirectionEnd, Output, RuleEffect, ScheduledWrite
from acp_proxy.protocol.peers import Direction, Stream

LIMIT = 1 << 20
"""Bytes on an outlet from which on it has no room for more."""
_MOST_JOINED = 1 << 18
"""Bytes from which on no further frame is joined to those that are written together."""
_LAST = 1 << 63
"""A moment after all others, in nanoseconds."""

_OUTLETS = {direction: Stream(direction.value) for direction in Direction}

_Item = tuple[int, int, bytes, bool]
"""When it is due, its number, its bytes, and whether they may be joined with others."""


@define
class _Outbox:
    """What waits on one outlet, and what is being written there."""

    items: list[_Item] = field(factory=list)
    """A heap: what is due first comes first."""
    writing: list[_Item] = field(factory=list)
    size: int = 0
    """Bytes that wait or are being written."""
    lost: int = 0
    """Bytes that will never go out and were not reported yet."""
    is_ending: bool = False
    is_closed: bool = False


class DeliverySchedule:
    """The bytes and side effects that are on their way on one connection.

    Attributes:
        is_hurried: whether nothing waits for its moment any more.
    """

    def __init__(self) -> None:
        self.is_hurried = False
        self._outboxes = {outlet: _Outbox() for outlet in Stream}
        self._effects: list[tuple[int, int, RuleEffect]] = []
        """The number of each, the moment before which it does not happen, and what it is."""
        self._next_number = count(1).__next__

    @property
    def has_effects(self) -> bool:
        """Whether a side effect waits."""
        return bool(self._effects)

    def add(self, output: Output, now: int) -> Stream | None:
        """Adds what the engine has decided; what a rule has only noted or stopped adds nothing.

        Args:
            output: the engine's.
            now: when bytes for the agent's stderr are due, monotonic nanoseconds.

        Returns:
            The outlet that bytes were added to, if any.
        """
        match output:
            case ScheduledWrite(direction, data, due, is_joinable=joins):
                return self._put(_OUTLETS[direction], (due, self._next_number(), data, joins))
            case RuleEffect(effect=StderrEffect(data)):
                return self._put(Stream.STDERR, (now, self._next_number(), data, False))
            case RuleEffect(effect=SignalEffect() | ExitEffect()):
                self._effects.append((self._next_number(), 0, output))
            case DirectionEnd(direction):
                self.end(_OUTLETS[direction])
            case _:
                pass
        return None

    def add_later(self, effect: RuleEffect, due: int) -> None:
        """Adds a side effect that happens at a moment, whatever waits on the outlets.

        Args:
            effect: the side effect.
            due: the moment, monotonic nanoseconds.
        """
        self._effects.append((0, due, effect))

    def take(self, outlet: Stream, now: int) -> bytes | None:
        """Returns the bytes of the next write, which the driver reports with `gone` or `fail`.

        Frames to which nothing has happened are joined, all else goes out in a write of its own.

        Args:
            outlet: where they go.
            now: the moment, monotonic nanoseconds.

        Returns:
            The bytes; None if nothing is due, or if what was taken before is not gone yet.
        """
        box = self._outboxes[outlet]
        items, taken, size = box.items, box.writing, 0
        if taken:
            return None
        while items and (items[0][0] <= now or self.is_hurried):
            if taken and not (items[0][3] and taken[0][3] and size < _MOST_JOINED):
                break
            taken.append(heapq.heappop(items))
            size += len(taken[-1][2])
        if not taken:
            return None
        return taken[0][2] if len(taken) == 1 else b"".join(item[2] for item in taken)

    def gone(self, outlet: Stream) -> None:
        """Takes note that what was taken has gone out."""
        box = self._outboxes[outlet]
        for item in box.writing:
            box.size -= len(item[2])
        box.writing.clear()

    def fail(self, outlet: Stream, written: int) -> None:
        """Takes note that an outlet broke during a write; all that is left is lost.

        Args:
            outlet: which.
            written: how many of the bytes that were taken have gone out.
        """
        box = self._outboxes[outlet]
        box.lost += sum(len(item[2]) for item in box.writing) - written
        self.gone(outlet)
        self.close(outlet)

    def close(self, outlet: Stream) -> None:
        """Lets nothing more out on an outlet; what waits there is lost, and what is added later."""
        box = self._outboxes[outlet]
        left = sum(len(item[2]) for item in box.items)
        box.is_closed = True
        box.items.clear()
        box.size -= left
        box.lost += left

    def end(self, outlet: Stream) -> None:
        """Lets an outlet end once all that waits there has gone out."""
        self._outboxes[outlet].is_ending = True

    def hurry(self) -> None:
        """Lets nothing wait for its moment any more; the order stays."""
        self.is_hurried = True

    def take_lost(self, outlet: Stream) -> int:
        """Returns how many bytes of an outlet were lost since this was last called."""
        box = self._outboxes[outlet]
        lost, box.lost = box.lost, 0
        return lost

    def take_effects(self, now: int) -> list[RuleEffect]:
        """Returns the side effects that are to happen now, in order.

        Args:
            now: the moment, monotonic nanoseconds.
        """
        if not self._effects:
            return []
        waiting = [
            item[1] for box in self._outboxes.values() for item in (*box.writing, *box.items)
        ]
        oldest = min(waiting, default=_LAST)
        ready = [one for one in self._effects if one[0] < oldest and one[1] <= now]
        self._effects = [one for one in self._effects if one not in ready]
        return [effect for _, _, effect in ready]

    def size(self, outlet: Stream) -> int:
        """How many bytes wait on an outlet or are being written there."""
        return self._outboxes[outlet].size

    def has_room(self, outlet: Stream) -> bool:
        """Whether the source of an outlet may be read."""
        return self._outboxes[outlet].size < LIMIT

    def is_ending(self, outlet: Stream) -> bool:
        """Whether nothing more is to be read for an outlet; what waits there still goes out."""
        return self._outboxes[outlet].is_ending

    def has_ended(self, outlet: Stream) -> bool:
        """Whether an outlet is ending, nothing waits there any more, and it was not closed yet."""
        box = self._outboxes[outlet]
        return box.is_ending and not box.size and not box.is_closed

    def due_at(self, outlet: Stream) -> int | None:
        """When to take the next bytes of an outlet, monotonic nanoseconds.

        Returns:
            The moment; None if nothing waits, or if what was taken before is not gone yet.
        """
        box = self._outboxes[outlet]
        if box.writing or not box.items:
            return None
        return 0 if self.is_hurried else box.items[0][0]

    def effect_due_at(self) -> int | None:
        """When the first side effect of `add_later` is due; None if there is none."""
        return min((due for number, due, _ in self._effects if not number), default=None)

    def _put(self, outlet: Stream, item: _Item) -> Stream:
        box = self._outboxes[outlet]
        if box.is_closed:
            box.lost += len(item[2])
        else:
            if self.is_hurried:  # or it would overtake what is late
                item = (_LAST, *item[1:])
            heapq.heappush(box.items, item)
            box.size += len(item[2])
        return outlet
