"""The rules of docs/architecture.md hold, and each check finds a planted violation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import architecture
from tests.architecture import Source

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).parents[2]


TESTED_BY = {
    "__main__": "integration/test_interrupts.py",
    "entry": "integration/test_interrupts.py",
    "cli/shared_flags": "unit/cli/render/test_pager.py",
    "batches": "unit/batches/test_selection.py",
    "batches/*": "integration/test_batches.py",
    "cli/batch*": "integration/test_batches.py",
    "swept_agent": "unit/cli/commands/faults/test_sweep.py",
    "tested_agent": "integration/test_pytest_plugin.py",
    "pytest_plugin": "integration/test_pytest_plugin.py",
    "testing/*": "integration/test_pytest_plugin.py",
    "client": "integration/test_replay.py",
    "events": "unit/runtime/test_replayer.py",
    "errors": "unit/store/test_reader.py",
    "forms": "unit/test_docs.py",
    "recorded_values": "unit/test_api.py",
    "capture": "unit/cli/test_interruption.py",
    "capture/agent_process": "unit/capture/test_relay.py",
    "capture/in_place": "integration/test_shortages.py",
    "capture/latch": "unit/capture/test_relay.py",
    "capture/log_format": "unit/capture/test_log.py",
    "capture/process_groups": "integration/test_kills.py",
    "capture/shared_group": "integration/test_terminals.py",
    "capture/starter": "integration/test_short_sessions.py",
    "capture/stdio": "integration/test_transparency.py",
    "cli/commands/replay": "unit/runtime/test_replayer.py",
    "cli/commands/*": "integration/test_inspecting.py",
    "cli/options": "unit/test_docs.py",
    "cli/render/audit_*": "unit/cli/commands/inspect/test_audit.py",
    "cli/render/diff_*": "unit/cli/commands/inspect/test_diff.py",
    "cli/render/*": "integration/test_inspecting.py",
    "conformance/rules/*": "unit/conformance/test_examples.py",
    "conformance/*": "unit/conformance/test_checker.py",
    "doctor/context": "unit/doctor/test_checks.py",
    "inspection/alignment": "property/test_alignment.py",
    "difference/rules": "property/test_place_rules.py",
    "difference/*": "unit/difference/test_pairs.py",
    "engine/agent/sender": "playbooks/test_typed_values.py",
    "engine/agent/[dmp]*": "playbooks/test_divergences.py",
    "engine/agent/*": "playbooks/test_order.py",
    "engine/client/request_matcher": "playbooks/test_verify_asking.py",
    "engine/client/send*": "playbooks/test_verify_order.py",
    "engine/client/*": "playbooks/test_verify_divergences.py",
    "faults/kinds/*": "playbooks/test_fault_kinds.py",
    "faults/manual": "unit/faults/test_faults_docs.py",
    "faults/*": "unit/faults/test_plan.py",
    "clients/*": "property/test_settings.py",
    "capture/agent_lookup": "unit/test_known_agents.py",
    "foreign_logs/sources": "unit/foreign_logs/test_real_forms.py",
    "foreign_logs/*": "unit/foreign_logs/test_real_forms.py",
    "filters/conditions": "unit/store/test_frame_table.py",
    "filters*": "unit/filters/test_terms.py",
    "inspection/findings": "unit/test_one_verdict.py",
    "inspection/audit/*": "unit/inspection/audit/test_actions.py",
    "inspection/describe/*": "unit/inspection/test_previews.py",
    "inspection/diagnosis/*": "unit/inspection/diagnosis/test_checks.py",
    "inspection/transcript/*": "unit/inspection/transcript/test_transcript.py",
    "inspection/searching/*": "property/test_search.py",
    "protocol/*": "unit/protocol/test_connection.py",
    "redaction/key_formats": "unit/redaction/test_patterns.py",
    "redaction/readers": "unit/redaction/test_patterns.py",
    "redaction/randomness": "unit/redaction/test_patterns.py",
    "redaction/edits": "unit/redaction/test_redactor.py",
    "redaction/line_scan": "unit/redaction/test_redactor.py",
    "redaction/secret_finder": "unit/redaction/test_redactor.py",
    "redaction/markers": "unit/redaction/test_redactor.py",
    "redaction/pieces": "unit/redaction/test_redactor.py",
    "runtime": "integration/test_short_sessions.py",
    "runtime/sweep": "unit/cli/commands/faults/test_sweep.py",
    "runtime/*": "unit/runtime/test_fault_runner.py",
    "store/conditions": "unit/store/test_frame_table.py",
    "store/log_*": "unit/store/test_reader.py",
    "store/row*": "unit/store/test_row_writer.py",
    "store/*": "unit/store/test_schema.py",
    "text_form/*": "property/test_text_form.py",
}
"""What tests the modules that have no tests of their own, where the first match counts."""
GIVEN_UP = {
    "stage", "plot", "story", "stories", "teller", "told", "hearer", "debt", "debts", "deed",
    "deeds", "poison", "poisoned", "departure", "departures", "parcel", "retold", "heeded",
    "scribe", "judge", "judged",
}  # fmt: skip
"""Words from the theatre, from speech and from debt, for which the field has words of its own."""


@pytest.fixture(scope="module")
def source() -> Source:
    """The package as it is."""
    return Source(ROOT)


def table() -> dict[str, tuple[str, ...]]:
    """What each room may import, as the manual has it."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## What may import what")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    found = {re.findall("`(.+?)`", room)[0]: re.findall("`(.+?)`", of) for room, of in rows}
    bases = [re.findall("`(.+?)`", room)[0] for room, of in rows if "every room" in of]
    return {room: (*of, *(() if room in bases else bases)) for room, of in found.items()}


def test_imports_point_down(source: Source) -> None:
    """Each room imports only what the manual's table allows it."""
    assert architecture.wrong_arrows(source, table()) == []


def test_the_table_has_an_order() -> None:
    """Rooms stand above all that they import, so the arrows of the table make no circle."""
    seen: set[str] = set()
    for room, imports in table().items():
        assert set(imports) <= seen, room
        seen.add(room)


def test_no_modules_import_each_other(source: Source) -> None:
    """There is no circle of imports, not even of lazy ones or of imports for types."""
    assert architecture.circles(source) == []


def test_public_class_names_are_unique(source: Source) -> None:
    """In the whole package."""
    assert architecture.shared_class_names(source) == []


def test_old_names_are_absent(source: Source) -> None:
    """Modules, classes, functions and their values have the names of the field."""
    assert architecture.old_names(source, GIVEN_UP) == []


def test_every_module_has_tests(source: Source) -> None:
    """In the mirrored place, or where the table has them."""
    assert architecture.untested(source, ROOT / "tests", TESTED_BY) == []


def test_every_argument_is_explained(source: Source) -> None:
    """Each public function with two parameters or more explains each of them."""
    assert architecture.undocumented_arguments(source) == []


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Source]:
    """Makes a package of modules, each given by its path and text."""

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


ALLOWED = {"low": (), "high": ("low",), "errors": ()}


@pytest.mark.parametrize(
    "second",
    [
        "from acp_proxy.low.a import x",
        "def f():\n    from acp_proxy.low import a",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import acp_proxy.low.a",
    ],
)
def test_a_circle_is_found(plant: Callable[..., Source], second: str) -> None:
    """At the top of a module, in a function and for types alike."""
    source = plant(low__a="from acp_proxy.low.b import x", low__b=second)
    assert architecture.circles(source) == ["acp_proxy.low.a <-> acp_proxy.low.b"]


def test_a_wrong_arrow_is_found(plant: Callable[..., Source]) -> None:
    """A room may import what the table allows it, and itself."""
    source = plant(
        low__a="from acp_proxy.high.b import x",
        high__b="from acp_proxy.low.c import x\nfrom acp_proxy.high.d import y",
        low__c="from acp_proxy import errors",
        high__d="",
        errors="",
        other="",
    )
    assert architecture.wrong_arrows(source, ALLOWED) == [
        "acp_proxy.low.a imports acp_proxy.high.b: low may not import high",
        "acp_proxy.low.c imports acp_proxy.errors: low may not import errors",
        "acp_proxy.other is in no room of the table",
    ]


def test_a_class_name_that_two_modules_use_is_found(plant: Callable[..., Source]) -> None:
    """Private classes may have equal names."""
    source = plant(low__a="class A: ...\nclass _B: ...", low__b="class A: ...\nclass _B: ...")
    assert architecture.shared_class_names(source) == ["A: acp_proxy.low.a, acp_proxy.low.b"]


def test_an_old_name_is_found(plant: Callable[..., Source]) -> None:
    """As a word of any name, in any case; not within another word."""
    source = plant(low__stage="", low__a="class OldStage: ...\nbackstage = 1\nstages = 2")
    assert architecture.old_names(source, ["stage"]) == [
        "acp_proxy.low.a:1 uses OldStage",
        "acp_proxy.low.stage:0 uses stage",
    ]


def test_a_module_without_tests_is_found(plant: Callable[..., Source], tmp_path: Path) -> None:
    """A module with only a docstring needs none; an entry that is not needed is found as well."""
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
    """Private functions and functions with one parameter need no explanation."""
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
