"""Masking decides by the path of a string in its message how to treat the string."""

from __future__ import annotations

from acp_proxy.redaction.secret_places import Ruling, Treatment, of_variable, rule_for
from tests.support.cases import each_case

KEEP, TEXT, COMMAND = Treatment.KEEP, Treatment.TEXT, Treatment.COMMAND
SECRET, ENTRY, NAME = Treatment.SECRET, Treatment.ENTRY, Treatment.NAME


def ruling_of(path: str, method: str, *, private: bool = False) -> Ruling:
    """Returns how masking treats a string; within a batch, the treatment must be the same."""
    keys, methods = tuple(path.split(".")), frozenset({method})
    ruling = rule_for(keys, methods, private=private)
    assert rule_for(("*", *keys), methods, private=private) == ruling
    return ruling


@each_case(
    ("path", "method", "treatment", "kind"),
    [
        ("params.mcpServers.*.env.*.value", "session/new", ENTRY, "env"),
        ("params.mcpServers.*.env.*.name", "session/new", NAME, "env"),
        ("params.mcpServers.*.headers.*.value", "session/load", ENTRY, "header"),
        ("params.mcpServers.*.transport.env.FOO", "session/new", SECRET, "env"),
        ("params.mcpServers.*.transport.headers.X-Foo", "session/new", SECRET, "header"),
        ("params.credentials.apiKey", "authenticate", SECRET, "key"),
        ("params.credentials.custom", "authenticate", SECRET, "credential"),
        ("params._meta.custom", "authenticate", SECRET, "credential"),
        ("result.authMethods.*.env.FOO", "", SECRET, "env"),
        ("params.env.*.value", "terminal/create", ENTRY, "env"),
        ("params.env.FOO", "terminal/create", SECRET, "env"),
        ("params.env.*", "terminal/create", ENTRY, "env"),
        ("params.headers.X-Api", "providers/set", SECRET, "header"),
        ("result.content.apiToken", "", SECRET, "token"),
        ("params.url", "elicitation/create", Treatment.QUERY, "url"),
        ("params.mcpServers.*.url", "session/new", Treatment.ADDRESS, "url"),
        ("params.mcpServers.*.transport.url", "session/new", Treatment.ADDRESS, "url"),
        ("params.params.api_key", "mcp/message", SECRET, "key"),
        ("params.mcpParams.password", "_mcp/request", SECRET, "password"),
        ("params.params.mcpServers.*.env.*.value", "_proxy/successor", ENTRY, "env"),
        ("params._meta.access-token", "session/prompt", SECRET, "token"),
        ("error.data.token", "", SECRET, "token"),
        ("params._meta.token.*", "session/new", SECRET, "token"),
        ("params.headers.X-Foo.*", "providers/set", SECRET, "header"),
        ("params.env.FOO.value", "terminal/create", SECRET, "env"),
        ("params.tokens.*.value", "session/new", SECRET, "secret"),
    ],
)
def test_places_of_secrets(path: str, method: str, treatment: Treatment, kind: str) -> None:
    """By a path such as `params.credentials.apiKey`, masking knows that a string is a secret."""
    assert ruling_of(path, method) == (treatment, kind)


@each_case(
    ("path", "method", "treatment"),
    [
        ("params.mcpServers.*.args.*", "session/new", COMMAND),
        ("result.error", "", COMMAND),
        ("result.authMethods.*.args.*", "", COMMAND),
        ("params.command", "terminal/create", COMMAND),
        ("params.baseUrl", "providers/set", COMMAND),
        ("params._meta.baggage", "session/prompt", COMMAND),
        ("error.data.detail", "", COMMAND),
        ("error.message", "", COMMAND),
        ("result.authMethods.*._meta.api-key.provider", "", COMMAND),
        ("params._meta.custom", "session/new", TEXT),
        ("params.update.content.text", "session/update", TEXT),
        ("params._meta.progressToken", "session/prompt", TEXT),
        ("id", "initialize", KEEP),
        ("method", "initialize", KEEP),
        ("params.sessionId", "session/prompt", KEEP),
        ("params.update.toolCallId", "session/update", KEEP),
        ("params.update.locations.*.path", "session/update", KEEP),
        ("result.authMethods.*.vars.*.name", "", Treatment.VARIABLE),
    ],
)
def test_other_places(path: str, method: str, treatment: Treatment) -> None:
    """Masking keeps a string at `params.sessionId`, but searches one at `error.message`."""
    assert ruling_of(path, method) == Ruling(treatment)


@each_case(
    ("path", "method"),
    [
        ("params.prompt.*.text", "session/prompt"),
        ("params.prompt.*.resource.blob", "session/prompt"),
        ("params.content.*.source.data", "session/prompt"),
        ("params.systemPrompt", "session/new"),
        ("params.update.content.text", "session/update"),
        ("params.update.rawInput.command", "session/update"),
        ("params.update.content.*.oldText", "session/update"),
        ("params.update.entries.*.content", "session/update"),
        ("params.data.output", "session/update"),
        ("params.toolCall.title", "session/request_permission"),
        ("result.content", ""),
        ("params.content", "fs/write_text_file"),
        ("result.output", ""),
        ("result.sessions.*.title", ""),
        ("params.contentChanges.*.text", "document/didChange"),
    ],
)
def test_private_places(path: str, method: str) -> None:
    """With `--redact private`, texts such as titles and contents of files are masked as a whole."""
    assert ruling_of(path, method, private=True).treatment is Treatment.PRIVATE
    assert ruling_of(path, method).treatment in (TEXT, COMMAND)


def test_harmless_variables_are_shown() -> None:
    """Masking replaces the value of a variable as a whole, unless the variable is harmless."""
    assert of_variable("PATH", "env").treatment is COMMAND
    assert of_variable("Content-Type", "headers").treatment is COMMAND
    assert of_variable("FOO", "env") == (SECRET, "env")
    assert of_variable("X-Foo", "headers") == (SECRET, "header")
