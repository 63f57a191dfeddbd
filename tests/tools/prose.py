"""Checks the English of docstrings, comments, messages and pages, and the names of values.

``python -m tests.tools.prose [PATH]...`` prints lines to rewrite, and fails if there are any.
Readers had to read sentences of these patterns twice. Each pattern has a bad and a good example.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
ROOT = Path(__file__).parents[2]
PLACES = ("acp_proxy", "tests", "bench", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")
NAMES = {
    "one": "message, rule, path, ...: the noun",
    "found": "match, divergences, recording, ...: the result",
    "seen": "known_ids, message, names, ...: the members",
    "talk": "conversation",
    "done": "transition, result, completed, ...",
    "held": "queued, pending, buffered, ...",
}
"""Names that say nothing about a value, with what to say in their place."""


@frozen
class Pattern:
    """A form of sentences that readers have to read twice.

    Attributes:
        name: a name for the messages.
        form: a regular expression that finds such sentences.
        bad: a sentence with the pattern.
        good: the same statement without the pattern.
        in_tests: whether only docstrings of tests are searched.
    """

    name: str
    form: str
    bad: str
    good: str
    in_tests: bool = False


PATTERNS = (
    Pattern(
        "a clause with a preposition and which",
        r"\b(?i:of|by|at|for|below|beside|without) which\b",
        "Words of which each name contains one.",
        "Every name contains one of these words.",
    ),
    Pattern(
        "that which",
        r"\b(?i:that) which\b",
        "That which was read is logged.",
        "Bytes are logged when they are read.",
    ),
    Pattern(
        "a subject made of what",
        r"(?:^|[.:;] +|\n\s*)What (?![^.;\n]*\?)",
        "What it has not sent is missing.",
        "Messages that were not sent are missing.",
    ),
    Pattern(
        "a noun that is no noun",
        r"(?<![Tt]here )\b(?:is|are|was|were) (?:none|of no|no (?!longer|more|less|larger))\b",
        "A line that is no message is stored.",
        "A line that is not a message is stored.",
    ),
    Pattern(
        "a docstring that needs the name of its test",
        r"^(?:It|Its|They|Their|That|Those|These|This|So|And|Or|But|Nor|Also|Then|Both|Neither) ",
        "It is written back.",
        "An edited line is written back.",
        in_tests=True,
    ),
)


@frozen
class Hit:
    """A place in a file whose text should be rewritten.

    Attributes:
        path: the path of the file.
        line: the number of the line, from 1.
        why: the name of the pattern, or the bad name of a value.
        text: the words around the place.
    """

    path: Path
    line: int
    why: str
    text: str

    def __str__(self) -> str:
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{place}:{self.line}: {self.why}: {self.text}"


def hits_of(path: Path) -> Iterator[Hit]:
    """Yields the places to rewrite in a Python or Markdown file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from _of_prose(path, 1, _CODE.sub(lambda m: re.sub(r"[^\n]", "x", m[0]), source))
        return
    tree = ast.parse(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _of_prose(path, token.start[0], token.string)
    for node in ast.walk(tree):
        if name := _bound_name(node):
            yield Hit(path, node.lineno, f"the name {name!r}", NAMES[name])  # type: ignore[attr-defined]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from _of_prose(path, node.lineno, str(node.value.value))
        if isinstance(node, _FUNCTION) and node.name.startswith("test_"):
            yield from _of_prose(path, node.lineno, ast.get_docstring(node) or "", in_tests=True)


def _bound_name(node: ast.AST) -> str | None:
    """Returns the name that a node binds, if it is one of `NAMES`."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            pass
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            pass
        case _:
            return None
    return name if name in NAMES else None


def _of_prose(path: Path, line: int, text: str, *, in_tests: bool = False) -> Iterator[Hit]:
    for pattern in PATTERNS:
        if pattern.in_tests == in_tests:
            for match in re.finditer(pattern.form, text):
                start = line + text.count("\n", 0, match.end())
                words = text[max(0, match.start() - 30) : match.end() + 40]
                yield Hit(path, start, pattern.name, " ".join(words.split()))


def files(places: list[Path]) -> Iterator[Path]:
    """Yields the Python and Markdown files below some places, in order."""
    for place in places:
        paths = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in paths:
            if (
                path.suffix in (".py", ".md")
                and "data" not in path.parts
                and "removed" not in path.name
            ):
                yield path


def main(words: list[str]) -> int:
    """Prints all places to rewrite; returns the exit code."""
    places = [Path(word).resolve() for word in words] or [ROOT / place for place in PLACES]
    hits = [hit for path in files([p for p in places if p.exists()]) for hit in hits_of(path)]
    for hit in hits:
        sys.stdout.write(f"{hit}\n")
    return bool(hits)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
