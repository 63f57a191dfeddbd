"""The options that a replay and a verification share."""

from enum import StrEnum

from attrs import field, frozen

from acp_proxy.engine.shared.pacing import NS_PER_S, Pacing


class Order(StrEnum):
    """What is kept of the recorded order."""

    SESSION = "session"
    RECORDED = "recorded"
    CAUSAL = "causal"


@frozen(kw_only=True)
class PlaybackOptions:
    """How one side of a recording is played to a live peer.

    Attributes:
        order: what is kept of the recorded order.
        pacing: which of the recorded pauses are kept.
        lenient: whether to go on where a strict playback gives a session up.
        ignored: JSON pointers into the peer's messages that do not count.
        rewrite_text: whether to put the live directories into free text, too.
        stall_ns: nanoseconds without progress that count as a stall; None for never.
    """

    order: Order = Order.SESSION
    pacing: Pacing = field(factory=Pacing)
    lenient: bool = False
    ignored: tuple[str, ...] = ()
    rewrite_text: bool = False
    stall_ns: int | None = 30 * NS_PER_S
