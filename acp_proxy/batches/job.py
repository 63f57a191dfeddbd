"""What one process is asked to do with one recording."""

from attrs import frozen


@frozen
class Job:
    """One recording, and the command that is to be run on it.

    Attributes:
        recording: its name in the results: the path, as it was given.
        path: where this machine finds it.
        command: ``verify``, ``check`` or ``faults sweep``.
        options: the command's options, as words of a command line.
        words: what follows ``--``: the agent's command.
        digest: of the command and its options; see `digest_of`.
        output: where a new run is recorded; None if the command records none.
        keeps_clean: whether a new run is kept in which nothing is wrong.
        attempt: how often it was tried, this time included.
        files: what `options` names besides: the values of some of them, as they stand there.
    """

    recording: str
    path: str
    command: str
    options: tuple[str, ...]
    words: tuple[str, ...]
    digest: str
    output: str | None = None
    keeps_clean: bool = False
    attempt: int = 1
    files: tuple[str, ...] = ()
