"""Reads a recording into lanes of items that can be compared."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import getitem
from typing import Any

from acp_proxy.difference.decisions import Decisions, is_decision
from acp_proxy.difference.defaults import CALL, LOOKING, PATH, REQUEST, TITLES
from acp_proxy.difference.filing import Route, SequenceBuilder
from acp_proxy.difference.forms import (
    CLIENTS,
    Canonicalizer,
    Form,
    Peers,
    canonical,
    digest_of,
    digest_of_pieces,
)
from acp_proxy.difference.lanes import (
    SequenceKey,
    SideIndex,
    ends_cancelled,
    kind_of_call,
    peers_of,
    update_of,
    what_of,
)
from acp_proxy.difference.options import DiffOptions
from acp_proxy.difference.pieces import TEXTS, Splitter
from acp_proxy.difference.pushes import PLACE, is_push, is_receipt, split_push
from acp_proxy.difference.reduction import NOTHING, reduced
from acp_proxy.difference.result import Expect
from acp_proxy.difference.rules import PlaceRule, compiled
from acp_proxy.difference.values import Scope
from acp_proxy.engine.shared.steps import PERMISSION, PUSH
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import STATE_UPDATES
from acp_proxy.recording import Payload
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Shows how far one is: what is worked through, how many there are, and what is done."""


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
        watch: shows how far it is.
        other: what the other one says, if that is known: its directories are directories here,
            too, if they are spelled alike.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    taker = _ChunkHandler(reader, options, rules)
    values, first = taker.told.former.values, dict[str, str]()
    for live, recorded in options.same:
        known = first.setdefault(live, recorded)
        values.same(known, recorded)
        if other is not None:
            values.same(known, live)
    for value in other.former.values.every if other is not None else ():
        if value.kind == PATH and value.is_seen:
            values.borrow(value.text)
    made_up = reader.made_up()
    frames = watch(reader.payloads(), reader.count(), "reading")
    for frame, is_chosen in _chosen(frames, reader, options.chosen):
        if frame.stream != "stderr" and frame.kind != "blank" and frame.seq not in made_up:
            if is_chosen:
                taker.take(frame)
            else:
                taker.pass_by(frame)
    taker.end()
    return taker.told


def _chosen(
    frames: Iterable[Payload], reader: RecordingReader, chosen: Filter
) -> Iterator[tuple[Payload, bool]]:
    """Tells of all frames whether a filter means them."""
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


class _ChunkHandler:
    """Takes frames in recorded order."""

    def __init__(
        self, reader: RecordingReader, options: DiffOptions, rules: tuple[PlaceRule, ...]
    ) -> None:
        titled = (*rules, *(PlaceRule(pointer, is_cut=True) for pointer in TITLES))
        running = tuple(rule for rule in rules if rule.alias != PATH)
        self.told = SideIndex(Canonicalizer(compiled(rules), compiled(titled), compiled(running)))
        self._reader = reader
        self._options = options
        self._beside = () if options.exact else (*STATE_UPDATES, *options.apart)
        self._split = Splitter().split
        self._filer = SequenceBuilder(
            self.told,
            {place: reduce(getitem, place, compiled(rules)) for place in (*TEXTS, PLACE)},
        )
        self._decisions = Decisions()
        self._routes: dict[tuple[str | None, ...], Route] = {}

    def take(self, frame: Payload) -> None:
        """Takes a frame."""
        self.told.frames += 1
        raw = frame.raw
        if raw is not None and frame.method == PUSH and self._is_pushed(frame, raw):
            return
        if raw is not None and self._options.may_be_joined(frame):
            piece = self._split(raw)
            if piece is not None:
                self._filer.add_piece(self._route(frame, piece.update), frame.seq, piece)
                return
        if self._is_handshake(frame):
            return
        if raw is None:
            digest = digest_of_pieces(frame.kind, self._reader.pieces(frame.seq))
            self._filer.add(self._route(frame, None), frame.seq, Form(digest))
        elif self._options.exact:
            route = self._route(frame, update_of(json_or_text(raw)))
            title = self.told.whats[route.what].title
            self._filer.add(route, frame.seq, Form(digest_of(title, raw)))
        else:
            self._take_apart(frame, raw)

    def pass_by(self, frame: Payload) -> None:
        """Takes the values out of a frame that is not compared; others may name them."""
        if frame.raw is None or self._options.exact:
            return
        if not (self._options.may_be_joined(frame) and self._split(frame.raw)):
            if frame.method == PERMISSION and self._options.expect is Expect.OUTCOME:
                self._decisions.feed(frame, json_or_text(frame.raw))
            what = what_of(frame, None)
            self._introduce(frame.raw, frame.session, what.title, peers_of(frame))

    def end(self) -> None:
        """Ends the texts that go on."""
        self._filer.end()

    def _is_pushed(self, frame: Payload, raw: bytes) -> bool:
        """Takes output that the client pushes, and its receipts, which say nothing more."""
        expect = self._options.expect
        if self._options.exact or not (is_push(frame) or is_receipt(frame)):
            return False
        if is_receipt(frame):
            return True
        piece = split_push(raw)
        if piece is None:
            return False
        if expect is Expect.STRUCTURE:
            rest = canonical(reduced(json_or_text(piece.rest), frame, expect))
            piece = piece._replace(rest=rest, text="")
        if expect is not Expect.OUTCOME:
            self._filer.add_push(self._route(frame, None), frame.seq, piece)
        return True

    def _take_apart(self, frame: Payload, raw: bytes) -> None:
        """Takes the values out of a message."""
        said, expect = json_or_text(raw), self._options.expect
        decision = self._decisions.feed(frame, said) if expect is Expect.OUTCOME else None
        if decision is not None:
            self.told.decisions[frame.seq] = decision
        message = reduced(said, frame, expect, decision)
        if message is NOTHING:
            return
        route = self._route(frame, update_of(message) if frame.method == "session/update" else None)
        kind = kind_of_call(message) if frame.tool_call is not None else None
        is_cancelled = b'"cancelled"' in raw and ends_cancelled(message)
        first = [message]

        def again() -> Any:
            return first.pop() if first else reduced(json_or_text(raw), frame, expect, decision)

        try:
            form = self.told.former.form(again, frame.session, route.name, route.rules, route.peers)
        except RecursionError:
            form = Form(digest_of(route.name, raw))
        call = self._call_of(frame, form)
        if kind is not None and call >= 0:
            looking = self.told.looking
            (looking.add if kind in LOOKING else looking.discard)(call)
        asked = self._id_of(form) if frame.kind == "request" else None
        if frame.method == "session/cancel":
            self._filer.cancel(frame.session, Direction(frame.stream).other.value)
        self._filer.add(route, frame.seq, form, asked, call, is_cancelled=is_cancelled)

    def _route(self, frame: Payload, update: str | None) -> Route:
        """Where a frame goes that tells a kind of update."""
        alike = (frame.session, frame.stream, frame.kind, frame.method, update)
        route = self._routes.get(alike)
        if route is None:
            beside = next((kind for kind in (update, frame.method) if kind in self._beside), None)
            if not self._options.exact and is_push(frame):
                beside = PUSH
            key = SequenceKey(frame.session, frame.stream, beside)
            is_decided = self._options.expect is Expect.OUTCOME and is_decision(frame)
            what = what_of(frame, update, is_decided=is_decided)
            is_structure = self._options.expect is Expect.STRUCTURE
            route = self._routes[alike] = Route(
                key=key,
                lane=self._filer.lane(key),
                what=self._filer.what(what),
                # What an answer is for is told by its id.
                name=frame.kind if what.sort == "answer" else f"{frame.kind} {frame.method}",
                rules=self.told.former.begin(what.title),
                peers=peers_of(frame),
                is_told_once=beside in STATE_UPDATES
                or (is_structure and frame.kind == "notification"),
            )
        return route

    def _id_of(self, form: Form) -> int | None:
        """The id of a request, which is the first one that it names."""
        every = self.told.former.values.every
        return next((index for index in form.slots if every[index].kind == REQUEST), None)

    def _call_of(self, frame: Payload, form: Form) -> int:
        """The tool call that a frame is about, and not one that it only speaks of; or -1."""
        if frame.tool_call is None:
            return -1
        call = self.told.former.values.known(CALL, frame.tool_call, frame.session)
        return call if call is not None and call in form.slots else -1

    def _is_handshake(self, frame: Payload) -> bool:
        if frame.method not in INITIALIZE or frame.kind not in ("request", "response", "error"):
            return False
        part = "request" if frame.kind == "request" else "response"
        if frame.raw is None or part in self.told.handshake:
            return False
        self.told.handshake[part] = frame.seq
        self._introduce(frame.raw)
        return True

    def _introduce(
        self, raw: bytes, scope: Scope = None, title: str = "", peers: Peers = CLIENTS
    ) -> None:
        """Takes the values out of a message that is compared apart, or not at all."""
        former = self.told.former
        with contextlib.suppress(RecursionError):
            rules = former.begin(title)
            form = former.form(lambda: json_or_text(raw), scope, title, rules, peers)
            former.values.place(form.slots, form.digest)
