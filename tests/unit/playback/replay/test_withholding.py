"""A replay knows which later messages depend on requests that it withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from acp_proxy.playback.replay.withholding import WithheldEffects
from acp_proxy.recording.steps import Script, Step, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lines:
    """Stands for a recording that has one frame for each line."""

    agent_left_at = gave_up_at = None
    dialect = "v1"

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines

    def wire(self, seq: int) -> Wire:
        """Returns a line."""
        return Wire(self._lines[seq], "\n", 0, "request", None)

    def read(self) -> list[Step]:
        """Returns no steps, since the tests need none."""
        return []

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:  # noqa: ARG002
        """Yields no steps, since the tests need none."""
        yield from ()


OUTPUT = b'{"id":1,"method":"terminal/output","params":{"terminalId":"%s"}}'


def effects(*lines: bytes) -> WithheldEffects:
    """Returns the effects of a withheld request that would have created the terminal ``t``."""
    made = WithheldEffects(cast("Script", Lines(*lines)))
    made.note_unmade("terminal/create", {"result": {"terminalId": "t"}})
    return made


@pytest.mark.parametrize(("terminal", "is_prevented"), [(b"t", True), (b"u", False)])
def test_output_of_an_unmade_terminal_will_not_come(terminal: bytes, is_prevented: bool) -> None:
    """If a replay withholds the creation of a terminal, it expects no request about it."""
    line = OUTPUT % terminal
    result = effects(line, b"[1," + line + b"]")
    alone = Step(0, 0, False, "request", "terminal/output")
    member = Step(1, 0, False, "request", "terminal/output", member=1)
    assert [result.prevents(step) for step in (alone, member)] == [is_prevented] * 2
    assert result.concerns(line) is is_prevented


def test_a_request_that_makes_nothing_leaves_nothing_unmade() -> None:
    """If a replay withholds a request that created no terminal, it still expects all messages."""
    actual = WithheldEffects(cast("Script", Lines()))
    actual.note_unmade("terminal/create", {"error": {"code": 1}})
    actual.note_unmade("terminal/create", None)
    actual.note_unmade("terminal/create", {"result": {"terminalId": 7}})
    actual.note_unmade("fs/write_text_file", {"result": {"terminalId": "t"}})
    assert not actual.has_unmade


def test_extension_requests_are_optional_after_a_withheld_extension() -> None:
    """After a replay withholds a request `_agent/x`, the client may leave out its own `_own/x`."""
    own = Step(0, 0, False, "request", "_own/x")
    result = WithheldEffects(cast("Script", Lines()))
    result.note_withheld("terminal/create")
    assert not result.may_prevent(own)
    result.note_withheld("_agent/x")
    assert result.may_prevent(own)
    assert not result.may_prevent(Step(0, 0, False, "request", "session/prompt"))
    assert not result.may_prevent(Step(0, 0, False, "notification", "_own/x"))
