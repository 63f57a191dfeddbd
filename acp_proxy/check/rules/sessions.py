"""Rules about opening, listing and closing sessions, and about their directories."""

import re

from acp_proxy.check.check_values import Breach, Breaches, Severity, is_relative, shown
from acp_proxy.check.checked_message import AGENT, CLIENT, CheckedMessage, items
from acp_proxy.check.conversation.conversation import SESSION, Conversation
from acp_proxy.check.registry import ANY, is_while_opening, rule
from acp_proxy.protocol.dialects import CLOSING, DRAFT, FORK, OPENING, PROMPT, V1
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.updates import WITH_CONTENT
from acp_proxy.redaction.markers import MARKER

_REOPENING = ("session/load", "session/resume")
_OF_ANY_TIME = (
    "session/delete", "session/archive", "session/unarchive", "session/set_title", "session/status",
)  # fmt: skip
"""Requests that may name any listed session, even a session of an earlier connection."""
_PATHS = {"fs/read_text_file": "path", "fs/write_text_file": "path", "terminal/create": "cwd"}


@rule("session.cwd-absolute", requests=OPENING, alone=True)
def cwd_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative working directories."""
    name = "workingDirectory" if conversation.dialect == DRAFT else "cwd"
    if is_relative(path := message.params.get(name)):
        yield Breach(f"the {name} {shown(path)} is not absolute", place=f"/params/{name}")


@rule("session.id-unique", results=("session/new", FORK))
def id_is_fresh(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds new sessions with the id of another session."""
    name = message.result.get("sessionId")
    known = conversation.session(name) if isinstance(name, str) else None
    if known is not None:
        yield Breach(f"the session {shown(name)} exists already", (known.seq,),
                     place="/result/sessionId")  # fmt: skip


@rule("session.id-unknown", requests=(ANY,), notifications=(ANY,))
def id_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages that name a session which was neither opened nor listed.

    Each unknown id is reported once. A session that is being opened counts as known.
    """
    name = message.params.get("sessionId")
    if not isinstance(name, str) or _is_known(name, conversation):
        return
    if message.sender == AGENT and _is_any_new_open(conversation):
        return
    if message.method in (*OPENING, *_OF_ANY_TIME):
        return
    text = f"the session {shown(name)} was neither opened nor listed"
    yield Breach(text, place="/params/sessionId")


@rule("session.update-early", results=("session/new", FORK))
def updates_follow_the_answer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates of a session that come before the answer with the session's id."""
    name = message.result.get("sessionId")
    seq = conversation.memory.early_updates.get(name) if isinstance(name, str) else None
    if seq is not None and (message.request is None or seq > message.request.seq):
        text = f"an update of the session {shown(name)} comes before the answer with its id"
        yield Breach(text, (message.seq,), seq=seq)


@rule("session.update-early", notifications=("session/update",), when=is_while_opening)
def remember_early_updates(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers updates of unknown sessions."""
    name = message.params.get("sessionId")
    if not isinstance(name, str) or name in conversation.memory.early_updates:
        return
    if not _is_named(name, conversation) and _is_any_new_open(conversation):
        conversation.memory.early_updates.add(name, message.seq)


@rule("session.load-params", requests=("session/load",), alone=True)
def load_names_all(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds session/load requests that lack the session, the directory or the MCP servers."""
    if conversation.dialect != V1 or message.value is None:
        return
    names = [name for name in ("sessionId", "cwd", "mcpServers") if name not in message.params]
    if names and isinstance(message.value.get("params"), dict | None):
        text = f"session/load names no {', '.join(names)}"
        yield Breach(text, place=f"/params/{names[0]}" if len(names) == 1 else "/params")


@rule("session.load-no-replay", notifications=("session/update",), when=is_while_opening)
def remember_replay(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the latest update of the history while a session is loaded or resumed."""
    if message.update_kind in WITH_CONTENT and (name := message.session) is not None:
        for request in conversation.opening.values():
            if request.session == name and request.method in _REOPENING:
                conversation.memory.replays.add(request.seq, message.seq)
                if not message.update_kind.startswith("user_"):
                    conversation.memory.agent_replays.add(request.seq, message.seq)


@rule("session.load-no-replay", results=("session/load",))
def load_replays(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds loaded sessions without a history. If no turn was recorded, this is only a warning."""
    if message.request is None or conversation.dialect != V1:
        return
    last = conversation.memory.replays.remove(message.request.seq)
    if last is not None and conversation.memory.agent_replays.remove(message.request.seq) is None:
        text = "the history that was replayed has messages of the user alone"
        yield Breach(text, (last, message.request.seq), severity=Severity.INFO)
    elif last is None:
        had_turns = conversation.last_ends.get(message.session or "") is not None
        severity = None if had_turns else Severity.WARNING
        text = "the session was loaded, but nothing of it was replayed"
        yield Breach(text, (message.request.seq,), severity=severity)


@rule("session.load-late-replay", updates=WITH_CONTENT)
def replay_ends_with_the_answer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages of the history after the answer to session/load."""
    session = conversation.session(message.session)
    if session is None or session.opened != "session/load":
        return
    is_outside = message.transition.turn is None and message.sender == AGENT
    may_be_asked = session.had_prompt or conversation.pairs.may_be_prompted(session.id)
    if is_outside and not may_be_asked and not conversation.is_opening(session.id, *OPENING):
        text = f"{message.update_kind} comes after the answer to session/load"
        yield Breach(text, (session.seq,))


@rule("session.prompt-while-loading", requests=(PROMPT,))
def prompts_wait(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds prompts for a session that is still being opened."""
    for request in conversation.opening.values():
        is_same = message.session is not None and request.session == message.session
        if is_same and request.method in _REOPENING:
            yield Breach(f"the session is still being opened by {request.method}", (request.seq,))


@rule("session.resume-replayed", results=("session/resume",))
def resume_does_not_replay(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds resumed sessions whose history is sent. In v2, the client may ask for the history."""
    request = message.request
    if request is None:
        return
    replayed = conversation.memory.replays.remove(request.seq)
    if replayed is not None and request.params.get("replayFrom") is None:
        text = f"the session {shown(message.session)} was resumed, but its history is replayed"
        yield Breach(text, (request.seq, message.seq), seq=replayed)


@rule("session.closed-use", requests=(ANY,), notifications=(ANY,))
def closed_is_over(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages for a closed session. Messages that open the session again are allowed."""
    session = conversation.session(message.session)
    is_allowed = message.method in (*OPENING, "session/list", *CLOSING, *_OF_ANY_TIME)
    if session is None or session.closed_seq is None or is_allowed:
        return
    if message.params.get("sessionId") == session.id:
        yield Breach(f"the session {shown(session.id)} is closed", (session.closed_seq,))


@rule("session.close-cancels", results=("session/close", "session/archive"))
def close_ends_turns(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds sessions that are closed with an open turn."""
    turn = conversation.turn_of(message.session)
    if message.session is not None and turn is not None:
        yield Breach("the session is closed, but its turn has not ended", (turn.prompt_seq,))


@rule("session.list-cursor", requests=("session/list",))
def cursors_are_given(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds requests with a cursor that no answer has returned."""
    cursor = message.params.get("cursor")
    if isinstance(cursor, str) and conversation.cursors.lacks(cursor):
        text = f"the cursor {shown(cursor)} was not given by the agent"
        yield Breach(text, place="/params/cursor")


@rule("session.list-filter", results=("session/list",))
def list_keeps_to_the_directory(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds listed sessions that are outside the directory that the client asked for.

    Only the last part of each path is compared, since links may give a directory several paths.
    """
    wanted = None if message.request is None else message.request.params.get("cwd")
    listed = message.result.get("sessions")
    if message.request is None or not isinstance(wanted, str) or not isinstance(listed, list):
        return
    for at, session in enumerate(listed[:1000]):
        cwd = member(session, "cwd")
        if not isinstance(cwd, str) or _name(cwd) == _name(wanted) or MARKER.search(cwd + wanted):
            continue
        text = f"sessions of the cwd {shown(wanted)} were asked for, but one"
        text = f"{text} of {shown(cwd)} is listed"
        yield Breach(text, (message.request.seq,), place=f"/result/sessions/{at}/cwd")
        return


@rule("session.deleted-listed", results=("session/delete", *OPENING))
def remember_deleted(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers sessions that are deleted while they are not in use."""
    deleted = conversation.memory.deleted_sessions
    name = message.result.get("sessionId", message.session)
    if not isinstance(name, str):
        return
    if message.method != "session/delete":
        deleted.remove(name)
    elif not conversation.is_opening(name, *OPENING) and not conversation.sessions.has_forgotten:
        session = conversation.session(name)
        if session is None or session.closed_seq is not None:
            deleted.add(name, message.seq)


@rule("session.deleted-listed", results=("session/list",))
def deleted_are_gone(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds listed sessions that were deleted before the list was requested."""
    deleted = conversation.memory.deleted_sessions
    listed = message.result.get("sessions")
    if message.request is None or not deleted:
        return
    for at, session in enumerate(items(listed)):
        name = member(session, "sessionId")
        seq = deleted.get(name) if isinstance(name, str) else None
        if seq is not None and seq < message.request.seq:
            text = f"the session {shown(name)} was deleted, but is listed"
            yield Breach(text, (seq,), place=f"/result/sessions/{at}/sessionId")


@rule("session.dirs-absolute", requests=OPENING, alone=True)
def directories_are_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds relative additional directories."""
    others = message.params.get("additionalDirectories")
    for at, path in enumerate(items(others)):
        if is_relative(path):
            yield Breach(f"the additional directory {shown(path)} is not absolute",
                         place=f"/params/additionalDirectories/{at}")  # fmt: skip


@rule("session.outside-roots", requests=tuple(_PATHS), updates=("tool_call", "tool_call_update"))
def stays_within(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports paths outside the directories of their session."""
    session = conversation.session(message.session)
    if session is None or not session.roots or message.sender == CLIENT:
        return
    severity = None if conversation.dialect == DRAFT else Severity.INFO
    if message.update_kind:
        blocks = items(message.update.get("content"))
        place = "/params/data" if "update" not in message.params else "/params/update"
        paths = {f"{place}/content/{at}/path": member(block, "path")
                 for at, block in enumerate(blocks) if member(block, "type") == "diff"}  # fmt: skip
    else:
        name = _PATHS.get(message.method or "", "")
        paths = {f"/params/{name}": message.params.get(name)}
    for place, path in paths.items():
        if isinstance(path, str) and not is_relative(path) and not _is_inside(path, session.roots):
            yield Breach(f"{shown(path)} is outside the directories of the session", (session.seq,),
                         place=place, severity=severity)  # fmt: skip


def _is_known(name: str, conversation: Conversation) -> bool:
    """Whether the name of a session is known, or may have been in an unreadable message."""
    may_be_lost = conversation.sessions.has_forgotten or conversation.listed.has_forgotten
    is_excused = may_be_lost or conversation.pairs.excused[SESSION] > 0
    return is_excused or _is_named(name, conversation)


def _is_named(name: str, conversation: Conversation) -> bool:
    is_open = name in conversation.sessions or conversation.is_opening(name, *OPENING)
    return is_open or name in conversation.listed


def _is_any_new_open(conversation: Conversation) -> bool:
    return any(request.method in ("session/new", FORK) for request in conversation.opening.values())


def _name(path: str) -> str:
    """Returns the last part of a path, in lower case."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1].casefold()


def _is_inside(path: str, roots: list[str]) -> bool:
    if re.search(r"(^|[\\/])\.\.([\\/]|$)", path):
        return True  # the path may lead anywhere
    for root in roots:
        trimmed = root.rstrip("/\\")
        is_root = path == trimmed or MARKER.search(root) is not None
        if is_root or path.startswith((f"{trimmed}/", f"{trimmed}\\")):
            return True
    return False
