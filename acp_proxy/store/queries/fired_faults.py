"""Queries of the effects of faults, and of the frames that reached the client.

A recording with faults contains every frame that a peer sent, even if the frame never arrived. The
client received the delivered frames of the agent, and the injected frames.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.store.rows import Rows
from acp_proxy.store.tables.checked_values import Row
from acp_proxy.store.tables.schema import DELIVERED_CODES, STREAM_CODES

_LOST = f"""
SELECT seq FROM frame_rows
WHERE flags & 3 = {STREAM_CODES[Stream.TO_CLIENT]} AND fault IS NOT NULL
  AND (flags >> 4) & 3 = {DELIVERED_CODES["none"]}
"""
_DELIVERED = """
SELECT delivered FROM faults_fired
WHERE seq = ? AND received IS NOT NULL ORDER BY rowid DESC LIMIT 1
"""


class LostAnswer(NamedTuple):
    """An answer that never reached its receiver, or arrived broken, because of a fault."""

    method: str | None
    request_seq: int
    response_seq: int
    rule: str
    is_broken: int
    """1 for an answer that arrived as invalid JSON, otherwise 0."""


class FaultedFrames:
    """The frames that faults withheld, injected or replaced.

    Args:
        connection: the recording, with all of its rows in the main tables.

    Attributes:
        lost: the numbers of the agent's frames that never arrived.
        injected: the numbers of the frames that faults injected.
        changed: the numbers of the frames that faults replaced, perhaps by the same bytes.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        sql = "SELECT seq, received IS NULL, delivered IS NOT NULL FROM faults_fired"
        fired = connection.execute(sql).fetchall()
        self.injected = {seq for seq, is_injected, _ in fired if is_injected}
        self.changed = {
            seq for seq, is_injected, has_arrived in fired if has_arrived and not is_injected
        }
        self.lost = {seq for (seq,) in connection.execute(_LOST)} if fired else set()

    def reached_client(self, seq: int, *, from_agent: bool) -> bool:
        """Whether a frame belongs to the conversation as the client saw it.

        Args:
            seq: the number of the frame.
            from_agent: whether the agent sent the frame. A frame of the agent counts if it arrived.
                A frame of the client counts if no fault injected it.
        """
        return seq not in (self.lost if from_agent else self.injected)

    def delivered(self, seq: int) -> tuple[bytes, str]:
        """Returns the bytes that were delivered for a changed frame, and their line ending."""
        (data,) = self._connection.execute(_DELIVERED, (seq,)).fetchone()
        if not isinstance(data, bytes):
            raise TypeError(f"frame {seq}: expected delivered bytes, got {type(data).__name__}")
        for newline in ("\r\n", "\n"):
            if data.endswith(newline.encode()):
                return bytes(data[: -len(newline)]), newline
        return bytes(data), ""


def fired_faults(rows: Rows) -> Iterator[Row]:
    """Yields the received and the delivered bytes of each fired fault."""
    return rows.query("SELECT seq, received, delivered FROM faults_fired ORDER BY seq, rowid")


def has_fired_faults(rows: Rows) -> bool:
    """Whether a fault had any effect, on a frame or otherwise."""
    sql = (
        "SELECT 1 AS n WHERE EXISTS (SELECT 1 FROM faults_fired)"
        " OR EXISTS (SELECT 1 FROM events WHERE kind = 'fault')"
    )
    return any(True for _ in rows.query(sql))


def fired_counts(rows: Rows) -> dict[str, int]:
    """Returns how often each rule fired, by name, in the order in which the rules first fired."""
    sql = (
        "SELECT rule, count(*) AS n FROM faults_fired WHERE received IS NOT NULL"
        " GROUP BY rule ORDER BY min(seq)"
    )
    return {str(row["rule"]): row["n"] for row in rows.query(sql)}


class FrameEffect(NamedTuple):
    """One kind of effect that a rule had on frames."""

    rule: str
    action: str
    effect: str
    """made (injected), withheld, changed or same. A frame that was only delayed counts as same."""
    frames: int


def rule_effects(rows: Rows, most: int) -> list[FrameEffect]:
    """Returns the effects of rules on frames, in the order in which they first occurred.

    Args:
        rows: the recording.
        most: the largest number of effects.
    """
    is_same = (
        "length(delivered) BETWEEN length(received) AND length(received) + 2"
        " AND substr(delivered, 1, length(received)) = received"
    )  # except for the line ending
    sql = (
        "SELECT rule, action, CASE WHEN received IS NULL THEN 'made' WHEN delivered IS NULL"
        f" THEN 'withheld' WHEN {is_same} THEN 'same' ELSE 'changed' END AS effect, count(*) AS n"
        f" FROM faults_fired GROUP BY rule, action, effect ORDER BY min(seq) LIMIT {most}"
    )
    return [
        FrameEffect(str(row["rule"]), str(row["action"]), row["effect"], row["n"])
        for row in rows.query(sql)
    ]


def frames_of_rule(rows: Rows, rule: str, most: int) -> list[int]:
    """Returns the numbers of the first frames that a rule fired on or injected.

    Args:
        rows: the recording.
        rule: the name of the rule.
        most: the largest number of frames.
    """
    sql = f"SELECT DISTINCT seq FROM faults_fired WHERE rule = ? ORDER BY seq LIMIT {most}"
    return [row["seq"] for row in rows.query(sql, (rule,))]


def count_undated_frames(rows: Rows) -> int:
    """Counts the frames that a fault touched and that were delivered at an unknown time."""
    sql = (
        "SELECT count(DISTINCT seq) AS n FROM faults_fired"
        " WHERE delivered IS NOT NULL AND late_ns IS NULL"
    )
    return int(next(rows.query(sql))["n"])


def injected_frames(rows: Rows) -> dict[int, str]:
    """Returns the numbers of the injected frames, each with the name of the injecting rule."""
    sql = "SELECT seq, rule FROM faults_fired WHERE received IS NULL"
    return {row["seq"]: str(row["rule"]) for row in rows.query(sql)}


def withheld_frames(rows: Rows, seqs: Iterable[int]) -> dict[int, str]:
    """Returns the frames that a fault kept from their receiver, each with the name of the rule.

    Args:
        rows: the recording.
        seqs: the numbers of the frames to consider.
    """
    sql = (
        "SELECT seq, fault FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
        " AND fault IS NOT NULL AND delivered = 'none'"
    )
    return {row["seq"]: str(row["fault"]) for row in rows.query(sql, (json.dumps([*seqs]),))}


def lost_answers(rows: Rows, most: int) -> list[LostAnswer]:
    """Returns the first answers that did not arrive, or arrived broken, because of a fault.

    Args:
        rows: the recording.
        most: the largest number of answers.
    """
    sql = (
        "SELECT e.method, e.request_seq, e.response_seq, f.fault, f.delivered != 'none' AS broken"
        " FROM exchanges AS e JOIN frames AS f ON f.seq = e.response_seq"
        " WHERE f.fault IS NOT NULL AND (f.delivered = 'none' OR EXISTS (SELECT 1 FROM faults_fired"
        " WHERE seq = f.seq AND received IS NOT NULL AND NOT json_valid(CAST(delivered AS TEXT))))"
        f" ORDER BY e.id LIMIT {most}"
    )
    return [LostAnswer(*row.values()) for row in rows.query(sql)]


def touched_frames(rows: Rows) -> set[int]:
    """Returns the numbers of all frames on which a fault fired, or that a fault injected."""
    return {row["seq"] for row in rows.query("SELECT seq FROM faults_fired")}


def undelivered_frames(rows: Rows, stream: str, span: tuple[int, int], most: int) -> list[int]:
    """Returns the numbers of frames that were not delivered completely.

    Args:
        rows: the recording.
        stream: ``to-agent``, ``to-client`` or ``stderr``.
        span: the first and the last number to consider.
        most: the largest number of frames.
    """
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND stream = ? AND delivered != 'full'"
        f" ORDER BY seq LIMIT {most}"
    )
    return [row["seq"] for row in rows.query(sql, (*span, stream))]
