"""Reads the process table of Linux: ancestry, process groups and terminals.

On other systems, which have no ``/proc/PID/stat``, no function finds a process.
"""

import os
import time
from _signal import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

_KILL_ROUNDS = 400
_PAUSE_S = 0.005


class Process:
    """A process as described by ``/proc/PID/stat``; ``pid`` and ``start`` identify it uniquely.

    Attributes:
        alive: False for a zombie.
        start: when the process was started, in clock ticks since the system's start.
    """

    def __init__(self, stat: bytes) -> None:
        """Reads a line of ``/proc/PID/stat``. A command's name may contain blanks and brackets.

        Raises:
            ValueError, IndexError: the line has another form.
        """
        self.pid = int(stat.partition(b" ")[0])
        fields = stat.rpartition(b")")[2].split()
        self.alive = fields[0] not in (b"Z", b"X", b"x")
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.start = int(fields[19])


def look_up(pid: "int | str") -> "Process | None":
    """Returns a process by its id (``self`` for ours); None if the process or table is missing."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Process(os.read(fd, 4096))
        finally:
            os.close(fd)
    except (OSError, ValueError, IndexError):
        return None


def all_processes() -> "Iterator[Process]":
    """Yields every visible process."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (process := look_up(name)) is not None:
            yield process


def program_name(process: Process) -> str:
    """Returns the name of the file that a process executes.

    The name that a process sets for itself is not used: many programs put their arguments there.
    """
    try:
        path = os.readlink(f"/proc/{process.pid}/exe")
    except OSError:  # another user's
        return "(unknown)"
    return os.path.basename(path).removesuffix(" (deleted)")


def holds(process: Process, pipes: "Collection[str]") -> bool:
    """Whether a process has one of the given pipes open; True if its descriptors are unreadable.

    Args:
        process: the process.
        pipes: the names of the pipes, as links in ``/proc/PID/fd`` show them, such as
            ``pipe:[123]``.
    """
    place, name = f"/proc/{process.pid}/fd", os.path.basename
    try:  # `realpath` does not raise if a descriptor is closed meanwhile
        return any(name(os.path.realpath(f"{place}/{fd}")) in pipes for fd in os.listdir(place))
    except OSError:
        return True


def members(ancestor: int, group: int, table: "Iterable[Process]") -> "list[Process]":
    """Returns a process's live descendants in a given process group.

    Args:
        ancestor: the process id of the process, which is not returned.
        group: the process group.
        table: all processes of the system.
    """
    children: dict[int, list[Process]] = {}
    for process in table:
        children.setdefault(process.parent, []).append(process)
    matches, rest = [], [ancestor]
    while rest:
        for process in children.pop(rest.pop(), ()):
            rest.append(process.pid)
            if process.group == group and process.alive:
                matches.append(process)
    return matches


def send(process: Process, signum: int) -> bool:
    """Sends a signal to a process unless its id was reused; returns whether the signal was sent.

    Args:
        process: the process as it was in the table.
        signum: the signal.
    """
    # Another process may have got the same id since the table was read.
    same = look_up(process.pid)
    if same is None or same.start != process.start:
        return False
    try:
        os.kill(process.pid, signum)
    except OSError:
        return False
    return True


def kill_all(find: "Callable[[], list[Process]]") -> None:
    """Kills the processes that ``find`` returns, until two calls in a row return no process.

    Processes that we may not kill, such as another user's, are ignored. If a process does not die,
    the function returns after two seconds.
    """
    quiet = 0
    for _ in range(_KILL_ROUNDS):
        killed = [process for process in find() if send(process, SIGKILL)]
        if killed:
            quiet = 0
            time.sleep(_PAUSE_S)
        else:
            quiet += 1
            if quiet == 2:
                return
