"""``diff`` reports differences for people, programs and test runners."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from attrs import asdict, evolve

from acp_proxy.cli.diff.diff_reports import (
    DiffCases,
    DiffJson,
    quoted,
    report_diff,
)
from acp_proxy.cli.screens.junit import suite
from acp_proxy.cli.screens.styled_text import columns_of
from acp_proxy.diff.diff_result import (
    Change,
    Counts,
    Diff,
    DiffEntry,
    Expect,
    Field,
    differences,
    verdict,
)
from tests.support.cases import each_case
from tests.support.command_line import complaint, run
from tests.support.example_comparison import (
    ENTRIES,
    EVIL,
    GOLDEN,
    differing,
    equal,
    printed,
    screen,
    screens,
)
from tests.support.log_writer import (
    LogWriter,
    handshake,
    record_conversation,
    request,
    result,
    text,
    update,
)
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Makes the time zone of the tests UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def plain(shown: str) -> str:
    """Returns text without our colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def record(
    path: Path, session: str = "s-1", said: str = "Hi", stop: str = "end_turn", code: int = 0
) -> Path:
    """Records a session with one turn."""
    with LogWriter(path) as recorder:
        handshake(recorder)  # 2, 3
        recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))  # 4
        recorder.to_client(result(1, sessionId=session))  # 5
        recorder.to_agent(request(2, "session/prompt", sessionId=session, prompt=[text("go")]))  # 6
        recorder.to_client(
            update(session, "tool_call", toolCallId="c-1", rawInput={"said": said}),  # 7
            result(2, stopReason=stop),  # 8
        )
        recorder.end(code=code)
        recorder.close()
        recorder.finish()
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Returns two recordings with different texts and stop reasons."""
    a = record(tmp_path / "a.db")
    return a, record(tmp_path / "b.db", session="s-2", said="Hello", stop="refusal")


def values(*arguments: str | Path, code: int = 1) -> list[dict[str, Any]]:
    """Returns the printed JSON values."""
    result = run("inspect", "diff", "--json", *arguments)
    assert result.exit_code == code
    assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


# The screen


def test_screens_match_the_golden_files() -> None:
    """The output of `diff` on terminals and in pipes equals the golden files."""
    for name, content in screens():
        assert content == (GOLDEN / name).read_text(encoding="utf-8"), name


@each_case("columns", [1, 39, 40, 80, 110, 400])
@each_case("color", [False, True])
def test_no_line_is_wider_than_the_terminal(columns: int, color: bool) -> None:
    """No line of `diff` is wider than the terminal."""
    for line in screen(differing(), columns, color=color).splitlines():
        assert columns_of(plain(line)) <= columns


def test_colours_take_the_place_of_brackets() -> None:
    """Without colours, `diff` puts the changed words of a text into brackets."""
    bare, colored = (screen(differing(), None, color=color) for color in (False, True))
    assert "[-41-]{+42+} passed" in bare
    assert "\x1b[38;5;196m41\x1b[0m\x1b[1;38;5;28m42\x1b[0m passed" in colored
    bare, shown = (re.sub(r"\[-|-\]|\{\+|\+\}", "", text) for text in (bare, plain(colored)))
    assert bare == shown


def test_changed_whitespace_is_visible() -> None:
    """`diff` puts changed whitespace of a text into brackets, as in `[- -]`."""
    words = "one two three four five six seven eight nine ten eleven twelve thirteen"
    field = Field("/params/text", f"{words} {words}", f"{words}  {words}")
    result = differing([evolve(ENTRIES[0], fields=(field,))])
    assert "[- -]" in plain(screen(result, 80, color=True))


def test_texts_with_little_in_common_are_shown_apart() -> None:
    """If two texts have little in common, `diff` shows both as a whole, one below the other."""
    field = Field(
        "/params/text", "Done.\n", "The edit was rejected; greeting.txt is as it was " * 2
    )
    shown = screen(differing([evolve(ENTRIES[0], fields=(field,))]), 80)
    assert '\n        - "Done.\\n"\n        + "The edit was rejected; ' in shown


def test_recorded_text_does_not_control_the_terminal() -> None:
    """Recorded text that `diff` prints cannot control the terminal."""
    for color in (False, True):
        shown = plain(screen(differing(), 80, color=color))
        assert shown.replace("\n", "").isprintable()
        assert not [line for line in shown.splitlines() if line.startswith("forged")]


def test_equal_recordings_need_few_lines() -> None:
    """If two recordings are equal, `diff` prints eight lines, and the last line says so."""
    shown = screen(equal(), None)
    assert len(shown.splitlines()) == 8
    assert "only in" not in shown
    assert shown.endswith("\n\nequal: 141 frames and 138 frames say the same\n")
    assert verdict(equal(Expect.OUTCOME)).startswith("equal in outcome: ")
    assert verdict(equal(Expect.STRUCTURE)).startswith("equal in structure: ")


def test_many_differences_are_counted_first() -> None:
    """If there are many differences, `diff` prints their number above the list."""
    few, many = differing(), differing(ENTRIES * 200)
    assert screen(few, None).count(verdict(few)) == 1
    assert screen(many, None).count(verdict(many)) == 2
    assert verdict(many) == (
        "1,405 differences: 800 changed, 200 only in A, 200 only in B, 200 moved,"
        " 3 in the handshake, 2 in the ending"
    )
    assert differences(Counts(moved=1)) == "1 difference: 1 moved"


def test_recordings_of_one_name_are_distinguished_by_path() -> None:
    """If two recordings have the same name, `diff` prints their paths."""
    result = equal()
    result = evolve(result, b=evolve(result.b, name=result.a.name))
    first, second = screen(result, None).splitlines()[:2]
    assert "/srv/recordings/monday.db" in first
    assert "/srv/recordings/friday.db" in second


def test_the_ending_is_shown_in_words() -> None:
    """`diff` prints the name of the signal that ended an agent."""

    def ending(*fields: Field) -> list[str]:
        shown = screen(evolve(differing(()), ending=fields), None)
        return shown.partition("\nending\n")[2].partition("\n\n")[0].splitlines()

    assert ending(Field("/exit_code", 0, 1)) == ["~ exit code  0 → 1"]
    assert ending(Field("/exit_code", 0, None), Field("/exit_signal", None, 9)) == [
        "- exit code  0",
        "+ exit signal  SIGKILL",
    ]
    assert ending(Field("/exit_signal", 15, 999)) == ["~ exit signal  SIGTERM → 999"]


def test_a_long_value_is_cut() -> None:
    """`diff` cuts a long value, and prints its length or how many changed places it left out."""
    fields = (
        Field("/params/a", ["x" * 10_000], only="a"),
        Field("/params/b", "y" * 10_000 + " end", "end"),
        Field("/params/c", "\n".join(f"{'same ' * 30}{n}" for n in range(100)),
              "\n".join(f"{'same ' * 30}new" for n in range(100))),
    )  # fmt: skip
    shown = screen(differing([evolve(ENTRIES[0], fields=fields)]), 80)
    assert "xxx… (10,006 characters)\n" in shown
    assert re.search(r"y… \(10,001\s+characters\)-\]end", shown)
    assert "        … and 80 more places\n" in shown
    assert len(shown.splitlines()) < 120


def test_deeply_nested_values_are_not_shown() -> None:
    """If a value is nested too deeply, `diff` prints a note in place of the value."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    entry = evolve(ENTRIES[0], fields=(Field("/params/a", deep, only="a"),))
    assert "/params/a  (nested too deeply)\n" in screen(differing([entry]), 80)
    while deep:  # else taking it apart goes as deep
        deep = deep.pop()


# For programs


def test_json_has_a_line_for_each_part() -> None:
    """`diff --json` prints a JSON line for the comparison, each difference, and each latency."""
    fields = (Field("/params/a", float("nan"), "\ud800"), Field("/params/b", 2**70, 1.5))
    result = differing([*ENTRIES, evolve(ENTRIES[0], fields=fields)])
    lines = [json.loads(line) for line in printed(result, DiffJson).splitlines()]
    kinds = ["diff", *["handshake"] * 3, *["entry"] * 8, *["ending"] * 2, *["latency"] * 5]
    assert [line["type"] for line in lines] == kinds
    assert lines[0]["counts"] | {"total": 13} == lines[0]["counts"]
    assert lines[0]["aliases"]["session:2"] == [EVIL, None]
    assert lines[8]["change"] == "changed"
    assert lines[8]["fields"][0] == {
        "pointer": "/params/update/status",
        "a": "completed",
        "b": "failed",
        "only": None,
    }
    assert [(place["a"], place["b"]) for place in lines[11]["fields"]] == [
        (None, "\ud800"),
        (2**70, 1.5),
    ]


def junit(result: Diff) -> str:
    """Returns the report of a comparison as JUnit XML."""
    cases = DiffCases()
    report_diff(result, [cases])
    return suite("a suite", cases.cases)


def test_junit_has_a_case_for_each_lane() -> None:
    """The JUnit report of `diff` has a case for each session."""
    report = ET.fromstring(junit(differing()))
    failures = {case.get("name"): case.find("failure") for case in report}
    assert [*failures] == ["handshake", "connection", "session:1", "session:2", "ending"]
    assert (report.attrib["tests"], report.attrib["failures"]) == ("5", "5")
    failure = failures["session:1"]
    assert failure is not None
    assert failure.get("message") == ("5 differences: 2 changed, 1 only in A, 1 only in B, 1 moved")
    assert failure.text is not None
    assert failure.text.splitlines()[0] == "+        #9  → session/set_mode  code"
    assert "[-41-]{+42+} passed" in failure.text


def test_a_junit_failure_has_at_most_500_lines() -> None:
    """A failed JUnit case of `diff` has at most 500 lines."""
    entry = DiffEntry(Change.ONLY_A, "connection", "to-agent", "x", 5, a_frames=1)
    lines = junit(differing([entry] * 10_000)).splitlines()
    assert len(lines) < 520
    assert any(line.startswith("… and 9,500 more") for line in lines)


def test_a_junit_failure_begins_with_the_first_difference() -> None:
    """A failed JUnit case of `diff` begins with the first difference."""
    fields = tuple(Field(f"/params/{n}", 1, 2) for n in range(1000))
    long = DiffEntry(Change.CHANGED, "connection", "to-agent", "long", 5, 5, 1, 1, fields)
    short = DiffEntry(Change.ONLY_A, "connection", "to-agent", "short", 6, a_frames=1)
    report = ET.fromstring(junit(differing([long, short])))
    (failure,) = report.iterfind("testcase[@name='connection']/failure")
    first, *_, last = (failure.text or "").splitlines()
    assert first.endswith("long")
    assert last == "… and 2 more"


# The command


def test_two_runs_of_one_conversation_are_equal(tmp_path: Path) -> None:
    """`diff` finds no difference between two runs of one conversation with different ids."""
    a = record(tmp_path / "a.db")
    result = run("inspect", "diff", a, record(tmp_path / "b.db", session="s-2"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("\n\nequal: 7 frames and 7 frames say the same\n")


def test_differences_are_printed(pair: tuple[Path, Path]) -> None:
    """`diff` prints the differences between two recordings, and exits with 1."""
    result = run("inspect", "diff", *pair)
    assert result.exit_code == 1
    assert '      /result/stopReason  "end_turn" → "refusal"\n' in result.stdout
    assert '      /params/update/rawInput/said  "Hi" → "Hello"\n' in result.stdout
    assert result.stdout.endswith("\n\n2 differences: 2 changed\n")
    assert result.stderr == (
        "acp-proxy: to ignore these differences: --ignore /params/update/rawInput/said"
        " --ignore /result/stopReason;"
        f" `acp-proxy diff --learn {pair[0]} {pair[1]}` proposes rules\n"
    )
    rules = ["--ignore", "/params/update/rawInput/said", "--ignore", "/result/stopReason"]
    assert run("inspect", "diff", *pair, *rules).exit_code == 0
    assert run("inspect", "diff", *pair, *rules[:2]).stdout.endswith(
        "\n\n1 difference: 1 changed\n"
    )
    assert run("inspect", "diff", *pair, *rules[2:], "--expect", "structure").exit_code == 0


def test_exact_compares_bytes(tmp_path: Path) -> None:
    """`diff --exact` compares bytes, and so reports different session ids."""
    a, b = record(tmp_path / "a.db"), record(tmp_path / "b.db", session="s-2")
    result = run("inspect", "diff", a, b, "--exact")
    assert result.exit_code == 1
    assert '"s-1" → "s-2"' in result.stdout
    assert result.stderr == ""


def test_a_filter_restricts_what_is_compared(pair: tuple[Path, Path]) -> None:
    """`diff` with a filter compares only matching frames."""
    assert run("inspect", "diff", *pair, "dir:to-agent").exit_code == 0
    result = run("inspect", "diff", *pair, "dir:to-client", "kind:notification")
    assert result.exit_code == 1
    assert result.stdout.endswith("\n\n1 difference: 1 changed\n")


def test_how_the_agent_ended_counts_without_a_filter(tmp_path: Path) -> None:
    """`diff` without a filter also compares how the agents ended."""
    a, b = record(tmp_path / "a.db"), record(tmp_path / "b.db", code=7)
    assert "\n\nending\n~ exit code  0 → 7\n" in run("inspect", "diff", a, b).stdout
    assert run("inspect", "diff", a, b, "seq:1..99").exit_code == 0


def test_a_filter_without_matches_is_reported(pair: tuple[Path, Path]) -> None:
    """If a filter of `diff` matches no frame, `diff` says so on stderr."""
    result = run("inspect", "diff", *pair, "method:nothing")
    assert result.exit_code == 0
    assert result.stderr == "acp-proxy: no frame matches FILTER\n"


def test_an_ending_that_one_recording_lacks_is_no_difference(tmp_path: Path) -> None:
    """If only one recording contains an exit code, `diff` reports no difference in exit codes."""
    recorded = record_conversation(tmp_path / "a.db")
    header, *lines = run("inspect", "export", recorded).stdout.splitlines()
    silent, failed = json.loads(header), json.loads(header)
    assert silent["recording"].pop("exit_code") == 3
    failed["recording"]["exit_code"] = 1
    codes = []
    for name, said in (("silent.jsonl", silent), ("failed.jsonl", failed)):
        content = "\n".join([json.dumps(said), *lines, ""])
        (tmp_path / name).write_text(content, encoding="utf-8")
        codes.append(run("inspect", "diff", recorded, tmp_path / name).exit_code)
    assert codes == [0, 1]


def test_a_recording_that_ends_early_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    """`diff` compares an incomplete recording up to its end and prints a warning."""
    a = record_conversation(tmp_path / "a.db")
    with LogWriter(tmp_path / "b.db") as recorder:
        handshake(recorder)
        live = run("inspect", "diff", a, recorder.path)
    dead = run("inspect", "diff", recorder.path, recorder.path)
    assert (live.exit_code, dead.exit_code) == (1, 0)
    assert live.stderr.startswith(
        f"acp-proxy: {recorder.path} is still being recorded; later frames are not compared\n"
    )
    note = f"acp-proxy: {recorder.path} is incomplete; only the recorded part is compared\n"
    assert dead.stderr == note


def test_junit_is_written_besides(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """`diff --junit` writes a report, and prints the same text as without the option."""
    bare = run("inspect", "diff", *pair)
    result = run("inspect", "diff", *pair, "--junit", tmp_path / "report.xml")
    assert (result.exit_code, result.stdout) == (1, bare.stdout)
    suite = ET.parse(tmp_path / "report.xml").getroot()
    assert suite.get("failures") == "1"
    assert suite.get("name") == "acp-proxy diff a b"


def test_hostile_traffic_is_compared(tmp_path: Path) -> None:
    """`diff` of recordings full of control characters prints none, and writes valid JUnit XML."""
    report = tmp_path / "report.xml"
    paths = []
    for name, value in (("a", EVIL), ("b", "other")):
        with LogWriter(tmp_path / f"{name}.db", name=EVIL) as recorder:
            handshake(recorder)
            recorder.to_client(
                request(EVIL, EVIL, **{EVIL: value}),
                update(EVIL, EVIL, **{EVIL: value}),
                b'{"jsonrpc":"2.0","method":"x","params":["\\ud800","%s"]}\n' % name.encode(),
            )
            recorder.chunk(2, f"{name} \x1b[2J no json\n".encode())
        paths.append(recorder.path)
    shown = run("inspect", "diff", *paths, "--junit", report)
    assert shown.exit_code == 1
    assert shown.output.replace("\n", "").isprintable()
    assert ET.parse(report).getroot().get("failures") == "2"
    json_lines = run("inspect", "diff", *paths, "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in json_lines][:2] == ["diff", "entry"]
    learned = run("inspect", "diff", *paths, "--learn")
    assert learned.output.replace("\n", "").isprintable()


# Rules


def test_rules_are_learned(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """With the rules that `diff --learn` printed, `diff` finds no difference."""
    result = run("inspect", "diff", *pair, "--learn")
    assert result.exit_code == 0
    assert result.stderr == "acp-proxy: with 2 rules A and B are equal\n"
    assert result.stdout == (
        'ignore = [\n    "/params/update/rawInput/said",\n    "/result/stopReason",\n]\n'
    )
    rules = tmp_path / "rules.toml"
    given = ("--ignore", "/result/stopReason", "--json", "-o", rules)
    assert run("inspect", "diff", *pair, "--learn", *given).exit_code == 0
    assert run("inspect", "diff", *pair, "--rules", rules).exit_code == 0


def test_ids_are_learned_as_aliases(tmp_path: Path) -> None:
    """If ids of two recordings correspond one to one, `diff --learn` proposes a rule for them."""
    a = record(tmp_path / "a.db", said="build-1234")
    b = record(tmp_path / "b.db", said="build-5678")
    result = run("inspect", "diff", a, b, "--learn")
    expected = 'alias = [\n    "/params/update/rawInput/said",\n]\n'
    assert (result.exit_code, result.stdout) == (0, expected)
    rules = tmp_path / "rules.toml"
    rules.write_text(result.stdout, encoding="utf-8")
    assert run("inspect", "diff", a, b).exit_code == 1
    assert run("inspect", "diff", a, b, "--rules", rules).exit_code == 0


def test_differences_that_no_rule_removes_are_printed(tmp_path: Path) -> None:
    """Whatever rules are given, `diff` reports a frame that only one recording has."""
    a, b = record(tmp_path / "a.db"), record_conversation(tmp_path / "b.db")
    result = run("inspect", "diff", a, a, "--learn")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "acp-proxy: without any rule A and B are equal\n"
    result = run("inspect", "diff", a, b, "--learn")
    assert result.exit_code == 1
    assert re.match(
        r"acp-proxy: with \d rules? A and B still differ: \d+ differences: ", result.stderr
    )
    c = record(tmp_path / "c.db", code=1)
    result = run("inspect", "diff", a, c, "--learn")
    assert (result.exit_code, result.stdout) == (1, "")
    words = "no rule can ignore what differs: 1 difference: 1 in the ending"
    assert result.stderr == f"acp-proxy: {words}\n"


def test_rules_as_json(pair: tuple[Path, Path]) -> None:
    """`diff --learn --json` prints the learned rules as one JSON object."""
    (summary,) = values(*pair, "--learn", code=0)
    assert summary == {
        "type": "learned",
        "ignored": ["/params/update/rawInput/said", "/result/stopReason"],
        "aliases": [],
        "apart": [],
        "rest": dict.fromkeys([*asdict(Counts()), "total"], 0),
        "is_equal": True,
    }


@pytest.mark.skipif(shutil.which("bash") is None, reason="expected bash")
def test_a_rule_can_be_pasted_into_a_shell() -> None:
    """A JSON pointer that `diff` suggests as a rule is quoted so that a shell does not alter it."""
    for pointer in ("/params/x", "/params/*/a b", "/it's", "/$HOME`id`", f"/{EVIL}'\\7", "/é\t你"):
        rule = quoted(pointer)
        assert rule.isprintable()
        said = subprocess.run(
            ["bash", "-c", f"printf %s {rule}"], capture_output=True, check=True
        ).stdout
        assert said.decode() == pointer


# Bad use


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exact", "--learn"], "--exact compares all bytes: it cannot be used with --learn"),
        (["--exact", "--ignore", "/x"], "--exact compares all bytes"),
        (["-o", "x"], "--output names the file for learned rules: expected --learn, too"),
        (["--exact", "--expect", "outcome"], "--exact compares all bytes"),
        (["--learn", "--junit", "x.xml"], "expected --learn or --junit, got both"),
        (["--junit", "/nowhere/x.xml"], "cannot write /nowhere/x.xml: /nowhere is not a directory"),
        (["--junit", "/"], "cannot write /: it is a directory"),
        (["--ignore", "params"], "'params' is not a JSON pointer: expected one such as /params/"),
        (["--expect", "nothing"], "'nothing' is not one of 'frames', 'structure', 'outcome'"),
        (["methd:x"], "method"),
    ],
)
def test_bad_use_is_one_line(pair: tuple[Path, Path], arguments: list[str], said: str) -> None:
    """`diff` refuses a wrong option, or two that conflict, by one line with what was expected."""
    assert said in complaint("inspect", "diff", *pair, *arguments)


def test_recordings_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """`diff` refuses an unreadable or missing recording, whether it is A or B."""
    a = record(tmp_path / "a.db")
    (tmp_path / "x.db").write_bytes(b"nothing of the kind")
    for pair_ in ((a, tmp_path / "x.db"), (tmp_path / "x.db", a), (a, tmp_path / "gone.db")):
        assert complaint("inspect", "diff", *pair_, home=tmp_path)
    assert "standard input" in complaint("inspect", "diff", "-", "-")


def test_a_closed_pipe_is_not_an_error(pair: tuple[Path, Path]) -> None:
    """If stdout is closed, `diff` prints no error."""
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "acp_proxy", "inspect", "diff", *pair],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert process.returncode == 1
    assert re.fullmatch(rb"acp-proxy: to ignore these differences: .*\n", process.stderr)


def test_help_has_valid_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples in the help of `diff` are valid commands."""
    monkeypatch.chdir(tmp_path)
    for name in ("yesterday", "today", "old", "new"):
        record(tmp_path / f"{name}.db", said=name)
    shown = run("inspect", "diff", "--help-all").stdout
    examples = re.findall(r"^ +acp-proxy (diff [^|\n]*)", shown, re.MULTILINE)
    assert len(examples) >= 4
    for words in examples:
        assert run("inspect", *shlex.split(words), home=tmp_path).exit_code in (0, 1)


def test_a_cause_comes_before_its_effects() -> None:
    """`diff` lists differences in the order of A's frames, so a cause is above its effects."""
    pair = (DIRECTORY / f"edit-{word}.db" for word in ("allowed", "rejected"))
    lines = run("diff", *pair).stdout.splitlines()
    places = [line.split() for line in lines if re.match(r"[-~+] +#", line)]
    assert [words[words.index("→" if "→" in words else "←") :][:2] for words in places] == [
        ["→", "the"], ["←", "fs/write_text_file"], ["→", "the"], ["←", "session/update"],
        ["←", "session/update"],
    ]  # fmt: skip
    assert lines.count("session:1  demo-session-1") == 1


def test_very_many_differences_are_printed_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many differences to sort them by frame, `diff` prints them by session."""
    whole = screen(differing(), 80)
    monkeypatch.setattr("acp_proxy.cli.diff.diff_screen._SORTED", 0)
    assert sorted(screen(differing(), 80).splitlines()) != whole.splitlines()
    assert {*screen(differing(), 80).splitlines()} == {*whole.splitlines()}
