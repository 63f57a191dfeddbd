"""Kinds of faults that change when bytes go out, and the kind that changes nothing."""

from collections.abc import Iterable, Iterator

from attrs import field, frozen

from acp_proxy.faults.fault import NS_PER_MS, DeliveryPiece, Effect, Fault, PassingFrame, at_least


@frozen
class NoopFault(Fault):
    """Nothing happens."""

    kind = "noop"
    outcome = "passes as it is"

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the frame pass."""
        yield frame.delivery


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


_STEPS_PER_S = 20
_MOST_STEPS = 10_000


@frozen
class BandwidthFault(Fault):
    """The frame's bytes go out at a limited rate."""

    kind = "bandwidth"
    outcome = "trickles at {bytes_per_s} bytes a second"

    bytes_per_s: int = field(default=1000, validator=at_least(1))
    """The rate; later frames wait for the frame."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Cuts the frame into pieces that go out one by one."""
        delivery = frame.delivery
        least = len(delivery.data) // _MOST_STEPS + 1
        step = max(least, self.bytes_per_s // _STEPS_PER_S)
        cut = tuple(slow for piece in delivery.pieces for slow in self._slow(piece, step))
        yield delivery._replace(pieces=cut)

    def _slow(self, piece: DeliveryPiece, step: int) -> Iterator[DeliveryPiece]:
        for at in range(0, len(piece.data) or 1, step):  # an empty piece keeps its due time
            part = piece.data[at : at + step]
            first = (piece.after_ns, piece.takes_ns) if at == 0 else (0, 0)
            yield DeliveryPiece(part, first[0], first[1] + len(part) * 10**9 // self.bytes_per_s)


_MOST_WRITES = 100_000


@frozen
class SliceFault(Fault):
    """The frame goes out in small writes."""

    kind = "slice"
    outcome = "goes out {bytes} bytes at a time, {delay_ms:g} ms apart"

    bytes: int = field(default=7, validator=at_least(1))
    """Size of one write; larger if a frame would need over 100,000 writes."""
    delay_ms: float = field(default=1.0, validator=at_least(0))
    """The delay between two writes, so that a reader sees them separately."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Cuts the frame."""
        delivery = frame.delivery
        size = max(self.bytes, len(delivery.data) // _MOST_WRITES + 1)
        cut = tuple(part for piece in delivery.pieces for part in self._cut(piece, size))
        yield delivery._replace(pieces=cut)

    def _cut(self, piece: DeliveryPiece, size: int) -> Iterator[DeliveryPiece]:
        wait = int(self.delay_ms * NS_PER_MS)
        for at in range(0, len(piece.data) or 1, size):  # an empty piece keeps its due time
            part = piece.data[at : at + size]
            yield DeliveryPiece(part, wait) if at else piece._replace(data=part)
