"""No command claims a fact that the source of an imported recording does not have."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from acp_proxy import api
from acp_proxy.check.catalogue import chosen_rules, looked_at
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.opening import NEEDED, require
from acp_proxy.playback.shared.playback_options import Pacing
from acp_proxy.protocol.dialects import V1
from acp_proxy.recording.recording import LOST, Origin
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.rehearsal import rehearse
from tests.support.command_line import commands_with, complaint, run, words_for
from tests.support.imported_recordings import log_of, text_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OTHERS = {"diff", "report", "export", "note", "setup", "doctor", "try", "web"}
"""Commands with tests of their own in this module, and those that show nothing of a recording."""
COMMANDS: dict[str, list[str | Path]] = {
    **{name: words_for(name, "REC", "nail")
       for name in commands_with("--unredacted") if name not in _OTHERS},
    "list": ["list", "DIR"],
    "frame": ["log", "REC", "--seq", "7"],
    "clock": ["log", "REC", "--time", "clock"],
    "delta": ["log", "REC", "--time", "delta"],
    "mermaid": ["export", "REC", "--format", "mermaid"],
}  # fmt: skip
"""Each command that shows a recording, and some of its options; REC and DIR become paths."""
COMMANDS |= {f"{name}.json": [*COMMANDS[name], "--json"]
             for name in commands_with("--json") if name in COMMANDS}  # fmt: skip
TEXTS = [name for name in COMMANDS if "json" not in name and name != "list"]
VALUES = [name for name in COMMANDS if "json" in name]

DURATION = r"\d (ns|µs|ms|s|min|h)\b"
END = (
    r"exit(ed)? (with )?3|by itself|never (answered|ended)|(?<!wait\.)unanswered|not answered|died"
    r"|killed"
)
ALL_RULES = f"{len(looked_at(chosen_rules((), ()), V1))} rules"
CLAIMS: dict[str, dict[str, str]] = {
    "times": {
        "list": r"107\.0 s", "show": DURATION, "log": r"7\.308", "frame": "after the start",
        "clock": r":06:\d\d\.\d{3}", "delta": r"0\.300000", "stats": rf"{DURATION}|p50|took|▃",
        "transcript": rf"{DURATION}|\d s\b|started", "audit": rf"{DURATION}|06:47",
        "search": r"86\.342", "mermaid": rf"{DURATION}|silence",
    },
    "ending": {
        "list": r"exit|  3  |complete", "show": r"never answered|not answered|exit|\nended",
        "log": END, "transcript": f"{END}|✗", "audit": "unanswered",
        "check": r"agent\.ended",
        "mermaid": f"{END}|-x",
    },
    "middle": {
        "show": "not answered|late|sent nothing for", "transcript": "never|not answered",
        "audit": "not asked",
        "stats": "where|streaming", "check": r"turn\.update-late",
        "mermaid": "silence|never",
    },
    "start": {"check": ALL_RULES, "audit": "not asked"},
    "bytes": {
        "log": r"\d B\b", "frame": "newline|bytes", "stats": r"\d B\b|kB", "check": ALL_RULES,
    },
    "stderr": {"show": r"1 stderr|stderr  \(", "log": "out of nails", "check": ALL_RULES},
    "command": {"show": "roofer|directory  ", "audit": "roofer", "transcript": "roofer"},
    "date": {
        "list": "  2025", "show": "started  +2025", "frame": "2025", "clock": ":06:",
        "audit": "06:47", "transcript": "started",
    },
    "parts": {}, "values": {}, "zone": {},
}  # fmt: skip
"""By loss and command what matches the output for a recording of ours, and for such an import does
not."""
TIMES = {"t_ns", "t_first_ns", "at", "activity"}
TIMELESS = {"check.json", "list.json"}
"""Values without any time."""
SIZES = {"size", "bytes", "newline"}


@pytest.fixture(scope="module")
def output_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Origin | None, str], str]:
    """Returns what a command prints about a conversation with an origin; each runs only once."""
    directory = tmp_path_factory.mktemp("imported")
    known: dict[tuple[Origin | None, str], str] = {}

    def output(origin: Origin | None, name: str) -> str:
        folder = directory / str(hash(origin))
        if not folder.exists():
            folder.mkdir()
            text_form(folder / "roof.jsonl", origin)
        if (origin, name) not in known:
            places: dict[str, str | Path] = {"REC": folder / "roof.jsonl", "DIR": folder}
            result = run(*(places.get(str(word), word) for word in COMMANDS[name]))
            assert result.exit_code in (0, 1), result.output
            lines = result.stdout.replace(str(folder), "FOLDER").splitlines()
            known[origin, name] = "\n".join(line for line in lines if "not checked" not in line)
        return known[origin, name]

    return output


EVERYTHING = log_of("zed", *LOST)


def test_every_loss_has_claims() -> None:
    """The test table `CLAIMS` has a row for each fact in `LOST`, which an imported log may lack."""
    assert set(CLAIMS) == set(LOST)


@pytest.mark.parametrize("lost", [lost for lost in CLAIMS if CLAIMS[lost]])
def test_what_was_lost_is_not_claimed(
    output_of: Callable[[Origin | None, str], str], lost: Any
) -> None:
    """If an imported log lacks some data, no command prints a statement that needs these data."""
    for name, pattern in CLAIMS[lost].items():
        assert re.search(pattern, output_of(None, name)), name
        match = re.search(pattern, output_of(log_of("zed", lost), name))
        assert match is None, f"{name}: {match[0]!r} in {output_of(log_of('zed', lost), name)}"


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_claimed_if_everything_was_lost(
    output_of: Callable[[Origin | None, str], str], name: str
) -> None:
    """If an imported log has only messages, no command prints times, sizes, silences or an end."""
    text = output_of(EVERYTHING, name)
    assert text
    match = re.search(rf"{DURATION}|\d\.\d{{3}}|\d k?B\b|{END}|silen|crash|recorded", text)
    assert match is None, f"{match[0]!r} in {text}"


@pytest.mark.parametrize("name", VALUES)
def test_members_that_are_not_known_are_null(
    output_of: Callable[[Origin | None, str], str], name: str
) -> None:
    """If an imported log contains only messages, durations in the output of `--json` are null."""
    lost = TIMES if name == "list.json" else TIMES | SIZES  # its size is that of the file
    for line in output_of(EVERYTHING, name).splitlines():
        for member, value in members(json.loads(line)):
            if member in lost or member.endswith("_ns"):
                assert value is None, member
    lines = output_of(None, name).splitlines()
    ours = [item for line in lines for item in members(json.loads(line))]
    known = {member for member, value in ours if value is not None}
    assert name in TIMELESS or any(member.endswith("_ns") for member in known)


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the members of all JSON objects in a value, except those within messages."""
    if isinstance(value, list):
        for item in value:
            yield from members(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            if name != "message":
                yield from members(item)


def test_inferred_times_are_shown_and_not_subtracted(
    output_of: Callable[[Origin | None, str], str],
) -> None:
    """If an import had to guess times, `log` prints them, but no command prints a duration."""
    origin = log_of("lines", inferred_times=3, inferred_directions=2, skipped=1)
    assert "7.308" in output_of(origin, "log")
    assert "3 inferred times" in output_of(origin, "show")
    assert "no durations: 3 messages in a plain log have no usable time" in output_of(
        origin, "stats"
    )
    for name in TEXTS:
        assert not re.search(rf"[^\d]{DURATION}| (ms|µs)\b", output_of(origin, name)), name


def test_the_head_names_the_source(output_of: Callable[[Origin | None, str], str]) -> None:
    """`show` names the tool that wrote an imported log."""
    origin = log_of("jetbrains", "zone", "ending", resolution_ns=1_000_000, skipped=2)
    shown = output_of(origin, "show")
    assert "imported    from jetbrains, times in steps of 1 ms, 2 lines left out" in shown
    assert "the time zone of its times" in shown
    assert "started     2025-" in shown
    assert re.search(r"\ntook        \d", output_of(log_of("lines", "date"), "show"))
    assert output_of(origin, "list").count("imported") == 1


@pytest.mark.parametrize(
    "words",
    [
        *(COMMANDS[name] for name in (
            "list", "show", "frame", "clock", "transcript", "audit")),
        ("inspect", "diff", "REC", "REC"),
        ("inspect", "report", "REC", "-o", "PAGE"),
        ("inspect", "report", "REC", "--against", "REC", "-o", "PAGE"),
    ],
)  # fmt: skip
def test_times_without_a_zone_stay_those_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """If an imported log has no time zone, commands print its times unchanged."""
    values = []
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "<-05>5")
        time.tzset()
        for number, lost in enumerate(("zone", "stderr")):
            folder = tmp_path / str(number)
            folder.mkdir()
            text_form(folder / "roof.jsonl", log_of("jetbrains", lost))
            page = folder / "page.html"
            places = {"REC": folder / "roof.jsonl", "DIR": folder, "PAGE": page}
            result = run(*(places.get(word, word) for word in words))
            assert result.exit_code == 0, result.output
            text = page.read_text(encoding="utf-8") if page.exists() else result.stdout
            values.append({*re.findall(r"\b(?:10|15):06\S*(?: [+-]\d{4}| UTC)?", text)})
    time.tzset()
    log, ours = values
    assert log
    assert not {item for item in log if not item.startswith("15:") or re.search("UTC|[+-]", item)}
    assert ours
    assert not ours & log


@pytest.mark.parametrize(
    ("step_ns", "said", "unsaid"),
    [(10**9, "<1 s", r"\d (ms|µs)\b|\d\.\d s\b"), (10**7, "<10 ms", r"\b\d (ms|µs)\b")],
)
def test_no_duration_is_finer_than_the_times(
    output_of: Callable[[Origin | None, str], str],
    tmp_path: Path,
    step_ns: int,
    said: str,
    unsaid: str,
) -> None:
    """If an imported log has times in whole seconds, commands print 5 ms as "<1 s"."""
    origin = log_of("jetbrains", resolution_ns=step_ns)
    for name in TEXTS:
        assert re.search(unsaid, output_of(origin, name)) is None, name
    for name in ("log", "stats"):
        assert said in output_of(origin, name)
    theirs = text_form(tmp_path / "theirs.jsonl", origin)
    text = theirs.read_text(encoding="utf-8")
    theirs.write_text(text.replace('"end_turn"', '"max_tokens"'), encoding="utf-8")
    lines = run("inspect", "diff", text_form(tmp_path / "ours.jsonl"), theirs).stdout.splitlines()
    (line,) = (item for item in lines if "→  session/new" in item)
    assert (line.count("5 ms"), line.count(said)) == (2, 2)


def test_a_comparison_leaves_out_what_one_of_two_does_not_have(tmp_path: Path) -> None:
    """If A or B is an imported log without times and end, `diff` compares no times or endings."""
    ours = text_form(tmp_path / "ours.jsonl")
    crash = tmp_path / "crash.jsonl"
    text = ours.read_text(encoding="utf-8").replace('"exit_code": 3', '"exit_code": 4')
    crash.write_text(text, encoding="utf-8")
    result = run("inspect", "diff", ours, crash)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "4.0 s" in result.stdout
    assert "1 difference: 1 in the ending" in result.stdout
    theirs = text_form(tmp_path / "theirs.jsonl", log_of("zed", "times", "ending", "bytes"))
    for pair in ((ours, theirs), (theirs, ours)):
        result = run("inspect", "diff", *pair)
        assert result.exit_code == 0, result.output
        assert re.search(f"{DURATION}|exit", result.stdout) is None
        assert "theirs.jsonl was imported from zed: latencies and endings are not" in result.stderr
        exact = run("inspect", "diff", "--exact", *pair)
        assert exact.exit_code == 2
        assert "how messages were spelled is not known" in exact.stderr
    fewer = text_form(tmp_path / "fewer.jsonl", log_of("zed", "times", "middle"))
    page = run("inspect", "report", fewer, "--against", theirs, "-o", "-").stdout
    assert "only in B" in page
    assert re.search(rf"\bat {DURATION}|took {DURATION}", page) is None


def test_a_recorded_pace_that_nobody_knows_is_not_played(tmp_path: Path) -> None:
    """`verify` refuses to play an imported log without times at the recorded pace."""
    path = text_form(tmp_path / "roof.jsonl", log_of("zed", "times"))
    for timing in ("recorded", "x2"):
        words = complaint("verify", path, "--timing", timing, "--", "true")
        assert words.startswith("expected --timing instant; no times: the recording was imported")
    with RecordingReader(path) as reader:
        with pytest.raises(Refusal):
            require("--timing", Pacing(1.0).factor, reader)
        require("--timing", Pacing().factor, reader)


def test_an_ending_that_was_lost_is_not_played(tmp_path: Path) -> None:
    """If an imported log lacks the agent's end, `replay` runs until the client leaves."""
    for origin in (None, log_of("zed", "ending")):
        path = text_form(tmp_path / "roof.jsonl", origin)
        with RecordingReader(path) as reader:
            assert (RecordedSteps(reader).agent_left_at is None) == (origin is not None)
            assert rehearse(reader).verdict == "clean"


def test_copies_have_the_origin_of_their_recording(tmp_path: Path) -> None:
    """A copy of an imported log by `export` or `bundle` still says which tool wrote the log."""
    origin = log_of("zed", "times", "ending", skipped=2)
    path = text_form(tmp_path / "roof.jsonl", origin)
    run("inspect", "export", path, "-o", tmp_path / "masked.db", "--level", "private")
    run("inspect", "bundle", path, "-o", tmp_path / "roof.zip")
    run("inspect", "export", path, "--format", "pytest", "--turn", "1", "-o", tmp_path / "tests")
    with ZipFile(tmp_path / "roof.zip") as bundle:
        (tmp_path / "bundled.jsonl").write_bytes(bundle.read("recording.jsonl"))
        assert b"imported     from zed" in bundle.read("versions.txt")
        assert re.search(f"{DURATION}|{END}".encode(), bundle.read("show.txt")) is None
    source = (tmp_path / "tests/test_roof_turn_1.py").read_text(encoding="utf-8")
    assert "on 2025-06-15, when it was imported." in source
    for copy in ("masked.db", "bundled.jsonl", "tests/recordings/roof_turn_1.jsonl"):
        with api.open(tmp_path / copy) as opened:
            assert opened.facts.origin == origin
            assert {(frame.seconds, frame.time, frame.latency) for frame in opened.frames()} == {
                (None, None, None)
            }
            assert all(frame.seconds is None for frame in opened.messages())


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "--exact": (("inspect", "diff", "REC", "REC", "--exact"), "how messages were spelled"),
    "--timing": (("verify", "REC", "--timing", "x2", "--", "true"), "expected --timing instant"),
    "--turn": (("inspect", "stats", "REC", "--turn", "1"), "the steps of a turn need times"),
}
"""A use of each option that needs something, and how it is refused."""


@pytest.mark.parametrize("option", NEEDED)
def test_an_option_is_refused_if_what_it_needs_was_lost(tmp_path: Path, option: str) -> None:
    """An option such as `stats --turn` is refused for an imported log that lacks what it needs."""
    words, expected = REFUSED[option]
    for lost in {"times" if fact == "durations" else fact for fact in NEEDED[option][0]}:
        path = text_form(tmp_path / f"{lost}.jsonl", log_of("zed", lost))
        assert expected in complaint(*(path if word == "REC" else word for word in words))
