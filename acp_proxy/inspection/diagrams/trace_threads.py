"""The threads of a trace, and the slices that are open on them.

A viewer of traces finds the end of a slice by its thread: what began last ends first. Requests,
tool calls and turns overlap as they like. So a slice begins on the first thread of its group on
which it can end before what is open there, and on a further thread if there is none.
"""

from collections.abc import Iterator
from typing import Any

from attrs import define, field

FOREVER = 2**63
"""When a slice ends that nothing ends."""

Event = dict[str, Any]
"""An event in the JSON of traces."""


@define(eq=False)
class Slice:
    """A slice that has begun.

    Attributes:
        name: what is written in it.
        end_ns: when it ends; None if that is not known yet.
        ends_others: whether it ends what began within it and has no known end.
        args: more facts, for its end.
    """

    name: str
    end_ns: int | None = None
    ends_others: bool = False
    args: Event = field(factory=dict)
    is_open: bool = True
    thread: "Thread | None" = None

    def can_hold(self, other: "Slice") -> bool:
        """Whether another slice that begins now will end before this one does."""
        if self.end_ns is None:
            return False
        return self.ends_others if other.end_ns is None else other.end_ns <= self.end_ns


@define(eq=False)
class Thread:
    """A thread of a process of the trace.

    Attributes:
        process: the number of the process.
        number: its own number, which no other thread of the trace has.
        open: the slices that are open, the outermost first.
        last_ns: the end of what was written last; nothing that comes later begins before.
    """

    process: int
    number: int
    open: list[Slice] = field(factory=list)
    last_ns: int = -FOREVER

    def event(self, phase: str, at_ns: int, **more: Any) -> Event:
        """Makes an event of this thread.

        Args:
            phase: what kind of event.
            at_ns: its time.
            **more: its other members.
        """
        return {"ph": phase, "pid": self.process, "tid": self.number, "ts": at_ns / 1000, **more}


@define
class Threads:
    """All threads of a trace, made when they are first used."""

    _groups: dict[tuple[int, str], list[Thread]] = field(factory=dict)
    _count: int = 0

    def get(self, process: int, name: str) -> tuple[Thread, list[Event]]:
        """Returns the first thread of a group, and the events that name it if it is new.

        Args:
            process: the number of the process.
            name: the name of the group.
        """
        group = self._groups.setdefault((process, name), [])
        return (group[0], []) if group else self._add(group, process, name)

    def begin(
        self, process: int, name: str, begun: Slice, at_ns: int, args: Event
    ) -> Iterator[Event]:
        """Begins a slice on a thread of a group.

        Args:
            process: the number of the process.
            name: the name of the group.
            begun: the slice.
            at_ns: the time.
            args: facts, for its beginning.
        """
        group = self._groups.setdefault((process, name), [])
        found = next((one for one in group if not one.open or one.open[-1].can_hold(begun)), None)
        if found is None:
            found, named = self._add(group, process, name)
            yield from named
        begun.thread = found
        found.open.append(begun)
        found.last_ns = max(found.last_ns, at_ns)
        yield found.event("B", found.last_ns, name=begun.name, args=args)

    def end(self, ended: Slice, at_ns: int) -> Iterator[Event]:
        """Ends a slice, and first whatever began within it; nothing if it has ended.

        Args:
            ended: the slice.
            at_ns: the time.
        """
        thread = ended.thread
        while thread is not None and ended.is_open:
            last = thread.open.pop()
            last.is_open = False
            thread.last_ns = max(thread.last_ns, at_ns)
            yield thread.event("E", thread.last_ns, args=last.args)

    def end_all(self, at_ns: int) -> Iterator[Event]:
        """Ends all that is open.

        Args:
            at_ns: the time.
        """
        for group in self._groups.values():
            for thread in group:
                if thread.open:
                    yield from self.end(thread.open[0], at_ns)

    def _add(self, group: list[Thread], process: int, name: str) -> tuple[Thread, list[Event]]:
        self._count += 1
        thread = Thread(process, self._count)
        group.append(thread)
        title = name if len(group) == 1 else f"{name}, {len(group)}"
        ids = {"ph": "M", "pid": process, "tid": thread.number}
        return thread, [
            {**ids, "name": "thread_name", "args": {"name": title}},
            {**ids, "name": "thread_sort_index", "args": {"sort_index": thread.number}},
        ]
