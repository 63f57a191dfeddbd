"""A shell that runs one job in the foreground of a terminal, as interactive shells do.

Run ``job_shell.py TERMINAL COMMAND...`` in a new session of processes. The job has its own process
group, and keeps stdin, stdout and stderr. When the job is stopped, the shell prints ``stopped`` on
the terminal. A line that the shell reads there puts the job into the foreground and continues it.
"""

from __future__ import annotations

import os
import signal
import sys


def main(path: str, command: list[str]) -> int:
    """Runs the job and returns its exit code."""
    terminal = os.open(path, os.O_RDWR)  # which becomes our controlling terminal
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.close(terminal)
        os.execv(command[0], command)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return abs(os.waitstatus_to_exitcode(status))
        os.tcsetpgrp(terminal, os.getpid())
        os.write(terminal, b"stopped\n")
        os.read(terminal, 100)
        os.tcsetpgrp(terminal, job)
        os.killpg(job, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
