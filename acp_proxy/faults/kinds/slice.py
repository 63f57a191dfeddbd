"""``slice``: the frame goes out in small writes, which split characters and tokens."""

from collections.abc import Iterable, Iterator

from attrs import field, frozen

from acp_proxy.faults.fault import NS_PER_MS, DeliveryPiece, Effect, Fault, PassingFrame, at_least

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
