"""What single rules keep from one message to another, beside what all of them may ask."""

from attrs import define, field

from acp_proxy.conformance.remembered import Remembered
from acp_proxy.protocol.peers import Direction

_MOST = 1_000


def _frames() -> Remembered[str, int]:
    return Remembered[str, int](_MOST)


@define(eq=False)
class TurnText:
    """What the agent has said in the latest turn of a session."""

    turn: int
    prompt: int | None = None
    """The hash of its prompt."""
    again: int = 0
    """How many turns in a row had the same line and nothing else, with different prompts."""
    line: str = ""
    """That line; empty if the last turn was no single line."""
    text: str = ""
    last: str = ""
    """The last chunk of the text."""
    seq: int = 0
    """The frame of the last chunk."""


@define(eq=False)
class RuleMemory:
    """Tables of rules, by what each one looks for."""

    split_lines: dict[Direction, tuple[int, list[tuple[int, bytes]]]] = field(factory=dict)
    """The lines of which a message may be split, with the messages that passed before them."""
    is_version_ignored: bool = False
    """Whether it was reported that the client goes on with a version that it does not speak."""
    was_initialize_open: bool = False
    """Whether it was reported that the client did not wait for the answer to ``initialize``."""
    boolean_options: Remembered[str, int] = field(factory=_frames)
    """The sessions of which it was reported that they have boolean options."""
    early_updates: Remembered[str, int] = field(factory=_frames)
    """The frame of the first update that came before the answer to session/new, by session."""
    replays: Remembered[int, int] = field(factory=lambda: Remembered[int, int](_MOST))
    """The frame of the latest replayed update, by the request that opens the session."""
    deleted_sessions: Remembered[str, int] = field(factory=_frames)
    pending_permissions: Remembered[int, int] = field(factory=lambda: Remembered[int, int](_MOST))
    """The cancel that must settle each permission request."""
    written_files: Remembered[tuple[str | None, str], tuple[int, int]] = field(
        factory=lambda: Remembered[tuple[str | None, str], tuple[int, int]](_MOST)
    )
    """The hash of what was written, by session and path, until the file is read."""
    leaked_terminals: Remembered[str, int] = field(factory=_frames)
    """The end of the turn at which each one was not released."""
    slow_terminals: Remembered[str, int] = field(factory=_frames)
    """Terminals whose creation took long."""
    mcp_connections: Remembered[str, bool] = field(factory=lambda: Remembered[str, bool](_MOST))
    """Whether each connection to an MCP server is open."""
    custom_requests: set[str] = field(factory=set)
    """The kinds of custom requests that were reported, each with its sender."""
    elicitations: Remembered[str, int | None] = field(
        factory=lambda: Remembered[str, int | None](_MOST)
    )
    """Those by URL, with the frame that completed each."""
    credentials: Remembered[str, int] = field(factory=_frames)
    """The masked values of MCP servers, each by the hash of its marker (1.0 draft)."""
    prompts: Remembered[str, int] = field(factory=_frames)
    """The hash of the latest prompt of each session."""
    texts: Remembered[str, TurnText] = field(factory=lambda: Remembered[str, TurnText](_MOST))
    """The text of the latest turn of each session."""
    grants: Remembered[str, int] = field(factory=_frames)
    """Permissions of the 1.0 draft that were granted for longer than once."""
    set_modes: Remembered[str, int] = field(factory=_frames)
    """The answer that set the mode of a session, until an update reports it (1.0 draft)."""
    mode_updates: Remembered[str, int] = field(factory=_frames)
    """The latest update of the mode of each session (1.0 draft)."""
