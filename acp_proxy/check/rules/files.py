"""Rules about reading and writing files through the client."""

from acp_proxy.check.check_values import Breach, Breaches, frames_of, is_relative, shown
from acp_proxy.check.checked_message import CheckedMessage, integer
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import rule
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.jsonrpc import Direction

_READ, _WRITE = "fs/read_text_file", "fs/write_text_file"
_NOT_FOUND = -32002


@rule("fs.path-absolute", requests=(_READ, _WRITE), alone=True)
def path_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative paths."""
    if is_relative(path := message.params.get("path")):
        yield Breach(f"the path {shown(path)} is not absolute", place="/params/path")


@rule("fs.line", requests=(_READ,), alone=True)
def lines_begin_with_1(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds line numbers below 1, and in the 1.0 draft a last line before the first."""
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
    """Finds clients that refuse to write a file because the file does not exist."""
    if message.is_error and message.parsed.error_code == _NOT_FOUND and conversation.dialect == V1:
        related = frames_of(message.request)
        path = "a file" if message.request is None else shown(message.request.params.get("path"))
        yield Breach(f"{path} was not written, since it does not exist", related)


@rule("fs.read-after-write", results=(_READ, _WRITE))
def reads_what_was_written(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports a file that is read as a whole after a write, with another text than was written."""
    request = message.request
    path = request.params.get("path") if request is not None else None
    if request is None or not isinstance(path, str) or conversation.dialect == V2:
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
