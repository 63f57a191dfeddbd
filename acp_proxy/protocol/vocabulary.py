"""The places of typed values in ACP messages, in every dialect: one table.

A row names a place by a JSON pointer from the root of a message, in which ``*`` is any item. The
table is taken from the schema (v1 with its unstable part, v2), from the 1.0 draft, and from what
real agents add. The dialects are documentation: since the dialect of a recording may be unknown,
values are looked for at the places of all of them.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from acp_proxy.protocol.dialects import DRAFT, OPENING, SUCCESSOR, V1, V2
from acp_proxy.protocol.updates import (
    CALL_UPDATES,
    CONTENT_CHUNK,
    SUBAGENTS,
    TOOL_CALLS,
    WHOLE_MESSAGES,
)

UNSTABLE = "v1-unstable"
"""The parts of v1 that are allowed after both peers agreed to try them."""
AGENTS = "agents"
"""Not a dialect: additions of real agents."""


class Role(Enum):
    """The kind of a value."""

    REQUEST = "id of a request"
    SESSION = "session id"
    CALL = "tool call id"
    MESSAGE = "message id"
    PLAN = "plan id"
    STEP = "id of a step of a plan"
    ELICITATION = "elicitation id"
    SUGGESTION = "id of a suggested edit"
    TERMINAL = "terminal id"
    CONNECTION = "id of a connection to an MCP server"
    ROOT = "directory that the client chose for a session"
    ROOT_URI = "URI of a directory that the client chose"
    DIRECTORY = "directory of a session that is listed"
    PATH = "path"
    URI = "URI"
    PROCESS = "process id"
    TIME = "time or duration"
    CREDENTIAL = "credential"
    CONFIGURATION = "what the client configures as it likes"
    ENVIRONMENT = "environment variables of a command, which may hold credentials"
    REASON = "words that explain, for a log"
    STREAM = "piece of terminal output"
    TEXT = "piece of streamed text"
    CUTTING = "position of a piece of streamed text among others"


class Position(NamedTuple):
    """A place of a typed value."""

    role: Role
    pointer: str
    methods: tuple[str, ...] = ()
    """The methods of the messages with this place, or of the requests that they answer; one that
    ends in a slash stands for all that begin with it, none for every method."""
    dialects: tuple[str, ...] = (V1, V2, DRAFT)
    updates: tuple[str, ...] = ()
    """Kinds of session updates; none stands for every kind."""

    @property
    def is_in_response(self) -> bool:
        """Whether only responses have this place."""
        return self.pointer.startswith(("/result", "/error"))


_OFFICIAL = (V1, V2)
_DRAFT_SETUP = ("session/new", "session/load")
_TERMINAL = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
_FILES = ("fs/",)
_DOCUMENTS = tuple(f"document/did{what}" for what in ("Open", "Change", "Close", "Save", "Focus"))
_CONTEXT = (
    "recentFiles", "relatedSnippets", "editHistory", "userActions", "openFiles", "diagnostics",
)  # fmt: skip
_CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
_DRAFT_CHUNKS = ("agent_message_chunk", "user_message_chunk", "thought_message_chunk")
_UPDATE = ("session/update",)
_PERMISSION = ("session/request_permission",)


def _at(pointer: str, rows: Iterable[Position]) -> Iterator[Position]:
    """Returns rows whose places are moved below another place."""
    return (row._replace(pointer=pointer + row.pointer) for row in rows)


def _in(methods: tuple[str, ...], rows: Iterable[Position], *updates: str) -> tuple[Position, ...]:
    return tuple(row._replace(methods=methods, updates=updates) for row in rows)


_BLOCK = (
    Position(Role.URI, "/uri"),
    Position(Role.URI, "/resource/uri", (), _OFFICIAL),
    Position(Role.URI, "/source/url", (), (DRAFT,)),
    Position(Role.PATH, "/path", (), (AGENTS,)),
)
"""A content block."""
_PART = (
    Position(Role.PATH, "/path"),
    Position(Role.TERMINAL, "/terminalId"),
    *_at("/content", _BLOCK),
    Position(Role.PATH, "/changes/*/path", (), (V2,)),
    Position(Role.PATH, "/changes/*/oldPath", (), (V2,)),
    Position(Role.PATH, "/changes/*/newPath", (), (V2,)),
    *_BLOCK[:3],
)
"""An item of a tool call's content, or the draft's output. The official document
contains one example with a bare content block there."""
_CALL = (
    Position(Role.CALL, "/toolCallId"),
    *_at("/content/*", _PART),
    Position(Role.PATH, "/locations/*/path"),
    Position(Role.URI, "/locations/*/uri", (), (AGENTS,)),
)
_DRAFT_CALL = (
    Position(Role.CALL, "/id", (), (DRAFT,)),
    Position(Role.CALL, "/toolCallId", (), (DRAFT,)),
    *_at("/content/*", _PART),
    *_at("/output", _PART),
    *_at("/output/*", _PART),
    Position(Role.PATH, "/location/path", (), (DRAFT,)),
    Position(Role.URI, "/location/uri", (), (DRAFT,)),
    Position(Role.TIME, "/duration", (), (DRAFT,)),
)

TABLE: tuple[Position, ...] = (
    # Every message
    Position(Role.REQUEST, "/id"),
    Position(Role.SESSION, "/params/sessionId"),
    Position(Role.SESSION, "/result/sessionId"),
    Position(Role.SESSION, "/error/data/sessionId", (), (DRAFT,)),
    Position(Role.SESSION, "/params/params/sessionId", SUCCESSOR, (UNSTABLE,)),
    Position(Role.URI, "/error/data/uri", (), _OFFICIAL),
    Position(Role.REQUEST, "/params/requestId", ("$/cancel_request",), _OFFICIAL),
    # Who the client is
    Position(Role.CREDENTIAL, "/params/credentials", ("authenticate",), (DRAFT,)),
    Position(Role.TIME, "/result/expiresAt", ("authenticate",), (DRAFT,)),
    Position(Role.ENVIRONMENT, "/result/authMethods/*/env", ("initialize",), _OFFICIAL),
    Position(Role.CONFIGURATION, "/params/apiType", ("providers/set",), (UNSTABLE, V2)),
    Position(Role.CONFIGURATION, "/params/baseUrl", ("providers/set",), (UNSTABLE, V2)),
    Position(Role.CREDENTIAL, "/params/headers", ("providers/set",), (UNSTABLE, V2)),
    Position(
        Role.CONFIGURATION, "/result/providers/*/current", ("providers/list",), (UNSTABLE, V2)
    ),
    # Sessions
    Position(Role.ROOT, "/params/cwd", (*OPENING, "session/list"), _OFFICIAL),
    Position(Role.ROOT, "/params/workingDirectory", _DRAFT_SETUP, (DRAFT,)),
    Position(Role.ROOT, "/params/additionalDirectories/*", OPENING, _OFFICIAL),
    Position(Role.CONFIGURATION, "/params/mcpServers", OPENING),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/env", OPENING, _OFFICIAL),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/headers", OPENING, _OFFICIAL),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/transport/env", OPENING, (DRAFT,)),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/transport/headers", OPENING, (DRAFT,)),
    Position(Role.ROOT, "/result/cwd", _DRAFT_SETUP, (AGENTS,)),
    Position(Role.ROOT, "/result/workingDirectory", _DRAFT_SETUP, (DRAFT,)),
    Position(Role.ROOT, "/result/additionalDirectories/*", _DRAFT_SETUP, (AGENTS,)),
    Position(Role.TIME, "/result/createdAt", ("session/new",), (DRAFT,)),
    Position(Role.SESSION, "/result/sessions/*/sessionId", ("session/list",), _OFFICIAL),
    Position(Role.SESSION, "/result/sessions/*/id", ("session/list",), (AGENTS,)),
    Position(Role.DIRECTORY, "/result/sessions/*/cwd", ("session/list",), _OFFICIAL),
    Position(
        Role.DIRECTORY,
        "/result/sessions/*/additionalDirectories/*",
        ("session/list",),
        _OFFICIAL,
    ),
    Position(Role.TIME, "/result/sessions/*/updatedAt", ("session/list",), _OFFICIAL),
    # Prompts
    *_in(("session/prompt",), _at("/params/prompt/*", _BLOCK)),
    *_in(("session/prompt",), _at("/params/content/*", _BLOCK)),
    *_in(("session/prompt",), _at("/params/attachments/*", _BLOCK)),
    Position(Role.MESSAGE, "/params/messageId", ("session/prompt",), (AGENTS,)),
    Position(Role.MESSAGE, "/result/messageId", ("session/prompt",), (AGENTS,)),
    Position(Role.MESSAGE, "/result/userMessageId", ("session/prompt",), (AGENTS,)),
    Position(Role.MESSAGE, "/params/promptId", ("qwen/",), (AGENTS,)),
    Position(Role.REASON, "/params/reason", ("session/cancel",), (DRAFT,)),
    # Session updates
    Position(Role.TIME, "/params/timestamp", _UPDATE, (DRAFT,)),
    Position(
        Role.MESSAGE, "/params/update/messageId", _UPDATE, _OFFICIAL, _CHUNKS + WHOLE_MESSAGES
    ),
    Position(Role.TEXT, "/params/update/content/text", _UPDATE, _OFFICIAL, _CHUNKS),
    *_in(_UPDATE, _at("/params/update/content", _BLOCK), *_CHUNKS, "compaction_summary_chunk"),
    *_in(_UPDATE, _at("/params/update/content/*", _BLOCK), *WHOLE_MESSAGES),
    *_in(_UPDATE, _at("/params/update", _CALL), *CALL_UPDATES),
    *_in(_UPDATE, _at("/params/update/content", _PART), CONTENT_CHUNK),
    *(
        Position(Role.SESSION, f"/params/update/{name}", _UPDATE, (UNSTABLE, V2), SUBAGENTS)
        for name in ("sessionId", "senderSessionId", "recipientSessionId")
    ),
    Position(Role.TERMINAL, "/params/update/terminalId", _UPDATE, (V2,)),
    Position(Role.PATH, "/params/update/cwd", _UPDATE, (V2,), ("terminal_update",)),
    Position(Role.STREAM, "/params/update/data", _UPDATE, (V2,), ("terminal_output_chunk",)),
    Position(Role.STREAM, "/params/update/output/data", _UPDATE, (V2,), ("terminal_update",)),
    Position(Role.PLAN, "/params/update/planId", _UPDATE, (UNSTABLE, V2), ("plan_removed",)),
    Position(Role.PLAN, "/params/update/plan/planId", _UPDATE, (UNSTABLE, V2), ("plan_update",)),
    Position(Role.URI, "/params/update/plan/uri", _UPDATE, (UNSTABLE, V2), ("plan_update",)),
    Position(Role.TIME, "/params/update/updatedAt", _UPDATE, _OFFICIAL, ("session_info_update",)),
    Position(Role.MESSAGE, "/params/update/compactionId", _UPDATE, (UNSTABLE, V2)),
    *_in(_UPDATE, _at("/params/update/summary/*", _BLOCK), "compaction_update"),
    Position(Role.SESSION, "/params/update/sessionId", _UPDATE, (UNSTABLE, V2)),
    Position(Role.SESSION, "/params/update/senderSessionId", _UPDATE, (UNSTABLE, V2)),
    Position(Role.SESSION, "/params/update/recipientSessionId", _UPDATE, (UNSTABLE, V2)),
    *_in(_UPDATE, _at("/params/data", _DRAFT_CALL), *TOOL_CALLS),
    Position(Role.MESSAGE, "/params/data/messageId", _UPDATE, (AGENTS,), _DRAFT_CHUNKS),
    Position(Role.TEXT, "/params/data/content", _UPDATE, (DRAFT,), _DRAFT_CHUNKS),
    Position(Role.CUTTING, "/params/data/index", _UPDATE, (DRAFT,), _DRAFT_CHUNKS),
    Position(Role.CUTTING, "/params/data/final", _UPDATE, (DRAFT,), _DRAFT_CHUNKS),
    Position(Role.PLAN, "/params/data/planId", _UPDATE, (DRAFT,), ("plan",)),
    Position(Role.STEP, "/params/data/steps/*/id", _UPDATE, (DRAFT,), ("plan",)),
    # What the agent asks for
    *_in(_PERMISSION, _at("/params/toolCall", _CALL)),
    *_in(_PERMISSION, _at("/params/subject/toolCall", _CALL)),
    Position(Role.CALL, "/params/subject/toolCallId", _PERMISSION, (V2,)),
    Position(Role.PATH, "/params/subject/cwd", _PERMISSION, (V2,)),
    Position(Role.PATH, "/params/resource", _PERMISSION, (DRAFT,)),
    Position(Role.CALL, "/params/toolCallId", (*_PERMISSION, "elicitation/create")),
    Position(Role.REQUEST, "/params/requestId", ("elicitation/create",), _OFFICIAL),
    Position(
        Role.ELICITATION,
        "/params/elicitationId",
        ("elicitation/create", "elicitation/complete"),
        _OFFICIAL,
    ),
    Position(Role.URI, "/params/url", ("elicitation/create",), _OFFICIAL),
    Position(Role.PATH, "/params/path", _FILES, (V1, DRAFT)),
    Position(Role.PATH, "/params/cwd", ("terminal/create",), (V1, DRAFT)),
    Position(Role.ENVIRONMENT, "/params/env", ("terminal/create",), (V1, DRAFT)),
    Position(Role.TERMINAL, "/result/terminalId", ("terminal/create",), (V1, DRAFT)),
    Position(Role.PROCESS, "/result/pid", ("terminal/create",), (DRAFT,)),
    Position(Role.TERMINAL, "/params/terminalId", _TERMINAL, (V1, DRAFT)),
    Position(Role.STREAM, "/params/data", ("terminal/output",), (DRAFT,)),
    # Unstable: edits that the agent suggests, and MCP through the client
    *_in(_DOCUMENTS, [Position(Role.URI, "/params/uri", (), (UNSTABLE, V2))]),
    Position(Role.ROOT_URI, "/params/workspaceUri", ("nes/start",), (UNSTABLE, V2)),
    Position(Role.ROOT_URI, "/params/workspaceFolders/*/uri", ("nes/start",), (UNSTABLE, V2)),
    Position(Role.URI, "/params/uri", ("nes/suggest",), (UNSTABLE, V2)),
    *(
        Position(Role.URI, f"/params/context/{name}/*/uri", ("nes/suggest",), (UNSTABLE, V2))
        for name in _CONTEXT
    ),
    Position(
        Role.TIME, "/params/context/userActions/*/timestampMs", ("nes/suggest",), (UNSTABLE, V2)
    ),
    Position(Role.SUGGESTION, "/result/suggestions/*/id", ("nes/suggest",), (UNSTABLE, V2)),
    Position(Role.URI, "/result/suggestions/*/uri", ("nes/suggest",), (UNSTABLE, V2)),
    Position(Role.SUGGESTION, "/params/id", ("nes/accept", "nes/reject"), (UNSTABLE, V2)),
    Position(Role.CONNECTION, "/result/connectionId", ("mcp/connect",), (UNSTABLE, V2)),
    Position(
        Role.CONNECTION,
        "/params/connectionId",
        ("mcp/message", "mcp/disconnect"),
        (UNSTABLE, V2),
    ),
)
"""All places."""


@cache
def positions(method: str | None, *, is_response: bool) -> tuple[Position, ...]:
    """Returns the places of the messages of a method, in any dialect, in the order of the table.

    Args:
        method: for a response, the method that it answers.
        is_response: whether it is a response, a result or an error.
    """
    return tuple(
        row
        for row in TABLE
        if (row.pointer == "/id" or row.is_in_response is is_response)
        and (not row.methods or any(_is_meant(name, method or "") for name in row.methods))
    )


def pointers(*roles: Role) -> tuple[str, ...]:
    """Returns the places of some kinds of values in messages of any method, each once."""
    return tuple(dict.fromkeys(row.pointer for row in TABLE if row.role in roles))


def _is_meant(name: str, method: str) -> bool:
    return method.startswith(name) if name.endswith("/") else method == name
