"""The agent's process group, which is killed when our process ends, even by SIGKILL.

The guardian, a tiny ``/bin/sh``, is the leader of a new process group, which the agent joins. The
guardian reads a pipe, and only our process has the other end of the pipe. When our process ends,
even by SIGKILL, the guardian's ``read`` returns, and the guardian kills the group.

The guardian ignores the signals that we forward to the group. After the agent has ended by itself,
we end only the guardian: the remaining processes go on running.

A parent-death signal would reach only the direct child, while real agents are launchers with native
children.

A process in a separate group is stopped when it reads the terminal, for example when ssh asks for a
password. So on a terminal, `capture.shared_group` is used instead.
"""

import errno
import os

# The C half of `signal`: the module itself costs 3 ms, for the enums around these numbers.
from _signal import SIGCONT, SIGKILL, SIGPIPE, SIGSTOP, SIGTTIN, SIGTTOU, SIGXFSZ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from acp_proxy.record.capture.process_table import Process

SHELL = "/bin/sh"
GUARDIAN = "trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU; cd /; read -r _; kill -KILL 0"
_RESET = [SIGPIPE, SIGXFSZ]  # Python ignores these signals, and the agent must not inherit this
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Errors that mean a shortage of resources, and not a problem with the program."""


def has_terminal() -> bool:
    """Whether we have a controlling terminal; always False on systems other than Linux."""
    try:
        fd = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 4096).rpartition(b")")[2].split()[4] != b"0"
        finally:
            os.close(fd)
    except (OSError, IndexError):
        return False


class Program:
    """A command with the environment, signal mask and descriptors to execute it with."""

    def __init__(
        self,
        command: "list[str]",
        env: "dict[str, str]",
        mask: "set[int]",
        descriptors: "tuple[int, int, int]",
    ) -> None:
        self.command = command
        self.env = env
        self.mask = mask
        self.descriptors = descriptors

    def spawn(self, group: "int | None" = None) -> int:
        """Starts the program, and returns its process id.

        Args:
            group: the process group of the program; 0 for a new group, None for our group.

        Raises:
            OSError: the program cannot be executed.
        """
        actions = [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate(self.descriptors)]
        in_group: dict[str, Any] = {} if group is None else {"setpgroup": group}
        return os.posix_spawnp(
            self.command[0],
            self.command,
            self.env,
            file_actions=actions,
            setsigmask=self.mask,
            setsigdef=_RESET,
            **in_group,
        )


class OwnGroup:
    """A process group of the agent and its guardian.

    Attributes:
        id: the process group id; 0 for none.
        complaint: why there is no guardian; empty if there is a guardian.
    """

    is_shared = False
    """Whether the client belongs to the group, too."""

    def __init__(
        self, group: int, guardian: "int | None" = None, complaint: str = "", lifeline: int = -1
    ) -> None:
        self.id = group
        self.complaint = complaint
        self._guardian = guardian
        self._lifeline = lifeline

    @classmethod
    def start(cls, program: Program) -> "tuple[OwnGroup, int]":
        """Starts the agent, with a guardian if possible; returns the group and the agent's pid.

        Raises:
            OSError: the agent cannot be executed; nothing is left behind.
        """
        guardian, complaint, lifeline = None, "", -1
        try:
            guardian, lifeline = _start_guardian()
        except OSError as e:
            complaint = f"cannot start the guardian {SHELL!r}: {e.strerror}"
        try:
            pid = program.spawn(guardian or 0)
        except OSError:
            cls(guardian or 0, guardian, lifeline=lifeline).end()
            raise
        return cls(guardian or pid, guardian, complaint, lifeline), pid

    def send(self, signum: int) -> None:
        """Sends a signal to the whole group. A stop signal does not stop the guardian."""
        if self.id <= 0:
            return
        try:
            os.killpg(self.id, signum)
            if signum == SIGSTOP and self._guardian is not None:
                os.kill(self._guardian, SIGCONT)
        except (ProcessLookupError, PermissionError):
            pass

    def wait(self, pid: int, note_stop: "Callable[[int], object]") -> int:
        """Blocks until the agent has ended, and returns its `os.waitpid` status.

        Args:
            pid: the process id of the agent.
            note_stop: called with SIGTTIN or SIGTTOU when this signal has stopped the agent.
        """
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return status
            if os.WSTOPSIG(status) in (SIGTTIN, SIGTTOU):
                note_stop(os.WSTOPSIG(status))

    def end(self) -> None:
        """Kills all remaining processes, the guardian included, and reaps the guardian."""
        self.send(SIGKILL)
        if self._guardian is not None:
            reap(self._guardian)
            os.close(self._lifeline)
            self._guardian = None

    def let_go(self) -> "list[str]":
        """Ends only the guardian; returns the names of programs still running in the group."""
        if self._guardian is not None:
            os.kill(self._guardian, SIGKILL)
            reap(self._guardian)
            self._guardian = None
        if not (left := self.find()):
            return []
        from acp_proxy.record.capture.process_table import program_name

        return [program_name(process) for process in left]

    def kill_holders(self, pipes: "Collection[str]") -> None:
        """Kills the group's processes that have at least one of the given pipes open.

        On a system without a process table, all processes of the group are killed.

        Args:
            pipes: the names of the pipes, as links in ``/proc/PID/fd`` show them.
        """
        from acp_proxy.record.capture.process_table import holds, kill_all, look_up

        if look_up("self") is None:
            self.send(SIGKILL)
        else:
            kill_all(lambda: [process for process in self.find() if holds(process, pipes)])

    def find(self) -> "list[Process]":
        """Returns the group's live and visible processes, including the guardian."""
        try:
            os.killpg(self.id, 0)  # if nothing is left, this costs less than to read the table
        except OSError as e:
            if e.errno == errno.ESRCH:
                return []
        from acp_proxy.record.capture.process_table import all_processes

        return [each for each in all_processes() if each.group == self.id and each.alive]


def _start_guardian() -> "tuple[int, int]":
    """Starts the guardian of a new process group.

    Returns:
        The guardian's process id, which is also the group's id, and our end of the guardian's pipe.

    To save descriptors, the guardian's stdout and stderr are our stdin, which is /dev/null by now.

    Raises:
        OSError: the guardian cannot be started.
    """
    lifeline, ours = os.pipe()  # `ours` stays open, only in our process, until we end
    try:
        pid = os.posix_spawn(
            SHELL,
            ["sh", "-c", GUARDIAN],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
                (os.POSIX_SPAWN_DUP2, lifeline, 0),
            ],
            setpgroup=0,
        )
        return pid, ours
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(lifeline)


def reap(pid: int) -> None:
    """Waits for a child that has ended or is about to end."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
