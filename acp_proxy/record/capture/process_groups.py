"""The process group an agent lives in, which ends with us however we end.

A parent-death signal follows the thread that spawned and reaches only the direct child, while real
agents are launchers with native children. So a guardian, a tiny ``/bin/sh``, is started first as
the leader of a new process group, and the agent joins that group. The guardian's standard input is
a pipe whose other end only we hold: when we are gone, even by SIGKILL, its ``read`` returns, and
it kills the group. The signals that we pass on to the group are ignored by the guardian. When the
agent has ended by itself, we end the guardian alone: what is left lives on as it would without us.

On a terminal a group of its own is a background group: the system stops a process in it that reads
the terminal, as ssh and sudo do for a password. There `capture.shared_group` is used instead.
"""

import errno
import os

# The C half of `signal`: the module itself costs 3 ms, for the enums around these numbers.
from _signal import SIGCONT, SIGKILL, SIGPIPE, SIGSTOP, SIGTTIN, SIGTTOU, SIGXFSZ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from acp_proxy.record.capture.process_table import Process

SHELL = "/bin/sh"
_GUARDIAN = "trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU; cd /; read -r _; kill -KILL 0"
_RESET = [SIGPIPE, SIGXFSZ]  # Python ignores these; the agent must not inherit that
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Errors of too few resources, which are not about the program that was to be executed."""


def has_terminal() -> bool:
    """Whether we have a controlling terminal, as far as Linux shows it; elsewhere False."""
    try:
        fd = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 4096).rpartition(b")")[2].split()[4] != b"0"
        finally:
            os.close(fd)
    except (OSError, IndexError):
        return False


class Program:
    """What to execute, and with which descriptors."""

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
        """Starts it, in a process group or in ours, and returns its process id.

        Raises:
            OSError: it cannot be executed.
        """
        actions = _stdio(*self.descriptors)
        command, env, mask = self.command, self.env, self.mask
        if group is None:
            return os.posix_spawnp(
                command[0],
                command,
                env,
                file_actions=actions,
                setsigmask=mask,
                setsigdef=_RESET,
            )
        return os.posix_spawnp(
            command[0],
            command,
            env,
            file_actions=actions,
            setpgroup=group,
            setsigmask=mask,
            setsigdef=_RESET,
        )


class OwnGroup:
    """A process group that is the agent's and its guardian's.

    Attributes:
        id: the process group id; 0 for none.
        complaint: why there is no guardian, or empty.
    """

    is_shared = False
    """Whether the client is in the group as well."""

    def __init__(self, group: int, guardian: "int | None" = None, complaint: str = "") -> None:
        self.id = group
        self.complaint = complaint
        self._guardian = guardian

    @classmethod
    def start(cls, program: Program) -> "tuple[OwnGroup, int]":
        """Starts guardian and agent, without the guardian if need be; returns the agent's id.

        Raises:
            OSError: the agent cannot be executed; nothing is left behind.
        """
        guardian, complaint = None, ""
        try:
            guardian = _start_guardian()
        except OSError as e:
            complaint = f"cannot start the guardian {SHELL!r}: {e.strerror}"
        try:
            pid = program.spawn(guardian or 0)
        except OSError:
            cls(guardian or 0, guardian).end()
            raise
        return cls(guardian or pid, guardian, complaint), pid

    def send(self, signum: int) -> None:
        """Sends a signal to all of the group; one that stops leaves the guardian running."""
        if self.id <= 0:
            return
        try:
            os.killpg(self.id, signum)
            if signum == SIGSTOP and self._guardian is not None:
                os.kill(self._guardian, SIGCONT)
        except (ProcessLookupError, PermissionError):
            pass

    def wait(self, pid: int, note_stop: "Callable[[int], object]") -> int:
        """Blocks until the agent has ended, and returns its status as `os.waitpid` has it.

        Args:
            pid: the agent.
            note_stop: called with SIGTTIN or SIGTTOU when that has stopped it.
        """
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return status
            if os.WSTOPSIG(status) in (SIGTTIN, SIGTTOU):
                note_stop(os.WSTOPSIG(status))

    def end(self) -> None:
        """Kills whatever is left, the guardian included, and reaps the guardian."""
        self.send(SIGKILL)
        if self._guardian is not None:
            reap(self._guardian)

    def let_go(self) -> "list[str]":
        """Ends the guardian alone; returns the names of the programs that live on in the group."""
        if self._guardian is not None:
            os.kill(self._guardian, SIGKILL)
            reap(self._guardian)
            self._guardian = None
        if not (left := self.find()):
            return []
        from acp_proxy.record.capture.process_table import program_name

        return [program_name(process) for process in left]

    def kill_holders(self, pipes: "Collection[str]") -> None:
        """Kills what holds one of these pipes; where that cannot be seen, all of the group.

        Args:
            pipes: their names, as descriptors have them.
        """
        from acp_proxy.record.capture.process_table import holds, kill_all, look_up

        if look_up("self") is None:
            self.send(SIGKILL)
        else:
            kill_all(lambda: [process for process in self.find() if holds(process, pipes)])

    def find(self) -> "list[Process]":
        """Returns the living processes of the group, guardian included, as far as that is seen."""
        try:
            os.killpg(self.id, 0)  # costs less than to read the table, where nothing is left
        except OSError as e:
            if e.errno == errno.ESRCH:
                return []
        from acp_proxy.record.capture.process_table import all_processes

        return [
            all_process
            for all_process in all_processes()
            if all_process.group == self.id and all_process.alive
        ]


def _start_guardian() -> int:
    """Starts the guardian of a new process group and returns its process id, which is the group's.

    Its stdout and stderr are our stdin, which is /dev/null by now: every descriptor counts here.

    Raises:
        OSError: it cannot be started.
    """
    lifeline, held = os.pipe()  # `held` stays open, in us alone, until we end
    try:
        return os.posix_spawn(
            SHELL,
            ["sh", "-c", _GUARDIAN],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
                (os.POSIX_SPAWN_DUP2, lifeline, 0),
            ],
            setpgroup=0,
        )
    except OSError:
        os.close(held)
        raise
    finally:
        os.close(lifeline)


def _stdio(stdin: int, stdout: int, stderr: int) -> "list[tuple[int, int, int]]":
    """Returns what `os.posix_spawn` does so that a process has these descriptors as 0, 1 and 2."""
    return [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate((stdin, stdout, stderr))]


def reap(pid: int) -> None:
    """Waits for a child that has ended or is about to."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
