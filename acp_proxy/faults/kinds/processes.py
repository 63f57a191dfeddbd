"""Kinds of faults that end or stop the agent, or let a stopped agent go on."""

import signal
from collections.abc import Iterable
from typing import ClassVar

from attrs import field, frozen

from acp_proxy.base import system
from acp_proxy.faults.fault import (
    NS_PER_MS,
    Effect,
    ExitEffect,
    Fault,
    PassingFrame,
    SignalEffect,
    at_least,
)


@frozen
class _SignalFault(Fault):
    """The agent gets a signal, and the frame passes."""

    signum: ClassVar[int]
    has_side_effect = True

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the frame pass, and yields the signal."""
        yield frame.delivery
        yield SignalEffect(self.signum, self._grace_ns())

    def _grace_ns(self) -> int | None:
        return None


@frozen
class KillFault(_SignalFault):
    """The agent is killed; everything that it has sent arrives first."""

    kind = "kill"
    signum = system.SIGKILL
    outcome = "passes, and the agent is killed"


@frozen
class PauseFault(_SignalFault):
    """The agent is stopped until it is resumed."""

    kind = "pause"
    signum = system.SIGSTOP
    outcome = "passes, and the agent is stopped"


@frozen
class ResumeFault(_SignalFault):
    """A stopped agent goes on."""

    kind = "resume"
    signum = system.SIGCONT
    outcome = "passes, and the agent is resumed"


@frozen
class TerminateFault(_SignalFault):
    """The agent gets SIGTERM."""

    kind = "terminate"
    signum = signal.SIGTERM
    outcome = "passes, and the agent is sent SIGTERM"

    grace_ms: float | None = field(default=None, validator=at_least(0))
    """When to kill an agent that still runs, in milliseconds after the signal; never by default."""

    def _grace_ns(self) -> int | None:
        return None if self.grace_ms is None else int(self.grace_ms * NS_PER_MS)


@frozen
class ExitFault(Fault):
    """The agent appears to exit, in place of the frame or after it."""

    kind = "exit"
    has_side_effect = True

    code: int = field(default=1, validator=at_least(0, 255))
    """The exit code."""
    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Ends the agent."""
        if self.keep_frame:
            yield frame.delivery
        yield ExitEffect(self.code)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        passes = "passes" if self.keep_frame else "never arrives"
        return f"{passes}, and the agent exits with {self.code}"
