"""Separates the noise of a model from unstable behaviour, using several runs of one agent.

A model words its answer differently in each run. These differences are noise: the wording of texts
and titles, generated ids, token usage, and the number of messages with texts, titles or usage.
Everything else that differs among the runs is unstable.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import evolve

from acp_proxy.diff.diff_result import Change, Diff, DiffEntry, DiffSequence, Field
from acp_proxy.diff.learned_rules import are_names, place_of, places_of
from acp_proxy.protocol.updates import CHUNKS, MESSAGES, UPDATE

_WORDING = re.compile(
    r"/(params|result)(?!.*/raw(Input|Output)(/|$))"
    r"(/.*/(text|title|entries/\d+/content|usage/\w+)|/title|/data/content|/update/used)"
)
"""The places of texts, titles and token counts, except in the input and output of tools."""
_ID = re.compile(r"(?i).*id")
_KINDS = (*CHUNKS, *MESSAGES, "usage_update", "session_info_update")
_SPOKEN = {f"{UPDATE} {kind}" for kind in _KINDS}
"""Types of messages: how many of these messages a run contains depends on the wording."""
Prompts = tuple[Sequence[int], Sequence[int]]
"""The frame numbers of the prompts in A, and of the prompts in B."""
_Noise = Callable[[DiffEntry, Field | None], bool]
_Span = tuple[int, int]
"""A message, as its first and its last frame in the first run; or a turn, as its number twice."""


class ModelNoise:
    """The noise among several runs of one agent, by frames and turns of the first run."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[_Span]] = {}

    def learn(self, result: Diff, prompts: Prompts) -> Diff:
        """Notes the noise of another run. Returns the differences that are unstable.

        Args:
            result: the comparison of the first run (A) with the other run (B).
            prompts: the frame numbers of the prompts in both runs.
        """
        places = places_of(result).items()
        ids = {place for place, pairs in places if _ID.fullmatch(place) and are_names(pairs)}

        def is_noise(entry: DiffEntry, field: Field | None) -> bool:
            if field is None:
                is_known = entry.title in _SPOKEN
                span = _turn(entry, prompts)
            else:
                is_known = bool(_WORDING.fullmatch(field.pointer)) or place_of(field) in ids
                span = entry.a or 0, entry.a_last or 0
            if is_known:
                self._known.setdefault(_key(entry, field), []).append(span)
            return is_known

        return evolve(_without(result, is_noise), latency=())

    def without(self, result: Diff, prompts: Prompts) -> Diff:
        """Returns a comparison without the noise that the runs have shown.

        Args:
            result: the comparison of the played recording (A) with the first run (B).
            prompts: the frame numbers of the prompts in both recordings.
        """

        def is_noise(entry: DiffEntry, field: Field | None) -> bool:
            span = _turn(entry, prompts) if field is None else (entry.b or 0, entry.b_last or 0)
            known = self._known.get(_key(entry, field), ())
            return any(first <= span[1] and span[0] <= last for first, last in known)

        return _without(result, is_noise)


def _key(entry: DiffEntry, field: Field | None) -> tuple[str, str]:
    return entry.title, "" if field is None else place_of(field)


def _turn(entry: DiffEntry, prompts: Prompts) -> _Span:
    """Returns the turn of an entry as a span: the number of the turn, twice."""
    turn = bisect_left(prompts[entry.a is None], entry.a or entry.b or 0)
    return turn, turn


def _without(result: Diff, is_noise: _Noise) -> Diff:
    def steps(sequence: DiffSequence) -> Iterator[Iterator[int] | DiffEntry]:
        for step in sequence.steps:
            if not isinstance(step, DiffEntry):
                yield step
            elif step.change is Change.CHANGED:
                fields = tuple(field for field in step.fields if not is_noise(step, field))
                yield evolve(step, fields=fields) if fields else iter([step.a or 0])
            elif not is_noise(step, None):
                yield step

    def sequences() -> Iterator[DiffSequence]:
        return (evolve(part, steps=steps(part)) for part in result.sequences())

    rest = evolve(result, sequences=sequences)
    changes = Counter(entry.change.value.replace("-", "_") for entry in rest.entries())
    counts = {change: changes[change] for change in ("only_a", "only_b", "changed", "moved")}
    return evolve(rest, counts=evolve(result.counts, **counts))
