"""The facts of a recording that checks need. Each fact is read when it is needed."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property

from attrs import define

from acp_proxy.base.limits import LISTED
from acp_proxy.base.wording import counted, plain
from acp_proxy.explain.describe.phrases import Value
from acp_proxy.explain.message_pass import MessagePass
from acp_proxy.explain.observed_faults import HOLDING, FaultEffects
from acp_proxy.explain.show.chosen_messages import read_unanswered
from acp_proxy.explain.show.conversation_summary import (
    read_initialization,
    read_invalid_lines,
    read_prompts,
)
from acp_proxy.explain.show.error_groups import Rules, read_errors
from acp_proxy.explain.show.frame_pass import FrameCounts, RunningCalls
from acp_proxy.explain.show.summary_values import ErrorTally, InvalidLines, OpenRequest
from acp_proxy.explain.tokens import RecordedTokens, read_tokens
from acp_proxy.explain.waits import OpenWait
from acp_proxy.protocol.dialects import INITIALIZE, PERMISSION
from acp_proxy.recording.recording import RecordedEvent, Recording, StoredFrame, needs
from acp_proxy.store.queries.exchanges import ExchangeRow, TurnRow, cancels, exchanges
from acp_proxy.store.queries.exchanges import turns as read_turns
from acp_proxy.store.queries.frames import (
    Span,
    first_message,
    frame_times,
    frames_before,
    frames_of_kind,
)
from acp_proxy.store.queries.recorded_events import gave_up_at, is_client_ending, is_peer_leaving
from acp_proxy.store.reader import RecordingReader

READERS = {"to-agent": "the agent", "to-client": "the client", "stderr": "the reader of its stderr"}
"""The reader of each stream, by the name of the stream."""
RECEIVERS = {"to-agent": "agent", "to-client": "client"}
"""The peer that receives and answers requests, by direction."""
NEVER = 1 << 62
"""A number that is larger than the number of any frame."""
_MOST_FRAMES, _SOON = 1_000, 5 * 10**9


@define
class DiagnosisContext:
    """The facts of one recording that checks need."""

    reader: RecordingReader
    events: Sequence[RecordedEvent]
    messages: MessagePass | None
    """The pass over all frames. Without a pass (None), silences are not found."""
    waits: list[OpenWait]
    """The requests and turns that are open now, if the recorder is running."""
    end_ns: int
    """The time of the last frame or event, or the present time, in nanoseconds since the start."""
    counts: FrameCounts | None = None
    """The counts of frames; None if frames were not counted."""

    @cached_property
    def recording(self) -> Recording:
        """The properties of the recording."""
        return self.reader.recording

    @property
    @needs("middle", "durations")
    def waited_until_ns(self) -> int | None:
        """The time until which unanswered requests have waited; None if it is not known."""
        return self.end_ns if self.client_end is None else self.client_end.t_ns

    @cached_property
    def turns(self) -> list[TurnRow]:
        """All turns of the recording."""
        return read_turns(self.reader)

    @cached_property
    def tokens(self) -> RecordedTokens:
        """The tokens that the agent reported."""
        return read_tokens(self.reader, self.turns)

    @cached_property
    def prompts(self) -> dict[int, str]:
        """The beginnings of the prompts, by the numbers of their turns."""
        return read_prompts(self.reader, self.turns)

    @cached_property
    def _stderr(self) -> list[int]:
        return frames_of_kind(self.reader, "stderr")

    def stderr_within(self, span: Span) -> list[int]:
        """Returns the numbers of the stderr lines within a span of frames."""
        first = bisect_left(self._stderr, span[0])
        return self._stderr[first : bisect_right(self._stderr, span[1])]

    @cached_property
    def _asks(self) -> list[int]:
        return sorted(ask.request_seq for ask in exchanges(self.reader, direction="to-client"))

    def asks_within(self, span: Span) -> bool:
        """Whether the agent sent a request within a span of frames."""
        return bisect_left(self._asks, span[0]) < bisect_right(self._asks, span[1])

    @cached_property
    def unanswered(self) -> list[OpenRequest]:
        """The first `LISTED` requests without an answer."""
        return read_unanswered(self.reader, self.waited_until_ns, LISTED)

    @cached_property
    def errors(self) -> list[ErrorTally]:
        """The errors in answers, counted by method, code and who is to blame."""
        return read_errors(self.reader, lambda: self.rules, self.faults.injected)

    @cached_property
    def rules(self) -> Rules:
        """The rules for requests. They depend on the dialect and on the initialization."""
        return Rules(self.recording.dialect, self.initialization)

    @cached_property
    def initialization(self) -> dict[str, Value]:
        """The params and the result of the initialization; see `read_initialization`."""
        return read_initialization(self.reader)

    @cached_property
    def invalid_lines(self) -> list[InvalidLines]:
        """The invalid lines of each direction, without lines that faults made."""
        return read_invalid_lines(self.reader, self.faults.injected)

    @cached_property
    def faults(self) -> FaultEffects:
        """The effects of the faults in the recording."""
        return FaultEffects(self.reader, self.events)

    @cached_property
    def first_end(self) -> RecordedEvent | None:
        """The first event with which a peer left; None if no peer left."""
        return next(filter(is_peer_leaving, self.events), None)

    @property
    def client_end(self) -> RecordedEvent | None:
        """The event with which the client left or stopped the agent; None if the agent left."""
        first = self.first_end
        return first if first is not None and is_client_ending(first) else None

    @cached_property
    def gave_up_at(self) -> int:
        """The number of the event that says that the client gave up on the agent, or `NEVER`."""
        return gave_up_at(self.reader) or NEVER

    @property
    def holding_fault(self) -> str | None:
        """The name of the first fault rule after which no answer could come, or None."""
        end = self.first_end
        return self.faults.first_rule(HOLDING, None if end is None else end.seq)

    @cached_property
    def is_cut(self) -> bool:
        """Whether requests are open because the agent left by itself or the recorder died."""
        if self.reader.is_open or self.client_end is not None:
            return False
        return self.first_end is not None or self.recording.state != "complete"

    @cached_property
    def cut_turns(self) -> list[TurnRow]:
        """The turns that were interrupted when the agent left by itself or the recorder died."""
        open_ = (turn for turn in self.turns if turn.end_seq is None and self.is_cut)
        return [turn for turn in open_ if self.prompt_after(turn) is None]

    @cached_property
    def cut(self) -> list[int]:
        """The frame numbers of the requests and prompts that the agent left open."""
        if not self.is_cut:
            return []
        asked = (request.seq for request in self.unanswered if request.direction == "to-agent")
        return sorted({*asked, *(turn.prompt_seq for turn in self.cut_turns)})

    def cut_requests_text(self, who: str) -> str:
        """Returns a phrase that names the first request in `cut`, and counts the other requests.

        The phrase is empty if `cut` is empty.

        Args:
            who: the word for the agent in the phrase.
        """
        if not self.cut:
            return ""
        first = next(request for request in self.unanswered if request.seq == self.cut[0])
        more = f" and {counted(len(self.cut) - 1, 'other')}" if len(self.cut) > 1 else ""
        method = plain(first.method or "a request")[:80]
        return f" before {who} answered {method} (#{first.seq}){more}"

    @cached_property
    def first_of_agent(self) -> StoredFrame | None:
        """The frame with the first message of the agent; None without a message."""
        return first_message(self.reader, "to-client")

    @cached_property
    def first_opened(self) -> ExchangeRow | None:
        """The last successful initialization or ``session/new`` of the client, or None."""
        rows = exchanges(self.reader, methods=(*INITIALIZE, "session/new"), outcome="result")
        return next(iter(sorted(rows, key=lambda row: row.request_seq)[-1:]), None)

    def time_of(self, seq: int) -> int:
        """Returns the time of a frame, in nanoseconds since the start.

        For a frame that a damaged recording lacks, returns the end of the recording.
        """
        return frame_times(self.reader, [seq]).get(seq, self.end_ns or 0)

    def last_of_agent(self, turn: TurnRow, end: int | None = None) -> StoredFrame | None:
        """Returns the last frame that the agent sent in a turn; None without a frame.

        Only frames before a given frame or event count.

        Args:
            turn: the turn.
            end: the number of the frame or event; None for the event with which the client left.
        """
        if end is None:
            end = NEVER if self.client_end is None else self.client_end.seq
        frames = frames_before(self.reader, "to-client", end, _MOST_FRAMES)
        mine = (frame for frame in frames if frame.session in (turn.session, None))
        last = next(mine, None)
        return last if last is not None and last.seq > turn.prompt_seq else None

    def silent_ns(self, turn: TurnRow) -> int | None:
        """Returns how long the agent had been silent in a turn when the client left.

        The result is in nanoseconds; None if it is not known.
        """
        if self.waited_until_ns is None:
            return None
        last = self.last_of_agent(turn)
        since_ns = self.time_of(turn.prompt_seq) if last is None else last.t_ns
        return self.waited_until_ns - since_ns

    def ignored_cancels(self, turn: TurnRow, end_ns: int | None, least: int = _SOON) -> list[int]:
        """Returns the frame numbers of the cancels that the agent ignored in a turn.

        Args:
            turn: the turn that was cancelled.
            end_ns: the time until which the agent could obey; None if it is not known.
            least: the time that the agent needs to obey, in nanoseconds. If it had less time, the
                result is empty.
        """
        if end_ns is None or self.waited_until_ns is None:
            return []
        every = cancels(self.reader, turn.session, turn.prompt_seq, LISTED)
        sent = [seq for seq in every if seq < (turn.end_seq or NEVER)]
        return sent if sent and end_ns - self.time_of(sent[0]) >= least else []

    def prompt_after(self, turn: TurnRow) -> TurnRow | None:
        """Returns the next turn of the same session; None for the last turn."""
        return self._following.get(turn.id)

    @cached_property
    def _following(self) -> dict[int, TurnRow]:
        """For each turn, by its number: the next turn of its session."""
        following, latest = dict[int, TurnRow](), dict[str | None, TurnRow]()
        for turn in reversed(self.turns):
            if (later := latest.get(turn.session)) is not None:
                following[turn.id] = later
            latest[turn.session] = turn
        return following

    def of_kind(self, kind: str) -> list[RecordedEvent]:
        """Returns the events of a kind, in order."""
        return [event for event in self.events if event.kind == kind]

    def running_calls(
        self, turn: int | None, first: int, last: int | None = NEVER
    ) -> dict[int, str]:
        """Returns the titles of a turn's tool calls that were running at the time of a frame.

        The key of each title is the number of the first frame about the call.

        Args:
            turn: the number of the turn; None for an empty result.
            first: the number of the prompt's frame.
            last: the number of the frame; None for an empty result.
        """
        if turn is None or last is None:
            return {}
        return RunningCalls(self.reader, turn, first).at(last)

    def is_stuck(self, turn: TurnRow, end: int = NEVER) -> bool:
        """Whether the agent fell silent in a turn after its permission request was answered.

        This is the case if the agent sent nothing after the answer, and no tool call of the turn is
        in progress.

        Args:
            turn: the turn.
            end: the number of the frame or event before which the turn is examined.
        """
        span, last = (turn.prompt_seq, end), self.last_of_agent(turn, end)
        asked = exchanges(self.reader, methods=(PERMISSION,), direction="to-client", span=span)
        answers = [row.response_seq or 0 for row in asked if row.session == turn.session]
        if last is None or not answers or max(answers) < last.seq:
            return False
        return not RunningCalls(self.reader, turn.id, span[0]).at(end, ("in_progress",))


def quoted_prompt(context: DiagnosisContext, turn: TurnRow) -> str:
    """Returns a blank and the beginning of a turn's prompt in quotes; empty without a prompt.

    Args:
        context: the context with the prompts.
        turn: the turn of the prompt.
    """
    prompt = context.prompts.get(turn.id)
    return f' "{prompt[:60]}"' if prompt else ""


def named_turn(context: DiagnosisContext, turn: TurnRow) -> str:
    """Returns a phrase such as ``turn 2 (prompt "fix the test" #14)``.

    Args:
        context: the context with the prompts.
        turn: the turn.
    """
    return f"turn {turn.id} (prompt{quoted_prompt(context, turn)} #{turn.prompt_seq})"


def named_calls(running: dict[int, str]) -> str:
    """Returns a phrase that names at most three tool calls, and tells how many more there are."""
    names = [f'tool call "{title}" (#{seq})' for seq, title in list(running.items())[:3]]
    more = len(running) - len(names)
    return " and ".join([*names, counted(more, "other")] if more else names)
