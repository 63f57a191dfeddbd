"""What faults did to a conversation, so that nobody else is blamed for it."""

import json
from collections.abc import Iterable
from functools import cached_property

from attrs import define, frozen

from acp_proxy.inspection.diagnosis.course import Happened
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_ENDING = ("exit", "close", "kill", "terminate", "limit-data")
"""Kinds of faults after which an agent is gone."""
_HOLDING = ("stall", "pause", *_ENDING)
"""Kinds of faults after which no answer comes any more."""


@frozen
class LostAnswer:
    """An answer that a fault has kept from who asked."""

    method: str | None
    request_seq: int
    response_seq: int
    rule: str


@define
class Injected:
    """The faults of one recording; reads only what is asked for."""

    reader: RecordingReader
    events: list[Happened]

    @cached_property
    def any_fired(self) -> bool:
        """Whether a rule has done anything."""
        rows = self.reader.query("SELECT 1 AS n FROM faults_fired LIMIT 1")
        return any(True for _ in rows) or any(event.kind == "fault" for event in self.events)

    @cached_property
    def made(self) -> dict[int, str]:
        """The frames that nobody has said, with the rules that made them up."""
        if not self.any_fired:
            return {}
        rows = self.reader.query("SELECT seq, rule FROM faults_fired WHERE received IS NULL")
        return {row["seq"]: plain(str(row["rule"]))[:80] for row in rows}

    def withheld(self, seqs: Iterable[int]) -> dict[int, str]:
        """Which of some frames did not arrive because of a rule, with that rule."""
        wanted = list(seqs)
        if not wanted or not self.any_fired:
            return {}
        sql = (
            "SELECT seq, fault FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
            " AND fault IS NOT NULL AND delivered = 'none'"
        )
        rows = self.reader.query(sql, (json.dumps(wanted),))
        return {row["seq"]: plain(str(row["fault"]))[:80] for row in rows}

    def lost_answers(self) -> list[LostAnswer]:
        """The first answers that a rule has kept from who asked."""
        if not self.any_fired:
            return []
        sql = (
            "SELECT e.method, e.request_seq, e.response_seq, f.fault FROM exchanges AS e"
            " JOIN frames AS f ON f.seq = e.response_seq"
            " WHERE f.fault IS NOT NULL AND f.delivered = 'none' ORDER BY e.id LIMIT 100"
        )
        return [
            LostAnswer(
                row["method"], row["request_seq"], row["response_seq"],
                plain(str(row["fault"]))[:80],
            )
            for row in self.reader.query(sql)
        ]  # fmt: skip

    def that_ended(self, before: int) -> str | None:
        """The rule that has ended the agent, or a direction, before a number; None if none has."""
        return self._acting(_ENDING, before)

    def that_held(self, before: int | None) -> str | None:
        """The rule because of which no answer came any more; None if there is none."""
        return self._acting(_HOLDING, before)

    def _acting(self, actions: tuple[str, ...], before: int | None) -> str | None:
        for event in self.events:
            is_before = before is None or event.seq < before
            if event.kind == "fault" and is_before and event.data.get("action") in actions:
                return plain(str(event.data.get("rule", "a fault")))[:80]
        return None
