"""Describes sessions: their requests and results, and each kind of session update."""

from collections.abc import Callable

from acp_proxy.base.wording import counted
from acp_proxy.explain.describe.content_texts import content, exit_state
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.phrases import (
    Value,
    bracketed,
    compact,
    decoded_size,
    from_base64,
    joined,
    listed,
    part,
    parts,
    payload,
    phrase,
    quantity,
    word,
)
from acp_proxy.explain.describe.token_texts import cost_words, tokens_of, usage_words
from acp_proxy.explain.describe.tool_texts import tool_call
from acp_proxy.protocol.updates import CHUNKS, TOOL_CALLS, USAGE, WHOLE_MESSAGES, kind_and_update


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
    """Describes a prompt by its text and its attachments."""
    return prompt_text(params) or "(empty)"


def prompt_text(params: Value) -> str:
    """Returns the text of a prompt, followed by a description of its attachments."""
    text = content(params.get("prompt", params.get("content")))
    return joined(text, content(params.get("attachments")))


def prompt_result(result: Value) -> str:
    """Describes why a turn stopped, and how many tokens it used."""
    tokens = usage_words(tokens_of(result))
    stop = joined(word(result, "stopReason"), turn_error(result), by=": ")
    return joined(stop, tokens, by=", ")


def turn_error(holder: Value) -> str:
    """Describes the error with which a turn ended; empty without an error."""
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
    """Describes a list of sessions by their number and their titles."""
    sessions = parts(result, "sessions")
    names = listed((word(s, "title", "sessionId") for s in sessions), most=4)
    more = "there are more" if word(result, "nextCursor") else ""
    return joined(joined(counted(len(sessions), "session"), names, by=": "), more, by="; ")


def set_mode_result(result: Value) -> str:
    """Describes the mode before and after a change (the 1.0 draft)."""
    return joined(word(result, "previousMode"), word(result, "currentMode"), by=" → ")


def set_option(params: Value) -> str:
    """Describes the configuration option that a request changes, as name=value."""
    return f"{word(params, 'configId', 'key')}={compact(params.get('value'))}"


def set_option_result(result: Value) -> str:
    """Describes all options of a session, or in the 1.0 draft the option that changed."""
    if "currentValue" not in result:
        return config_options(result)
    before = f"(was {compact(result['previousValue'])})" if "previousValue" in result else ""
    return joined(f"{word(result, 'key')}={compact(result['currentValue'])}", before)


def config_options(value: Value) -> str:
    """Lists the configuration options of a session, each as name=value."""
    return listed(
        (
            f"{word(option, 'id', 'configId', 'key')}="
            f"{compact(option.get('currentValue', option.get('value')))}"
            for option in parts(value, "configOptions")
        ),
        most=8,
    )


def _server(server: Value) -> str:
    """Describes an MCP server by name and transport."""
    kind = word(part(server, "transport"), "type") or word(server, "type") or "stdio"
    return f"{word(server, 'name') or '?'} ({kind})"


def session_update(params: Value) -> str:
    """Describes a session update. The text begins with the kind of the update."""
    kind, update = kind_and_update(params)
    if not kind:
        return ""
    describe = UPDATES.get(kind)
    shown = describe(update) if describe is not None else payload(update, "sessionUpdate")
    return f"{kind}: {shown}" if shown else kind


def _message(update: Value) -> str:
    shown = content(update.get("content"))
    if shown or "content" in update:
        return shown or ("(cleared)" if update["content"] is None else "(empty)")
    return word(update, "messageId")  # v2: members that are left out do not change


def _thought(update: Value) -> str:
    return joined("(not visible)" if is_hidden(update) else "", _message(update))


def is_hidden(update: Value) -> bool:
    """Whether an update of the 1.0 draft is a thought that the user does not see."""
    return update.get("visible") is False


def _tool_chunk(update: Value) -> str:
    return joined(word(update, "toolCallId"), content(update.get("content")), by=": ")


def _commands(update: Value) -> str:
    commands = parts(update, "availableCommands") or parts(update, "commands")
    names = listed(word(command, "name") for command in commands)
    return joined(counted(len(commands), "command"), names, by=": ")


def _mode(update: Value) -> str:
    mode = word(update, "currentModeId", "currentMode", "modeId")
    before, why = word(update, "previousMode"), word(update, "reason")
    return joined(f"{before} → {mode}" if before else mode, phrase("({})", why))


def _config(update: Value) -> str:
    if "configOptions" in update:
        return config_options(update) or "no options"
    value = update.get("currentValue", update.get("value"))
    change = f"{word(update, 'key', 'configId')}={compact(value)}"
    before = compact(update["previousValue"]) if "previousValue" in update else ""
    was = joined(phrase("was {}", before), phrase("by {}", word(update, "source")), by=", ")
    return joined(change, phrase("({})", was))


def _session_info(update: Value) -> str:
    title = word(update, "title")
    cleared = "title cleared" if "title" in update and not title else ""
    shown = joined(title or cleared, phrase("updated {}", word(update, "updatedAt")), by=", ")
    return shown or payload(update, "sessionUpdate")


def _usage(update: Value) -> str:
    tokens = tokens_of(update)
    used, window = tokens.used, tokens.window
    share = f" ({used * 100 // window}%)" if used is not None and window else ""
    of = "" if window is None else f" of {window}"
    return joined("" if used is None else f"{used}{of} tokens{share}", cost_words(tokens), by=", ")


def _state(update: Value) -> str:
    tokens = usage_words(tokens_of(update))
    stop = joined(word(update, "stopReason"), turn_error(update), by=": ")
    return joined(word(update, "state"), stop, tokens and f"({tokens})")


def _child(update: Value) -> str:
    """Describes a child session by its id, its title and its state."""
    title = word(update, "title") or word(update, "description")
    state = word(part(update, "state"), "state")
    return joined(word(update, "sessionId"), title, bracketed(state))


def _between(update: Value) -> str:
    """Describes a message between two sessions, or a piece of such a message."""
    way = f"{word(update, 'senderSessionId') or '?'} → {word(update, 'recipientSessionId') or '?'}"
    has_way = "senderSessionId" in update or "recipientSessionId" in update
    return joined(way if has_way else "", _message(update), by=": ")


def _terminal(update: Value) -> str:
    output = part(update, "output").get("data")
    return joined(
        joined(word(update, "terminalId"), word(update, "command"), by=": "),
        phrase("in {}", word(update, "cwd")),
        exit_state(part(update, "exitStatus")),
        _printed(output) if isinstance(output, str) else "",
        by=", ",
    )


def _terminal_chunk(update: Value) -> str:
    data = update.get("data")
    return joined(word(update, "terminalId"), _printed(data) if isinstance(data, str) else "")


def _printed(data: str) -> str:
    """Describes the size and the text of a terminal's output. In v2, the output is base64."""
    if (decoded := from_base64(data[:4096])) is None:
        return f"{len(data)} characters that are not base64"
    return joined(decoded_size(data), decoded.decode(errors="replace"), by=": ")


def _plan(value: Value) -> str:
    """Describes a plan by its entries (steps in the 1.0 draft)."""
    entries = parts(value, "entries") or parts(value, "steps")
    if not entries:
        return "empty"
    states = [word(entry, "status") for entry in entries]
    dropped = [state for state in states if state in ("cancelled", "failed")]
    return joined(
        f"{states.count('completed')} of {len(states)} done",
        f"{len(dropped)} {dropped[0]}" if dropped else "",
        _step("now", entries, "in_progress") or _step("next", entries, "pending"),
        by=", ",
    )


def _plan_update(update: Value) -> str:
    """Describes one of several plans: a list, a file, or text."""
    inner = update.get("plan")
    value = inner if isinstance(inner, dict) else update
    match value.get("type"):
        case "file":
            shown = word(value, "uri")
        case "markdown":
            shown = word(value, "content")
        case _:
            shown = _plan(value)
    return joined(word(value, "planId"), shown, by=": ")


def _step(when: str, entries: list[Value], state: str) -> str:
    step = next((entry for entry in entries if word(entry, "status") == state), None)
    return f"{when}: {word(step, 'content', 'description')}" if step is not None else ""


def _notice(update: Value) -> str:
    title = joined(word(update, "title"), word(update, "description"), by=": ")
    return joined(f"[{word(update, 'severity') or 'notice'}]", title)


def _compaction(update: Value) -> str:
    shown = content(update.get("summary")) or word(update, "error")
    return joined(word(update, "compactionId"), bracketed(word(update, "status")), shown)


UPDATES: dict[str, Callable[[Value], str]] = {
    **dict.fromkeys((*CHUNKS, *WHOLE_MESSAGES), _message),
    "thought_message_chunk": _thought,
    **dict.fromkeys(TOOL_CALLS, tool_call),
    "tool_call_content_chunk": _tool_chunk,
    "plan": _plan,
    "plan_update": _plan_update,
    "plan_removed": lambda update: word(update, "planId"),
    "available_commands_update": _commands,
    "available_commands": _commands,
    "current_mode_update": _mode,
    "config_option_update": _config,
    "session_info_update": _session_info,
    USAGE: _usage,
    "state_update": _state,
    "terminal_update": _terminal,
    "terminal_output_chunk": _terminal_chunk,
    "subagent_update": _child,
    "session_message": _between,
    "notice": _notice,
    "compaction_update": _compaction,
}
"""The kinds of session updates of all dialects, each with its describer."""
