"""Rules about files, and about the session, output, exit and release of terminals."""

from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, is_relative, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage, integer
from acp_proxy.check.conversation.conversation import TERMINAL, Conversation
from acp_proxy.check.conversation.session_record import EndedTurn, TerminalRecord
from acp_proxy.check.registry import end_rule, rule, turn_rule
from acp_proxy.protocol.dialects import DRAFT, V1
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.redaction.markers import MARKER

_READ, _WRITE = "fs/read_text_file", "fs/write_text_file"
_NOT_FOUND = -32002


@rule("fs.path-absolute", requests=(_READ, _WRITE), alone=True)
def path_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative paths of files."""
    if is_relative(path := message.params.get("path")):
        yield Breach(f"the path {shown(path)} is not absolute", place="/params/path")


@rule("fs.line", requests=(_READ,), alone=True)
def lines_begin_with_1(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds first lines below 1; in the 1.0 draft, also ``endLine`` below ``startLine``."""
    name = "startLine" if conversation.dialect == DRAFT else "line"
    first, last = integer(message.params.get(name)), integer(message.params.get("endLine"))
    if first is not None and first < 1:
        yield Breach(f"{name} is {first}; the first line is 1", place=f"/params/{name}")
    elif conversation.dialect == DRAFT and first is not None and last is not None and last < first:
        yield Breach(f"endLine is {last}, before startLine {first}", place="/params/endLine")


@rule("fs.limit", results=(_READ,))
def no_more_than_asked(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds content with more lines than the agent asked for."""
    request, content = message.request, message.result.get("content")
    limit = integer(request.params.get("limit")) if request is not None else None
    if request is None or limit is None or conversation.dialect != V1:
        return
    if not isinstance(content, str):
        return
    lines = content.count("\n") + bool(content and not content.endswith("\n"))
    if lines > limit:
        text = f"{lines:,} lines were returned, but the limit is {limit:,}"
        yield Breach(text, (request.seq,), place="/result/content")


@rule("fs.write-refused-new", answers=(_WRITE,))
def writing_makes_files(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds clients that refuse to write a file because it does not exist yet."""
    if message.is_error and message.parsed.error_code == _NOT_FOUND and conversation.dialect == V1:
        related = frames_of(message.request)
        path = "a file" if message.request is None else shown(message.request.params.get("path"))
        yield Breach(f"{path} was not written, since it does not exist", related)


@rule("fs.read-after-write", results=(_READ, _WRITE))
def reads_what_was_written(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports a read of a whole file that does not return the text of the latest write."""
    request = message.request
    path = request.params.get("path") if request is not None else None
    if request is None or not isinstance(path, str):
        return
    written, key = conversation.memory.written_files, (message.session, path)
    if message.method == _WRITE:
        content = request.params.get("content")
        written.remove(key)
        if isinstance(content, str):
            written.add(key, (message.seq, hash(content)))
        return
    known, content = written.remove(key), message.result.get("content")
    is_whole = not request.params.keys() & {"line", "limit", "startLine", "endLine"}
    if known is None or not is_whole or not isinstance(content, str):
        return
    seq, text_hash = known
    if hash(content) != text_hash and not _is_written(path, conversation) and request.seq > seq:
        what = f"the text of {shown(path)} is not the one that was written"
        yield Breach(what, (seq,), place="/result/content")


def _is_written(path: str, conversation: Conversation) -> bool:
    """Whether a request to write a file is open."""
    open_ = conversation.open_requests(Direction.TO_CLIENT)
    return any(request.method == _WRITE and request.params.get("path") == path for request in open_)


_CREATE, _OUTPUT, _WAIT = "terminal/create", "terminal/output", "terminal/wait_for_exit"
_OTHERS = (_OUTPUT, _WAIT, "terminal/kill", "terminal/release")
_SLOW_NS = 5 * 10**9
"""The time after which an answer to ``terminal/create`` counts as slow."""
_EARLY = 2
"""Truncated output is too short if its length is less than the limit divided by this number."""


@rule("term.id-unique", results=(_CREATE,))
def id_is_fresh(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds new terminals whose id belongs to an unreleased terminal."""
    terminal = conversation.terminals.get(message.parsed.terminal or "")
    if terminal is not None and terminal.release_seq is None and terminal.is_created:
        text = f"the terminal {shown(terminal.id)} exists already"
        yield Breach(text, (terminal.seq,), place="/result/terminalId")


@rule("term.unknown", requests=_OTHERS)
def id_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages that name a terminal which was not created."""
    name = message.params.get("terminalId")
    is_unknown = isinstance(name, str) and conversation.terminals.lacks(name)
    if is_unknown and not conversation.pairs.excused[TERMINAL]:
        yield Breach(f"the terminal {shown(name)} was not created", place="/params/terminalId")


@rule("term.wrong-session", requests=_OTHERS)
def session_is_its_own(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds terminals that are used in another session than their own."""
    terminal, session = _terminal(message, conversation), message.params.get("sessionId")
    if terminal is None or terminal.session is None or not isinstance(session, str):
        return
    if session != terminal.session and conversation.session(session) is not None:
        text = f"the terminal {shown(terminal.id)} is of session {shown(terminal.session)}"
        yield Breach(text, (terminal.seq,), place="/params/sessionId")


@rule("term.after-release", requests=_OTHERS)
def released_is_invalid(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds terminals that are used after their release."""
    terminal = _terminal(message, conversation)
    if terminal is not None and terminal.release_seq is not None:
        text = f"the terminal {shown(terminal.id)} is released"
        yield Breach(text, (terminal.release_seq,), place="/params/terminalId")


@turn_rule("term.leaked")
def released_with_the_turn(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds terminals that are not released when their turn ends."""
    for terminal in _unreleased(conversation):
        if terminal.turn == ended.turn.id and terminal.turn is not None:
            conversation.memory.leaked_terminals.add(terminal.id, ended.seq)
            text = f"the terminal {shown(terminal.id)} is not released at the end of its turn"
            yield Breach(text, (terminal.seq,), AGENT, severity=Severity.WARNING)


@rule("term.leaked", results=("session/close",))
def released_with_the_session(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds terminals that are not released when their session is closed."""
    for terminal in _unreleased(conversation):
        if terminal.session == message.session:
            text = f"the session is closed, but its terminal {shown(terminal.id)} is not released"
            yield Breach(text, (terminal.seq,))


@end_rule("term.leaked")
def released_at_the_end(conversation: Conversation) -> Breaches:
    """Finds terminals that are not released when the agent leaves or the recording ends.

    At the end of the recording, terminals of an open turn are left out.
    """
    if not conversation.is_over:
        return
    for terminal in _unreleased(conversation):
        session = conversation.session(terminal.session)
        if session is not None and session.closed_seq is not None:
            continue  # the terminal was reported before
        turn = conversation.turn(terminal.turn) or conversation.turn_of(terminal.session)
        if conversation.left == AGENT or turn is None:
            text = f"the terminal {shown(terminal.id)} was never released"
            related = frames_of(conversation.memory.leaked_terminals.get(terminal.id))
            yield Breach(text, related, AGENT, terminal.seq, explains=("term.leaked",))


@rule("term.cwd-absolute", requests=(_CREATE,), alone=True)
def cwd_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative working directories."""
    if is_relative(path := message.params.get("cwd")):
        yield Breach(f"the cwd {shown(path)} is not absolute", place="/params/cwd")


@rule("term.limit-exceeded", results=(_OUTPUT,))
def output_is_limited(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output that is longer than the agent's limit."""
    terminal, output = _read(message, conversation), message.result.get("output")
    if terminal is None or terminal.limit is None or not isinstance(output, str):
        return
    size = len(output.encode(errors="surrogatepass"))
    if size > terminal.limit and MARKER.search(output) is None:
        text = f"the output has {size:,} bytes, but {terminal.limit:,} are allowed"
        yield Breach(text, (terminal.seq,), place="/result/output")


@rule("term.truncated-missing", results=(_OUTPUT,))
def truncation_is_reported(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output that lost its beginning, but is not reported as truncated."""
    terminal, output = _read(message, conversation), message.result.get("output")
    if terminal is None or terminal.output is None or not isinstance(output, str):
        return
    is_reported = terminal.was_truncated or message.result.get("truncated") is True
    has_same_start = output.startswith(terminal.output) or _is_masked(terminal, output)
    if not is_reported and not has_same_start:
        text = "the output does not begin as before, but truncated is false"
        yield Breach(text, frames_of(terminal.output_seq), place="/result/truncated")


@rule("term.truncated-early", results=(_OUTPUT,))
def truncation_has_a_reason(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports output that was truncated although it had no limit or was far below the limit."""
    terminal, output = _read(message, conversation), message.result.get("output")
    if terminal is None or message.result.get("truncated") is not True or terminal.was_truncated:
        return
    if terminal.limit is None:
        yield Breach("the output is truncated, but no limit was set", (terminal.seq,),
                     place="/result/truncated")  # fmt: skip
    elif isinstance(output, str) and MARKER.search(output) is None:
        size = len(output.encode(errors="surrogatepass"))
        if size < terminal.limit // _EARLY:
            text = f"the output is truncated at {size:,} of {terminal.limit:,} bytes"
            yield Breach(text, (terminal.seq,), place="/result/truncated")


@rule("term.truncated-boundary", results=(_OUTPUT,))
def truncation_keeps_characters(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds truncated output that begins in the middle of a character."""
    output = message.result.get("output")
    if not isinstance(output, str) or conversation.dialect != V1:
        return
    is_cut = output.startswith("\ufffd") or "\ud800" <= output[:1] <= "\udfff"
    if is_cut and message.result.get("truncated") is True:
        yield Breach("the output begins with a part of a character", place="/result/output")


@rule("term.truncated-front", results=(_OUTPUT,))
def truncation_takes_the_oldest(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output whose newest part was cut off."""
    terminal, output = _read(message, conversation), message.result.get("output")
    if terminal is None or not terminal.output or not isinstance(output, str):
        return
    begins = message.result.get("truncated") is True and not terminal.was_truncated
    size = len(output.encode(errors="surrogatepass"))
    is_full = terminal.limit is not None and size >= terminal.limit
    if begins and is_full and output.startswith(terminal.output) and terminal.exit is None:
        text = "the output is truncated, and begins as before: its end is cut off"
        yield Breach(text, frames_of(terminal.output_seq), place="/result/output")


@rule("term.exit-status", results=(_OUTPUT,))
def exit_stays(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output without an exit status, although an exit status was reported before."""
    terminal = _read(message, conversation)
    if terminal is None or terminal.exit_seq is None or message.request is None:
        return
    if message.result.get("exitStatus") is None and message.request.seq > terminal.exit_seq:
        text = "the command has ended, but its exit status is missing"
        yield Breach(text, (terminal.exit_seq,), place="/result/exitStatus")


@rule("term.exit-differs", results=(_OUTPUT, _WAIT))
def exits_agree(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds two different exit statuses of one command."""
    terminal = _read(message, conversation)
    status = message.result.get("exitStatus") if message.method == _OUTPUT else message.result
    if terminal is None or terminal.exit is None or not isinstance(status, dict):
        return
    now, before = _ending(status), _ending(terminal.exit)
    if now != before and _is_exit(status) and _is_exit(terminal.exit):
        text = f"the command ended with {now}, but {before} was reported before"
        yield Breach(text, frames_of(terminal.exit_seq))


@rule("term.exit-both", results=(_OUTPUT, _WAIT), alone=True)
def ends_in_one_way(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports an exit with both a code and a signal, or with neither."""
    status = message.result.get("exitStatus") if message.method == _OUTPUT else message.result
    if not isinstance(status, dict) or conversation.dialect != V1 or message.value is None:
        return
    code, signal = status.get("exitCode"), status.get("signal")
    if (code is None) == (signal is None):
        both = "neither an exit code nor a signal" if code is None else "an exit code and a signal"
        yield Breach(f"the exit status has {both}")


@rule("term.output-after-exit", results=(_OUTPUT,))
def output_is_final(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output that changes after its command has ended."""
    terminal, output = _read(message, conversation), message.result.get("output")
    if terminal is None or terminal.exit_seq is None or terminal.output is None:
        return
    is_later = terminal.output_seq is not None and terminal.output_seq >= terminal.exit_seq
    if not is_later or not isinstance(output, str) or output == terminal.output:
        return
    if not _is_masked(terminal, output):
        text = "the output has changed, though the command had ended"
        yield Breach(text, frames_of(terminal.output_seq), place="/result/output")


@rule("term.create-slow", results=(_CREATE,))
def remember_slow_creations(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers terminals whose creation was slow."""
    exchange, name = message.answered, message.parsed.terminal
    is_slow = exchange is not None and (exchange.latency_ns or 0) >= _SLOW_NS
    if is_slow and name is not None:
        conversation.memory.slow_terminals.add(name, message.seq)


@rule("term.create-slow", results=(_OUTPUT,))
def creation_does_not_wait(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports clients that answer terminal/create only after the command has ended.

    The signs of this: the answer was slow, and the first output already has an exit status.
    """
    terminal = _read(message, conversation)
    seq = None if terminal is None else conversation.memory.slow_terminals.remove(terminal.id)
    if seq is not None and message.result.get("exitStatus") is not None:
        text = "terminal/create was answered only when its command had ended"
        yield Breach(text, (message.seq,), seq=seq)


def _terminal(message: CheckedMessage, conversation: Conversation) -> TerminalRecord | None:
    name = message.params.get("terminalId")
    return conversation.terminals.get(name) if isinstance(name, str) else None


def _read(message: CheckedMessage, conversation: Conversation) -> TerminalRecord | None:
    """Returns the terminal that an answer of v1 describes; None if it may have been released."""
    if message.request is None or conversation.dialect != V1:
        return None
    terminal, seq = _terminal(message.request, conversation), message.request.seq
    was_released = terminal is not None and (terminal.release_asked_seq or seq) < seq
    return None if was_released else terminal


def _unreleased(conversation: Conversation) -> list[TerminalRecord]:
    return [terminal for terminal in conversation.terminals.values() if not terminal.is_released]


def _is_exit(status: dict[str, Any]) -> bool:
    """Whether an exit status is valid and contains an exit code or a signal."""
    code, signal = status.get("exitCode"), status.get("signal")
    is_typed = isinstance(code, int | None) and isinstance(signal, str | None)
    return is_typed and (code, signal) != (None, None)


def _ending(status: dict[str, Any]) -> str:
    code, signal = status.get("exitCode"), status.get("signal")
    return f"signal {shown(signal)}" if signal is not None else f"exit code {shown(code)}"


def _is_masked(terminal: TerminalRecord, output: str) -> bool:
    """Whether the new or the previous output contains masked text."""
    return any(MARKER.search(text) is not None for text in (output, terminal.output or ""))
