"""The scripts of a report page are joined into one, or refused."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from acp_proxy.report.page_script import NotJoined, joined
from tests.support.cases import each_case

APP = """
// What it is for.
import { shout } from "./words.js";
import {times, Counter} from "../data/numbers.js";

/**
 * Starts.
 * @returns {string}
 */
export function start() {
  // inside
  return shout("a") + times(2, 3) + new Counter().count + "//kept" + "/* kept */";
}
console.log(start());
"""
WORDS = """
import {times} from "../data/numbers.js";
const MARK = "!";
export const shout = (text) => text + MARK.repeat(times(1, 3));
"""
NUMBERS = """
/** Not for others. */
let calls = 0;
export function times(a, b) {
  calls += 1;
  return a * b;
}
export class Counter {
  get count() { return calls; }
}
"""
FILES = {"shell/app.js": APP, "shell/words.js": WORDS, "data/numbers.js": NUMBERS}


def join(app: str, **others: str) -> str:
    """Joins a module and those beside it."""
    files = {"app.js": app, **{f"{name}.js": text for name, text in others.items()}}
    return joined("app.js", files.__getitem__)


def test_modules_become_one_strict_function() -> None:
    """Each JavaScript module is once in the script of a report page."""
    made = joined("shell/app.js", FILES.__getitem__)
    assert made == (
        '(() => {\n"use strict";\n'
        "let calls = 0;\nfunction times(a, b) {\ncalls += 1;\nreturn a * b;\n}\n"
        "class Counter {\nget count() { return calls; }\n}\n"
        'const MARK = "!";\nconst shout = (text) => text + MARK.repeat(times(1, 3));\n'
        "function start() {\n"
        'return shout("a") + times(2, 3) + new Counter().count + "//kept" + "/* kept */";\n}\n'
        "console.log(start());\n})();\n"
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_does_what_the_modules_do() -> None:
    """The joined script of a report page behaves like its separate modules."""
    made = joined("shell/app.js", FILES.__getitem__)
    result = subprocess.run(["node", "-"], input=made, capture_output=True, text=True, check=True)
    assert result.stdout == "a!!!62//kept/* kept */\n"


@each_case(
    ("text", "words"),
    [
        ('import start from "./b.js";', "app.js:1: expected import {name}"),
        ('import * as b from "./b.js";', "app.js:1: expected import {name}"),
        ('import {one as two} from "./b.js";', "app.js:1: expected import {name}"),
        ('import {\n  one,\n} from "./b.js";', "app.js:1: expected import {name}"),
        ('import "./b.js";', "app.js:1: expected import {name}"),
        ('import {one} from "b";', "app.js:1: expected import {name}"),
        ('import {none} from "./b.js";', "app.js: b.js exports no none"),
        ('import {hidden} from "./b.js";', "app.js: b.js exports no hidden"),
        ("\nexport default 3;", "app.js:2: expected a function, a class, a const or a let"),
        ("const a = 1;\nexport {a};", "app.js:2: expected a function"),
        ('export * from "./b.js";', "app.js:1: expected a function"),
        ("const {a, b} = c;", "app.js:1: expected a function"),
        ("const a = 1;\nfunction a() {}", "app.js: a is declared in app.js as well"),
        ('import {one} from "./b.js";\nlet hidden;', "app.js: hidden is declared in b.js as well"),
        ("const a = `one\ntwo`;", "app.js:1: expected the end of a template literal"),
        ('const a = "one\\\ntwo";', "app.js:1: expected the end of a string literal"),
        ("await start();", "app.js:1: await is possible only within functions"),
        ('const a = import("./b.js");', "app.js:1: import( cannot be"),
        ("const a = import.meta.url;", "app.js:1: import.meta cannot be"),
        ('const a = "</SCRIPT>";', "app.js:1: </SCRIPT cannot be"),
        ('const a = "<!--";', "app.js:1: <!-- cannot be"),
        ('const a = "<script";', "app.js:1: <script cannot be"),
        ("/* a comment\n*/ const a = 1;", "app.js:2: expected nothing after the end of a comment"),
    ],
)
def test_other_forms_are_refused(text: str, words: str) -> None:
    """`join` refuses a script of a report page with `export default 3`, and names the script."""
    with pytest.raises(NotJoined) as refused:
        join(text, b="export const one = 1;\nconst hidden = 2;\n")
    assert str(refused.value).startswith(words)


def test_types_are_left_out() -> None:
    """The script of a report page contains no type annotations."""
    line = "const a = /** @type {{b?: () => void}} */ (/** @type {any} */ (c)).b;"
    assert "const a = ((c)).b;" in join(line)


def test_modules_that_import_each_other_are_refused() -> None:
    """If scripts of a report page import each other in a circle, the error names the scripts."""
    first = 'import {two} from "./b.js";\nexport const one = 1;'
    second = 'import {one} from "./app.js";\nexport const two = 2;'
    with pytest.raises(NotJoined, match=r"each other: app\.js -> b\.js -> app\.js"):
        join(first, b=second)


@pytest.mark.parametrize(
    "line",
    [
        r"const a = `a \` b`;",
        """const a = "`" + '`' + `it's`;""",
        """const a = `'${b("'", `'"'"'`)}'`;""",
    ],
)
def test_ticks_may_be_quoted(line: str) -> None:
    """The script of a report page keeps a backtick that is in a string."""
    assert line in join(line)
