"""The manual documents everything in the program, and only things that exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click
import pytest
from attrs import Attribute, fields, has
from cattrs import BaseConverter
from click.testing import CliRunner
from sqlite_utils.cli import cli as sqlite_utils

from acp_proxy.check.check_report import CheckedRecording, CheckReport
from acp_proxy.check.check_values import RuleCount, UncheckedRules
from acp_proxy.cli.diff.diff_reports import DiffJson
from acp_proxy.cli.editors.setup_screen import ListedAgent, ListedClient
from acp_proxy.cli.inspect import INSPECT, WANTS
from acp_proxy.cli.try_.try_ import ProbeReport
from acp_proxy.editors.doctor.context import CheckResult, Examination
from acp_proxy.explain.audit.audit_values import (
    Action,
    Audit,
    AuditedPath,
    AuditedPermission,
    AuditedRequest,
    AuditedServer,
    AuditedSession,
    AuditFinding,
    LastingGrant,
)
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.log.frame_json import FRAME_MEMBERS, event_json
from acp_proxy.explain.masked_secrets import MaskedValue
from acp_proxy.explain.show.summary_values import (
    BegunCall,
    Capabilities,
    CurrentWait,
    ErrorTally,
    Extent,
    FailedCall,
    InvalidLines,
    OpenRequest,
    PersonRequest,
    SessionSummary,
    Summary,
    Tally,
    ToolTally,
    TurnSummary,
)
from acp_proxy.explain.stats.statistics import Statistics
from acp_proxy.explain.stats.traffic import CallStatistics, MethodStatistics
from acp_proxy.explain.stats.turn_times import TurnTime, WholeTime
from acp_proxy.explain.stats.waterfall import TurnWaterfall, WaterfallStep
from acp_proxy.explain.transcript.entries import (
    CutText,
    EntryChoice,
    TextBlock,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.waits import PendingRequest, Silence
from acp_proxy.faults.manual import KindManual, Setting
from acp_proxy.imports.log_formats import NAMES
from acp_proxy.playback.drivers.sweep import ClientRun
from acp_proxy.record.capture.record_options import RECORD
from acp_proxy.recording.recording import LOST, NamedAnswer, Origin, Recording
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.tables.schema import VERSION
from acp_proxy.try_.probe import ProbeResult
from tests.support.cases import each_case
from tests.support.command_line import COMMANDS, commands_with, flags, run, words_for
from tests.support.example_comparison import differing, printed
from tests.support.indexed_rows import stored_views
from tests.support.log_writer import record_conversation
from tests.support.planted_secrets import record_planted
from tests.tools.questions import Question, answer, questions

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("recordings/*.md")])
ROOMS = sorted(ROOT.glob("acp_proxy/*/README.md"))
ELSEWHERE = {"--help", "--help-all"}
"""Options that every command has."""


def page(name: str) -> str:
    """Returns the text of a page of the manual."""
    return (DOCS / name).read_text(encoding="utf-8")


def page_of(name: str) -> str:
    """Returns the page of the manual about a command."""
    words = name.split()[1:]
    return page(f"commands/{'-'.join(words) or 'acp-proxy'}.md")


def section(text: str, title: str) -> str:
    """Returns the text of a section, without its title, up to the next section of its level."""
    match = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert match, f"expected a section {title!r}"
    rest = text[match.end() :]
    following = re.search(rf"^#{{1,{len(match[1])}}} ", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


def first_cells(text: str) -> list[str]:
    """Returns the words in backticks in the first column of the tables in a text."""
    rows = re.findall(r"^\| (`[^|]*) \|", text.replace("\\|", ";"), re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


def options(command: click.Command) -> list[click.Option]:
    """Returns the options of a command that its help shows."""
    every = (param for param in command.params if isinstance(param, click.Option))
    return [option for option in every if not option.hidden]


def variables() -> dict[str, str]:
    """Returns the flag of each option by the environment variable of the option."""
    actual = {option.variable: option.flag for option in RECORD if option.variable}
    for name, command in COMMANDS.items():
        if name.split()[-1] in INSPECT or re.match(
            "acp-proxy (try|replay|verify|web|faults )", name
        ):
            words = name.removeprefix("acp-proxy ").split()
            for option in options(command):
                if not option.allow_from_autoenv:
                    continue
                assert option.name is not None
                variable = "_".join(["ACP_PROXY", *words, option.name]).upper()
                actual[variable] = f"{' '.join(words)} {long_flag(option)}"
    return actual


def long_flag(option: click.Option) -> str:
    """Returns the long form of an option's flag."""
    return next(flag for flag in option.opts if flag.startswith("--"))


# Commands and options


@each_case("name", COMMANDS)
def test_every_option_of_every_command_is_documented(name: str) -> None:
    """The manual's section of a command has a row for each option of the command."""
    rows = first_cells(page_of(name))
    documented = {word.split()[0] for word in rows if word.startswith("-")}
    assert documented - {"-h", "--help"} == flags(COMMANDS[name])
    for option in options(COMMANDS[name]):
        if not option.is_flag and not option.count:
            assert any(row.startswith(f"{long_flag(option)} ") for row in rows)


@each_case("name", COMMANDS)
def test_every_choice_of_an_option_is_documented(name: str) -> None:
    """The manual lists all values that an option of a command accepts."""
    rows = [line for line in page_of(name).splitlines() if line.startswith("| `-")]
    for option in options(COMMANDS[name]):
        flag = re.compile(rf"[ `]{long_flag(option)}[ `]")
        (row,) = (row for row in rows if flag.search(row.split(" | ")[0]))
        for word in [*getattr(option.type, "choices", ()), *option.secondary_opts]:
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", row), (option.name, word)


@each_case("name", COMMANDS)
def test_every_command_has_its_synopsis(name: str) -> None:
    """The manual's section of a command begins with its synopsis."""
    # A command keeps the help option of the first context that asks, hence a true one.
    context = click.Context(COMMANDS[name], help_option_names=["-h", "--help"])
    words = COMMANDS[name].collect_usage_pieces(context)
    assert page_of(name).startswith(f"# {name}\n\n```\n{' '.join([name, *words])}\n```\n")


def test_every_command_is_in_the_list_of_contents() -> None:
    """The manual page about commands begins with links to all commands."""
    contents = page("command-line.md").partition("\n## ")[0]
    linked = re.findall(r"^\| \[`([^`]+)`\]\(commands/", contents, re.MULTILINE)
    assert linked == list(COMMANDS)
    assert {path.stem for path in (DOCS / "commands").glob("*.md")} == {
        "-".join(name.split()[1:]) or "acp-proxy" for name in COMMANDS
    }


@each_case("path", PAGES, ids=lambda path: path.name)
def test_documented_options_exist(path: Path) -> None:
    """The manual's pages mention only options of commands that exist."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^## Planned\n.*?(?=^## )", "", text, flags=re.MULTILINE | re.DOTALL)
    every = set(ELSEWHERE).union(*map(flags, COMMANDS.values()))
    for code in re.findall(r"`(--[^`]*)`", text):
        assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code)) <= every, code
    for line in re.findall(rf"acp-proxy (?:record|inspect|{'|'.join(INSPECT)})\b[^`\n#]*", text):
        words = re.split(r" -- | \| ", line)[0].split()
        name = " ".join(words[:2])
        command = COMMANDS.get(name)
        if command is not None:
            for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words[2:])):
                assert flag in flags(command) | ELSEWHERE | {"-h"}, line


def test_the_readme_says_what_each_command_is_for() -> None:
    """The table of purposes in the README has the rows of `acp-proxy --help`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| I want to … | command |\n|---|---|\n")[2].partition("\n\n")[0]
    written = {
        purpose: {command}
        for purpose, command in re.findall(
            r"^\| (.+?) \| `acp-proxy ([a-z]+)[^`]*` \|$", table, re.MULTILINE
        )
    }
    wanted = re.findall(r"^  (\S.+?)  +([a-z].*)$", WANTS, re.MULTILINE)
    assert len(wanted) > len(COMMANDS) / 2
    for purpose, commands in wanted:
        assert set(re.findall(r"[a-z]+", commands)) <= written.pop(purpose), purpose
    assert written == {}


# The environment


SPECIAL = ("ACP_PROXY_OFF", "ACP_PROXY_RECORDINGS", "ACP_PROXY_PARENT", "ACP_PROXY_SECRETS",
           "ACP_PROXY_MADE_BY", "ACP_PROXY_PAGER")  # fmt: skip
"""Variables that do not stand for options."""


def test_every_variable_is_documented() -> None:
    """The manual page about environment variables names the variable of each option."""
    text = page("environment.md")
    for variable, option in variables().items():
        assert f"| `{variable}` | `{option}` |" in text
    assert set(first_cells(text)) == {
        *variables(),
        *SPECIAL,
        *("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PAGER", "LESS"),
    }


@each_case("path", PAGES, ids=lambda path: path.name)
def test_documented_variables_exist(path: Path) -> None:
    """The manual mentions only environment variables of acp-proxy that exist."""
    named = set(re.findall(r"(?<!_)ACP_PROXY_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
    assert named <= {*variables(), *SPECIAL}


_VALUES = {
    **{flag: ["5"] for flag in ("--seq", "--around", "--context", "--lines")},
    "--turn": ["1"],
    "--session": ["s-"],
    "--time": ["clock"],
    "--top": ["1"],
}
READ = ("LOG", "SHOW", "STATS")


@pytest.mark.parametrize(
    "variable",
    [v for v in variables() if v.split("_")[2] in READ and v != "ACP_PROXY_STATS_BY"],
)
def test_the_variables_of_inspect_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """The variable of an option, such as ACP_PROXY_LOG_SEQ, has the same effect as the option."""
    path = record_conversation(tmp_path / "x.db")
    command = variable.split("_")[2].lower()
    flag = f"--{'-'.join(variable.split('_')[3:]).lower()}"
    value = _VALUES.get(flag, [])
    by_option = run("inspect", command, flag, *value, path)
    assert by_option.exit_code == 0
    monkeypatch.setenv(variable, value[0] if value else "1")
    assert run("inspect", command, path).output == by_option.output


# JSON


def test_every_member_of_the_json_is_documented(tmp_path: Path) -> None:
    """docs/json.md has a row for each member of the JSON of `list`, `show`, `log` and others."""
    text = page("json.md")
    path = record_conversation(tmp_path / "x.db")
    set_note(path, "#1 an event\n#2 a frame")
    listed = json.loads(run("inspect", "list", "--json", tmp_path).stdout)
    shown = json.loads(run("inspect", "show", "--json", path).stdout)
    lines = [json.loads(line) for line in run("inspect", "log", "--json", path).stdout.splitlines()]
    data = json.loads(run("inspect", "search", "--json", "hello", path).stdout)
    chosen = ("--dry-run", "--larger-than", "0kB", "--noted")
    pruned = run("inspect", "prune", "--json", *chosen, tmp_path).stdout
    frame = {name for line in lines if "stream" in line for name in line}
    event = {name for line in lines if "event" in line for name in line}
    show = section(text, "show").partition("\n### ")[0]
    documented = {
        "list": set(first_cells(section(text, "list"))),
        "show": set(first_cells(show)),
        **{
            name: set(first_cells(section(text, name)))
            for name in (
                *("Recording", "Turn", "Unanswered request", "Frame", "Event"),
                *("search", "prune"),
            )
        },
    }
    assert documented == {
        "list": set(listed),
        "show": set(shown),
        "Recording": set(shown["recording"]),
        "Turn": set(shown["turns"][0]),
        "Unanswered request": set(shown["unanswered"][0]),
        "Frame": frame | {"base64"},
        "Event": event,
        "search": set(data),
        "prune": set(json.loads(pruned)),
    }


def test_every_member_of_the_statistics_is_documented(tmp_path: Path) -> None:
    """docs/json.md lists exactly the members of `stats --json`, in their order."""
    path = record_conversation(tmp_path / "x.db")
    data = json.loads(run("inspect", "stats", "--json", path).stdout)
    text = section(page("json.md"), "stats")
    values = {
        "Whole time": data["time"],
        "Method": data["methods"][0],
        "Timed turn": data["turns"][0],
        "Tool call": data["tool_calls"][0],
        "Waterfall": data["waterfall"],
        "Step": data["waterfall"]["steps"][0],
    }
    assert first_cells(text.partition("\n### ")[0]) == list(data)
    for title, value in values.items():
        rows = section(text, title)
        assert [word for word in first_cells(rows) if word in value] == list(value), title
        assert set(first_cells(rows)) == set(value), title


def test_every_member_of_a_comparison_is_documented() -> None:
    """docs/json.md lists exactly the members of `diff --json`, in their order."""
    lines = [json.loads(line) for line in printed(differing(), DiffJson).splitlines()]
    of = {line.pop("type"): line for line in lines}
    counts = of["diff"]["counts"]
    rules = run("inspect", "diff", "--json", "--learn", *[ROOT / "recordings" / "hello.db"] * 2)
    text = section(page("json.md"), "diff")
    values = {
        "Comparison": of["diff"],
        "Side": of["diff"]["a"],
        "Counts": counts,
        "Place": of["handshake"],
        "Differing frame": of["entry"],
        "Latency": of["latency"],
        "Learned rules": {k: v for k, v in json.loads(rules.stdout).items() if k != "type"},
    }
    assert of["ending"].keys() == of["entry"]["fields"][0].keys() == of["handshake"].keys()
    assert json.loads(rules.stdout)["rest"].keys() == counts.keys()
    for title, value in values.items():
        assert first_cells(section(text, title)) == list(value), title
    kinds = text.partition("\n### ")[0]
    assert all(f"`{kind}`" in kinds for kind in (*of, "learned"))


SECTIONS: dict[type[Any], str] = {
    Recording: "Recording",
    MaskedValue: "secrets",
    ListedClient: "setup",
    ListedAgent: "Configured agent",
    Examination: "doctor",
    CheckResult: "Result of a check",
    ProbeReport: "try",
    ProbeResult: "Verdict on a probe",
    Summary: "show",
    TurnSummary: "Turn",
    OpenRequest: "Unanswered request",
    Capabilities: "Capabilities",
    SessionSummary: "Session",
    BegunCall: "Begun call",
    FailedCall: "Failed call",
    ToolTally: "Tool calls",
    PersonRequest: "Question",
    Tally: "Tally",
    Finding: "Finding",
    Extent: "Extent",
    CurrentWait: "Waiting",
    Silence: "Silence",
    PendingRequest: "Pending request",
    ErrorTally: "Error",
    InvalidLines: "Lines that are not ACP",
    Tokens: "Tokens",
    Statistics: "stats",
    WholeTime: "Whole time",
    MethodStatistics: "Method",
    TurnTime: "Timed turn",
    CallStatistics: "Tool call",
    TurnWaterfall: "Waterfall",
    WaterfallStep: "Step",
    TranscriptSection: "Transcript section",
    TranscriptEntry: "Transcript entry",
    TextBlock: "Text block",
    CutText: "Cut text",
    EntryChoice: "Choice",
    Origin: "Origin",
    Audit: "audit",
    AuditedSession: "Audited session",
    AuditedServer: "MCP server",
    Action: "Action",
    AuditedPath: "Audited path",
    AuditedRequest: "Audited request",
    AuditedPermission: "Audited permission",
    LastingGrant: "Lasting grant",
    AuditFinding: "Audit finding",
    CheckReport: "check",
    CheckedRecording: "Checked recording",
    RuleCount: "Count",
    ClientRun: "faults sweep",
}
"""The section of the page of JSON that has the members of a value."""


WITHIN = {
    NamedAnswer: "Origin",
    UncheckedRules: "Checked recording",
    KindManual: "faults list",
    Setting: "faults list",
}
"""Values that have no table of their own, and the section whose text names their members."""


def json_fields(value: type[Any]) -> list[Attribute[Any]]:
    """Returns the fields of a class of values that are members of its JSON."""
    shown = (field for field in fields(value) if "hidden" not in field.metadata)
    return [field for field in shown if field.init or field.metadata]


@each_case("value", [*SECTIONS, *WITHIN], ids=lambda value: value.__name__)
def test_every_field_of_our_values_is_documented(value: type[Any]) -> None:
    """docs/json.md lists every JSON member that acp-proxy writes, such as in reports."""
    text = section(page("json.md"), {**SECTIONS, **WITHIN}[value])
    named = first_cells(text) if value in SECTIONS else re.findall(r"`([^`]+)`", text)
    assert {field.metadata.get("json", field.name) for field in json_fields(value)} <= {*named}


WORDS = {
    "try": ["try", "--probe", "-o", "probes.db", "--json", "--", "true"],
    "setup": ["setup", "zed"],
    "doctor": ["doctor"],
    "faults list": ["faults", "list"],
    "faults explain": ["faults", "explain", "@slow-agent"],
    "faults sweep": ["faults", "sweep", "x.db", "--plans", "@slow-agent", "--client", "true"],
}
"""How commands are called that show no recording."""


@pytest.mark.parametrize("name", commands_with("--json"))
def test_the_json_of_a_command_is_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """docs/json.md has a section for each kind of object that a command prints with `--json`."""
    path = record_planted(tmp_path / "x.db")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    values: list[type] = []
    unstructure = BaseConverter.unstructure

    def watched(converter: BaseConverter, value: Any, unstructure_as: Any = None) -> Any:
        if type(value) is not IndexerState:  # a recording that is finished by its reader
            values.extend(types_in(value))
        return unstructure(converter, value, unstructure_as)

    monkeypatch.setattr(BaseConverter, "unstructure", watched)
    words = WORDS.get(name) or words_for(name, path)
    lines = run(*words, "--json", home=tmp_path).stdout.splitlines()
    assert lines
    kinds: set[type] = set()
    for value in values:
        add_values(value, kinds)
    assert kinds <= {*SECTIONS, *WITHIN}, (
        "each needs a section of docs/json.md, and its line in SECTIONS"
    )
    titles = [name, *({**SECTIONS, **WITHIN}[kind] for kind in values if has(kind))]
    documented = {cell for title in titles for cell in first_cells(section(page("json.md"), title))}
    assert {*chain.from_iterable(map(json.loads, lines))} <= {*documented, "type"}


def types_in(value: Any) -> Iterator[type]:
    """Yields the types of a value and of all values within it.

    The converter remembers how it writes a type, so it may call itself for the items or not.
    """
    yield type(value)
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list | tuple):
        yield from chain.from_iterable(map(types_in, items))


def add_values(kind: Any, known: set[type]) -> None:
    """Adds a class of values, and all classes of values in its fields, to the known classes."""
    if not has(kind):
        for inner in get_args(kind):
            add_values(inner, known)
    elif kind not in known:
        known.add(kind)
        hints = get_type_hints(kind)
        for field in json_fields(kind):
            add_values(hints[field.name], known)


def test_the_members_of_frames_and_events_are_documented() -> None:
    """docs/json.md lists all members of a frame and of an event in `log --json`."""
    event = json.loads(event_json({"seq": 1, "t_ns": 2, "kind": "eof", "data": "{}"}))
    for title, members in {"Frame": FRAME_MEMBERS, "Event": event}.items():
        assert set(members) <= set(first_cells(section(page("json.md"), title)))


# Formats


@pytest.mark.parametrize("name", NAMES)
def test_every_format_of_foreign_logs_has_its_section(name: str) -> None:
    """The manual page about imports has a section for each format of `import --from`.

    The top of the page links to the section.
    """
    text = page("imports.md")
    assert f"\n`--from {name}`" in text
    assert f"](#{name})" in text


# The database


def test_every_loss_of_an_origin_is_documented() -> None:
    """The manual lists the words for the data that an imported log may lack."""
    assert first_cells(section(page("database.md"), "Origin"))[-len(LOST) :] == list(LOST)


@pytest.mark.parametrize(
    "table",
    ["recording", "frames", "exchanges", "turns", "events", "faults_fired",
     "messages", "tool_calls", "sessions", "permissions"],
)  # fmt: skip
def test_every_column_is_documented(tmp_path: Path, table: str) -> None:
    """The manual page about the database lists the columns of each table."""
    with sqlite3.connect(record_conversation(tmp_path / "x.db")) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    rows = section(page("database.md"), table).partition("| kind |")[0]
    assert first_cells(rows) == columns


def test_the_format_of_a_database_is_documented() -> None:
    """The manual page about the database names the current version of the format."""
    assert f"`PRAGMA user_version` is the format, now {VERSION}." in page("database.md")


def test_states_kinds_and_views_are_documented(tmp_path: Path) -> None:
    """docs/database.md lists all states of recordings, kinds of events and SQL views."""
    text = page("database.md")
    states = ["recording", "complete", "unindexed", "incomplete"]
    assert first_cells(section(text, "States")) == states
    troubleshooting = section(page("troubleshooting.md"), "States")
    assert first_cells(troubleshooting) == states
    kinds = section(text, "events").partition("| kind |")[2]
    documented = "start eof signal exit undelivered gap fault note"
    assert first_cells(kinds) == documented.split()
    views = section(text, "Views").partition("\n### ")[0]
    assert {*first_cells(views), "frames"} == stored_views()
    with sqlite3.connect(record_conversation(tmp_path / "x.db")) as connection:
        for (kind,) in connection.execute("SELECT DISTINCT kind FROM frames"):
            assert f"`{kind}`" in section(text, "frames")
    connection.close()


def test_the_example_queries_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `sqlite-utils` command in docs/database.md prints rows of a recording."""
    monkeypatch.chdir(tmp_path)
    record_conversation(tmp_path / "run.db")
    text = page("database.md")
    (block,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        words = shlex.split(line)
        assert words[0] == "sqlite-utils"
        result = CliRunner().invoke(sqlite_utils, words[1:], catch_exceptions=False)
        assert result.exit_code == 0, line
        assert len(result.output.splitlines()) > 2, line


@each_case("question", [*questions()], ids=lambda question: question.sql[:60])
def test_a_question_has_the_answer_that_is_shown(question: Question) -> None:
    """Each SQL query in docs/database.md has the result that is shown below it."""
    assert answer(question.sql) == question.result


def test_there_are_twenty_questions() -> None:
    """docs/database.md has exactly twenty questions with a query."""
    assert len(list(questions())) == page("database.md").count("```sql") == 20


# Pages


def slug(title: str) -> str:
    """Returns the anchor that GitHub derives from a title."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@cache
def anchors(text: str) -> set[str]:
    """Returns the anchors of a page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    actual = set(re.findall(r'<a id="([^"]+)"></a>', text))
    for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        anchor = slug(title)
        number = sum(known == anchor or known.startswith(f"{anchor}-") for known in actual)
        actual.add(f"{anchor}-{number}" if anchor in actual else anchor)
    return actual


@each_case("path", [*PAGES, *ROOMS], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_link_has_a_target(path: Path) -> None:
    """Each relative link in the manual leads to a file that exists."""
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked.read_text(encoding="utf-8")), target


def test_the_page_about_json_begins_with_all_its_sections() -> None:
    """The manual page about JSON begins with links to all of its sections."""
    contents, _, rest = page("json.md").partition("\n## ")
    titles = re.findall(r"^##+ (.+)$", f"## {rest}", re.MULTILINE)
    assert re.findall(r"\[([^]]+)\]\(#[^)]+\)", contents) == titles


def test_the_page_of_architecture_is_read_in_ten_minutes() -> None:
    """docs/architecture.md has at most 130 lines, so that it is read in ten minutes."""
    assert len(page("architecture.md").splitlines()) <= 130


@each_case("path", ROOMS, ids=lambda path: path.parent.name)
def test_the_readme_of_a_room_fits_a_screen(path: Path) -> None:
    """The README of a folder of the package has at most 20 lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {path.parent.name}"
    assert len(lines) <= 20


@each_case("path", ROOMS, ids=lambda path: path.parent.name)
def test_the_readme_of_a_room_names_its_folders(path: Path) -> None:
    """The README of a folder of the package names each subfolder.

    In `cli`, subfolders that have the name of another folder of the package need not be named.
    """
    rooms = {f"{room.parent.name}_" for room in ROOMS} | {room.parent.name for room in ROOMS}
    of_cli = rooms if path.parent.name == "cli" else set()
    inner = {file.parent.name for file in path.parent.glob("*/__init__.py")} - of_cli
    assert inner <= {*re.findall(r"(\w+)/", path.read_text(encoding="utf-8"))}


def test_every_large_room_has_a_readme() -> None:
    """Each folder of the package with more than five modules has a README."""
    rooms = [path for path in (ROOT / "acp_proxy").iterdir() if path.is_dir()]
    large = {room for room in rooms if len([*room.rglob("*.py")]) > 5}
    assert large == {path.parent for path in ROOMS}


@each_case(
    "path",
    [ROOT / "CONTRIBUTING.md", DOCS / "architecture.md", *ROOMS],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_pages_for_developers_name_files_that_exist(path: Path) -> None:
    """A README of the package names only files that exist."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    suffix = r".*/|.*\.(?:py|md|json|toml|yml|txt|mjs|css|js)|\w+(?:/\w+)+"
    words = [word for word in re.findall(r"`([a-z][\w./-]+)`", text) if re.fullmatch(suffix, word)]
    places = (path.parent, ROOT / "acp_proxy", ROOT, DOCS)
    missing = [
        word
        for word in words
        if not any((place / name).exists() for place in places for name in (word, f"{word}.py"))
    ]
    assert [word for word in missing if not re.search("ROOM|NAME", word)] == []


def test_every_page_can_be_reached() -> None:
    """Every page of the manual can be reached by links from the README."""
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached or path.suffix != ".md":
            continue
        reached.add(path)
        text = path.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", text)
        waiting += [(path.parent / target).resolve() for target in targets]
    assert set(DOCS.glob("**/*.md")) <= reached


@each_case("path", PAGES, ids=lambda path: path.name)
def test_examples_name_recordings_that_are_there(path: Path) -> None:
    """The manual's pages name only example recordings that exist in the repository."""
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"(?<![\w./~-])recordings/[\w-]+\.(?:db|jsonl)", text):
        assert (ROOT / name).exists() or (ROOT / "examples/editor_plugin/tests" / name).exists(), (
            name
        )


def test_the_page_about_testing_begins_with_the_installation() -> None:
    """The manual page about testing begins with `pip install`."""
    beginning = page("testing.md").partition("\n## ")[0]
    assert "pip install" in beginning
    assert "pipx and `uv tool` provide only the command" in beginning


@each_case("path", PAGES, ids=lambda path: path.name)
def test_make_targets_exist(path: Path) -> None:
    """The manual mentions only targets of make that exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^ {4}|^|`)make ([a-z]+)", text, re.MULTILINE))
    assert named <= targets


def test_every_make_target_has_its_line_of_help() -> None:
    """`make help` lists every target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    helped = re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE)
    assert sorted(phony.split()) == sorted(helped)


@pytest.mark.skipif(shutil.which("make") is None, reason="expected make")
def test_make_alone_prints_help() -> None:
    """`make` without a target prints its help."""
    result = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)
    assert "make demo" in result.stdout


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    """No file of the repository installs acp-proxy by name, since no package index has it."""
    places = ["README.md", "SECURITY.md", "action.yml", "ci", "docs", "examples", "acp_proxy"]
    files = [path for place in places for path in [ROOT / place, *(ROOT / place).rglob("*")]]
    by_name = re.compile(
        r"(?:pip3? install|pipx install|tool install|uvx|GATE_INSTALL:)"
        r"(?: -\S+)* ['\"]?acp-proxy(?:\[|==|['\"\s])"
    )
    suffixes = {".md", ".yml", ".py", ".toml"}
    texts = [(path, path.read_text("utf-8")) for path in files if path.suffix in suffixes]
    assert [path for path, text in texts if by_name.search(text)] == []
