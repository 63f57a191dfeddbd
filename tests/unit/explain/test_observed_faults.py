"""`show` says in words what the rules of a fault plan did, and to which frames."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from acp_proxy.explain.observed_faults import FiredRule, read_rules
from acp_proxy.recording.log_format import EFFECT, TO_CLIENT
from acp_proxy.store.queries.fired_faults import touched_frames
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, notification

if TYPE_CHECKING:
    from pathlib import Path

PLAN = "\n".join(
    f'[[fault]]\nkind = "drop"\nname = "{name}"' for name in ("cut", "lose", "slow", "hang", "idle")
)


def test_each_rule_says_what_it_did(tmp_path: Path) -> None:
    """`show` reports what each fault rule did to how many frames, as `withheld 7 frames (drop)`."""
    with LogWriter(tmp_path / "x.db", fault_plan=PLAN) as recorder:
        for n in range(8):
            recorder.to_client(notification("a", n=n))
        recorder.event(EFFECT, TO_CLIENT, rule="hang", action="stall")
        recorder.close()
        recorder.finish()
    fired = [
        (3, "cut", "corrupt", b"xyz", b"\xff"),
        (3, "dup", "duplicate", None, b"copy"),
        *((n, "lose", "drop", b"x", None) for n in range(2, 9)),
        (9, "slow", "latency", b"x", b"x\r\n"),
    ]
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        connection.executemany("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)", fired)
        connection.commit()
    with RecordingReader(recorder.path) as reader:
        assert read_rules(reader) == [
            FiredRule("cut", 1, ["changed 1 frame (corrupt)"], [3]),
            FiredRule("lose", 7, ["withheld 7 frames (drop)"], [2, 3, 4, 5, 6]),
            FiredRule(
                "slow",
                1,
                ["delivered 1 frame late or in pieces, with the same bytes (latency)"],
                [9],
            ),
            FiredRule("hang", 0, ["nothing more passes to-client (#10)"], []),
            FiredRule("idle", 0, [], []),
        ]
        assert len(touched_frames(reader)) == 8
