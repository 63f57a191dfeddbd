"""Reads lines that a person types, without keeping the conversation waiting."""

import contextlib
import os
import termios

import trio
from attrs import define, field

from acp_proxy.base.limits import CHUNK


@define(eq=False)
class TerminalInput:
    """The standard input of a terminal, which edits lines itself."""

    prompt: str = field(init=False, default="")
    """The words before the cursor while a line is being typed; otherwise empty."""
    _typing: trio.Lock = field(init=False, factory=trio.Lock)

    def forget(self) -> None:
        """Discards what was typed before a question, since it cannot be the answer."""
        with contextlib.suppress(termios.error):
            termios.tcflush(0, termios.TCIFLUSH)

    async def line(self, prompt: str) -> str | None:
        """Prints a prompt on stderr and returns the line that is typed; None at the end of input.

        Args:
            prompt: the words before the cursor.
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
