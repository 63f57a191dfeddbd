"""Recognizes failures around an agent: its launcher, its installation, a login, the network.

Neither peer breaks a rule then, and the conversation alone shows an agent that dies or fails. What
tells is the exit code, a first message that never came, and words on stderr or in an error.
"""

import re
from pathlib import PurePath

from acp_proxy.inspection.diagnosis.context import DiagnosisContext
from acp_proxy.recording import RecordedEvent
from acp_proxy.safe_text import plain
from acp_proxy.store.frame_queries import Span, last_stderr_lines

LAUNCHERS = (
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "nix",
)  # fmt: skip
"""Programs that fetch an agent before they start it."""
_LINES, _SIZE = 40, 2_000
_NEVER_RAN = (126, 127, 255)
"""Exit codes with which shells, launchers and the dynamic loader say that nothing was started."""
_REASONS = (
    (
        "a login is missing",
        r"not (?:logged|signed) in|(?:login|authentication) flow|unauthenticated|unauthori[sz]ed"
        r"|(?:please|need to|must|to) (?:log|sign) ?in\b|log ?in (?:first|required|failed)"
        r"|authenticat\w+ (?:required|failed|error)|\b401\b"
        r"|(?:invalid|missing|expired|no) (?:api.?key|token|credentials)"
        r"|api.?key (?:is |was )?(?:not|missing|invalid|required)"
        r"|(?:token|session|login) (?:has )?expired|\w+_(?:API_KEY|TOKEN)\b.* (?:not set|required)",
    ),
    (
        "the network failed",
        r"\b(?:ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b"
        r"|getaddrinfo|network error|network is unreachable|could not resolve|name resolution"
        r"|connection (?:refused|reset|timed out|error)|fetch failed|certificate|tls handshake"
        r"|proxy error|error sending request|socket hang up",
    ),
    (
        "the model's provider refused",
        r"rate.?limit|\b(?:429|502|503|529)\b|quota|overloaded|credit balance|billing|usage limit"
        r"|(?:insufficient|out of) (?:credit|balance|funds)|service unavailable",
    ),
    (
        "the agent is not installed as it should be",
        r"command not found|ENOENT|failed to execute|cannot execute|no such file or directory"
        r"|cannot find (?:module|package)|not found: |error while loading shared librar"
        r"|version `GLIBC|npm err(?:or|!)|ModuleNotFoundError|ERR_MODULE_NOT_FOUND|bad interpreter"
        r"|exec format error|permission denied|not recognized as an internal",
    ),
    (
        "the command is no ACP agent",
        r"\busage:|(?:unknown|unrecognized) (?:option|command|argument|flag)|known options"
        r"|unexpected argument|invalid (?:option|choice|subcommand)|no such (?:option|command)"
        r"|not a terminal|reading (?:prompt|input) from stdin|input must be provided",
    ),
)
LOGIN_OR_NETWORK = tuple(reason for reason, _ in _REASONS[:3])
"""Reasons for which a request that the agent has taken can fail."""
_KINDS = "invalid_request|authentication|permission|rate_limit|overloaded|api|server"
PROVIDERS_ERROR = re.compile(rf"\b(?:type|code)\W{{1,9}}(?:(?:{_KINDS})_error|rate_limit)\b")
"""A member of the error of a model's provider, also where it is JSON within a string."""
_NO_AGENT = _REASONS[-1][0]
_POINTER = "complete log of this run"
"""What npm says at the end, where it does not say what has failed."""
_PATTERNS = [(reason, re.compile(pattern, re.IGNORECASE)) for reason, pattern in _REASONS]


def outside_reason(text: str) -> str | None:
    """Returns what of the environment a text says has failed; None if it says nothing of it.

    Args:
        text: a line of stderr, or the message of an error.
    """
    return next((reason for reason, pattern in _PATTERNS if pattern.search(text)), None)


def stderr_line(context: DiagnosisContext, span: Span | None = None) -> tuple[str | None, str]:
    """Returns what the agent's stderr says has failed around it, and the line that says so.

    Without such a line it is the last line, which is empty if there is none.

    Args:
        context: the recording.
        span: the first and the last frame that count; None for all.
    """
    among = None if span is None else context.stderr_within(span)
    if among == []:
        return None, ""
    lines = [plain(raw.decode(errors="replace")).strip()
             for raw in last_stderr_lines(context.reader, _LINES, _SIZE, among)]  # fmt: skip
    lines = [line for line in lines if _POINTER not in line] or lines
    for line in reversed(lines):
        if (reason := outside_reason(line)) is not None:
            return reason, line
    return None, next((line for line in reversed(lines) if line), "")


def why_it_never_ran(context: DiagnosisContext, exit_: RecordedEvent) -> str | None:
    """Returns why an agent that ended without a message was none of ours to blame; or None.

    Args:
        context: the recording.
        exit_: the end of the agent.
    """
    if "reason" in exit_.data:
        return "it could not be started"
    reason, _ = stderr_line(context)
    if context.first_of_agent is not None or exit_.data.get("signal") is not None:
        is_outside = reason is not None and exit_.data.get("code") not in (0, None)
        return reason if is_outside and reason != _NO_AGENT else None
    if exit_.data.get("code") in _NEVER_RAN:
        return reason or "nothing was started"
    if any(lines.stream == "to-client" for lines in context.invalid_lines):
        return _NO_AGENT
    return reason


def launcher(context: DiagnosisContext) -> str | None:
    """Returns the program that fetches the agent before it starts it; None if there is none."""
    names = [PurePath(word).name for word in context.recording.words[:1]]
    return next((name for name in names if name in LAUNCHERS), None)
