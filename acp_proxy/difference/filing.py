"""Files what was said into lanes: frame by frame, and texts that come in pieces."""

from array import array
from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from acp_proxy.difference.forms import Form, Peers, canonical, digest_of
from acp_proxy.difference.lanes import (
    ItemType,
    MessageSequence,
    SequenceKey,
    SideIndex,
    StreamedText,
)
from acp_proxy.difference.pieces import Piece, Place, joined
from acp_proxy.difference.rules import PlaceState
from acp_proxy.difference.values import Scope
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.updates import STATE_UPDATES

_SKELETONS = 4096
_LONGEST = 1 << 18
"""Characters of a run's text that are held."""


@frozen
class Route:
    """What frames have in common that say the same kind of thing in one session and direction.

    Attributes:
        key: of their lane.
        lane: where they go.
        what: what they are, by its index in `SideIndex.whats`.
        name: what tells their forms from those of others.
        rules: the state in which they begin.
        peers: in which direction the request went that one is or answers, and one that it names.
        is_told_once: whether the same again says nothing new.
    """

    key: SequenceKey
    lane: MessageSequence
    what: int
    name: str
    rules: PlaceState
    peers: Peers
    is_told_once: bool


@define
class _Pushed:
    """The output of one terminal that goes on."""

    route: Route
    run: StreamedText
    frames: "array[int]" = field(factory=lambda: array("Q"))


class SequenceBuilder:
    """Adds items to the lanes of one side.

    Args:
        told: where to.
        texts: the state in which the text of a chunk begins, by its place.
    """

    def __init__(self, told: SideIndex, texts: Mapping[Place, PlaceState]) -> None:
        self._told = told
        self._values = told.former.values
        self._texts = texts
        self._skeletons: dict[tuple[SequenceKey, bytes], Form] = {}
        self._slots: dict[tuple[int, ...], int] = {}
        self._whats: dict[ItemType, int] = {}
        self._no_slots = self._slots_of(())
        self._pushed: dict[tuple[SequenceKey, Form], _Pushed] = {}

    def lane(self, key: SequenceKey) -> MessageSequence:
        """The lane that has a key, which may be new."""
        return self._told.lanes.setdefault(key, MessageSequence())

    def what(self, what: ItemType) -> int:
        """The index of what items are."""
        return _interned(what, self._whats, self._told.whats)

    def add(
        self,
        route: Route,
        seq: int,
        form: Form,
        asked: int | None = None,
        call: int = -1,
        *,
        is_cancelled: bool = False,
    ) -> None:
        """Adds a frame.

        Args:
            route: where it goes.
            seq: its number.
            form: what it says.
            asked: a request's id, by the index of the value.
            call: the tool call that it is about, by the index of its id, or -1.
            is_cancelled: whether it ends a turn that the client has cancelled.
        """
        lane = route.lane
        if lane.run is not None:
            if is_cancelled:
                _cut(lane, lane.run)
            self._end_run(route.key, lane)
        if route.is_told_once:
            if self._is_repeated(route.key, lane, form):
                return
            lane.latest[form.slots] = form.digest
        lane.starts.append(len(lane.frames))
        lane.frames.append(seq)
        if asked is not None:
            lane.asked[len(lane)] = asked
            form = Form(form.digest, tuple(index for index in form.slots if index != asked))
        lane.bases.append(0)
        lane.base_slots.append(self._no_slots)
        lane.calls.append(call)
        self._note(lane, form, route.what)

    def add_piece(self, route: Route, seq: int, piece: Piece) -> None:
        """Adds a piece of a text."""
        lane = route.lane
        run = lane.run
        if run is None or run.rest is not piece.rest:
            form = self._form_of(route, piece)
            if run is None or run.form != form:
                self._end_run(route.key, lane)
                rules = self._texts[piece.place]
                run = lane.run = StreamedText(form, route.what, rules, piece.rest, list(form.slots))
                lane.starts.append(len(lane.frames))
            run.rest = piece.rest
        lane.frames.append(seq)
        run.pieces.append(piece.text)
        run.size += len(piece.text)
        if run.size > _LONGEST:
            self._settle(route.key, run)

    def add_push(self, route: Route, seq: int, piece: Piece) -> None:
        """Adds output that was pushed to what else the same terminal has written."""
        form = self._form_of(route, piece)
        pushed = self._pushed.get((route.key, form))
        if pushed is None:
            run = StreamedText(form, route.what, self._texts[piece.place], b"", list(form.slots))
            pushed = self._pushed[route.key, form] = _Pushed(route, run)
        pushed.frames.append(seq)
        pushed.run.pieces.append(piece.text)
        pushed.run.size += len(piece.text)
        if pushed.run.size > _LONGEST:
            self._settle(route.key, pushed.run)

    def cancel(self, session: Scope, direction: str) -> None:
        """Notes that a turn is cancelled: what still comes of a text is what was on its way."""
        for key, lane in self._told.lanes.items():
            if (key.session, key.direction) == (session, direction) and lane.run is not None:
                lane.run.in_time = len(lane.run.pieces)

    def end(self) -> None:
        """Ends the texts that go on."""
        for key, lane in self._told.lanes.items():
            self._end_run(key, lane)
        # By their terminals in the order in which these were made: which wrote first is chance.
        for pushed in sorted(self._pushed.values(), key=lambda one: one.run.form.slots):
            lane = pushed.route.lane
            lane.starts.append(len(lane.frames))
            lane.frames.extend(pushed.frames)
            lane.run = pushed.run
            self._end_run(pushed.route.key, lane)

    def _form_of(self, route: Route, piece: Piece) -> Form:
        """The form of a chunk without its text."""
        known = (route.key, piece.rest)
        form = self._skeletons.get(known)
        if form is None:
            if len(self._skeletons) >= _SKELETONS:
                self._skeletons.clear()
            form = self._read(route, piece.rest)
            self._skeletons[known] = form
        return form

    def _read(self, route: Route, rest: bytes) -> Form:
        try:
            return self._told.former.form(lambda: json_or_text(rest), route.key.session, route.name)
        except RecursionError:
            return Form(digest_of(route.name, rest))

    def _settle(self, key: SequenceKey, run: StreamedText) -> None:
        """Takes the values out of a text and forgets it; its pieces do not tell where it is cut."""
        text = joined(run.pieces)
        while len(text) > _LONGEST:
            end = text.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
            self._digest(key, run, text[:end])
            text = text[end:]
        run.pieces, run.size, run.in_time = [text], len(text), None

    def _digest(self, key: SequenceKey, run: StreamedText, text: str) -> None:
        form = self._told.former.form(lambda: text, key.session, "text", run.rules)
        run.digests.append(form.digest)
        run.slots += form.slots

    def _end_run(self, key: SequenceKey, lane: MessageSequence) -> None:
        run, lane.run = lane.run, None
        if run is None:
            return
        if not run.size and not run.digests:
            lane.silent.add(len(lane))
        self._digest(key, run, joined(run.pieces))
        digest = digest_of(str(run.form.digest), canonical(run.digests))
        lane.bases.append(run.form.digest)
        lane.base_slots.append(self._slots_of(run.form.slots))
        lane.calls.append(-1)
        self._note(lane, Form(digest, tuple(run.slots)), run.what)

    def _is_repeated(self, key: SequenceKey, lane: MessageSequence, form: Form) -> bool:
        """Whether it says the same as the one before, or as the latest about a tool call."""
        if lane.latest.get(form.slots) != form.digest:
            return False
        if key.beside not in STATE_UPDATES and len(form.slots) > 1:
            return True
        return lane.forms[-1] == form.digest and self._told.slots[lane.slots[-1]] == form.slots

    def _note(self, lane: MessageSequence, form: Form, what: int) -> None:
        self._values.place(form.slots, form.digest)
        lane.forms.append(form.digest)
        lane.slots.append(self._slots_of(form.slots))
        lane.whats.append(what)

    def _slots_of(self, slots: tuple[int, ...]) -> int:
        return _interned(slots, self._slots, self._told.slots)


def _cut(lane: MessageSequence, run: StreamedText) -> None:
    """Takes away what came of a text after its turn was cancelled."""
    if run.in_time is not None and (late := len(run.pieces) - run.in_time):
        del run.pieces[-late:]
        del lane.frames[-late:]
        run.size = sum(map(len, run.pieces))


def _interned(item: Any, known: dict[Any, int], every: list[Any]) -> int:
    index = known.setdefault(item, len(every))
    if index == len(every):
        every.append(item)
    return index
