"""The agent process: its three pipes, its end, and its process group."""

import fcntl
import os
from _signal import SIGKILL

from acp_proxy.record.capture.latch import Latch
from acp_proxy.record.capture.process_groups import OwnGroup, Program, has_terminal
from acp_proxy.recording.log_format import STOPPING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OUTPUT_PIPE = 1 << 18
"""The size in bytes of the pipe for the agent's output. With the system's 64 KiB, an agent that
streams small frames stalls at every process switch."""


class AgentProcess:
    """One spawned agent with its three pipes; signals reach all processes of the agent's group.

    Attributes:
        code: the agent's exit code; None before `wait` returns, or if a signal ended the agent.
        signal: the number of the signal that ended the agent.
        exited: set as soon as the agent's end is known and logged.
        appears_as: the exit code that a fault reports in place of the real exit code; None without
            such a fault.
        was_stopped: whether we sent or forwarded a signal that asks the agent to stop.
    """

    def __init__(self, pid: int, group: OwnGroup, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.group = group
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.code: int | None = None
        self.signal: int | None = None
        self.exited = Latch()
        self.appears_as: int | None = None
        self.was_stopped = False
        self._outputs: tuple[str, ...] = ()

    @classmethod
    def spawn(cls, command: "list[str]", env: "dict[str, str]", mask: "set[int]") -> "AgentProcess":
        """Starts the guardian and the agent.

        Args:
            command: the agent's command and its arguments.
            env: the agent's environment.
            mask: the signal mask that the agent is to have.

        Raises:
            OSError: the command cannot be executed; nothing is left behind.
        """
        pipes = agent_in, stdin, stdout, agent_out, stderr, agent_err = _pipes()
        _widen(stdout)
        program = Program(command, env, mask, (agent_in, agent_out, agent_err))
        try:
            group, pid = _share_group(program) or OwnGroup.start(program)
        except OSError:
            for fd in pipes:
                os.close(fd)
            raise
        for fd in program.descriptors:
            os.close(fd)
        agent = cls(pid, group, stdin, stdout, stderr)
        agent._outputs = tuple(f"pipe:[{os.fstat(fd).st_ino}]" for fd in (stdout, stderr))
        return agent

    def wait(self, note_stop: "Callable[[int], object]") -> None:
        """Blocks until the agent has exited, then sets `code` or `signal`.

        Args:
            note_stop: called with SIGTTIN or SIGTTOU when this signal has stopped the agent. The
                terminal sends this signal if the agent is in a background group.
        """
        code = os.waitstatus_to_exitcode(self.group.wait(self.pid, note_stop))
        if code < 0:
            self.signal = -code
        else:
            self.code = code

    @property
    def exit_status(self) -> int:
        """The exit code to pass on: `appears_as`, else the agent's code or 128 + its signal."""
        if self.appears_as is not None:
            return self.appears_as
        return 128 + self.signal if self.signal is not None else self.code or 0

    def send_signal(self, signum: int) -> None:
        """Signals the agent's group, and any group that the agent itself leads."""
        self.was_stopped |= signum == SIGKILL or signum in STOPPING
        self.group.send(signum)
        self._send_to_own_group(signum)

    def kill_group(self) -> None:
        """Kills all remaining processes of the agent, and ends its guardian."""
        self._send_to_own_group(SIGKILL)
        self.group.end()

    def kill_holders(self) -> None:
        """Kills those processes of an exited agent's group that keep the agent's output open."""
        self.group.kill_holders(self._outputs)

    def _send_to_own_group(self, signum: int) -> None:
        """Signals the group that the agent leads if it has called setsid(2)."""
        try:
            if not self.exited.is_set and os.getpgid(self.pid) == self.pid != self.group.id:
                os.killpg(self.pid, signum)
        except OSError:
            pass


def _share_group(program: Program) -> "tuple[OwnGroup, int] | None":
    """Starts the agent in our process group if we have a terminal and the system allows it."""
    if not has_terminal():
        return None
    # Only needed on a terminal. This imports more than all the rest of the startup.
    from acp_proxy.record.capture.shared_group import SharedGroup

    return SharedGroup.start_shared(program)


def _pipes() -> "tuple[int, int, int, int, int, int]":
    """Makes three pipes: the read and write ends for stdin, stdout and stderr.

    Raises:
        OSError: too many descriptors are open; no new descriptor stays open.
    """
    made: list[int] = []
    try:
        for _ in range(3):
            made += os.pipe()
    except OSError:
        for fd in made:
            os.close(fd)
        raise
    return made[0], made[1], made[2], made[3], made[4], made[5]


def _widen(pipe: int) -> None:
    """Makes the agent's output pipe `OUTPUT_PIPE` bytes large, where the system allows it."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, OUTPUT_PIPE)
    except (AttributeError, OSError):
        pass
