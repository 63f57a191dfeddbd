"""Prints digests of the outputs of all commands, to compare two versions of acp-proxy.

python -m tests.tools.digests >before.txt          what every command prints and writes
python -m tests.tools.digests --against before.txt which of these outputs are no longer the same
python -m tests.tools.digests --show 'check tour'  the text of some outputs, to see what changed

Each command runs with the shipped and the captured recordings, with each format and `--json`. If a
version lacks an option, the output is the error. Placeholders replace times of day, paths and
random ids.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

from acp_proxy.cli.main import cli
from tests.support import captures
from tests.support.reactive_client import record_capture
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

_ONE = [
    "list --cwd /nowhere", "show {r}", "show {r} --json", "show {r} --unredacted",
    "log {r}", "log {r} --json", "log {r} --raw", "log {r} --no-fold", "log {r} --time clock",
    "log {r} --time delta", "log {r} --turn 1", "log {r} --seq 5", "log {r} --around 7 --context 3",
    "log {r} -n 3", "log {r} dir:to-agent", "log {r} is:failed or is:unanswered",
    "log {r} kind:request not method:session/prompt", "log {r} text:a size:>100",
    "log {r} method:sesion/update",
    "transcript {r}", "transcript {r} --json", "transcript {r} --full", "transcript {r} --turn 1",
    "stats {r}", "stats {r} --json", "stats {r} --turn 1 --top 3",
    "audit {r}", "audit {r} --json", "audit {r} --top 2",
    "check {r}", "check {r} --json", "check {r} --github", "check {r} --junit {o}.xml",
    "check {r} --top 0", "check {r} --dialect v2 --json", "check {r} --fail-on never",
    "check {r} --rule turn", "check {r} --update-baseline --baseline {o}.json",
    "search a {r}", "search -e [0-9]+ {r} --count", "search session {r} --json",
    "secrets {r}", "secrets {r} --check",
    "report {r} -o {o}.html", "report {r} -o {o}.html --turn 1 --no-payloads",
    "export {r}", "export {r} -o {o}.jsonl", "export {r} --format raw --dir to-agent",
    "export {r} --format raw --dir to-client", "export {r} --format raw --dir stderr",
    "export {r} --format mermaid", "export {r} --format mermaid --max 5",
    "export {r} --format pytest -o {o}", "export {r} kind:request",
    "bundle {r} -o {o}.zip", "bundle {r} -o {o}.zip --level private",
    "diff {r} {r}",
    # What goes, so that the list of changes is whole.
    "redact {r} -o {o}.jsonl --level private", "check {r} --coverage", "check {r} --markdown",
    "check {r} --sarif {o}.sarif", "audit {r} --markdown", "export {r} --format perfetto",
    "report {r} -o {o}.html --check", "upgrade {r}", "faults explain @late-updates {r}",
]  # fmt: skip
"""Commands on one recording; `{r}` stands for its name and `{o}` for a new file."""
_TWO = [
    "diff {r} {s}", "diff {r} {s} --json", "diff {r} {s} --expect structure",
    "diff {r} {s} --expect outcome", "diff {r} {s} --exact", "diff {r} {s} --learn",
    "diff {r} {s} --junit {o}.xml", "diff {r} {s} --ignore /params/prompt",
    "report {r} --against {s} -o {o}.html",
]  # fmt: skip
"""Commands on two recordings."""
_ALL = [
    "list {d}", "list {d} --json", "list {d} --check", "list {d} --check --json", "list {d} -n 3",
    "check {d}", "check {d} --json", "check {d} --junit {o}.xml", "check {d} --github",
    "check {d} --jobs 1 --results {o}.jsonl", "search hello {d}", "search hello {d} --json",
    "search -c e {d}", "search -l error {d}", "faults list", "faults explain @late-updates",
    "faults explain drop", "check --explain turn", "check --explain turn.silent", "setup",
    "setup zed", "setup zed --json", "setup jetbrains -- my agent", "setup neovim", "nonsense",
]  # fmt: skip
"""Commands on all recordings together, or on none."""
_PLAYED = [
    "replay {r}", "replay {r} --order recorded", "replay {r} --inert --junit {o}.xml",
    "replay {r} --report {o}.json", "replay {r} --fault 'latency ms=1' --seed 3",
    "verify {r} --stall-timeout 5 -o {o}.db -- {p} replay {r}",
    "verify {r} --stall-timeout 5 --check --junit {o}.xml -o {o}.db -- {p} replay {r}",
]  # fmt: skip
"""Commands that read the recorded client's lines from stdin."""
_CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?( ?[+-]\d\d:?\d\d|Z| UTC)?"), "TIME"),
    (re.compile(r"\b\d+ (seconds?|minutes?|hours?|days?|weeks?|months?|years?) ago"), "AGO"),
    (re.compile(r'"(seconds|at_ms)": ?[\d.]+'), r'"\1": N'),
    (re.compile(r'"sha256":"[0-9a-f]{64}"'), '"sha256":"N"'),
    (re.compile(r'\btime(stamp)?="[^"]*"'), 'time="N"'),
    (re.compile(r"\b\d+(\.\d+)? m?s\b(?= *$)", re.MULTILINE), "N s"),
]  # fmt: skip


def outputs(scratch: Path, part: str = "") -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each output.

    Args:
        scratch: a directory for the recordings and for the files of commands.
        part: a text that the name of each output contains.
    """
    names = _recordings(scratch / "all")
    for name in names:
        for command in _ONE:
            yield from _output(scratch, command, part, r=name)
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        for command in _TWO:
            yield from _output(scratch, command, part, r=name, s=other)
    for command in _ALL:
        yield from _output(scratch, command, part)
    for name in names:
        for command in _PLAYED if name in {path.stem for path in SHIPPED} else ():
            yield from _output(scratch, command, part, r=name)


def _recordings(directory: Path) -> list[str]:
    """Copies the shipped recordings and makes the captured ones; returns their names."""
    directory.mkdir()
    for path in SHIPPED:
        shutil.copy(path, directory)
    for path in captures.all_captures():
        if not path.name.startswith("big"):
            record_capture(path, directory)
    for path in captures.all_text_forms():
        _run(["import", str(path), "-o", str(directory / f"{path.stem}.db")])
    return sorted(path.stem for path in directory.glob("*.db"))


def _output(scratch: Path, command: str, part: str, **names: str) -> Iterator[tuple[str, str]]:
    title = command.format(o="OUT", d="DIR", p="acp-proxy", **names)
    if part not in title:
        return
    files = {key: str(scratch / "all" / f"{name}.db") for key, name in names.items()}
    target = scratch / "written"
    target.mkdir()
    proxy = str(Path(sys.executable).parent / "acp-proxy")
    values = files | {"o": str(target / "out"), "d": str(scratch / "all"), "p": proxy}
    words = [word.format(**values) for word in re.findall(r"(?:'[^']*'|\S)+", command)]
    words = [word.replace("'", "") for word in words]
    text = _played(words, files["r"]) if command in _PLAYED else _run(words)
    for path in sorted(target.rglob("*")):
        if path.is_file():
            text += f"--- {path.name}\n{_content(path)}"
    shutil.rmtree(target)
    yield title, _settled(text, scratch)


def _run(words: list[str]) -> str:
    """Runs a command in this process; returns its exit code and its output."""
    environment = {"ACP_PROXY_RECORDINGS": "/nowhere", "COLUMNS": "100", "ACP_PROXY_NO_PAGER": "1"}
    result = CliRunner(env=environment).invoke(cli, words, prog_name="acp-proxy")
    problem = "" if isinstance(result.exception, SystemExit | None) else repr(result.exception)
    return f"{result.exit_code}{problem}\n{result.stdout}--- stderr\n{result.stderr}"


def _played(words: list[str], recording: str) -> str:
    proxy = str(Path(sys.executable).parent / "acp-proxy")
    raw = [proxy, "export", recording, "--format", "raw", "--dir", "to-agent"]
    lines = subprocess.run(raw, capture_output=True, check=True).stdout
    environment = os.environ | {"ACP_PROXY_RECORDINGS": "/nowhere", "COLUMNS": "100"}
    result = subprocess.run(
        [proxy, *words], input=lines, capture_output=True, check=False, env=environment
    )
    return f"{result.returncode}\n{result.stdout.decode()}--- stderr\n{result.stderr.decode()}"


def _content(path: Path) -> str:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return "".join(f"--- {n}\n{archive.read(n)!r}\n" for n in sorted(archive.namelist()))
    if path.suffix == ".db":
        return "a recording\n"
    return path.read_text(encoding="utf-8", errors="backslashreplace")


def _settled(text: str, scratch: Path) -> str:
    text = text.replace(str(scratch), "SCRATCH").replace(str(Path.cwd()), "HERE")
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text


@click.command()
@click.option("--against", type=click.Path(path_type=Path), help="A file of digests, to compare.")
@click.option("--show", "part", default="", help="Print outputs whose name contains this.")
def main(against: Path | None, part: str) -> None:
    """Print a digest of each output, or only the changed ones."""
    known = {}
    if against:
        for line in against.read_text(encoding="utf-8").splitlines():
            digest, _, name = line.partition("  ")
            known[name] = digest
    with contextlib.ExitStack() as stack:
        scratch = Path(tempfile.gettempdir()) / "acp-proxy-digests"  # a page holds it compressed
        scratch.mkdir()
        stack.callback(shutil.rmtree, scratch)
        for name, text in outputs(scratch, part):
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            if part:
                click.echo(f"=== {name}\n{text}")
            elif known.get(name) != digest:
                click.echo(f"{digest}  {name}")


if __name__ == "__main__":
    main()
