"""What the recorded agent asked, to be looked up by what it is: above all what is still to come.

A request is decoded once, for its keys; what is held of it are hashes. They only narrow the search:
who finds a request compares it.
"""

from collections import deque
from collections.abc import Callable, Iterator

from attrs import define, field

from acp_proxy.engine.shared.steps import Ask, Step

Keys = tuple[int, ...]
"""Hashes of a request, the strictest first."""


@define(eq=False)
class Question:
    """A recorded request of the agent's that the live agent has not made yet."""

    step: Step
    ask: Ask
    is_given_up: bool = False
    """Whether nobody waits for it any longer; it may still come."""
    is_made: bool = False
    """Whether the live agent has made it, or it will not be answered."""


@define(eq=False)
class _Pool:
    """The requests of one method."""

    all: deque[Question] = field(factory=deque)
    by_key: dict[tuple[int, int], deque[Question]] | None = None


@define(eq=False)
class _Made:
    """The requests of one method that the live agent has made."""

    latest: list[Question] = field(factory=list)
    """Those that nobody has looked at since."""
    by_key: dict[tuple[int, int], Question] = field(factory=dict)


class Questions:
    """Requests of the agent's, in recorded order. One may be in several of these."""

    def __init__(self) -> None:
        self._pools: dict[str | None, _Pool] = {}
        self._made: dict[str | None, _Made] = {}
        self._awaited: deque[Question] = deque()

    def append(self, question: Question) -> None:
        """Adds the next one."""
        self._pools.setdefault(question.ask.method, _Pool()).all.append(question)
        self._awaited.append(question)

    def __iter__(self) -> Iterator[Question]:
        """Yields those that have not been made, method by method."""
        for pool in self._pools.values():
            yield from _open(pool.all)

    @property
    def first_awaited(self) -> Question | None:
        """The first one that somebody waits for."""
        while self._awaited and (self._awaited[0].is_made or self._awaited[0].is_given_up):
            self._awaited.popleft()
        return self._awaited[0] if self._awaited else None

    def are_asked_before(self, seq: int) -> bool:
        """Whether nobody waits for any that was recorded before a frame."""
        first = self.first_awaited
        return first is None or first.step.seq >= seq

    def give_up(self, seq: int) -> None:
        """Notes that nobody waits any longer for those that were recorded before a frame."""
        while (first := self.first_awaited) is not None and first.step.seq < seq:
            first.is_given_up = True

    def clear(self) -> None:
        """Forgets all: none will be answered."""
        for question in self:
            question.is_made = True
        self._pools.clear()
        self._awaited.clear()

    def of(self, method: str | None) -> Iterator[Question]:
        """Yields those of a method."""
        pool = self._pools.get(method)
        return iter(()) if pool is None else _open(pool.all)

    def alike(
        self, method: str | None, level: int, key: int, keys_of: Callable[[Question], Keys]
    ) -> Iterator[Question]:
        """Yields those of a method with the same key.

        Args:
            method: the method.
            level: which of the keys.
            key: its value.
            keys_of: makes the keys of a recorded request; called once for each.
        """
        pool = self._pools.get(method)
        if pool is None:
            return iter(())
        if pool.by_key is None:
            pool.by_key = {}
            for question in _open(pool.all):
                for entry in enumerate(keys_of(question)):
                    pool.by_key.setdefault(entry, deque()).append(question)
        return _open(pool.by_key.get((level, key), deque()))

    def note_made(self, question: Question) -> None:
        """Notes that the live agent has made a request."""
        self._made.setdefault(question.ask.method, _Made()).latest.append(question)

    def made(
        self, method: str | None, level: int, key: int, keys_of: Callable[[Question], Keys]
    ) -> Question | None:
        """Returns the first one with a key that was made; the arguments are those of `alike`."""
        made = self._made.get(method)
        if made is None:
            return None
        for question in made.latest:
            for entry in enumerate(keys_of(question)):
                made.by_key.setdefault(entry, question)
        made.latest.clear()
        return made.by_key.get((level, key))


def _open(questions: deque[Question]) -> Iterator[Question]:
    """Yields those that have not been made; those at the front that have are dropped for good."""
    while questions and questions[0].is_made:
        questions.popleft()
    return (question for question in questions if not question.is_made)
