"""Describes what an agent uses of its client: files, terminals, and MCP servers through ACP."""

import shlex

from acp_proxy.inspection.describe.content import content, exit_state
from acp_proxy.inspection.describe.errors import describe_error
from acp_proxy.inspection.describe.values import (
    Value,
    joined,
    listed,
    number,
    part,
    parts,
    payload,
    phrase,
    quantity,
    word,
)
from acp_proxy.wording import byte_size

MCP_ERROR = "MCP error"
_LISTS = ("tools", "resources", "prompts", "resourceTemplates")
"""What an MCP server may list."""


def read_params(params: Value) -> str:
    """Describes the file to read, and which of its lines."""
    first, count = number(params, "line"), number(params, "limit")
    start, end = number(params, "startLine"), number(params, "endLine")
    if first is not None or count is not None:
        start = 1 if first is None else first
        end = None if count is None else start + count - 1
    if start is None and end is None:
        return word(params, "path")
    return f"{word(params, 'path')}, lines {start or 1}-{'' if end is None else end}"


def read_result(result: Value) -> str:
    """Describes how much was read."""
    text = result.get("content")
    if not isinstance(text, str):
        return ""
    return joined(
        quantity(text) if text else "an empty file",
        phrase("{} lines in all", word(result, "totalLines")),
        "truncated" if result.get("truncated") is True else "",
        by=", ",
    )


def write_params(params: Value) -> str:
    """Describes the file to write, and its size."""
    text = params.get("content")
    size = f"({quantity(text)})" if isinstance(text, str) else ""
    return joined(word(params, "path"), size)


def write_result(result: Value) -> str:
    """Describes how much was written (the 1.0 draft)."""
    count = number(result, "bytesWritten")
    created = result.get("created")
    return joined(
        f"{byte_size(count)} written" if count is not None else "",
        "new file" if created is True else "",
        by=", ",
    )


def command(params: Value) -> str:
    """Describes a command line, with its arguments quoted for the shell."""
    arguments = params.get("args")
    words = map(_quoted, arguments) if isinstance(arguments, list) else ()
    return joined(word(params, "command"), *words, phrase("(in {})", word(params, "cwd")))


def created(result: Value) -> str:
    """Describes a new terminal."""
    return joined(word(result, "terminalId"), phrase("(pid {})", word(result, "pid")))


def terminal(params: Value) -> str:
    """Describes a terminal, and a signal for it or a time to wait."""
    how = joined(
        word(params, "signal"),
        "by force" if params.get("force") is True else "",
        phrase("timeout {}", word(params, "timeout")),
        by=", ",
    )
    return joined(word(params, "terminalId"), phrase("({})", how))


def done(result: Value) -> str:
    """Describes what was done with a terminal (the 1.0 draft)."""
    known = (key for key in ("received", "killed", "released") if key in result)
    return listed(key if result[key] is True else f"not {key}" for key in known)


def output_params(params: Value) -> str:
    """Describes a terminal; in the 1.0 draft the client pushes its output."""
    data = params.get("data")
    if not isinstance(data, str):
        return word(params, "terminalId")
    return joined(joined(word(params, "terminalId"), word(params, "stream")), data, by=": ")


def output_result(result: Value) -> str:
    """Describes the state of a terminal, and its output."""
    output = result.get("output")
    if not isinstance(output, str):
        return done(result)
    size = byte_size(len(output.encode(errors="replace"))) if output else "no output"
    cut = ", truncated" if result.get("truncated") is True else ""
    state = exit_state(part(result, "exitStatus")) or "running"
    return joined(f"{state}, {size}{cut}", output, by=": ")


def exit_result(result: Value) -> str:
    """Describes how a command ended."""
    return exit_state(part(result, "exitStatus") or result) or "ended"


def mcp_message(params: Value) -> str:
    """Describes an MCP message: its connection, its method, its params."""
    via = word(params, "connectionId", "serverName")
    inner = part(params, "params") or part(params, "mcpParams")
    return joined(joined(via, word(params, "method", "mcpMethod")), payload(inner), by=": ")


def mcp_result(result: Value) -> str:
    """Describes the answer of an MCP server: content, a list by name, or an error in the answer."""
    if error := mcp_error(result):
        return f"{MCP_ERROR} {describe_error(error)}"
    result = part(result, "result") or result
    for key in _LISTS:
        if key in result:
            names = listed(word(item, "name", "uri") for item in parts(result, key))
            return joined(key, names or "none", by=": ")
    failed = "error" if result.get("isError") is True else ""
    return joined(failed, content(result.get("content")), by=": ")


def mcp_error(result: Value) -> Value:
    """Returns the error of an MCP server that an answer carries; empty if it has none."""
    return {} if "result" in result else part(result, "error")


def _quoted(argument: object) -> str:
    return shlex.quote(argument) if isinstance(argument, str) else str(argument)
