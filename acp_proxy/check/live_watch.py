"""Watches a running recording for silences of the agent that are too long, and for errors."""

from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.checker import Checker
from acp_proxy.check.judgement import check_whole, merged
from acp_proxy.explain.findings import Severity, in_order
from acp_proxy.explain.message_pass import PAUSE_NS, MessagePass
from acp_proxy.explain.show.checks import run_checks
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.summary import finished
from acp_proxy.explain.show.unanswered import hang_text, hangs
from acp_proxy.explain.waits import SilenceLimits
from acp_proxy.store.reader import RecordingReader

CALL_S = 600.0
"""Seconds of silence that are too long while a tool call is running."""


class LiveWatch:
    """Reads what is new in a recording, and finds a silence or an error.

    Args:
        reader: the recording.
        stall_s: seconds of silence that are too long; while a tool call is running, at least
            `CALL_S` are. None to find no silences.
        problem: whether to find errors: broken rules, which are checked for each message once, and
            problems of the whole conversation, which are queries of stored rows.
    """

    def __init__(
        self, reader: RecordingReader, stall_s: float | None, *, problem: bool = False
    ) -> None:
        self._reader, self._problem = reader, problem
        limits = stall_s and SilenceLimits(int(stall_s * 1e9), int(max(stall_s, CALL_S) * 1e9))
        self._limits = limits or None
        self._reported = set[tuple[str | None, int | None]]()
        self._begin()

    def look(self, now_ns: int) -> tuple[str, str] | None:
        """Reads the new frames; the caller has refreshed the reader.

        Args:
            now_ns: the time on the monotonic clock.

        Returns:
            ``stall`` or ``problem``, and a sentence; None if there is neither.
        """
        if self._reader.recording.dialect != self._dialect:  # it shows only after some messages
            self._begin()
        self._messages.play_to(self._checkers, -1 if self._problem else PAUSE_NS)
        context = finished(self._reader, self._messages, now_ns, is_over=False)
        if sentence := self.stall(context):
            return "stall", sentence
        if self._problem and (sentence := self._first_error(context)):
            return "problem", sentence
        return None

    def stall(self, context: DiagnosisContext) -> str:
        """Returns a sentence about a silence that is too long now; empty without a new one."""
        is_full = any(note.data.get("action") == "full" for note in context.of_kind("note"))
        # The end of a silence may be missing.
        if self._limits is None or is_full or context.of_kind("gap"):
            return ""
        for wait in hangs(context, self._limits).values():
            silence = wait.request.session, wait.last_seq
            if silence not in self._reported:
                self._reported.add(silence)
                return hang_text(context, wait)
        return ""

    def _begin(self) -> None:
        self._dialect = self._reader.recording.dialect
        self._messages = MessagePass(self._reader)
        self._checkers = [Checker(self._reader, messages=self._messages)] if self._problem else []

    def _first_error(self, context: DiagnosisContext) -> str:
        if self._reader.live:
            broken = [finding for checker in self._checkers for finding in checker.broken]
            every = in_order([*broken, *run_checks(context)])
        else:
            every, _ = merged(check_whole(self._reader), chosen_rules((), ()))
        error = next((finding for finding in every if finding.severity is Severity.ERROR), None)
        return f"{error.rule} {error.whose}: #{error.seq}: {error.text}" if error else ""
