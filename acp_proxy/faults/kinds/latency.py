"""``latency``: the frame goes out later; the order on its direction is kept."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import NS_PER_MS, Effect, Fault, PassingFrame, at_least


@frozen
class LatencyFault(Fault):
    """The frame goes out later, and later frames wait for it."""

    kind = "latency"

    latency_ms: float = field(default=100.0, validator=at_least(0))
    """The delay."""
    jitter_ms: float = field(default=0.0, validator=at_least(0))
    """The largest random change of the delay, up or down."""
    keep_order: bool = True
    """Whether later frames wait for the frame; otherwise they overtake it."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Delays the frame."""
        wait = self.latency_ms
        if self.jitter_ms:
            wait += frame.chance.between(-self.jitter_ms, self.jitter_ms)
        later = frame.delivery.later(int(max(0.0, wait) * NS_PER_MS))
        yield later if self.keep_order else later._replace(may_be_overtaken=True)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        jitter = f", give or take {self.jitter_ms:g} ms" if self.jitter_ms else ""
        order = "" if self.keep_order else ", after all frames that come meanwhile"
        return f"arrives {self.latency_ms:g} ms later{jitter}{order}"
