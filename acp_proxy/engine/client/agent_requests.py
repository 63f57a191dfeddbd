"""Takes what the agent asks of its client: the recorded answer will do, or there is none.

Nothing is read from a disk, nothing is written there and nothing is run.
"""

from collections.abc import Iterator
from typing import Any

from attrs import define

from acp_proxy.commands import Command
from acp_proxy.engine.client.default_replies import cancelled, content, denied, refusal
from acp_proxy.engine.client.known_files import READ, Files, is_whole, part
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import member, params_of, recorded, recorded_request
from acp_proxy.engine.client.request_matching import Found, Matching
from acp_proxy.engine.client.state import Asked, Stage
from acp_proxy.engine.shared.divergence import DivergenceKind, NearMiss
from acp_proxy.engine.shared.steps import PERMISSION
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.splice import Place


@define
class _Held:
    """A request of a session that has no name yet."""

    message: Message
    raw: bytes
    line: int


class AgentRequests:
    """Takes requests.

    Args:
        stage: what is known.
        files: what is known of files.
    """

    def __init__(self, stage: Stage, files: Files) -> None:
        self._stage = stage
        self._files = files
        self._matching = Matching(stage)
        self._held: list[_Held] = []
        self._recorded_files: dict[str, str] | None = None

    def take(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a request; one of a session that may yet get that name is held back."""
        if message.session is None:
            yield from self._take(message, raw, at, None, self._stage.lines)
            return
        lane = self.lane_of(message.session)
        if lane is None and self._stage.opening:
            self._held.append(_Held(message, raw, self._stage.lines))
            return
        lane = lane or self._stage.recording.lanes[None]
        yield from self._take(message, raw, at, lane, self._stage.lines)

    def release(self, at: int) -> Iterator[Command]:
        """Takes what was held back, as far as it is known now whose it is."""
        held, self._held = self._held, []
        for one in held:
            lane = self.lane_of(one.message.session)
            if lane is None and self._stage.opening:
                self._held.append(one)
            else:
                lane = lane or self._stage.recording.lanes[None]
                yield from self._take(one.message, one.raw, at, lane, one.line)

    def lane_of(self, session: str | None) -> ClientLane | None:
        """The lane of a live session; None while it is unknown.

        A name that comes while one session is being made is that one's. What names none is of the
        lane in which somebody spoke last.
        """
        if session is None:
            return self._stage.last
        if (lane := self._stage.by_session.get(session)) is not None:
            return lane
        if len(self._stage.opening) == 1:
            lane = self._stage.opening[0].lane
            self._stage.bind(lane, session)
            return lane
        return None

    def _take(
        self, message: Message, raw: bytes, at: int, lane: ClientLane | None, line: int
    ) -> Iterator[Command]:
        value = json_or_none(raw)
        found = self._matching.find(message, value, lane)
        if found is not None and not self._grants_too_much(found, value):
            scope = self._stage.leave.live(value) if message.method == PERMISSION else None
            asked = Asked(found.question, message.rpc_id or "null", raw, at, scope)
            self._stage.ask(asked, at)
            self._matching.note_made(found.question)
            return
        lane = lane or self._stage.last
        if message.method == READ and (text := self._known(value)) is not None:
            path = params_of(value).get("path")
            summary = f"the agent read {path}, and not so in the recording; it got what is known"
            self._stage.divergences.note(
                DivergenceKind.SERVED, lane, summary, at, line=line, came=raw
            )
            yield content(message.rpc_id, part(text, params_of(value)))
        elif message.method == PERMISSION and lane.is_cancelled:
            summary = "the agent asked for permission in a turn that was cancelled"
            self._stage.divergences.note(
                DivergenceKind.LATE, lane, summary, at, line=line, came=raw
            )
            yield cancelled(message.rpc_id, value)
        elif found is not None:
            self._stage.refused += 1
            self._note_divergence(found, value, raw, at, line)
            if found.verdict.is_vague:  # it was made, and nobody need wait for it
                found.question.is_made = True
                self._matching.note_made(found.question)
            yield denied(message.rpc_id, value)
        else:
            yield from self._refuse(message, raw, at, lane, line)

    def _grants_too_much(self, found: Found, value: Any) -> bool:
        """Whether the recorded answer gives leave, and was not given for what is asked now."""
        if found.question.ask.method != PERMISSION or found.verdict.is_same:
            return False
        reply = self._stage.recording.replies.get(found.question.ask.exchange)
        if reply is None:
            return False
        answer = recorded(self._stage.recording.script, reply.step)
        offered = options_of(self._matching.request(found.question))
        if not read_answer(offered, answer).may_allow:
            return False
        is_taken_at_its_title = (
            self._stage.options.lenient
            and found.verdict.is_vague
            and self._stage.leave.are_called_alike(found.question, value)
        )
        return not is_taken_at_its_title

    def _note_divergence(self, found: Found, value: Any, raw: bytes, at: int, line: int) -> None:
        """Tells that leave is asked for something else, or for nobody knows what."""
        question, leave = found.question, self._stage.leave
        seq = question.step.seq
        old, new = leave.recorded_title(question), leave.title(value)
        if found.verdict.is_vague:
            summary = (
                f"the agent asked leave for {new} and did not say what it does to what, so that"
                f" nobody can tell whether #{seq} allowed it; it was rejected"
            )
        else:
            summary = (
                f"the agent asked leave for {new}, and what was allowed is {old} #{seq}; it was"
                " rejected"
            )
        self._stage.divergences.note(
            DivergenceKind.PERMISSION_DIFFERS,
            self._stage.recording.lanes[question.step.lane],
            summary,
            at,
            seq=seq,
            line=line,
            came=raw,
            differences=found.verdict.differences,
        )

    def _refuse(
        self, message: Message, raw: bytes, at: int, lane: ClientLane, line: int
    ) -> Iterator[Command]:
        value = json_or_none(raw)
        self._stage.refused += 1
        is_permission = message.method == PERMISSION
        what = f"{message.method}{_subject(value)}"
        of = lane if message.session else None
        used = self._matching.used_up(message, value, of)
        misses: tuple[NearMiss, ...]
        if used is not None:
            kind, summary = (
                DivergenceKind.EXHAUSTED,
                f"the agent asked {what} more often than recorded",
            )
            misses = (used,)
        else:
            kind = DivergenceKind.PERMISSION_DIFFERS if is_permission else DivergenceKind.UNMATCHED
            summary = f"the agent asked {what}, which was not recorded"
            misses = self._matching.near_misses(message, value, of)
        divergence = self._stage.divergences.note(
            kind,
            lane,
            summary,
            at,
            seq=misses[0].seq if misses else None,
            line=line,
            came=raw,
            near_misses=misses,
        )
        if is_permission:
            yield denied(message.rpc_id, value)
        else:
            yield refusal(message.rpc_id, divergence)

    def _known(self, value: Any) -> str | None:
        """What a file holds as far as anybody has said so."""
        path = params_of(value).get("path")
        if not isinstance(path, str):
            return None
        if (text := self._files.content(path)) is not None:
            return text
        if self._recorded_files is None:
            self._recorded_files = self._read_recorded()
        return self._recorded_files.get(path)

    def _read_recorded(self) -> dict[str, str]:
        """What the recorded client said of files, which is looked up at the first need."""
        found: dict[str, str] = {}
        script = self._stage.recording.script
        for lane in self._stage.recording.lanes.values():
            for question in lane.questions.of(READ):
                reply = self._stage.recording.replies.get(question.ask.exchange)
                if reply is None:
                    continue
                params = params_of(recorded_request(script, question))
                path = params.get("path")
                text = member(member(recorded(script, reply.step), "result"), "content")
                if isinstance(path, str) and isinstance(text, str) and is_whole(params):
                    found.setdefault(self._stage.bindings.live(Place.PATH, path), text)
        return found


def _subject(value: Any) -> str:
    """What a request is about, in a word."""
    params = params_of(value)
    for key in ("path", "command", "terminalId"):
        if isinstance(params.get(key), str):
            return f" {params[key]}"
    title = member(params.get("toolCall"), "title")
    return f" {title}" if isinstance(title, str) else ""
