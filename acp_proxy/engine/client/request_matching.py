"""Finds the recorded request that a live one of the agent's is.

Candidates are those of its lane that the agent has not made yet. Exact equality wins, the first
recorded among equals; then what identifies a request: a file's path, a terminal, a command, or what
leave is asked for. What else differs is told by the comparison of the two recordings. Only a
lenient client takes the next one of the method for it.

A request for leave is compared by what it asks leave for, and by nothing else. If no recorded one
asks for the same, it is taken for another one, so that reports can say in what they differ. Which
options it offers only decides among equals.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from attrs import field, frozen

from acp_proxy.engine.client.known_files import READ, WRITE
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import Requests, params_of
from acp_proxy.engine.client.near_misses import differing, nearest
from acp_proxy.engine.client.permission_match import Verdict
from acp_proxy.engine.client.recorded_requests import Keys, Question, Questions
from acp_proxy.engine.client.request_keys import Live, as_it_is, key_of
from acp_proxy.engine.client.state import Stage
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import NearMiss
from acp_proxy.engine.shared.steps import PERMISSION
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.splice import Place
from acp_proxy.protocol.typed_places import places_of

_LOOKED_AT = 50
_PLACED = {"path": Place.PATH}
_EXACT, _SAME, _SAME_OFFERING, _OFFERING = range(4)
"""Keys of a request: of all its params, of what identifies it; and of one for leave, of that and
the kinds of options that it offers, and of these alone."""


@frozen
class Found:
    """A recorded request that a live one is taken for."""

    question: Question
    verdict: Verdict = field(factory=Verdict)
    """For a permission request: whether it asks leave for the same."""


class Matching:
    """Finds recorded requests."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._requests = Requests(stage.recording.script)

    def find(self, message: Message, value: Any, lane: ClientLane | None) -> Found | None:
        """Finds the recorded request; if it is answered, it was made, which has to be noted.

        Args:
            message: the live request.
            value: decoded.
            lane: the only one it can be of; None for any, if it names no session.
        """
        method = message.method
        first = next(self._candidates(method, lane), None)
        if first is None:
            return None
        keys = self._keys(method, value)
        if method == PERMISSION:
            return self._asking_leave(value, lane, keys)
        if self.compare(first, value).is_equal:
            return Found(first)
        for question in self._alike(method, lane, _EXACT, keys):
            if self.compare(question, value).is_equal:
                return Found(question)
        for question in self._alike(method, lane, _SAME, keys):
            if self._is_same(method, question, value):
                return Found(question)
        return Found(first) if self._stage.options.lenient else None

    def compare(self, question: Question, value: Any) -> Comparison:
        """Compares a recorded request with a live one."""
        method = question.ask.method
        request = self._requests.of(question)
        return self._stage.comparer.params(method, request, value, places_of("request", method))

    def note_made(self, question: Question) -> None:
        """Notes that the live agent has made a request."""
        self._stage.recording.lanes[question.step.lane].questions.note_made(question)
        if not question.step.names_session:
            self._stage.recording.unnamed.note_made(question)

    def request(self, question: Question) -> Any:
        """A recorded request, decoded."""
        return self._requests.of(question)

    def near_misses(
        self, message: Message, value: Any, lane: ClientLane | None
    ) -> tuple[NearMiss, ...]:
        """Recorded requests of the same method that the agent has not made, the most alike."""
        misses = []
        for question in islice(self._candidates(message.method, lane), _LOOKED_AT):
            misses.append(self._miss(question, value, is_played=False))
        return nearest(misses)

    def used_up(self, message: Message, value: Any, lane: ClientLane | None) -> NearMiss | None:
        """The recorded request for the same that the agent has made already, if there was one."""
        method = message.method
        key = self._keys(method, value)[_SAME]
        question = self._questions(lane).made(method, _SAME, key, self._recorded_keys)
        if question is None or not self._is_same(method, question, value):
            return None
        return self._miss(question, value, is_played=True)

    def _miss(self, question: Question, value: Any, *, is_played: bool) -> NearMiss:
        method, request = question.ask.method, self._requests.of(question)
        rewritten = self._stage.bindings.rewritten
        differences = differing(method, request, value, self._stage.comparer, rewritten)
        return NearMiss(question.step.seq, str(method), differences, is_played)

    def _candidates(self, method: str | None, lane: ClientLane | None) -> Iterator[Question]:
        return filter(self._is_of_turn, self._questions(lane).of(method))

    def _alike(
        self, method: str | None, lane: ClientLane | None, level: int, keys: Keys
    ) -> Iterator[Question]:
        """Yields candidates whose key is the same, not too many."""
        found = self._questions(lane).alike(method, level, keys[level], self._recorded_keys)
        return islice(filter(self._is_of_turn, found), _LOOKED_AT)

    def _questions(self, lane: ClientLane | None) -> Questions:
        return self._stage.recording.unnamed if lane is None else lane.questions

    def _is_of_turn(self, question: Question) -> bool:
        """Whether a request may be made now: in a cancelled turn, no later turn's."""
        lane = self._stage.recording.lanes[question.step.lane]
        if not lane.is_cancelled:
            return True
        answers = (self._stage.recording.answers.get(exchange) for exchange in lane.prompts)
        return all(a is None or question.step.seq < a.seq for a in answers)

    def _asking_leave(self, value: Any, lane: ClientLane | None, keys: Keys) -> Found | None:
        """The first that asks leave for the same; rather one that offers the same, too.

        If there is none, one that cannot be told from it, since neither names anything; or else
        another one that offers the same kinds of options, or any.
        """
        other = vague = None
        called_alike = False
        live = self._stage.leave.live(value)
        levels = (_SAME_OFFERING, _SAME, _OFFERING)
        alike = (self._alike(PERMISSION, lane, level, keys) for level in levels)
        others = islice(self._candidates(PERMISSION, lane), _LOOKED_AT)
        seen: set[Question] = set()
        for question in chain(chain.from_iterable(alike), others):
            if question in seen:
                continue
            seen.add(question)
            verdict = self._stage.leave.compare(question, live)
            if verdict.is_same:
                return Found(question)
            if verdict.is_vague and (vague is None or not called_alike):
                vague = Found(question, verdict)
                called_alike = self._stage.leave.are_called_alike(question, value)
            other = other or Found(question, verdict)
        return vague or other

    def _is_same(self, method: str | None, question: Question, value: Any) -> bool:
        """Whether two requests are about the same, whatever else they say."""
        recorded = self._requests.of(question)
        if method == PERMISSION:
            return not self._stage.leave.compare(
                question, self._stage.leave.live(value)
            ).differences
        old, new = params_of(recorded), params_of(value)
        names = _identity(method)
        return all(self._value(old, name) == new.get(name) for name in names)

    def _value(self, params: dict[str, Any], name: str) -> Any:
        """A recorded value, as it is called now."""
        value = params.get(name)
        place = _PLACED.get(name)
        if place is None or not isinstance(value, str):
            return value
        return self._stage.bindings.live(place, value)

    def _recorded_keys(self, question: Question) -> Keys:
        bindings = self._stage.bindings
        request = self._requests.of(question)
        return self._keys(question.ask.method, request, bindings.live, question)

    def _keys(
        self,
        method: str | None,
        request: Any,
        live: Live = as_it_is,
        recorded: Question | None = None,
    ) -> Keys:
        params = params_of(request)
        ignored = self._stage.comparer.ignored
        exact = key_of({"params": params}, places_of("request", method), live, ignored)
        if method == PERMISSION:
            leave = self._stage.leave
            asks_for = leave.live(request) if recorded is None else leave.recorded(recorded)
            asked, offered = key_of(asks_for), key_of(_offered_kinds(request))
            return exact, asked, hash((asked, offered)), offered
        named = [
            live(_PLACED[name], value)
            if name in _PLACED and isinstance(value := params.get(name), str)
            else params.get(name)
            for name in _identity(method)
        ]
        return exact, key_of(named)


def _offered_kinds(request: Any) -> list[str]:
    """The kinds of the options that a permission request offers, sorted."""
    return sorted(str(option.get("kind")) for option in options_of(request))


def _identity(method: str | None) -> tuple[str, ...]:
    """The names of the params that identify a request; none if any two of a method are alike."""
    names = _IDENTITY.get(method or "")
    if names is None:
        names = ("terminalId",) if (method or "").startswith("terminal/") else ()
    return names


_IDENTITY: dict[str, tuple[str, ...]] = {
    READ: ("path", "line", "limit"),
    WRITE: ("path",),
    "terminal/create": ("command", "args"),
    # The recorded client has accepted this question, and no other one.
    "elicitation/create": ("mode", "message", "requestedSchema", "url"),
}
"""What identifies a request, by its method."""
