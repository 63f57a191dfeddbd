"""The scripts of the report page pass their tests and the checks of their types and style."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tests.support.npm_packages import ROOT
from tests.tools import front_end_checks as checks

if TYPE_CHECKING:
    from pathlib import Path

_BAD_STYLE = """\
import { parseFilter as parse } from "./grammar.js";
import {
  patternTest } from "./json.js";
import every from "./json.js";
import "./planted.js";
export default every;
export * from "./json.js";
parse(patternTest, undefinedName);
const unused = 1;
document.body.innerHTML = location.hash;
document.body["outerHTML"] = "";
document.body.insertAdjacentHTML("beforeend", "");
document.write("");
eval("1");
new Function("1");
setTimeout("1");
document.body.setAttribute("style", "");
document.body.setAttribute("onclick", "");
document.body.setAttributeNS(null, "href", "");
fetch("https://example.com");
window.fetch("https://example.com");
import("./json.js");
location.href = "javascript:1"; // eslint-disable-line
window.planted = {a: 1 };
window.planted = { a: 1};
"""
"""One mistake in each line but the second one of an import."""
_FINE = {3}
_BAD_TYPES = """\
/** @param {number} size */
export const planted = (size) => size.length;
"""


def _run(command: list[str | Path], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, input=text, capture_output=True, text=True, check=False
    )


def test_the_tests_of_the_scripts_pass(npm_packages: Path) -> None:
    """The tests of the report page's scripts pass in Node."""
    modules = sorted(checks.CHECKED.glob("*.test.mjs"))
    result = _run([checks.node(npm_packages), "--test", *modules])
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_scripts_have_types(npm_packages: Path, tmp_path: Path) -> None:
    """The TypeScript compiler finds no mistake in the report page's scripts."""
    planted = tmp_path / "planted.js"
    planted.write_text(_BAD_TYPES)
    project = tmp_path / "tsconfig.json"
    settings = {
        "extends": str(checks.CHECKED / "tsconfig.json"),
        "include": [str(planted), f"{checks.FRONT_END}/**/*.js"],
    }
    project.write_text(json.dumps(settings))
    result = _run(checks.types_command(npm_packages, project)).stdout.splitlines()
    assert [line.partition("planted.js")[2] for line in result] == [
        "(2,39): error TS2339: Property 'length' does not exist on type 'number'."
    ], "\n".join(result)


def test_the_rules_find_what_breaks_them(npm_packages: Path) -> None:
    """ESLint reports each line with a planted mistake in a script of the report page."""
    name = str(checks.FRONT_END / "filter/planted.js")
    words = ("--format", "json", "--stdin", "--stdin-filename", name)
    result = _run(checks.style_command(npm_packages, *words), _BAD_STYLE)
    lines = {message["line"] for message in json.loads(result.stdout)[0]["messages"]}
    assert lines == {*range(1, len(_BAD_STYLE.splitlines()) + 1)} - _FINE
