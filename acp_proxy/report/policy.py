"""What a report allows its own page to do: its one script, its one style, a worker, nothing else.

The policy stands in the page itself, before anything that comes from a recording. A browser then
loads nothing from anywhere, runs no other script, also none in an attribute or a link, and never
reads text as HTML. So even a mistake in the page gives recorded text no power.
"""

import base64
import hashlib

WORKER_POLICY = "acp-report-worker"
"""The name of the only policy of Trusted Types, which makes the URL of the worker."""


def source_hash(text: str) -> str:
    """Returns what a policy calls an inline script or style.

    Args:
        text: all of it, between the tags.
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def content_policy(script: str, style: str) -> str:
    """Returns the content security policy of a report.

    Args:
        script: the text of its script.
        style: the text of its style.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {source_hash(script)}",
            f"style-src {source_hash(style)}",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            f"trusted-types {WORKER_POLICY}",
        )
    )
