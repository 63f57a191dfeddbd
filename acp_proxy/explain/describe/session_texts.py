"""Describes sessions: their beginning and end, their modes and options, and the tokens of turns."""

from acp_proxy.base.wording import counted
from acp_proxy.explain.describe.content_texts import content
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.phrases import (
    Value,
    bracketed,
    compact,
    joined,
    listed,
    part,
    parts,
    phrase,
    quantity,
    word,
)
from acp_proxy.explain.describe.token_texts import tokens_of, usage_words


def opened(params: Value) -> str:
    """Describes a request to create, load, resume or fork a session."""
    folders = params.get("additionalDirectories")
    options, prompt = params.get("configOptions"), word(params, "systemPrompt")
    replay = part(params, "replayFrom")
    return joined(
        word(params, "sessionId"),
        word(params, "cwd", "workingDirectory"),
        f"and {listed(map(compact, folders))}" if isinstance(folders, list) and folders else "",
        bracketed(
            phrase("mcp {}", listed(map(_server, parts(params, "mcpServers")))),
            phrase("mode {}", word(params, "initialMode")),
            phrase("config {}", compact(options) if options else ""),
            phrase("system prompt {}", quantity(prompt) if prompt else ""),
            phrase("replay from {}", word(replay, "type")),
        ),
    )


def open_result(result: Value) -> str:
    """Describes a session that was opened."""
    modes, models = part(result, "modes"), part(result, "models")
    mode = word(modes, "currentModeId") or word(result, "mode")
    others = "/".join(word(mode, "id", "name") for mode in parts(modes, "availableModes"))
    return joined(
        word(result, "sessionId"),
        word(result, "workingDirectory"),
        bracketed(
            phrase("mode {}", joined(mode, others, by=" of ")),
            phrase("model {}", word(models, "currentModelId")),
            config_options(result),
            phrase("created {}", word(result, "createdAt")),
            phrase("messages {}", word(result, "messageCount")),
        ),
    )


def prompt(params: Value) -> str:
    """Describes a prompt by its text."""
    return prompt_text(params) or "(empty)"


def prompt_text(params: Value) -> str:
    """Returns the text of a prompt and a description of its attachments; empty without both."""
    text = content(params.get("prompt", params.get("content")))
    return joined(text, content(params.get("attachments")))


def prompt_result(result: Value) -> str:
    """Describes why a turn stopped, and how many tokens it used."""
    tokens = usage_words(tokens_of(result))
    stop = joined(word(result, "stopReason"), turn_error(result), by=": ")
    return joined(stop, tokens, by=", ")


def turn_error(holder: Value) -> str:
    """Describes the error of a turn; in v2 it is in the state that ends the turn."""
    error = part(holder, "error")
    return describe_error(error) if error else ""


def cancel(params: Value) -> str:
    """Describes the cancellation of a turn."""
    return joined(word(params, "sessionId"), phrase("({})", word(params, "reason")))


def list_params(params: Value) -> str:
    """Describes which sessions a request asks to list."""
    where = phrase("in {}", word(params, "cwd")) or "all sessions"
    return joined(where, phrase("after {}", word(params, "cursor")[:40]), by=", ")


def list_result(result: Value) -> str:
    """Describes the listed sessions."""
    sessions = parts(result, "sessions")
    names = listed((word(s, "title", "sessionId") for s in sessions), most=4)
    more = "there are more" if word(result, "nextCursor") else ""
    return joined(joined(counted(len(sessions), "session"), names, by=": "), more, by="; ")


def set_mode_result(result: Value) -> str:
    """Describes the mode before and after a change (the 1.0 draft)."""
    return joined(word(result, "previousMode"), word(result, "currentMode"), by=" → ")


def set_option(params: Value) -> str:
    """Describes the option to change."""
    return f"{word(params, 'configId', 'key')}={compact(params.get('value'))}"


def set_option_result(result: Value) -> str:
    """Describes all options of a session, or in the 1.0 draft the option that changed."""
    if "currentValue" not in result:
        return config_options(result)
    before = f"(was {compact(result['previousValue'])})" if "previousValue" in result else ""
    return joined(f"{word(result, 'key')}={compact(result['currentValue'])}", before)


def config_options(value: Value) -> str:
    """Lists the options of a session, as name=value."""
    return listed(
        (
            f"{word(option, 'id', 'configId', 'key')}="
            f"{compact(option.get('currentValue', option.get('value')))}"
            for option in parts(value, "configOptions")
        ),
        most=8,
    )


def _server(server: Value) -> str:
    """Describes an MCP server by name and transport; a server without a type is a command (v1)."""
    kind = word(part(server, "transport"), "type") or word(server, "type") or "stdio"
    return f"{word(server, 'name') or '?'} ({kind})"
