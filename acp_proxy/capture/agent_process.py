"""The agent process and the group it lives in, which ends with us however we end.

A parent-death signal follows the thread that spawned and reaches only the direct child, while real
agents are launchers with native children. So a guardian, a tiny ``/bin/sh``, is started first as
the leader of a new process group, and the agent joins that group. The guardian's standard input is
a pipe whose other end only we hold: when we are gone, even by SIGKILL, its ``read`` returns, and
it kills the group. The signals that we pass on to the group are blocked in the guardian.
"""

import fcntl
import os

# The C half of `signal`: the module itself costs 3 ms, for the enums around these numbers.
from _signal import SIGKILL, SIGPIPE, SIGXFSZ

from acp_proxy.capture.latch import Latch

_GUARDIAN = "trap '' HUP INT QUIT TERM USR1 USR2; cd /; read -r _; kill -KILL 0"
OUTPUT_PIPE = 1 << 18
"""Bytes. The system's 64 KiB stall an agent that streams small frames at every switch of processes
(0.65 of a C copier's throughput, like bare Python; 0.75 with these). All that is taken from an
agent whose client does not read stays below 512 KB, which is the goal that a larger one would miss.
Every other pipe keeps the system's size."""
_RESET = [SIGPIPE, SIGXFSZ]  # Python ignores these; the agent must not inherit that


class AgentProcess:
    """One spawned agent with its three pipes; signals go to its whole group.

    Attributes:
        pid: the agent's process id.
        group: the process group id, which is the guardian's process id.
        stdin, stdout, stderr: our ends of its pipes.
        code: exit code once `wait` returned, or None if a signal ended it.
        signal: the number of the signal that ended it, or None.
        exited: set once its end is known and logged.
        appears_as: the exit code that it is made to appear with, whatever ended it.
    """

    def __init__(self, pid: int, group: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.group = group
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.code: int | None = None
        self.signal: int | None = None
        self.exited = Latch()
        self.appears_as: int | None = None

    @classmethod
    def spawn(cls, command: "list[str]", env: "dict[str, str]", mask: "set[int]") -> "AgentProcess":
        """Starts guardian and agent; ``mask`` is the signal mask that the agent is to have.

        Raises:
            OSError: the command cannot be executed; nothing is left behind.
        """
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        lifeline, _held = os.pipe()  # the write end stays open, in us alone, until we end
        group = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _GUARDIAN],
            {},
            file_actions=_stdio(lifeline, null, null),
            setpgroup=0,
        )
        os.close(lifeline)
        os.close(null)
        agent_in, stdin = os.pipe()
        stdout, agent_out = os.pipe()
        _widen(stdout)
        stderr, agent_err = os.pipe()
        try:
            pid = os.posix_spawnp(
                command[0],
                command,
                env,
                file_actions=_stdio(agent_in, agent_out, agent_err),
                setpgroup=group,
                setsigmask=mask,
                setsigdef=_RESET,
            )
        except OSError:
            os.kill(group, SIGKILL)
            os.waitpid(group, 0)
            for fd in (stdin, stdout, stderr):
                os.close(fd)
            raise
        finally:
            for fd in (agent_in, agent_out, agent_err):
                os.close(fd)
        return cls(pid, group, stdin, stdout, stderr)

    def wait(self) -> None:
        """Blocks until the agent has exited, then knows how."""
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            self.signal = -code
        else:
            self.code = code

    @property
    def exit_status(self) -> int:
        """What we return in its place: its exit code, or 128 + n for a signal."""
        if self.appears_as is not None:
            return self.appears_as
        return 128 + self.signal if self.signal is not None else self.code or 0

    def send_signal(self, signum: int) -> None:
        """Sends a signal to the whole group, and to the agent's own if it has made one."""
        groups = [self.group]
        try:
            if not self.exited.is_set and os.getpgid(self.pid) == self.pid:
                groups.append(self.pid)  # as setsid(1) does: we would wait for it for ever
        except OSError:
            pass
        for group in groups:
            try:
                os.killpg(group, signum)
            except (ProcessLookupError, PermissionError):
                pass

    def kill_group(self) -> None:
        """Kills whatever is left of the group, the guardian included, and reaps the guardian."""
        self.send_signal(SIGKILL)
        try:
            os.waitpid(self.group, 0)
        except ChildProcessError:
            pass


def _widen(pipe: int) -> None:
    """Makes the agent's output pipe `OUTPUT_PIPE` bytes large, where the system can and lets us."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, OUTPUT_PIPE)
    except (AttributeError, OSError):
        pass


def _stdio(stdin: int, stdout: int, stderr: int) -> "list[tuple[int, int, int]]":
    return [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate((stdin, stdout, stderr))]
