"""Rows of fired faults are read beside frames, each once."""

from __future__ import annotations

from acp_proxy.store.fired_faults import FiredRows


def rows(*seqs: int) -> FiredRows:
    """Rows at some frames, each with its place."""
    return FiredRows(iter([{"seq": seq, "n": n} for n, seq in enumerate(seqs)]))


def test_each_frame_gets_its_own() -> None:
    """Several at one frame come in their order, and a frame without any gets none."""
    fired = rows(2, 2, 5)
    assert [row["n"] for row in fired.at(2)] == [0, 1]
    assert list(fired.at(3)) == []
    assert [row["n"] for row in fired.at(5)] == [2]


def test_those_of_frames_that_are_left_out_are_passed_over() -> None:
    """What stands before the next one has to be taken first, by whoever wants it or not."""
    fired = rows(1, 3, 4, 9)
    assert list(fired.at(4)) == []
    assert [row["seq"] for row in fired.before(4)] == [1, 3]
    assert [row["seq"] for row in fired.at(4)] == [4]
    assert [row["seq"] for row in fired.rest()] == [9]
    assert list(fired.rest()) == []


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """A recording without faults pays nothing."""
    read = []

    def source() -> object:
        read.append(1)
        yield {"seq": 1}

    fired = FiredRows(source())  # type: ignore[arg-type]
    assert read == []
    assert len(list(fired.at(1))) == 1
