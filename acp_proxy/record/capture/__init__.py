"""Moves bytes and logs them first; imports the standard library's small parts only.

Nothing in this package may import anything that takes time: an editor waits for it before
the agent's first byte. A test holds the list of modules it may load.

What Ctrl-C does until something has begun is here, where it is known before anything is imported.
"""

import os
from _signal import SIGINT, default_int_handler, getsignal, signal


def leave_at_once() -> None:
    """Lets Ctrl-C end the process silently, if no handler is set for it.

    Python would raise an exception wherever it is, and print where that was.
    """
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


def leave(signum: int, _: object) -> None:
    """Handles a signal by ending the process."""
    os._exit(128 + signum)
