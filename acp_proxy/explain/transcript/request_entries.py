"""Converts requests with their answers to entries of a transcript."""

from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.limits import DESCRIPTION, PARTS
from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.error_texts import describe_error
from acp_proxy.explain.describe.method_texts import MCP_ERROR, mcp_error
from acp_proxy.explain.describe.phrases import Value, joined, message_of, number, part, parts, word
from acp_proxy.explain.describe.tool_texts import chosen_option, tool_input, tool_name
from acp_proxy.explain.preview import preview
from acp_proxy.explain.show.chosen_messages import StoredMessage
from acp_proxy.explain.transcript.contents import blocks_of, text_block
from acp_proxy.explain.transcript.entries import (
    EntryChoice,
    EntryKind,
    TextBlock,
    TextLimits,
    TranscriptEntry,
)
from acp_proxy.protocol.dialects import MCP_MESSAGE
from acp_proxy.protocol.jsonrpc import SENDERS
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.tool_calls import NAMES, call_of
from acp_proxy.store.tables.checked_values import Row


@frozen
class AskedRequest:
    """A request and its answer, which become one entry of a transcript."""

    row: Row
    """The row of the request."""
    answer: StoredMessage | None
    title: str
    """The title of the request's tool call, from another frame; empty if it is not known."""
    dialect: str | None
    is_open: bool

    @cached_property
    def message(self) -> Value:
        """The message of the request, decoded."""
        return message_of(self.row["raw"])

    @cached_property
    def reply(self) -> Value:
        """The answer, decoded; empty without an answer."""
        return {} if self.answer is None else self.answer.message

    @property
    def method(self) -> str:
        """The method of the request; empty without a method."""
        return self.row["method"] or ""

    @property
    def params(self) -> Value:
        """The params of the request; empty without params."""
        return part(self.message, "params")

    @property
    def result(self) -> Value:
        """The result in the answer; empty without a result."""
        return part(self.reply, "result")

    @property
    def is_answered(self) -> bool:
        """Whether the request was answered with a result."""
        return self.answer is not None and self.answer.kind == "response"

    @property
    def outcome(self) -> tuple[str, bool]:
        """The outcome in words (empty for a result), and whether the request failed."""
        if self.row["response_seq"] is None:
            return ("open", False) if self.is_open else ("not answered", True)
        if self.answer is not None and self.answer.kind == "error":
            error = self.reply.get("error")
            return plain(describe_error(error, self.dialect))[:DESCRIPTION] or "error", True
        if self.method == MCP_MESSAGE and (error := mcp_error(self.result)):
            return plain(f"{MCP_ERROR} {describe_error(error)}")[:DESCRIPTION], True
        return "", False

    def entry(self, kind: EntryKind, title: str) -> TranscriptEntry:
        """Returns a transcript entry with the frames, times, sender and outcome of this request.

        Args:
            kind: the kind of the entry.
            title: a line that describes the request.
        """
        state, is_failed = self.outcome
        row = self.row
        return TranscriptEntry(
            kind, row["seq"], row["response_seq"] or row["seq"], row["t_ns"],
            title=title[:DESCRIPTION], state=state, is_failed=is_failed,
            took_ns=row["latency_ns"], by=SENDERS.get(row["stream"], ""),
        )  # fmt: skip


def prompt(asked: AskedRequest, limits: TextLimits) -> TranscriptEntry:
    """Returns the entry of a prompt, without the answer to the prompt.

    Args:
        asked: the request with its answer.
        limits: how much of each text is kept.
    """
    params, seq = asked.params, asked.row["seq"]
    given = [*blocks_of(params.get("prompt", params.get("content")), limits.said)]
    given += blocks_of(params.get("attachments"), limits.said)
    return TranscriptEntry(EntryKind.PROMPT, seq, seq, asked.row["t_ns"], by="client", blocks=given)


def permission(asked: AskedRequest, limits: TextLimits) -> TranscriptEntry:
    """Returns the entry of a permission request, with the options and the chosen option.

    Args:
        asked: the request with its answer.
        limits: how much of each text is kept.
    """
    params, result = asked.params, asked.result
    call = call_of(params)
    operation = joined(word(params, "operation"), word(params, "resource"))
    title = word(params, "title") or word(call, *NAMES) or asked.title or operation
    subject = part(params, "subject")
    reasons = (word(params, "description", "reason"), word(subject, "command"))
    shown = [*blocks_of(call.get("content"), limits.output)]
    if not shown and (given := tool_input(call)):
        shown = [text_block(given, limits.output, "input")]
    entry = asked.entry(EntryKind.PERMISSION, title or tool_name(call))
    state = entry.state
    options = options_of(asked.message)[:PARTS]
    outcome = part(result, "outcome") or result
    chosen = chosen_option(outcome, params)
    if asked.is_answered:
        answer = read_answer(options, asked.reply)
        name = word(chosen, "name", "optionId")
        scope = word(result, "scope") or ("remembered" if result.get("remember") is True else "")
        state = joined(answer.decision, f"({name})" if name else "", scope)
    return evolve(
        entry,
        state=state,
        id=word(call, "toolCallId", "id") or word(params, "toolCallId"),
        remarks=[reason for reason in reasons if reason and reason != title],
        choices=[_choice(option, chosen) for option in options],
        blocks=shown,
    )


def _choice(option: Value, chosen: Value) -> EntryChoice:
    name, wanted = word(option, "name", "optionId"), word(chosen, "optionId")
    is_chosen = bool(wanted) and word(option, "optionId") == wanted
    return EntryChoice(name, word(option, "kind"), "chosen" if is_chosen else "")


def request(asked: AskedRequest, limits: TextLimits) -> TranscriptEntry:
    """Returns the entry of a request that is neither a prompt nor a permission request.

    Args:
        asked: the request with its answer.
        limits: how much of each text is kept.
    """
    about = preview(asked.row["raw"], "request", asked.method)
    blocks: list[TextBlock] = []
    if asked.method == "fs/read_text_file":
        about = word(asked.params, "path") + _lines(asked.params)
        blocks = _file(asked.result, about, limits)
    elif asked.method == "fs/write_text_file":
        about = word(asked.params, "path")
        blocks = _file(asked.params, about, limits)
    entry = evolve(asked.entry(EntryKind.REQUEST, about), detail=asked.method, blocks=blocks)
    if asked.answer is None or not asked.is_answered:
        return entry
    return evolve(entry, state=preview(asked.answer.raw, "response", asked.method)[:DESCRIPTION])


def _lines(params: Value) -> str:
    first = number(params, "line") or number(params, "startLine")
    return "" if first is None else f":{first}"


def _file(value: Value, path: str, limits: TextLimits) -> list[TextBlock]:
    text: Any = value.get("content")
    return [text_block(text, limits.output, path)] if isinstance(text, str) and text else []


def plan(update: Value, seq: int, t_ns: int, limits: TextLimits) -> TranscriptEntry:
    """Returns the entry of a plan, with its steps or its text.

    Args:
        update: the session update, or the plan in it.
        seq: the number of the frame with the update.
        t_ns: the time of the frame.
        limits: how much of each text is kept.
    """
    inner = part(update, "plan") or update
    steps = parts(inner, "entries") or parts(inner, "steps")
    text = word(inner, "content", "uri")
    choices = [
        EntryChoice(word(step, "content", "description")[:DESCRIPTION],
                    word(step, "priority"), word(step, "status"))
        for step in steps
    ]  # fmt: skip
    blocks = [text_block(text, limits.said)] if text and not steps else []
    plan_id = word(inner, "planId")
    return TranscriptEntry(
        EntryKind.PLAN, seq, seq, t_ns, by="agent", id=plan_id, choices=choices, blocks=blocks
    )
