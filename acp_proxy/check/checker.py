"""Reads a recording once and calls every rule for each message."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from acp_proxy.base.limits import LAST_NUMBER, LONG_LIST
from acp_proxy.base.wording import counted, plain
from acp_proxy.check.catalogue import rules as catalogue
from acp_proxy.check.catalogue import unchecked_rules
from acp_proxy.check.check_values import (
    SEVERITIES,
    Breach,
    ConformanceResult,
    Rule,
    RuleCount,
    Severity,
    UncheckedRules,
    note_of,
    worst_first,
)
from acp_proxy.check.checked_message import AGENT, CLIENT, SENDERS, CheckedMessage, checked
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.conversation_changes import follow
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.conversation.unpaired_messages import follow_odd
from acp_proxy.check.registry import ANY, AT_END, AT_TURN_END, Registered, RulePlan, RulePlans
from acp_proxy.check.rules import load
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.message_pass import Listener, MessagePass, Watch, messages_of
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import PROMPT, V1
from acp_proxy.protocol.json_text import member, parts_of
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import FrameRun, RecordedEvent, Recording
from acp_proxy.redaction.markers import MARKER
from acp_proxy.redaction.private_text import is_blanked
from acp_proxy.store.queries.fired_faults import touched_frames
from acp_proxy.store.queries.frames import number_after, stderr_lines_with, unterminated_frames
from acp_proxy.store.queries.recorded_events import is_agent_leaving, is_client_ending
from acp_proxy.store.reader import RecordingReader

_QUICK_NS = 20 * 10**9
"""While a request other than a prompt is open, a silence of this many nanoseconds counts as a
hang."""
_DIRECTIONS = {direction.value: direction for direction in Direction}
_TO_CLIENT = Direction.TO_CLIENT
_REQUEST, _NOTIFICATION = Kind.REQUEST, Kind.NOTIFICATION
_RESPONSE, _ERROR = Kind.RESPONSE, Kind.ERROR
_MESSAGES = (_REQUEST, _NOTIFICATION, _RESPONSE, _ERROR)


class Checker(Listener):
    """Checks one recording.

    Args:
        reader: the recording.
        dialect: the dialect whose rules apply; None for the dialect of the recording.
        chosen: the rules to check; None for all.
        messages: a pass over the messages; the pass may also have other listeners. None for a new
            pass.
        most: the largest number of frames to check; None for all. If frames remain, rules about the
            end of the conversation are not checked.
    """

    def __init__(
        self,
        reader: RecordingReader,
        dialect: str | None = None,
        chosen: Collection[str] | None = None,
        *,
        messages: MessagePass | None = None,
        most: int | None = None,
    ) -> None:
        recording = reader.recording
        self._reader = reader
        self._dialect = dialect or recording.dialect
        self.messages = messages or MessagePass(reader, dialect=self._dialect)
        self._most = most
        self._conversation = Conversation(self.messages.connection, self._dialect)
        self._touched = touched_frames(reader)
        self._is_private = recording.redaction == "private"
        unchecked = unchecked_rules(recording.origin, is_private=self._is_private)
        skipped = {*chain.from_iterable(item.rules for item in unchecked)}
        if not recording.knows("start", "middle"):
            self._conversation.begin_partially()
        # If the dialect is unknown, the rules of v1 apply.
        known = [rule for rule in catalogue().values() if (self._dialect or V1) in rule.dialects]
        self._rules = {
            rule.id: rule
            for rule in known
            if (chosen is None or rule.id in chosen) and rule.id not in skipped
        }
        load()
        self._plans = RulePlans(self._rules, self._dialect)
        self._at_turn_end = [item for item in AT_TURN_END if item[0] in self._rules]
        self._at_end = [item for item in AT_END if item[0] in self._rules]
        self._result = ConformanceResult(
            self._dialect,
            "forced by --dialect" if dialect else recording.dialect_reason,
            notes=_unchecked_note(recording, unchecked, sum(rule.id in skipped for rule in known)),
            unchecked=unchecked,
        )
        self._counts: dict[tuple[str, str | None], RuleCount] = {}
        self._conversation.messages_on_stderr = stderr_lines_with(reader, b'"jsonrpc"')
        self._conversation.cut_lines = [
            (seq, SENDERS[_DIRECTIONS[stream]])
            for seq, stream in unterminated_frames(reader)
            if stream in _DIRECTIONS
        ]

    @property
    def single_upto(self) -> int:
        """The number of the last frame that must be read by itself, not in a run of frames."""
        beyond = None if self._most is None else number_after(self._reader, self._most)
        return LAST_NUMBER if beyond is None else beyond

    def read(self, watch: Watch = iter) -> ConformanceResult:
        """Reads all frames.

        Args:
            watch: a function that yields all frames unchanged, and may show the progress.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        self.messages.play_to([self], -1, watch)
        return self.finish()

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Checks a frame, or a run of frames. The frames up to `single_upto` come one by one.

        Args:
            run: the frame, or the run of frames that begins with it.
            message: the message of the frame.
            transition: the change that the message caused in the state of the connection.
        """
        if not self._result.is_whole or run.kind == "stderr" or run.stream not in _DIRECTIONS:
            return
        if self._result.frames == self._most:
            self._result.is_whole = False
            return
        self._result.frames += 1
        self._result.last_seq = run.seq
        self._take_frame(run, message, transition)

    @property
    def broken(self) -> list[Finding]:
        """The findings so far. Findings about frames that a fault changed are left out."""
        touched = touched_frames(self._reader)
        return [item for item in self._result.findings if touched.isdisjoint(item.seqs)]

    def finish(self) -> ConformanceResult:
        """Applies the rules about the end of the conversation, and returns the result."""
        if self._result.is_whole:
            self._end(self.messages.end_ns)
        self._result.findings.sort(key=lambda item: item.seq)
        self._result.counts = worst_first(self._counts.values())
        return self._result

    def note(self, event: RecordedEvent) -> None:
        """Notes an event. The caller must call this before `messages.intervals.note`."""
        if not self._result.is_whole:
            return
        if is_client_ending(event):
            self._conversation.peer_left(CLIENT, self._hung(event.t_ns))
        elif is_agent_leaving(event):
            self._conversation.peer_left(AGENT, self._hung(event.t_ns))
        if event.kind == "eof" and (ended := _DIRECTIONS.get(event.data.get("stream", ""))):
            self._conversation.ended_streams[ended] = event.seq
        # After these, frames are missing in the recording.
        if event.kind == "gap" or event.data.get("action") in ("unrecorded", "damaged"):
            self._conversation.has_gap = True

    def _hung(self, t_ns: int) -> list[int]:
        """Returns the frames of open requests whose receiver has been silent for too long."""
        return [
            wait.request.seq
            for wait in self.messages.intervals.open(t_ns)
            if wait.is_hang()
            or (wait.request.method != PROMPT and (wait.silent_ns or 0) >= _QUICK_NS)
        ]

    def _take_frame(self, run: FrameRun, message: Message, transition: Transition) -> None:
        direction = _DIRECTIONS[run.stream]
        if run.raw is None and len(self._result.unread) < LONG_LIST:
            self._result.unread.append(run.seq)
        line = checked(run.seq, run.t_ns, direction, message, transition)
        if message.kind not in _MESSAGES:
            self._apply(line, self._plans.find("odd line", ANY))
        self._apply(line, self._plans.find("line", ANY))
        for part, its_done in messages_of(message, transition):
            is_line = part is message
            taken = line if is_line else checked(run.seq, run.t_ns, direction, part, its_done)
            if not taken.is_plain:
                self._apply(taken, self._plans.find("odd object", ANY))
            self._take_message(taken)

    def _take_message(self, message: CheckedMessage) -> None:
        kind, method = message.parsed.kind, message.transition.method or ""
        if kind is _REQUEST:
            plan = self._plans.find("request", method, message.direction)
        elif kind is _NOTIFICATION:
            trigger, name = "notification", method
            if method == UPDATE and message.direction is _TO_CLIENT:
                trigger, name = "update", message.update_kind or method
            plan = self._plans.find(trigger, name, message.direction)
        elif kind is _RESPONSE or kind is _ERROR:
            message.request = self._conversation.request_of(message)
            plan = self._plans.find("result" if kind is _RESPONSE else "error", method)
        else:
            follow_odd(self._conversation, message)
            return
        self._apply(message, plan)
        last = self._plans.find("last", ANY)
        if last.always and not self._conversation.is_of_its_type(message):
            self._apply(message, last)
        for ended in follow(self._conversation, message):
            self._apply_to_turn(ended, message)

    def _apply(self, message: CheckedMessage, plan: RulePlan) -> None:
        conversation = self._conversation
        self._call(message, plan.always)
        for condition, entries in plan.conditional:
            if condition(message, conversation):
                self._call(message, entries)

    def _call(self, message: CheckedMessage, entries: Sequence[Registered]) -> None:
        has_gap = self._conversation.has_gap
        for entry in entries:
            if has_gap and not entry.is_alone:
                continue
            for breach in entry.function(message, self._conversation) or ():
                if breach.place is not None:
                    message.broken.append(breach.place)
                    # Masking a text keeps its type, so rules about types still apply.
                    is_of_value = not entry.rule.startswith("rpc.")
                    if is_of_value and self._is_masked(message.value, breach.place):
                        continue
                self._add(entry.rule, breach, message)

    def _is_masked(self, value: Any, place: str) -> bool:
        """Whether a value is masked, so that rules cannot judge the value."""
        for part in parts_of(place):
            value = value[int(part)] if isinstance(value, list) else member(value, part)
        if not isinstance(value, str):
            return False
        return MARKER.search(value) is not None or (self._is_private and is_blanked(value))

    def _apply_to_turn(self, ended: EndedTurn, message: CheckedMessage) -> None:
        if self._conversation.has_gap:
            return
        for rule_id, function in self._at_turn_end:
            for breach in function(ended, self._conversation):
                self._add(rule_id, breach, message)

    def _end(self, last_ns: int) -> None:
        conversation, recording = self._conversation, self._reader.recording
        is_over = not self._reader.live and recording.state != "incomplete"
        conversation.end(self._hung(last_ns), is_over=is_over and recording.knows("ending"))
        if (note := note_of(conversation.client.announced or {})) is not None:
            self._result.notes.append(note)
        if conversation.has_gap:
            note = "frames are missing; after the gap only rules about single messages were checked"
            self._result.notes.append(note)
            return
        for rule_id, function in self._at_end:
            for breach in function(conversation):
                self._add(rule_id, breach, None)

    def _add(self, rule_id: str, breach: Breach, message: CheckedMessage | None) -> None:
        rule: Rule = self._rules[rule_id]
        seq = breach.seq if breach.seq is not None else (message.seq if message is not None else 0)
        if not self._touched.isdisjoint((seq, *breach.related)):
            self._result.by_faults += 1
            return
        by = breach.by or (message.sender if message is not None else rule.by)
        if rule.by not in (by, "either"):
            return  # another rule reports that the wrong side has sent this method
        severity: Severity = breach.severity or rule.severity
        if breach.explains:
            self._take_back(breach, {seq, *breach.related})
        count = self._counts.setdefault((rule_id, by), RuleCount(rule_id, by, severity, 0))
        count.count += 1
        if SEVERITIES.index(severity) < SEVERITIES.index(count.severity):
            count.severity = severity
        if count.count > LONG_LIST:
            return
        about = message if message is not None and seq == message.seq else None
        finding = Finding(
            rule=rule_id, severity=severity, by=by, seq=seq, text=plain(breach.text),
            related=breach.related, place=breach.place,
            method=None if about is None else about.method,
            session=None if about is None else about.session,
            turn=None if about is None else about.transition.turn,
        )  # fmt: skip
        self._result.findings.append(finding)

    def _take_back(self, breach: Breach, seqs: set[int]) -> None:
        """Removes the earlier findings that a new breach explains.

        Args:
            breach: the new breach.
            seqs: the frames whose findings are removed.
        """
        every = self._result.findings
        explained = [f for f in every if f.rule in breach.explains and f.seq in seqs]
        for finding in explained:
            every.remove(finding)
            count = self._counts[finding.rule, finding.by]
            count.count -= 1
            if not count.count:
                del self._counts[finding.rule, finding.by]


def _unchecked_note(
    recording: Recording, unchecked: Sequence[UncheckedRules], count: int
) -> list[str]:
    if not count:
        return []
    reasons = ", ".join(rules.reason for rules in unchecked)
    what = f"{counted(count, 'rule')} cannot be checked, since {reasons}"
    return [what if recording.origin is None else f"imported from {recording.origin.title}: {what}"]
