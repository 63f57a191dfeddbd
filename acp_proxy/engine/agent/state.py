"""What all parts of a replay share: the recording, what is known of the client, the divergences."""

from collections.abc import Iterator

from attrs import define, field

from acp_proxy.commands import Command, Send
from acp_proxy.engine.agent.error_replies import refusal
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.options import ReplayOptions
from acp_proxy.engine.agent.request_matcher import Listener
from acp_proxy.engine.agent.schedule import ReplaySchedule
from acp_proxy.engine.agent.sender import Player, Ready
from acp_proxy.engine.agent.withholding import Withholding
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import Divergence
from acp_proxy.engine.shared.divergence_log import DivergenceLog
from acp_proxy.engine.shared.line_rewriter import Writer
from acp_proxy.engine.shared.steps import HANDSHAKE, Ask, Script, Step


@define
class Stage:
    """The state of one replay.

    Attributes:
        story: the recording as far as it is unrolled.
        bindings: what the client chose.
        player: sends frames, and knows what was sent.
        listener: compares messages.
        judge: the divergences.
    """

    options: ReplayOptions
    schedule: ReplaySchedule
    bindings: Bindings
    player: Player
    listener: Listener
    divergences: DivergenceLog = field(factory=DivergenceLog)

    @classmethod
    def set(cls, script: Script, options: ReplayOptions) -> "Stage":
        """Sets the stage for a recording."""
        schedule, bindings = ReplaySchedule(script, options.order), Bindings()
        writer = Writer(bindings, rewrite_text=options.rewrite_text)
        withholding = Withholding(bindings, script, options.inert, options.allow_outside)
        schedule.is_forgone = withholding.is_forgone
        schedule.may_be_left_out = withholding.may_be_left_out
        player = Player(schedule, writer, options.pacing, withholding)
        listener = Listener(schedule, bindings, options.ignored)
        return cls(options, schedule, bindings, player, listener)

    def match(self, lane: Lane, step: Step, at: int) -> None:
        """Notes that a recorded message of the client's has come."""
        lane.match(step)
        if self.schedule.track_of(lane.name) is not None:
            lane.arrived[step.key] = at
        if lane.name is None or step.exchange in self.schedule.let_pass:
            self.schedule.connection.came(step, at)
            return
        awaited = self.schedule.lanes[None].awaited
        if awaited is not None and awaited.method in HANDSHAKE and awaited.key < step.key:
            self.schedule.lanes[None].is_overtaken = True

    def play(self, ready: Ready, at: int) -> Iterator[Command]:
        """Sends a frame; what the client is not to see is answered as it was in the recording."""
        sent = self.player.send(ready, at)
        if sent.data is not None:
            yield Send(sent.data, ready.seq)
        lane = self.schedule.lanes[ready.step.lane if ready.step else None]
        for ask in sent.withheld:
            self.player.withholding.note_hidden(ask.method)
            if ask.reply_seq is not None:
                self.schedule.read_to(ask.reply_seq)
                for reply in [s for s in lane.expected if s.exchange == ask.exchange]:
                    self._take_recorded(lane, reply, ask, at)
        if sent.withheld:
            self.schedule.forgo()

    def _take_recorded(self, lane: Lane, reply: Step, ask: Ask, at: int) -> None:
        """Takes the recorded answer to a request that was withheld."""
        self.player.withholding.note_unmade(ask.method, self.listener.value(reply))
        self.match(lane, reply, at)

    def bind(self, comparison: Comparison) -> bool:
        """Binds what a pair of messages proposes; False if one value would have two meanings."""
        if comparison.conflicts:
            return False
        for place, recorded, live in comparison.proposals:
            self.bindings.bind(place, recorded, live)
        return True

    def abandon(self, lane: Lane, reason: Divergence | None = None) -> Iterator[Command]:
        """Gives a session's lane up: whoever waits in it for an answer gets an error.

        The connection's lane is given up only for a reason of its own, the handshake.
        """
        reason = reason or (self.divergences.latest_in(lane) if lane.name is not None else None)
        if lane.abandoned or reason is None:
            return
        lane.abandoned = lane.name is not None
        for token, _ in lane.open.values():
            yield refusal(token, reason)
        lane.open.clear()
