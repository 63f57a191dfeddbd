"""Joins the modules of the front end into one script that a page can contain.

A page that is opened from a file cannot import ES modules. So the modules are joined into one
function: each module once, after its imports, without comments and indentation.

Top-level names of all modules must be unique, since they share one scope. Only a few forms of code
are supported; any other form raises an error when the page is made.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from attrs import field, frozen

from acp_proxy.base.errors import AcpProxyError

_IMPORT = re.compile(r'import \{ ?(\w+(?:, \w+)*),? ?\} from "(\.{1,2}/[\w./-]+\.js)";')
_DECLARATION = re.compile(r"(?:async function\*?|function\*?|class|const|let|var) (\w+)")
_ANY_DECLARATION = re.compile(r"(?:async\b|function\b|class\b|const\b|let\b|var\b)")
_REFUSED = re.compile(r"\bimport\s*\(|\bimport\.meta\b|</?script|<!--", re.IGNORECASE)
_TICK = re.compile(r"(?<!\\)(?:\\\\)*`")
_LITERAL = re.compile(r"""(["'`])(?:\\.|(?!\1)[^\\])*\1""")
"""Matches a string literal with its quotes."""

_CAST = re.compile(r"/\*\* @type \{.*?\} \*/ ?")
"""Matches a type annotation within a line. It is removed when the scripts are joined."""

Read = Callable[[str], str]
"""A function that returns the text of a module. Its argument is the path below the front end."""


class NotJoined(AcpProxyError):
    """A module of the front end has a form that cannot be joined."""


@frozen
class _Module:
    """The code of a module, with its imports and exports."""

    path: str
    imports: Mapping[str, str]
    """For each imported name, the path of its module."""
    names: list[str]
    """The names that the module declares at the top level."""
    exports: list[str]
    lines: list[str] = field(repr=False)


def joined(entry: str, read: Read) -> str:
    """Returns a script: one function, in strict mode, with a module and all modules it imports.

    Args:
        entry: the path of the module.
        read: returns the text of a module.

    Raises:
        NotJoined: a module has an unsupported form, two modules have the same top-level name, a
            name is imported that its module does not export, or imports are circular.
    """
    modules: dict[str, _Module] = {}
    _collect(entry, read, modules, ())
    owners: dict[str, str] = {}
    for module in modules.values():
        for name in module.names:
            if name in owners:
                raise NotJoined(f"{module.path}: {name} is declared in {owners[name]} as well")
            owners[name] = module.path
        for name, path in module.imports.items():
            if name not in modules[path].exports:
                raise NotJoined(f"{module.path}: {path} exports no {name}")
    body = "\n".join(line for module in modules.values() for line in module.lines)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _collect(path: str, read: Read, modules: dict[str, _Module], above: tuple[str, ...]) -> None:
    """Adds a module to `modules`, after all modules that it imports."""
    if path in above:
        raise NotJoined(f"{path}: modules import each other: {' -> '.join((*above, path))}")
    if path in modules:
        return
    module = _read_module(path, read(path))
    for imported in dict.fromkeys(module.imports.values()):
        _collect(imported, read, modules, (*above, path))
    modules[path] = module


def _read_module(path: str, text: str) -> _Module:
    imports: dict[str, str] = {}
    names, exports, lines = list[str](), list[str](), list[str]()
    for number, line in _code(path, text):
        place = f"{path}:{number}"
        if match := _REFUSED.search(line):
            raise NotJoined(f"{place}: {match[0]} cannot be in a page's script")
        if len(_TICK.findall(line)) % 2 and "`" in _LITERAL.sub("", line):
            raise NotJoined(f"{place}: expected the end of a template literal on its first line")
        if line.startswith("import"):
            match = _IMPORT.fullmatch(line)
            if match is None:
                raise NotJoined(f'{place}: expected import {{name}} from "./module.js";')
            source = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
            imports |= dict.fromkeys(match[1].split(", "), source)
            continue
        is_exported = line.startswith("export")
        if is_exported:
            line = line.removeprefix("export ")
        if is_exported or _ANY_DECLARATION.match(line):
            match = _DECLARATION.match(line)
            if match is None:
                raise NotJoined(f"{place}: expected a function, a class, a const or a let")
            names.append(match[1])
            exports += [match[1]] if is_exported else []
        elif line.startswith("await"):
            raise NotJoined(f"{place}: await is possible only within functions")
        if line.endswith("\\"):
            raise NotJoined(f"{place}: expected the end of a string literal on its first line")
        lines.append(_CAST.sub("", line).lstrip())
    return _Module(path, imports, names, exports, lines)


def _code(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines with code, each with its number. Blank lines and comments are left out."""
    in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if in_comment:
            in_comment = "*/" not in bare
            if not in_comment and not bare.endswith("*/"):
                raise NotJoined(f"{path}:{number}: expected nothing after the end of a comment")
        elif bare.startswith("/*") and "*/" not in bare:
            in_comment = True
        elif bare and not bare.startswith("//") and not _is_comment(bare):
            yield number, line.rstrip()


def _is_comment(line: str) -> bool:
    """Whether a line is nothing but a comment."""
    return line.startswith("/*") and line.endswith("*/") and line.count("*/") == 1
