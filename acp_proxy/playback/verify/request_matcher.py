"""Finds the recorded request that a live request of the agent matches.

Candidates are the recorded requests of the lane that the live agent has not made yet. The match is
the first of:

- an equal request;
- a request with the same identity: a file's path, a terminal, a command;
- for a lenient client, the next request of the method.

A match may differ in other ways. `verify` reports these differences when it compares the recording
with the new recording of the live agent.

A permission request matches a request with the same scope, preferably with the same options. If no
request has the same scope, another request is the match, so that reports can show the differences.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from attrs import field, frozen

from acp_proxy.base.limits import CANDIDATES, NAMED
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer, Comparison, Difference
from acp_proxy.playback.shared.divergence import NearMiss
from acp_proxy.playback.verify.known_files import READ, WRITE
from acp_proxy.playback.verify.lane import ClientLane
from acp_proxy.playback.verify.permission_match import PermissionMatch
from acp_proxy.playback.verify.permission_scope import as_recorded, moved
from acp_proxy.playback.verify.recorded_requests import (
    Key,
    Keys,
    Live,
    RecordedRequest,
    RecordedRequests,
    as_it_is,
    key_of,
)
from acp_proxy.playback.verify.verify_requests import VerifyState
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import params_of, parts_of
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.typed_places import Place, places_of

_NOISE = re.compile(
    r"_meta|cwd|description|timestamp|.*(call|turn|use|request|session)_?id|.*_at(_ms)?", re.I
)
"""Names of members that do not describe the action; their differences are reported last."""
_EXACT, _SAME, _SAME_OFFERING, _OFFERING = range(4)
"""The parts of a request that are hashed. For all requests: all params, or the identity. For
permission requests also: the identity and the kinds of the offered options, or only these kinds."""
_IDENTITY: dict[str, tuple[str, ...]] = {
    READ: ("path", "line", "limit"),
    WRITE: ("path",),
    "terminal/create": ("command", "args"),
    # The recorded client has accepted exactly this question.
    "elicitation/create": ("mode", "message", "requestedSchema", "url"),
}
"""The params that identify a request, by its method."""


@frozen
class AgentRequest:
    """A request of the live agent."""

    message: Message
    value: Any
    """The request, decoded."""
    masked: Any
    """The request without its secrets, decoded."""
    line: int
    """The number of the agent's line."""
    lane: ClientLane | None
    """The lane of the request; None if the request names no session, so that any lane is
    possible."""
    hidden: dict[int, list[tuple[str, ...]]] = field(factory=dict, eq=False)
    """The places that must not be shown beside a recorded request, by the number of that
    request."""

    @property
    def method(self) -> str | None:
        """The method of the request."""
        return self.message.method

    def hidden_beside(self, misses: tuple[NearMiss, ...]) -> list[tuple[str, ...]]:
        """Returns the paths of texts in this request that must not be shown beside ``misses``."""
        return [place for miss in misses for place in self.hidden.get(miss.seq, ())]


@frozen
class RequestMatch:
    """The recorded request that a live request is matched with."""

    request: RecordedRequest
    permission: PermissionMatch = field(factory=PermissionMatch)
    """For a permission request: the comparison with the recorded permission request."""


class RequestMatcher:
    """Finds the recorded requests that live requests match."""

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        self._messages = state.recording.messages

    def find(self, live: AgentRequest) -> RequestMatch | None:
        """Finds the matching recorded request. To answer ``live``, also call `note_made`."""
        first = next(self._candidates(live), None)
        if first is None:
            return None
        keys = self._live_keys(live)
        if live.method == PERMISSION:
            return self._find_permission(live, keys)
        if self.compare(first, live).is_equal:
            return RequestMatch(first)
        for request in self._with_key(live, keys[_EXACT]):
            if self.compare(request, live).is_equal:
                return RequestMatch(request)
        for request in self._with_key(live, keys[_SAME]):
            if self._has_same_identity(request, live):
                return RequestMatch(request)
        return RequestMatch(first) if self._state.options.lenient else None

    def note_made(self, request: RecordedRequest) -> None:
        """Notes that the live agent has made a recorded request."""
        self._state.recording.lanes[request.step.lane].requests.note_made(request)
        if not request.step.names_session:
            self._state.recording.unnamed.note_made(request)

    def near_misses(self, live: AgentRequest) -> tuple[NearMiss, ...]:
        """Returns the most similar recorded requests that the agent has not made."""
        some = islice(self._candidates(live), CANDIDATES)
        misses = [self._miss(request, live, is_played=False) for request in some]
        return tuple(sorted(misses, key=_distance)[:NAMED])

    def used_up(self, live: AgentRequest) -> NearMiss | None:
        """Returns a recorded request that was already made and has a live request's identity."""
        key = self._live_keys(live)[_SAME]
        request = self._requests(live.lane).first_made(live.method, key, self._recorded_keys)
        if request is None or not self._has_same_identity(request, live):
            return None
        return self._miss(request, live, is_played=True)

    def compare(self, request: RecordedRequest, live: AgentRequest) -> Comparison:
        """Compares a recorded request with a live request, both without secrets.

        Args:
            request: the recorded request.
            live: the live request, of the same method.
        """
        recorded, places = self._masked(request), places_of("request", live.method)
        return self._state.comparer.params(live.method, recorded, live.masked, places)

    def _masked(self, request: RecordedRequest) -> Any:
        """Returns a recorded request without its secrets, decoded."""
        raw = self._messages.raw(request)
        masking = self._state.masking
        if masking.masked(raw) == raw:
            return self._messages.request(request)
        return masking.value(raw, places_of("request", request.ask.method))

    def _miss(self, request: RecordedRequest, live: AgentRequest, *, is_played: bool) -> NearMiss:
        return NearMiss(
            request.step.seq, str(live.method), self.differences(request, live), is_played
        )

    def differences(self, request: RecordedRequest, live: AgentRequest) -> tuple[Difference, ...]:
        """Returns how two requests differ; a recorded directory equals its live directory.

        Args:
            request: the recorded request.
            live: the live request, of the same method.
        """
        places, comparer = places_of("request", live.method), self._state.comparer.after_rewriting
        recorded = written = self._masked(request)
        try:
            written = moved(recorded, self._state.bindings)
        except RecursionError:
            comparer = self._state.comparer
        result = comparer.params(live.method, written, live.masked, places)
        live.hidden[request.step.seq] = result.hidden
        every = as_recorded(result.all_differences, recorded, written)
        return tuple(sorted(every, key=_is_noise))

    def _candidates(self, live: AgentRequest) -> Iterator[RecordedRequest]:
        return filter(self._is_of_turn, self._requests(live.lane).of(live.method))

    def _with_key(self, live: AgentRequest, key: Key) -> Iterator[RecordedRequest]:
        """Yields the candidates with a given key, at most `CANDIDATES` of them."""
        requests = self._requests(live.lane).with_key(live.method, key, self._recorded_keys)
        return islice(filter(self._is_of_turn, requests), CANDIDATES)

    def _requests(self, lane: ClientLane | None) -> RecordedRequests:
        return self._state.recording.unnamed if lane is None else lane.requests

    def _is_of_turn(self, request: RecordedRequest) -> bool:
        """Whether a recorded request may match; after the end of a cancelled turn, none may."""
        turns = self._state.recording.lanes[request.step.lane].turns
        if not (turns.is_cancelled and turns.is_open):
            return True
        answers = filter(None, map(self._state.recording.answers.get, turns.prompts))
        ends = [turns.recorded_end] if turns.recorded_ends else [answer.seq for answer in answers]
        return all(end is None or request.step.seq < end for end in ends)

    def _find_permission(self, live: AgentRequest, keys: Keys) -> RequestMatch | None:
        """Finds the first request with the same scope, preferably with the same options.

        Without a request of the same scope, finds the first of:

        - an equal request that does not name the object of the action;
        - a request that offers the same kinds of options;
        - any request.
        """
        permissions = self._state.permissions
        other = vague = None
        looks_same = False
        scope = permissions.live(live.value)
        for request in self._permission_candidates(live, keys):
            match = permissions.compare(request, scope)
            if match.is_same:
                return RequestMatch(request)
            if match.is_vague and (vague is None or not looks_same):
                vague = RequestMatch(request, match)
                looks_same = permissions.look_same(request, live.value)
            other = other or RequestMatch(request, match)
        return vague or other

    def _permission_candidates(self, live: AgentRequest, keys: Keys) -> Iterator[RecordedRequest]:
        """Yields recorded permission requests, each once; those with a key in ``keys`` first."""
        levels = (_SAME_OFFERING, _SAME, _OFFERING)
        alike = chain.from_iterable(self._with_key(live, keys[level]) for level in levels)
        others = islice(self._candidates(live), CANDIDATES)
        yield from dict.fromkeys(chain(alike, others))

    def _has_same_identity(self, request: RecordedRequest, live: AgentRequest) -> bool:
        """Whether two requests have the same identity, whatever else differs."""
        if live.method == PERMISSION:
            scope = self._state.permissions.live(live.value)
            return not self._state.permissions.compare(request, scope).differences
        recorded = params_of(self._masked(request))
        was = _identity(live.method, recorded, self._state.bindings.live)
        now = _identity(live.method, params_of(live.masked), as_it_is)
        strict = Comparer(Bindings(secrets=self._state.bindings.secrets))
        return strict.values(was, now).is_match

    def _recorded_keys(self, request: RecordedRequest) -> Keys:
        method, recorded = request.ask.method, self._masked(request)
        scope = self._state.permissions.recorded(request) if method == PERMISSION else None
        return self._keys(method, recorded, scope, self._state.bindings.live)

    def _live_keys(self, live: AgentRequest) -> Keys:
        is_permission = live.method == PERMISSION
        scope = self._state.permissions.live(live.value) if is_permission else None
        return self._keys(live.method, live.masked, scope, as_it_is)

    def _keys(self, method: str | None, value: Any, scope: Any, live: Live) -> Keys:
        params, ignored = params_of(value), self._state.comparer.ignored
        exact = key_of({"params": params}, places_of("request", method), live, ignored)
        if method != PERMISSION:
            return (_EXACT, exact), (_SAME, key_of(_identity(method, params, live)))
        kinds = sorted(str(option.get("kind")) for option in options_of(value))
        asked, offered = key_of(scope), key_of(kinds)
        return tuple(enumerate((exact, asked, hash((asked, offered)), offered)))


def _identity(method: str | None, params: dict[str, Any], live: Live) -> list[Any]:
    """Returns the identity of a request; empty if all requests of the method are alike."""
    names = _IDENTITY.get(method or "")
    if names is None:
        names = ("terminalId",) if (method or "").startswith("terminal/") else ()
    values = [(name, params.get(name)) for name in names]
    return [
        live(Place.PATH, v) if name == "path" and isinstance(v, str) else v for name, v in values
    ]


def _distance(miss: NearMiss) -> tuple[int, int]:
    return [*map(_is_noise, miss.differences)].count(False), miss.seq


def _is_noise(difference: Difference) -> bool:
    return _NOISE.fullmatch(parts_of(difference.pointer)[-1]) is not None
