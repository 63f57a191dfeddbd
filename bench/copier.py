"""The fastest possible proxy in Python: it starts a command and copies bytes both ways."""

import os
import sys
from _thread import start_new_thread


def copy(source: int, target: int) -> None:
    """Copy bytes until one end is closed, then close the other end."""
    try:
        while data := os.read(source, 1 << 16):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(target, rest) :]
    except OSError:
        pass
    os.close(target)


def main(command: list[str]) -> int:
    """Run the command between two threads that copy, and return its exit code."""
    its_input, to_agent = os.pipe()
    from_agent, its_output = os.pipe()
    process = os.posix_spawnp(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, its_input, 0), (os.POSIX_SPAWN_DUP2, its_output, 1)],
    )
    os.close(its_input)
    os.close(its_output)
    start_new_thread(copy, (0, to_agent))
    copy(from_agent, 1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    # Not sys.exit: the other thread may be blocked in a read that nothing can cancel.
    os._exit(main(sys.argv[1:]) & 255)
