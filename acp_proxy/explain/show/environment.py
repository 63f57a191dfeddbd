"""Recognizes failures around an agent: its launcher, its installation, a login, the network.

Neither peer breaks a rule of the protocol in such a failure. Signs of the cause are the exit code,
a first message that never came, and words on stderr or in an error.
"""

import re
from pathlib import PurePath

from acp_proxy.base.wording import plain
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.recording.recording import RecordedEvent
from acp_proxy.store.queries.frames import Span, last_stderr_lines

LAUNCHERS = (
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "nix",
)  # fmt: skip
"""Programs that fetch and start an agent."""
_LINES, _SIZE = 40, 2_000
_NEVER_RAN = (126, 127, 255)
"""Exit codes with which a shell, a launcher or the dynamic loader reports that a start failed."""
_REASONS = (
    (
        "a login is missing",
        r"not (?:logged|signed) in|(?:login|authentication) flow|unauthenticated|unauthori[sz]ed"
        r"|(?:please|need to|must|to) (?:log|sign) ?in\b|log ?in (?:first|(?:is )?required|failed)"
        r"|authenticat\w+ (?:is )?(?:required|failed|error)|not authenticated|\b401\b"
        r"|(?:invalid|missing|expired|revoked|no)"
        r" (?:api.?key|(?:(?:access|bearer|refresh) )?token|credentials|auth(?:entication)?)\b"
        r"|(?:api.?key|credentials) (?:is |was |are |were )?"
        r"(?:not|missing|invalid|required|expired|revoked)"
        r"|(?:token|session|login|credentials) (?:has |have |is |was )?(?:expired|revoked)"
        r"|\w+_(?:API_KEY|TOKEN)\b.* (?:not set|not found|required|must be set|missing)"
        r"|(?:set|specify|provide|export) (?:the |your |a |an )?\w+_(?:API_KEY|TOKEN)\b"
        r"|no (?:model )?provider (?:is )?configured|could not resolve authentication",
    ),
    (
        "the network failed",
        r"\b(?:ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)\b"
        r"|getaddrinfo|network error|network is unreachable|could not resolve|name resolution"
        r"|connection (?:refused|reset|timed out|error)|fetch failed|certificate|tls handshake"
        r"|proxy error|error sending request|socket hang up|\bUND_ERR_\w+|connect timeout"
        r"|stream disconnected|dns error|failed to lookup address|no route to host",
    ),
    (
        "the model's provider refused",
        r"rate.?limit|\b(?:429|502|503|529)\b|quota|overloaded|credit balance|billing|usage limit"
        r"|(?:insufficient|out of) (?:credit|balance|funds)|service unavailable|payment required"
        r"|too many requests|resource.?exhausted|hit your (?:\w+ )?limit|no capacity available",
    ),
    (
        "the system ran out of space, memory or files",
        r"\b(?:ENOSPC|EMFILE|ENFILE|ENOMEM|EROFS)\b|no space left on device|too many open files"
        r"|cannot allocate memory|read-only file system",
    ),
    (
        "the agent is not installed correctly",
        r"command not found|ENOENT|failed to execute|cannot execute|no such file or directory"
        r"|cannot find (?:module|package)|not found: |error while loading shared librar"
        r"|version `GLIBC|npm err(?:or|!)|ModuleNotFoundError|ERR_MODULE_NOT_FOUND|bad interpreter"
        r"|exec format error|permission denied|not recognized as an internal|ImportError"
        r"|failed to locate|executable file not found|program not found|unsupported engine"
        r"|(?:requires|unsupported) node|library not loaded|symbol lookup error|bad cpu type"
        r"|is not installed|ERR_REQUIRE_ESM|ERR_UNKNOWN_BUILTIN_MODULE|SyntaxError: invalid syntax"
        r"|SyntaxError: (?:Cannot use import|Unexpected (?:token|identifier|reserved)"
        r"(?!.* JSON\b))",
    ),
    (
        "the command is not an ACP agent",
        r"\busage:|(?:unknown|unrecognized) (?:option|command|argument|flag)|known options"
        r"|unexpected argument|invalid (?:option|choice|subcommand)|no such (?:option|command)"
        r"|not a terminal|reading (?:prompt|input) from stdin|input must be provided",
    ),
)
NO_LOGIN, _, PROVIDER, _, _, _NO_AGENT = (reason for reason, _ in _REASONS)
OUTSIDE = tuple(reason for reason, _ in _REASONS[:4])
"""Reasons why a request may fail although the agent handled it correctly."""
_KINDS = "invalid_request|authentication|permission|rate_limit|overloaded|api|server"
PROVIDERS_ERROR = re.compile(rf"\b(?:type|code)\W{{1,9}}(?:(?:{_KINDS})_error|rate_limit)\b")
"""Matches the member of JSON that contains the type of a model provider's error."""
_POINTER = "complete log of this run"
"""Words in the last line that npm writes on stderr. This line does not report a failure."""


def outside_reason(text: str) -> str | None:
    """Returns the failure in the environment that a text names, or None.

    Args:
        text: a line of stderr, or the message of an error.
    """
    # The patterns are compiled here, since this takes a while, and few recordings need them.
    named = (reason for reason, words in _REASONS if re.search(words, text, re.IGNORECASE))
    return next(named, None)


def stderr_line(context: DiagnosisContext, span: Span | None = None) -> tuple[str | None, str]:
    """Returns the last failure in the environment that stderr names, and the line that names it.

    If stderr names no failure, returns None and the last line, which may be empty.

    Args:
        context: the recording.
        span: the first and the last frame between which stderr is read; None for all of stderr.
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
    """Returns the failure in the environment that kept an agent from running, or None.

    Args:
        context: the recording.
        exit_: the event of the agent's exit.
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
    """Returns the program that fetches and starts the agent, such as npx, or None."""
    names = [PurePath(word).name for word in context.recording.words[:1]]
    return next((name for name in names if name in LAUNCHERS), None)
