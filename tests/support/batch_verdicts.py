"""Makes the verdicts that a batch writes for recordings."""

from __future__ import annotations

from typing import Any

from acp_proxy.batches.results import FirstDivergence, JobVerdict, VerdictKind

EXITS = {
    VerdictKind.CLEAN: 0,
    VerdictKind.DIFFERS: 1,
    VerdictKind.BROKEN_RULES: 1,
    VerdictKind.FINDINGS: 1,
    VerdictKind.FAILED: 1,
    VerdictKind.STALLED: 3,
    VerdictKind.LOST: 3,
    VerdictKind.UNREADABLE: 2,
}
FINDING: dict[str, Any] = {
    "rule": "rpc.unanswered",
    "severity": "error",
    "by": "agent",
    "seq": 6,
    "related": [],
    "place": None,
    "text": "the agent ended before it answered session/prompt",
    "method": "session/prompt",
    "session": "s-1",
    "turn": 1,
    "source": ["documentation: Overview/Communication Model"],
    "line": 7,
    "fingerprint": "0123456789abcdef",
    "known": False,
}
"""The findings of a check, as a verdict lists them."""


def verdict(
    recording: str, kind: VerdictKind = VerdictKind.CLEAN, text: str | None = None, **members: Any
) -> JobVerdict:
    """Returns the verdict of `verify` on a recording.

    Args:
        recording: the name of the recording.
        kind: the kind of the verdict.
        text: the text of the first divergence, if there is one.
        **members: other members of the verdict.
    """
    given: dict[str, Any] = {
        "command": "verify",
        "digest": "d",
        "exit": EXITS.get(kind, 2),
        "seconds": 1.5,
    }
    first = None if text is None else FirstDivergence(13, text)
    return JobVerdict(recording=recording, kind=kind, first_divergence=first, **given | members)
