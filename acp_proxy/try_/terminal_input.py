"""Reads lines that a person types, while the conversation with the agent goes on."""

import contextlib
import os
import termios

import trio
from attrs import define, field

from acp_proxy.base.limits import CHUNK


@define(eq=False)
class TerminalInput:
    """Standard input on a terminal, which passes on each line when the user presses Enter."""

    prompt: str = field(init=False, default="")
    """The words before the cursor while the user types a line; otherwise empty."""
    _typing: trio.Lock = field(init=False, factory=trio.Lock)

    def forget(self) -> None:
        """Discards the keys that were typed but not read, since a new question will be shown."""
        with contextlib.suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)

    async def line(self, prompt: str) -> str | None:
        """Prints words on stderr, and returns the line that the user types.

        Args:
            prompt: the words before the cursor.

        Returns:
            The line without its newline; None at the end of the input.
        """
        async with self._typing:
            self.prompt = prompt
            try:
                os.write(2, prompt.encode())
                await trio.lowlevel.wait_readable(0)
                typed = os.read(0, CHUNK)
            finally:
                self.prompt = ""
        return typed.decode(errors="replace").removesuffix("\n") if typed else None
