"""The standard descriptors: moves the client's pipes to other numbers, and writes to stderr."""

import os

_PLAIN = str.maketrans("", "", "/-._+,:@%=")
"""A translation that removes the punctuation marks that need no quotes in a shell."""


def take_stdio() -> "tuple[int, int]":
    """Moves the client's pipes to other descriptors, so that libraries cannot print into them.

    Descriptors 0 and 1 become /dev/null and stderr.

    Returns:
        The descriptors that the client writes to and reads from; /dev/null for a missing
        descriptor.

    Raises:
        OSError: too few descriptors are left; nothing was moved.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:  # closed by our parent; the next file opened must not take its number
            os.open(os.devnull, os.O_RDWR)
    moved: list[int] = []
    try:
        for fd in (0, 1):
            moved.append(os.dup(fd))  # not inherited; at least 3, since 0, 1 and 2 are open
        null = os.open(os.devnull, os.O_RDWR)
    except OSError:
        for fd in moved:
            os.close(fd)
        raise
    client_in, client_out = moved
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return client_in, client_out


def warn(text: str) -> None:
    """Writes one line to stderr, wrapped if stderr is a terminal.

    Never blocks or raises, since that would stop the conversation.
    """
    try:
        if _has_room(2):
            os.write(2, f"{_wrapped(f'acp-proxy: {text}')}\n".encode(errors="replace"))
    except OSError:
        pass


def _wrapped(line: str) -> str:
    """If stderr is a terminal, wraps a line between words to the width of the terminal."""
    try:
        columns = os.get_terminal_size(2).columns or len(line)
        from textwrap import fill  # late: it loads regular expressions
    except (OSError, ImportError, MemoryError):
        return line
    return fill(line, columns, subsequent_indent="  ",
                break_on_hyphens=False, break_long_words=False)  # fmt: skip


def unchecked(path: str) -> str:
    """Returns the message for a recording that could not be checked in time.

    Args:
        path: the path of the recording.
    """
    is_plain = path.isascii() and path.translate(_PLAIN).isalnum()
    quoted = path if is_plain else "'" + path.replace("'", "'\\''") + "'"  # as `shlex.quote` does
    return f"there was no time to check the recording; `acp-proxy check {quoted}` does"


def explain_terminal(client_in: int) -> None:
    """If stdin is a terminal, prints that acp-proxy waits for the messages of a client.

    Args:
        client_in: the descriptor of stdin, moved or not.
    """
    if os.isatty(client_in):
        warn("stdin is a terminal: waiting for the messages of a client; usually, an editor starts"
             " this command as its agent. Ctrl-D ends the command")  # fmt: skip


def _has_room(fd: int) -> bool:
    """Whether a write is possible without blocking; True if no descriptor is left for the check."""
    try:
        import select
    except (ImportError, MemoryError):
        return True
    if not hasattr(select, "poll"):  # Windows
        return True
    poller = select.poll()
    poller.register(fd, select.POLLOUT)
    return bool(poller.poll(0))
