"""Rules about the modes of sessions and their configuration options."""

from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, not_offered, shown
from acp_proxy.check.checked_message import CLIENT, CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import SessionRecord, options_by_id
from acp_proxy.check.registry import MOMENT_NS, rule
from acp_proxy.explain.message_pass import HISTORY
from acp_proxy.protocol.dialects import DRAFT, OPENING, V1
from acp_proxy.protocol.json_text import member

_SET_MODE, _SET_OPTION = "session/set_mode", "session/set_config_option"
_MODE_UPDATE, _OPTION_UPDATE = "current_mode_update", "config_option_update"
_BOOLEAN = ("session", "configOptions", "boolean")
_LISTED = 5


@rule("mode.not-listed", requests=(_SET_MODE,))
def mode_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds modes that the client sets, but that the agent has not listed."""
    name = "mode" if conversation.dialect == DRAFT else "modeId"
    wanted, modes = message.params.get(name), _modes(message, conversation)
    if modes is not None and isinstance(wanted, str) and wanted not in modes:
        text, severity = f"the mode {shown(wanted)} is not listed", None
        if not modes:  # the mode may have been offered in another way
            text, severity = f"the mode {shown(wanted)} is set, but none is listed", Severity.INFO
        related = _opened(message, conversation)
        yield Breach(text, related, severity=severity, place=f"/params/{name}")


@rule("mode.current-not-listed", results=OPENING, alone=True)
def current_mode_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds sessions whose current mode is missing from the session's list of modes."""
    current = member(message.result, "modes", "currentModeId")
    listed = _listed_modes(message)
    if listed is not None and isinstance(current, str) and current not in listed:
        text = f"the current mode {shown(current)} is not listed"
        yield Breach(text, place="/result/modes/currentModeId")


@rule("mode.update-not-listed", updates=(_MODE_UPDATE,))
def new_mode_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates to a mode that the agent has not listed.

    Such an update is allowed while a session is being opened, since the list may change. It is also
    allowed for an agent that lists no modes at all, since its modes may be options.
    """
    name = "currentMode" if conversation.dialect == DRAFT else "currentModeId"
    mode, modes = message.update.get(name), _modes(message, conversation)
    is_opening = conversation.is_opening(message.session, *HISTORY)
    if modes and isinstance(mode, str) and mode not in modes and not is_opening:
        place = f"/params/{'data' if conversation.dialect == DRAFT else 'update'}/{name}"
        text = f"the mode {shown(mode)} is not listed"
        yield Breach(text, _opened(message, conversation), place=place)


@rule("mode.update-field", updates=(_MODE_UPDATE,), alone=True)
def update_names_the_mode(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates of the mode with ``modeId`` instead of ``currentModeId``."""
    update = message.update
    if "update" in message.params and "modeId" in update and "currentModeId" not in update:
        yield Breach("the mode is named by modeId, not by currentModeId",
                     place="/params/update")  # fmt: skip


@rule("mode.duplicate", results=OPENING, alone=True)
def modes_are_unique(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds modes with the same id."""
    known: set[str] = set()
    for at, name in enumerate(_listed_modes(message) or ()):
        if name in known:
            place = f"/result/modes/availableModes/{at}/id"
            yield Breach(f"several modes have the id {shown(name)}", place=place)
        known.add(name)


@rule("config.unknown", requests=(_SET_OPTION,))
def option_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds options that the client sets, but that the agent has not listed."""
    name = "key" if conversation.dialect == DRAFT else "configId"
    wanted, options = message.params.get(name), _options(message, conversation)
    if options is None or not isinstance(wanted, str) or wanted in options:
        return
    text, severity = f"the option {shown(wanted)} is not listed", None
    if not options:  # the option may have been offered in another way
        text, severity = f"the option {shown(wanted)} is set, but none is listed", Severity.INFO
    yield Breach(text, _opened(message, conversation), severity=severity, place=f"/params/{name}")


@rule("config.value", requests=(_SET_OPTION,))
def value_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds values that an option does not allow, or that have another type than the option."""
    session, name = conversation.session(message.session), message.params.get("configId")
    if session is None or session.options is None or not isinstance(name, str):
        return
    option = session.options.get(name)
    if option is None or "value" not in message.params or _has_just_changed(session, message):
        return
    value, kind = message.params["value"], option.get("type")
    if kind == "boolean" and not isinstance(value, bool):
        text = f"the option {shown(name)} is a boolean, but is set to {shown(value)}"
    elif kind == "select" and not isinstance(value, str):
        text = f"the option {shown(name)} is a selection, but is set to {shown(value)}"
    elif kind == "select" and (values := _values(option)) is not None and value not in values:
        text = f"the option {shown(name)} has no value {shown(value)}"
    else:
        return
    yield Breach(text, place="/params/value")


@rule("config.current-not-listed", results=(*OPENING, _SET_OPTION), updates=(_OPTION_UPDATE,),
      alone=True)  # fmt: skip
def current_value_is_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds options whose current value is not allowed."""
    options, place = _listed_options(message)
    for at, option in enumerate(items(options)):
        if not isinstance(option, dict) or option.get("type") != "select":
            continue
        value, values = option.get("currentValue"), _values(option)
        if values and isinstance(value, str) and value not in values:
            name = shown(option.get("configId", option.get("id")))
            text = f"the current value {shown(value)} of the option {name} is not listed"
            yield Breach(text, place=f"{place}/{at}/currentValue")


@rule("config.partial", results=(_SET_OPTION,), updates=(_OPTION_UPDATE,))
def all_options_are_listed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds lists of options that lack the option just set, or an option that was listed before."""
    session = conversation.session(message.session)
    options, place = _listed_options(message)
    listed = options_by_id(options)
    if session is None or session.options is None or listed is None:
        return
    wanted = None if message.request is None else message.request.params.get("configId")
    missing = [name for name in session.options if name not in listed]
    if isinstance(wanted, str) and wanted in missing:
        yield Breach(f"the list lacks the option {shown(wanted)}, which was set",
                     frames_of(message.request), place=place)  # fmt: skip
    elif missing:
        named = ", ".join(shown(name) for name in missing[:_LISTED])
        more = f" and {len(missing) - _LISTED} others" if len(missing) > _LISTED else ""
        noun = "option" if len(missing) == 1 else "options"
        text = f"the list lacks the {noun} {named}{more}, which it had before"
        yield Breach(text, severity=Severity.INFO, place=place)


@rule("config.not-applied", results=(_SET_OPTION,))
def value_is_taken(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds options that were set to an allowed value, but have another value in the answer."""
    params = {} if message.request is None else message.request.params
    name, wanted = params.get("configId"), params.get("value")
    option = (options_by_id(message.result.get("configOptions")) or {}).get(str(name))
    if option is None or message.request is None or wanted not in (_values(option) or ()):
        return
    if (value := option.get("currentValue")) != wanted:
        text = f"the option {shown(name)} was set to {shown(wanted)}, but is {shown(value)}"
        yield Breach(text, (message.request.seq,))


@rule("config.boolean-capability", results=(*OPENING, _SET_OPTION), updates=(_OPTION_UPDATE,))
def booleans_are_taken(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds the first boolean option of each session whose client accepts no boolean options."""
    client = conversation.client
    if conversation.dialect != V1 or not client.is_known or client.offers(*_BOOLEAN):
        return
    reported = conversation.memory.boolean_options
    if message.session in reported:
        return  # the option was reported when the session was opened
    options, place = _listed_options(message)
    for at, option in enumerate(items(options)):
        if member(option, "type") == "boolean":
            reported.add(message.session or "", message.seq)
            name = shown(member(option, "id"))
            yield Breach(not_offered(f"the option {name}", ".".join(_BOOLEAN), CLIENT),
                         frames_of(conversation.client),
                         place=f"{place}/{at}/type")  # fmt: skip
            return


def _modes(message: CheckedMessage, conversation: Conversation) -> list[str] | None:
    """Returns the modes of a session; None if they are unknown.

    The modes are unknown if an earlier connection has opened the session.
    """
    if conversation.dialect == DRAFT:
        return _offered(conversation, ("sessionCapabilities", "modes"))
    session = conversation.session(message.session)
    if session is None or not session.is_readable:
        return None
    if session.modes is None and not _is_new(session):
        return None
    return session.modes or []


def _options(message: CheckedMessage, conversation: Conversation) -> list[str] | None:
    """Returns the options of a session; None if they are unknown, or may have changed just now."""
    if conversation.dialect == DRAFT:
        return _offered(conversation, ("sessionCapabilities", "configOptions"))
    session = conversation.session(message.session)
    if session is None or not session.is_readable or _has_just_changed(session, message):
        return None
    if session.options is None and not _is_new(session):
        return None
    return [*(session.options or ())]


def _is_new(session: SessionRecord) -> bool:
    """Whether this connection created the session, so that all modes and options were listed."""
    return session.opened == "session/new" and session.is_readable


def _offered(conversation: Conversation, path: tuple[str, ...]) -> list[str] | None:
    """Returns the names that an agent of the 1.0 draft lists in a capability; None if unknown."""
    names = conversation.agent.capability(*path)
    if not conversation.agent.is_known or not (names is None or isinstance(names, list)):
        return None
    return [name for name in names or () if isinstance(name, str)]


def _has_just_changed(session: SessionRecord, message: CheckedMessage) -> bool:
    """Whether the client may not have read the latest options yet.

    The options in the answer that opened the session do not count, since the client has read them.
    """
    has_changed = session.options_seq is not None and session.options_seq != session.seq
    return has_changed and message.t_ns - session.options_ns <= MOMENT_NS


def _opened(message: CheckedMessage, conversation: Conversation) -> tuple[int, ...]:
    return frames_of(conversation.session(message.session))


def _listed_modes(message: CheckedMessage) -> list[str] | None:
    """Returns the ids of the modes in an answer that opens a session; None if a mode has no id."""
    modes = member(message.result, "modes", "availableModes")
    if not isinstance(modes, list):
        return None
    names = [member(item, "id") for item in modes]
    return names if all(isinstance(item, str) for item in names) else None


def _listed_options(message: CheckedMessage) -> tuple[Any, str]:
    """Returns the list of options in an answer or an update, and the JSON pointer of the list."""
    if message.update_kind:
        return message.update.get("configOptions"), "/params/update/configOptions"
    return message.result.get("configOptions"), "/result/configOptions"


def _values(option: dict[str, Any]) -> list[str] | None:
    """Returns the allowed values of an option; None if any allowed value is not a string."""
    values: list[Any] = []
    options = option.get("options")
    for entry in options if isinstance(options, list) else [None]:
        inner = member(entry, "options")
        values += inner if isinstance(inner, list) else [entry]
    values = [member(entry, "value") for entry in values]
    return values if all(isinstance(entry, str) for entry in values) else None
