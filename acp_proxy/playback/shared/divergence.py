"""Divergences: where a client or an agent diverged from the recording, and how.

The first divergence of a lane is primary. Later divergences of the lane are cascades: they are
probably consequences of the first. After a failed handshake every divergence is a cascade.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import inf
from typing import Protocol

from attrs import evolve, frozen

from acp_proxy.base.limits import DESCRIPTION, EXAMPLES, REMEMBERED, SENTENCE
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.shared.secret_pairs import SecretPair

ERROR_CODE = -31999
"""The error code of the answer to a request that diverged. The code is outside of the range that
JSON-RPC reserves, from -32768 to -32000."""

SHOWN = 12
"""The largest number of divergences that a text shows; the report file has all of them."""


class DivergenceKind(StrEnum):
    """The kinds of divergences."""

    UNMATCHED = "unmatched"
    EXHAUSTED = "exhausted"
    PARAMS_DIFFER = "params-differ"
    OUTCOME_DIFFERS = "outcome-differs"
    UNEXPECTED_NOTIFICATION = "unexpected-notification"
    UNKNOWN_REPLY_ID = "unknown-reply-id"
    MISSING_EXPECTED = "missing-expected"
    UNPLAYED = "unplayed"
    STALL = "stall"
    BINDING_CONFLICT = "binding-conflict"
    UNRECORDED_CANCEL = "unrecorded-cancel"
    MALFORMED_INPUT = "malformed-input"
    ANSWERED_TWICE = "answered-twice"
    AGENT_LEFT = "agent-left"
    FLOOD = "flood"
    SERVED = "served"
    EARLY = "early"
    LATE = "late"
    DRIFT = "drift"
    UNANSWERED = "unanswered"
    MASKED = "masked"
    PERMISSION_DIFFERS = "permission-differs"
    WITHHELD = "withheld"
    DROPPED = "dropped"


INFORMATION = {
    DivergenceKind.EARLY,
    DivergenceKind.LATE,
    DivergenceKind.DRIFT,
    DivergenceKind.UNANSWERED,
    DivergenceKind.SERVED,
    DivergenceKind.MASKED,
    DivergenceKind.WITHHELD,
    DivergenceKind.DROPPED,
}
"""Kinds that are reported for information and do not count as failures."""


_EXCUSED = {"missing-expected", "unplayed", "unrecorded-cancel"}
"""Kinds of divergences that may be consequences of a message that a fault dropped."""
_LAST = 1 << 62
"""A frame number that is higher than all others."""


class Rank(StrEnum):
    """The meaning of a divergence for the verdict."""

    PRIMARY = "primary"
    CASCADE = "cascade"
    """Probably a consequence of the primary divergence of its lane."""
    INFO = "info"


@frozen
class NearMiss:
    """A recorded message that nearly matched the message that came."""

    seq: int
    method: str
    differences: tuple[Difference, ...]
    is_played: bool
    """Whether an earlier message of the peer has already matched this recorded message."""


@frozen
class Divergence:
    """One divergence: what was recorded, and what the live peer did."""

    kind: DivergenceKind
    rank: Rank
    lane: str
    """The id of the recorded session; ``connection`` for the connection's lane."""
    summary: str
    """The divergence in one sentence."""
    seq: int | None = None
    """The number of the recorded frame that was expected, if any."""
    line: int | None = None
    """The number of the peer's line, counted from 1."""
    came: str | None = None
    """The beginning of the peer's line."""
    differences: tuple[Difference, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    at_ms: float = 0.0
    """Milliseconds since the replay began."""

    @property
    def closest(self) -> tuple[Difference, ...]:
        """How the peer's line differs from the expected frame, or else from the nearest frame."""
        return self.differences or (self.near_misses[0].differences if self.near_misses else ())

    @property
    def ignores(self) -> tuple[str, ...]:
        """Options that make the command ignore the differences, ready to paste."""
        if self.kind is not DivergenceKind.PARAMS_DIFFER:
            return ()
        return tuple(f"--ignore {difference.pointer}" for difference in self.closest[:5])


class DivergingLane(Protocol):
    """The part of a lane that `DivergenceLog` uses. Each object counts as a separate lane."""

    @property
    def title(self) -> str:
        """The lane's name in reports."""


class DivergenceLog:
    """Keeps and ranks the divergences of one replay or verification.

    Args:
        masking: masks messages of the peer in the divergences.
    """

    def __init__(self, masking: MessageMask) -> None:
        self._masking = masking
        self._not_compared: set[str] = set()
        self.found: list[Divergence] = []
        self.left_out = 0
        """How many divergences were noted but not kept."""
        self.has_diverged = False
        """Whether a divergence was noted that counts as a failure."""
        self.has_stalled = False
        self.latest: dict[DivergingLane, Divergence] = {}
        """The latest divergence that counts as a failure, by lane."""
        self._handshake_failed = False
        self._excused_from = inf
        """The number of the first frame that a fault dropped; infinity if no frame was dropped."""
        self._began: int | None = None
        self._now = 0

    def set_time(self, at: int) -> None:
        """Sets the time of the next divergences; the first call sets the start of the replay."""
        self._began = at if self._began is None else self._began
        self._now = at

    def excuse(self, seq: int) -> None:
        """Notes that a fault dropped a frame; divergences that may follow from it do not count."""
        self._excused_from = min(seq, self._excused_from)

    def note(
        self,
        kind: DivergenceKind,
        lane: DivergingLane,
        summary: str,
        *,
        seq: int | None = None,
        line: int | None = None,
        came: bytes | None = None,
        differences: tuple[Difference, ...] = (),
        near_misses: tuple[NearMiss, ...] = (),
        hidden: Iterable[tuple[str, ...]] = (),
        of_handshake: bool = False,
        is_harmless: bool = False,
    ) -> Divergence:
        """Ranks a divergence, keeps it and returns it.

        Args:
            kind: the kind of the divergence.
            lane: the lane in which the divergence happened.
            summary: the divergence in one sentence.
            seq: the number of the recorded frame.
            line: the number of the peer's line, counted from 1.
            came: the peer's line.
            differences: the differences between the line and the recorded frame.
            near_misses: recorded messages that are similar to the line.
            hidden: the paths of texts in the line that are not shown, since they may be secrets.
            of_handshake: whether the divergence is in the handshake. It then counts as the cause of
                all later divergences.
            is_harmless: whether this divergence is only reported, although other divergences of its
                kind make the replay fail.
        """
        came = None if came is None else self._masking.came(came, hidden)
        divergence = Divergence(
            kind=kind,
            rank=Rank.INFO if is_harmless else self._rank(kind, lane, seq, of_handshake),
            lane=lane.title,
            summary=summary,
            seq=seq,
            line=line,
            came=None if came is None else came[:DESCRIPTION].decode(errors="replace"),
            differences=differences,
            near_misses=near_misses,
            at_ms=round((self._now - (self._began or 0)) / 1e6, 3),
        )
        divergence = self._without_secrets(divergence)
        if divergence.rank is not Rank.INFO:
            self.latest[lane] = divergence
        if divergence.rank is Rank.PRIMARY or len(self.found) < REMEMBERED:
            self.found.append(divergence)
        else:
            self.left_out += 1
        return divergence

    def masked(self, known: Mapping[str, str]) -> tuple[Divergence, ...]:
        """Returns the divergences, masked again with all secrets that are known by now.

        Args:
            known: secrets of the recording, each with a marker.
        """
        if self.found:
            self._masking.learn(known)
        return tuple(map(self._without_secrets, self.found))

    def _without_secrets(self, divergence: Divergence) -> Divergence:
        came = divergence.came
        if came is not None:
            came = self._masking.shown(came, is_cut=len(came.encode()) > DESCRIPTION - 4)
        return evolve(
            divergence,
            summary=self._masking.shown(divergence.summary),
            came=came,
            differences=self._masked_differences(divergence.differences),
            near_misses=tuple(
                evolve(miss, differences=self._masked_differences(miss.differences))
                for miss in divergence.near_misses
            ),
        )

    def _masked_differences(self, differences: tuple[Difference, ...]) -> tuple[Difference, ...]:
        shown = self._masking.shown
        return tuple(
            evolve(
                difference,
                recorded=shown(difference.recorded),
                live=shown(difference.live),
                recorded_as=difference.recorded_as and shown(difference.recorded_as),
            )
            for difference in differences
        )

    def note_masked(self, pairs: Iterable[SecretPair], lane: DivergingLane, seq: int) -> None:
        """Notes the secrets that were not compared, each secret only at its first occurrence.

        Args:
            pairs: the pairs of secrets in a matched message.
            lane: the lane of the message.
            seq: the number of the recorded frame.
        """
        is_recorded = self._masking.is_recorded
        for pair in pairs:
            if pair.is_text:
                self._masking.note_pair(pair.live[1:], pair.marker)
            is_new = not pair.is_same and pair.recorded not in self._not_compared
            if is_new and (is_recorded or not pair.is_free):
                self._not_compared.add(pair.recorded)
                summary = f"{pair.pointer} #{seq}: {pair.marker} is masked, and was not compared"
                self.note(DivergenceKind.MASKED, lane, summary, seq=seq)

    def _rank(
        self, kind: DivergenceKind, lane: DivergingLane, seq: int | None, of_handshake: bool
    ) -> Rank:
        is_excused = kind in _EXCUSED and (seq or _LAST) >= self._excused_from
        if kind in INFORMATION or is_excused:
            return Rank.INFO
        follows = lane in self.latest or self._handshake_failed
        self.has_diverged = True
        self.has_stalled |= kind is DivergenceKind.STALL
        self._handshake_failed |= of_handshake
        return Rank.CASCADE if follows else Rank.PRIMARY


def masked_lines(divergences: Iterable[Divergence]) -> list[str]:
    """Returns a line for each secret that was not compared."""
    return summaries(divergences, DivergenceKind.MASKED)


def summaries(divergences: Iterable[Divergence], kind: DivergenceKind) -> list[str]:
    """Returns lines for the divergences of one kind; after `SHOWN` lines, one line counts the rest.

    Args:
        divergences: divergences of any kind.
        kind: the kind to list.
    """
    lines = [entry.summary for entry in divergences if entry.kind is kind]
    rest = len(lines) - SHOWN
    return lines[:SHOWN] + ([f"... and {rest} more are {kind}"] if rest > 0 else [])


def root_cause(divergences: Iterable[Divergence]) -> Divergence | None:
    """Returns the first primary divergence, else the first divergence that counts, else None."""
    counting = [entry for entry in divergences if entry.rank is not Rank.INFO]
    primary = (entry for entry in counting if entry.rank is Rank.PRIMARY)
    return next(primary, counting[0] if counting else None)


@frozen
class DivergenceReporter:
    """Formats the divergences of one peer as text for the terminal and for JUnit."""

    peer: str
    """The peer that diverged: ``client`` or ``agent``."""

    def blocks(self, divergences: Sequence[Divergence], left_out: int) -> list[list[str]]:
        """Formats the divergences that count: first the primary divergences, then the cascades.

        Args:
            divergences: the divergences that were kept.
            left_out: how many divergences were not kept; a last block counts all that are not
                shown.
        """
        ranked = {rank: [d for d in divergences if d.rank is rank] for rank in Rank}
        counting = ranked[Rank.PRIMARY] + ranked[Rank.CASCADE]
        shown = [[*self.lines_of(entry)] for entry in counting[:SHOWN]]
        if rest := len(counting) - len(shown) + left_out:
            shown.append([f"... and {rest} more; --report FILE lists them all"])
        return shown

    def lines_of(self, divergence: Divergence) -> Iterator[str]:
        """Yields the lines of one divergence."""
        mark = "follows from that" if divergence.rank is Rank.CASCADE else divergence.rank.value
        yield f"{divergence.kind} in {divergence.lane} ({mark}): {divergence.summary}"
        if divergence.line is not None:
            yield f"  the {self.peer}'s line {divergence.line}: {divergence.came or ''}"[:SENTENCE]
        yield from _differing(divergence.differences, "  ")
        for miss in divergence.near_misses:
            played = ", already matched" if miss.is_played else ""
            yield f"  near: {miss.method} #{miss.seq}{played}"
            yield from _differing(miss.differences, "    ")
        if divergence.ignores:
            yield f"  to let it pass: {' '.join(divergence.ignores)}"


def _differing(differences: tuple[Difference, ...], indent: str) -> Iterator[str]:
    for difference in differences[:EXAMPLES]:
        was = f"recorded {difference.recorded}"
        if difference.recorded_as is not None:
            was = f"expected {difference.recorded} (recorded as {difference.recorded_as})"
        yield f"{indent}{difference.pointer}: {was}, came {difference.live}"
    if len(differences) > EXAMPLES:
        yield f"{indent}... and {len(differences) - EXAMPLES} more"
