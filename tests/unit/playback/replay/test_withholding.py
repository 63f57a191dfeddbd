"""What follows from requests that were withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from acp_proxy.playback.replay.withholding import WithheldEffects
from acp_proxy.recording.steps import Script, Step, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lines:
    """A recording of lines, each of which is a frame."""

    agent_left_at = None
    dialect = "v1"

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines

    def wire(self, seq: int) -> Wire:
        """Returns a line."""
        return Wire(self._lines[seq], "\n", 0, "request", None)

    def read(self) -> list[Step]:
        """Has no steps."""
        return []

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:  # noqa: ARG002
        """Has none."""
        yield from ()


OUTPUT = b'{"id":1,"method":"terminal/output","params":{"terminalId":"%s"}}'


def effects(*lines: bytes) -> WithheldEffects:
    """Those of a recording whose terminal ``t`` was never created."""
    made = WithheldEffects(cast("Script", Lines(*lines)))
    made.note_unmade("terminal/create", {"result": {"terminalId": "t"}})
    return made


@pytest.mark.parametrize(("terminal", "is_prevented"), [(b"t", True), (b"u", False)])
def test_output_of_an_unmade_terminal_will_not_come(terminal: bytes, is_prevented: bool) -> None:
    """Alone or in a batch; other terminals are not concerned."""
    line = OUTPUT % terminal
    found = effects(line, b"[1," + line + b"]")
    alone = Step(0, 0, False, "request", "terminal/output")
    member = Step(1, 0, False, "request", "terminal/output", member=1)
    assert [found.prevents(step) for step in (alone, member)] == [is_prevented] * 2
    assert found.concerns(line) is is_prevented


def test_a_request_that_makes_nothing_leaves_nothing_unmade() -> None:
    """An error, an answer without an id, and a method that makes nothing."""
    found = WithheldEffects(cast("Script", Lines()))
    found.note_unmade("terminal/create", {"error": {"code": 1}})
    found.note_unmade("terminal/create", None)
    found.note_unmade("terminal/create", {"result": {"terminalId": 7}})
    found.note_unmade("fs/write_text_file", {"result": {"terminalId": "t"}})
    assert not found.has_unmade


def test_extension_requests_are_optional_after_a_withheld_extension() -> None:
    """A known method has known consequences."""
    own = Step(0, 0, False, "request", "_own/x")
    found = WithheldEffects(cast("Script", Lines()))
    found.note_withheld("terminal/create")
    assert not found.may_prevent(own)
    found.note_withheld("_agent/x")
    assert found.may_prevent(own)
    assert not found.may_prevent(Step(0, 0, False, "request", "session/prompt"))
    assert not found.may_prevent(Step(0, 0, False, "notification", "_own/x"))
