"""Plays the probes with an agent, and judges the agent's answers.

Probes that begin alike share one agent. A new agent is started when an agent has ended or hangs.

A step that may stay without an answer is followed by a request with an unknown method. The answer
to this request shows that the agent has read the step, since an agent reads its input in order.
"""

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from math import inf
from typing import Any

import trio
from attrs import define, evolve, field, frozen

from acp_proxy.protocol.capabilities import normalized
from acp_proxy.protocol.dialects import CANCEL, OPENING
from acp_proxy.protocol.json_text import encode_json, member
from acp_proxy.try_.agent_connection import AgentLeft
from acp_proxy.try_.agent_requests import ConsentQuestion, Policy
from acp_proxy.try_.connected_agent import GRACE_S, ConnectedAgent, RunningAgent, connected
from acp_proxy.try_.forms import CLIENT, Forms, filled
from acp_proxy.try_.probe_tape import NEXT, LinePlace, ProbeTape
from acp_proxy.try_.probes import Probe, ProbeStep, brief, misfit, probes

_UNKNOWN = "_acp-proxy/no_such_method"
_MOMENT_S = 1.0
"""How many seconds the agent has to answer a line after it has answered a later request."""
_RACE_S = 2.0
"""If a turn ends within this many seconds after its cancellation, the agent may have read the
cancellation too late."""
_KEPT = 4000
"""How many bytes from the end of the agent's stderr are kept."""


class ProbeVerdict(StrEnum):
    """The outcome of a probe."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_TESTED = "not tested"


@frozen
class ProbeResult:
    """The verdict on a probe, with its reason."""

    id: str
    text: str
    """A sentence about the right behaviour of an agent. The probe holds if the sentence is true."""
    source: tuple[str, ...]
    """The sections of the specifications that require this behaviour."""
    severity: str
    """How bad a broken probe is: ``error`` if the agent broke a MUST, ended or hung, otherwise
    ``warning``. Also ``warning`` if the agent may have read a cancellation too late."""
    verdict: ProbeVerdict
    detail: str
    """The wrong answer, or the reason why the probe was not tested; empty if the probe holds."""
    start: int = field(default=0, metadata={"hidden": True})
    """The number of the agent's start that the verdict is about, from 1; 0 for all starts."""
    lines: Sequence[LinePlace] = field(default=(), metadata={"hidden": True})
    recording: str | None = None
    """The path of the recording that shows the reason for the verdict; None if no frame shows
    it."""
    frames: Sequence[int] = ()
    """The numbers of the frames, in the recording, that the probe sent and received."""


class _NotTested(Exception):
    """Raised if a probe cannot be judged with this agent. The message is the reason."""


async def _nobody(_question: ConsentQuestion) -> int | None:
    """Never called: probes reject all requests of the agent, so nobody is asked."""
    return None


@define(eq=False)
class Prober:
    """Sends all probes to an agent.

    Args:
        start: starts the agent; called several times.
        tell: receives a few words about each probe before the probe is played.
        dialect: the dialect to begin with. It changes if the agent answers with another version.
        prompts: the text of a prompt whose turn ends, and of a prompt whose turn is cancelled.
        timeout_s: the seconds of silence after which an agent that has to answer counts as hung.

    Attributes:
        results: the verdict on each probe, by the probe's id.
        stderr: the last bytes that the agent wrote to stderr since its latest start.
        is_mute: whether the agent did not answer ``initialize`` in time.
        left_behind: processes that still ran after the end of their agent, and were then ended.
    """

    _start: Callable[[], RunningAgent]
    _tell: Callable[[str], None]
    dialect: str
    _prompts: tuple[str, str]
    _timeout_s: float
    results: dict[str, ProbeResult] = field(init=False, factory=dict)
    stderr: bytearray = field(init=False, factory=bytearray)
    is_mute: bool = field(init=False, default=False)
    left_behind: list[str] = field(init=False, factory=list)
    _ignores_unknown: bool = field(init=False, default=False)
    """Whether the agent does not answer requests with an unknown method."""
    _tapes: list[ProbeTape] = field(init=False, factory=list)
    _tape: ProbeTape = field(init=False)
    _agent: ConnectedAgent = field(init=False)
    _state: int = field(init=False, default=0)
    """How far the agent has come since its start: the highest rank of probes that it is ready
    for."""
    _end: str = field(init=False, default="")
    """A few words on why the agent gives no more answers: it has ended, or hangs. Otherwise
    empty."""
    _cancelled_s: float = field(init=False, default=inf)
    """When the current probe cancelled its turn, on trio's clock; infinite without a
    cancellation."""
    _is_race: bool = field(init=False, default=False)
    """Whether the probe's turn may have ended before the agent read the cancellation."""
    _why: str = field(init=False, default="")
    """Why probes of the next rank cannot be played; empty if they can."""
    _facts: dict[str, Any] = field(init=False, factory=dict)
    """The answer to ``initialize``, and the kept answers to ``session/new`` by their names."""

    async def play(self) -> list[ProbeResult]:
        """Plays all probes of the dialect. Returns the verdicts in the order of the probes."""
        played = [probe for probe in probes() if probe.steps and not probe.opens]
        queue = sorted(played, key=lambda probe: not probe.rank)
        while queue and not self.is_mute:
            await self._serve(queue)
        mine = [probe for probe in probes() if self.dialect in probe.dialects]
        for probe in mine:
            if not probe.steps:
                self._keep_watched(probe)
            self._keep(probe, ProbeVerdict.NOT_TESTED, "the agent did not get this far")
        return [self.results[probe.id] for probe in mine]

    async def _serve(self, queue: list[Probe]) -> None:
        """Starts an agent, and plays probes from the start of the queue with it.

        Each probe that was played is removed from the queue.
        """
        self._state, self._end, self._why, self._facts = 0, "", "", {}
        self._tape = ProbeTape()
        self._tapes.append(self._tape)
        self.stderr.clear()
        async with connected(
            self._start(), Policy.REJECT, _nobody, self._tape.watch, self._hear, self._timeout_s
        ) as self._agent:
            self._agent.requests.dialect = self.dialect
            is_fresh = not queue[0].rank
            while queue and is_fresh == (not queue[0].rank):
                await self._reach(queue.pop(0))
                is_lost = self._end and not self._why
                if is_fresh or is_lost or self.is_mute:
                    break
            if not self._end:
                await self._agent.recorder.sink.aclose()
                with trio.move_on_after(GRACE_S) as patience:
                    await self._agent.peer.has_left.wait()
                if patience.cancelled_caught:
                    self._tape.blame("end", None, f"its output is still open after {GRACE_S:g} s")
        self.left_behind += self._agent.recorder.left_behind

    async def _reach(self, probe: Probe) -> None:
        """Plays a probe. If the agent is not ready, first plays the probes that make it ready.

        A probe of another dialect is not played.
        """
        if self.dialect in probe.dialects:
            for opener in probes():
                is_due = opener.opens and opener.rank == self._state < probe.rank
                if is_due and not self._why:
                    await self._play(opener)
            await self._play(probe)

    def _hear(self, text: bytes) -> None:
        self.stderr += text
        del self.stderr[:-_KEPT]

    async def _play(self, probe: Probe) -> None:
        """Plays one probe, and stores the verdict."""
        self._tell(f"probe {probe.id}")
        self._tape.lines, self._is_race = [], False
        verdict, detail = ProbeVerdict.NOT_TESTED, self._obstacle(probe)
        if detail is None:
            try:
                detail = await self._steps(probe)
                verdict = ProbeVerdict.BROKEN if detail else ProbeVerdict.HOLDS
            except* AgentLeft:
                is_hung = bool(self._agent.silence)
                self.is_mute |= is_hung and probe.opens and not self._state
                self._ignores_unknown |= is_hung and probe.steps[0].request == _UNKNOWN
                self._end = detail = self._agent.silence or "the agent ended"
                verdict, probe = ProbeVerdict.BROKEN, evolve(probe, severity="error")
            except* _NotTested as e:
                detail = str(e.exceptions[0])
        if self._is_race and not self._end:
            detail = f"{detail}, perhaps because the turn had just ended"
            probe = evolve(probe, severity="warning")
        if probe.opens and self._state == probe.rank:
            self._why = f"{probe.id} failed: {detail}"
        self._keep(probe, verdict, detail, len(self._tapes), self._tape.lines)

    def _keep(self, probe: Probe, verdict: ProbeVerdict, detail: str | None, *place: Any) -> None:
        """Stores the verdict on a probe, unless the probe already has a verdict."""
        result = ProbeResult(
            probe.id, probe.text, probe.source, probe.severity, verdict, detail or "", *place
        )
        self.results.setdefault(probe.id, result)

    def _keep_watched(self, probe: Probe) -> None:
        """Judges a probe that has no steps, by the lines that all other probes caused."""
        for number, tape in enumerate(self._tapes, 1):
            if offences := tape.offences.get(probe.id):
                lines = [line for line, _ in offences if line is not None]
                self._keep(probe, ProbeVerdict.BROKEN, offences[0][1], number, lines)
        detail = self._obstacle(probe)
        self._keep(probe, ProbeVerdict.NOT_TESTED if detail else ProbeVerdict.HOLDS, detail)

    def _obstacle(self, probe: Probe) -> str | None:
        """Returns why a probe cannot be played or judged; None if it can."""
        if probe.steps and (self._end or self._state < probe.rank):
            return self._why
        if probe.needs and member(self._facts, *probe.needs.split(".")) is None:
            return f"the agent does not offer {probe.needs}"
        first = self.results.get(probe.after or "")
        is_here = first and (not probe.steps or first.start == len(self._tapes))
        if probe.after is None or (first and is_here and first.verdict is ProbeVerdict.HOLDS):
            return None
        return f"it is tested only if {probe.after} holds"

    async def _steps(self, probe: Probe) -> str | None:
        """Plays the steps of a probe up to the first wrong answer.

        Returns:
            How this answer differs from the expected form; None if all answers were right.
        """
        for number, step in enumerate(probe.steps):
            name = f"probe:{probe.id}{f':{number}' if number else ''}"
            params = filled(step.params, known := self._values())
            if not step.request:
                detail = await self._send(name, step, params)
            else:
                answer = await self._request(name, step, params)
                kind = "result" if answer.get("error") is None else "error"
                if step.expect and kind not in step.expect:
                    detail = f"the {kind} {brief(answer.get(kind))} came"
                else:
                    detail = misfit(filled(step.expect, known), answer)
                self._learn(probe, step, member(answer, "result"))
            if detail:
                return detail
        return None

    def _values(self) -> dict[str, Any]:
        """Returns the value for each ``{name}`` that steps of probes may contain."""
        forms = Forms(self.dialect)
        session = member(self._facts, "session", "sessionId")
        prompt, long_prompt = (forms.prompt(session, text) for text in self._prompts)
        new = forms.session(cwd := os.getcwd(), ())  # noqa: PTH109
        return {
            **{name: member(answer, "sessionId") for name, answer in self._facts.items()},
            "cwd": cwd, "new": new, "initialize": forms.initialize(writes=False),
            "prompt": prompt, "long_prompt": long_prompt, "text": self._prompts[0],
            "client": CLIENT,
        }  # fmt: skip

    def _learn(self, probe: Probe, step: ProbeStep, result: Any) -> None:
        """Stores, for later probes, what an answer contains: session, capabilities and dialect."""
        if step.keep and isinstance(member(result, "sessionId"), str):
            self._facts[step.keep] = result
        elif probe.opens and not step.keep and isinstance(result, dict):
            self._facts |= normalized(result)
            self.dialect = Forms(self.dialect).following(result).dialect
            self._agent.requests.dialect = self.dialect
        else:
            return
        self._state += probe.opens

    async def _ask(self, name: str, method: str, params: Any) -> Any:
        """Sends a request, and returns the message that answers it."""
        self._tape.open[_token(name)] = member(params, "sessionId")
        return await self._agent.peer.request(method, params, name)

    async def _send(self, name: str, step: ProbeStep, params: Any) -> str | None:
        """Sends a notification or a line, and judges the agent's reaction.

        Returns:
            Words about the agent's mistake, such as a missing answer; None without a mistake.
        """
        strays = self._tape.strays = []
        message = {"jsonrpc": "2.0", "method": step.notify, "params": params}
        await self._agent.peer.send(message if step.send is None else step.send.encode())
        if self._ignores_unknown:
            await self._ask(name + NEXT, OPENING[0], self._values()["new"])
        else:
            await self._ask(name + NEXT, _UNKNOWN, {})
        if step.expect and not strays:
            await trio.sleep(_MOMENT_S)
        self._tape.strays = None
        if step.expect is None:
            return f"it is answered: {brief(strays[0])}" if strays else None
        nothing = "nothing came, though the next request was answered"
        return misfit(step.expect, strays[0]) if strays else nothing

    async def _request(self, name: str, step: ProbeStep, params: Any) -> Any:
        """Sends the request of a step, and returns its answer.

        Raises:
            _NotTested: the turn ended before it could be cancelled.
        """
        self._tape.moved, self._cancelled_s = trio.Event(), inf
        async with trio.open_nursery() as nursery:
            if step.cancel:
                nursery.start_soon(self._cancel, name, step.cancel)
            answer = await self._ask(name, str(step.request), params)
        if step.cancel and member(answer, "result", "stopReason") not in (None, "cancelled"):
            if self._cancelled_s == inf:
                raise _NotTested("the turn had ended before it could be cancelled")
            self._is_race = trio.current_time() - self._cancelled_s < _RACE_S
        return answer

    async def _cancel(self, name: str, when: str) -> None:
        """Cancels the turn of a request at once or at its first update, if the turn is still open.

        Args:
            name: the id of the request.
            when: ``at-once`` or ``first-update``.
        """
        if when == "first-update":
            await self._tape.moved.wait()
        if session := self._tape.open.get(_token(name)):
            self._cancelled_s = trio.current_time()
            await self._agent.peer.notify(CANCEL, {"sessionId": session})
            self._agent.requests.cancel()


def _token(name: str) -> str:
    """Returns the id of a request as JSON text."""
    return encode_json(name).decode()
