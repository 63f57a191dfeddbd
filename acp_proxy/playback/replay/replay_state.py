"""The options and the state of one replay, and the comparison of its messages."""

from collections.abc import Iterable
from typing import Any

from attrs import define, field, frozen

from acp_proxy.playback.replay.frame_scheduler import FrameScheduler
from acp_proxy.playback.replay.replay_requests import OpenRequests
from acp_proxy.playback.replay.schedule import ReplaySchedule
from acp_proxy.playback.replay.withholding import WithheldEffects
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer, Comparison, Difference, shown
from acp_proxy.playback.shared.divergence import DivergenceLog
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.shared.playback_options import PlaybackOptions
from acp_proxy.playback.shared.secret_pairs import SecretPairs
from acp_proxy.protocol.dialects import FORK, OPENING
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.typed_places import Place, places_of
from acp_proxy.recording.steps import Script, Step

SESSION_ID = "/params/sessionId"


@define
class ClientMessage:
    """A line of the client, or a member of a batch."""

    message: Message
    line: int
    """The number of the client's line, counted from 1."""
    _masking: MessageMask
    value: Any = field(init=False)
    """The message without its secrets, decoded."""
    _hidden: dict[int, list[tuple[str, ...]]] = field(init=False, factory=dict)
    """By a recorded message's number: the paths of live texts not to show beside that message."""

    @value.default
    def _decoded(self) -> Any:
        return self._masking.value(self.raw, places_of(self.message.kind, self.message.method))

    def hide(self, seq: int, result: Comparison) -> None:
        """Notes which texts of this message must not be shown beside a recorded message.

        Args:
            seq: the number of the recorded message.
            result: the comparison with the recorded message.
        """
        if result.hidden:
            self._hidden[seq] = result.hidden

    def hidden_beside(self, seqs: Iterable[int | None]) -> list[tuple[str, ...]]:
        """Returns which texts of this message must not be shown beside the given messages.

        The texts are given by their paths.

        Args:
            seqs: the numbers of the recorded messages; None is ignored.
        """
        return [place for seq in seqs if seq in self._hidden for place in self._hidden[seq]]

    @property
    def raw(self) -> bytes:
        """The message as it was sent."""
        return self.message.raw or b""

    @property
    def token(self) -> str:
        """The id of the message as JSON; ``null`` if it has no id."""
        return self.message.rpc_id or "null"


class MessageComparer:
    """Reads recorded messages, and compares them with live messages and with each other."""

    def __init__(
        self, script: Script, bindings: Bindings, ignored: tuple[str, ...], masking: MessageMask
    ) -> None:
        self._masking = masking
        self._script = script
        self._bindings = bindings
        self._comparer = Comparer(bindings, ignored)
        self._unbound = Comparer(Bindings(), ignored)

    def raw(self, step: Step) -> bytes:
        """Returns the bytes of a recorded message, which may be a member of a batch."""
        return self._script.wire(step.seq).message_of(step)

    def value(self, step: Step) -> Any:
        """Returns a recorded message without its secrets, decoded."""
        return self._masking.value(self.raw(step), places_of(step.kind, step.method))

    def compare(self, step: Step, live: ClientMessage) -> Comparison:
        """Compares a recorded message with a live message.

        Args:
            step: the recorded message.
            live: the live message, of the same kind and method.
        """
        recorded = self.value(step)
        if step.kind in ("invalid", "blank") or recorded is None or live.value is None:
            lines = self.raw(step), live.raw
            if lines[0] == lines[1]:
                return Comparison()
            old, new = (self._masking.masked(line).decode(errors="replace") for line in lines)
            if old == new:
                return Comparison([Difference("", shown(old), shown(new))])
            result = self._comparer.values(old, new)
            live.hide(step.seq, result)
            return result
        comparison = _compared(self._comparer, step, recorded, live.value)
        live.hide(step.seq, comparison)
        # A request binds the session that it opens; a fork names the session to copy.
        is_opened = step.names_session and not step.is_reply and step.method != FORK
        if step.method in OPENING and is_opened:
            old, new = step.session or "", live.message.session or ""
            comparison = comparison.without(SESSION_ID)
            if self._bindings.live(Place.SESSION, old) != new:
                comparison.proposals.append((Place.SESSION, old, new))
        return comparison

    def are_alike(self, first: Step, other: Step) -> bool:
        """Returns whether two recorded messages differ only in their session.

        Args:
            first: a recorded message.
            other: another recorded message.
        """
        if (first.kind, first.method) != (other.kind, other.method):
            return False
        values = (json_or_none(self.raw(step)) for step in (first, other))
        result = _compared(self._unbound, first, *values)
        return result.is_match if first.is_reply else not result.without(SESSION_ID).differences


def _compared(comparer: Comparer, step: Step, recorded: Any, live: Any) -> Comparison:
    if step.is_reply:
        return comparer.results(recorded, live, places_of("response", step.method))
    return comparer.params(step.method, recorded, live, places_of(step.kind, step.method))


@frozen(kw_only=True)
class ReplayOptions(PlaybackOptions):
    """How to play the recorded agent."""

    inert: bool = False
    """Whether the client gets only requests to read a file or to ask a person."""
    allow_outside: bool = False
    """Whether the client may be asked to change files or run commands outside its directories."""


class ReplayState:
    """The state shared by the classes of a replay."""

    def __init__(self, script: Script, options: ReplayOptions) -> None:
        self.script = script
        self.options = options
        self.masking = MessageMask(script.redaction)
        self.bindings = Bindings(secrets=SecretPairs(are_echoed=self.masking.is_recorded))
        self.effects = WithheldEffects(script)
        self.schedule = ReplaySchedule(script, options.order, self.effects)
        self.requests = OpenRequests(script.dialect)
        self.divergences = DivergenceLog(self.masking)
        self.comparer = MessageComparer(script, self.bindings, options.ignored, self.masking)
        self.scheduler = FrameScheduler(script, self.schedule, self.requests, options)
