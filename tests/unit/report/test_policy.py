"""`report.policy`: the page may run its own script, and nothing else."""

from __future__ import annotations

import base64
import hashlib

from acp_proxy.report.policy import content_policy

SCRIPT, STYLE = "let a = 'ä';", "a { b: c }"


def sha256(text: str) -> str:
    """The hash of a text, as a policy has it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_nothing_is_allowed_but_the_two() -> None:
    """By their hashes; a worker, and the one policy that makes its URL."""
    policy = dict(
        part.split(" ", 1) for part in content_policy((SCRIPT, SCRIPT), STYLE).split("; ")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": f"'{sha256(SCRIPT)}' '{sha256(SCRIPT)}'",
        "style-src": f"'{sha256(STYLE)}'",
        "worker-src": "blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "acp-report-script acp-report-worker",
    }
