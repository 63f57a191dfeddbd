"""Reads which files were changed, how commands ended, and how full the model's context is."""

from collections import Counter
from collections.abc import Iterable

from acp_proxy.base.limits import LINE_EDGE, LONG_LIST
from acp_proxy.explain.describe.content_texts import exit_state
from acp_proxy.explain.describe.phrases import number, part, word
from acp_proxy.explain.describe.tool_texts import params_of
from acp_proxy.explain.show.chosen_messages import messages_of_exchanges
from acp_proxy.explain.show.frame_pass import LoggedCall
from acp_proxy.explain.show.summary_values import WorkDone
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.recording.recording import needs
from acp_proxy.store.queries.exchanges import exchanges
from acp_proxy.store.queries.frames import last_update_with
from acp_proxy.store.reader import RecordingReader

_USAGE = "usage_update"
_METHODS = ("fs/write_text_file", "terminal/wait_for_exit", "terminal/output")
"""The requests whose answers show the work; the first one changes a file."""


def read_work(reader: RecordingReader, calls: Iterable[LoggedCall]) -> WorkDone:
    """Reads the work of the agent.

    Args:
        reader: the recording.
        calls: the tool calls.
    """
    rows = [*exchanges(reader, methods=_METHODS, direction="to-client", outcome="result")]
    keys = [(seq, row.id) for row in rows for seq in (row.request_seq, row.response_seq)]
    messages = messages_of_exchanges(reader, keys if len(rows) <= LONG_LIST else ())
    written, exits = set[str](), dict[str, str]()
    for row in rows:
        asked = messages.get((row.request_seq, row.id))
        answered = messages.get((row.response_seq or 0, row.id))
        if asked is None or answered is None:
            continue
        if row.method == _METHODS[0]:
            written.add(word(params_of(asked.raw), "path"))
        elif state := exit_state(
            part(answered.part("result"), "exitStatus") or answered.part("result")
        ):
            exits[word(asked.part("params"), "terminalId")] = state
    edited = [call.changed for call in calls if call.status == "completed"]
    changes = [lines for call in edited for lines in call.values()]
    is_whole = _has_whole_texts(reader) and written <= set[str]().union(*edited)
    lines = sum(added for added, _ in changes), sum(removed for _, removed in changes)
    is_few = len(rows) <= LONG_LIST
    return WorkDone(
        len(written.union(*edited)) if is_few else None,
        lines if is_whole else None,
        dict(Counter(exits.values())),
        _tokens(reader),
    )


@needs("parts", "values", unknown=False)
def _has_whole_texts(_: RecordingReader) -> bool:
    """Whether the recorded texts are whole, so that their lines can be counted."""
    return True


def _tokens(reader: RecordingReader) -> tuple[int, int | None] | None:
    """Returns the tokens in the model's context and its size, as the agent last reported them."""
    raw = last_update_with(reader, _USAGE.encode(), LINE_EDGE)
    kind, update = kind_and_update(params_of(raw or b"{}"))
    used = number(update, "used") if kind == _USAGE else None
    return None if used is None else (used, number(update, "size"))
