"""What a kind keeps between frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, frozen

from acp_proxy.faults.fault import Fault, PassingFrame
from acp_proxy.faults.registry import KINDS
from tests.fault_playbook import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from acp_proxy.faults.effects import Effect


@define
class Numbers:
    """How many frames have passed, and when the last one came."""

    count: int = 0
    last: int = 0


@frozen
class NumberedFault(Fault):
    """The frame is replaced by its number, and the milliseconds since the one before it."""

    kind = "numbered"

    def new_state(self) -> Numbers:
        """Returns a count that begins anew."""
        return Numbers()

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Counts the frame."""
        state: Numbers = frame.state
        state.count += 1
        since = (frame.at - state.last) // 10**6 if state.last else 0
        state.last = frame.at
        yield frame.delivery.with_data(b"%d %d" % (state.count, since))


def test_a_kind_keeps_its_state_for_each_rule_and_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All sessions share it; another rule of the same kind has its own, also an equal rule."""
    monkeypatch.setitem(KINDS, "numbered", NumberedFault)
    rules = ["numbered where='not text:zz'", "numbered name=other where=text:zz"]
    for _ in range(2):
        check(
            rules,
            r"""
            1 <- session/update {"sessionId": "s"}
            <- | 1 0
            .. 2s
            2 <- session/update {"sessionId": "t"}
            <- | 2 2000
            3 -> | a
            -> | 1 0
            4 <- | zz
            <- | 1 0
            .. 500ms
            5 <- | a
            <- | 3 500
            """,
        )


def test_each_copy_of_a_frame_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule applies to all that the rules before it have left of a frame."""
    monkeypatch.setitem(KINDS, "numbered", NumberedFault)
    check(["duplicate", "numbered"], "1 <- | a\n<- | 1 0\n<- | 2 0\n2 <- | b\n<- | 3 0\n<- | 4 0")
