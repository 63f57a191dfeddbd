"""Reads a recording into sequences of items that can be compared."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import getitem
from typing import Any

from acp_proxy.difference.canonicalizer import (
    CLIENTS,
    Canonical,
    Canonicalizer,
    RequestPeers,
    canonical_json,
    digest_of,
    digest_of_pieces,
)
from acp_proxy.difference.chunks import (
    PLACES,
    ChunkHandler,
    is_acknowledgement,
    is_push,
    split_push,
)
from acp_proxy.difference.defaults import CALL, LOOKING, PATH, REQUEST
from acp_proxy.difference.indices import ValueIndex
from acp_proxy.difference.item_types import (
    ends_cancelled,
    item_type_of,
    kind_of_call,
    request_peers_of,
    update_of,
)
from acp_proxy.difference.options import DiffOptions, Expect
from acp_proxy.difference.reduction import NOTHING, is_reduced, reduced
from acp_proxy.difference.rules import PlaceRule, compiled
from acp_proxy.difference.sequence_builder import Route, SequenceBuilder
from acp_proxy.difference.sequences import SequenceKey, SideIndex
from acp_proxy.difference.values import Scope
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.methods import PERMISSION, PUSH
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.permissions import options_of, read_answer
from acp_proxy.protocol.updates import STATE_UPDATES, UPDATE
from acp_proxy.recording import Payload
from acp_proxy.store.fired_faults import injected_frames
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Shows progress: gets what is iterated over, how many there are, and what is done."""
_MOST_OPEN = 10_000
"""Permission requests without an answer that are remembered."""


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
        rules: what may differ.
        watch: shows progress.
        other: the other recording, if it has been read: its directories are directories here, too,
            if they are spelled alike.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    handler = _FrameHandler(reader, options, rules)
    values, first = handler.side.canonicalizer.values, dict[str, str]()
    for live, recorded in options.same:
        known = first.setdefault(live, recorded)
        values.same(known, recorded)
        if other is not None:
            values.same(known, live)
    for value in other.canonicalizer.values.every if other is not None else ():
        if value.kind == PATH and value.is_seen:
            values.borrow(value.text)
    made_up = injected_frames(reader)
    frames = watch(reader.payloads(), reader.count(), "reading")
    for frame, is_chosen in _chosen(frames, reader, options.chosen):
        if frame.stream != "stderr" and frame.kind != "blank" and frame.seq not in made_up:
            if is_chosen:
                handler.take(frame)
            else:
                handler.pass_over(frame)
    handler.end()
    return handler.side


def _chosen(
    frames: Iterable[Payload], reader: RecordingReader, chosen: Filter
) -> Iterator[tuple[Payload, bool]]:
    """Yields each frame, and whether it matches a filter."""
    if chosen is EVERYTHING:
        yield from ((frame, True) for frame in frames)
        return
    numbers = (frame.seq for frame in reader.payloads(chosen))
    number = next(numbers, None)
    for frame in frames:
        is_chosen = frame.seq == number
        yield frame, is_chosen
        if is_chosen:
            number = next(numbers, None)


class _Decisions:
    """Reads what clients decided when they were asked for permission."""

    def __init__(self) -> None:
        self._offered: dict[bytes, list[dict[str, Any]]] = {}
        """The options of the requests that are open, by their ids."""

    def feed(self, frame: Payload, message: Any) -> str | None:
        """Takes a permission request, or its answer, in recorded order.

        Args:
            frame: any frame.
            message: the same, decoded.

        Returns:
            ``granted``, ``denied``, ``cancelled``, or whatever else an answer contains; None for
            what is not an answer.
        """
        if frame.method != PERMISSION or not isinstance(message, dict):
            return None
        rpc_id = canonical_json(message.get("id"))
        if frame.kind == "request":
            if len(self._offered) < _MOST_OPEN:
                self._offered[rpc_id] = options_of(message)
            return None
        options = self._offered.pop(rpc_id, [])
        return read_answer(options, message).decision if _is_decision(frame) else None


def _is_decision(frame: Payload) -> bool:
    is_result = frame.kind == "response" and frame.stream == Direction.TO_AGENT
    return is_result and frame.method == PERMISSION


class _FrameHandler:
    """Takes the frames of a recording, in recorded order."""

    def __init__(
        self, reader: RecordingReader, options: DiffOptions, rules: tuple[PlaceRule, ...]
    ) -> None:
        self.side = SideIndex(Canonicalizer(rules))
        self._reader = reader
        self._options = options
        self._expect = options.expect
        self._apart = () if options.exact else (*STATE_UPDATES, *options.apart)
        self._chunks = ChunkHandler(options)
        texts = {place: reduce(getitem, place, compiled(rules)) for place in PLACES}
        self._builder = SequenceBuilder(self.side, texts)
        self._decisions = _Decisions()
        self._routes: dict[tuple[str | None, ...], Route] = {}

    def take(self, frame: Payload) -> None:
        """Takes a frame that is compared."""
        self.side.frames += 1
        raw = frame.raw
        if raw is None:
            if not self._is_handshake(frame):
                digest = digest_of_pieces(frame.kind, self._reader.pieces(frame.seq))
                self._builder.add(self._route(frame, None), frame.seq, Canonical(digest))
        elif (chunk := self._chunks.chunk(frame)) is not None:
            self._builder.add_chunk(self._route(frame, chunk.update), frame.seq, chunk)
        elif (frame.method == PUSH and self._is_pushed(frame, raw)) or self._is_handshake(frame):
            return
        elif self._options.exact:
            route = self._route(frame, update_of(json_or_text(raw)))
            title = self.side.item_types[route.item_type].title
            digest = digest_of(title.encode(errors="backslashreplace"), raw)
            self._builder.add(route, frame.seq, Canonical(digest))
        else:
            self._take_message(frame, raw)

    def pass_over(self, frame: Payload) -> None:
        """Takes the values out of a frame that is not compared; others may name them."""
        if frame.raw is None or self._options.exact or self._chunks.chunk(frame) is not None:
            return
        if frame.method == PERMISSION and self._expect is Expect.OUTCOME:
            self._decisions.feed(frame, json_or_text(frame.raw))
        title = item_type_of(frame, None).title
        self._introduce(frame.raw, frame.session, title, request_peers_of(frame))

    def end(self) -> None:
        """Finishes the texts of which no more chunks come."""
        self._builder.end()

    def _is_pushed(self, frame: Payload, raw: bytes) -> bool:
        """Takes pushed output, and the acknowledgements of it, which are not compared."""
        if self._options.exact or not (is_push(frame) or is_acknowledgement(frame)):
            return False
        if is_acknowledgement(frame):
            return True
        chunk = split_push(raw)
        if chunk is None:
            return False
        if self._expect is Expect.STRUCTURE:
            rest = canonical_json(reduced(json_or_text(chunk.rest), frame, self._expect))
            chunk = chunk._replace(rest=rest, text="")
        if self._expect is not Expect.OUTCOME:
            self._builder.add_push(self._route(frame, None), frame.seq, chunk)
        return True

    def _take_message(self, frame: Payload, raw: bytes) -> None:
        message, decision = json_or_text(raw), None
        if self._expect is Expect.OUTCOME:
            decision = self._decisions.feed(frame, message)
            if decision is not None:
                self.side.decisions[frame.seq] = decision
        if is_reduced(frame, self._expect):
            message = reduced(message, frame, self._expect, decision)
            if message is NOTHING:
                return
        route = self._route(frame, update_of(message) if frame.method == UPDATE else None)
        has_kind = frame.tool_call is not None and b'"kind"' in raw
        kind = kind_of_call(message) if has_kind else None
        if b'"cancelled"' in raw and ends_cancelled(message):
            self._builder.end_cancelled(route)
        canonical = self._canonical(frame, raw, route, message, decision)
        call = self._call_of(frame, canonical)
        if kind is not None and call is not None:
            looking = self.side.looking
            (looking.add if kind in LOOKING else looking.discard)(call)
        if frame.method == "session/cancel":
            self._builder.cancel(frame.session, Direction(frame.stream).other.value)
        request_id = self._id_of(canonical) if frame.kind == "request" else None
        self._builder.add(route, frame.seq, canonical, call, request_id)

    def _canonical(
        self, frame: Payload, raw: bytes, route: Route, message: Any, decision: str | None
    ) -> Canonical:
        first = [message]

        def reread() -> Any:
            if first:
                return first.pop()
            return reduced(json_or_text(raw), frame, self._expect, decision)

        try:
            return self.side.canonicalizer.canonical(
                reread, frame.session, route.kind, route.rules, route.peers
            )
        except RecursionError:
            return Canonical(digest_of(route.kind, raw))

    def _route(self, frame: Payload, update: str | None) -> Route:
        """Returns what frames like this one have in common."""
        alike = (frame.session, frame.stream, frame.kind, frame.method, update)
        route = self._routes.get(alike)
        if route is None:
            route = self._routes[alike] = self._new_route(frame, update)
        return route

    def _new_route(self, frame: Payload, update: str | None) -> Route:
        apart = next((kind for kind in (update, frame.method) if kind in self._apart), None)
        if not self._options.exact and is_push(frame):
            apart = PUSH
        is_decision = self._expect is Expect.OUTCOME and _is_decision(frame)
        item_type = item_type_of(frame, update, is_decision=is_decision)
        # An answer's id tells which request it is for.
        kind = frame.kind if item_type.sort == "answer" else f"{frame.kind} {frame.method}"
        is_structure = self._expect is Expect.STRUCTURE
        return Route(
            writer=self._builder.writer(SequenceKey(frame.session, frame.stream, apart)),
            item_type=self._builder.type_index(item_type),
            kind=kind.encode(errors="backslashreplace"),
            rules=self.side.canonicalizer.begin(item_type.title),
            peers=request_peers_of(frame),
            ignores_repetitions=apart in STATE_UPDATES
            or (is_structure and frame.kind == "notification"),
        )

    def _id_of(self, canonical: Canonical) -> ValueIndex | None:
        """Returns the id of a request, which is the first one that it names."""
        every = self.side.canonicalizer.values.every
        return next((one for one in canonical.placeholders if every[one].kind == REQUEST), None)

    def _call_of(self, frame: Payload, canonical: Canonical) -> ValueIndex | None:
        """Returns the tool call that a frame is about, and not one that it only mentions."""
        if frame.tool_call is None:
            return None
        call = self.side.canonicalizer.values.known(CALL, frame.tool_call, frame.session)
        return call if call in canonical.placeholders else None

    def _is_handshake(self, frame: Payload) -> bool:
        if frame.method not in INITIALIZE or frame.kind not in ("request", "response", "error"):
            return False
        part = "request" if frame.kind == "request" else "response"
        if frame.raw is None or part in self.side.handshake:
            return False
        self.side.handshake[part] = frame.seq
        self._introduce(frame.raw)
        return True

    def _introduce(
        self, raw: bytes, scope: Scope = None, title: str = "", peers: RequestPeers = CLIENTS
    ) -> None:
        """Takes the values out of a message that is compared elsewhere, or not at all."""
        canonicalizer = self.side.canonicalizer
        kind = title.encode(errors="backslashreplace")
        with contextlib.suppress(RecursionError):
            rules = canonicalizer.begin(title)
            canonical = canonicalizer.canonical(
                lambda: json_or_text(raw), scope, kind, rules, peers
            )
            canonicalizer.values.place(canonical.template, canonical.placeholders)
