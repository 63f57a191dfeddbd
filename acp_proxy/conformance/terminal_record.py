"""What rules ask of a terminal: whose it is, what was read of it, and whether it was released."""

from typing import Any

from attrs import define

_LONGEST = 1 << 20
"""Characters of output that are kept, to be compared with what is read later."""


@define(eq=False)
class TerminalRecord:
    """A terminal that the client has created, or one that is only named (v2)."""

    id: str
    session: str | None
    seq: int
    """The answer that created it."""
    turn: int | None = None
    """The turn in which it was created."""
    limit: int | None = None
    """Bytes of output that are kept, if the agent set a limit."""
    output: str | None = None
    """What was read of it last; None if nothing was, or if that is too long to be kept."""
    output_seq: int | None = None
    was_truncated: bool = False
    exit: dict[str, Any] | None = None
    """The exit status that the client reported first."""
    exit_seq: int | None = None
    release_seq: int | None = None
    """The answer that released it."""
    is_created: bool = True
    """Whether the client has named it; else the agent used a name that it was not given."""
    release_asked_seq: int | None = None
    """The first message by which the agent has asked to release it, or may have meant it."""

    @property
    def is_release_asked(self) -> bool:
        """Whether the agent has asked to release it, or may have."""
        return self.release_asked_seq is not None

    def read(self, seq: int, result: dict[str, Any]) -> None:
        """Takes the answer to ``terminal/output``.

        Args:
            seq: its frame.
            result: its result.
        """
        output, status = result.get("output"), result.get("exitStatus")
        is_kept = isinstance(output, str) and len(output) <= _LONGEST
        self.output = output if is_kept else None
        self.output_seq = seq
        self.was_truncated = self.was_truncated or result.get("truncated") is True
        if isinstance(status, dict):
            self.ended(seq, status)

    def ended(self, seq: int, status: dict[str, Any]) -> None:
        """Takes an exit status.

        Args:
            seq: the frame that reports it.
            status: its exit code and signal.
        """
        if self.exit is None:
            self.exit, self.exit_seq = status, seq
