"""Reads lines that a person types, without keeping the conversation waiting."""

import os

import trio
from attrs import define, field

from acp_proxy.base.limits import CHUNK


@define(eq=False)
class TerminalInput:
    """The standard input of a terminal, which edits lines itself."""

    _typing: trio.Lock = field(init=False, factory=trio.Lock)

    @property
    def is_typing(self) -> bool:
        """Whether a line is being typed."""
        return self._typing.locked()

    async def line(self, prompt: str) -> str | None:
        """Prints a prompt on stderr and returns the line that is typed; None at the end of input.

        Args:
            prompt: the words before the cursor.
        """
        async with self._typing:
            os.write(2, prompt.encode())
            await trio.lowlevel.wait_readable(0)
            typed = os.read(0, CHUNK)
        return typed.decode(errors="replace").removesuffix("\n") if typed else None
