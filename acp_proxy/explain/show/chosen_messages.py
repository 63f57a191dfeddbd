"""Reads the messages of chosen frames, such as requests and their answers.

A few hundred frames are read at a time. A message may be a whole frame, or a message of a batch.
"""

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from acp_proxy.base.limits import LINE_EDGE, WHOLE_LINE
from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.method_texts import METHODS
from acp_proxy.explain.describe.phrases import Value, message_of, part, word
from acp_proxy.explain.describe.session_texts import prompt_text
from acp_proxy.explain.describe.tool_texts import chosen_option, tool_name
from acp_proxy.explain.hints import CallSpans
from acp_proxy.explain.preview import preview
from acp_proxy.explain.show.summary_values import OpenRequest, PersonRequest, Tally
from acp_proxy.explain.waits import answering_party
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.protocol.tool_calls import call_of
from acp_proxy.store.queries.batch_members import members_of
from acp_proxy.store.queries.exchanges import ExchangeRow, exchanges, outcome_counts
from acp_proxy.store.queries.frames import Span, frames_by_number, frames_of_kind
from acp_proxy.store.reader import RecordingReader

_AT_A_TIME = 500
_OF_PERSONS = ("session/request_permission", "elicitation/create")


class StoredMessage(NamedTuple):
    """A message, or an invalid line, with its bytes. A large line is cut."""

    seq: int
    """The number of the frame, which all messages of a batch share."""
    t_ns: int
    stream: str
    kind: str
    method: str | None
    exchange: int | None
    session: str | None
    turn: int | None
    tool_call: str | None
    raw: bytes

    @property
    def message(self) -> Value:
        """The decoded message; an empty object if the message is not an object."""
        return message_of(self.raw)

    def part(self, name: str) -> Value:
        """Returns a member that is an object, such as the params; empty without such a member."""
        return part(self.message, name)


def read_messages(
    reader: RecordingReader, seqs: Iterable[int], largest: int = WHOLE_LINE
) -> Iterator[StoredMessage]:
    """Yields the messages of frames, each frame once and in order.

    Of a batch, each message is yielded. An empty or too large batch is yielded as one line.

    Args:
        reader: the recording.
        seqs: the numbers of the frames.
        largest: the size in bytes of the largest line that is read whole.
    """
    numbers = iter(sorted(set(seqs)))
    while some := list(itertools.islice(numbers, _AT_A_TIME)):
        for row in frames_by_number(reader, some, largest, WHOLE_LINE):
            members = members_of(row, reader.query) if row["kind"] == "batch" else []
            for message in members or [row]:
                values = [message[name] for name in StoredMessage._fields[:-1]]
                yield StoredMessage._make([*values, bytes(message["raw"])])


def messages_of_exchanges(
    reader: RecordingReader, wanted: Iterable[tuple[int | None, int]], largest: int = LINE_EDGE
) -> dict[tuple[int, int], StoredMessage]:
    """Reads requests and answers by the numbers of their frames and exchanges.

    Args:
        reader: the recording.
        wanted: pairs of a frame's number and an exchange's number. The frame is None for an answer
            that never came.
        largest: the size in bytes of the largest line that is read whole.
    """
    keys = {(seq, exchange) for seq, exchange in wanted if seq is not None}
    return {
        (line.seq, line.exchange): line
        for line in read_messages(reader, (seq for seq, _ in keys), largest)
        if line.exchange is not None and (line.seq, line.exchange) in keys
    }


class BatchMessages:
    """The messages of all batches of a recording. They are read when they are needed.

    Args:
        reader: the recording.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self.seqs = {*frames_of_kind(reader, "batch")}
        """The numbers of the frames that are batches."""

    def about_call(self, key: CallKey, span: Span) -> list[StoredMessage]:
        """Returns the messages, within a range of frames, about the tool calls with a given id.

        Args:
            key: the session and the id of the tool calls.
            span: the numbers of the first and the last frame of the range.
        """
        return [m for m in self._by_call.get(key, ()) if span[0] <= m.seq <= span[1]]

    @cached_property
    def _messages(self) -> list[StoredMessage]:
        return list(read_messages(self._reader, self.seqs))

    @cached_property
    def by_exchange(self) -> dict[tuple[int, int], StoredMessage]:
        """The requests and answers, by the numbers of their frame and their exchange."""
        return {(m.seq, m.exchange): m for m in self._messages if m.exchange is not None}

    @cached_property
    def _by_call(self) -> dict[CallKey, list[StoredMessage]]:
        by_call: dict[CallKey, list[StoredMessage]] = {}
        for message in self._messages:
            if message.tool_call is not None:
                by_call.setdefault((message.session, message.tool_call), []).append(message)
        return by_call


def request_text(method: str | None, seq: int, message: StoredMessage | None) -> str:
    """Describes a request by its method, its subject (such as a path) and the number of its frame.

    Args:
        method: the method of the request.
        seq: the number of the request's frame.
        message: the stored request; None if it was not found.
    """
    if message is not None and message.method != method:
        message = None  # another request of the same batch
    about = _subject(message) if message is not None else ""
    if not about and message is not None and method not in METHODS:
        about = preview(message.raw, message.kind, method)[:60]
    named = f' "{about}"' if about else ""
    return f"{plain(method or '?')[:80]}{named} (#{seq})"


def requests_by_number(reader: RecordingReader, seqs: Iterable[int]) -> dict[int, StoredMessage]:
    """Returns the request in each frame, by the frame's number; for a batch, its first request.

    Args:
        reader: the recording.
        seqs: the numbers of the frames.
    """
    requests: dict[int, StoredMessage] = {}
    for message in read_messages(reader, seqs, LINE_EDGE):
        if message.kind == "request":
            requests.setdefault(message.seq, message)
    return requests


def read_unanswered(reader: RecordingReader, end_ns: int | None, most: int) -> list[OpenRequest]:
    """Returns the first requests that have no answer.

    Args:
        reader: the recording.
        end_ns: the time until which the requests have waited; None if it is not known.
        most: the largest number of requests.
    """
    rows = list(exchanges(reader, is_open=True, most=most))
    messages = messages_of_exchanges(reader, ((row.request_seq, row.id) for row in rows))
    return [
        OpenRequest(
            row.request_seq, row.direction, row.method, row.rpc_id,
            waited_ns=None if end_ns is None else end_ns - message.t_ns,
            preview=preview(message.raw, message.kind, row.method)[:200],
            session=row.session,
            awaited=answering_party(row.direction, row.method).value,
        )
        for row in rows
        if (message := messages.get((row.request_seq, row.id))) is not None
    ]  # fmt: skip


def read_person_requests(reader: RecordingReader, end_ns: int | None) -> Iterator[PersonRequest]:
    """Yields the requests that ask a person for a permission or a form, in order.

    Args:
        reader: the recording.
        end_ns: the time until which unanswered requests have waited; None if it is not known.
    """
    rows = list(exchanges(reader, methods=_OF_PERSONS, direction="to-client"))
    titles = CallSpans(reader)
    for start in range(0, len(rows), _AT_A_TIME):
        some = rows[start : start + _AT_A_TIME]
        keys = ((seq, row.id) for row in some for seq in (row.request_seq, row.response_seq))
        messages = messages_of_exchanges(reader, keys)
        for row in some:
            if asked := messages.get((row.request_seq, row.id)):
                params = asked.part("params")
                title, call = _title(params), asked.tool_call
                if call is not None and title == plain(call)[:80]:
                    announced = titles.title(asked.session, call, asked.seq)
                    title = announced[:80] or title
                answer = None
                waited_ns = row.latency_ns
                if row.response_seq is None and end_ns is not None:
                    waited_ns = end_ns - asked.t_ns
                if row.response_seq is not None:
                    answer = _answer(row, params, messages.get((row.response_seq, row.id)))
                yield PersonRequest(
                    asked.seq, row.method or "", row.session, asked.turn, title, answer,
                    waited_ns, tool_call=call,
                )  # fmt: skip


def read_tally(reader: RecordingReader, method: str) -> Tally:
    """Counts the results, the errors and the missing answers to requests of one method.

    Args:
        reader: the recording.
        method: the method of the requests.
    """
    counts = outcome_counts(reader, method)
    results, open_ = counts.pop("result", 0), counts.pop(None, 0)
    return Tally(results, sum(counts.values()), open_)


def prompt_of(params: Value, most: int | None = 200) -> str:
    """Returns the text of a prompt, in any dialect; empty if the prompt has no text.

    Args:
        params: the params of the ``session/prompt`` request.
        most: the largest number of characters; None for all.
    """
    try:
        return plain(prompt_text(params))[:most]
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        return ""


def _subject(message: StoredMessage) -> str:
    params = message.part("params")
    if message.method == "session/prompt":
        return prompt_of(params)[:80]
    if message.method in _OF_PERSONS:
        return _title(params)
    for name in ("path", "command", "terminalId", "modeId", "mode", "methodId", "method"):
        if text := word(params, name):
            return plain(text)[:80]
    return ""


def _title(params: Value) -> str:
    asked = word(params, "title", "message") or tool_name(call_of(params))
    operation = " ".join(filter(None, (word(params, "operation"), word(params, "resource"))))
    return plain(asked or operation)[:80]


def _answer(row: ExchangeRow, params: Value, answered: StoredMessage | None) -> str:
    if row.outcome != "result" or answered is None:
        return str(row.outcome)
    result = answered.part("result")
    if isinstance(granted := result.get("granted"), bool):
        return "granted" if granted else "denied"
    outcome = part(result, "outcome") or result
    chosen = word(chosen_option(outcome, params), "kind", "optionId")
    return plain(chosen or word(outcome, "outcome", "action") or "answered")[:80]
