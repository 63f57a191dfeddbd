"""Reads the tokens of a recording: of each turn, and of all turns together.

The tokens of a turn are in the answer to its prompt; in v2, in the state update that ends the
turn. In v1, some agents send running totals of the session instead, and running totals are not
added up. Usage updates contain the size of the context, and the cost of the session so far.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from attrs import asdict, evolve, frozen

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.explain.describe.phrases import part
from acp_proxy.explain.describe.token_texts import COUNTS, Tokens, tokens_of
from acp_proxy.explain.show.chosen_messages import read_messages
from acp_proxy.protocol.dialects import OPENING, V1
from acp_proxy.protocol.updates import USAGE, kind_and_update
from acp_proxy.recording.recording import Recording
from acp_proxy.store.queries.exchanges import TurnRow, exchanges
from acp_proxy.store.queries.frames import Span, last_frame, updates_with
from acp_proxy.store.reader import RecordingReader

RISES = 5
"""Numbers of tokens that rise this often in a session, and never fall, are running totals."""
_BEFORE, _AFTER, _OPEN = 64, 16, 2_000
"""How many frames are searched for usage: before the end of a turn, after this end, and at the end
of a recording for a turn that has not ended."""


@frozen
class RecordedTokens:
    """The tokens that an agent reported."""

    turns: dict[int, Tokens]
    """For each turn: its tokens as they were sent, the context at its end, and the cost of the
    turn."""
    whole: Tokens | None
    """The tokens of the recording; None if the agent reported nothing."""
    beyond: dict[int, Tokens]
    """The updates with more tokens in the context than fit into it, by frame number."""
    totals: dict[str | None, list[int]]
    """For each session, the turns whose numbers of tokens are running totals."""


def read_tokens(reader: RecordingReader, turns: Sequence[TurnRow]) -> RecordedTokens:
    """Reads the tokens of a recording, from the ends of its turns.

    Args:
        reader: the recording.
        turns: all turns of the recording.
    """
    ends = {turn.end_seq for turn in turns if turn.end_seq is not None}
    spans = _spans(ends, last_frame(reader), _BEFORE if len(ends) == len(turns) > 0 else _OPEN)
    usages = updates_with(reader, USAGE.encode(), spans, LINE_EDGE)
    made = {row.session for row in exchanges(reader, methods=OPENING[:1], outcome="result")}
    spent: dict[str | None, Tokens] = dict.fromkeys(made, Tokens(cost=0))
    by_turn, beyond, context = defaultdict[int, Tokens](Tokens), dict[int, Tokens](), Tokens()
    begun, current = deque(turns), dict[str | None, TurnRow]()
    for message in read_messages(reader, {*ends, *usages}, LINE_EDGE):
        while begun and begun[0].prompt_seq < message.seq:
            latest = begun.popleft()
            current[latest.session] = latest
        turn, value = current.get(message.session), message.message
        kind, update = kind_and_update(part(value, "params"))
        sent = tokens_of(update or part(value, "result"))
        if kind == USAGE:
            context = _merged(context, sent)
            if sent.window and (sent.used or 0) > sent.window:
                beyond[message.seq] = sent
            if turn is None and sent.cost is not None:
                spent[message.session] = sent
        elif turn is not None and turn.end_seq != message.seq:
            continue
        if turn is not None and sent != Tokens():
            by_turn[turn.id] = _merged(by_turn[turn.id], sent)
    by_session = defaultdict[str | None, list[int]](list)
    for turn in turns:
        if (mine := by_turn.get(turn.id)) is not None:
            by_turn[turn.id] = _of_turn(mine, spent.get(turn.session, Tokens()))
            if mine.cost is not None:
                spent[turn.session] = mine
            if _counts(mine):
                by_session[turn.session].append(turn.id)
    sessions = [[by_turn[turn] for turn in ids] for ids in by_session.values()]
    counted = _way(sessions, reader.recording) if sessions else None
    totals = dict(by_session) if counted == "session" else {}
    if not reader.recording.knows("middle"):  # turns may be missing
        sessions, counted = [], None
    whole = _merged(
        _sum(sessions, spent.values(), counted), evolve(context, cost=None, currency=None)
    )
    return RecordedTokens(dict(by_turn), whole if whole != Tokens() else None, beyond, totals)


def _spans(ends: Iterable[int], last: int, tail: int) -> Iterator[Span]:
    """Yields ranges of frames around the ends of turns, and at the end of the recording."""
    upto, around = 0, [(end - _BEFORE, end + _AFTER) for end in sorted(ends)]
    for first, end in (*around, (last - tail, last)):
        if end > upto:
            yield max(first, upto + 1), end
            upto = end


def _merged(before: Tokens, sent: Tokens) -> Tokens:
    return evolve(before, **{n: v for n, v in asdict(sent).items() if v is not None})


def _counts(tokens: Tokens) -> dict[str, int]:
    return {name: n for name in COUNTS if (n := getattr(tokens, name)) is not None}


def _of_turn(sent: Tokens, before: Tokens) -> Tokens:
    """Returns the tokens of a turn, with the cost of this turn only."""
    is_same = before.currency in (None, sent.currency)
    if not is_same or sent.cost is None or before.cost is None or sent.cost < before.cost:
        return evolve(sent, cost=None, currency=None)
    return evolve(sent, cost=round(sent.cost - before.cost, 9))


def _way(sessions: Iterable[Sequence[Tokens]], recording: Recording) -> str:
    """Returns how to compute the tokens of a recording from its turns; see `Tokens.counted`."""
    rises = 0
    for turns in sessions:
        steps = [{after[name] - before[name] for name in before.keys() & after.keys()}
                 for before, after in pairwise(map(_counts, turns))]  # fmt: skip
        if any(min(step, default=0) < 0 for step in steps):
            return "turns"
        rises = max(rises, sum(map(any, steps)))
    if rises >= RISES:
        return "session"
    return "unclear" if rises and recording.dialect == V1 else "turns"


def _sum(
    sessions: Iterable[Sequence[Tokens]], spent: Iterable[Tokens], counted: str | None
) -> Tokens:
    """Adds up the numbers of tokens, and the costs if all have the same currency."""
    counts, costs = Counter[str](), dict[str, float]()
    for tokens in chain.from_iterable(s if counted == "turns" else s[-1:] for s in sessions):
        counts.update(_counts(tokens))
    for tokens in spent:
        if tokens.currency is not None:
            costs[tokens.currency] = costs.get(tokens.currency, 0) + (tokens.cost or 0)
    values: dict[str, Any] = {**counts, "counted": counted}
    if len(costs) == 1:
        ((unit, cost),) = costs.items()
        values |= {"cost": round(cost, 9), "currency": unit}
    return Tokens(**values)
