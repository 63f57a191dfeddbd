"""Feeds the messages of a recording to the state machine of a connection, in one pass.

Listeners receive the messages: `show` counts them, `audit` collects actions, and `stats` finds the
first chunk of each turn. The intervals determine who has to act, and how turns spend their time. A
report runs one pass for all listeners.

Most frames are pieces of streamed messages. For speed, `show`, `audit` and `stats` read only the
first piece of a message that is streamed without a pause.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.explain.intervals import Intervals
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State, Transition
from acp_proxy.protocol.dialects import OPENING, PROMPT
from acp_proxy.protocol.jsonrpc import Direction, Message, read
from acp_proxy.recording.recording import FrameRun, RecordedEvent, Recording
from acp_proxy.store.queries.exchanges import TurnRow
from acp_proxy.store.queries.recorded_events import events as read_events
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterator[FrameRun]], Iterator[FrameRun]]
"""A function that yields runs of frames unchanged, and may show the progress of the pass."""
PAUSE_NS = 10**8
"""The longest pause within a run of pieces, for listeners that need not read each frame."""

HISTORY = OPENING[1:]
"""Methods that reopen a session. Before the answer, the agent sends the session's history."""
_AHEAD, _RUN_SIZE = 1 << 18, 1 << 10
"""Lines are parsed together up to `_AHEAD` bytes. Each run counts as `_RUN_SIZE` bytes more than
its line."""
_DIRECTIONS = {direction.value: direction for direction in Direction}


class Listener:
    """Receives the messages and events of a pass, in the order of their numbers."""

    def note(self, event: RecordedEvent) -> None:
        """Receives an event.

        Args:
            event: the next event of the recording.
        """

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Receives a frame, or a run of frames that are pieces of one message.

        Args:
            run: the frame, or the run of frames.
            message: the message of the first frame.
            transition: the changes that this message made to the state of the connection.
        """


class MessagePass:
    """Reads the frames of a recording and feeds them to a connection.

    Args:
        reader: the recording.
        first: the first turn to read, from its prompt on; None to read from the start of the
            recording.
        dialect: the dialect of the messages; None for the dialect that the recording names.
    """

    def __init__(
        self, reader: RecordingReader, first: TurnRow | None = None, dialect: str | None = None
    ) -> None:
        recording, state = reader.recording, State()
        if first is not None:
            state.next_turn = first.id
        self.connection = Connection(state, dialect or recording.dialect or "auto")
        """The connection, in its state after the frame that was yielded last."""
        self.intervals = Intervals(self.connection)
        """Who had to act, and how turns spent their time, as far as `play_to` has read."""
        self.events = [*read_events(reader)]
        """All events of the recording."""
        self.end_ns = 0
        """The time of the last frame or event that `play_to` has read, in nanoseconds."""
        self._reader = reader
        self._first = 0 if first is None else first.prompt_seq
        self._upto = 0
        """The number of the last frame or event that `play_to` has read."""
        self._opened_before = opened_before(recording)
        self._loading: dict[str | None, dict[int, int]] = {}
        """For each session, its open ``session/load`` and ``session/resume`` requests: the number
        of each request's frame, by exchange."""
        self._loaded_by: dict[int, str | None] = {}
        """For each request in `_loading`, by exchange: the session that its params name."""

    def play_to(
        self,
        listeners: Sequence[Listener],
        pause_ns: int,
        watch: Watch = iter,
        single_upto: int = 0,
    ) -> None:
        """Reads all frames and events, and passes each one to the intervals and to the listeners.

        While the recorder still runs, this may be called again for new frames and events.

        Args:
            listeners: the listeners, in the order in which they receive each frame.
            pause_ns: the longest time between two frames of a run, in nanoseconds.
            watch: a function that yields all runs unchanged, and may show the progress.
            single_upto: frames up to this number are never joined into runs.
        """
        follow, takers = self.intervals.take, [listener.take for listener in listeners]
        if self._reader.live:
            self.events = [*read_events(self._reader)]
        coming = deque(event for event in self.events if event.seq > self._upto)
        for run, message, transition in self.read(pause_ns, watch, single_upto):
            seq, _, _, _, _, self._upto, last_ns = run
            while coming and coming[0].seq < seq:
                self._note(listeners, coming.popleft())
            follow(run, message, transition)
            for take in takers:
                take(run, message, transition)
            if last_ns > self.end_ns:
                self.end_ns = last_ns
        for event in coming:
            self._note(listeners, event)
        self._upto = max([self._upto, *(event.seq for event in self.events)])
        self._first = max(self._first, self._upto + 1)
        self.end_ns = max([self.end_ns, *(event.t_ns for event in self.events)])

    def _note(self, listeners: Iterable[Listener], event: RecordedEvent) -> None:
        for listener in listeners:
            listener.note(event)
        self.intervals.note(event)

    def read(
        self, pause_ns: int, watch: Watch = iter, single_upto: int = 0
    ) -> Iterator[tuple[FrameRun, Message, Transition]]:
        """Yields each run of frames, the run's first message, and what the message changed.

        The changes are made to the state of the connection. A frame that continues no message is a
        run of its own.

        Args:
            pause_ns: the longest time between two frames of a run, in nanoseconds.
            watch: a function that yields all runs unchanged, and may show the progress.
            single_upto: frames up to this number are never joined into runs.
        """
        feed = self.connection.feed
        nothing, no_message = Transition(), read(b"")
        for run, message in _read_ahead(watch(self._runs(pause_ns, single_upto))):
            seq, t_ns, stream, _, raw, _, _ = run  # faster than reading each field
            direction = _DIRECTIONS.get(stream)
            if direction is None:
                yield run, no_message, nothing
                continue
            if raw is None:
                message = self._outline(seq)
            transition = feed(seq, t_ns, direction, message)
            if transition.method in HISTORY or message.members:
                for change in transition.members or (transition,):
                    self._follow_loading(change)
            yield run, message, transition

    def is_history(self, seq: int, session: str | None) -> bool:
        """Whether an update outside of turns repeats the history of a session.

        Args:
            seq: the number of the update's frame, which must be the frame that was yielded last.
            session: the session of the update.
        """
        if self.history_seq(session) is not None:
            return True
        return seq < self._opened_before and session not in self.connection.state.sessions

    def history_seq(self, session: str | None) -> int | None:
        """Returns the frame number of the open request that loads or resumes a session, or None."""
        return next(iter(self._loading.get(session, {}).values()), None)

    def _follow_loading(self, transition: Transition) -> None:
        if (asked := transition.opened) is not None:
            if asked.method in HISTORY and asked.direction == Direction.TO_AGENT:
                self._loading.setdefault(asked.session, {})[asked.id] = asked.request_seq
                self._loaded_by[asked.id] = asked.session
        elif (answered := transition.answered) is not None and answered.id in self._loaded_by:
            del self._loading[self._loaded_by.pop(answered.id)][answered.id]

    def _runs(self, pause_ns: int, single_upto: int) -> Iterator[FrameRun]:
        """Reads runs. If the times of frames are not known, the times of runs are 0."""
        runs = self._reader.runs(pause_ns, self._first, single_upto)
        has_times = self._reader.recording.knows("durations")
        return runs if has_times else (run._replace(t_ns=0, last_ns=0) for run in runs)

    def _outline(self, seq: int) -> Message:
        """Reads the kind, method and ids of a message whose line is too large for memory."""
        from acp_proxy.protocol.outline import read_outline  # imported late: few lines are so large

        head = tail = b""
        for piece in self._reader.pieces(seq):
            head += piece[: LINE_EDGE - len(head)]
            tail = (tail + piece)[-LINE_EDGE:]
        return read_outline(head, tail)


def _read_ahead(runs: Iterable[FrameRun]) -> Iterator[tuple[FrameRun, Message]]:
    """Yields each run with the message of its first line. A missing line is read as a blank line.

    Many lines are parsed at once, for speed.
    """
    group, size = list[FrameRun](), 0
    for run in runs:
        group.append(run)
        size += _RUN_SIZE + len(run[4] or b"")
        if size > _AHEAD:
            yield from zip(group, [read(run[4] or b"") for run in group], strict=True)
            group, size = [], 0
    yield from zip(group, [read(run[4] or b"") for run in group], strict=True)


def messages_of(message: Message, transition: Transition) -> Iterable[tuple[Message, Transition]]:
    """Returns the messages of a batch, or the only message, each with the changes that it made.

    Args:
        message: a message or a batch.
        transition: the changes that the message or the batch made to the state of the connection.
    """
    if message.members:
        return zip(message.members, transition.members, strict=True)
    return ((message, transition),)


def opened_before(recording: Recording) -> int:
    """Returns the number of the frame before which updates may repeat a session's history.

    An imported log may contain an answer without its request. If the request loaded or resumed a
    session, updates before the answer may be history.

    Args:
        recording: the recording.

    Returns:
        The number of the last answer to such a request; 0 if there is none. Also 0 if the
        recording contains the answer to a prompt, but not the prompt.
    """
    if recording.origin is None:
        return 0
    named = recording.origin.named_answers
    if any(answer.method == PROMPT for answer in named):
        return 0
    return max((answer.seq for answer in named if answer.method in HISTORY), default=0)
