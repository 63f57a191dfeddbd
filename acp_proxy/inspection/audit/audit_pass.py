"""Reads all frames of a recording once, for an audit."""

from collections.abc import Collection

from acp_proxy.inspection.audit.actions import ActionLog, Moment
from acp_proxy.inspection.audit.sessions import SessionLog
from acp_proxy.inspection.describe.values import HEAD, Value, message_of, part
from acp_proxy.inspection.diagnosis.messages import read_messages
from acp_proxy.inspection.message_pass import PAUSE_NS, MessagePass, Watch, messages_of
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import FORK, OPENING, PERMISSION
from acp_proxy.protocol.effects import ClientEffect, effect_of
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.updates import UPDATE, kind_and_update
from acp_proxy.recording import FrameRun, read_time
from acp_proxy.store.reader import RecordingReader

_TO_CLIENT = "to-client"
_TERMINAL_UPDATE = "terminal_update"
_ABOUT_TERMINALS = (
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)
_HARMLESS = (ClientEffect.ASKS, ClientEffect.INFORMS)


class AuditPass:
    """Reads a recording and collects its sessions and its actions.

    Args:
        reader: the recording.
        made_up: the numbers of frames that a fault added.

    Attributes:
        sessions: the sessions; complete after `read`.
        log: the actions; complete after `read`.
    """

    def __init__(self, reader: RecordingReader, made_up: Collection[int] = ()) -> None:
        self._reader = reader
        self._made_up = made_up
        self._messages = MessagePass(reader)
        self._connection = self._messages.connection
        self.sessions = SessionLog()
        started_at = read_time(reader.recording.started_at)
        self.log = ActionLog(self._connection, self.sessions, started_at)

    def read(self, watch: Watch = iter) -> None:
        """Reads all frames.

        Args:
            watch: yields the runs of frames that it is given, and may show the progress.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        self._messages.play_to([self], PAUSE_NS, watch)

    def take(self, run: FrameRun, message: Message, done: Transition) -> None:
        """Takes a frame, or a run of pieces.

        Args:
            run: the frame, or the run of which it is the first.
            message: its message.
            done: what that has changed.
        """
        if run.kind == "stderr":
            return
        for one, its_done in messages_of(message, done):
            self._take(run, one, its_done)

    def _take(self, run: FrameRun, message: Message, done: Transition) -> None:
        if message.kind is Kind.NOTIFICATION:
            if message.method == UPDATE and run.stream == _TO_CLIENT:
                self._take_update(run, message, done)
        elif done.opened is not None:
            if run.stream == _TO_CLIENT:
                self._take_request(run, message, done)
            elif message.method in OPENING:
                session = None if message.method == FORK else done.session
                params = part(self._value(run, message), "params")
                self.sessions.asked(done.opened.id, run.seq, session, params)
        elif (exchange := done.answered) is not None:
            if run.stream != _TO_CLIENT:
                value = self._value(run, message)
                self.log.take_answer(_moment(run, done), exchange, value)
            elif exchange.method in OPENING:
                is_result = message.kind is Kind.RESPONSE
                result = part(self._value(run, message), "result") if is_result else None
                self.sessions.answered(exchange.id, done.session, result)

    def _take_update(self, run: FrameRun, message: Message, done: Transition) -> None:
        is_terminal = message.update == _TERMINAL_UPDATE and message.terminal is not None
        if done.tool_call is None and not is_terminal:
            return
        if done.turn is None and self._messages.is_history(run.seq, done.session):
            return
        _, update = kind_and_update(part(self._value(run, message), "params"))
        moment = _moment(run, done)
        if done.tool_call is None:
            self.log.take_terminal(moment, update)
        elif message.update == "tool_call_content_chunk":  # v2 streams one item of the content
            self.log.take_update(moment, done.tool_call, {"content": [update.get("content")]})
        else:
            begins = done.begins_call
            self.log.take_update(moment, done.tool_call, update, begins=begins)

    def _take_request(self, run: FrameRun, message: Message, done: Transition) -> None:
        exchange = done.opened
        assert exchange is not None
        method = message.method or ""
        if method in _ABOUT_TERMINALS:
            return
        params = part(self._value(run, message), "params")
        action = None
        if method == PERMISSION:
            begins = done.begins_call
            action = self.log.take_permission(_moment(run, done), exchange, params, begins=begins)
        elif effect_of(method, self._connection.dialect) not in _HARMLESS:
            action = self.log.take_request(_moment(run, done), exchange, params)
        if action is not None and run.seq in self._made_up:
            action.not_from_agent = True

    def _value(self, run: FrameRun, message: Message) -> Value:
        """Returns a decoded message; of a very large message, only the beginning."""
        if message.raw is not None:
            return message_of(message.raw)
        stored = next(read_messages(self._reader, [run.seq], HEAD), None)
        return {} if stored is None else stored.message


def _moment(run: FrameRun, done: Transition) -> Moment:
    return Moment(run.seq, run.t_ns, done.session, done.turn)
