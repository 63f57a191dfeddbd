"""Finds the recorded request that a live one of the agent's is.

Candidates are those of its lane that the agent has not made yet. Exact equality wins, the first
recorded among equals; then what identifies a request: a file's path, a terminal, a command, the
kinds of options that the user is offered. What else differs is told by the comparison of the two
recordings. Only a lenient client takes the next one of the method for it.
"""

from typing import Any

from acp_proxy.engine.client.files import READ, WRITE
from acp_proxy.engine.client.lane import ClientLane, Question
from acp_proxy.engine.client.permissions import PERMISSION, kinds_of
from acp_proxy.engine.client.reading import params_of, recorded_request
from acp_proxy.engine.client.stage import Stage
from acp_proxy.engine.comparison import Comparison
from acp_proxy.engine.divergence import NearMiss
from acp_proxy.engine.places import places_of
from acp_proxy.engine.splice import Place
from acp_proxy.protocol.jsonrpc import Message

_NEAR = 3
_LOOKED_AT = 50
_PLACED = {"path": Place.PATH}


class Matching:
    """Finds recorded requests."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def find(self, message: Message, value: Any, lane: ClientLane | None) -> Question | None:
        """Finds the recorded request, which the caller takes out of its lane.

        Args:
            message: the live request.
            value: decoded.
            lane: the only one it can be of; None for any, if it names no session.
        """
        candidates = self._candidates(message, lane)
        for question in candidates:
            comparison = self.compare(question, value)
            if comparison.is_equal:
                return question
        for question in candidates:
            if self._is_same(message.method, question, value):
                return question
        return candidates[0] if candidates and self._stage.options.lenient else None

    def compare(self, question: Question, value: Any) -> Comparison:
        """Compares a recorded request with a live one."""
        method = question.ask.method
        request = recorded_request(self._stage.plot.script, question)
        return self._stage.comparer.params(method, request, value, places_of("request", method))

    def near_misses(
        self, message: Message, value: Any, lane: ClientLane | None
    ) -> tuple[NearMiss, ...]:
        """Recorded requests of the same method that the agent has not made, the most alike."""
        misses = []
        for question in self._candidates(message, lane)[:_LOOKED_AT]:
            comparison = self.compare(question, value)
            differences = (*comparison.differences, *comparison.conflicts)
            misses.append(NearMiss(question.step.seq, str(message.method), differences, False))
        misses.sort(key=lambda miss: (len(miss.differences), miss.seq))
        return tuple(misses[:_NEAR])

    def _candidates(self, message: Message, lane: ClientLane | None) -> list[Question]:
        lanes = [lane] if lane is not None else [*self._stage.plot.lanes.values()]
        found = [
            question
            for one in lanes
            for question in one.questions
            if question.ask.method == message.method and self._is_of_turn(one, question)
        ]
        if lane is None:
            found = [question for question in found if not question.step.names_session]
        return sorted(found, key=lambda question: question.step.seq)

    def _is_of_turn(self, lane: ClientLane, question: Question) -> bool:
        """Whether a request may be made now: in a cancelled turn, no later turn's."""
        if not lane.is_cancelled:
            return True
        answers = (self._stage.plot.answers.get(exchange) for exchange in lane.prompts)
        return all(a is None or question.step.seq < a.seq for a in answers)

    def _is_same(self, method: str | None, question: Question, value: Any) -> bool:
        """Whether two requests are about the same, whatever else they say."""
        recorded = recorded_request(self._stage.plot.script, question)
        old, new = params_of(recorded), params_of(value)
        if method == PERMISSION:
            return kinds_of(recorded) == kinds_of(value)
        same = _IDENTITY.get(method or "")
        if same is not None:
            return all(self._value(old, key) == new.get(key) for key in same)
        if (method or "").startswith("terminal/"):
            return bool(old.get("terminalId") == new.get("terminalId"))
        return True

    def _value(self, params: dict[str, Any], key: str) -> Any:
        """A recorded value, as it is called now."""
        value = params.get(key)
        place = _PLACED.get(key)
        return value if place is None or not isinstance(value, str) else self._live(place, value)

    def _live(self, place: Place, value: str) -> str:
        return self._stage.bindings.live(place, value)


_IDENTITY: dict[str, tuple[str, ...]] = {
    READ: ("path", "line", "limit"),
    WRITE: ("path",),
    "terminal/create": ("command", "args"),
    "elicitation/create": ("mode",),
}
"""What identifies a request, by its method."""
