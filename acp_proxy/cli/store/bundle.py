"""``acp-proxy bundle``: the files for a bug report, without secrets, in one archive."""

import io
import platform
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path

import click
from attrs import evolve

from acp_proxy import __version__
from acp_proxy.base.wording import byte_size, counted, plain
from acp_proxy.check.judgement import summarize_whole
from acp_proxy.cli.explain.show_screen import show_summary
from acp_proxy.cli.explain.transcript import transcript_parts
from acp_proxy.cli.group import cli_command
from acp_proxy.cli.masking import masked_summary
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import read_argument
from acp_proxy.cli.output_files import named_file, write_files
from acp_proxy.cli.report import page_parts
from acp_proxy.cli.screens.output import progress, warn
from acp_proxy.cli.screens.recording_page import RecordingPage
from acp_proxy.cli.screens.styled_text import Screen
from acp_proxy.explain.masked_secrets import masked_values
from acp_proxy.explain.origins import origin_rows
from acp_proxy.recording.recording import Recording
from acp_proxy.report.facts import HeadFacts
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.copies.text_export import write_parts
from acp_proxy.store.files.database import SQLITE_VERSION
from acp_proxy.store.queries.masked_rows import Level
from acp_proxy.store.reader import RecordingReader

_COLUMNS = 100
"""The width of the summary in columns."""
_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that the ZIP format can represent."""
_UNIX = 3
_OWNER_ALONE = 0o600 << 16


@cli_command()
@read_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Where to write instead of NAME.zip. The file must not exist.")  # fmt: skip
@click.option("--level", type=click.Choice(["secrets", "private"]), default="secrets",
              show_default=True,
              help="What to mask. private also reduces prompts, messages and contents of files to "
              "their lengths.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing file.")
def bundle(rec: str, output: Path | None, level: str, force: bool) -> None:
    """Pack the files for a bug report into one ZIP archive.

    The archive has the recording as text (recording.jsonl), a page for a browser (report.html), the
    conversation as Markdown (transcript.md), the summary (show.txt), and the versions of the
    programs (versions.txt). Secrets are masked in all these files.

    No masking finds everything: read the files before you share them.

    Examples:
      acp-proxy bundle
          the latest recording, as text and as pages, without secrets
      acp-proxy bundle latest -o bug.zip --level private
          also without prompts, messages and contents of files
    """
    sizes: dict[str, int] = {}
    with open_recording(rec, level=Level(private=level == "private")) as reader:
        facts, page = _report(reader, level)
        files = {
            "recording.jsonl": write_parts(reader),
            "report.html": page,
            "transcript.md": transcript_parts(reader),
            "show.txt": _summary(reader),
            "versions.txt": _versions(reader.recording),
        }
        output = output or named_file(reader.recording.name, "zip")
        parts = progress(_zip_parts(files, sizes), label="writing")
        write_files({output: parts}, force=force)
        masked = masked_summary([*masked_values(reader)], level)
    named = ", ".join(f"{name} ({byte_size(size)})" for name, size in sizes.items())
    if images := len(facts.data.images):
        masked += f"; {counted(images, 'image')}, not masked"
    warn(f"{output} has {named}; {masked}")
    parts_are = "paths and ids are" if level == "private" else "prompts, files and paths are"
    warn(f"read it before you share it: {parts_are} not masked")


def _report(reader: RecordingReader, level: str) -> tuple[HeadFacts, Iterator[bytes]]:
    """Returns the page of `report`. The page shows the recording's file name, not its path."""
    options = ReportOptions(now_ns=time.monotonic_ns() if reader.live else None)
    return page_parts(reader, options, level=level, path=Path(reader.path).name)


def _summary(reader: RecordingReader) -> Iterator[bytes]:
    watch = partial(progress, total=reader.count(), label="reading", size=attrgetter("frames"))
    summary = summarize_whole(reader, time.monotonic_ns() if reader.live else None, watch)
    made = io.BytesIO()
    name = Path(summary.path).name
    show_summary(evolve(summary, path=name), name, RecordingPage(Screen(_COLUMNS), made))
    yield made.getvalue()


def _versions(recording: Recording) -> Iterator[bytes]:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    maker = "recorded by" if recording.origin is None else "imported by"
    facts = [
        ("acp-proxy", __version__),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("SQLite", SQLITE_VERSION),
        ("platform", system),
        (maker, f"acp-proxy {recording.tool_version}"),
        *origin_rows(recording),
        ("recorded on", recording.platform),
        ("agent", recording.agent_title),
        ("client", recording.client_title),
        ("dialect", recording.dialect or ""),
        ("protocol", recording.protocol_version or ""),
    ]
    for name, value in facts:
        yield f"{name:<12} {plain(value) or 'unknown'}\n".encode("utf-8", "backslashreplace")


class _ZipParts(io.RawIOBase):
    """A target for a `ZipFile`. It keeps the written bytes until `collected` returns them."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._written.append(piece)
        return len(piece)

    def collected(self) -> bytes:
        """Returns the bytes that were written since the previous call."""
        data, self._written = b"".join(self._written), []
        return data


def _zip_parts(files: Mapping[str, Iterable[bytes]], sizes: dict[str, int]) -> Iterator[bytes]:
    """Yields an archive in parts. Equal files always make equal archives.

    Args:
        files: the parts of each file, by its name.
        sizes: an empty dictionary, which gets the size in bytes of each file.
    """
    made = _ZipParts()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, parts in files.items():
            info = zipfile.ZipInfo(name, _NO_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = _UNIX
            info.external_attr = _OWNER_ALONE
            sizes[name] = 0
            # The size is not known yet, and a file of more than 2 GiB needs the 64-bit format.
            with archive.open(info, "w", force_zip64=True) as file:
                for part in parts:
                    sizes[name] += len(part)
                    file.write(part)
                    if data := made.collected():
                        yield data
    yield made.collected()
