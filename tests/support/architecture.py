"""Finds where the source of the package breaks the rules of docs/architecture.md.

Each function takes a `Source` and returns a sentence for each violation.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

PACKAGE = "acp_proxy"


@functools.cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Returns all nodes of a syntax tree. Several tests need them, so they are kept."""
    return [*ast.walk(tree)]


@frozen
class Source:
    """The modules of a package.

    Attributes:
        root: the directory that holds the package.
        modules: the syntax tree of each, by its full name.
    """

    root: Path
    modules: Mapping[str, ast.Module] = field()
    _imported: dict[str, set[str]] = field(factory=dict, init=False)

    @modules.default
    def _read(self) -> dict[str, ast.Module]:
        paths = sorted((self.root / PACKAGE).rglob("*.py"))
        return {self._name(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def imports(self, module: str) -> set[str]:
        """Returns all modules that a module imports, also in functions.

        A module of another package, such as trio, has the name that the import statement contains.
        """
        if module not in self._imported:
            nodes = nodes_of(self.modules[module])
            self._imported[module] = {name for node in nodes for name in self._names(node)}
        return self._imported[module]

    def _names(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                outer = node.module or ""
                inner = f"{outer}.{alias.name}"
                yield inner if inner in self.modules else outer


def room(module: str, rooms: Collection[str]) -> str:
    """Returns a module's room: the longest of `rooms` that begins its path, or its own path."""
    parts = module.split(".")[1:]
    for end in range(len(parts), 0, -1):
        if (name := "/".join(parts[:end])) in rooms:
            return name
    return "/".join(parts)


def wrong_arrows(
    source: Source, order: Sequence[str], refused: Mapping[str, Collection[str]]
) -> list[str]:
    """Returns a sentence for each import that the order or a refusal of rooms forbids.

    Args:
        source: the package.
        order: the rooms; each may import itself and the rooms before it.
        refused: the rooms that a room or folder never imports, although they come before it.
    """
    results = []
    for module in source.modules:
        if module == PACKAGE:
            continue
        here = room(module, order)
        if here not in order:
            results.append(f"{module} is in no room of the table")
            continue
        never = [
            name for place, names in refused.items() if is_within(module, place) for name in names
        ]
        for name in sorted(source.imports(module) & source.modules.keys() - {PACKAGE}):
            there = room(name, order)
            if there in order and order.index(there) > order.index(here):
                results.append(f"{module} imports {name}: {there} comes after {here}")
            results += [
                f"{module} imports {name}: it never imports {place}"
                for place in never
                if is_within(name, place)
            ]
    return results


def is_within(module: str, place: str) -> bool:
    """Whether a module is the module or in the folder of a place.

    Args:
        module: the full name of the module.
        place: a path in the package, such as ``playback/shared``.
    """
    return f"{module}.".startswith(f"{PACKAGE}.{place.replace('/', '.')}.")


def circles(source: Source) -> list[str]:
    """Returns groups of modules that import each other, also in functions or for types only."""
    graph = {
        module: source.imports(module) & source.modules.keys() - {module}
        for module in source.modules
    }
    return [" <-> ".join(sorted(group)) for group in _strongly_connected(graph) if len(group) > 1]


def _strongly_connected(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Returns groups of nodes that reach each other, by Tarjan's algorithm."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    results: list[set[str]] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        path.append(node)
        for other in graph[node]:
            if other not in numbers:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in path:
                lowest[node] = min(lowest[node], numbers[other])
        if lowest[node] == numbers[node]:
            start = path.index(node)
            results.append(set(path[start:]))
            del path[start:]

    for node in graph:
        if node not in numbers:
            visit(node)
    return results


def shared_class_names(source: Source) -> list[str]:
    """Returns names of public classes that several modules define."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, tree in source.modules.items():
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


def old_names(source: Source, names: Collection[str]) -> list[str]:
    """Returns modules, classes, functions and arguments that have a name which was given up."""
    banned = {name.lower() for name in names}
    results = []
    for module, tree in source.modules.items():
        used = dict.fromkeys(module.split("."), 0)
        used |= {name: line for node in nodes_of(tree) for name, line in _names(node)}
        results += [
            f"{module}:{line} uses {name}"
            for name, line in used.items()
            if banned & {word.lower() for word in _words(name)}
        ]
    return results


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.Attribute):
        yield node.attr, node.lineno


def _words(name: str) -> list[str]:
    """Returns the words of a name, whether underscores or capitals separate the words."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)


def untested(source: Source, tests: Path, elsewhere: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each module without tests, and for each wrong entry.

    The tests of a module `acp_proxy.a.b` are in `unit/a/test_b.py` below `tests`.

    Args:
        source: the package.
        tests: the directory of all tests.
        elsewhere: the file below `tests` that tests a module instead, by the module's path such as
            ``a/b``, or by a pattern such as ``a/*``; the first that matches counts.
    """
    results, used = [], set()
    for module, tree in source.modules.items():
        parts = module.split(".")[1:]
        if not parts or all(isinstance(node, ast.Expr) for node in tree.body):
            continue
        name = "/".join(parts)
        own = tests.joinpath("unit", *parts[:-1], f"test_{parts[-1].strip('_')}.py")
        entry = next((item for item in elsewhere if fnmatch.fnmatchcase(name, item)), None)
        if own.exists():
            if entry == name:
                results.append(f"{name} has tests of its own, and needs no entry")
        elif entry is None:
            results.append(f"{name} has no {own.relative_to(tests)}")
        else:
            used.add(entry)
    for entry, path in elsewhere.items():
        if not (tests / path).exists():
            results.append(f"{entry} is tested by {path}, which does not exist")
        elif entry not in used:
            results.append(f"{entry} is no module that needs an entry")
    return results


_EXPLAINED = r"override|command\(|\brule\(|_rule\("
"""Decorators of functions whose arguments another docstring explains."""


def undocumented_arguments(source: Source) -> list[str]:
    """Returns public functions with two or more parameters that their docstring does not explain.

    The docstring of a command is its help, where each option explains itself. The
    registry explains the arguments of rules once.
    """
    results = []
    for module, tree in source.modules.items():
        for function in _public_functions(tree.body):
            parameters = _parameters(function)
            text = ast.get_docstring(function) or ""
            explained = set(re.findall(r"^ {4}\*{0,2}(\w+):", text.partition("Args:")[2], re.M))
            missing = [name for name in parameters if name not in explained]
            if len(parameters) > 1 and missing:
                names = ", ".join(missing)
                results.append(
                    f"{module}:{function.lineno} {function.name} does not explain {names}"
                )
    return results


def _public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_functions(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(ast.unparse(item) for item in node.decorator_list)
            if not node.name.startswith("_") and not re.search(_EXPLAINED, decorators):
                yield node


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return [item.arg for item in given if item.arg not in ("self", "cls") and item.arg[0] != "_"]


_SQL = re.compile(
    r"\b(SELECT\b|INSERT (OR \w+ )?INTO|DELETE FROM|UPDATE [\w.]+ SET|PRAGMA |CREATE \w|ATTACH ')"
    r"|^\s*(?i:select\b.*\bfrom|insert into|delete from|pragma)\b"
)
_EXECUTES = ("execute", "executemany", "executescript")


def lines_with_sql(tree: ast.Module) -> list[int]:
    """Returns the lines of a module that contain or run SQL, without comments and docstrings."""
    nodes = nodes_of(tree)
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    actual = []
    for node in nodes:
        if isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) and id(node) not in prose else ""
            if _SQL.search(text):
                actual.append(node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _EXECUTES:
            actual.append(node.lineno)
    return sorted(actual)


def oversized(source: Source) -> list[str]:
    """Returns the modules of more than 400 lines, and the functions of 80 lines or more."""
    results = []
    for module, tree in source.modules.items():
        path = source.root.joinpath(*module.split(".")).with_suffix(".py")
        path = path if path.exists() else path.with_suffix("") / "__init__.py"
        results += [module] * (path.read_bytes().count(b"\n") > 400)
        results += [
            f"{module}: {node.name}"
            for node in nodes_of(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= 80
        ]
    return results
