"""The options and the state of one replay."""

from attrs import frozen

from acp_proxy.playback.replay.frame_scheduler import FrameScheduler
from acp_proxy.playback.replay.message_comparison import MessageComparer
from acp_proxy.playback.replay.replay_requests import OpenRequests
from acp_proxy.playback.replay.schedule import ReplaySchedule
from acp_proxy.playback.replay.withholding import WithheldEffects
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.divergence import DivergenceLog
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.shared.playback_options import PlaybackOptions
from acp_proxy.playback.shared.secret_pairs import SecretPairs
from acp_proxy.recording.steps import Script


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
