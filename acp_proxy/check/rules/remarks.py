"""Rules about behaviour that specifications allow, but that people report as bugs.

Examples: an agent refuses to answer, repeats itself or the prompt, reports a failure of its
provider as an answer, or does not know a session that it has opened.
"""

import re

from acp_proxy.base.wording import counted
from acp_proxy.check.check_values import Breach, Breaches, shown
from acp_proxy.check.checked_message import CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation, TurnText
from acp_proxy.check.conversation.session_record import EndedTurn
from acp_proxy.check.registry import ANY, rule, turn_rule
from acp_proxy.check.rules.prompts import LOST, MISSING
from acp_proxy.explain.findings import ENVIRONMENT
from acp_proxy.explain.show.environment import NO_LOGIN, OUTSIDE, outside_reason
from acp_proxy.protocol.dialects import OPENING, PROMPT, V1
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.updates import TURN_OUTPUT

_LONGEST, _LEAST, _LINE = 20_000, 20, 300
"""Three numbers of characters: how much text of a turn is kept, the shortest text that is reported
as repeated, and the longest line that counts as short."""
_GROWN, _AGAIN = 2, 3
"""Two limits for a report: how many chunks in a row begin with the chunk before, and how many turns
in a row have the same line."""
_COMMAND = "'text': '/"
_THOUGHT = re.compile(r"\s*<(?:think|thinking|thought)>", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_FAILURE = re.compile(
    r"\W*(?:\w+ ){0,2}error\b|\W*failed to\b|\W*(?:invalid|missing) api key|\W*please run /login"
    r"|\W*credit balance|\W*you've hit your",
    re.IGNORECASE,
)


def _text_of(message: CheckedMessage, conversation: Conversation) -> TurnText | None:
    """Returns what is known of the text in a session's open turn; None if no turn is open."""
    turn = conversation.turn_of(message.session)
    if turn is None or message.session is None:
        return None
    turn_text = conversation.memory.texts.get(message.session)
    if turn_text is None or turn_text.turn != turn.id:
        is_asked_again = turn_text is not None and turn_text.asked == turn.asked
        before, turn_text = turn_text, TurnText(turn.id, turn.asked, first_seq=message.seq)
        if before is not None and not is_asked_again:
            turn_text.again, turn_text.line = before.again, before.line
        conversation.memory.texts.add(message.session, turn_text)
    return turn_text


@rule("update.text-twice", updates=("agent_message_chunk",))
def text_comes_once(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a chunk that repeats the text of several chunks directly before it.

    Also finds successive chunks that each begin with the whole previous chunk.
    """
    said, piece = _text_of(message, conversation), member(message.update, "content", "text")
    if said is None or not isinstance(piece, str):
        return
    whole, last = piece.strip(), said.last.strip()
    if len(whole) >= _LEAST and len(whole) > len(last) and said.text.rstrip().endswith(whole):
        text = f"the text {shown(whole)} was streamed in pieces and is sent again as a whole"
        yield Breach(text, (said.seq,))
    is_grown = len(last) >= _LEAST and whole.startswith(last) and whole != last
    said.grown = said.grown + 1 if is_grown else 0
    if said.grown == _GROWN:
        text = f"each chunk has the whole text so far again: {shown(whole)}"
        yield Breach(text, (said.seq,))
    said.text, said.last, said.seq = (said.text + piece)[-_LONGEST:], piece, message.seq


@turn_rule("update.text-twice")
def turns_say_all_once(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds a turn whose text consists of one text twice. Short texts are left out."""
    said = conversation.memory.texts.get(ended.turn.session or "")
    if said is None or said.turn != ended.turn.id:
        return
    text = said.text.strip()
    half, rest = text[: len(text) // 2].strip(), text[len(text) // 2 :].strip()
    if len(half) >= 2 * _LEAST and half == rest and half not in said.asked:
        yield Breach(f"the turn says {shown(half)} twice", (said.seq,))


@rule("update.prompt-echo", updates=("user_message_chunk",))
def prompts_are_not_echoed(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a user message chunk that repeats the open prompt."""
    turn, said = conversation.turn_of(message.session), member(message.update, "content", "text")
    asked = None if turn is None else conversation.asked.get(turn.exchange or 0)
    if asked is None or not isinstance(said, str):
        return
    texts = [member(block, "text") for block in items(asked.params.get("prompt"))]
    if said.strip() and said.strip() in [text.strip() for text in texts if isinstance(text, str)]:
        yield Breach(f"user_message_chunk repeats the open prompt: {shown(said)}", (asked.seq,))


@turn_rule("turn.repeated")
def turns_differ(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds successive turns whose only text is the same short line."""
    said = conversation.memory.texts.get(ended.turn.session or "")
    if said is None or said.turn != ended.turn.id:
        return
    line = _NUMBER.sub("0", said.text.strip())
    is_line = 0 < len(line) <= _LINE and not ended.turn.calls
    said.again = said.again + 1 if is_line and line == said.line else 1
    said.line = line if is_line else ""
    if said.again == _AGAIN:
        yield Breach(f"{said.again} turns in a row say only {shown(line)}", (said.seq,))


@turn_rule("turn.no-text")
def turns_say_something(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds successful turns without text. Turns whose prompt is a command are left out."""
    turn = ended.turn
    is_quiet = turn.updates and not turn.has_text and turn.cancel_seq is None
    is_quiet = is_quiet and conversation.session(turn.session) is not None
    is_quiet = is_quiet and all(call.status == "completed" for call in turn.calls.values())
    if ended.stop_reason == "end_turn" and is_quiet and _COMMAND not in turn.asked:
        after = f" after {counted(len(turn.calls), 'tool call')}" if turn.calls else ""
        text = f"the turn ends well{after}, without a word of the agent: it has no text"
        yield Breach(text, (turn.prompt_seq,))


@rule("turn.output-early", updates=TURN_OUTPUT)
def output_has_a_prompt(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds the first output of a new session, if no prompt was sent before it."""
    session = conversation.session(message.session)
    if session is None or session.opened != "session/new" or session.had_prompt:
        return
    is_outside = message.transition.turn is None and session.closed_seq is None
    early = conversation.memory.early_output
    if is_outside and conversation.dialect == V1 and session.id not in early:
        early.add(session.id, message.seq)
        yield Breach(f"{message.update_kind} comes before any prompt, outside of a turn")


@turn_rule("update.thought-tags")
def thoughts_are_no_message(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds a turn whose message begins with a thought that the model has put between tags."""
    said = conversation.memory.texts.get(ended.turn.session or "")
    if said is not None and said.turn == ended.turn.id and _THOUGHT.match(said.text):
        text = "the message begins with a thought in tags, not in an agent_thought_chunk"
        yield Breach(f"{text}: {shown(said.text)}", seq=said.first_seq)


@turn_rule("turn.failure-text")
def failures_are_errors(ended: EndedTurn, conversation: Conversation) -> Breaches:
    """Finds a successful turn whose only text reports that a login or the network failed."""
    said = conversation.memory.texts.get(ended.turn.session or "")
    if said is None or said.turn != ended.turn.id or ended.stop_reason != "end_turn":
        return
    line = said.text.strip()
    if ended.turn.calls or not _FAILURE.match(line) or len(line) > _LINE:
        return
    reason = outside_reason(line)
    if reason in OUTSIDE and reason != outside_reason(said.asked):  # else the prompt is about it
        text = f"the turn ends well, though {reason}: its text is {shown(line, _LINE)}"
        yield Breach(text, (said.seq,), by=ENVIRONMENT)


@rule("turn.refusal", results=(PROMPT,), alone=True)
def turns_are_not_refused(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds turns that the agent refuses to continue."""
    if message.result.get("stopReason") == "refusal":
        text = "the agent refuses to continue: the stop reason is refusal"
        yield Breach(text, place="/result/stopReason")


@rule("session.lost", answers=(ANY,))
def sessions_are_found(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors about an unknown session, although the agent has opened this session."""
    if not message.is_error or message.request is None:
        return
    name, words = message.request.params.get("sessionId"), message.error.get("message")
    if not isinstance(name, str) or not isinstance(words, str):
        return
    data = message.error.get("data")
    session = conversation.session(name)
    said = f"{words} {data}" if data else words
    is_lost = LOST.search(said) or (name in said and MISSING.search(said))
    if session is None or not session.opened or session.closed_seq or not is_lost:
        return
    text = f"the agent does not find the session {shown(name)}, which it has opened itself"
    yield Breach(f"{text}: {shown(said, _LINE)}", (session.seq, message.request.seq))


@rule("auth.error-code", answers=(*OPENING, PROMPT))
def missing_logins_have_a_code(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors that demand a login in words, but whose code is not the code for this demand."""
    words = message.error.get("message")
    if not message.is_error or not isinstance(words, str) or message.error.get("code") == -32000:
        return
    said = f"{words} {message.error.get('data') or ''}"
    is_login = outside_reason(said) == NO_LOGIN
    if is_login and member(conversation.agent.announced, "authMethods"):
        text = f"the error asks for a login with the code {shown(message.error.get('code'))}"
        yield Breach(f"{text}, which clients do not recognize: {shown(words, _LINE)}")
