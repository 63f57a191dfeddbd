"""Which rules an imported recording cannot show to be broken, by what its source had lost.

Where lines are missing, nothing is claimed that a missing line could explain. What is left is what
a message shows by itself, and what two messages show whatever was between them.
"""

from collections.abc import Mapping
from functools import cache

from acp_proxy.conformance.catalogue import rules
from acp_proxy.conformance.values import UncheckedRules
from acp_proxy.inspection.findings import CONVERSATION
from acp_proxy.recording import Origin

_BEFORE = """
init.first init.agent-early session.id-unknown session.list-cursor session.outside-roots
rpc.response-unknown rpc.cancel-request-target tool.unknown tool.permission-first
tool.terminal-unknown term.unknown turn.request-outside cancel.no-turn
mcp.connection-known mcp.server-known elicit.complete-known ext.not-advertised
tool.no-progress term.truncated-early
"""
"""An earlier message may have opened, announced or asked for what these find unknown."""
_BETWEEN = """
session.lost turn.repeated turn.failure-text update.text-twice
init.complete init.once init.version-ignored auth.retry-without auth.still-required
rpc.id-reused rpc.response-twice
session.id-unique session.closed-use session.close-cancels session.deleted-listed
session.child-capability
session.load-no-replay session.load-late-replay session.resume-replayed
session.prompt-while-loading prompt.concurrent
turn.update-late turn.silent turn.tools-open turn.requests-open
cancel.update-after cancel.reason-unasked cancel.permission-unasked
mode.not-listed mode.update-not-listed config.unknown config.value config.partial
config.current-not-listed commands.unknown plan.partial plan.regression update.message-id
cancel.tools-left tool.ran-unpermitted fs.read-after-write term.after-release
term.output-after-exit term.id-unique term.exit-differs term.exit-status tool.terminal-released
v2.user-message v2.running v2.idle-reason v2.cancelled v2.removed
s4.permission-scope-again s4.denied-status s4.status-flow s4.terminal-max s4.mode-notified
"""
"""A message in between may explain these."""
_ANSWERS = """
rpc.unanswered ext.unanswered perm.unanswered cancel.unanswered term.leaked
"""
"""What these miss may have come."""
_RULES = {
    "start": _BEFORE,
    "middle": f"{_BEFORE} {_BETWEEN} {_ANSWERS}",
    "ending": f"{_ANSWERS} v2.idle-reason v2.cancelled s4.mode-notified frame.after-exit"
    " frame.unterminated",
    "answers": f"""{_ANSWERS} turn.requests-open tool.terminal-unknown tool.terminal-released
        tool.ran-unpermitted term.unknown term.wrong-session term.truncated-early
        cancel.permission-unasked cancel.reason-unasked s4.permission-scope-again
        s4.denied-status s4.terminal-max mcp.connection-known""",
    "bytes": """frame.lsp-header frame.split-message frame.bad-utf8 frame.unterminated
        frame.blank-line frame.duplicate-key frame.non-finite rpc.envelope-field""",
    "stderr": "frame.stderr-message",
    "times": "cancel.keeps-working term.create-slow",
    "values": """rpc.schema-params rpc.schema-result rpc.shape rpc.params-type rpc.error-shape
        rpc.no-result-or-error rpc.result-and-error meta.type perm.outcome-form config.value
        s4.required s4.credential-shown""",
}
_REASONS = {
    "start": "its beginning may be missing",
    "middle": "lines in between may be missing",
    "ending": "how it ended is not known",
    "answers": "answers are missing",
    "bytes": "lines may have been spelled differently",
    "stderr": "lines on stderr are missing",
    "times": "times are not known",
    "values": "some values are written alike",
    "parts": "parts of messages were left out",
}


def unchecked_rules(origin: Origin | None) -> list[UncheckedRules]:
    """Returns the rules that cannot be checked, by the reason; none in a recording of ours.

    Args:
        origin: what the recording was imported from.
    """
    if origin is None:
        return []
    words = {*origin.lost}
    if origin.inferred_times:
        words.add("times")
    seen: set[str] = set()
    found = []
    for word, names in _table().items():
        new = tuple(name for name in names if name not in seen)
        if word in words and new:
            seen.update(new)
            found.append(UncheckedRules(_REASONS[word], new))
    if origin.inferred_directions and "rpc.wrong-direction" not in seen:
        found.append(UncheckedRules("directions were inferred", ("rpc.wrong-direction",)))
    return found


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    order = [*rules()]
    found = {word: tuple(sorted({*text.split()}, key=order.index)) for word, text in _RULES.items()}
    # Earlier versions imported messages of which people had left out parts: any rule may need them.
    return found | {
        "parts": tuple(name for name in order if rules()[name].group not in CONVERSATION)
    }
