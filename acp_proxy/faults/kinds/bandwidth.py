"""``bandwidth``: bytes go out slowly, at a fixed rate."""

from collections.abc import Iterable, Iterator

from attrs import field, frozen

from acp_proxy.faults.fault import DeliveryPiece, Effect, Fault, PassingFrame, at_least

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
