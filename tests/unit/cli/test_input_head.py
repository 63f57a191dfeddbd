"""An input is read up to its end, and no further."""

import os
import pty
import termios
from pathlib import Path

import pytest

from acp_proxy.cli.input_head import HeadedInput

_ENOUGH = 1 << 10


@pytest.mark.parametrize("head", [_ENOUGH, 4])
def test_nothing_is_read_after_the_end_of_what_a_terminal_sends(head: int) -> None:
    """One Ctrl-D ends what a person pastes, whoever meets it: the head, or a line."""
    keys, terminal = pty.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    os.write(keys, b"one\nsecond\n\x04later\n\x04")
    with os.fdopen(terminal, "rb") as pasted:
        found = HeadedInput(pasted, head, Path("-"))
        assert list(found.lines()) == [b"one\n", b"second\n"]
        assert list(found.lines())[:1] == [b"one\n"]
        assert pasted.readline() == b"later\n"
    os.close(keys)
