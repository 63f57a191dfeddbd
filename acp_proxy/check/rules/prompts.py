"""Rules about prompts, their content, and messages that belong to a turn."""

import binascii
import re
from collections.abc import Iterable
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, frames_of, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.registry import rule, turn_rule
from acp_proxy.explain.message_pass import HISTORY
from acp_proxy.protocol.dialects import DRAFT, PERMISSION, PROMPT, V1, V2
from acp_proxy.protocol.json_text import encode_json, member
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.updates import NEW_CHILD, RUNNING, TURN_OUTPUT, WITH_CONTENT
from acp_proxy.redaction.markers import MARKER

_STOP_REASONS = {
    V1: frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}),
    DRAFT: frozenset({"end_turn", "cancelled", "max_tokens", "error"}),
}
MISSING = re.compile(r"not found|unknown|no such|does ?n.t exist|does not exist", re.IGNORECASE)
"""Matches the words of an error about a thing that was not found."""
LOST = re.compile(
    r"(?:session|thread|conversation)\b.{0,60}\b(?:not found|does ?n.t exist|unknown|no longer)"
    r"|(?:no such|unknown|invalid|no) (?:session|thread|conversation)",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the words of an error about an unknown session."""
_OF_SESSION = re.compile(rb"(?i:\bsession(?:[ _]?id)?\b(?!/))")
_FILES = ("fs/read_text_file", "fs/write_text_file")
_LISTED = 5
_MOST = 1_000
"""The largest number of content blocks of a message that are checked."""


@rule("prompt.baseline-refused", answers=(PROMPT,))
def baseline_is_taken(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds the error "invalid params" for a valid prompt that has only texts and resource links.

    Errors about the session are left out if they call it unknown, or if its opening is unrecorded.
    """
    request = message.request
    if not message.is_error or message.parsed.error_code != -32602 or request is None:
        return
    session, blocks = conversation.session(message.session), request.params.get("prompt")
    if session is None or session.closed_seq is not None or not isinstance(blocks, list):
        return
    is_plain = request.params.keys() <= {"sessionId", "prompt", "_meta"} and _is_baseline(blocks)
    error = encode_json(message.value["error"])
    is_unknown = not session.opened or LOST.search(error.decode())
    is_of_session = _OF_SESSION.search(error) and is_unknown
    other = conversation.other_turn(message.session, message.transition.turn)
    if is_plain and not is_of_session and other is None:
        yield Breach("a prompt of text and resource links is refused as invalid", (request.seq,))


@rule("prompt.empty", requests=(PROMPT,), alone=True)
def prompts_have_content(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds prompts without content blocks."""
    name = "content" if conversation.dialect == DRAFT else "prompt"
    if message.params.get(name) == []:
        yield Breach("the prompt has no content", place=f"/params/{name}")


@rule("prompt.concurrent", requests=(PROMPT,))
def prompts_wait_for_the_end(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds prompts in a session with an open turn. In v2, a prompt may join an open turn."""
    if message.session is None:
        return
    if (older := conversation.other_turn(message.session, message.transition.turn)) is not None:
        yield Breach("the turn before has not ended", (older.prompt_seq,))


@rule("prompt.stop-reason", results=(PROMPT,), alone=True)
def stop_reason_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers to a prompt without a valid stop reason of the dialect."""
    known = _STOP_REASONS.get(conversation.dialect or "")
    if known is None or message.value is None:
        return
    reason = message.result.get("stopReason")
    if not isinstance(reason, str) or reason not in known:
        is_there = "stopReason" in message.result
        text = f"the stop reason {shown(reason)} is not defined"
        text = text if is_there else "the answer has no stopReason"
        yield Breach(text, place="/result/stopReason")


@rule("prompt.base64", requests=(PROMPT,), updates=WITH_CONTENT, alone=True)
def binary_content_is_base64(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds images, audio and blobs whose data is not base64."""
    if message.update_kind:
        path = "/params/update/content" if "update" in message.params else "/params/data/content"
        content = message.update.get("content")
    else:
        name = "prompt" if "prompt" in message.params else "content"
        path, content = f"/params/{name}", message.params.get(name)
    if isinstance(content, list):
        blocks = [(f"{path}/{at}", block) for at, block in enumerate(content[:_MOST])]
    else:
        blocks = [(path, content)]
    for place, block in blocks:
        if member(block, "type") == "content":  # the content of a tool call
            place, block = f"{place}/content", member(block, "content")
        for name, data in _binary(block):
            if not _is_base64(data):
                text = f"the data of a block of type {member(block, 'type')} is not base64"
                yield Breach(text, place=f"{place}/{name}")


@rule("prompt.base64", updates=("terminal_output_chunk", "terminal_update"), alone=True)
def output_is_base64(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds terminal output in updates of v2 that is not base64."""
    is_chunk = message.update_kind == "terminal_output_chunk"
    path = ("data",) if is_chunk else ("output", "data")
    data = member(message.update, *path)
    if conversation.dialect == V2 and isinstance(data, str) and not _is_base64(data):
        yield Breach("the output of a terminal is not base64",
                     place=f"/params/update/{'/'.join(path)}")  # fmt: skip


@rule("turn.update-late", updates=TURN_OUTPUT)
def output_precedes_the_end(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds output that comes after the end of its turn. Cancelled turns are left out."""
    end = late_for(message, conversation)
    if end is not None and not was_cancelled(end):
        yield Breach(f"{message.update_kind} comes after the end of the turn", (end.seq,))


@turn_rule("turn.tools-open")
def tools_are_done(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds tool calls that are open at the end of a successful turn.

    A call that was named only in a permission request is left out: agents ask permission also for
    actions that they never report as a tool call.
    """
    is_cancelled = ended.turn.cancel_seq is not None or ended.turn.dropped is not None
    if ended.stop_reason != "end_turn" or is_cancelled:
        return
    reported = [call for call in ended.turn.calls.values() if call.is_reported]
    open_ = [call for call in reported if call.status in RUNNING]
    if open_:
        named = ", ".join(f"{shown(call.id)} is {call.status}" for call in open_[:_LISTED])
        more = f", and {len(open_) - _LISTED} others are open" if len(open_) > _LISTED else ""
        seqs = tuple(call.status_seq or call.seq for call in open_[:_LISTED])
        yield Breach(f"the turn ends while the tool call {named}{more}", seqs)


@turn_rule("turn.requests-open")
def requests_are_settled(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds requests of the agent that are open at the end of their turn.

    Requests that wait for the exit of a terminal are left out: a terminal may outlive the turn.
    """
    if ended.turn.cancel_seq is not None:
        return
    for request in conversation.open_requests(Direction.TO_CLIENT):
        opened = request.transition.opened
        if request.transition.turn != ended.turn.id or opened is None or opened.cancelled:
            continue
        if request.method in (PERMISSION, "terminal/create", *_FILES):
            text = f"the turn ends while the agent's {request.method} is open"
            yield Breach(text, (request.seq,))


@rule("turn.request-outside", requests=(PERMISSION, "terminal/create", *_FILES))
def requests_belong_to_a_turn(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds requests of the agent in a session without an open turn. In v2, these are allowed."""
    session = conversation.session(message.session)
    if session is None or message.transition.turn is not None or conversation.dialect != V1:
        return
    is_open = message.sender == AGENT and session.closed_seq is None
    is_open = is_open and session.opened != NEW_CHILD  # its parent has the turn
    if is_open and not conversation.is_opening(message.session, *HISTORY):
        end = conversation.last_ends.get(session.id)
        yield Breach(f"{message.method} comes while the session has no turn",
                     frames_of(end))  # fmt: skip


@turn_rule("turn.silent")
def progress_is_reported(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds successful turns without any update, which the 1.0 draft forbids."""
    turn = ended.turn
    if ended.stop_reason == "end_turn" and not turn.updates and turn.cancel_seq is None:
        yield Breach("the turn ends without an update", (turn.prompt_seq,))


def late_for(message: CheckedMessage, conversation: Conversation) -> EndedTurn | None:
    """Returns the ended turn to which a late update belongs; None if the update is not late.

    The history of a session is not late. It consists of the updates that come while the session is
    being opened, or between the answer to ``session/load`` and the first prompt.

    Args:
        message: an update.
        conversation: the conversation before the update.
    """
    if message.transition.turn is not None or message.sender != AGENT or message.session is None:
        return None
    if conversation.pairs.may_be_prompted(message.session):
        return None
    session = conversation.session(message.session)
    if session is not None and session.opened == "session/load" and not session.had_prompt:
        return None
    if session is not None and session.closed_seq is not None:
        return None
    if conversation.is_opening(message.session, *HISTORY):
        return None
    return conversation.last_ends.get(message.session)


def was_cancelled(end: EndedTurn) -> bool:
    """Whether the client has cancelled a turn and the agent has confirmed the cancel."""
    return end.turn.must_confirm and end.stop_reason == "cancelled"


def _is_baseline(blocks: list[Any]) -> bool:
    """Whether all blocks are valid texts or resource links."""
    for block in blocks[:_MOST]:
        kind = member(block, "type")
        needed = {"text": ("text",), "resource_link": ("uri", "name")}.get(str(kind), ())
        if not needed or not all(isinstance(member(block, name), str) for name in needed):
            return False
    return bool(blocks)


def _binary(block: Any) -> Iterable[tuple[str, str]]:
    """Yields the places of binary data in a content block of any dialect, each with the data."""
    if member(block, "type") not in ("image", "audio", "resource"):
        return
    places = {"data": ("data",), "resource/blob": ("resource", "blob")}
    if member(block, "source", "type") == "base64":
        places["source/data"] = ("source", "data")
    for name, path in places.items():
        if isinstance(data := member(block, *path), str):
            yield name, data


def _is_base64(data: str) -> bool:
    """Whether a string is base64, possibly on several lines. A masked string counts as base64."""
    try:
        binascii.a2b_base64("".join(data.split("\n")).replace("\r", ""), strict_mode=True)
    except ValueError:
        return MARKER.search(data) is not None
    return True
