"""The values of a transcript: sections, and in each the entries in the order of the wire."""

from enum import StrEnum

from attrs import field, frozen


class EntryKind(StrEnum):
    """What an entry is about."""

    PROMPT = "prompt"
    MESSAGE = "message"
    THOUGHT = "thought"
    TOOL_CALL = "tool_call"
    TERMINAL = "terminal"
    PERMISSION = "permission"
    PLAN = "plan"
    REQUEST = "request"
    """Any other request, with its answer."""
    NOTICE = "notice"
    """Any other notification, and an answer that belongs to no request."""
    NOT_ACP = "not-acp"
    STDERR = "stderr"
    EVENT = "event"
    END = "end"
    """How a turn ended."""


class TextForm(StrEnum):
    """What a block holds."""

    TEXT = "text"
    JSON = "json"
    DIFF = "diff"
    NOTE = "note"
    """A description of what is no text, such as an image."""


@frozen
class CutText:
    """A text, of a long one its beginning and its end."""

    start: str
    end: str = ""
    characters: int = 0
    """Of the whole text."""

    @property
    def left_out(self) -> int:
        """The number of characters that are missing between the two parts."""
        return self.characters - len(self.start) - len(self.end)


@frozen
class TextBlock:
    """A text that belongs to an entry: output, a file, a diff."""

    form: TextForm
    text: CutText
    label: str = ""
    """What it is, such as ``output``, or the path of a file."""


@frozen
class EntryChoice:
    """One of several: an option of a permission request, or a step of a plan."""

    name: str
    detail: str = ""
    """The kind of an option, the priority of a step."""
    state: str = ""
    """``chosen``, or the status of a step."""


@frozen
class TranscriptEntry:
    """Something that was said or done."""

    kind: EntryKind
    seq: int
    """The first frame about it."""
    last_seq: int
    t_ns: int
    title: str = ""
    state: str = ""
    """Its status or its outcome, in a few words."""
    is_failed: bool = False
    took_ns: int | None = None
    session: str | None = None
    by: str = ""
    """Who said or asked it: client or agent."""
    detail: str = ""
    """The kind of a tool call, the method of a request, the directory of a command."""
    id: str = ""
    """Of a tool call or terminal."""
    remarks: list[str] = field(factory=list)
    choices: list[EntryChoice] = field(factory=list)
    blocks: list[TextBlock] = field(factory=list)


@frozen
class TranscriptSection:
    """The beginning of a turn, or of what passed outside of turns; entries follow."""

    turn: int | None
    session: str | None
    seq: int
    """The first number that belongs to it."""
    last_seq: int | None
    """None if it has no end."""
    state: str = ""
    """How the turn ended."""
    is_failed: bool = False
    took_ns: int | None = None


@frozen
class TextLimits:
    """How many characters of a text are shown; None for all."""

    said: int | None = 20_000
    """Of a prompt, a message or a thought."""
    output: int | None = 4_000
    """Of anything else."""

    @property
    def is_full(self) -> bool:
        """Whether nothing is cut or left out."""
        return self.said is None and self.output is None


FULL = TextLimits(None, None)
