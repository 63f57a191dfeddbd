"""The parts of a recording that checks read; each is read when it is first needed."""

from collections.abc import Sequence
from functools import cached_property

from attrs import define

from acp_proxy.inspection.describe.values import Value
from acp_proxy.inspection.diagnosis.conversation import (
    read_initialization,
    read_invalid_lines,
    read_prompts,
)
from acp_proxy.inspection.diagnosis.errors import Rules, read_errors
from acp_proxy.inspection.diagnosis.frame_pass import FrameCounts, running_calls
from acp_proxy.inspection.diagnosis.messages import read_unanswered
from acp_proxy.inspection.diagnosis.values import (
    ErrorTally,
    InvalidLines,
    OpenRequest,
)
from acp_proxy.inspection.fault_effects import FaultEffects
from acp_proxy.inspection.waits import OpenWait
from acp_proxy.protocol.json_text import has_elisions
from acp_proxy.recording import RecordedEvent, Recording
from acp_proxy.store.exchange_queries import TurnRow
from acp_proxy.store.exchange_queries import turns as read_turns
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_events import is_client_ending, is_peer_leaving
from acp_proxy.wording import counted

MOST = 100
"""How many findings of a kind, requests and questions are listed one by one."""
READERS = {"to-agent": "the agent", "to-client": "the client", "stderr": "who reads its stderr"}
"""The reader of each stream, by the name of the stream."""
_END = 1 << 62


@define
class DiagnosisContext:
    """What the checks read of one recording."""

    reader: RecordingReader
    events: Sequence[RecordedEvent]
    counts: FrameCounts | None
    """None without a pass over all frames; silences are then unknown, but problems are known."""
    waits: list[OpenWait]
    """The requests and turns that are open now, if the recorder runs."""
    end_ns: int
    """The time of the last frame or event, or now."""

    @cached_property
    def recording(self) -> Recording:
        """The row of the recording."""
        return self.reader.recording

    @property
    def live(self) -> bool:
        """Whether the recorder is running."""
        return self.reader.live

    @property
    def waited_until_ns(self) -> int | None:
        """Until when requests without an answer have waited; None if that is not known."""
        return self.end_ns if self.recording.has_silences else None

    @cached_property
    def turns(self) -> list[TurnRow]:
        """All turns."""
        return read_turns(self.reader)

    @cached_property
    def prompts(self) -> dict[int, str]:
        """The beginnings of the prompts, by the numbers of their turns."""
        return read_prompts(self.reader, self.turns)

    @cached_property
    def unanswered(self) -> list[OpenRequest]:
        """The first requests without an answer."""
        return read_unanswered(self.reader, self.waited_until_ns, MOST)

    @cached_property
    def errors(self) -> list[ErrorTally]:
        """The errors by method, code and blame."""
        dialect = self.recording.dialect
        return read_errors(
            self.reader, dialect, lambda: Rules(dialect, self._announced), self.faults.injected
        )

    @cached_property
    def initialization(self) -> dict[str, Value]:
        """What each peer announced in the initialization, by the direction of what it receives."""
        return read_initialization(self.reader)

    @property
    def _announced(self) -> dict[str, Value]:
        """The initialization, but for halves of which somebody has left out parts."""
        if not self.recording.lost("parts"):
            return self.initialization
        return {way: {} if has_elisions(h) else h for way, h in self.initialization.items()}

    @cached_property
    def invalid_lines(self) -> list[InvalidLines]:
        """The lines that are no messages, by direction."""
        return read_invalid_lines(self.reader, self.faults.injected)

    @cached_property
    def faults(self) -> FaultEffects:
        """The effects of faults."""
        return FaultEffects(self.reader, self.events)

    @cached_property
    def first_end(self) -> RecordedEvent | None:
        """The first event with which one of the peers left."""
        return next(filter(is_peer_leaving, self.events), None)

    @property
    def client_end(self) -> RecordedEvent | None:
        """How the client left or stopped the agent, if it did that before the agent left."""
        first = self.first_end
        return first if first is not None and is_client_ending(first) else None

    @property
    def holding_fault(self) -> str | None:
        """The fault rule that prevented all answers from some time until the first peer left."""
        return self.faults.that_held(None if self.first_end is None else self.first_end.seq)

    @property
    def open_at_end(self) -> list[OpenWait]:
        """What was open when the first peer left, if there was a pass over the frames."""
        return (self.counts.open_at_end or []) if self.counts is not None else []

    @cached_property
    def cut_turns(self) -> list[TurnRow]:
        """The turns in the middle of which the agent left by itself, or the recorder died."""
        if self.live or self.client_end is not None or self.recording.lost("ending"):
            return []
        if self.first_end is None and self.recording.state == "complete":
            return []
        open_ = (turn for turn in self.turns if turn.end_seq is None)
        return [turn for turn in open_ if self.prompt_after(turn) is None]

    def prompt_after(self, turn: TurnRow) -> TurnRow | None:
        """Returns the next turn of the same session, if there is one."""
        later = (t for t in self.turns if t.id > turn.id and t.session == turn.session)
        return next(later, None)

    def of_kind(self, kind: str) -> list[RecordedEvent]:
        """Returns the events of a kind, in order."""
        return [event for event in self.events if event.kind == kind]

    def running_calls(
        self, turn: int | None, first: int, last: int | None = _END
    ) -> dict[int, str]:
        """Returns the titles of a turn's tool calls that were not over at a frame, by first frame.

        Args:
            turn: the turn; None has no tool calls.
            first: its prompt.
            last: the frame; None has no tool calls either.
        """
        if turn is None or last is None:
            return {}
        return running_calls(self.reader, turn, (first, last))


def quoted_prompt(context: DiagnosisContext, turn: TurnRow) -> str:
    """Returns a space and the first words of a turn's prompt in quotes; empty without a prompt.

    Args:
        context: provides the prompts.
        turn: the turn.
    """
    prompt = context.prompts.get(turn.id)
    return f' "{prompt[:60]}"' if prompt else ""


def named_calls(running: dict[int, str]) -> str:
    """Returns a phrase that names the first three tool calls and counts the others."""
    names = [f'tool call "{title}" (#{seq})' for seq, title in list(running.items())[:3]]
    more = len(running) - len(names)
    return " and ".join([*names, counted(more, "other")] if more else names)
