"""The types of the 1.0 draft, which has no schema file: what its tables and examples say.

Required are the members that its tables mark so. Where it only shows an example, a member may be
absent; where it names no type, it may be anything; and null stands for an optional member.
"""

import re
from collections.abc import Mapping

from acp_proxy.protocol.peers import Direction
from tests.schema_derivation import REFERENCE, Form

_MEMBER = re.compile(r"(?P<name>\w+)(?P<optional>\??): (?P<type>\w+)(?P<list>(\[\])?)")
_TERMINAL = "terminalId: string"
_TO_AGENT = {
    "initialize": (
        "protocolVersion: integer, clientInfo: Info, capabilities: object",
        "protocolVersion: integer, agentInfo: Info, capabilities: object, "
        "requiredClientCapabilities?: object",
    ),
    "authenticate": (
        "method: string, credentials: object",
        "success: boolean, error?: any, expiresAt?: any",
    ),
    "session/new": (
        "workingDirectory: string, mcpServers?: McpServer[], systemPrompt?: string, "
        "initialMode?: string, configOptions?: any",
        "sessionId: string, createdAt: string",
    ),
    "session/load": (
        "sessionId: string",
        "sessionId: string, workingDirectory: string, mode: any, configOptions: any, "
        "messageCount: integer",
    ),
    "session/prompt": (
        "sessionId: string, content: ContentBlock[], attachments?: any[]",
        "stopReason: string, usage?: object",
    ),
    "session/set_mode": (
        "sessionId: string, mode: string",
        "previousMode: any, currentMode: string",
    ),
    "session/set_config_option": (
        "sessionId: string, key: string, value: any",
        "key: string, currentValue: any, previousValue?: any",
    ),
    "session/cancel": ("sessionId: string, reason?: string", None),
    "terminal/output": (f"{_TERMINAL}, data: string, stream?: string", "received: boolean"),
}
_TO_CLIENT = {
    "session/update": (
        "sessionId: string, type: string, data: object, timestamp?: string",
        None,
    ),
    "session/request_permission": (
        "sessionId: string, operation: string, resource: any, reason?: string, toolCallId?: string",
        "granted: boolean, remember?: boolean, scope?: string",
    ),
    "fs/read_text_file": (
        "path: string, encoding?: string, startLine?: integer, endLine?: integer",
        "content: string, encoding: string, totalLines?: integer, truncated?: boolean",
    ),
    "fs/write_text_file": (
        "path: string, content: string, encoding?: string, createDirectories?: boolean, "
        "overwrite?: boolean",
        "bytesWritten: integer, created: boolean",
    ),
    "terminal/create": (
        "command: string, args?: string[], cwd?: string, env?: object, timeout?: number",
        f"{_TERMINAL}, pid?: integer",
    ),
    "terminal/wait_for_exit": (
        f"{_TERMINAL}, timeout?: number",
        "exitCode: ExitCode, signal?: any, timedOut?: boolean",
    ),
    "terminal/kill": (f"{_TERMINAL}, signal?: any, force?: boolean", "killed: boolean"),
    "terminal/release": (_TERMINAL, "released: boolean"),
}
_BLOCKS = {
    "text": "text: string",
    "image": "source: Source",
    "audio": "source: Source",
    "resource_link": "uri: string, mimeType?: string, title?: string",
    "resource": "uri: string, content: string, mimeType?: string, title?: string",
}
"""The blocks of content; the audio block is in chapter 9, and missing from the schema."""


def _object(members: str) -> Form:
    """The form of an object of these members."""
    properties: dict[str, Form] = {}
    required = []
    for found in _MEMBER.finditer(members):
        name, word = found["name"], found["type"]
        if word == "any":
            form: Form = {}
        elif word[0].isupper():
            form = {"$ref": REFERENCE + word}
        else:
            form = {"type": word}
        if found["list"]:
            form = {"type": "array", "items": form}
        if found["optional"]:
            form = {"anyOf": [form, {"type": "null"}]} if form else form
        else:
            required.append(name)
        properties[name] = form
    return {"type": "object", "properties": properties, "required": required}


def _block(name: str, members: str) -> Form:
    form = _object(members)
    return {
        **form,
        "properties": {"type": {"const": name}, **form["properties"]},
        "required": ["type", *form["required"]],
    }


def _table(
    methods: Mapping[Direction, Mapping[str, tuple[str, str | None]]], part: int
) -> dict[str, dict[str, Form]]:
    return {
        direction: {
            method: _object(members)
            for method, of in table.items()
            if (members := of[part]) is not None
        }
        for direction, table in methods.items()
    }


_METHODS = {Direction.TO_AGENT: _TO_AGENT, Direction.TO_CLIENT: _TO_CLIENT}
_OPEN_BLOCK: Form = {
    "type": "object",
    "properties": {"type": {"type": "string", "not": {"enum": [*_BLOCKS]}}},
    "required": ["type"],
}
DRAFT_TYPES = {
    "params": _table(_METHODS, 0),
    "results": _table(_METHODS, 1),
    "types": {
        "ContentBlock": {
            "anyOf": [*(_block(*one) for one in _BLOCKS.items()), _OPEN_BLOCK],
            "discriminator": {"propertyName": "type"},
        },
        "Source": _object("type: string, mediaType: string, data?: string, url?: string"),
        "Info": _object("name?: string, version?: string"),
        "McpServer": _object("name?: string, transport?: object"),
        "ExitCode": {"type": ["integer", "null"]},
    },
}
