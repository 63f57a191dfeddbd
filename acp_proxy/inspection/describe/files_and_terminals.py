"""What the agent has the client do: read and write files, run commands."""

import shlex

from acp_proxy.inspection.describe.content import exit_state
from acp_proxy.inspection.describe.values import (
    Value,
    joined,
    listed,
    number,
    part,
    quantity,
    word,
)
from acp_proxy.wording import byte_size


def read_params(params: Value) -> str:
    """The file, and which lines of it."""
    first, count = number(params, "line"), number(params, "limit")
    start, end = number(params, "startLine"), number(params, "endLine")
    if first is not None or count is not None:
        start = 1 if first is None else first
        end = None if count is None else start + count - 1
    if start is None and end is None:
        return word(params, "path")
    return f"{word(params, 'path')}, lines {start or 1}-{'' if end is None else end}"


def read_result(result: Value) -> str:
    """How much was read."""
    content = result.get("content")
    if not isinstance(content, str):
        return ""
    total = word(result, "totalLines")
    return joined(
        quantity(content) if content else "an empty file",
        f"{total} lines in all" if total else "",
        "truncated" if result.get("truncated") is True else "",
        by=", ",
    )


def write_params(params: Value) -> str:
    """The file, and how much is to be in it."""
    content = params.get("content")
    size = f"({quantity(content)})" if isinstance(content, str) else ""
    return joined(word(params, "path"), size)


def write_result(result: Value) -> str:
    """How much was written, in the 1.0 draft."""
    count = number(result, "bytesWritten")
    created = result.get("created")
    return joined(
        f"{byte_size(count)} written" if count is not None else "",
        "new file" if created is True else "",
        by=", ",
    )


def command(params: Value) -> str:
    """The command line; its own words are quoted where the shell would need it."""
    arguments = params.get("args")
    words = map(_quoted, arguments) if isinstance(arguments, list) else ()
    folder = word(params, "cwd")
    return joined(word(params, "command"), *words, f"(in {folder})" if folder else "")


def created(result: Value) -> str:
    """The new terminal."""
    pid = word(result, "pid")
    return joined(word(result, "terminalId"), f"(pid {pid})" if pid else "")


def terminal(params: Value) -> str:
    """The terminal, with the signal that it is to get, or how long to wait for it."""
    timeout = word(params, "timeout")
    how = joined(
        word(params, "signal"),
        "by force" if params.get("force") is True else "",
        f"timeout {timeout}" if timeout else "",
        by=", ",
    )
    return joined(word(params, "terminalId"), f"({how})" if how else "")


def done(result: Value) -> str:
    """Whether it was done, in the 1.0 draft."""
    said = (key for key in ("received", "killed", "released") if key in result)
    return listed(key if result[key] is True else f"not {key}" for key in said)


def output_params(params: Value) -> str:
    """The terminal; in the 1.0 draft the client pushes what it printed."""
    data = params.get("data")
    if not isinstance(data, str):
        return word(params, "terminalId")
    return joined(joined(word(params, "terminalId"), word(params, "stream")), data, by=": ")


def output_result(result: Value) -> str:
    """How it ended if it has, how much it printed, and that."""
    output = result.get("output")
    if not isinstance(output, str):
        return done(result)
    size = byte_size(len(output.encode(errors="replace"))) if output else "no output"
    cut = ", truncated" if result.get("truncated") is True else ""
    state = exit_state(part(result, "exitStatus")) or "running"
    return joined(f"{state}, {size}{cut}", output, by=": ")


def exit_result(result: Value) -> str:
    """How it ended."""
    return exit_state(part(result, "exitStatus") or result) or "ended"


def _quoted(argument: object) -> str:
    return shlex.quote(argument) if isinstance(argument, str) else str(argument)
