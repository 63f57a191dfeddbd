"""The manual page about faults agrees with the code, also about how to add a kind."""

from __future__ import annotations

import functools
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from acp_proxy.faults.manual import Setting, manual_of, trigger_manual
from acp_proxy.faults.plan import KINDS, load_plan, ready_plans, structure_plan
from tests.support.cases import each_case
from tests.support.fault_playbook import check
from tests.unit.test_docs import first_cells, page, section

if TYPE_CHECKING:
    import pytest

PAGE = page("faults.md")
ROOT = Path(__file__).parents[3]


def row(setting: Setting) -> str:
    """The row of a setting."""
    default = setting.default
    written = "" if default is None or default == {} else f" = {json.dumps(default)}"
    kind = ", ".join(f"`{word}`" for word in setting.choices) or setting.type
    return f"| `{setting.name}{written}` | {kind} | {setting.about} |"


@each_case("word", KINDS)
def test_every_kind_has_its_section(word: str) -> None:
    """The manual page about faults has a section for each kind of fault."""
    text = section(PAGE, word)
    manual = manual_of(KINDS[word])
    assert manual.about in text
    assert [line for line in text.splitlines() if line.startswith("| `")] == [
        row(setting) for setting in manual.settings
    ]


def test_each_section_is_about_a_kind() -> None:
    """The manual has exactly one section for each kind of `faults list`, in the same order."""
    assert re.findall(r"^### (.*)$", section(PAGE, "Kinds"), re.MULTILINE) == list(KINDS)


def test_every_trigger_has_its_row() -> None:
    """The manual page about faults has a row for each trigger of a rule, such as `after`."""
    rows = section(PAGE, "What lets a rule fire").splitlines()
    assert [line for line in rows if line.startswith("| `")] == [row(s) for s in trigger_manual()]


def test_every_ready_plan_has_its_row() -> None:
    """The manual page about faults has a row for each ready plan."""
    plans = section(PAGE, "Ready plans")
    for name in ready_plans():
        assert f"| `@{name}` | {load_plan(f'@{name}').about} |" in plans
    assert first_cells(plans) == [f"@{name}" for name in ready_plans()]
    tables = section(PAGE, "What real clients do")
    assert {cell for cell in first_cells(tables) if cell != "no faults"} <= {
        f"@{name}" for name in ready_plans()
    }


def test_the_example_is_a_plan() -> None:
    """The example in the manual page about faults is a valid fault plan."""
    (example,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(structure_plan(tomllib.loads(example), "page").rules) == 2


def test_the_example_of_explain_is_its_output() -> None:
    """The manual page about faults shows the real output of `faults explain`."""
    from tests.support.command_line import run

    text = section(PAGE, "What a plan does")
    (block,) = re.findall(r"^```\n\$ acp-proxy (.*?)^```", text, re.MULTILINE | re.DOTALL)
    command, *lines = block.splitlines()
    assert run(*command.split()).stdout.splitlines() == lines


def test_the_kind_of_the_how_to_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manual's example of a new kind of fault, `shout`, turns letters into capitals."""
    text = section(PAGE, "To add a kind")
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


def places(heading: str) -> list[str]:
    """Returns the files in the table of a section of the manual page about faults."""
    return first_cells(section(PAGE, heading))


@functools.cache
def package() -> dict[str, str]:
    """Returns the text of each file of the package by its path."""
    paths = sorted((ROOT / "acp_proxy").rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def files_with(*words: str) -> set[str]:
    """Returns the files of the package that contain one of the words."""
    return {
        path
        for path, text in package().items()
        for word in words
        if word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    }


def test_a_kind_is_named_only_where_the_how_to_says() -> None:
    """Each kind of fault is named only in the files that the how-to in docs/faults.md lists."""
    listed = places("To add a kind")
    own, registry, manual, playbooks = listed
    assert (ROOT / registry).is_file()
    assert (ROOT / manual).samefile(ROOT / "docs" / "faults.md")
    written = (ROOT / playbooks).read_text(encoding="utf-8")
    for word, kind in KINDS.items():
        module = kind.__module__.rpartition(".")[2]
        file = own.replace("shout", module)
        assert files_with(kind.__name__) == {file}
        assert files_with(f"kinds.{module}", f"kinds/{module}") == set()
        assert f'"{module}"' in (ROOT / registry).read_text(encoding="utf-8")
        assert re.search(rf"\b{word}\b", written), word


def test_a_ready_plan_is_named_only_where_the_how_to_says() -> None:
    """Each ready fault plan is named only in the files that the how-to in docs/faults.md lists."""
    plan, manual = places("To add a ready plan")
    assert (ROOT / manual).samefile(ROOT / "docs" / "faults.md")
    for name, path in ready_plans().items():
        assert path.samefile(ROOT / plan.replace("NAME", name))
        assert files_with(f'"@{name}"', f"ready/{name}") == set()


def test_no_kind_has_a_clock_or_a_generator_of_its_own() -> None:
    """No module of a kind of fault imports a clock or a random generator."""
    directory = ROOT / "acp_proxy" / "faults" / "kinds"
    for path in directory.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^(import|from) (random|time|trio|asyncio)", source, re.MULTILINE)
    modules = {kind.__module__ for kind in KINDS.values()}
    assert modules == {
        f"acp_proxy.faults.kinds.{path.stem}"
        for path in directory.glob("*.py")
        if path.stem != "__init__"
    }
