"""Fuzzes one target with atheris for some time: ``python -m tests.fuzz.with_atheris``.

Inputs that reach new code are kept in a corpus, where the next run begins.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["acp_proxy"]):
    from tests.fuzz import targets

    _TARGET = targets.target(sys.argv[1])


def main(seconds: str, directory: str, prefix: str) -> None:
    """Fuzzes a target until the time is over; libFuzzer then ends the process.

    Args:
        seconds: the duration.
        directory: the directory of the corpus.
        prefix: the start of the names of files with failing inputs.
    """
    corpus = Path(directory, "corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    for data in _TARGET.seeds():
        if len(data) <= _TARGET.longest:
            (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
    words = Path(directory, "words")
    words.write_text("".join(f'"{_quoted(word)}"\n' for word in _TARGET.words if len(word) < 64))
    options = {"max_total_time": seconds, "max_len": _TARGET.longest, "timeout": 60, "dict": words,
               "rss_limit_mb": 2048, "artifact_prefix": prefix, "print_final_stats": 1}  # fmt: skip
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
    atheris.Setup(arguments, _TARGET.run_within_memory)
    atheris.Fuzz()


def _quoted(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main(*sys.argv[2:])
