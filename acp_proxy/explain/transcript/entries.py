"""The values of a transcript: sections, and entries in the order of their first frames."""

from enum import StrEnum

from attrs import field, frozen


class EntryKind(StrEnum):
    """The kind of an entry."""

    PROMPT = "prompt"
    MESSAGE = "message"
    THOUGHT = "thought"
    TOOL_CALL = "tool_call"
    TERMINAL = "terminal"
    PERMISSION = "permission"
    PLAN = "plan"
    REQUEST = "request"
    """A request of a kind that is not listed above, with its answer."""
    NOTICE = "notice"
    """A notification of a kind that is not listed above, or an answer without a request."""
    NOT_ACP = "not-acp"
    STDERR = "stderr"
    EVENT = "event"
    END = "end"
    """The end of a turn."""
    NOTE = "note"
    """A person's note at a frame or event."""


class TextForm(StrEnum):
    """The form of the text in a block."""

    TEXT = "text"
    JSON = "json"
    DIFF = "diff"
    NOTE = "note"
    """A description of content that is not text, such as an image."""


@frozen
class CutText:
    """A text, or the beginning and the end of a text that was too long."""

    start: str
    end: str = ""
    characters: int = 0
    """The number of characters of the whole text."""

    @property
    def left_out(self) -> int:
        """The number of characters that were left out between `start` and `end`."""
        return self.characters - len(self.start) - len(self.end)


@frozen
class TextBlock:
    """A text that belongs to an entry, such as output, a file or a diff."""

    form: TextForm
    text: CutText
    label: str = ""
    """The name of the text, such as ``output`` or the path of a file."""


@frozen(kw_only=True)
class MediaBlock(TextBlock):
    """A description of content with data, such as an image. The JSON of entries lacks the data."""

    data: str = field(repr=False)
    """The data in base64, as the peer has sent it."""


@frozen
class EntryChoice:
    """An option of a permission request, or a step of a plan."""

    name: str
    detail: str = ""
    """The kind of an option, or the priority of a step."""
    state: str = ""
    """``chosen`` for the chosen option, or the status of a step."""


@frozen
class TranscriptEntry:
    """A message, a tool call, a request or another event of a conversation."""

    kind: EntryKind
    seq: int
    """The number of the first frame of the entry."""
    last_seq: int
    """The number of the last frame of the entry."""
    t_ns: int | None
    """The time of the first frame, in nanoseconds; None if it is not known."""
    title: str = ""
    state: str = ""
    """The status or the outcome of the entry, in a few words."""
    is_failed: bool = False
    took_ns: int | None = None
    session: str | None = None
    by: str = ""
    """The sender: client or agent."""
    detail: str = ""
    """The kind of a tool call, the method of a request, or the directory of a command."""
    id: str = ""
    """The id of a tool call or terminal."""
    remarks: list[str] = field(factory=list)
    """Notes on the entry, such as a fault that changed one of its frames."""
    choices: list[EntryChoice] = field(factory=list)
    blocks: list[TextBlock] = field(factory=list)


@frozen
class TranscriptSection:
    """A turn, or a part of the recording outside of turns, such as a history.

    In a transcript, the entries of a section follow the section.
    """

    turn: int | None
    session: str | None
    seq: int
    """The number of the section's first frame or event."""
    last_seq: int | None
    """The number of the turn's last frame; None for an open turn and outside of turns."""
    state: str = ""
    """The stop reason or another word for the end of the turn."""
    is_failed: bool = False
    took_ns: int | None = None
    loaded_by: int | None = None
    """For the history of a loaded session: the frame of the request that loaded the session. If the
    recording lacks the request, the frame of its answer."""
    heading: str = field(default="", metadata={"hidden": True})
    """Whether the turn is the first of its session (``begins``) or a later one (``continued``).
    Empty if the previous turn is of the same session."""


@frozen
class TextLimits:
    """The largest number of characters of each text; None for no limit."""

    said: int | None = 20_000
    """The limit for a prompt, a message or a thought."""
    output: int | None = 4_000
    """The limit for all other texts, such as the output of a tool."""

    @property
    def is_full(self) -> bool:
        """Whether there are no limits. If so, entries that are usually left out are shown."""
        return self.said is None and self.output is None


FULL = TextLimits(None, None)
