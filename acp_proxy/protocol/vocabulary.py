"""The places of typed values in ACP messages, in every dialect: one table.

A row names a place by a JSON pointer from the root of a message; ``*`` stands for any item. The
places of all dialects are searched, since the dialect of a recording may be unknown.

The sources of the table are the schemas of v1 (with its unstable part) and v2, the 1.0 draft, and
additions of real agents.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from acp_proxy.protocol.dialects import OPENING, SUCCESSOR


class Role(Enum):
    """The kind of a typed value. The values of this enum explain the kinds."""

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
    CONFIGURATION = "setting that the client may choose freely"
    ENVIRONMENT = "environment variables of a command, which may hold credentials"
    REASON = "words that explain, for a log"
    STREAM = "piece of terminal output"
    TEXT = "piece of streamed text"
    CUTTING = "position of a piece of streamed text among others"


class Position(NamedTuple):
    """A row of the table: a place of typed values in messages."""

    role: Role
    pointer: str
    methods: tuple[str, ...] = ()
    """The methods of the messages that have this place; for answers, the methods of the requests. A
    name that ends in a slash is a prefix. An empty tuple stands for every method."""

    @property
    def is_in_response(self) -> bool:
        """Whether only answers (results or errors) have this place."""
        return self.pointer.startswith(("/result", "/error"))


_DRAFT_SETUP = ("session/new", "session/load")
_TERMINAL = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
_DOCUMENTS = tuple(f"document/did{what}" for what in ("Open", "Change", "Close", "Save", "Focus"))
_CONTEXT = (
    "recentFiles", "relatedSnippets", "editHistory", "userActions", "openFiles", "diagnostics",
)  # fmt: skip
_UPDATE = ("session/update",)
_PERMISSION = ("session/request_permission",)


def _at(pointer: str, rows: Iterable[Position]) -> Iterator[Position]:
    """Yields copies of rows, with the given pointer put before the pointer of each row."""
    return (row._replace(pointer=pointer + row.pointer) for row in rows)


def _in(methods: tuple[str, ...], rows: Iterable[Position]) -> Iterator[Position]:
    return (row._replace(methods=methods) for row in rows)


_BLOCK = (
    Position(Role.URI, "/uri"),
    Position(Role.URI, "/resource/uri"),
    Position(Role.URI, "/source/url"),
    Position(Role.PATH, "/path"),
)
"""The places in a content block."""
_PART = (
    Position(Role.PATH, "/path"),
    Position(Role.TERMINAL, "/terminalId"),
    *_at("/content", _BLOCK),
    Position(Role.PATH, "/changes/*/path"),
    Position(Role.PATH, "/changes/*/oldPath"),
    Position(Role.PATH, "/changes/*/newPath"),
    *_BLOCK[:3],
)
"""The places in an item of a tool call's content (in the draft: of its output). The last rows cover
an item that is itself a content block, as in an official example."""
_CALL = (
    Position(Role.CALL, "/toolCallId"),
    *_at("/content/*", _PART),
    Position(Role.PATH, "/locations/*/path"),
    Position(Role.URI, "/locations/*/uri"),
)
_DRAFT_CALL = (
    Position(Role.CALL, "/id"),
    Position(Role.CALL, "/toolCallId"),
    *_at("/content/*", _PART),
    *_at("/output", _PART),
    *_at("/output/*", _PART),
    Position(Role.PATH, "/location/path"),
    Position(Role.URI, "/location/uri"),
    Position(Role.TIME, "/duration"),
)

TABLE: tuple[Position, ...] = (
    # Every message
    Position(Role.REQUEST, "/id"),
    Position(Role.SESSION, "/params/sessionId"),
    Position(Role.SESSION, "/result/sessionId"),
    Position(Role.SESSION, "/error/data/sessionId"),
    Position(Role.SESSION, "/params/params/sessionId", SUCCESSOR),
    Position(Role.URI, "/error/data/uri"),
    Position(Role.REQUEST, "/params/requestId", ("$/cancel_request",)),
    # The client's identity
    Position(Role.CREDENTIAL, "/params/credentials", ("authenticate",)),
    Position(Role.TIME, "/result/expiresAt", ("authenticate",)),
    Position(Role.ENVIRONMENT, "/result/authMethods/*/env", ("initialize",)),
    Position(Role.CONFIGURATION, "/params/apiType", ("providers/set",)),
    Position(Role.CONFIGURATION, "/params/baseUrl", ("providers/set",)),
    Position(Role.CREDENTIAL, "/params/headers", ("providers/set",)),
    Position(Role.CONFIGURATION, "/result/providers/*/current", ("providers/list",)),
    # Sessions
    Position(Role.ROOT, "/params/cwd", (*OPENING, "session/list")),
    Position(Role.ROOT, "/params/workingDirectory", _DRAFT_SETUP),
    Position(Role.ROOT, "/params/additionalDirectories/*", OPENING),
    Position(Role.CONFIGURATION, "/params/mcpServers", OPENING),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/env", OPENING),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/headers", OPENING),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/transport/env", OPENING),
    Position(Role.CREDENTIAL, "/params/mcpServers/*/transport/headers", OPENING),
    Position(Role.ROOT, "/result/cwd", _DRAFT_SETUP),
    Position(Role.ROOT, "/result/workingDirectory", _DRAFT_SETUP),
    Position(Role.ROOT, "/result/additionalDirectories/*", _DRAFT_SETUP),
    Position(Role.TIME, "/result/createdAt", ("session/new",)),
    Position(Role.SESSION, "/result/sessions/*/sessionId", ("session/list",)),
    Position(Role.SESSION, "/result/sessions/*/id", ("session/list",)),
    Position(Role.DIRECTORY, "/result/sessions/*/cwd", ("session/list",)),
    Position(Role.DIRECTORY, "/result/sessions/*/additionalDirectories/*", ("session/list",)),
    Position(Role.TIME, "/result/sessions/*/updatedAt", ("session/list",)),
    # Prompts
    *_in(("session/prompt",), _at("/params/prompt/*", _BLOCK)),
    *_in(("session/prompt",), _at("/params/content/*", _BLOCK)),
    *_in(("session/prompt",), _at("/params/attachments/*", _BLOCK)),
    Position(Role.MESSAGE, "/params/messageId", ("session/prompt",)),
    Position(Role.MESSAGE, "/result/messageId", ("session/prompt",)),
    Position(Role.MESSAGE, "/result/userMessageId", ("session/prompt",)),
    Position(Role.MESSAGE, "/params/promptId", ("qwen/",)),
    Position(Role.REASON, "/params/reason", ("session/cancel",)),
    # Session updates
    Position(Role.TIME, "/params/timestamp", _UPDATE),
    Position(Role.MESSAGE, "/params/update/messageId", _UPDATE),
    Position(Role.TEXT, "/params/update/content/text", _UPDATE),
    *_in(_UPDATE, _at("/params/update/content", _BLOCK)),
    *_in(_UPDATE, _at("/params/update/content/*", _BLOCK)),
    *_in(_UPDATE, _at("/params/update", _CALL)),
    *_in(_UPDATE, _at("/params/update/content", _PART)),
    *(
        Position(Role.SESSION, f"/params/update/{name}", _UPDATE)
        for name in ("sessionId", "senderSessionId", "recipientSessionId")
    ),
    Position(Role.TERMINAL, "/params/update/terminalId", _UPDATE),
    Position(Role.PATH, "/params/update/cwd", _UPDATE),
    Position(Role.STREAM, "/params/update/data", _UPDATE),
    Position(Role.STREAM, "/params/update/output/data", _UPDATE),
    Position(Role.PLAN, "/params/update/planId", _UPDATE),
    Position(Role.PLAN, "/params/update/plan/planId", _UPDATE),
    Position(Role.URI, "/params/update/plan/uri", _UPDATE),
    Position(Role.TIME, "/params/update/updatedAt", _UPDATE),
    Position(Role.MESSAGE, "/params/update/compactionId", _UPDATE),
    *_in(_UPDATE, _at("/params/update/summary/*", _BLOCK)),
    *_in(_UPDATE, _at("/params/data", _DRAFT_CALL)),
    Position(Role.MESSAGE, "/params/data/messageId", _UPDATE),
    Position(Role.TEXT, "/params/data/content", _UPDATE),
    Position(Role.CUTTING, "/params/data/index", _UPDATE),
    Position(Role.CUTTING, "/params/data/final", _UPDATE),
    Position(Role.PLAN, "/params/data/planId", _UPDATE),
    Position(Role.STEP, "/params/data/steps/*/id", _UPDATE),
    # Requests of the agent
    *_in(_PERMISSION, _at("/params/toolCall", _CALL)),
    *_in(_PERMISSION, _at("/params/subject/toolCall", _CALL)),
    Position(Role.CALL, "/params/subject/toolCallId", _PERMISSION),
    Position(Role.PATH, "/params/subject/cwd", _PERMISSION),
    Position(Role.PATH, "/params/resource", _PERMISSION),
    Position(Role.CALL, "/params/toolCallId", (*_PERMISSION, "elicitation/create")),
    Position(Role.REQUEST, "/params/requestId", ("elicitation/create",)),
    Position(
        Role.ELICITATION, "/params/elicitationId", ("elicitation/create", "elicitation/complete")
    ),
    Position(Role.URI, "/params/url", ("elicitation/create",)),
    Position(Role.PATH, "/params/path", ("fs/",)),
    Position(Role.PATH, "/params/cwd", ("terminal/create",)),
    Position(Role.ENVIRONMENT, "/params/env", ("terminal/create",)),
    Position(Role.TERMINAL, "/result/terminalId", ("terminal/create",)),
    Position(Role.PROCESS, "/result/pid", ("terminal/create",)),
    Position(Role.TERMINAL, "/params/terminalId", _TERMINAL),
    Position(Role.STREAM, "/params/data", ("terminal/output",)),
    # Unstable: edits that the agent suggests, and MCP through the client
    *_in(_DOCUMENTS, [Position(Role.URI, "/params/uri")]),
    Position(Role.ROOT_URI, "/params/workspaceUri", ("nes/start",)),
    Position(Role.ROOT_URI, "/params/workspaceFolders/*/uri", ("nes/start",)),
    Position(Role.URI, "/params/uri", ("nes/suggest",)),
    *(Position(Role.URI, f"/params/context/{name}/*/uri", ("nes/suggest",)) for name in _CONTEXT),
    Position(Role.TIME, "/params/context/userActions/*/timestampMs", ("nes/suggest",)),
    Position(Role.SUGGESTION, "/result/suggestions/*/id", ("nes/suggest",)),
    Position(Role.URI, "/result/suggestions/*/uri", ("nes/suggest",)),
    Position(Role.SUGGESTION, "/params/id", ("nes/accept", "nes/reject")),
    Position(Role.CONNECTION, "/result/connectionId", ("mcp/connect",)),
    Position(Role.CONNECTION, "/params/connectionId", ("mcp/message", "mcp/disconnect")),
)
"""The places of all typed values."""


@cache
def positions(method: str | None, *, is_response: bool) -> tuple[Position, ...]:
    """Returns the rows of `TABLE` that apply to a method's messages, in the order of the table.

    Args:
        method: the method of the messages; for answers, the method of the requests.
        is_response: whether the messages are answers (results or errors).
    """
    return tuple(
        row
        for row in TABLE
        if (row.pointer == "/id" or row.is_in_response is is_response)
        and (not row.methods or any(_is_meant(name, method or "") for name in row.methods))
    )


def pointers(*roles: Role) -> tuple[str, ...]:
    """Returns the JSON pointers of all rows with one of these roles, each pointer once."""
    return tuple(dict.fromkeys(row.pointer for row in TABLE if row.role in roles))


def _is_meant(name: str, method: str) -> bool:
    return method.startswith(name) if name.endswith("/") else method == name
