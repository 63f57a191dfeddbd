"""The requests of the recorded agent, for lookups by content.

A request is decoded once to compute its keys, which are hashes; only the keys are kept. Different
requests may have equal keys, so the caller compares the requests that are found.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from attrs import define, field

from acp_proxy.playback.shared.secret_pairs import without_hash
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.typed_places import Place
from acp_proxy.recording.steps import Ask, Script, Step

_HELD, _SMALL = 128, 32 << 10
"""The largest number of requests that are kept decoded, and the largest size of each in bytes."""

Key = tuple[int, int]
"""Which part of a request was hashed, as a number, and the hash of this part."""
Keys = tuple[Key, ...]
Live = Callable[[Place, str], str]
"""Returns the live form of a value at a typed place."""


@define(eq=False)
class RecordedRequest:
    """A recorded request of the agent, with its frame."""

    step: Step
    ask: Ask
    is_made: bool = field(default=False, init=False)
    """Whether the live agent has made the request, or the request will not be answered."""
    is_given_up: bool = field(default=False, init=False)
    """Whether the client no longer waits for the request, which may still come."""


KeysOf = Callable[[RecordedRequest], Keys]
"""Computes the keys of a recorded request; called once for each request."""


@define(eq=False)
class _Pool:
    """The requests of one method."""

    all: deque[RecordedRequest] = field(factory=deque)
    by_key: dict[Key, deque[RecordedRequest]] | None = None
    made: list[RecordedRequest] = field(factory=list)
    """Requests that the live agent has made and that are not in `first_made` yet."""
    first_made: dict[Key, RecordedRequest] = field(factory=dict)


class RecordedRequests:
    """Requests of the agent, in recorded order; several objects may contain the same request."""

    def __init__(self) -> None:
        self._pools: dict[str | None, _Pool] = {}
        self._awaited: deque[RecordedRequest] = deque()

    def append(self, request: RecordedRequest) -> None:
        """Adds the next request."""
        self._pools.setdefault(request.ask.method, _Pool()).all.append(request)
        self._awaited.append(request)

    def __iter__(self) -> Iterator[RecordedRequest]:
        """Yields the requests that the live agent has not made, grouped by method."""
        for method in self._pools:
            yield from self.of(method)

    @property
    def first_awaited(self) -> RecordedRequest | None:
        """The first request that the client waits for."""
        while self._awaited and (self._awaited[0].is_made or self._awaited[0].is_given_up):
            self._awaited.popleft()
        return self._awaited[0] if self._awaited else None

    def are_made_before(self, seq: int) -> bool:
        """Whether the client waits for none of the requests that were recorded before a frame."""
        first = self.first_awaited
        return first is None or first.step.seq >= seq

    def give_up(self, seq: int) -> None:
        """Stops waiting for requests recorded before a frame."""
        while (first := self.first_awaited) is not None and first.step.seq < seq:
            first.is_given_up = True

    def clear(self) -> None:
        """Marks all requests as made, because none of them will be answered."""
        for request in self:
            request.is_made = True

    def of(self, method: str | None) -> Iterator[RecordedRequest]:
        """Yields those requests of a method that the live agent has not made."""
        return _not_made(self._pool(method).all)

    def with_key(self, method: str | None, key: Key, keys_of: KeysOf) -> Iterator[RecordedRequest]:
        """Yields the requests that have a given method and key, and have not been made.

        Args:
            method: the method.
            key: the key.
            keys_of: computes the keys of a recorded request.
        """
        pool = self._pool(method)
        if pool.by_key is None:
            pool.by_key = {}
            for request in _not_made(pool.all):
                for entry in keys_of(request):
                    pool.by_key.setdefault(entry, deque()).append(request)
        return _not_made(pool.by_key.get(key, deque()))

    def note_made(self, request: RecordedRequest) -> None:
        """Notes that the live agent has made a request."""
        request.is_made = True
        self._pool(request.ask.method).made.append(request)

    def first_made(self, method: str | None, key: Key, keys_of: KeysOf) -> RecordedRequest | None:
        """Of the requests that the live agent has made, returns the first that has a given key.

        Args:
            method: the method.
            key: the key.
            keys_of: computes the keys of a recorded request.
        """
        pool = self._pool(method)
        for request in pool.made:
            for entry in keys_of(request):
                pool.first_made.setdefault(entry, request)
        pool.made.clear()
        return pool.first_made.get(key)

    def _pool(self, method: str | None) -> _Pool:
        return self._pools.get(method) or _Pool()


def _not_made(requests: deque[RecordedRequest]) -> Iterator[RecordedRequest]:
    """Yields the requests that the live agent has not made; removes made ones from the front."""
    while requests and requests[0].is_made:
        requests.popleft()
    return (request for request in requests if not request.is_made)


class RecordedMessages:
    """Messages of a recording, decoded; the caller must not change these values.

    Some requests of the agent are cached, since each live request is compared with many of them.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._held: OrderedDict[int, Any] = OrderedDict()

    def sent(self, step: Step) -> Any:
        """Returns a message of the client."""
        return json_or_none(self._script.wire(step.seq).message_of(step))

    def request(self, request: RecordedRequest) -> Any:
        """Returns a request of the agent."""
        exchange = request.ask.exchange
        if exchange in self._held:
            return self._held[exchange]
        raw = self.raw(request)
        value = json_or_none(raw)
        if len(raw) <= _SMALL:
            self._held[exchange] = value
            if len(self._held) > _HELD:
                self._held.popitem(last=False)
        return value

    def raw(self, request: RecordedRequest) -> bytes:
        """Returns a request of the agent as it was written."""
        wire = self._script.wire(request.step.seq)
        is_batch = request.step.kind == "batch"
        return wire.request_of(request.ask).raw or b"" if is_batch else wire.raw


def as_it_is(_: Place, value: str) -> str:
    """Returns a live value unchanged."""
    return value


def key_of(
    value: Any, places: Any = None, live: Live = as_it_is, ignored: Sequence[tuple[str, ...]] = ()
) -> int:
    """Returns the hash of a value; a number and a boolean may have equal hashes.

    Args:
        value: decoded JSON.
        places: the typed places of the value.
        live: returns the live form of values at the typed places.
        ignored: paths that are not hashed, see `json_text.parts_of`.
    """
    try:
        return _hash(value, places, live, ignored)
    except RecursionError:
        return 0


def _hash(value: Any, places: Any, live: Live, ignored: Sequence[tuple[str, ...]]) -> int:
    if isinstance(value, str):
        return hash(_live_value(value, places, live))
    if isinstance(value, dict):
        items = ((key, key, inner) for key, inner in value.items() if key != "_meta")
    elif isinstance(value, list):
        items = ((str(place), "*", inner) for place, inner in enumerate(value))
    else:
        return hash(value)
    hashes = []
    for name, key, inner in items:
        below = [path[1:] for path in ignored if path and path[0] in ("*", name)]
        place = places.get(key) if isinstance(places, dict) else None
        if () not in below and place not in (Place.FREE, Place.ID):
            hashes.append((name, _hash(inner, place, live, below)))
    return hash((type(value), frozenset(hashes)))


def _live_value(value: str, place: Any, live: Live) -> str:
    if place in (Place.SESSION, Place.ROOT):
        return ""
    value = without_hash(value)
    if isinstance(place, Place):
        value = live(place, value)
    return unquote(value) if place is Place.URI else value
