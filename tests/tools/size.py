"""Counts the lines of Python and SQL in the package, by room, for `make size`.

The program fails if the package has more lines or files than pyproject.toml allows. A line of
Python counts if it has a token. Comments, docstrings and other strings that are statements do not
count. A line of SQL counts if it is neither blank nor a comment.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "acp_proxy"
_KINDS = ("*.py", "*.sql")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    """Returns the number of lines with code in a Python source."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - _lines_of_prose(ast.parse(source)))


def sql_lines(source: str) -> int:
    """Returns the number of SQL lines that are neither blank nor a comment."""
    lines = (line.strip() for line in source.splitlines())
    return sum(not line.startswith("--") for line in lines if line)


def _lines_of_prose(tree: ast.Module) -> set[int]:
    """Returns the line numbers of all strings that are statements, such as docstrings."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
                prose.update(range(node.lineno, end + 1))
    return prose


def table(package: Path) -> tuple[list[str], int, int]:
    """Returns a line for each room and for the total, and the total of lines and of files."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in (path for kind in _KINDS for path in package.rglob(kind)):
        lines_of = sql_lines if path.suffix == ".sql" else code_lines
        count = lines_of(path.read_text(encoding="utf-8"))
        inside = path.relative_to(package)
        for room in [f"{parent.as_posix()}/" for parent in inside.parents[:-1]] or [inside.name]:
            lines[room] += count
            files[room] += 1
        lines[""] += count
        files[""] += 1
    rows = [
        f"{lines[room]:7,} lines {files[room]:4} files  {'  ' * (room.count('/') - 1)}{room}"
        for room in sorted(lines, key=lambda room: ("/" not in room, room))
        if room
    ]
    total = f"{lines['']:7,} lines {files['']:4} files  in all"
    return [*rows, total], lines[""], files[""]


def excess(lines: int, files: int, most: dict[str, int]) -> str:
    """Returns a sentence if the package is larger than allowed, and "" otherwise."""
    if lines <= most["lines"] and files <= most["files"]:
        return ""
    return (
        f"expected at most {most['lines']:,} lines of code in {most['files']} files, got {lines:,}"
        f" in {files}; leave the package smaller, or raise tool.acp-proxy.size in pyproject.toml"
    )


if __name__ == "__main__":
    shown, line_count, file_count = table(PACKAGE)
    sys.stdout.write("".join(f"{line}\n" for line in shown))
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    sys.exit(excess(line_count, file_count, project["tool"]["acp-proxy"]["size"]) or 0)
