"""The rules of docs/architecture.md hold, and the check of each rule finds a violation."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.inspect import INSPECT
from tests.support import architecture
from tests.support.architecture import Source

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).parents[2]


TESTED_BY = {
    "__main__": "integration/test_interrupts.py",
    "batches": "unit/batches/test_selection.py",
    "batches/local_executor": "integration/test_batches.py",
    "record/capture": "unit/cli/test_interruption.py",
    "record/capture/agent_lookup": "unit/editors/test_known_agents.py",
    "record/capture/in_place": "integration/test_shortages.py",
    "recording/log_format": "unit/record/capture/test_log_writer.py",
    "record/capture/process_groups": "integration/test_kills.py",
    "record/capture/shared_group": "integration/test_terminals.py",
    "record/capture/starter": "integration/test_short_sessions.py",
    "record/capture/stdio": "integration/test_transparency.py",
    "cli/batch_options": "integration/test_batches.py",
    "cli/batches/batch_worker": "integration/test_batches.py",
    "cli/playback/replay": "unit/playback/drivers/test_replayer.py",
    "cli/options": "unit/test_docs.py",
    "cli/explain/audit_screen": "unit/cli/explain/test_audit.py",
    "cli/check/check_screen": "integration/test_inspecting.py",
    "cli/editors/setup_screen": "integration/test_inspecting.py",
    "cli/shared_flags": "unit/cli/screens/test_pager.py",
    "client": "integration/test_replay.py",
    "cli/try_/live_screen": "integration/test_try.py",
    "cli/try_/try_": "integration/test_try.py",
    "try_/terminal_input": "integration/test_try.py",
    "diff/place_rules": "property/test_place_rules.py",
    "playback/replay/message_matcher": "playbooks/test_divergences.py",
    "playback/replay/frame_sender": "playbooks/test_typed_values.py",
    "playback/verify/request_matcher": "playbooks/test_verify_asking.py",
    "playback/verify/client_sender": "playbooks/test_verify_order.py",
    "entry": "integration/test_interrupts.py",
    "base/errors": "unit/store/test_reader.py",
    "playback/events": "unit/playback/drivers/test_replayer.py",
    "faults/manual": "unit/faults/test_faults_docs.py",
    "faults/structuring": "unit/faults/test_plan.py",
    "recording/filters": "unit/recording/filters/test_filter_terms.py",
    "recording/filters/filter_conditions": "unit/store/queries/test_frame_table.py",
    "recording/filters/filter_grammar": "unit/recording/filters/test_filter_terms.py",
    "base/forms": "unit/test_docs.py",
    "base/alignment": "property/test_alignment.py",
    "explain/search/stream_matches": "property/test_search.py",
    "pytest_plugin": "integration/test_pytest_plugin.py",
    "recording/library_values": "unit/test_api.py",
    "redaction/key_formats": "unit/redaction/test_secret_patterns.py",
    "redaction/randomness": "unit/redaction/test_secret_patterns.py",
    "redaction/secret_readers": "unit/redaction/test_secret_patterns.py",
    "record": "integration/test_short_sessions.py",
    "playback/drivers/sweep": "unit/cli/faults/test_sweep.py",
    "store/queries/sql_conditions": "unit/store/queries/test_frame_table.py",
    "store/queries/fired_faults": "unit/store/tables/test_schema.py",
    "store/log/log_recovery": "unit/store/test_reader.py",
    "store/files/newest": "unit/store/tables/test_schema.py",
    "store/indexing/row_batch": "unit/store/indexing/test_row_writer.py",
    "programs/swept_agent": "unit/cli/faults/test_sweep.py",
    "programs/tested_agent": "integration/test_pytest_plugin.py",
    "testing/rehearsal": "integration/test_pytest_plugin.py",
    "check/conversation/*": "unit/check/test_checker.py",
    "check/rules/*": "unit/check/test_examples.py",
    "cli/diff/*": "unit/cli/diff/test_diff.py",
    "cli/explain/*": "integration/test_inspecting.py",
    "explain/audit/*": "unit/explain/audit/test_actions.py",
    "explain/describe/*": "unit/explain/test_previews.py",
    "explain/show/*": "unit/explain/show/test_checks.py",
    "explain/transcript/*": "unit/explain/transcript/test_transcript.py",
    "faults/kinds/*": "playbooks/test_fault_kinds.py",
    "playback/replay/*": "playbooks/test_order.py",
    "playback/verify/*": "playbooks/test_verify_divergences.py",
    "record/capture/*": "unit/record/capture/test_relay.py",
    "record/faulted/*": "unit/record/faulted/test_fault_runner.py",
    "recording/text_form/*": "property/test_text_form.py",
    "store/copies/*": "unit/store/test_reader.py",
    "store/tables/*": "unit/store/tables/test_schema.py",
    "check/*": "unit/check/test_checker.py",
    "cli/*": "integration/test_inspecting.py",
    "diff/*": "unit/diff/test_pairs.py",
    "editors/*": "property/test_settings.py",
    "imports/*": "unit/imports/test_real_forms.py",
    "protocol/*": "unit/protocol/test_connection.py",
    "redaction/*": "unit/redaction/test_redactor.py",
}
"""The tests of modules without their own test module; the first match counts."""
GIVEN_UP = {
    "stage", "plot", "story", "stories", "teller", "told", "hearer", "debt", "debts", "deed",
    "deeds", "poison", "poisoned", "departure", "departures", "parcel", "retold", "heeded",
    "scribe", "judge", "judged",
}  # fmt: skip
"""Words from the theatre, from speech and from debt; the field has its own words."""


@pytest.fixture(scope="module")
def source() -> Source:
    """Returns the modules of the package."""
    return Source(ROOT)


def section(title: str) -> list[list[str]]:
    """Returns the names in each row of the table of layers.

    Args:
        title: the title of the section with the table.
    """
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line for line in part.splitlines() if re.match(r"\| \d", line)]
    return [re.findall("`(.+?)`", row) for row in rows]


def order() -> list[str]:
    """Returns the rooms, from the lowest to the highest."""
    return [name for names in section("Rooms and what they import") for name in names]


def refused() -> dict[str, list[str]]:
    """Returns the imports that docs/architecture.md forbids although the order would allow them."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = text.partition("\n## Rooms and what they import\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in part.splitlines() if line.startswith("| `")]
    return {
        name: re.findall("`(.+?)`", never)
        for names, never in rows
        for name in re.findall("`(.+?)`", names)
    }


def test_imports_point_down(source: Source) -> None:
    """Each package such as `store` imports only those before it in docs/architecture.md."""
    assert architecture.wrong_arrows(source, order(), refused()) == []


def test_the_table_names_rooms_that_there_are(source: Source) -> None:
    """The tables of docs/architecture.md name only folders that exist in the package."""
    rooms = order()
    named = {*rooms, *refused(), *(name for names in refused().values() for name in names)}
    assert len(rooms) == len({*rooms})
    assert [
        name
        for name in named
        if not any(architecture.is_within(module, name) for module in source.modules)
    ] == []


def test_no_modules_import_each_other(source: Source) -> None:
    """No modules of the package import each other in a circle."""
    assert architecture.circles(source) == []


def test_public_class_names_are_unique(source: Source) -> None:
    """No two public classes of the package have the same name."""
    assert architecture.shared_class_names(source) == []


def test_old_names_are_absent(source: Source) -> None:
    """No name in the code contains a word that the project has given up for another."""
    assert architecture.old_names(source, GIVEN_UP) == []


def test_every_module_has_tests(source: Source) -> None:
    """Each module of the package has tests."""
    assert architecture.untested(source, ROOT / "tests", TESTED_BY) == []


def test_every_argument_is_explained(source: Source) -> None:
    """Each public function with several parameters explains each parameter."""
    assert architecture.undocumented_arguments(source) == []


def test_only_store_has_sql(source: Source) -> None:
    """Packages other than `store/` contain no SQL."""
    assert [
        f"{module}:{line}"
        for module, tree in source.modules.items()
        if not architecture.is_within(module, "store")
        for line in architecture.lines_with_sql(tree)
    ] == []


def test_a_module_and_a_function_can_be_read_at_once(source: Source) -> None:
    """No module of the package has more than 400 lines, and no function 80 lines or more."""
    assert architecture.oversized(source) == []


PACKAGES = {
    "click": {"cli"},
    "trio": {"record", "playback", "try_", "web"},
    "sqlite3": {"store", "record"},
    **{name: {"web"} for name in ("anyio", "h11", "h2", "hypercorn", "starlette", "wsproto")},
}
"""Packages that only a few rooms import, with these rooms."""


def test_few_rooms_import_large_packages(source: Source) -> None:
    """Only `cli` imports click, only `web` a server, and few rooms import trio or sqlite3."""
    for module in source.modules:
        layer = architecture.room(module, order()).split("/")[0]
        for name in {name.split(".")[0] for name in source.imports(module)}:
            assert layer in PACKAGES.get(name, {layer}), module


IMPURE = {"trio", "click", "sqlite3", "time", "os", "socket", "subprocess", "threading", "random"}


def test_the_engine_is_pure(source: Source) -> None:
    """The engines of `replay` and `verify` import no clocks, no I/O and no code of `store`."""
    ours = ("base", "playback", "protocol", "recording", "redaction")
    for module in source.modules:
        if not architecture.is_within(module, "playback"):
            continue
        if architecture.is_within(module, "playback/drivers"):
            continue
        names = source.imports(module)
        assert not {name.split(".")[0] for name in names} & IMPURE, module
        for name in names & source.modules.keys():
            assert any(architecture.is_within(name, place) for place in ours), (module, name)


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Source]:
    """Returns a function that writes a package, and takes the text of each module by its path."""

    def make(**modules: str) -> Source:
        for name, text in modules.items():
            path = tmp_path / "acp_proxy" / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for directory in (tmp_path / "acp_proxy", *(tmp_path / "acp_proxy").rglob("*")):
            if directory.is_dir():
                (directory / "__init__.py").touch()
        return Source(tmp_path)

    return make


ORDER = ("low", "high", "errors")


@pytest.mark.parametrize(
    "second",
    [
        "from acp_proxy.low.a import x",
        "def f():\n    from acp_proxy.low import a",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import acp_proxy.low.a",
    ],
)
def test_a_circle_is_found(plant: Callable[..., Source], second: str) -> None:
    """The test that no modules import each other in a circle finds a circle of two."""
    source = plant(low__a="from acp_proxy.low.b import x", low__b=second)
    assert architecture.circles(source) == ["acp_proxy.low.a <-> acp_proxy.low.b"]


def test_a_wrong_arrow_is_found(plant: Callable[..., Source]) -> None:
    """The test of imports between packages finds an import that docs/architecture.md forbids."""
    source = plant(
        low__a="from acp_proxy.high.b import x",
        high__b="from acp_proxy.low.c import x\nfrom acp_proxy.high.d import y",
        low__c="from acp_proxy import errors",
        high__d="def f():\n    from acp_proxy.low import a",
        errors="",
        other="",
    )
    assert architecture.wrong_arrows(source, ORDER, {"high/d": ["low/a", "high/b"]}) == [
        "acp_proxy.high.d imports acp_proxy.low.a: it never imports low/a",
        "acp_proxy.low.a imports acp_proxy.high.b: high comes after low",
        "acp_proxy.low.c imports acp_proxy.errors: errors comes after low",
        "acp_proxy.other is in no room of the table",
    ]


def test_a_class_name_that_two_modules_use_is_found(plant: Callable[..., Source]) -> None:
    """The test that class names are unique finds a name that two modules use."""
    source = plant(low__a="class A: ...\nclass _B: ...", low__b="class A: ...\nclass _B: ...")
    assert architecture.shared_class_names(source) == ["A: acp_proxy.low.a, acp_proxy.low.b"]


def test_an_old_name_is_found(plant: Callable[..., Source]) -> None:
    """The test of abandoned names finds an abandoned word within a longer name."""
    source = plant(low__stage="", low__a="class OldStage: ...\nbackstage = 1\nstages = 2")
    assert architecture.old_names(source, ["stage"]) == [
        "acp_proxy.low.a:1 uses OldStage",
        "acp_proxy.low.stage:0 uses stage",
    ]


def test_each_command_has_tests() -> None:
    """Each command has a file of tests with its name."""
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in INSPECT if f"test_{name}.py" not in files] == []


def test_a_module_without_tests_is_found(plant: Callable[..., Source], tmp_path: Path) -> None:
    """The test that every module has tests finds a module without tests."""
    source = plant(
        low__a="x = 1", low__b="x = 1", low__c="x = 1", low__d='"""Nothing."""', high__e="x = 1"
    )
    tests = tmp_path / "tests"
    (tests / "unit" / "low").mkdir(parents=True)
    (tests / "unit" / "low" / "test_a.py").touch()
    elsewhere = {"low/a": "unit", "low/b": "test_none.py", "high/*": "unit", "gone": "unit"}
    assert architecture.untested(source, tests, elsewhere) == [
        "low/a has tests of its own, and needs no entry",
        "low/c has no unit/low/test_c.py",
        "low/a is no module that needs an entry",
        "low/b is tested by test_none.py, which does not exist",
        "gone is no module that needs an entry",
    ]


def test_an_argument_that_is_not_explained_is_found(plant: Callable[..., Source]) -> None:
    """The test of docstrings finds a parameter that a public function does not explain."""
    source = plant(
        low__a='''
def f(a, b):
    """Adds.

    Args:
        a: the first.
    """

def g(a): ...

def _h(a, b): ...
'''
    )
    assert architecture.undocumented_arguments(source) == ["acp_proxy.low.a:2 f does not explain b"]


@pytest.mark.parametrize(
    "line",
    [
        "rows = reader.query('SELECT seq FROM frames')",
        "sql = f'SELECT {columns} FROM frames WHERE seq = ?'",
        "rows = reader.query('select seq from frames')",
        "connection.execute(statement)",
        "text = 'INSERT OR REPLACE INTO turns VALUES (?)'",
        "text = \"UPDATE recording SET state = 'unindexed'\"",
        "text = 'PRAGMA user_version'",
    ],
)
def test_planted_sql_is_found(line: str) -> None:
    """The check for SQL outside of `store/` finds a query and a call that runs SQL."""
    assert architecture.lines_with_sql(ast.parse(f'"""A module."""\n\n{line}\n')) == [3]


@pytest.mark.parametrize(
    "source",
    [
        '"""Runs a SELECT over the names of the contract."""\n',
        "# SELECT seq FROM frames\nx = 1\n",
        "help = 'Select frames, or update the note.'\n",
    ],
)
def test_prose_is_no_sql(source: str) -> None:
    """The check for SQL outside of `store/` ignores docstrings."""
    assert architecture.lines_with_sql(ast.parse(source)) == []


def test_what_cannot_be_read_at_once_is_found(plant: Callable[..., Source]) -> None:
    """The test of code sizes finds a module of 401 lines, not 400, and a function of 81 lines."""
    long = "def f():\n" + "    x = 1\n" * 80
    planted = plant(long=long, large="x = 1\n" * 401, small="x = 1\n" * 400)
    assert architecture.oversized(planted) == ["acp_proxy.large", "acp_proxy.long: f"]
