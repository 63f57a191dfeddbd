"""``acp-proxy export --format pytest``: a recording becomes a checked-in test.

The test is DIR/test_NAME.py, made from the template `pytest_export.txt`. Its recording is
DIR/recordings/NAME.jsonl, cut down to the requested turns.

Texts of a recording are untrusted. Characters that could have a meaning in Python are removed.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from attrs import evolve, frozen

from acp_proxy.base.limits import EXAMPLES, PHRASE
from acp_proxy.base.plain_files import reason
from acp_proxy.base.wording import plain
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.output_files import write_files
from acp_proxy.explain.preview import preview
from acp_proxy.explain.trim import spans, trim
from acp_proxy.recording.filters import EVERYTHING, Filter, parse
from acp_proxy.recording.text_form.text_header import write_header
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.queries.exchanges import TurnRow, exchanges_by_own_session
from acp_proxy.store.queries.exchanges import turns as read_turns
from acp_proxy.store.reader import RecordingReader

_RANGE = re.compile(r"(\d{1,9})?(\.\.)?(\d{1,9})?")
_TEMPLATE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")


@frozen
class Turns:
    """A range of turns. `first` or `last` is None if the range is open at this end."""

    first: int | None = None
    last: int | None = None

    def __contains__(self, turn: int) -> bool:
        return (self.first or 1) <= turn and (self.last is None or turn <= self.last)

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first or ''}..{self.last or ''}"


def turns_type(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Turns | None:
    """A click callback that reads a range of turns: ``2``, ``2..4``, ``2..`` or ``..4``."""
    if value is None:
        return None
    match = _RANGE.fullmatch(value)
    if match is None or not (match[1] or match[3]) or (match[3] and not match[2]):
        raise click.BadParameter(f"{value!r} is not a range of turns: expected 2, 2..4, 2.. or ..4")
    first, last = (int(n) if n else None for n in (match[1], match[3]))
    if not match[2]:
        last = first
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"{value!r} is not a range: expected the smaller number first")
    return Turns(first, last)


def export_test(
    reader: RecordingReader, directory: Path, turns: Turns | None, *, force: bool
) -> list[Path]:
    """Writes a test and its recording; returns the two files.

    Args:
        reader: the recording.
        directory: the directory of the test; created if it does not exist.
        turns: the turns to test; None for the whole recording.
        force: whether to replace existing files.

    Raises:
        Refusal: the turns do not exist or have no requests, the recorder still runs, the turns do
            not replay, or a file cannot be written.
    """
    if reader.live:
        raise Refusal(f"{reader.path} is still being recorded; a test needs the recording's end")
    if next(reader.heads(parse("dir:to-agent kind:request")), None) is None:
        raise Refusal(f"the client of {reader.path} sends no request, so there is nothing to test")
    chosen = _chosen(reader, turns)
    lines = trimmed(reader, turns)
    _prove(lines, reader, "" if turns is None else f"turn {turns} of ")
    name, source = _source(reader, chosen, partly=turns is not None)
    test, recording = directory / f"test_{name}.py", directory / "recordings" / f"{name}.jsonl"
    try:
        recording.parent.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise Refusal(f"cannot make {recording.parent}: {reason(e)}") from None
    write_files({recording: lines, test: [source.encode()]}, force=force)
    return [test, recording]


def trimmed(reader: RecordingReader, turns: Turns | None) -> list[bytes]:
    """Returns the text form of a recording, cut down to the messages that some turns need.

    The state of the new recording is always `complete`.

    Args:
        reader: the recording.
        turns: the turns to keep; None for all.

    Raises:
        Refusal: the turns do not exist.
    """
    return list(_lines(reader, None if turns is None else _chosen(reader, turns)))


def _chosen(reader: RecordingReader, turns: Turns | None) -> list[TurnRow]:
    every = read_turns(reader)
    chosen = [turn for turn in every if turns is None or turn.id in turns]
    if turns is not None and not chosen:
        known = f"it has {', '.join(spans(t.id for t in every))}" if every else "it has none"
        raise Refusal(f"no turn {turns} in {reader.path}: {known}")
    return chosen


def _lines(reader: RecordingReader, turns: list[TurnRow] | None) -> Iterator[bytes]:
    if turns is not None:
        numbers = ", ".join(spans(turn.id for turn in turns))
        yield f"# Not the whole recording, only what turn {numbers} needs.\n".encode()
    yield write_header(evolve(reader.recording, state="complete"))
    chosen = EVERYTHING if turns is None else _needed(reader, turns)
    lines = write_text_form(reader, chosen)
    next(lines)
    yield from lines


def _needed(reader: RecordingReader, turns: list[TurnRow]) -> Filter:
    kept = trim(reader.heads(), exchanges_by_own_session(reader), turns)
    last, end = max(kept, default=0), 0
    for head in reader.heads():
        end = head.seq
    is_cut = end > last

    def is_needed(row: dict[str, Any]) -> bool:
        """Whether to keep a row of the recording."""
        return row["seq"] in kept if "raw" in row else not is_cut or row["seq"] < last

    return Filter(EVERYTHING.condition, is_needed)


def _prove(lines: list[bytes], reader: RecordingReader, what: str) -> None:
    """Replays the lines of a recording. Raises Refusal if the recorded client diverges."""
    from acp_proxy.playback.replay.replay_report import text
    from acp_proxy.testing.rehearsal import rehearse

    with RecordingReader(reader.path, iter(lines), unredacted=True) as trimmed:
        result = rehearse(trimmed)
    if result.verdict != "clean":
        why = next((line for line in text(result)[1:] if line), result.verdict)
        raise Refusal(f"{what}{reader.path} does not replay, so no test was written: {plain(why)}")


def _source(reader: RecordingReader, turns: list[TurnRow], *, partly: bool) -> tuple[str, str]:
    recording = reader.recording
    numbers = list(spans(turn.id for turn in turns))
    name = name_of_test(recording.name)
    what = "the conversation"
    if partly:
        what = f"turn {', '.join(numbers)}"
        name = name_of_test("_".join([name[:40], "turn", *numbers]))
    imported = "" if recording.known_start else ", when it was imported"
    return name, source_of_test(
        name,
        client=recording.client_name or "a client",
        agent=recording.agent_name or "an agent",
        date=f"{recording.started_at[:10]}{imported}",
        what=what,
        prompts=[_prompt(reader, turn) for turn in turns[:EXAMPLES]],
    )


def _prompt(reader: RecordingReader, turn: TurnRow) -> str:
    row = next(reader.frames(parse(f"seq:{turn.prompt_seq}")))
    return preview(bytes(row["raw"]), row["kind"], row["method"])


def source_of_test(
    name: str, *, client: str, agent: str, date: str, what: str, prompts: list[str]
) -> str:
    """Returns the source of the test.

    Args:
        name: the name of the test, from `name_of_test`.
        client: the name of the recorded client.
        agent: the name of the recorded agent.
        date: the date of the recording.
        what: the part of the conversation that is replayed, such as ``turn 2``.
        prompts: the texts of the user's prompts.
    """
    title = f"{_harmless(client)} and {_harmless(agent)}, {what}, on {_harmless(date)}."
    asked = [f"    - {_harmless(prompt)}" for prompt in prompts] or ["    - nothing"]
    return _TEMPLATE.format(title=title, name=name, what=what, prompts="\n".join(asked))


def name_of_test(name: str) -> str:
    """Converts a name to one that is valid for a test, a Python file and a recording."""
    word = re.sub(r"[^a-z0-9]+", "_", name.removeprefix("test_").lower()).strip("_")[:60]
    return word.rstrip("_") or "recording"


def _harmless(text: str) -> str:
    """Converts a text to one line that cannot end a docstring."""
    line = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(line.replace("\\", "/").replace('"', "'").split())
    return line if len(line) <= PHRASE else f"{line[: PHRASE - 1]}…"
