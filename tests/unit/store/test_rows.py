"""`FiredRows` returns the rows of fired faults together with their frames, each once."""

from __future__ import annotations

from math import inf

from acp_proxy.store.rows import FiredRows


def fired_rows(*seqs: int) -> FiredRows:
    """Returns rows of faults at some frames, each with a running number."""
    return FiredRows(iter([{"seq": seq, "n": n} for n, seq in enumerate(seqs)]))


def test_each_frame_gets_its_own_rows() -> None:
    """For each frame, an export as text reads the rows of the faults that fired at this frame."""
    fired = fired_rows(2, 2, 5)
    assert [row["n"] for row in fired.upto(2)] == [0, 1]
    assert list(fired.upto(3)) == []
    assert [row["n"] for row in fired.upto(5)] == [2]


def test_rows_of_omitted_frames_come_before_the_next_frame() -> None:
    """Rows of faults of frames that an export leaves out come before the next frame's rows."""
    fired = fired_rows(1, 3, 4, 9)
    assert [row["seq"] for row in fired.upto(3)] == [1, 3]
    assert [row["seq"] for row in fired.upto(4)] == [4]
    assert [row["seq"] for row in fired.upto(inf)] == [9]
    assert list(fired.upto(inf)) == []


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """An export reads no rows of fired faults before it needs the first one."""
    read = []

    def source() -> object:
        read.append(1)
        yield {"seq": 1}

    fired = FiredRows(source())  # type: ignore[arg-type]
    assert read == []
    assert len(list(fired.upto(1))) == 1
