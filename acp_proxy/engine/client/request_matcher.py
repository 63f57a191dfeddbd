"""Finds the recorded request that a live request of the agent matches.

Candidates are the requests of its lane that the agent has not made yet. An equal one wins, the
first recorded among several; then one with the same identity: a file's path, a terminal, a command.
Other differences are left to the comparison of the two recordings. Only a lenient client takes the
next request of the method.

A permission request is matched by its scope and by nothing else. If no recorded one has the same
scope, it is matched with another one, so that reports can show the differences. The options that it
offers only decide among equal ones.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from attrs import field, frozen

from acp_proxy.engine.client.known_files import READ, WRITE
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import params_of
from acp_proxy.engine.client.near_misses import differing, nearest
from acp_proxy.engine.client.permission_match import PermissionMatch
from acp_proxy.engine.client.recorded_requests import Keys, RecordedRequest, RecordedRequests
from acp_proxy.engine.client.request_keys import Live, as_it_is, key_of
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import NearMiss
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.methods import PERMISSION
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.splice import Place
from acp_proxy.protocol.typed_places import places_of

_LOOKED_AT = 50
"""How many candidates are compared, at most."""
_PLACED = {"path": Place.PATH}
_EXACT, _SAME, _SAME_OFFERING, _OFFERING = range(4)
"""Indices of the keys of a request: all its params; its identity; and of a permission request, the
identity with the kinds of options that it offers, and these kinds alone."""
_IDENTITY: dict[str, tuple[str, ...]] = {
    READ: ("path", "line", "limit"),
    WRITE: ("path",),
    "terminal/create": ("command", "args"),
    # The recorded client has accepted this question, and no other one.
    "elicitation/create": ("mode", "message", "requestedSchema", "url"),
}
"""The params that identify a request, by its method."""


@frozen
class RequestMatch:
    """The recorded request that a live one is matched with."""

    request: RecordedRequest
    permission: PermissionMatch = field(factory=PermissionMatch)
    """For a permission request: whether it asks permission for the same."""


class RequestMatcher:
    """Finds recorded requests.

    Args:
        state: the state of the verification.
    """

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        self._messages = state.recording.messages

    def find(self, message: Message, value: Any, lane: ClientLane | None) -> RequestMatch | None:
        """Finds the recorded request; the caller calls `note_made` if it is answered.

        Args:
            message: the live request.
            value: the same, decoded.
            lane: the only one it can be in; None for any, if it names no session.
        """
        method = message.method
        first = next(self._candidates(method, lane), None)
        if first is None:
            return None
        keys = self._live_keys(method, value)
        if method == PERMISSION:
            return self._find_permission(value, lane, keys)
        if self._compare(first, value).is_equal:
            return RequestMatch(first)
        for request in self._with_key(method, lane, _EXACT, keys):
            if self._compare(request, value).is_equal:
                return RequestMatch(request)
        for request in self._with_key(method, lane, _SAME, keys):
            if self._has_same_identity(method, request, value):
                return RequestMatch(request)
        return RequestMatch(first) if self._state.options.lenient else None

    def note_made(self, request: RecordedRequest) -> None:
        """Notes that the live agent has made a recorded request."""
        request.mark_made()
        self._state.recording.lanes[request.step.lane].requests.note_made(request)
        if not request.step.names_session:
            self._state.recording.unnamed.note_made(request)

    def near_misses(
        self, message: Message, value: Any, lane: ClientLane | None
    ) -> tuple[NearMiss, ...]:
        """Returns the most similar recorded requests that the agent has not made.

        Args:
            message: the live request.
            value: the same, decoded.
            lane: as for `find`.
        """
        some = islice(self._candidates(message.method, lane), _LOOKED_AT)
        return nearest([self._miss(request, value, is_played=False) for request in some])

    def used_up(self, message: Message, value: Any, lane: ClientLane | None) -> NearMiss | None:
        """Returns the recorded request of the same identity that the agent has made already.

        Args:
            message: the live request.
            value: the same, decoded.
            lane: as for `find`.
        """
        method = message.method
        key = self._live_keys(method, value)[_SAME]
        request = self._requests(lane).made(method, _SAME, key, self._recorded_keys)
        if request is None or not self._has_same_identity(method, request, value):
            return None
        return self._miss(request, value, is_played=True)

    def _compare(self, request: RecordedRequest, value: Any) -> Comparison:
        method = request.ask.method
        recorded = self._messages.request(request)
        return self._state.comparer.params(method, recorded, value, places_of("request", method))

    def _miss(self, request: RecordedRequest, value: Any, *, is_played: bool) -> NearMiss:
        method, recorded = request.ask.method, self._messages.request(request)
        rewritten = self._state.bindings.rewritten
        differences = differing(method, recorded, value, self._state.comparer, rewritten)
        return NearMiss(request.step.seq, str(method), differences, is_played)

    def _candidates(self, method: str | None, lane: ClientLane | None) -> Iterator[RecordedRequest]:
        return filter(self._is_of_turn, self._requests(lane).of(method))

    def _with_key(
        self, method: str | None, lane: ClientLane | None, level: int, keys: Keys
    ) -> Iterator[RecordedRequest]:
        """Yields candidates with the same key, not too many."""
        found = self._requests(lane).with_key(method, level, keys[level], self._recorded_keys)
        return islice(filter(self._is_of_turn, found), _LOOKED_AT)

    def _requests(self, lane: ClientLane | None) -> RecordedRequests:
        return self._state.recording.unnamed if lane is None else lane.requests

    def _is_of_turn(self, request: RecordedRequest) -> bool:
        """Whether a request may be made now: in a cancelled turn, none of a later turn."""
        turns = self._state.recording.lanes[request.step.lane].turns
        if not turns.is_cancelled:
            return True
        answers = (self._state.recording.answers.get(exchange) for exchange in turns.prompts)
        return all(a is None or request.step.seq < a.seq for a in answers)

    def _find_permission(
        self, value: Any, lane: ClientLane | None, keys: Keys
    ) -> RequestMatch | None:
        """Finds the first request of the same scope, preferably with the same options.

        If there is none, it is one that cannot be distinguished from it, since neither names
        anything; or else another one that offers the same kinds of options, or any.
        """
        permissions = self._state.permissions
        other = vague = None
        has_same_title = False
        live = permissions.live(value)
        for request in self._permission_candidates(lane, keys):
            match = permissions.compare(request, live)
            if match.is_same:
                return RequestMatch(request)
            if match.is_vague and (vague is None or not has_same_title):
                vague = RequestMatch(request, match)
                has_same_title = permissions.have_same_title(request, value)
            other = other or RequestMatch(request, match)
        return vague or other

    def _permission_candidates(
        self, lane: ClientLane | None, keys: Keys
    ) -> Iterator[RecordedRequest]:
        """Yields permission requests, those with the most keys in common first, each once."""
        levels = (_SAME_OFFERING, _SAME, _OFFERING)
        alike = (self._with_key(PERMISSION, lane, level, keys) for level in levels)
        others = islice(self._candidates(PERMISSION, lane), _LOOKED_AT)
        seen: set[RecordedRequest] = set()
        for request in chain(chain.from_iterable(alike), others):
            if request not in seen:
                seen.add(request)
                yield request

    def _has_same_identity(self, method: str | None, request: RecordedRequest, value: Any) -> bool:
        """Whether two requests are about the same, whatever else differs."""
        if method == PERMISSION:
            live = self._state.permissions.live(value)
            return not self._state.permissions.compare(request, live).differences
        old, new = params_of(self._messages.request(request)), params_of(value)
        return all(self._live_value(old, name) == new.get(name) for name in _identity(method))

    def _live_value(self, params: dict[str, Any], name: str) -> Any:
        """The live name of a recorded value."""
        value, place = params.get(name), _PLACED.get(name)
        if place is None or not isinstance(value, str):
            return value
        return self._state.bindings.live(place, value)

    def _recorded_keys(self, request: RecordedRequest) -> Keys:
        method, recorded = request.ask.method, self._messages.request(request)
        scope = self._state.permissions.recorded(request) if method == PERMISSION else None
        return self._keys(method, recorded, scope, self._state.bindings.live)

    def _live_keys(self, method: str | None, value: Any) -> Keys:
        scope = self._state.permissions.live(value) if method == PERMISSION else None
        return self._keys(method, value, scope, as_it_is)

    def _keys(self, method: str | None, value: Any, scope: Any, live: Live) -> Keys:
        """The keys of a request.

        Args:
            method: its method.
            value: the request, decoded.
            scope: of a permission request.
            live: returns the live names of values in it.
        """
        params = params_of(value)
        ignored = self._state.comparer.ignored
        exact = key_of({"params": params}, places_of("request", method), live, ignored)
        if method == PERMISSION:
            kinds = sorted(str(option.get("kind")) for option in options_of(value))
            asked, offered = key_of(scope), key_of(kinds)
            return exact, asked, hash((asked, offered)), offered
        named = [
            live(_PLACED[name], path)
            if name in _PLACED and isinstance(path := params.get(name), str)
            else params.get(name)
            for name in _identity(method)
        ]
        return exact, key_of(named)


def _identity(method: str | None) -> tuple[str, ...]:
    """The names of the params that identify a request; none if any two of a method are alike."""
    names = _IDENTITY.get(method or "")
    if names is None:
        names = ("terminalId",) if (method or "").startswith("terminal/") else ()
    return names
