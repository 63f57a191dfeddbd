"""What differs between any two runs of one scenario, place by place, and in the midst of texts.

From the specification's schema (v1 with its unstable part, v2, the 1.0 draft) and from what real
agents write. `docs/diff.md` lists the same, and a test holds the two together.
"""

import re

from acp_proxy.difference.rules import Rule

SESSION, CALL, TERMINAL, MESSAGE, PATH = "session", "call", "term", "message", "path"
REQUEST, TURN, PROCESS, UUID, OUTPUT = "request", "turn", "process", "uuid", "output"

NAMED = "value"
"""What the user wants named; a value is the same in all such places."""

GLOBAL = (SESSION, PATH)
"""Kinds of which a value means the same in every session."""

_NAMES: dict[str, tuple[str, ...]] = {
    SESSION: (
        "/params/sessionId",
        "/result/sessionId",
        "/result/sessions/*/sessionId",
        "/result/sessions/*/id",
    ),
    PATH: (
        "/params/cwd",
        "/params/workingDirectory",
        "/params/additionalDirectories/*",
        "/result/cwd",
        "/result/workingDirectory",
        "/result/sessions/*/cwd",
    ),
    CALL: (
        "/params/toolCallId",
        "/params/update/toolCallId",
        "/params/toolCall/toolCallId",
        "/params/subject/toolCallId",
        "/params/subject/toolCall/toolCallId",
        "/params/data/toolCallId",
        "/params/data/id",
    ),
    TERMINAL: (
        "/params/terminalId",
        "/result/terminalId",
        "/params/update/terminalId",
        "/params/update/content/*/terminalId",
        "/params/toolCall/content/*/terminalId",
        "/params/subject/toolCall/content/*/terminalId",
        "/params/data/content/*/terminalId",
        "/params/data/output/*/terminalId",
    ),
    MESSAGE: (
        "/params/messageId",
        "/params/update/messageId",
        "/params/update/compactionId",
        "/params/data/messageId",
        "/result/messageId",
        "/result/userMessageId",
        "/params/promptId",
    ),
    REQUEST: ("/id", "/params/requestId"),
    TURN: ("/params/**/turn_id", "/params/**/turnId"),
    PROCESS: (
        "/params/**/pid",
        "/params/**/process_id",
        "/params/**/processId",
        "/result/**/pid",
    ),
}

_TIMES = (
    "updatedAt",
    "createdAt",
    "startedAt",
    "completedAt",
    "endedAt",
    "startTime",
    "endTime",
    "lastModified",
    "timestamp",
    "updated_at",
    "created_at",
    "started_at",
    "completed_at",
    "started_at_ms",
    "completed_at_ms",
    "startedAtMs",
    "completedAtMs",
    "durationMs",
    "duration_ms",
    "elapsedMs",
    "elapsed_ms",
)
"""Members that tell when something was, or how long it took, wherever they stand."""

RULES = (
    Rule("/params/update/rawOutput/**/duration"),
    Rule("/params/update/cost/amount"),
    Rule("/params/data/index"),
    Rule("/params/data/final"),
    *(Rule(f"/**/{name}") for name in _TIMES),
    *(Rule(pointer, kind) for kind, pointers in _NAMES.items() for pointer in pointers),
)
"""The default rules. A string that is a UUID gets a name wherever it stands, without a rule."""

PHRASES = {
    OUTPUT: ("Chunk ID: ", re.compile(r"\bChunk ID: ([0-9a-f]{6})\b")),
    PROCESS: (") panicked at ", re.compile(r"\bthread '[^'\n]*' \((\d+)\) panicked at ")),
}
"""Values that some programs write into the texts of what their tools put out, by kind: words that
stand beside each of them, and the pattern that finds it."""

TITLES = ("/params/update/title", "/result/sessions/*/title")
"""Where a session's title stands in `TITLED`. Agents make it of the prompt and cut it somewhere, so
where that is depends on how long the directory is that the prompt names."""

RUNNING = ("terminal/create",)
"""What names a directory, but makes it none that has a name of its own."""

TITLED = ("session/update session_info_update", "the answer to session/list")
"""What tells titles of sessions."""

LOOKING = ("read", "search", "fetch")
"""Kinds of tool calls that change nothing, so that their order is nobody's choice either."""

READING = ("fs/read_text_file", "the answer to fs/read_text_file")
"""What else only looks at something."""

STATE_UPDATES = ("available_commands_update", "session_info_update", "usage_update")
"""Session updates that tell how things are, beside what is being said: when they come, and how
often the same is told again, differs between any two runs."""
