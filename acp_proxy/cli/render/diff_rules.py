"""Options that make differences not count: as a hint, and as learned rules."""

import shlex
from collections.abc import Iterable, Sequence

from acp_proxy.cli.render.diff_reports import DiffReporter, differences
from acp_proxy.cli.render.output import say, warn
from acp_proxy.difference.learning import Learned, can_be_ignored, kind_of, place_of
from acp_proxy.difference.result import Diff, DiffEntry, Field
from acp_proxy.wording import counted

_MOST = 3
"""Rules that a hint has."""
_FORMS = {"--ignore": "--ignore PTR", "--apart": "--apart KIND"}


class RuleHint(DiffReporter):
    """Prints on stderr the options that would make the differences not count, if there are any.

    Args:
        words: how the recordings were named.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._rules: dict[str, None] = {}

    def begin(self, found: Diff) -> None:
        """Takes the differences of the handshakes."""
        self._add(found.handshake)

    def entry(self, entry: DiffEntry) -> None:
        """Takes the places where a frame has changed, or that it has moved."""
        if (kind := kind_of(entry)) is not None:
            self._let(f"--apart {quoted(kind)}")
        self._add(entry.fields)

    def end(self, _found: Diff) -> None:
        """Prints the hint."""
        if not self._rules:
            return
        learn = f"`acp-proxy inspect diff --learn {shlex.join(self._words)}` proposes rules"
        if len(self._rules) > _MOST:
            options = dict.fromkeys(_FORMS[rule.split()[0]] for rule in self._rules)
            warn(f"to let some of these pass: {' and '.join(options)}; {learn}")
        else:
            warn(f"to let these pass: {' '.join(self._rules)}; {learn}")

    def _add(self, fields: Iterable[Field]) -> None:
        for one in fields:
            if can_be_ignored(one):
                self._let(f"--ignore {quoted(place_of(one))}")

    def _let(self, rule: str) -> None:
        if len(self._rules) <= _MOST:
            self._rules[rule] = None


def say_learned(found: Learned) -> None:
    """Prints proposed rules as options, and their effect on stderr."""
    rules = [("--alias", pointer) for pointer in found.aliases]
    rules += [("--ignore", pointer) for pointer in found.ignored]
    rules += [("--apart", kind) for kind in found.apart]
    for option, what in rules:
        say(f"{option} {quoted(what)}")
    these = f"with {counted(len(rules), 'rule')}" if rules else "without any rule"
    if not found.rest.total:
        warn(f"{these} A and B are equal")
    elif rules:
        warn(f"{these} this remains: {differences(found.rest)}")
    else:
        warn(f"no rule helps: {differences(found.rest)}")


def quoted(word: str) -> str:
    """Quotes a word for a shell, on one line even if it has control characters."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    """A character as it stands between ``$'`` and ``'``."""
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogatepass"))
