"""An agent that fails: it hangs, crashes or sends updates too late.

The first argument names what the agent does at each prompt. The agent also refuses params that
break the protocol, and asks for a permission that its client may never answer. The program imports
only the standard library.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, BinaryIO

from tests.agents.plain_agent import SAMPLE_NAME, Agent, RefusedError, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

LATE_S = 0.2
"""Seconds of each pause: before late updates, and before and after the last words on stderr."""

LAST_WORDS = (
    b"[demo-agent] model context: 131072 tokens\n"
    b"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n"
)
"""The agent's last output on stderr before it crashes."""


class HangError(Exception):
    """Raised when the agent stops reading and writing."""


class CrashError(Exception):
    """Raised when the agent ends itself by a signal."""


class SickAgent(Agent):
    """Serves one client, and fails as its scenario says.

    Args:
        lines: the lines that the client sends.
        out: the stream for the agent's messages.
        scenario: what the agent does at a prompt.
    """

    def __init__(self, lines: Iterator[bytes], out: BinaryIO, scenario: str) -> None:
        super().__init__(lines, out)
        self._scenarios |= {"hang": self.hang, "crash": self.crash, "late": self.late}
        self._scenario = scenario
        self._late: Session | None = None

    def prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers a prompt, or refuses a prompt that is not a list of content blocks."""
        if not isinstance(params["prompt"], list):
            raise RefusedError("Invalid params", {"prompt": "expected an array of content blocks"})
        return {"stopReason": self._scenarios[self._scenario](self._sessions[params["sessionId"]])}

    def set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers ``session/set_mode``, or refuses a request without the mode's id."""
        if "modeId" not in params:
            raise RefusedError("Invalid params", {"modeId": "missing"})
        return super().set_mode(params)

    def hang(self, session: Session) -> str:
        """Announces a tool call, and hangs.

        Raises:
            HangError: always.
        """
        self._start_tests(session)
        raise HangError

    def crash(self, session: Session) -> str:
        """Announces a tool call, and crashes.

        Raises:
            CrashError: always.
        """
        self._start_tests(session)
        raise CrashError

    def late(self, session: Session) -> str:
        """Ends the turn while a tool call runs, and sends the call's updates later."""
        self._start_tests(session)
        self._late = session
        return "end_turn"

    def _start_tests(self, session: Session) -> None:
        self.say(session, "I will run ", "the tests first.\n")
        self.update(
            session, "tool_call", toolCallId=self._next_call(session), title="pytest -q",
            kind="execute", status="in_progress",
        )  # fmt: skip

    def _take_in(self) -> None:
        super()._take_in()
        if self._late is not None:
            time.sleep(LATE_S)
            self.update(self._late, "tool_call_update", toolCallId="call-1", status="completed")
            self.say(self._late, "All tests pass; ", f"{SAMPLE_NAME} is as it was.\n")
            self._late = None


def main() -> None:
    """Serves one client on stdin and stdout; a crash leaves no core file."""
    agent = SickAgent(iter(sys.stdin.buffer.readline, b""), sys.stdout.buffer, sys.argv[1])
    try:
        agent.serve()
    except HangError:
        signal.pause()
    except CrashError:
        time.sleep(LATE_S)  # what came before on stdout is recorded before
        os.write(2, LAST_WORDS)
        time.sleep(LATE_S)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), signal.SIGABRT)


if __name__ == "__main__":
    main()
