"""An agent that stays in our process group, and its guardian, which kills only the agent.

The agent can read the terminal when its client can, and the terminal itself sends Ctrl-C, Ctrl-Z
and ``fg`` to the agent. The client is in the group too, so each process of the agent must be found
and signalled separately.

The guardian is a fork of our process. It is the agent's parent and a *subreaper*: a descendant of
the agent that loses its parent becomes a child of the guardian. So the guardian always finds all
descendants of the agent.

The guardian reads a pipe, and only our process has the other end. When our process ends, even by
SIGKILL, the guardian kills its descendants in the group. A process that has left the group is not
killed. The guardian has its own session, so no terminal signal reaches it.

A shared group is possible only on Linux, which has subreapers and shows processes as files.
"""

import os
import struct
from _signal import (
    SIG_IGN,
    SIGCONT,
    SIGHUP,
    SIGINT,
    SIGKILL,
    SIGQUIT,
    SIGTERM,
    SIGTSTP,
    SIGTTIN,
    SIGTTOU,
    SIGUSR1,
    SIGUSR2,
    signal,
)
from _thread import allocate_lock, start_new_thread

from acp_proxy.record.capture.process_groups import OwnGroup, Program, reap
from acp_proxy.record.capture.process_table import Process, all_processes, kill_all, members, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_IGNORED = (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU)
_SET_CHILD_SUBREAPER = 36

_REPORT = struct.Struct("=ii")
"""A report of the guardian: `_STARTED`, `_FAILED` or `_ENDED`, and a number."""
_STARTED = 1  # the agent's process id
_FAILED = 2  # the error number with which the agent could not be started
_ENDED = 3  # the agent's `os.waitpid` status


class SharedGroup(OwnGroup):
    """Our own process group. Signals are sent only to the agent's processes in the group."""

    is_shared = True

    def __init__(self, guardian: int, lifeline: int, report: int) -> None:
        super().__init__(os.getpgrp(), guardian, lifeline=lifeline)
        self._report = report

    @classmethod
    def start_shared(cls, program: Program) -> "tuple[OwnGroup, int] | None":
        """Starts guardian and agent; starts nothing and returns None if the system cannot do this.

        Raises:
            OSError: the agent cannot be executed; nothing is left behind.
        """
        if not become_subreaper():  # so that we keep the agent if its guardian is killed
            return None
        watched, lifeline = os.pipe()
        report, reported = os.pipe()
        try:
            guardian = os.fork()
        except OSError:
            for fd in (watched, lifeline, report, reported):
                os.close(fd)
            return None
        if not guardian:
            try:
                _Guardian(os.getpgrp(), watched, reported).run(program)
            finally:
                os._exit(1)
        os.close(watched)
        os.close(reported)
        kind, value = _read_report(report)
        if kind == _STARTED:
            return cls(guardian, lifeline, report), value
        os.close(lifeline)
        os.close(report)
        reap(guardian)
        if kind == _FAILED:
            raise OSError(value, os.strerror(value))
        # The guardian was killed or failed. If it had started the agent, that agent is our
        # child now.
        kill_all(lambda: members(os.getpid(), os.getpgrp(), all_processes()))
        return None

    def send(self, signum: int) -> None:
        """Sends a signal to each process of the agent in the group."""
        if signum == SIGKILL:
            kill_all(self.find)
            return
        for process in self.find():
            send(process, signum)

    def wait(self, pid: int, note_stop: "Callable[[int], object]") -> int:
        """Blocks until the agent has ended, and returns its `os.waitpid` status.

        Args:
            pid: the process id of the agent.
            note_stop: never called: in the foreground group the agent may use the terminal.
        """
        kind, status = _read_report(self._report)
        if kind == _ENDED:
            return status
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            reap(guardian)  # the guardian was killed; now the agent is our child
        try:
            _, status = os.waitpid(pid, 0)
        except ChildProcessError:
            return int(SIGKILL)
        return status

    def end(self) -> None:
        """Makes the guardian kill all remaining processes, and reaps the guardian."""
        os.close(self._lifeline)
        if self._guardian is not None:
            try:
                os.kill(self._guardian, SIGCONT)
            except OSError:
                pass
            reap(self._guardian)

    def find(self) -> "list[Process]":
        """Returns the agent's live processes in the group."""
        return members(os.getpid(), self.id, all_processes())


def _read_report(report: int) -> "tuple[int, int]":
    """Reads the next report; returns zeros if the guardian has ended."""
    data = os.read(report, _REPORT.size)
    kind, value = _REPORT.unpack(data) if len(data) == _REPORT.size else (0, 0)
    return kind, value


def become_subreaper() -> bool:
    """Makes this process the parent of orphaned descendants; returns whether that worked."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError, MemoryError):
        return False


class _Guardian:
    """The guardian, which runs in a forked child. When our process ends, ``lifeline`` ends too."""

    def __init__(self, group: int, lifeline: int, report: int) -> None:
        self._group = group
        self._lifeline = lifeline
        self._report = report
        self._is_childless = False

    def run(self, program: Program) -> None:
        """Starts the agent, reports how the agent ends, and runs until our process ends."""
        self._let_go(program.descriptors)
        if not become_subreaper():
            return
        try:
            agent = program.spawn()
        except OSError as e:
            self._report_to_parent(_FAILED, e.errno or 0)
            return
        try:
            os.setsid()
            for signum in _IGNORED:  # not earlier, or the agent would ignore them too
                signal(signum, SIG_IGN)
            os.chdir("/")
            start_new_thread(self._kill_when_alone, ())
        except (OSError, RuntimeError):
            os.kill(agent, SIGKILL)
            return
        for fd in program.descriptors:
            os.close(fd)
        self._report_to_parent(_STARTED, agent)
        self._wait_for_all(agent)
        self._is_childless = True
        forever = allocate_lock()
        forever.acquire()
        forever.acquire()

    def _let_go(self, descriptors: "tuple[int, ...]") -> None:
        """Closes inherited descriptors, since an open copy keeps a pipe of the client alive."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for fd in map(int, os.listdir("/proc/self/fd")):
            if fd > 2 and fd not in (self._lifeline, self._report, *descriptors):
                try:
                    os.close(fd)
                except OSError:
                    pass  # the descriptor of the directory itself, already closed

    def _wait_for_all(self, agent: int) -> None:
        """Waits for every descendant, and reports how the agent ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid == agent:
                self._report_to_parent(_ENDED, status)

    def _report_to_parent(self, kind: int, value: int) -> None:
        try:
            os.write(self._report, _REPORT.pack(kind, value))
        except OSError:
            pass  # we have ended, and the guardian will end soon

    def _kill_when_alone(self) -> None:
        try:
            os.read(self._lifeline, 1)
            if not self._is_childless:
                kill_all(lambda: members(os.getpid(), self._group, all_processes()))
        finally:
            os._exit(0)
