"""Reads TOML of unknown origin, within bounds: a plan is small and flat."""

import re
import tomllib
from pathlib import Path
from typing import Any

from acp_proxy.plain_files import open_plain

LARGEST = 1_000_000
"""Bytes that a plan may have."""
_MOST_PARTS = 50
"""Of a dotted key; `tomllib` needs time and memory by the square of their number."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w\\-])(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")
"""Also where it stands in a text, which no plan needs."""


class BadToml(ValueError):
    """A text that is not TOML, or is too large; its message is the reason."""


def read_toml(text: str) -> dict[str, Any]:
    """Reads TOML.

    Raises:
        BadToml: it is not TOML, or too large: as a whole, or in numbers, keys or brackets.
    """
    if len(text) > LARGEST:
        raise BadToml(f"larger than {LARGEST:,} bytes")
    if _LONG_KEY.search(text):
        raise BadToml(f"more than {_MOST_PARTS} words joined by dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise BadToml("nested too deeply") from None
    except ValueError as e:  # of a number with thousands of digits, too
        reason = str(e).partition("; ")[0]
        raise BadToml(f"not TOML: {reason[:1].lower()}{reason[1:]}") from None


def read_toml_file(path: Path) -> dict[str, Any]:
    """Reads a file as TOML.

    Raises:
        BadToml: see `read_toml`; or the file is too large, or not UTF-8.
        OSError: it cannot be read, or is not a plain file.
    """
    with open_plain(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadToml(f"larger than {LARGEST:,} bytes")
    try:
        return read_toml(data.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError as e:
        raise BadToml(f"not TOML: {e}") from None
