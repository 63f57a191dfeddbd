"""Finds the secrets in one line of JSON, by the paths and the forms of its strings."""

import re

from attrs import define, field

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.redaction.edits import Edit, MaskedSpan, edits_in, join_spans, replaced
from acp_proxy.redaction.json_strings import (
    Decoded,
    JsonString,
    StringWalk,
    decoded_base64,
    encoded_base64,
)
from acp_proxy.redaction.private_text import blanked, private_text
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.secret_names import is_secret_name
from acp_proxy.redaction.secret_places import METHODS, Treatment, kind_of, of_variable, rule_for

_METHOD = re.compile(rb'"method"\s*:\s*"([^"\\]*)"')
_QUERY_VALUE = re.compile(r"[?&#][^=&#]*=([^&#]+)")


@define(eq=False)
class LineScan:
    """Scans the strings of one line.

    Args:
        finder: finds secrets in the strings.
        head: the first bytes of the line; they show the methods that the line names.
        variables: names of variables that the agent announced as secrets. The scan adds the names
            that this line announces.
        private: whether private text is masked too.
        paths: the JSON pointers of further values to mask.

    Attributes:
        walk: yields the strings of the line. Pass each string to `take`.
    """

    _finder: SecretFinder
    _head: bytes
    _variables: list[str]
    _private: bool = field(kw_only=True)
    _paths: tuple[tuple[str, ...], ...] = field(kw_only=True)
    walk: StringWalk = field(init=False, factory=StringWalk)
    _methods: frozenset[str] = field(init=False)
    _edits: list[Edit] = field(init=False, factory=list)
    _entries: dict[int, tuple[list[str], list[tuple[JsonString, str]]]] = field(
        init=False, factory=dict
    )
    _flags: dict[int, str] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._methods = _methods_in(self._head, every=self._private)

    def take(self, string: JsonString) -> None:
        """Searches one string; keeps it for `finish` if the search also needs later strings.

        Args:
            string: the next string of the line.
        """
        finder = self._finder
        treatment, kind = rule_for(string.path, self._methods, private=self._private)
        is_asked = any(_is_under(string.path, path) for path in self._paths)
        if is_asked:
            treatment, kind = Treatment.SECRET, "secret"
        if treatment is Treatment.KEEP:
            return
        if treatment in (Treatment.NAME, Treatment.ENTRY):
            self._take_entry(string, treatment, kind)
            return
        decoded = Decoded(string.raw)
        if string.path[-1:] == ("*",) and treatment is Treatment.COMMAND:
            flag = self._flags.pop(string.owner, "")
            if decoded.text.startswith("-") and "=" not in decoded.text:
                self._flags[string.owner] = decoded.text.lstrip("-")
            elif flag and is_secret_name(flag):
                treatment, kind = Treatment.SECRET, kind_of((flag,))
        if treatment is Treatment.VARIABLE:
            if len(self._variables) < REMEMBERED and decoded.text not in self._variables:
                self._variables.append(decoded.text)
        elif treatment is Treatment.SECRET:
            name = string.path[-1]
            is_named = kind not in ("env", "header") or is_secret_name(name, variable=True)
            spans = finder.secret(decoded.text, kind, named=is_named)
            if is_asked and not spans:
                spans = finder.requested(decoded.text)
            self._edits += edits_in(decoded, string.start, spans)
        elif treatment is Treatment.QUERY:
            spans = finder.spans(decoded.text, loose=True)
            for value in _QUERY_VALUE.finditer(decoded.text):
                marker = finder.remember(value[1], "url", named=False)
                spans.append(MaskedSpan(value.start(1), value.end(1), marker))
            self._edits += edits_in(decoded, string.start, join_spans(spans))
        elif treatment is Treatment.ADDRESS:
            spans = finder.spans(decoded.text, loose=True) + finder.address(decoded.text)
            self._edits += edits_in(decoded, string.start, join_spans(spans))
        elif treatment is Treatment.PRIVATE:
            text = decoded.text
            has_secret = bool(finder.spans(text, loose=False))
            new = blanked(text) if has_secret else private_text(text, string.path)
            if new != text:
                self._edits += edits_in(decoded, string.start, [MaskedSpan(0, len(text), new)])
        else:
            spans = finder.spans(decoded.text, loose=treatment is Treatment.COMMAND)
            self._edits += edits_in(decoded, string.start, spans)
            self._take_encoded(string, decoded)

    def finish(self) -> list[Edit]:
        """Returns the edits of the line; call it after the last string.

        Values in ``env`` and ``headers`` are searched only now, since a value may precede its name.
        """
        finder = self._finder
        for names, values in self._entries.values():
            for string, kind in values:
                decoded = Decoded(string.raw)
                name, text, skipped = names[0] if names else "", decoded.text, 0
                if not names and string.path[-1] == "*":
                    name, equals, text = text.partition("=")
                    skipped = len(name) + len(equals)
                treatment, _ = of_variable(name, "headers" if kind == "header" else "env")
                if treatment is Treatment.SECRET:
                    is_named = is_secret_name(name, variable=True)
                    is_named = is_named or name in self._variables
                    spans = finder.secret(text, kind, named=is_named)
                else:
                    spans = finder.spans(text, loose=True)
                spans = [MaskedSpan(a + skipped, b + skipped, new) for a, b, new in spans]
                self._edits += edits_in(decoded, string.start, spans)
        return self._edits

    def _take_entry(self, string: JsonString, treatment: Treatment, kind: str) -> None:
        is_word = string.path[-1] == "*"  # a string `NAME=value` in an array
        owner = -string.start if is_word else string.owner
        names, values = self._entries.setdefault(owner, ([], []))
        if treatment is Treatment.NAME:
            names.append(Decoded(string.raw).text)
        else:
            values.append((string, kind))

    def _take_encoded(self, string: JsonString, decoded: Decoded) -> None:
        """Masks secrets in base64-encoded terminal output."""
        if string.path[-1:] != ("data",) or not string.is_whole:
            return
        text = decoded_base64(decoded.text)
        if text is None or not self._finder.may_hold(text.encode("utf-8", "surrogateescape")):
            return
        if spans := self._finder.spans(text, loose=False):
            new = encoded_base64(replaced(text, spans))
            self._edits.append(Edit(string.start, string.end, new))


def _methods_in(head: bytes, *, every: bool) -> frozenset[str]:
    names = {name.decode("utf-8", "replace") for name in _METHOD.findall(head)}
    return frozenset(names if every else names & METHODS)


def _is_under(path: tuple[str, ...], pointer: tuple[str, ...]) -> bool:
    return len(path) >= len(pointer) and all(
        wanted in ("*", key) for key, wanted in zip(path, pointer, strict=False)
    )
