"""Tests the probes of `try --probe`, played with an agent in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.probe import Prober, ProbeResult, ProbeVerdict
from acp_proxy.try_.probes import probes
from tests.support.probed_agent import LONG, ProbedAgent, started

if TYPE_CHECKING:
    from trio.testing import MockClock

TIMEOUT_S = 60.0
SEVERITIES = {probe.id: probe.severity for probe in probes()}


async def play(
    kind: type[ProbedAgent], clock: MockClock, dialect: str = "v1"
) -> tuple[Prober, dict[str, Any]]:
    """Plays all probes with a kind of agent; returns the verdicts by the id of the probe."""
    assert clock.autojump_threshold == 0, "no test waits"
    prober = Prober(lambda: started(kind), lambda _name: None, dialect, ("short", LONG), TIMEOUT_S)
    return prober, {result.id: result for result in await prober.play()}


def named(results: dict[str, ProbeResult], verdict: ProbeVerdict) -> list[str]:
    """Returns the ids of the probes with a verdict."""
    return [name for name, result in results.items() if result.verdict is verdict]


async def test_an_agent_that_keeps_everything(autojump_clock: MockClock) -> None:
    """With an agent that makes no mistake, all probes of `try --probe` hold."""
    prober, results = await play(ProbedAgent, autojump_clock)
    assert [(name, r.detail) for name, r in results.items() if r.verdict != "holds"] == []
    assert [*results] == [probe.id for probe in probes()]
    assert len(prober._tapes) == 3
    assert not prober.is_mute
    assert results["turn"].lines[0][0] is Direction.TO_AGENT


ANSWERS: dict[str, Any] = {
    "initialize": {"protocolVersion": "1"},
    "unknown-extension": None,
    "unknown-method": -32603,
    "cwd-missing": -32603,
    "cwd-type": {"sessionId": "s"},
    "session-new": {"sessionId": 5},
    "two-sessions": {"sessionId": "s1"},
    "prompt-missing": -32603,
    "prompt-type": {"stopReason": "end_turn"},
    "unknown-session": {"stopReason": "end_turn"},
    "turn": {"stopReason": "done"},
    "turn-after-cancel": {"stopReason": "cancelled"},
    "unknown-mode": {},
    "load": -32603,
    "load-unknown": {},
    "list": {},
    "resume": -32603,
    "close:1": -32603,
    "closed-session": {"stopReason": "end_turn"},
    "version-99": {"protocolVersion": 99},
}
"""Answers that break a probe, by the end of the id of the request."""


def answering(name: str) -> type[ProbedAgent]:
    """Returns an agent that answers one request wrongly."""

    class Agent(ProbedAgent):
        async def outcome(self, asked: str, method: str, params: Any) -> Any:
            result = await super().outcome(asked, method, params)
            return ANSWERS[name] if asked == f"probe:{name}" else result

    return Agent


class _AnswersNotification(ProbedAgent):
    async def take_notification(self, method: str, params: Any) -> None:
        await super().take_notification(method, params)
        if method.startswith("_"):
            await self.refuse(None, -32601)


class _AnswersCancel(ProbedAgent):
    cancels = 1

    async def take_notification(self, method: str, params: Any) -> None:
        await super().take_notification(method, params)
        if params.get("sessionId") == "s1" and self.cancels:
            self.cancels -= 1
            await self.send(id=None, result={})


class _DiesOfUnknownSession(ProbedAgent):
    async def take_notification(self, method: str, params: Any) -> None:
        await super().take_notification(method, params)
        if method == "session/cancel" and params["sessionId"] not in self._sessions:
            await self.close()


class _Takes(ProbedAgent):
    """An agent that treats an unusual line wrongly."""

    async def take(self, raw: bytes) -> None:
        name = self.probe
        if name == "blank-line" and not raw:
            await self.refuse(None, -32700)
        elif name == "carriage-return" and raw.endswith(b"\r"):
            pass
        elif name == "broken-json" and raw.endswith(b":"):
            await self.refuse(1, -32700)
        elif name == "method-type" and b'"method": 7' in raw:
            await self.refuse("probe:method-type", -32601)
        elif name == "no-method" and b'"probe:no-method"' in raw:
            pass
        elif name == "string-id" and b'"id": "7"' in raw:
            await self.refuse(7, -32601)
        else:
            await super().take(raw)


class _Ignores(ProbedAgent):
    """An agent that continues a cancelled turn for a while, and then ends it normally."""

    long_turns = 0

    async def turn(self, session: str, text: str) -> dict[str, str]:
        result = await super().turn(session, text)
        self.long_turns += text == LONG
        if text == LONG and self.long_turns == (1 if self.probe == "cancel-mid-turn" else 2):
            await trio.sleep(10)
            return {"stopReason": "end_turn"}
        return result


class _SpeaksElsewhere(ProbedAgent):
    async def turn(self, session: str, text: str) -> dict[str, str]:
        await self.update("s2")
        return await super().turn(session, text)


class _Calls(ProbedAgent):
    async def turn(self, session: str, text: str) -> dict[str, str]:
        result = await super().turn(session, text)
        await self.send(id=1, method="terminal/create", params={"command": "ls"})
        return result


class _Chats(ProbedAgent):
    async def serve(self) -> None:
        await self.send_line(b"Ready.")
        await super().serve()


class _AnswersTwice(ProbedAgent):
    async def answer(self, message: Any) -> None:
        await super().answer(message)
        if message["id"] == "probe:two-sessions":
            await self.send(id=message["id"], result={})


class _ComesTooEarly(ProbedAgent):
    async def answer(self, message: Any) -> None:
        if message["id"] == "probe:too-early":
            await self.close()
        else:
            await super().answer(message)


class _Stays(ProbedAgent):
    async def close(self) -> None:
        await trio.sleep_forever()


KINDS: dict[str, type[ProbedAgent]] = {
    **{name.partition(":")[0]: answering(name) for name in ANSWERS},
    **dict.fromkeys(
        ("blank-line", "carriage-return", "broken-json", "method-type", "no-method", "string-id"),
        _Takes,
    ),
    **dict.fromkeys(("cancel-mid-turn", "cancel-at-once"), _Ignores),
    "unknown-notification": _AnswersNotification,
    "cancel-idle": _AnswersCancel,
    "cancel-unknown-session": _DiesOfUnknownSession,
    "updates": _SpeaksElsewhere,
    "calls": _Calls,
    "lines": _Chats,
    "answers": _AnswersTwice,
    "too-early": _ComesTooEarly,
    "end": _Stays,
}
"""An agent for each probe that breaks it, and nothing else."""


@pytest.mark.parametrize("name", [probe.id for probe in probes()])
async def test_each_probe_can_be_broken(name: str, autojump_clock: MockClock) -> None:
    """For each probe of `try --probe`, an agent with one mistake breaks only this probe."""
    kind: type[ProbedAgent] = type("Agent", (KINDS[name],), {"probe": name})
    _, results = await play(kind, autojump_clock)
    assert named(results, ProbeVerdict.BROKEN) == [name]
    assert results[name].detail
    assert results[name].severity == ("error" if name == "too-early" else SEVERITIES[name])
    has_no_line = name == "end"
    assert bool(results[name].lines) is not has_no_line
    assert results[name].start > 0


class _Ends(ProbedAgent):
    """An agent that ends a cancelled turn at once, but with the normal stop reason."""

    async def turn(self, session: str, text: str) -> dict[str, str]:
        await super().turn(session, text)
        return {"stopReason": "end_turn"}


class _EndsFirst(ProbedAgent):
    """An agent that ends its turns before they can be cancelled."""

    async def turn(self, session: str, text: str) -> dict[str, str]:
        return await super().turn(session, text.replace(LONG, "short"))


@pytest.mark.parametrize("kind", [_Ends, _EndsFirst])
async def test_a_race_is_no_error(kind: type[ProbedAgent], autojump_clock: MockClock) -> None:
    """If a turn may have ended just before its cancel came, `try --probe` only warns."""
    _, results = await play(kind, autojump_clock)
    races = [results["cancel-mid-turn"], results["cancel-at-once"]]
    for race in races:
        if race.verdict is ProbeVerdict.BROKEN:
            assert race.detail.endswith(", perhaps because the turn had just ended")
            assert race.severity == "warning"
        else:
            assert race.detail == "the turn had ended before it could be cancelled"
    assert kind is _EndsFirst or all(race.verdict is ProbeVerdict.BROKEN for race in races)
    follower = results["turn-after-cancel"]
    assert follower.detail == "it is tested only if cancel-mid-turn holds"


class _OffersNothing(ProbedAgent):
    capabilities: dict[str, Any] = {}  # noqa: RUF012

    async def outcome(self, name: str, method: str, params: Any) -> Any:
        result = await super().outcome(name, method, params)
        assert method not in ("session/load", "session/list", "session/resume", "session/close")
        if method == "session/new" and isinstance(result, dict):
            del result["modes"]
        assert method != "session/set_mode"
        return result


async def test_nothing_is_asked_that_was_not_offered(autojump_clock: MockClock) -> None:
    """`try --probe` calls no method that the agent does not offer."""
    _, results = await play(_OffersNothing, autojump_clock)
    untested = named(results, ProbeVerdict.NOT_TESTED)
    assert untested == [
        "unknown-mode", "load", "load-unknown", "list", "resume", "close", "closed-session",
    ]  # fmt: skip
    needed = "agentCapabilities.sessionCapabilities.list"
    assert results["list"].detail == f"the agent does not offer {needed}"
    assert named(results, ProbeVerdict.BROKEN) == []


class _WantsLogin(ProbedAgent):
    async def outcome(self, name: str, method: str, params: Any) -> Any:
        return -32000 if method == "session/new" else await super().outcome(name, method, params)


async def test_without_a_session_its_probes_are_not_tested(autojump_clock: MockClock) -> None:
    """If an agent refuses a session, `try --probe` reports probes that need one as not tested."""
    prober, results = await play(_WantsLogin, autojump_clock)
    assert named(results, ProbeVerdict.BROKEN) == ["cwd-missing", "cwd-type", "session-new"]
    expected = 'session-new failed: the error {"code": -32000, "message": "no"} came'
    assert results["turn"].detail == results["two-sessions"].detail == expected
    assert results["updates"].verdict is ProbeVerdict.NOT_TESTED
    assert results["version-99"].verdict is ProbeVerdict.HOLDS
    assert len(prober._tapes) == 3


class _Hangs(ProbedAgent):
    async def answer(self, message: Any) -> None:
        if message["method"] != self.probe:
            await super().answer(message)


async def test_an_agent_that_is_mute_is_asked_once(autojump_clock: MockClock) -> None:
    """If an agent does not answer `initialize`, `try --probe` reports all else as not tested."""
    prober, results = await play(type("Agent", (_Hangs,), {"probe": "initialize"}), autojump_clock)
    assert prober.is_mute
    assert len(prober._tapes) == 1
    assert named(results, ProbeVerdict.BROKEN) == ["initialize"]
    assert named(results, ProbeVerdict.HOLDS) == [], "nothing was shown"
    assert results["initialize"].detail == "the agent was silent for 60 s"
    assert results["turn"].detail == "the agent did not get this far"


async def test_an_agent_that_hangs_is_started_anew(autojump_clock: MockClock) -> None:
    """If an agent hangs in a probe, `try --probe` starts a new agent for the next probes."""
    kind = type("Agent", (_Hangs,), {"probe": "_acp-proxy/no_such_method"})
    prober, results = await play(kind, autojump_clock)
    broken = ["unknown-extension", "string-id", "carriage-return"]
    assert named(results, ProbeVerdict.BROKEN) == broken
    assert results["unknown-extension"].severity == "error"
    assert results["unknown-notification"].start == 2
    assert len(prober._tapes) == 4
    hung = await play(type("Agent", (_Hangs,), {"probe": "session/load"}), autojump_clock)
    assert named(hung[1], ProbeVerdict.BROKEN) == ["load", "load-unknown"]


async def test_the_version_of_the_answer_is_followed(autojump_clock: MockClock) -> None:
    """If an agent answers `initialize` with version 1, `try --probe` tests the agent as v1."""
    prober, results = await play(ProbedAgent, autojump_clock, "v2")
    assert prober.dialect == "v1"
    assert "load" in results
    assert named(results, ProbeVerdict.BROKEN) == []


class _SpeaksV2(ProbedAgent):
    capabilities: dict[str, Any] = {}  # noqa: RUF012

    async def outcome(self, name: str, method: str, params: Any) -> Any:
        result = await super().outcome(name, method, params)
        return {**result, "protocolVersion": 2} if method == "initialize" else result


async def test_v2_has_its_own_probes(autojump_clock: MockClock) -> None:
    """`try --probe` tests an agent of version 2 with probes for version 2."""
    prober, results = await play(_SpeaksV2, autojump_clock, "v2")
    assert prober.dialect == "v2"
    assert named(results, ProbeVerdict.HOLDS) == [*results]
    assert "turn" not in results
