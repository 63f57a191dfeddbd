"""Feeds a recording to the state machine of a connection: the one pass over its messages.

Its `Intervals` follow who has to act, and how turns spend their time. Listeners take the messages:
`show` counts them, `audit` collects actions, `stats` finds the first words of turns; others draw
the waterfall of a turn and check the rules. A report runs one pass for all of them.

The first three need only the first piece of a message that is streamed without a pause, so the
others are not read. That makes the pass quick, since most frames are such pieces.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.explain.intervals import Intervals
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State, Transition
from acp_proxy.protocol.dialects import OPENING, PROMPT
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording.recording import FrameRun, RecordedEvent, Recording
from acp_proxy.store.queries.exchanges import TurnRow
from acp_proxy.store.queries.recorded_events import events as read_events
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterator[FrameRun]], Iterator[FrameRun]]
"""Passes runs of frames on, and shows how far the pass is."""
PAUSE_NS = 10**8
"""The longest pause within a run of pieces, for listeners that do not need each frame."""

HISTORY = OPENING[1:]
"""Requests that an agent answers after it has streamed a session's history."""
_DIRECTIONS = {direction.value: direction for direction in Direction}


class Listener:
    """Takes what a pass reads, in the order of the frames."""

    def note(self, event: RecordedEvent) -> None:
        """Takes an event, before the frames after it.

        Args:
            event: the event.
        """

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Takes a frame, or a run of pieces.

        Args:
            run: the frame, or the run that it begins.
            message: its message.
            transition: the changes that it made.
        """


class MessagePass:
    """Reads the frames of a recording and feeds them to a connection.

    Args:
        reader: the recording.
        first: the turn to begin with, at its prompt; None for the start of the recording.
        dialect: the dialect to read it in; None for that of the recording.
    """

    def __init__(
        self, reader: RecordingReader, first: TurnRow | None = None, dialect: str | None = None
    ) -> None:
        recording, state = reader.recording, State()
        if first is not None:
            state.next_turn = first.id
        self.connection = Connection(state, dialect or recording.dialect or "auto")
        """Its state is that after the last frame that was yielded."""
        self.intervals = Intervals(self.connection)
        """Who had to act, and how turns spent their time, up to where `play_to` has read."""
        self.events = [*read_events(reader)]
        """All events of the recording."""
        self._frames_ns = self._events_ns = 0
        self._reader = reader
        self._first = 0 if first is None else first.prompt_seq
        self._opened_before = opened_before(recording)
        self._loading: dict[str | None, dict[int, int]] = {}
        """The pending requests that reopen each session, by exchange."""
        self._loaded_by: dict[int, str | None] = {}
        """The sessions of these exchanges; the answer to a fork names another session."""

    def play_to(
        self,
        listeners: Sequence[Listener],
        pause_ns: int,
        watch: Watch = iter,
        single_upto: int = 0,
    ) -> None:
        """Reads all frames, and has the intervals and then each listener take them.

        Events are noted by the listeners, and then by the intervals.

        Args:
            listeners: who takes them, in this order.
            pause_ns: as for `read`.
            watch: as for `read`.
            single_upto: as for `read`.
        """
        follow, takers = self.intervals.take, [listener.take for listener in listeners]
        coming = deque(self.events)
        for run, message, transition in self.read(pause_ns, watch, single_upto):
            while coming and coming[0].seq < run.seq:
                self._note(listeners, coming.popleft())
            for member, change in messages_of(message, transition):
                follow(run, member, change)
            for take in takers:
                take(run, message, transition)
            self._frames_ns = run.last_ns
        for event in coming:
            self._note(listeners, event)

    def _note(self, listeners: Iterable[Listener], event: RecordedEvent) -> None:
        for listener in listeners:
            listener.note(event)
        self.intervals.note(event)
        self._events_ns = max(self._events_ns, event.t_ns)

    @property
    def end_ns(self) -> int:
        """The time of the last frame or event that `play_to` has read."""
        return max(self._frames_ns, self._events_ns)

    def read(
        self, pause_ns: int, watch: Watch = iter, single_upto: int = 0
    ) -> Iterator[tuple[FrameRun, Message, Transition]]:
        """Yields each frame, or the first of each run, with its message and its transition.

        Args:
            pause_ns: a longer time between two frames ends a run.
            watch: is given all runs, and passes them on.
            single_upto: the number up to which each frame is a run by itself.
        """
        feed = self.connection.feed
        nothing, no_message = Transition(), read(b"")
        for run in watch(self._runs(pause_ns, single_upto)):
            direction = _DIRECTIONS.get(run.stream)
            if direction is None:
                yield run, no_message, nothing
                continue
            message = self._outline(run.seq) if run.raw is None else read(run.raw)
            transition = feed(run.seq, run.t_ns, direction, message)
            if message.kind is not Kind.NOTIFICATION:
                for _, change in messages_of(message, transition):
                    self._follow_loading(change)
            yield run, message, transition

    def is_history(self, seq: int, session: str | None) -> bool:
        """Whether an update outside of turns repeats the history of a session.

        Args:
            seq: the number of its frame, which was yielded last.
            session: the session.
        """
        if self.history_seq(session) is not None:
            return True
        return seq < self._opened_before and session not in self.connection.state.sessions

    def history_seq(self, session: str | None) -> int | None:
        """Returns the number of the pending request that reopens a session, or None."""
        return next(iter(self._loading.get(session, {}).values()), None)

    def _follow_loading(self, transition: Transition) -> None:
        if (asked := transition.opened) is not None and asked.method in HISTORY:
            if asked.direction == Direction.TO_AGENT:
                self._loading.setdefault(asked.session, {})[asked.id] = asked.request_seq
                self._loaded_by[asked.id] = asked.session
        elif (answered := transition.answered) is not None and answered.id in self._loaded_by:
            del self._loading[self._loaded_by.pop(answered.id)][answered.id]

    def _runs(self, pause_ns: int, single_upto: int) -> Iterator[FrameRun]:
        """Reads runs; their times are 0 if the times between frames are not known."""
        runs = self._reader.runs(pause_ns, self._first, single_upto)
        has_times = self._reader.recording.knows("durations")
        return runs if has_times else (run._replace(t_ns=0, last_ns=0) for run in runs)

    def _outline(self, seq: int) -> Message:
        """Reads the header of a line that is too large to be held."""
        from acp_proxy.protocol.outline import read_outline  # late: few lines are so large

        head = tail = b""
        for piece in self._reader.pieces(seq):
            head += piece[: LINE_EDGE - len(head)]
            tail = (tail + piece)[-LINE_EDGE:]
        return read_outline(head, tail)


def messages_of(message: Message, transition: Transition) -> Iterable[tuple[Message, Transition]]:
    """Returns the messages of a batch, or else the message itself, each with its transition.

    Args:
        message: a message or a batch.
        transition: its transition.
    """
    if message.members:
        return zip(message.members, transition.members, strict=True)
    return ((message, transition),)


def opened_before(recording: Recording) -> int:
    """Returns the number up to which updates outside of turns may be a session's history.

    If the start of a log is missing, the request that opened a session may be missing too. The
    session's history then ends at the answer, if the log names the method that it answers. If the
    log has the answer to a missing prompt, the updates may belong to that turn, so none is history.

    Args:
        recording: the recording.

    Returns:
        The number of the answer; 0 if there is none.
    """
    if recording.origin is None:
        return 0
    named = recording.origin.named_answers
    if any(answer.method == PROMPT for answer in named):
        return 0
    return max((answer.seq for answer in named if answer.method in HISTORY), default=0)
