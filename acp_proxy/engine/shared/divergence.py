"""Divergences: where a client or an agent diverged from the recording, and how."""

from collections.abc import Iterable
from enum import StrEnum

from attrs import field, frozen

from acp_proxy.engine.shared.comparison import Difference

ERROR_CODE = -31999
"""Of the error that answers a request which diverged; ACP and JSON-RPC claim -32768 to -32000."""


class DivergenceKind(StrEnum):
    """What went differently."""

    UNMATCHED = "unmatched"
    EXHAUSTED = "exhausted"
    PARAMS_DIFFER = "params-differ"
    OUTCOME_DIFFERS = "outcome-differs"
    UNEXPECTED_NOTIFICATION = "unexpected-notification"
    UNKNOWN_REPLY_ID = "unknown-reply-id"
    MISSING_EXPECTED = "missing-expected"
    UNPLAYED = "unplayed"
    STALL = "stall"
    BINDING_CONFLICT = "binding-conflict"
    UNRECORDED_CANCEL = "unrecorded-cancel"
    MALFORMED_INPUT = "malformed-input"
    ANSWERED_TWICE = "answered-twice"
    AGENT_LEFT = "agent-left"
    FLOOD = "flood"
    SERVED = "served"
    EARLY = "early"
    LATE = "late"
    DRIFT = "drift"
    UNANSWERED = "unanswered"
    PERMISSION_DIFFERS = "permission-differs"


INFORMATION = {
    DivergenceKind.EARLY,
    DivergenceKind.LATE,
    DivergenceKind.DRIFT,
    DivergenceKind.UNANSWERED,
    DivergenceKind.SERVED,
}
"""Kinds that are reported for information, and do not count."""


class Rank(StrEnum):
    """What a divergence means for the verdict."""

    PRIMARY = "primary"
    CASCADE = "cascade"
    """A consequence, probably, of the primary one of its lane."""
    INFO = "info"


@frozen
class NearMiss:
    """A recorded message that was almost the one that came."""

    seq: int
    method: str
    differences: tuple[Difference, ...]
    is_played: bool
    """Whether it was used up already."""


@frozen
class Divergence:
    """One divergence. It names both sides: what was recorded, and what the client did."""

    kind: DivergenceKind
    rank: Rank
    lane: str
    """The ACP session, or ``connection``."""
    summary: str
    """One sentence."""
    seq: int | None = None
    """The recorded frame that was expected, if one was."""
    line: int | None = None
    """The number of the client's line, counted from 1."""
    came: str | None = None
    """The beginning of what the client sent."""
    differences: tuple[Difference, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    at_ms: float = field(default=0.0)
    """Milliseconds since the replay began."""

    @property
    def ignores(self) -> tuple[str, ...]:
        """Options that would have let it pass, ready to paste."""
        if self.kind is not DivergenceKind.PARAMS_DIFFER:
            return ()
        best = self.differences or (self.near_misses[0].differences if self.near_misses else ())
        return tuple(f"--ignore {difference.pointer}" for difference in best[:5])


def root_cause(divergences: Iterable[Divergence]) -> Divergence | None:
    """Returns the first primary divergence, else the first that counts; None if none counts."""
    counting = [one for one in divergences if one.rank is not Rank.INFO]
    return next((one for one in counting if one.rank is Rank.PRIMARY), next(iter(counting), None))
