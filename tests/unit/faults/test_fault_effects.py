"""The pieces of a faulted frame are due one after another."""

from __future__ import annotations

import pytest

from acp_proxy.faults.fault import Chance, Delivery, DeliveryPiece, Fault, PassingFrame
from acp_proxy.faults.kinds.timing import BandwidthFault, SliceFault
from acp_proxy.protocol.jsonrpc import Direction

CHANCE = Chance(1, "r", "to-client ", 1)


def delivery(*pieces: DeliveryPiece) -> Delivery:
    """A delivery to the client in some pieces."""
    return Delivery(Direction.TO_CLIENT, pieces)


def test_a_piece_is_due_after_the_one_before_it() -> None:
    """If a fault splits a frame, each piece is due after the piece before it."""
    pieces = (
        DeliveryPiece(b"a", after_ns=5),
        DeliveryPiece(b"b", after_ns=3, takes_ns=10),
        DeliveryPiece(b"c"),
    )
    due = [(105, b"a"), (118, b"b"), (118, b"c")]
    assert list(delivery(*pieces).schedule(at=100, free_at=0)) == due


def test_a_piece_waits_for_all_before_it() -> None:
    """If earlier bytes are still due, a delayed piece of a faulted frame is due after them."""
    late = delivery(DeliveryPiece(b"a", after_ns=5, takes_ns=2), DeliveryPiece(b"b", after_ns=1))
    assert list(late.schedule(at=100, free_at=200)) == [(202, b"a"), (203, b"b")]


def test_a_delivery_is_delayed_as_a_whole() -> None:
    """If a fault delays a frame, all pieces of the frame are delayed."""
    parts = delivery(DeliveryPiece(b"a", after_ns=1), DeliveryPiece(b"b", after_ns=2))
    assert [due for due, _ in parts.later(10).schedule(0, 0)] == [11, 13]
    assert delivery().later(10) == delivery()


def test_replaced_bytes_are_as_late_as_the_original() -> None:
    """If a fault replaces delayed bytes, the new bytes arrive at the same moment."""
    parts = delivery(DeliveryPiece(b"a", 5, 1), DeliveryPiece(b"b", 2, 3))
    assert parts.with_data(b"x").pieces == (DeliveryPiece(b"x", 5, 4),)
    assert delivery().with_data(b"x").pieces == (DeliveryPiece(b"x"),)


@pytest.mark.parametrize("fault", [SliceFault(bytes=1, delay_ms=0), BandwidthFault(10**9)])
def test_a_wait_behind_the_last_byte_is_kept(fault: Fault) -> None:
    """If a frame has a delay after its last byte, faults that split or slow it keep the delay."""
    rest = DeliveryPiece(b"", after_ns=70)
    whole = delivery(DeliveryPiece(b"ab"), rest)
    frame = PassingFrame(Direction.TO_CLIENT, {}, b"\n", 0, 0, whole)
    (cut,) = fault.apply(frame)
    assert isinstance(cut, Delivery)
    assert cut.data == b"ab"
    assert cut.pieces[-1]._replace(takes_ns=0) == rest
