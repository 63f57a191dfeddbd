"""Prints the statistics of a recording, or a comparison of versions or projects, as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from acp_proxy.base.wording import byte_size, counted, duration, in_one_line, seconds, share
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import STREAM_INKS, Ink, Piece, Screen, piece
from acp_proxy.cli.screens.table import WIDE, Cell, Column, cell, placed, stacked, table
from acp_proxy.explain.describe.token_texts import Tokens, cost_words, short, token_facts
from acp_proxy.explain.describe.tool_texts import call_label
from acp_proxy.explain.log.timeline import ARROWS
from acp_proxy.explain.origins import why_no_times
from acp_proxy.explain.show.facts_line import named_parts
from acp_proxy.explain.stats.statistics import Statistics
from acp_proxy.explain.stats.traffic import CallStatistics, MethodStatistics, halved, sparkline
from acp_proxy.explain.stats.turn_times import Part, TurnTime, spent_in
from acp_proxy.explain.stats.versions import COUNTS, NUMBERS, VersionRow
from acp_proxy.explain.stats.waterfall import TurnWaterfall, WaterfallStep
from acp_proxy.protocol.updates import FINAL
from acp_proxy.recording.recording import Recording

_INDENTED = 40
"""The smallest width of a screen, in columns, on which tables are indented."""
_GLYPHS: Mapping[Part, Piece] = {
    Part.STREAMING: ("█", Ink.TO_CLIENT, False),
    Part.SILENT: ("░", Ink.FAINT, False),
    Part.PERSON: ("p", Ink.PERMISSION, False),
    Part.TERMINALS: ("t", Ink.STDERR, False),
    Part.FILES: ("f", Ink.TO_AGENT, False),
    Part.OTHER: ("o", Ink.TO_AGENT, False),
}
"""For each part of a turn, the piece that is repeated in a bar on a screen without colours."""
_COLOURED: Mapping[Part, Piece] = {
    part: ("▒" if part is Part.OTHER else "█" if glyph.isalpha() else glyph, ink, bold)
    for part, (glyph, ink, bold) in _GLYPHS.items()
}
"""For each part of a turn, the piece that is repeated in a bar on a screen with colours."""
_STEPS: dict[str, Piece] = {
    "prompt": ("▏", None, False),
    "thought": ("▒", Ink.TO_CLIENT, False),
    "message": ("█", Ink.TO_CLIENT, False),
    "tool_call": ("─", None, False),
    "silence": _GLYPHS[Part.SILENT],
    "end": ("▏", None, False),
}
_WORDS = {"thought": "thinking", "tool_call": "tool call", "silence": "silent"}
_SHORT = {"session/request_permission": "permission"}
_TITLES = ("recs", "turns", "turn p50", "p90", "first word p50", "p90", "tokens/turn",
           "failed calls", "hangs", "crashes", "errors", "warnings")  # fmt: skip
"""The titles of the columns of `NUMBERS`."""
_RANKS = (0, 4, 1, 5, 3, 7, 2, 6, 0, 0, 1, 8)
"""The ranks of the columns of `NUMBERS`. The most important columns have the smallest ranks."""


class StatisticsPage(Page):
    """A page about the statistics of a recording.

    Args:
        screen: the screen that the output has to fit.
        recording: the recording.
    """

    def __init__(self, screen: Screen, recording: Recording) -> None:
        super().__init__(screen)
        self._recording, columns = recording, screen.columns
        self._glyphs = _COLOURED if screen.color else _GLYPHS
        self._wide = columns is None or columns >= WIDE
        self._indent = "  " if columns is None or columns >= _INDENTED else ""
        self._inner = evolve(screen, columns=columns and columns - len(self._indent))

    def show(
        self, statistics: Statistics, turns: Sequence[TurnTime], shown: TurnTime | None
    ) -> None:
        """Prints the statistics.

        Args:
            statistics: the statistics of the recording.
            turns: the turns to list.
            shown: the turn to show step by step; None for no turn.
        """
        recording, why = self._recording, why_no_times(self._recording)
        is_open = recording.is_open(live=statistics.live)
        self._unended = "open" if is_open else "never ended"
        frames = counted(statistics.frames, "frame")
        sums = (self._took(statistics.duration_ns), frames, byte_size(statistics.bytes))
        self.print(piece(f"{recording.name}  {', '.join(filter(None, sums))}", bold=True))
        if facts := " · ".join(token_facts(statistics.tokens)):
            self.print(piece(facts))
        if why:
            self.print(piece(why))
        else:
            self._whole(statistics)
        if statistics.methods:
            self._section("methods", self._methods(statistics.methods))
        if statistics.tool_calls:
            self._section("tool calls", self._calls(statistics.tool_calls))
            left_out = statistics.tool_call_count - len(statistics.tool_calls)
            self._more(left_out, "lighter tool call")
        if turns:
            agent = "agent, call" if statistics.silent_call else "agent"
            columns = self._untimed(turns) if why else self._turns(turns, agent)
            is_total = statistics.tokens is not None and statistics.tokens.counted == "session"
            title = f"turns{', with the tokens of the session so far' * is_total}"
            self._section(title, columns)
            noun = "later turn" if why else "quicker turn"
            self._more(len(statistics.turns) - len(turns), noun)
        if statistics.waterfall is not None and shown is not None:
            state = self._unended if shown.open else shown.stop_reason or "ended"
            title = f"turn {shown.id}: {self._took(shown.duration_ns)}, {state}"
            self._section(title, self._waterfall(statistics.waterfall, is_open))
            left_out = statistics.waterfall.left_out
            self._more(left_out, "more step", f"--turn {shown.id}")
        self.flush()

    def _took(self, ns: int | None) -> str:
        return duration(ns, self._recording.step_ns)

    def _whole(self, statistics: Statistics) -> None:
        """Prints the times before, in and between turns, and then how the time in turns divides."""
        whole, turns = statistics.time, statistics.turns
        if turns or whole.before_turns_ns < statistics.duration_ns:
            after = whole.between_turns_ns
            times = [f"{self._took(whole.before_turns_ns)} before the first prompt"]
            times += [f"{self._took(whole.in_turns_ns)} in turns"]
            times += [f"{self._took(after)} between and after turns"] if after > 0 else []
            self.print(piece(", ".join(times)))
        else:
            self.print(piece("no prompt was sent"))
        spent = spent_in(turns)
        total = sum(spent.values())
        if not total:
            return
        columns = 60 if self._wide else 40
        shown = [part for part in Part if spent[part]]
        words = named_parts(statistics.silent_call)
        self.print()
        where = f"where the time of {counted(len(turns), 'turn')} went ({self._took(total)})"
        self.print(piece(where, bold=True))
        bars = [stacked({self._glyphs[part]: spent[part]}, total, columns) for part in shown]
        rows = [
            Column("part", [cell(words[part], _GLYPHS[part][1]) for part in shown], least=10),
            Column("took", [cell(self._took(spent[part])) for part in shown], right=True),
            Column("share", [cell(share(spent[part], total)) for part in shown], right=True),
            Column("bar", bars, least=1),
        ]
        _, *lines = self._table(rows)  # without titles
        self.lines(lines)

    def _section(self, title: str, columns: list[Column]) -> None:
        self.print()
        self.print(piece(title, bold=True))
        self.lines(self._table(columns))

    def _table(self, columns: list[Column]) -> Iterator[str]:
        return (f"{self._indent}{line}" for line in table(columns, self._inner))

    def _more(self, count: int, noun: str, option: str = "--top") -> None:
        if count > 0:
            self.print(piece(f"  … and {counted(count, noun)}, see {option}", Ink.FAINT))

    def _methods(self, methods: Sequence[MethodStatistics]) -> list[Column]:
        def took(name: str) -> list[Cell]:
            return [cell(self._took(getattr(m, f"{name}_ns"))) for m in methods]

        def count(name: str, ink: int | None = None) -> list[Cell]:
            numbers = [getattr(m, name) for m in methods]
            return [cell(f"{n:,}" if n else "", ink) for n in numbers]

        when = [m.activity or () for m in methods]
        activity = when if self._wide else [*map(halved, when)]
        inks = [STREAM_INKS.get(m.direction) for m in methods]
        names = [m.method if m.method is not None else f"({m.kind})" for m in methods]
        arrows = [ARROWS.get(m.direction, "?") for m in methods]
        return [
            Column("", [cell(a, ink) for a, ink in zip(arrows, inks, strict=True)]),
            Column("method", [cell(n, i) for n, i in zip(names, inks, strict=True)], least=20),
            Column("frames", count("frames"), right=True),
            Column("bytes", [cell(byte_size(m.bytes)) for m in methods], right=True),
            Column("asked", count("requests"), right=True, rank=5),
            Column("errors", count("errors", Ink.TROUBLE), right=True),
            Column("cancelled", count("cancelled"), right=True, rank=3),
            Column("open", count("unanswered"), right=True),
            Column("p50", took("p50"), right=True),
            Column("p90", took("p90"), right=True, rank=2),
            Column("p99", took("p99"), right=True, rank=4),
            Column("max", took("max"), right=True),
            Column("when", [cell(sparkline(a), Ink.FAINT) for a in activity], rank=1),
        ]

    def _calls(self, heaviest: Sequence[CallStatistics]) -> list[Column]:
        calls, known_ns = sorted(heaviest, key=lambda call: call.start_ns), self._recording.known_ns
        took = [self._took(c.duration_ns or None) if c.status in FINAL else "" for c in calls]
        return [
            Column("at", [cell(seconds(known_ns(c.start_ns))) for c in calls], right=True),
            Column("took", [*map(cell, took)], right=True),
            Column("turn", [cell(str(c.turn or "")) for c in calls], right=True),
            Column("frames", [cell(f"{c.frames:,}") for c in calls], right=True, rank=1),
            Column("bytes", [cell(byte_size(c.bytes)) for c in calls], right=True),
            Column("kind", [cell(c.kind or "") for c in calls], least=8),
            Column("status", [self._status(c.status) for c in calls], least=9),
            Column("title", [cell(call_label(c.title, c.tool_call)) for c in calls], least=10),
        ]

    def _turns(self, turns: Sequence[TurnTime], agent: str) -> list[Column]:
        def took(name: str, ink: int | None = None) -> list[Cell]:
            return [cell(self._took(getattr(t, f"{name}_ns") or None), ink) for t in turns]

        longest = max(turn.duration_ns for turn in turns)
        columns = 40 if self._wide else 14
        glyphs = self._glyphs
        bars = [stacked({glyphs[p]: t.part_ns(p) for p in Part}, longest, columns) for t in turns]
        return [
            Column("turn", [cell(str(t.id)) for t in turns], right=True),
            Column("took", [cell(self._took(t.duration_ns)) for t in turns], right=True),
            Column("first", took("first_chunk"), right=True),
            Column(agent, took("agent"), right=True),
            *(
                Column(part, took(part, _GLYPHS[part][1]), right=True)
                for part in (Part.PERSON, Part.TERMINALS, Part.FILES, Part.OTHER)
            ),
            *_tokens(turns),
            Column(f"0 to {self._took(longest)}", bars),
            Column("prompt", [self._prompt(turn) for turn in turns], least=8),
        ]

    def _untimed(self, turns: Sequence[TurnTime]) -> list[Column]:
        """Returns the columns of a table of turns whose times are not known."""
        return [
            Column("turn", [cell(str(t.id)) for t in turns], right=True),
            Column("seq", [cell(f"#{t.prompt_seq}") for t in turns], right=True),
            *_tokens(turns),
            Column("prompt", [self._prompt(turn) for turn in turns], least=8),
        ]

    def _status(self, status: str | None) -> Cell:
        is_lost = status not in FINAL and self._unended != "open"
        is_trouble = is_lost or status in ("failed", "denied")
        return cell(self._unended if is_lost else status or "", Ink.TROUBLE if is_trouble else None)

    def _prompt(self, turn: TurnTime) -> Cell:
        state = self._unended if turn.open else turn.stop_reason
        if state in ("end_turn", None):
            return cell(in_one_line(turn.prompt))
        ink = None if state in ("open", "cancelled") else Ink.TROUBLE
        return [*cell(f"[{state}] ", ink), *cell(in_one_line(turn.prompt))]

    def _waterfall(self, fall: TurnWaterfall, live: bool) -> list[Column]:
        steps, whole = fall.steps, fall.duration_ns
        columns = 20 if not self._wide else 40 if (self.screen.columns or 160) < 160 else 60
        bars = [placed(s.start_ns, s.duration_ns, whole, columns, self._glyph(s)) for s in steps]
        inks = [Ink.TROUBLE if s.failed else self._glyph(s)[1] for s in steps]
        lost = not live and steps[-1].kind != "end"
        details = [cell(_details(s, live, lost), Ink.TROUBLE if s.failed else None) for s in steps]
        return [
            Column("seq", [cell(str(s.seq or "")) for s in steps], right=True),
            Column("at", [cell(_at(s, fall)) for s in steps], right=True, rank=1),
            Column("took", [cell(self._took(s.duration_ns or None)) for s in steps], right=True),
            Column(f"0 to {self._took(whole)}", bars),
            Column("what", [*map(cell, map(_what, steps), inks)], least=18),
            Column("", details, least=16),
        ]

    def _glyph(self, step: WaterfallStep) -> Piece:
        if step.waits_for is not None:
            return self._glyphs[Part(step.waits_for)]
        return _STEPS[step.kind]


def _tokens(turns: Sequence[TurnTime]) -> Iterator[Column]:
    known = [turn.tokens or Tokens() for turn in turns]
    for rank, (title, name) in enumerate({"in": "input", "out": "output"}.items(), 2):
        counts = [getattr(tokens, name) for tokens in known]
        cells = [cell("" if count is None else short(count)) for count in counts]
        yield Column(title, cells, right=True, rank=rank)
    yield Column("cost", [*map(cell, map(cost_words, known))], right=True, rank=1)


def _at(step: WaterfallStep, fall: TurnWaterfall) -> str:
    """Returns the seconds from the prompt to a step, with 6 decimals if the turn took below 1 s."""
    return seconds(step.start_ns) if fall.duration_ns >= 10**9 else f"{step.start_ns / 1e9:.6f}"


def _what(step: WaterfallStep) -> str:
    if step.method is not None:
        return _SHORT.get(step.method, step.method)
    word = _WORDS.get(step.kind, step.kind)
    return f"{word} ×{step.frames}" if step.kind in ("thought", "message") else word


def _details(step: WaterfallStep, live: bool, lost: bool) -> str:
    parts, status, is_call = [call_label(step.title, step.tool_call)], step.status, step.tool_call
    if status and (is_call or status in ("cancelled", "unanswered")):
        is_open = live and status == "unanswered"
        is_lost = lost and is_call and step.open
        parts.append(f"[{'open' if is_open else 'never ended' if is_lost else status}]")
    if step.answer:
        parts.append(f"→ {step.answer}")
    return " ".join(filter(None, parts))


def show_versions(screen: Screen, rows: Sequence[VersionRow]) -> None:
    """Prints a row for each version or project.

    Below the row of a version are the changes from the previous version.

    Args:
        screen: the screen that the output has to fit.
        rows: at least one row.
    """
    by = rows[0].by
    columns = [
        Column(by, [*_names(rows)], least=14, most=36, keeps_end=by == "project"),
        *(Column(title, [*_numbers(rows, name)], rank=rank, right=True)
          for name, title, rank in zip(NUMBERS, _TITLES, _RANKS, strict=True)),
    ]  # fmt: skip
    page = Page(screen)
    page.lines(table(columns, screen))
    page.flush()


def _names(rows: Sequence[VersionRow]) -> Iterator[Cell]:
    for row in rows:
        yield cell(" ".join(filter(None, (row.name, row.version))) or "(unknown)")
        if row.change is not None:
            yield cell("  ±", Ink.FAINT)


def _numbers(rows: Sequence[VersionRow], name: str) -> Iterator[Cell]:
    """Yields the cells of a column: the value of each row, and below it the change, if any."""
    written: Callable[[Any], str] = duration if name.endswith("_ns") else "{:,.0f}".format
    for row in rows:
        value, change = row.numbers[name], (row.change or {}).get(name)
        yield cell("" if value is None else written(value))
        if change is None:
            yield from [cell("")] * (row.change is not None)
        elif (text := written(abs(change))) == written(0):
            yield cell("=", Ink.FAINT)
        else:
            is_worse = change > 0 and name in COUNTS
            ink = Ink.TROUBLE if is_worse else Ink.FAINT
            yield cell(f"{'+' if change > 0 else '-'}{text}", ink)
