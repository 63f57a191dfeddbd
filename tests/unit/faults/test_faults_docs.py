"""The page on faults agrees with the code: kinds, settings, triggers, plans, and its how-to."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from acp_proxy.faults.manual import Setting, first_sentence, manual_of, trigger_manual
from acp_proxy.faults.plan import load_plan, ready_plans, structure_plan
from acp_proxy.faults.registry import KINDS
from tests.fault_book import check
from tests.unit.test_docs import first_cells, page, section

PAGE = page("faults.md")


def row(setting: Setting) -> str:
    """The row of a setting."""
    default = setting.default
    written = "" if default is None or default == {} else f" = {json.dumps(default)}"
    kind = ", ".join(f"`{word}`" for word in setting.choices) or setting.type
    return f"| `{setting.name}{written}` | {kind} | {setting.about} |"


@pytest.mark.parametrize("word", KINDS)
def test_every_kind_has_its_section(word: str) -> None:
    """With its sentence, and a row for each setting as it is, and none for another."""
    text = section(PAGE, word)
    assert first_sentence(KINDS[word]) in text
    settings = manual_of(KINDS[word]).settings
    assert [line for line in text.splitlines() if line.startswith("| `")] == [
        row(setting) for setting in settings
    ]


def test_no_kind_is_made_up() -> None:
    """Each section under Kinds is that of one."""
    assert re.findall(r"^### (.*)$", section(PAGE, "Kinds"), re.MULTILINE) == list(KINDS)


def test_every_trigger_has_its_row() -> None:
    """As it is, in order."""
    rows = section(PAGE, "What sets a rule off").splitlines()
    assert [line for line in rows if line.startswith("| `")] == [row(s) for s in trigger_manual()]


def test_every_ready_plan_has_its_row() -> None:
    """With what it is about; and one among what real clients do."""
    plans = section(PAGE, "Ready plans")
    for name in ready_plans():
        assert f"| `@{name}` | {load_plan(f'@{name}').about} |" in plans
    assert first_cells(plans) == [f"@{name}" for name in ready_plans()]
    tables = section(PAGE, "What real clients do")
    assert set(first_cells(tables)) == {f"@{name}" for name in ready_plans()}


def test_the_example_is_a_plan() -> None:
    """The plan of the page can be read."""
    (example,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(structure_plan(tomllib.loads(example), "page").rules) == 2


def test_the_example_of_explain_is_what_it_says() -> None:
    """Its lines are those of the command."""
    from tests.commands import run

    text = section(PAGE, "What would it do")
    (block,) = re.findall(r"^```\n\$ acp-proxy (.*?)^```", text, re.MULTILINE | re.DOTALL)
    command, *lines = block.splitlines()
    *words, recording = command.split()
    said = run(*words, Path(__file__).parents[3] / recording).stdout
    assert said.startswith("\n".join(lines[:-1]))


def test_the_how_to_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who follows it has a kind that works, and that lists and explains itself."""
    text = section(PAGE, "Add a fault")
    (source,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (rule,) = re.findall(r"`(shout [^`]*=[^`]*)`", text)
    module = ModuleType("acp_proxy.faults.kinds.shout")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, "shout.py", "exec"), module.__dict__)
    monkeypatch.setitem(KINDS, "shout", module.Shout)
    check(
        [rule],
        r"""
        1 <- | abcd
        <- | abCD\n
        2 <- | a\c
        <- 2
        3 -> | abcd
        -> 3
        """,
    )
    manual = manual_of(KINDS["shout"])
    assert (manual.about, manual.settings[0].name) == (
        "The frame's letters become capitals.",
        "from_byte",
    )


def test_the_kinds_are_made_as_the_how_to_says() -> None:
    """Each is a file of its own, and none of them draws or waits in its own way."""
    directory = Path(sys.modules["acp_proxy.faults.registry"].__file__ or "").parent / "kinds"
    for path in directory.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^(import|from) (random|time|trio|asyncio)", source, re.MULTILINE)
    for kind in KINDS.values():
        assert sys.modules[kind.__module__].__file__ is not None
        assert kind.__module__.startswith("acp_proxy.faults.kinds.")
