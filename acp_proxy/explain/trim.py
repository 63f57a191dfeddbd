"""Chooses the frames that a replay of some turns of a recording needs.

These frames are the handshake, the messages that open or set up the sessions of the turns, and the
turns themselves. A request is always kept with its answer.
"""

import itertools
from collections.abc import Iterable, Iterator

from attrs import define, field

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.protocol.dialects import FORK, HANDSHAKE
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.exchanges import ExchangeRow, TurnRow


def trim(
    heads: Iterable[StoredFrame], exchanges: Iterable[ExchangeRow], turns: Iterable[TurnRow]
) -> set[int]:
    """Returns the numbers of the frames that a replay of some turns needs.

    Args:
        heads: all frames of the recording, in order.
        exchanges: all exchanges of the recording. A fork belongs to the session that it copies.
        turns: the turns to keep.
    """
    known = {exchange.id: exchange for exchange in exchanges}
    trimmer = _Trimmer(known, list(turns))
    kept = {head.seq for head in heads if trimmer.keeps(head)}
    _complete(kept, list(known.values()))
    return kept


def _complete(kept: set[int], exchanges: list[ExchangeRow]) -> None:
    """Completes exchanges: if only the request or only the answer is kept, adds the other one.

    A batch is kept as a whole. So a message in it may be kept without its request or answer.
    """
    before = -1
    while len(kept) != before:
        before = len(kept)
        for exchange in exchanges:
            if exchange.response_seq is not None:
                pair = {exchange.request_seq, exchange.response_seq}
                if pair & kept:
                    kept |= pair


@define
class _Trimmer:
    """Decides for each frame, in order, whether the frame is kept."""

    exchanges: dict[int, ExchangeRow]
    turns: list[TurnRow]
    _client_kept: dict[str | None, bool] = field(factory=dict)
    """For each session, whether the client's latest message was kept. If so, the agent's next
    frames outside of turns are kept, too."""
    _last_kept: bool = False
    """Whether the previous frame was kept. If so, a frame without a session is kept, too."""
    _ends: dict[str | None, int] = field(factory=dict)
    _chosen: set[int] = field(init=False)
    _decisions: dict[int, bool] = field(factory=dict)
    _begun_in: dict[int, list[ExchangeRow]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._chosen = {turn.id for turn in self.turns}
        for turn in self.turns:
            self._ends[turn.session] = max(
                turn.end_seq or LAST_NUMBER, self._ends.get(turn.session, 0)
            )
        for exchange in self.exchanges.values():
            self._begun_in.setdefault(exchange.request_seq, []).append(exchange)
        self._follow_forks()

    def _follow_forks(self) -> None:
        """Keeps the opening of each session that was forked before the last kept turn ended."""
        last = max(self._ends.values(), default=0)
        for exchange in self.exchanges.values():
            if exchange.method == FORK and exchange.request_seq < last:
                self._ends.setdefault(exchange.session, exchange.request_seq)

    def keeps(self, head: StoredFrame) -> bool:
        if head.stream == Stream.STDERR:
            return self._last_kept
        exchange = self.exchanges.get(head.exchange) if head.exchange is not None else None
        session = head.session or (exchange.session if exchange else None)
        if exchange is not None and exchange.id in self._decisions:
            kept = self._decisions[exchange.id]
        else:
            kept = self._decide(head, session)
            if exchange is not None:
                self._decisions[exchange.id] = kept
        if head.stream == Stream.TO_AGENT and session is not None:
            self._client_kept[session] = kept
        self._last_kept = kept
        return kept

    def _decide(self, head: StoredFrame, session: str | None) -> bool:
        from_client = head.stream == Stream.TO_AGENT
        of_batch = [exchange.method for exchange in self._begun_in.get(head.seq, ())]
        if not {head.method, *of_batch}.isdisjoint(HANDSHAKE):
            return True
        if head.turn is not None:
            return head.turn in self._chosen
        if session is None:
            asks = from_client or head.kind in ("request", "batch")
            return self._is_within(head.seq) if asks else self._last_kept
        if session not in self._ends:
            return False
        if from_client:
            return head.seq <= self._ends[session]
        return self._client_kept.get(session, False)

    def _is_within(self, seq: int) -> bool:
        return any(turn.prompt_seq <= seq <= (turn.end_seq or LAST_NUMBER) for turn in self.turns)


def spans(numbers: Iterable[int]) -> Iterator[str]:
    """Writes numbers as ranges in order: ``2``, ``4..6``."""
    ordered = enumerate(sorted(numbers))
    for _, run in itertools.groupby(ordered, key=lambda place: place[1] - place[0]):
        span = [number for _, number in run]
        yield f"{span[0]}" if len(span) == 1 else f"{span[0]}..{span[-1]}"
