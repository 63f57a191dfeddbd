"""Leaves behind a daemon, in a session of its own, that keeps stdout and stderr open.

Usage: ``daemon.py PID``. It writes the daemon's process id to that file, says ``left``, and ends.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(0)
        os.write(tell, b"x")
        while True:
            signal.pause()
    else:
        os.read(told, 1)
        with open(sys.argv[1], "w") as file:
            file.write(str(pid))
        os.write(1, b"left\n")
