"""Reads a recording into lanes of items that can be compared."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import getitem
from typing import Any

from acp_proxy.difference.defaults import CALL, LOOKING, PATH, REQUEST, STATE_UPDATES, TITLES
from acp_proxy.difference.forms import Form, Former, canonical, decoded, digest_of
from acp_proxy.difference.lanes import (
    Lane,
    LaneKey,
    Run,
    Told,
    What,
    kind_of_call,
    peers_of,
    update_of,
    what_of,
)
from acp_proxy.difference.options import Options
from acp_proxy.difference.pieces import TEXTS, Piece, Splitter, joined
from acp_proxy.difference.reduction import NOTHING, reduced
from acp_proxy.difference.result import Expect
from acp_proxy.difference.rules import Rule, compiled
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.recording import Payload
from acp_proxy.store.reader import RecordingReader

Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Shows how far one is: what is worked through, how many there are, and what is done."""
_SKELETONS = 4096
_LONGEST = 1 << 18
"""Characters of a run's text that are held."""
_NO_TEXT = Form(0)


def read(
    reader: RecordingReader,
    options: Options,
    rules: tuple[Rule, ...],
    watch: Watch,
    *,
    is_b: bool = False,
) -> Told:
    """Reads a recording.

    Args:
        reader: the recording.
        options: what is compared.
        rules: what may differ.
        watch: shows how far it is.
        is_b: whether it is the second one.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    taker = _Taker(reader, options, rules)
    values, first = taker.told.former.values, dict[str, str]()
    for live, recorded in options.same:
        known = first.setdefault(live, recorded)
        values.same(known, recorded)
        if is_b:
            values.same(known, live)
    made_up = reader.made_up()
    frames = watch(reader.payloads(options.chosen), reader.count(), "reading")
    for frame in frames:
        if frame.stream != "stderr" and frame.kind != "blank" and frame.seq not in made_up:
            taker.take(frame)
    taker.end()
    return taker.told


class _Taker:
    """Takes frames in recorded order."""

    def __init__(self, reader: RecordingReader, options: Options, rules: tuple[Rule, ...]) -> None:
        titled = (*rules, *(Rule(pointer, is_cut=True) for pointer in TITLES))
        running = tuple(rule for rule in rules if rule.alias != PATH)
        self.told = Told(Former(compiled(rules), compiled(titled), compiled(running)))
        self._reader = reader
        self._options = options
        self._is_exact = options.exact
        self._beside = {*STATE_UPDATES, *options.apart}
        self._split = Splitter().split
        self._texts = {place: reduce(getitem, place, compiled(rules)) for place in TEXTS}
        self._skeletons: dict[tuple[LaneKey, bytes], Form] = {}
        self._slots: dict[tuple[int, ...], int] = {}
        self._whats: dict[What, int] = {}

    def take(self, frame: Payload) -> None:
        """Takes a frame."""
        self.told.frames += 1
        if (piece := self._piece(frame)) is not None:
            self._add_piece(self._key(frame, piece.update), frame, piece)
            return
        if self._is_handshake(frame):
            return
        if frame.raw is None:
            digest = digest_of(frame.kind, *self._reader.pieces(frame.seq))
            self._add(self._key(frame, None), frame.seq, Form(digest), what_of(frame, None))
            return
        if self._is_exact:
            what = what_of(frame, update_of(decoded(frame.raw)))
            form = Form(digest_of(what.title, frame.raw))
            self._add(self._key(frame, None), frame.seq, form, what)
            return
        raw = frame.raw
        message = reduced(decoded(raw), frame, self._options.expect)
        if message is NOTHING:
            return
        update = update_of(message) if frame.method == "session/update" else None
        key = self._key(frame, update)
        what = what_of(frame, update)
        kind = kind_of_call(message) if frame.tool_call is not None else None
        first = [message]

        def again() -> Any:
            return first.pop() if first else reduced(decoded(raw), frame, self._options.expect)

        former, name = self.told.former, _name_of(frame)
        try:
            rules = former.begin(what.title)
            form = former.form(again, frame.session, name, rules, peers_of(frame))
        except RecursionError:
            form = Form(digest_of(name, raw))
        call = self._call_of(frame, form)
        if kind is not None and call >= 0:
            looking = self.told.looking
            (looking.add if kind in LOOKING else looking.discard)(call)
        asked = self._id_of(form) if frame.kind == "request" else None
        once = self._is_told_once(key, frame)
        self._add(key, frame.seq, form, what, asked, call, may_repeat=not once)

    def _key(self, frame: Payload, update: str | None) -> LaneKey:
        """The lane of a frame, which tells a kind of update or has a method of its own."""
        beside = self._beside
        kind = update if update in beside else frame.method if frame.method in beside else None
        return LaneKey(frame.session, frame.stream, kind)

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

    def end(self) -> None:
        """Ends the texts that go on."""
        for key, lane in self.told.lanes.items():
            self._end_run(key, lane)

    def _is_told_once(self, key: LaneKey, frame: Payload) -> bool:
        """Whether the same again says nothing new."""
        is_structure = self._options.expect is Expect.STRUCTURE
        return key.beside in STATE_UPDATES or (is_structure and frame.kind == "notification")

    def _is_handshake(self, frame: Payload) -> bool:
        if frame.method not in INITIALIZE or frame.kind not in ("request", "response", "error"):
            return False
        part = "request" if frame.kind == "request" else "response"
        if frame.raw is None or part in self.told.handshake:
            return False
        self.told.handshake[part] = frame.seq
        self._introduce(frame.raw)
        return True

    def _introduce(self, raw: bytes) -> None:
        """Takes the values out of a message that is compared apart."""
        with contextlib.suppress(RecursionError):
            form = self.told.former.form(lambda: decoded(raw), None, "")
            self.told.former.values.place(form.slots, form.digest)

    def _piece(self, frame: Payload) -> Piece | None:
        return self._split(frame.raw or b"") if self._options.may_be_joined(frame) else None

    def _add_piece(self, key: LaneKey, frame: Payload, piece: Piece) -> None:
        known = (key, piece.rest)
        form = self._skeletons.get(known)
        if form is None:
            if len(self._skeletons) >= _SKELETONS:
                self._skeletons.clear()
            try:
                form = self.told.former.form(lambda: decoded(piece.rest), key.session, frame.kind)
            except RecursionError:
                form = Form(digest_of(frame.kind, piece.rest))
            self._skeletons[known] = form
        lane = self._lane(key)
        run = lane.run
        if run is None or run.form != form:
            self._end_run(key, lane)
            what = what_of(frame, piece.update)
            run = lane.run = Run(form, what, self._texts[piece.place], list(form.slots))
            lane.starts.append(len(lane.frames))
        lane.frames.append(frame.seq)
        run.pieces.append(piece.text)
        run.size += len(piece.text)
        if run.size > _LONGEST:
            self._settle(key, run)

    def _settle(self, key: LaneKey, run: Run) -> None:
        """Takes the values out of a text and forgets it; its pieces do not tell where it is cut."""
        text = joined(run.pieces)
        while len(text) > _LONGEST:
            end = text.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
            self._digest(key, run, text[:end])
            text = text[end:]
        run.pieces, run.size = [text], len(text)

    def _digest(self, key: LaneKey, run: Run, text: str) -> None:
        form = self.told.former.form(lambda: text, key.session, "text", run.rules)
        run.digests.append(form.digest)
        run.slots += form.slots

    def _end_run(self, key: LaneKey, lane: Lane) -> None:
        run, lane.run = lane.run, None
        if run is None:
            return
        if not run.size and not run.digests:
            lane.silent.add(len(lane))
        self._digest(key, run, joined(run.pieces))
        digest = digest_of(str(run.form.digest), canonical(run.digests))
        self._note(lane, Form(digest, tuple(run.slots)), run.what, run.form)

    def _add(
        self,
        key: LaneKey,
        seq: int,
        form: Form,
        what: What,
        asked: int | None = None,
        call: int = -1,
        *,
        may_repeat: bool = True,
    ) -> None:
        lane = self._lane(key)
        self._end_run(key, lane)
        if not may_repeat:
            if self._is_repeated(key, lane, form):
                return
            lane.latest[form.slots] = form.digest
        lane.starts.append(len(lane.frames))
        lane.frames.append(seq)
        if asked is not None:
            lane.asked[len(lane)] = asked
            form = Form(form.digest, tuple(index for index in form.slots if index != asked))
        self._note(lane, form, what, call=call)

    def _is_repeated(self, key: LaneKey, lane: Lane, form: Form) -> bool:
        """Whether it says the same as the one before, or as the latest about a tool call."""
        if lane.latest.get(form.slots) != form.digest:
            return False
        if key.beside not in STATE_UPDATES and len(form.slots) > 1:
            return True
        return lane.forms[-1] == form.digest and self.told.slots[lane.slots[-1]] == form.slots

    def _note(
        self, lane: Lane, form: Form, what: What, base: Form = _NO_TEXT, call: int = -1
    ) -> None:
        self.told.former.values.place(form.slots, form.digest)
        lane.forms.append(form.digest)
        lane.bases.append(base.digest)
        lane.base_slots.append(_interned(base.slots, self._slots, self.told.slots))
        lane.slots.append(_interned(form.slots, self._slots, self.told.slots))
        lane.whats.append(_interned(what, self._whats, self.told.whats))
        lane.calls.append(call)

    def _lane(self, key: LaneKey) -> Lane:
        lane = self.told.lanes.get(key)
        if lane is None:
            lane = self.told.lanes[key] = Lane()
        return lane


def _interned(item: Any, known: dict[Any, int], every: list[Any]) -> int:
    index = known.setdefault(item, len(every))
    if index == len(every):
        every.append(item)
    return index


def _unwatched(items: Iterable[Any], _total: int, _label: str) -> Iterator[Any]:
    return iter(items)


UNWATCHED: Watch = _unwatched


def _name_of(frame: Payload) -> str:
    """What a frame is; what an answer is for is told by its id."""
    return frame.kind if frame.kind in ("response", "error") else f"{frame.kind} {frame.method}"
