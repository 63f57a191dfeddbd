"""The requests that the recorded agent made, to be looked up by their content.

A request is decoded once, for its keys; only hashes of it are held. They narrow the search: the
caller compares the requests that it finds.
"""

from collections import deque
from collections.abc import Callable, Iterator

from attrs import define, field

from acp_proxy.engine.shared.steps import Ask, Step

Keys = tuple[int, ...]
"""Hashes of a request, the strictest first."""


@define(eq=False)
class RecordedRequest:
    """A recorded request of the agent.

    Attributes:
        step: the frame that it is in.
        ask: the request.
        is_made: whether the live agent has made it, or it will not be answered.
        is_given_up: whether the client does not wait for it any longer; it may still come.
    """

    step: Step
    ask: Ask
    is_made: bool = field(default=False, init=False)
    is_given_up: bool = field(default=False, init=False)

    def mark_made(self) -> None:
        """Notes that it is not to be matched again."""
        self.is_made = True

    def give_up(self) -> None:
        """Stops waiting for it."""
        self.is_given_up = True


KeysOf = Callable[[RecordedRequest], Keys]
"""Makes the keys of a recorded request; called once for each."""


@define(eq=False)
class _Pool:
    """The requests of one method."""

    all: deque[RecordedRequest] = field(factory=deque)
    by_key: dict[tuple[int, int], deque[RecordedRequest]] | None = None


@define(eq=False)
class _Made:
    """The requests of one method that the live agent has made."""

    latest: list[RecordedRequest] = field(factory=list)
    """Those whose keys are not known yet."""
    by_key: dict[tuple[int, int], RecordedRequest] = field(factory=dict)


class RecordedRequests:
    """Requests of the agent, in recorded order. One may be in several of these collections."""

    def __init__(self) -> None:
        self._pools: dict[str | None, _Pool] = {}
        self._made: dict[str | None, _Made] = {}
        self._awaited: deque[RecordedRequest] = deque()

    def append(self, request: RecordedRequest) -> None:
        """Adds the next one."""
        self._pools.setdefault(request.ask.method, _Pool()).all.append(request)
        self._awaited.append(request)

    def __iter__(self) -> Iterator[RecordedRequest]:
        """Yields those that have not been made, method by method."""
        for pool in self._pools.values():
            yield from _not_made(pool.all)

    @property
    def first_awaited(self) -> RecordedRequest | None:
        """The first one that the client waits for."""
        while self._awaited and (self._awaited[0].is_made or self._awaited[0].is_given_up):
            self._awaited.popleft()
        return self._awaited[0] if self._awaited else None

    def are_made_before(self, seq: int) -> bool:
        """Whether the client waits for none that was recorded before a frame."""
        first = self.first_awaited
        return first is None or first.step.seq >= seq

    def give_up(self, seq: int) -> None:
        """Stops waiting for those that were recorded before a frame."""
        while (first := self.first_awaited) is not None and first.step.seq < seq:
            first.give_up()

    def clear(self) -> None:
        """Forgets all: none will be answered."""
        for request in self:
            request.mark_made()
        self._pools.clear()
        self._awaited.clear()

    def of(self, method: str | None) -> Iterator[RecordedRequest]:
        """Yields those of a method."""
        pool = self._pools.get(method)
        return iter(()) if pool is None else _not_made(pool.all)

    def with_key(
        self, method: str | None, level: int, key: int, keys_of: KeysOf
    ) -> Iterator[RecordedRequest]:
        """Yields those of a method with the same key.

        Args:
            method: the method.
            level: the index of the key among the keys of a request.
            key: its value.
            keys_of: makes the keys of a recorded request.
        """
        pool = self._pools.get(method)
        if pool is None:
            return iter(())
        if pool.by_key is None:
            pool.by_key = {}
            for request in _not_made(pool.all):
                for entry in enumerate(keys_of(request)):
                    pool.by_key.setdefault(entry, deque()).append(request)
        return _not_made(pool.by_key.get((level, key), deque()))

    def note_made(self, request: RecordedRequest) -> None:
        """Notes that the live agent has made a request."""
        self._made.setdefault(request.ask.method, _Made()).latest.append(request)

    def made(
        self, method: str | None, level: int, key: int, keys_of: KeysOf
    ) -> RecordedRequest | None:
        """Returns the first one with a key that the live agent has made.

        Args:
            method: the method.
            level: the index of the key among the keys of a request.
            key: its value.
            keys_of: makes the keys of a recorded request.
        """
        made = self._made.get(method)
        if made is None:
            return None
        for request in made.latest:
            for entry in enumerate(keys_of(request)):
                made.by_key.setdefault(entry, request)
        made.latest.clear()
        return made.by_key.get((level, key))


def _not_made(requests: deque[RecordedRequest]) -> Iterator[RecordedRequest]:
    """Yields those that have not been made; drops those at the front that have, for good."""
    while requests and requests[0].is_made:
        requests.popleft()
    return (request for request in requests if not request.is_made)
