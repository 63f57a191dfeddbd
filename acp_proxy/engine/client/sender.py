"""Says what the client says, when its causes have happened."""

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from acp_proxy.commands import Command, Send
from acp_proxy.engine.client.composer import Composer
from acp_proxy.engine.client.default_replies import cancelled, denied
from acp_proxy.engine.client.known_files import READ, WRITE, Files, is_whole
from acp_proxy.engine.client.lane import ClientLane, Line
from acp_proxy.engine.client.messages import member, params_of, recorded, recorded_request
from acp_proxy.engine.client.permission_match import Verdict
from acp_proxy.engine.client.permissions import choice
from acp_proxy.engine.client.send_conditions import Causes
from acp_proxy.engine.client.state import Asked, Open, Stage
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import CANCEL, FORK, PERMISSION, PROMPT, Step
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.splice import Place

_MAKING = ("session/new", FORK)
"""Requests in whose answer the agent names a session."""


class ClientSender:
    """Says lines.

    Args:
        stage: what is known.
        files: told what answers hold, and what the agent has written.
    """

    def __init__(self, stage: Stage, files: Files) -> None:
        self.causes = Causes(stage)
        self._stage = stage
        self._files = files
        self._composer = Composer(stage.bindings, rewrite_text=stage.options.rewrite_text)

    def say(self, at: int) -> Iterator[Command]:
        """Says all that may be said now, what was recorded first before the rest."""
        while (ready := self.causes.next(at)) is not None:
            lane, line = ready.lane, ready.line
            hurry = self.causes.hurry(lane, line, at)
            lane.drop(line)
            if self.causes.is_pointless(lane, line):
                summary = f"{line.title} #{line.seq} was not sent: what it cancels was over already"
                self._stage.divergences.note(DivergenceKind.LATE, lane, summary, at, seq=line.seq)
                continue
            if self._has_no_terminal(line):
                summary = f"{line.title} #{line.seq} was not sent: there is no such terminal"
                self._stage.divergences.note(DivergenceKind.LATE, lane, summary, at, seq=line.seq)
                self._stage.recording.settle(line.steps[0].exchange or 0)
                continue
            if hurry is not None:
                summary = (
                    f"{line.title} #{line.seq} was sent before the agent had said as much as in the"
                    f" recording: {hurry}"
                )
                self._stage.divergences.note(DivergenceKind.EARLY, lane, summary, at, seq=line.seq)
                self._stage.note_pause(lane, line, at)
            yield from self._say(lane, line, at)

    def _has_no_terminal(self, line: Line) -> bool:
        """Whether a line is output of a terminal that the live agent never asked for."""
        step = line.steps[0]
        if len(line.steps) > 1 or not step.is_push:
            return False
        terminal = params_of(recorded(self._stage.recording.script, step)).get("terminalId")
        return terminal not in self._stage.bindings.terminals

    def _say(self, lane: ClientLane, line: Line, at: int) -> Iterator[Command]:
        line = self._without_unasked(lane, line)
        ids, options = {}, {}
        for step in list(line.steps):
            if (asked := self._stage.asked.get(step.exchange or 0)) is None:
                continue
            ids[asked.question.ask.rpc_id] = asked.token
            if step.is_reply and asked.question.ask.method == PERMISSION:
                option, refusal = self._decide(lane, line, step, asked, at)
                if refusal is not None:
                    line = evolve(line, steps=[other for other in line.steps if other is not step])
                    del self._stage.asked[asked.question.ask.exchange]
                    self._stage.spoken_at = at
                    yield refusal
                elif option is not None:
                    options[asked.question.ask.rpc_id] = option
        if not line.steps:
            return
        if lane.name not in (None, *self._stage.bindings.sessions) and not _makes_session(line):
            self._stage.bind(lane, lane.name or "")
        wire = self._stage.recording.script.wire(line.seq)
        yield Send(self._composer.written(line, wire, ids, options), line.seq)
        self._stage.sent += 1
        self._stage.spoken_at, self._stage.last = at, lane
        for step in line.steps:
            self._note(lane, step, at)
        if (cancel := line.cancels) is not None and cancel.method == CANCEL:
            lane.is_cancelled, lane.cancelled_at = True, line.seq
            yield from self._close_permissions(lane)

    def _decide(
        self, lane: ClientLane, line: Line, step: Step, asked: Asked, at: int
    ) -> tuple[str | None, Send | None]:
        """Looks at the recorded answer to a permission request before it goes out.

        Returns:
            the live option that it chooses, if it chooses one; and what to answer instead of it, if
            it cannot be given.
        """
        request = json_or_none(asked.raw)
        if lane.is_cancelled and line.seq < lane.cancelled_at:
            return None, self._answer_late(lane, step, asked, request, at)
        recorded_one = recorded_request(self._stage.recording.script, asked.question)
        answer = recorded(self._stage.recording.script, step)
        live = self._stage.leave.live(request)
        verdict = self._stage.leave.compare_answered(asked.question, asked.scope, live)
        if not verdict.is_same and read_answer(options_of(recorded_one), answer).may_allow:
            return None, self._answer_changed(lane, asked, request, verdict, at)
        chosen = choice(recorded_one, request, answer)
        if not chosen.is_possible:
            return None, self._cannot_choose(lane, step, asked, request, at)
        return chosen.option, None

    def _without_unasked(self, lane: ClientLane, line: Line) -> Line:
        """What of a batch goes out now; answers to what was not asked yet are left for later.

        The agent may call another request by such an id now.
        """
        if len(line.steps) == 1:
            return line
        replies = (s for s in line.steps if s.is_reply and s.exchange is not None)
        late = [step for step in replies if step.exchange not in self._stage.asked]
        if not late:
            return line
        rest = evolve(line, steps=late, free_at=None, waits_since=None, is_free=False)
        lane.answers[rest.seq] = rest
        for step in late:
            self._stage.recording.replies[step.exchange or 0].line = rest
        return evolve(line, steps=[step for step in line.steps if step not in late])

    def _cannot_choose(
        self, lane: ClientLane, step: Step, asked: Asked, request: Any, at: int
    ) -> Send:
        summary = (
            f"{PERMISSION} #{asked.question.step.seq}: the agent offers no option like the one that"
            f" #{step.seq} chose; it was answered with cancelled"
        )
        self._stage.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS, lane, summary, at, seq=step.seq, came=asked.raw
        )
        return cancelled(asked.token, request)

    def _answer_late(
        self, lane: ClientLane, step: Step, asked: Asked, request: Any, at: int
    ) -> Send:
        """What is asked once the turn is cancelled gets the answer that a client must give then."""
        summary = f"{PERMISSION} #{asked.question.step.seq} came when the turn was cancelled"
        self._stage.divergences.note(DivergenceKind.LATE, lane, summary, at, seq=step.seq)
        return cancelled(asked.token, request)

    def _answer_changed(
        self, lane: ClientLane, asked: Asked, request: Any, verdict: Verdict, at: int
    ) -> Send:
        """The agent has made something else of the tool call since it asked leave for it."""
        seq = asked.question.step.seq
        summary = (
            f"the agent changed the tool call {self._stage.leave.title(request)} after it had asked"
            f" leave for it, and what was allowed is #{seq}; it was rejected"
        )
        self._stage.divergences.note(
            DivergenceKind.PERMISSION_DIFFERS,
            lane,
            summary,
            at,
            seq=seq,
            came=asked.raw,
            differences=verdict.differences,
        )
        return denied(asked.token, request)

    def _note(self, lane: ClientLane, step: Step, at: int) -> None:
        """Remembers what a message means for what follows."""
        if step.is_reply and step.exchange is not None:
            asked = self._stage.asked.pop(step.exchange, None)
            if asked is not None and step.kind == "response":
                self._learn(step, asked)
        elif step.kind == "request":
            opened = Open(step, lane, at)
            self._stage.open.setdefault(step.rpc_id or "null", []).append(opened)
            lane.heard.clear()
            if step.method in _MAKING and step.session is not None:
                self._stage.opening.append(opened)
            if step.method == PROMPT and step.exchange is not None:
                lane.prompts[step.exchange] = step.seq, at
                lane.is_cancelled = False

    def _learn(self, step: Step, asked: Asked) -> None:
        """Learns terminals and files from an answer that the agent gets."""
        method = asked.question.ask.method
        if method not in ("terminal/create", READ, WRITE):
            return
        params = params_of(json_or_none(asked.raw))
        result = member(recorded(self._stage.recording.script, step), "result")
        path, text = params.get("path"), params.get("content")
        if method == "terminal/create" and isinstance(
            terminal := member(result, "terminalId"), str
        ):
            self._stage.bindings.bind(Place.TERMINAL, terminal, terminal)
        elif method == READ and is_whole(params):
            text = member(result, "content")
        elif method == READ:
            return
        if isinstance(path, str) and isinstance(text, str):
            self._files.keep(path, text)

    def _close_permissions(self, lane: ClientLane) -> Iterator[Command]:
        """Answers what has no recorded answer, as a client must when it cancels."""
        for exchange, asked in list(self._stage.unanswered.items()):
            question = asked.question
            if question.step.lane == lane.name and question.ask.method == PERMISSION:
                del self._stage.unanswered[exchange]
                yield cancelled(asked.token, json_or_none(asked.raw))


def _makes_session(line: Line) -> bool:
    return any(step.method in _MAKING for step in line.steps)
