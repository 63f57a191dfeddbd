"""Values about waiting: who has to act, open requests, and silences that are hangs.

An open request is not a fault: a person may need an hour for a permission, and a program may run
for a day. A silence counts only if a peer had to act and nothing held the peer up.
"""

import heapq
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from attrs import define, field, frozen

from acp_proxy.base.limits import SHORT_LIST
from acp_proxy.base.wording import counted, plain
from acp_proxy.protocol.dialects import LOGIN, PERMISSION

_PERSON = {
    PERMISSION: "permission", "elicitation/create": "form", **dict.fromkeys(LOGIN, "login"),
}  # fmt: skip
"""The requests that a person answers, each with a word for it."""
_PROGRAM = {"terminal/wait_for_exit"}


LEAST_NS = 10**9
"""The shortest wait or pause that is worth a line."""
AT_ONCE_NS = 100 * 10**6
"""An answer that comes sooner than this is probably not from a person."""


class Party(StrEnum):
    """The party that has to act before an open request can be answered."""

    PERSON = "person"
    PROGRAM = "program"
    CLIENT = "client"
    AGENT = "agent"


LONG_NS = {Party.AGENT: 60 * 10**9, Party.CLIENT: 10 * 10**9}
"""For each peer, the length of the shortest silence that is a hang, in nanoseconds."""


class SilenceLimits(NamedTuple):
    """The lengths of the shortest hangs, in nanoseconds. None: no silence is a hang."""

    agent_ns: int
    call_ns: int | None
    """The limit for an agent with a running tool call."""
    client_ns: int | None = None


HANGS = SilenceLimits(LONG_NS[Party.AGENT], None, LONG_NS[Party.CLIENT])
"""The limits of `show`. There is no limit for a tool call."""


def answering_party(direction: str, method: str | None) -> Party:
    """Returns who has to act on a request: its receiver, a person or a program.

    Args:
        direction: the direction of the request.
        method: the method of the request.
    """
    if method in _PERSON:
        return Party.PERSON
    if method in _PROGRAM:
        return Party.PROGRAM
    return Party.AGENT if direction == "to-agent" else Party.CLIENT


def named_wait(party: Party, method: str | None, calls: Sequence[str] = ()) -> str:
    """Returns who is waited for, in words that can follow "waiting for".

    Args:
        party: who has to act.
        method: the method of the request that the party has to answer.
        calls: the titles of the tool calls that run, if the agent has to act.
    """
    if calls and party in (Party.AGENT, Party.PROGRAM):
        more = f" and {counted(len(calls) - 1, 'other')}" if len(calls) > 1 else ""
        return f"call {calls[0]}{more}"
    match party:
        case Party.PERSON:
            return f"a person: {_PERSON.get(method or '', 'answer')}"
        case Party.PROGRAM:
            return "a program"
        case Party.CLIENT:
            return f"the client: {plain(method or 'a request')[:80]}"
    return "the agent"


@frozen
class PendingRequest:
    """A request that has no answer so far, or a turn that has not ended."""

    seq: int
    """The number of the frame with the request, or with the prompt of the turn."""
    t_ns: int
    direction: str
    """The direction of the frame with the request: to-agent or to-client."""
    method: str | None
    session: str | None
    turn: int | None
    """The number of the turn that the request begins, or that it belongs to; None without a
    turn."""
    awaited: Party


@frozen
class Silence:
    """A time in which a peer had to act and sent nothing."""

    # The names in JSON are a contract with programs (docs/json.md).
    party: Party = field(metadata={"json": "debtor"})
    """The agent or the client."""
    request: PendingRequest = field(metadata={"json": "owed"})
    from_seq: int
    """The number of the last frame or event before the silence."""
    to_seq: int | None
    """The number of the frame or event that ended the silence; None if the silence never ended."""
    t_ns: int
    """The time when the silence began, in nanoseconds."""
    length_ns: int

    @property
    def is_long(self) -> bool:
        """Whether the silence is a hang."""
        return self.length_ns >= LONG_NS[self.party]


@frozen
class OpenWait:
    """An open request: how long it has waited, and how long the peer that has to act was silent."""

    request: PendingRequest
    waited_ns: int
    last_seq: int | None = None
    """The number of the last frame or event before the silence of the peer that has to act; None if
    this peer is held up."""
    silent_ns: int | None = None
    """How long the peer that has to act has been silent, in nanoseconds; None if this peer is not
    silent."""

    @property
    def is_streaming(self) -> bool:
        """Whether any frame or event came between the request and the silence."""
        return self.last_seq is not None and self.last_seq > self.request.seq

    def is_hang(self, limits: SilenceLimits = HANGS, *, has_call: bool = False) -> bool:
        """Whether a peer that has to act has been silent for too long.

        Args:
            limits: the lengths of the shortest silences that are hangs.
            has_call: whether a tool call of the agent is running.
        """
        agent_ns = limits.call_ns if has_call else limits.agent_ns
        limit = {Party.AGENT: agent_ns, Party.CLIENT: limits.client_ns}.get(self.request.awaited)
        return self.silent_ns is not None and limit is not None and self.silent_ns >= limit


@define
class SilenceLog:
    """Keeps the longest silence, and the longest hangs."""

    longest: Silence | None = None
    long_count: int = 0
    """How many silences were hangs."""
    _long: list[tuple[int, int, Silence]] = field(factory=list)

    @property
    def long(self) -> list[Silence]:
        """The longest hangs, in recorded order."""
        return sorted((silence for _, _, silence in self._long), key=lambda s: s.t_ns)

    def add(self, silence: Silence) -> None:
        """Keeps a silence if it is a hang or the longest silence so far."""
        if self.longest is None or silence.length_ns > self.longest.length_ns:
            self.longest = silence
        if silence.is_long:
            self.long_count += 1
            heapq.heappush(self._long, (silence.length_ns, self.long_count, silence))
            if len(self._long) > SHORT_LIST:
                heapq.heappop(self._long)
