"""Turns a recording into sequences of items, so that two recordings can be compared."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any

from acp_proxy.base.limits import REMEMBERED_CALLS
from acp_proxy.diff.canonicalizer import Canonical, Canonicalizer
from acp_proxy.diff.default_rules import CALL, LOOKING, PATH
from acp_proxy.diff.diff_result import DiffOptions, Expect
from acp_proxy.diff.frame_types import (
    CLIENTS,
    ChunkHandler,
    RequestPeers,
    canonical_json,
    digest_of_pieces,
    ends_cancelled,
    is_acknowledgement,
    is_decision,
    is_push,
    item_type_of,
    kind_of_call,
    request_peers_of,
    split_push,
    update_of,
)
from acp_proxy.diff.named_values import Scope
from acp_proxy.diff.place_rules import PlaceRule
from acp_proxy.diff.reduction import NOTHING, reduced
from acp_proxy.diff.sequence_builder import Route, SequenceBuilder
from acp_proxy.diff.sequences import SequenceKey, SideIndex
from acp_proxy.protocol.dialects import INITIALIZE, PERMISSION, PROMPT, PUSH
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.updates import STATE_UPDATES, UPDATE
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.fired_faults import injected_frames
from acp_proxy.store.queries.recorded_events import gave_up_at
from acp_proxy.store.reader import RecordingReader

_RECEIVED = re.compile(rb'"received"\s*:\s*true')
Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""A function that yields the items of an iterable, and may show the progress.

Its arguments are the iterable, the number of items and the name of the task.
"""


def _unwatched(items: Iterable[Any], _total: int, _label: str) -> Iterator[Any]:
    return iter(items)


UNWATCHED: Watch = _unwatched


def read(
    reader: RecordingReader,
    options: DiffOptions,
    rules: tuple[PlaceRule, ...],
    watch: Watch,
    other: SideIndex | None = None,
) -> SideIndex:
    """Reads a recording.

    Args:
        reader: the recording.
        options: what is compared.
        rules: the places that may differ.
        watch: shows the progress.
        other: the other recording, if it was read before. Its directories become values of this
            recording, too.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    handler = _FrameHandler(reader, options, rules)
    _introduce_directories(handler.side, options, other)
    handler.side.gave_up_at = gave_up_at(reader) or inf
    made_up = injected_frames(reader)
    chosen = None
    if options.chosen is not EVERYTHING:
        chosen = {frame.seq for frame in reader.heads(options.chosen)}
    for frame in watch(reader.heads(with_lines=True), reader.count(), "reading"):
        seq, _, stream, kind, *_ = frame
        is_chosen = chosen is None or seq in chosen
        if stream != "stderr" and kind != "blank" and seq not in made_up:
            if is_chosen:
                handler.take(frame)
            else:
                handler.pass_over(frame)
    handler.end()
    return handler.side


def _introduce_directories(side: SideIndex, options: DiffOptions, other: SideIndex | None) -> None:
    values, first = side.canonicalizer.values, dict[str, str]()
    for live, recorded in options.same:
        known = first.setdefault(live, recorded)
        values.same(known, recorded)
        if other is not None:
            values.same(known, live)
    for value in other.canonicalizer.values.every if other is not None else ():
        if value.kind == PATH and value.is_seen:
            values.borrow(value.text)


class _Decisions:
    """Determines the decisions of clients on permission requests."""

    def __init__(self) -> None:
        self._offered: dict[bytes, list[dict[str, Any]]] = {}
        """The options of open requests, by request id."""

    def feed(self, frame: StoredFrame, message: Any) -> str | None:
        """Reads the next message, in recorded order. Only messages about permissions matter.

        Returns:
            The decision in an answer: ``granted``, ``denied``, ``cancelled``, ``nothing``, or
            another word that the answer contains. None for any other message.
        """
        if frame.method != PERMISSION or not isinstance(message, dict):
            return None
        rpc_id = canonical_json(message.get("id"))
        if frame.kind == "request":
            if len(self._offered) < REMEMBERED_CALLS:
                self._offered[rpc_id] = options_of(message)
            return None
        options = self._offered.pop(rpc_id, [])
        return read_answer(options, message).decision if is_decision(frame) else None


class _FrameHandler:
    """Adds the frames of a recording to sequences, in recorded order."""

    def __init__(
        self, reader: RecordingReader, options: DiffOptions, rules: tuple[PlaceRule, ...]
    ) -> None:
        self._canonicalizer = Canonicalizer(rules)
        self.side = SideIndex(self._canonicalizer)
        self._reader = reader
        self._exact = options.exact
        self._expect = options.expect
        self._is_reduced = options.expect is not Expect.FRAMES
        self._apart = () if options.exact else (*STATE_UPDATES, *options.apart)
        self._chunks = ChunkHandler(options.joins_texts)
        self._builder = SequenceBuilder(self.side)
        self._decisions = _Decisions()
        self._unsaid = set[str | None]()
        """Sessions in which the agent answered pushed output without a confirmation. Only the first
        answer of this form is compared."""
        self._routes: dict[tuple[str | None, ...], Route] = {}

    def take(self, frame: StoredFrame) -> None:
        """Adds a frame to a sequence."""
        self.side.frames += 1
        method, raw = frame.method, frame.raw
        if raw is None:  # too large to parse
            digest = digest_of_pieces(frame.kind, self._reader.pieces(frame.seq))
            self._builder.add(self._route(frame, None), frame.seq, Canonical(hash(digest)))
        elif method == UPDATE and (chunk := self._chunks.chunk(frame)) is not None:
            self._builder.add_chunk(self._route(frame, chunk.update), frame.seq, chunk)
        elif (method == PUSH and self._is_pushed(frame, raw)) or (
            method in INITIALIZE and self._is_handshake(frame, raw)
        ):
            return
        elif self._exact:
            message = json_or_text(raw)
            route = self._route(frame, update_of(message) if method == UPDATE else None)
            title = self.side.item_types[route.item_type].title
            self._builder.add(route, frame.seq, Canonical(hash((title, raw))))
        else:
            self._take_message(frame, raw)

    def pass_over(self, frame: StoredFrame) -> None:
        """Notes values, such as ids, of a frame that is not compared: compared frames use them."""
        if frame.raw is None or self._exact or self._chunks.chunk(frame) is not None:
            return
        if frame.method == PERMISSION and self._expect is Expect.OUTCOME:
            self._decisions.feed(frame, json_or_text(frame.raw))
        title = item_type_of(frame, None).title
        self._introduce(frame.raw, frame.session, title, request_peers_of(frame))

    def end(self) -> None:
        """Finishes all texts."""
        self._builder.end()

    def _is_pushed(self, frame: StoredFrame, raw: bytes) -> bool:
        """Adds pushed output, or skips an acknowledgement. Returns False if it did neither."""
        if self._exact or not (is_push(frame) or is_acknowledgement(frame)):
            return False
        if is_acknowledgement(frame):
            if self._is_reduced or _RECEIVED.search(raw) or frame.session in self._unsaid:
                return True
            self._unsaid.add(frame.session)
            return False
        chunk = split_push(raw)
        if chunk is None:
            return False
        if self._expect is Expect.STRUCTURE:
            rest = canonical_json(reduced(json_or_text(chunk.rest), frame, self._expect))
            chunk = chunk._replace(rest=rest, text="")
        if self._expect is not Expect.OUTCOME:
            self._builder.add_push(self._route(frame, None), frame.seq, chunk)
        return True

    def _take_message(self, frame: StoredFrame, raw: bytes) -> None:
        seq, _, stream, _, method, _, session, _, named_call, *_ = frame
        message, decision = json_or_text(raw), None
        if self._is_reduced or method in INITIALIZE:
            decision = self._decision(frame, message)
            message = reduced(message, frame, self._expect, decision)
            if message is NOTHING:
                return
        route = self._route(frame, update_of(message) if method == UPDATE else None)
        if ends_cancelled(message):
            if route.writer.text is not None:
                route.writer.text.remove_late()
            if (prompts := self.side.prompts.get(session)) is not None:
                self.side.cancelled.add((session, len(prompts)))
        call_kind = kind_of_call(message) if named_call and raw.find(b'"kind"') > 0 else None
        try:
            canonical = route.walk.canonical(message, partial(self._read, frame, decision))
        except RecursionError:
            canonical = Canonical(hash((route.walk.kind, raw)))
        call = route.calls.get(named_call) if named_call else None
        if call is not None:
            if call not in canonical[1]:
                call = None  # the message only mentions the call in a place without a rule
            elif call_kind is not None:
                looking = self.side.looking
                (looking.add if call_kind in LOOKING else looking.discard)(call)
        if method == "session/cancel":
            self._builder.cancel(session, Direction(stream).other.value)
        elif method == PROMPT and frame.kind == "request":
            self.side.prompts.setdefault(session, []).append(seq)
        self._builder.add(route, seq, canonical, call)

    def _read(self, frame: StoredFrame, decision: str | None) -> Any:
        """Decodes a frame again. Returns the part of the message that is compared."""
        return reduced(json_or_text(frame.raw or b""), frame, self._expect, decision)

    def _decision(self, frame: StoredFrame, message: Any) -> str | None:
        if self._expect is not Expect.OUTCOME:
            return None
        decision = self._decisions.feed(frame, message)
        if decision is not None:
            self.side.decisions[frame.seq] = decision
        return decision

    def _route(self, frame: StoredFrame, update: str | None) -> Route:
        """Returns the `Route` of a frame. All frames of one type share a route."""
        _, _, stream, kind, method, _, session, *_ = frame
        alike = (session, stream, kind, method, update)
        route = self._routes.get(alike)
        if route is None:
            route = self._routes[alike] = self._new_route(frame, update)
        return route

    def _new_route(self, frame: StoredFrame, update: str | None) -> Route:
        apart = next((kind for kind in (update, frame.method) if kind in self._apart), None)
        if not self._exact and is_push(frame):
            apart = PUSH
        counts_decision = self._expect is Expect.OUTCOME and is_decision(frame)
        item_type = item_type_of(frame, update, is_decision=counts_decision)
        is_structure = self._expect is Expect.STRUCTURE
        return Route(
            writer=self._builder.writer(SequenceKey(frame.session, frame.stream, apart)),
            item_type=self._builder.type_index(item_type),
            walk=self._canonicalizer.walk(
                # An answer needs no method: its id leads to the request, which has the method.
                frame.kind if item_type.sort == "answer" else f"{frame.kind} {frame.method}",
                frame.session,
                item_type.title,
                request_peers_of(frame),
            ),
            calls=self._canonicalizer.values.tables(frame.session)[CALL],
            is_request=frame.kind == "request",
            ignores_repetitions=apart in STATE_UPDATES
            or (is_structure and frame.kind == "notification"),
        )

    def _is_handshake(self, frame: StoredFrame, raw: bytes) -> bool:
        """Notes the first ``initialize`` and its answer, which belong to no sequence.

        Returns whether the frame is one of these two.
        """
        if frame.kind not in ("request", "response", "error"):
            return False
        part = "request" if frame.kind == "request" else "response"
        if part in self.side.handshake:
            return False
        self.side.handshake[part] = frame.seq
        self._introduce(raw)
        return True

    def _introduce(
        self, raw: bytes, scope: Scope = None, title: str = "", peers: RequestPeers = CLIENTS
    ) -> None:
        """Notes the values, such as ids and paths, of a message that belongs to no sequence."""
        with contextlib.suppress(RecursionError):
            walk = self._canonicalizer.walk(title, scope, title, peers)
            template, placeholders = walk.canonical(json_or_text(raw), lambda: json_or_text(raw))
            self._canonicalizer.values.place(template, placeholders)
