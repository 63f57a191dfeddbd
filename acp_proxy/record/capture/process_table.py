"""Reads Linux's table of processes: who descends from whom, in which group, on which terminal.

Other systems have no such table in files; there everything here finds nothing.
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
    """One process as ``/proc/PID/stat`` has it; ``pid`` and ``start`` name it and no later one.

    Attributes:
        alive: whether it is more than a zombie.
        start: when it was started, in ticks.
    """

    def __init__(self, stat: bytes) -> None:
        """Reads a line; a command's name may have blanks and brackets in it.

        Raises:
            ValueError, IndexError: this is no such line.
        """
        self.pid = int(stat.partition(b" ")[0])
        fields = stat.rpartition(b")")[2].split()
        self.alive = fields[0] not in (b"Z", b"X", b"x")
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.start = int(fields[19])


def look_up(pid: "int | str") -> "Process | None":
    """Returns the process with an id, or ``self``; None if there is no such process or no table."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Process(os.read(fd, 4096))
        finally:
            os.close(fd)
    except (OSError, ValueError, IndexError):
        return None


def all_processes() -> "Iterator[Process]":
    """Yields every process that can be seen."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (found := look_up(name)) is not None:
            yield found


def program_name(process: Process) -> str:
    """Returns the name of the file that a process runs.

    The name that it gives itself is not used: many put their arguments there.
    """
    try:
        path = os.readlink(f"/proc/{process.pid}/exe")
    except OSError:  # another user's
        return "(unknown)"
    return os.path.basename(path).removesuffix(" (deleted)")


def holds(process: Process, pipes: "Collection[str]") -> bool:
    """Whether a process holds an end of one of these pipes, or its descriptors cannot be seen.

    Args:
        process: the process.
        pipes: their names, as descriptors have them, such as ``pipe:[123]``.
    """
    place, name = f"/proc/{process.pid}/fd", os.path.basename
    try:  # `realpath` raises nothing if a descriptor is closed meanwhile
        return any(name(os.path.realpath(f"{place}/{fd}")) in pipes for fd in os.listdir(place))
    except OSError:
        return True


def members(ancestor: int, group: int, table: "Iterable[Process]") -> "list[Process]":
    """Returns the living descendants of a process that are in a process group, itself excluded.

    Args:
        ancestor: the process id of the process.
        group: the process group.
        table: every process.
    """
    children: dict[int, list[Process]] = {}
    for process in table:
        children.setdefault(process.parent, []).append(process)
    found, rest = [], [ancestor]
    while rest:
        for process in children.pop(rest.pop(), ()):
            rest.append(process.pid)
            if process.group == group and process.alive:
                found.append(process)
    return found


def send(process: Process, signum: int) -> bool:
    """Sends a signal to a process if it is still the same one; returns whether it could be sent.

    Args:
        process: as the table had it.
        signum: the signal.
    """
    # Its id may have been given to another process since the table was read.
    same = look_up(process.pid)
    if same is None or same.start != process.start:
        return False
    try:
        os.kill(process.pid, signum)
    except OSError:
        return False
    return True


def kill_all(find: "Callable[[], list[Process]]") -> None:
    """Kills what ``find`` returns until it finds nothing twice, since processes start others.

    What cannot be killed, as another user's, does not count. One that does not die, because it
    hangs in the kernel, is given up after two seconds.
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
