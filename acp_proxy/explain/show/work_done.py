"""Reads which files were changed, how commands ended, and how full the model's context is."""

from collections import Counter
from collections.abc import Iterable

from acp_proxy.base.limits import LINE_EDGE, LISTED
from acp_proxy.explain.describe.content_texts import exit_state
from acp_proxy.explain.describe.phrases import number, part, word
from acp_proxy.explain.describe.tool_texts import params_of
from acp_proxy.explain.show.chosen_messages import messages_of_exchanges
from acp_proxy.explain.show.frame_pass import LoggedCall
from acp_proxy.explain.show.summary_values import WorkDone
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.recording.recording import Recording, needs
from acp_proxy.store.queries.exchanges import ExchangeRow, exchanges
from acp_proxy.store.queries.frames import last_update_with
from acp_proxy.store.reader import RecordingReader

_USAGE = "usage_update"


def read_work(reader: RecordingReader, calls: Iterable[LoggedCall]) -> WorkDone:
    """Reads the work of the agent.

    Args:
        reader: the recording.
        calls: the tool calls.
    """
    lines: Counter[str] = Counter()
    files: set[str] = set()
    for call in calls:
        if call.status == "completed":
            files |= call.changed.keys()
            for added, removed in call.changed.values():
                lines.update(added=added, removed=removed)
    written = _written(reader)
    has_lines = written is not None and written <= files and _has_whole_texts(reader.recording)
    return WorkDone(
        None if written is None else len(files | written),
        (lines["added"], lines["removed"]) if has_lines else None,
        _exits(reader),
        _tokens(reader),
    )


@needs("parts", "values", unknown=False)
def _has_whole_texts(recording: Recording) -> bool:
    """Whether the recorded texts are whole, so that their lines can be counted."""
    return recording is not None


def _written(reader: RecordingReader) -> set[str] | None:
    """Returns the files that the client wrote for the agent; None if there are very many."""
    rows = _few(reader, "fs/write_text_file")
    if rows is None:
        return None
    asked = messages_of_exchanges(reader, ((row.request_seq, row.id) for row in rows))
    return {word(params_of(message.raw), "path") for message in asked.values()}


def _exits(reader: RecordingReader) -> dict[str, int]:
    """Returns how the commands in terminals ended; empty if there are very many."""
    rows = _few(reader, "terminal/wait_for_exit", "terminal/output") or []
    keys = [(seq, row.id) for row in rows for seq in (row.request_seq, row.response_seq)]
    messages = messages_of_exchanges(reader, keys)
    states: dict[str, str] = {}
    for row in rows:
        asked = messages.get((row.request_seq, row.id))
        answered = messages.get((row.response_seq or 0, row.id))
        if asked is not None and answered is not None:
            result = answered.part("result")
            if state := exit_state(part(result, "exitStatus") or result):
                states[word(asked.part("params"), "terminalId")] = state
    return dict(Counter(states.values()))


def _few(reader: RecordingReader, *methods: str) -> list[ExchangeRow] | None:
    """Returns the exchanges with some methods that succeeded; None if there are very many."""
    rows = exchanges(
        reader, methods=methods, direction="to-client", outcome="result", most=LISTED + 1
    )
    few = list(rows)
    return few if len(few) <= LISTED else None


def _tokens(reader: RecordingReader) -> tuple[int, int | None] | None:
    """Returns the tokens in the model's context and its size, as the agent last reported them."""
    raw = last_update_with(reader, _USAGE.encode(), LINE_EDGE)
    kind, update = kind_and_update(params_of(raw or b"{}"))
    used = number(update, "used") if kind == _USAGE else None
    return None if used is None else (used, number(update, "size"))
