"""What a string is, by its path."""

from __future__ import annotations

import pytest

from acp_proxy.redaction.places import Treatment, of_variable, rule_for

KEEP, TEXT, COMMAND = Treatment.KEEP, Treatment.TEXT, Treatment.COMMAND
SECRET, ENTRY, NAME = Treatment.SECRET, Treatment.ENTRY, Treatment.NAME


@pytest.mark.parametrize(
    ("path", "method", "treatment", "kind"),
    [
        ("params.mcpServers.*.env.*.value", "session/new", ENTRY, "env"),
        ("params.mcpServers.*.env.*.name", "session/new", NAME, "env"),
        ("params.mcpServers.*.headers.*.value", "session/load", ENTRY, "header"),
        ("params.mcpServers.*.args.*", "session/new", COMMAND, "secret"),
        ("params.mcpServers.*.url", "session/new", COMMAND, "secret"),
        ("params.mcpServers.*.transport.env.FOO", "session/new", SECRET, "env"),
        ("params.mcpServers.*.transport.headers.X-Foo", "session/new", SECRET, "header"),
        ("params.credentials.apiKey", "authenticate", SECRET, "key"),
        ("params.credentials.custom", "authenticate", SECRET, "credential"),
        ("result.error", "", COMMAND, "secret"),
        ("params._meta.custom", "authenticate", SECRET, "credential"),
        ("params._meta.custom", "session/new", TEXT, "secret"),
        ("result.authMethods.*.env.FOO", "", SECRET, "env"),
        ("result.authMethods.*.args.*", "", COMMAND, "secret"),
        ("result.authMethods.*.vars.*.name", "", Treatment.VARIABLE, "secret"),
        ("params.env.*.value", "terminal/create", ENTRY, "env"),
        ("params.env.FOO", "terminal/create", SECRET, "env"),
        ("params.env.*", "terminal/create", ENTRY, "env"),
        ("params.command", "terminal/create", COMMAND, "secret"),
        ("params.headers.X-Api", "providers/set", SECRET, "header"),
        ("params.baseUrl", "providers/set", COMMAND, "secret"),
        ("result.content.apiToken", "", SECRET, "token"),
        ("params.url", "elicitation/create", Treatment.QUERY, "url"),
        ("params.params.api_key", "mcp/message", SECRET, "key"),
        ("params.mcpParams.password", "_mcp/request", SECRET, "password"),
        ("params.params.mcpServers.*.env.*.value", "_proxy/successor", ENTRY, "env"),
        ("params._meta.access-token", "session/prompt", SECRET, "token"),
        ("params._meta.baggage", "session/prompt", COMMAND, "secret"),
        ("error.data.detail", "", COMMAND, "secret"),
        ("error.data.token", "", SECRET, "token"),
        ("error.message", "", COMMAND, "secret"),
        ("id", "initialize", KEEP, "secret"),
        ("method", "initialize", KEEP, "secret"),
        ("params.sessionId", "session/prompt", KEEP, "secret"),
        ("params.update.toolCallId", "session/update", KEEP, "secret"),
        ("params.update.content.text", "session/update", TEXT, "secret"),
        ("params.update.locations.*.path", "session/update", KEEP, "secret"),
        ("result.authMethods.*._meta.api-key.provider", "", COMMAND, "secret"),
        ("params._meta.token.*", "session/new", SECRET, "token"),
        ("params.headers.X-Foo.*", "providers/set", SECRET, "header"),
        ("params.env.FOO.value", "terminal/create", SECRET, "env"),
        ("params.tokens.*.value", "session/new", SECRET, "secret"),
        ("params._meta.progressToken", "session/prompt", TEXT, "secret"),
    ],
)
def test_rows(path: str, method: str, treatment: Treatment, kind: str) -> None:
    """Each row of the protocol's places of secrets, in the dialects that have it."""
    ruling = rule_for(tuple(path.split(".")), frozenset({method}), private=False)
    assert ruling == (treatment, kind)
    in_batch = rule_for(("*", *path.split(".")), frozenset({method}), private=False)
    assert in_batch == (treatment, kind)


@pytest.mark.parametrize(
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
    """They are private where that is asked for, and text otherwise."""
    keys, methods = tuple(path.split(".")), frozenset({method})
    assert rule_for(keys, methods, private=True).treatment is Treatment.PRIVATE
    assert rule_for(keys, methods, private=False).treatment in (TEXT, COMMAND)


def test_harmless_variables_are_shown() -> None:
    """Their values are as good as any text."""
    assert of_variable("PATH", "env").treatment is COMMAND
    assert of_variable("Content-Type", "headers").treatment is COMMAND
    assert of_variable("FOO", "env") == (SECRET, "env")
    assert of_variable("X-Foo", "headers") == (SECRET, "header")
