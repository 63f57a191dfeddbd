"""Finds the directories of one recording inside texts, in any spelling."""

import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import quote

from attrs import define, field

_SYSTEM = {
    *("/bin", "/dev", "/etc", "/home", "/mnt", "/opt", "/private", "/root", "/srv", "/tmp"),
    *("/usr", "/Users", "/var"),
}
"""System directories. They are too common in texts to stand for a directory of the recording."""
_URI = "file://"
_ABSOLUTE = re.compile(r"/|[A-Za-z](?::|%3[Aa])[/\\]")
_WORD, _PATH = r"[\w.-]", r"[\w./\\-]"
"""The characters that may not precede an absolute path in a text, and the characters that may not
precede a relative path."""
_MEANT = re.compile(rf"\\\\|\w+:/|\[redacted:|{_ABSOLUTE.pattern}")
"""Matches the beginning of an absolute directory, or of a marker that may replace a directory."""
_ENCODED = re.compile(r"%[0-9A-F]{2}")
_LINKED = ("/tmp/", "/var/")
"""Directories that, on macOS, are links to directories below `/private`."""
_LEAST_CUT = 4
"""At the end of a cut text, the start of a directory counts if it has at least this many
characters."""


def is_relative(path: str) -> bool:
    """Whether a path depends on the working directory of a process."""
    return _MEANT.match(path) is None


@define
class Directories:
    """The directories of a recording, found in any spelling."""

    most: int = 1000
    """The largest number of directories to search for."""
    _roots: dict[str, str] = field(factory=dict)
    """For each spelling of a directory, the directory as it was added."""
    _common: dict[str, str] = field(factory=dict)
    """System directories by spelling. Only a text that begins with a system directory refers to
    it."""
    _words: set[str] = field(factory=set)
    """Words for a quick search: a text with a directory contains at least one of these words."""
    _count: int = 0
    _pattern: re.Pattern[str] | None = None

    def add(self, path: str, *, is_sure: bool = False) -> None:
        """Adds a directory. A text that is not a path is ignored.

        Args:
            path: the path as written.
            is_sure: whether to search for the directory anywhere in a text, even if it is a system
                directory.
        """
        trimmed = path.rstrip("/\\")
        if not ("/" in trimmed or "\\" in trimmed) or self._count >= self.most:
            return
        self._count += 1
        if trimmed in _SYSTEM and not is_sure:
            self._common[trimmed] = path
            self._words.add(trimmed)
            return
        spelled = [*_spellings(trimmed)]
        self._roots.update(dict.fromkeys(spelled, path))
        self._words.update(
            text for text in spelled if not any(part in text for part in spelled if part != text)
        )
        self._pattern = None

    def may_be_in(self, text: str) -> bool:
        """Quickly checks a text: if the result is False, the text certainly names no directory."""
        if "/" in text:
            for word in self._words:
                if word in text:
                    return True
        return "\\" in text

    def found_in(self, text: str) -> list[tuple[int, int, str]]:
        """Returns each directory in a text: its start and its end in the text, and the directory.

        The directory has the spelling in which it was added.
        """
        cuts: list[tuple[int, int, str]] = []
        if self._roots and ("/" in text or "\\" in text):
            for match in self._root.finditer(text):
                cuts.append((match.start(), match.end(), self._roots[match[0]]))
        for root, path in self._common.items():
            start = len(_URI) if text.startswith(_URI) else 0
            if f"{text}/".startswith(f"{root}/", start):
                cuts.append((start, start + len(root), path))
        return cuts

    def cut_in(self, text: str) -> tuple[int, str] | None:
        """Returns the first directory in a text, and its position; None without a directory.

        The text may have been cut. So the beginning of a directory counts, too, if the text ends
        with it.
        """
        match = self._root.search(text) if self._roots else None
        if match is not None:
            return match.start(), self._roots[match[0]]
        text = text.rstrip("….")
        for root, path in self._roots.items():
            for size in range(min(len(root), len(text)), _LEAST_CUT - 1, -1):
                if root.startswith("/") and text.endswith(root[:size]):
                    return len(text) - size, path
        return None

    @property
    def _root(self) -> re.Pattern[str]:
        """A pattern that matches any of the directories; the longest directory is tried first."""
        if self._pattern is None:
            # It is fastest to find the first character of a path before checking what precedes it.
            groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
            for root in sorted(self._roots, key=len, reverse=True):
                before = _WORD if _ABSOLUTE.match(root) else _PATH
                groups[re.escape(root[0]), before].append(re.escape(root[1:]))
            spelled = (
                rf"{first}(?<!{before}{first})(?:{'|'.join(rest)})"
                for (first, before), rest in groups.items()
            )
            self._pattern = re.compile(rf"(?:{'|'.join(spelled)})(?![\w-]|\.\w)")
        return self._pattern


def _spellings(directory: str) -> Iterator[str]:
    """Yields the spellings that a directory may have in texts.

    A spelling is the path, the path as it is encoded in a URI, either of the two without the first
    slash, or (on macOS) the path with ``/private`` in front.
    """
    slashed = directory.replace("\\", "/")
    encoded = [quote(slashed, safe=safe, errors="surrogatepass") for safe in ("/:", "/:@", "/")]
    lower = [_ENCODED.sub(lambda match: match[0].lower(), text) for text in encoded]
    for spelled in dict.fromkeys((directory, slashed, *encoded, *lower)):
        yield spelled
        if spelled.count("/") > 1 and spelled.startswith("/"):
            yield spelled[1:]
    if directory.startswith(_LINKED):
        yield f"/private{directory}"
