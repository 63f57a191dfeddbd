"""``inspect report --against``: what differs between two recordings, as one page for a browser."""

from contextlib import ExitStack
from pathlib import Path

from attrs import evolve

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.output_files import write_page
from acp_proxy.cli.recordings import file_of, masked_alike, open_recording
from acp_proxy.cli.redaction import masked_summary
from acp_proxy.cli.render.output import progress, warn
from acp_proxy.difference.options import DiffOptions
from acp_proxy.filters import EVERYTHING, parse
from acp_proxy.inspection.secrets import masked_values
from acp_proxy.store.reader import RecordingReader
from acp_proxy.wording import byte_size, counted


def write_comparison(
    pair: tuple[str, str], words: str, compared: DiffOptions, output: Path | None, *, force: bool
) -> None:
    """Writes the page.

    Args:
        pair: the words for A and B.
        words: the filter of the messages that are compared.
        compared: what counts.
        output: the file; None for one that is named after both, - for standard output.
        force: whether the file may be there.

    Raises:
        Refusal: both are on standard input.
    """
    # Late: only a comparison needs it, and it takes a while.
    from acp_proxy.difference.diff import diff
    from acp_proxy.report.comparison import read_comparison
    from acp_proxy.report.comparison_page import comparison_parts

    if pair == ("-", "-"):
        raise Refusal("expected one recording on standard input, got two")
    chosen = parse(words)
    options = evolve(compared, chosen=chosen, ending=chosen is EVERYTHING)
    with ExitStack() as stack:
        a, b = (stack.enter_context(open_recording(word)) for word in pair)
        sources = [file_of(a), file_of(b)]
        a, b = masked_alike((a, b), stack)
        found = diff(a, b, options, progress)
        if chosen is not EVERYTHING and not found.a.frames + found.b.frames:
            warn("no frame matches FILTER")
        masked, is_unmasked = _masked((a, b))
        page = read_comparison(found, (a, b), words=words, masked=masked, is_unmasked=is_unmasked)
        parts = progress(comparison_parts(page), label="writing")
        name = f"{a.recording.name}-against-{b.recording.name}"
        path = write_page(parts, output, name, sources, force=force)
    if path is None:
        return
    size = byte_size(path.stat().st_size)
    more = f"; {counted(page.more, 'more differing message')} not shown" if page.more else ""
    warn(f"{path} ({size}): {page.verdict}{more}; {masked}")
    warn("read it before you send it: prompts, files and paths are as they were")


def _masked(readers: tuple[RecordingReader, RecordingReader]) -> tuple[str, bool]:
    """What is masked in the page, in words, and whether secrets may be shown."""
    if any(reader.masked_rows is None and not reader.is_masked for reader in readers):
        return "SECRETS ARE NOT MASKED", True
    every = {str(one): one for reader in readers for one in masked_values(reader)}
    return masked_summary([*every.values()], "secrets"), False
