"""Takes what the client says: pairs it with the recording, or notes how it diverges from it.

A request is always answered. One that was not recorded gets an error, and its session is given up,
as it is after an outcome that would make the rest of the recorded story a lie; other sessions go on
unharmed.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command, Send
from acp_proxy.engine.agent.cancellation import Cancels
from acp_proxy.engine.agent.client_replies import Replies
from acp_proxy.engine.agent.error_replies import refusal
from acp_proxy.engine.agent.pairing import Examiner
from acp_proxy.engine.agent.pushed_output import Pushes
from acp_proxy.engine.agent.request_matcher import Found, Heard
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import CANCEL, CANCEL_REQUEST, PROMPT
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, read

_PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


class Receiver:
    """Takes the client's lines, one after the other.

    Attributes:
        lines: how many there were.
    """

    def __init__(self, stage: Stage) -> None:
        self.lines = 0
        self._stage = stage
        self._examiner = Examiner(stage)
        self._pushes = Pushes(stage)
        self._replies = Replies(stage, self._examiner, self._pushes)
        self._cancels = Cancels(stage, self._examiner)
        self._schedule = stage.schedule
        self._listener = stage.listener
        self._player = stage.player

    def take(self, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a line, without its newline."""
        self.lines += 1
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        members = message.members or (message,)
        for member in members:
            part = member.raw or b""
            yield from self._take(Heard(member, part, self.lines, at, json_or_none(part)))

    def _take(self, heard: Heard) -> Iterator[Command]:
        match heard.message.kind:
            case Kind.REQUEST:
                yield from self._take_request(heard)
            case Kind.NOTIFICATION:
                yield from self._take_notification(heard)
            case Kind.RESPONSE | Kind.ERROR:
                yield from self._replies.take(heard)
            case _:
                yield from self._take_garbage(heard)

    def _take_request(self, heard: Heard) -> Iterator[Command]:
        message = heard.message
        lane = self._listener.lane_of(message.session)
        self._cancels.forget(message.rpc_id or "null")
        if lane.abandoned:
            summary = f"{message.method} in a session that has diverged"
            divergence = self._examiner.diverged(DivergenceKind.UNMATCHED, lane, summary, heard)
            yield refusal(message.rpc_id, divergence)
            return
        found = self._listener.find(heard) or self._find_in_sibling(heard)
        if self._pushes.is_extra(found, heard):
            yield self._pushes.answer(heard)
            return
        if found is None or not self._stage.bind(found.comparison):
            yield from self._examiner.refuse(heard, conflict=found)
            return
        lane, step = self._examiner.pair(found, heard)
        if step.exchange is not None and message.rpc_id is not None:
            self._player.live_ids[step.exchange] = message.rpc_id
            lane.open[step.exchange] = (message.rpc_id, step)
        if step.method == PROMPT:
            lane.is_idle = self._schedule.script.dialect != V2

    def _take_notification(self, heard: Heard) -> Iterator[Command]:
        if heard.message.method == CANCEL_REQUEST:
            yield from self._cancels.take_request(heard)
            return
        lane = self._listener.lane_of(heard.message.session)
        found = self._listener.find(heard) or self._find_in_sibling(heard)
        if lane.abandoned:
            return
        if heard.message.method == CANCEL:
            yield from self._cancels.take_turn(found, lane, heard)
        elif found is not None and self._stage.bind(found.comparison):
            self._examiner.pair(found, heard)
        else:
            summary = f"the client sent {heard.message.method}, which was not recorded there"
            self._examiner.diverged(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, heard)

    def _take_garbage(self, heard: Heard) -> Iterator[Command]:
        lane = self._schedule.lanes[None]
        recorded = [step for step in lane.expected if step.kind == "invalid"]
        for step in recorded:
            if self._listener.compare(step, heard).is_equal:
                if step.exchange is not None:
                    self._player.live_ids[step.exchange] = "null"
                self._stage.match(lane, step, heard.at)
                return
        reason = heard.message.parse_error or "no JSON-RPC message"
        self._examiner.diverged(
            DivergenceKind.MALFORMED_INPUT, lane, f"the client sent no message: {reason}", heard
        )
        yield Send(_PARSE_ERROR)

    def _find_in_sibling(self, heard: Heard) -> Found | None:
        """Swaps two sessions that are alike, if the message belongs to the other one."""
        lane = self._listener.lane_of(heard.message.session)
        other = self._listener.find_sibling(heard)
        if other is None or lane.name is None or other.name is None:
            return None
        sessions = self._stage.bindings.sessions
        first, second = sessions.get(lane.name, lane.name), sessions.get(other.name, other.name)
        sessions[lane.name], sessions[other.name] = second, first
        return self._listener.find(heard)
