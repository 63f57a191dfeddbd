"""What a report allows its own page to do: its own script and style, a worker, nothing else.

The policy stands in the page itself, before anything that comes from a recording. A browser then
loads nothing from anywhere, runs no other script, also none in an attribute or a link, and never
reads text as HTML. So even a mistake in the page gives recorded text no power.
"""

import base64
import hashlib
from collections.abc import Iterable

TYPE_POLICIES = "acp-report-script acp-report-worker"
"""The only policies of Trusted Types: one makes the page's script, one the URL of its worker."""


def source_hash(text: str) -> str:
    """Returns what a policy calls an inline script or style.

    Args:
        text: all of it, between the tags.
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def content_policy(scripts: Iterable[str], style: str) -> str:
    """Returns the content security policy of a report.

    Args:
        scripts: the texts of its scripts.
        style: the text of its style.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(source_hash, scripts))}",
            f"style-src {source_hash(style)}",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            f"trusted-types {TYPE_POLICIES}",
        )
    )
