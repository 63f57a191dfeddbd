"""The state of a verification, in parts that each change only their own data."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer
from acp_proxy.playback.shared.divergence import DivergenceKind, DivergenceLog
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.shared.playback_options import PlaybackOptions
from acp_proxy.playback.shared.secret_pairs import SecretPairs
from acp_proxy.playback.verify.known_files import KnownFiles
from acp_proxy.playback.verify.lane import ClientFrame, ClientLane
from acp_proxy.playback.verify.permission_match import PermissionMatcher
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.session_map import SessionMap
from acp_proxy.playback.verify.stream_progress import AgentOutput
from acp_proxy.playback.verify.verify_requests import AnswerQueue, Patience, PendingAnswers


@frozen(kw_only=True)
class VerifyOptions(PlaybackOptions):
    """How to play the client.

    A lenient client answers a request like the nearest recorded request of its method. It answers a
    permission request that has only a title like the recorded request with that title.
    """

    roots: Mapping[str, str] = field(factory=dict)
    """The live names of the directories that the recorded client chose."""
    secrets: Mapping[str, str] = field(factory=dict, repr=False)
    """Secrets that the client sends in place of markers, each with its marker."""
    timeout_ns: int | None = None
    """The longest duration of the whole verification in nanoseconds; None for no limit."""


class VerifyState:
    """The parts of the state: knowledge of both sides, and what each still has to do."""

    def __init__(self, recording: RecordedClient, options: VerifyOptions) -> None:
        self.recording = recording
        self.options = options
        self.masking = MessageMask(recording.script.redaction, options.secrets)
        pairs = SecretPairs(are_echoed=self.masking.is_recorded)
        self.bindings = Bindings(roots=dict(options.roots), secrets=pairs)
        self.comparer = Comparer(self.bindings, options.ignored)
        self.divergences = DivergenceLog(self.masking)
        self.output = AgentOutput()
        self.patience = Patience(options.stall_ns)
        self.pending = PendingAnswers(recording)
        self.answers = AnswerQueue(recording, self.patience)
        self.sessions = SessionMap(recording.lanes, self.bindings, recording.joined.items())
        self.permissions = PermissionMatcher(recording, self.bindings, self.masking)
        self.files = KnownFiles(recording, self.bindings)

    @property
    def now(self) -> int:
        """The time of the latest event, in nanoseconds."""
        return self.patience.now

    def abandon(self, lane: ClientLane) -> None:
        """Abandons a lane unless it is abandoned already, and reports its unsent frames."""
        if lane.is_abandoned:
            return
        left = lane.abandon()
        for step in (step for frame in left for step in frame.steps):
            if step.exchange is not None:
                self.pending.settle(step.exchange)
        self.note_unsent(frame for frame in left if not frame.is_answer)

    def note_unsent(self, frames: Iterable[ClientFrame]) -> None:
        """Reports frames of a lane that were not sent, if any; they are in recorded order."""
        if unsent := [*frames]:
            what = "message was" if len(unsent) == 1 else "messages were"
            first = unsent[0]
            summary = f"{len(unsent)} {what} not sent, from {first.title} on"
            kind, lane = DivergenceKind.UNPLAYED, first.lane
            self.divergences.note(kind, lane, summary, seq=first.seq)

    def note_unasked(self) -> None:
        """Reports answers that were recorded before their request or without a request."""
        for reply in self.recording.unasked:
            step = reply.step
            if step.exchange is None:
                summary = f"the answer #{step.seq} has no request in the recording; it is not sent"
            else:
                summary = f"{step.title} #{step.seq} was recorded before its request; it is sent"
                summary += " when the request comes"
            self.divergences.note(DivergenceKind.WITHHELD, reply.lane, summary, seq=step.seq)
