"""Writes the page of a report: a head that needs no script, blocks of data, and one script.

The bytes are yielded part by part, since the data may be large. Only the head contains recorded
text that is not encoded; this text always passes `_safe` and the escaping of Jinja2. The blocks are
base64, which cannot contain markup.

The content security policy comes before anything from a recording. With this policy a browser loads
nothing from elsewhere, runs only the scripts of the page, and never parses text as HTML. So
recorded text is harmless even if the page has a bug.
"""

import base64
import functools
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any

from attrs import frozen

from acp_proxy import __version__
from acp_proxy.base.wording import byte_size, counted, duration, in_one_line, plain, share
from acp_proxy.explain.describe.token_texts import brief_words, cost_words
from acp_proxy.report.data_blocks import DataBlock
from acp_proxy.report.facts import HeadFacts
from acp_proxy.report.page_script import joined

if TYPE_CHECKING:
    from jinja2 import Environment

    from acp_proxy.report.compared_page import ComparisonFacts

_FRONT_END = files(__package__) / "front_end"
LOADER, SCRIPT = "shell/loader.js", "shell/start.js"
"""The paths of two scripts: the loader (it runs first) and the main script."""
_STYLES = ("base.css", "shell.css", "list.css", "pictures.css", "content.css")
"""The styles that come first, in this order. All other styles come after them."""
_COMPARISON_STYLES = ("styles/base.css", "comparison/comparison.css")
_NUMBER = re.compile(r"(\((?:[a-z]+ )*|)#(\d{1,15})")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BLOCK_ID = re.compile(r"[a-z]+\d*")


@frozen
class Assets:
    """The parts of a page that do not depend on the recording."""

    loader: str
    """The script that runs first. It decompresses the main script and starts it."""
    script: str
    style: str


def report_parts(facts: HeadFacts, blocks: Iterable[DataBlock]) -> Iterator[bytes]:
    """Yields the bytes of a report, in order.

    Args:
        facts: the contents of the head.
        blocks: the data; each block is requested only when it is written.
    """
    made = assets()
    scripts, step_ns = (made.loader, made.script), facts.data.summary.recording.step_ns
    yield from rendered("page.html.j2", scripts, made.style, facts=facts, step_ns=step_ns)
    yield from _end(made, made.script, blocks)


def _end(made: Assets, script: str, blocks: Iterable[DataBlock] = ()) -> Iterator[bytes]:
    """Yields the end of a page: blocks of data, and the script that starts the page."""
    for name, pieces in chain(blocks, [_packed("script", script)]):
        if not _BLOCK_ID.fullmatch(name):
            raise ValueError(f"expected letters and a number as the id of a block, got {name!r}")
        yield f'<script type="application/octet-stream" id="{name}">'.encode()
        yield from pieces
        yield b"</script>\n"
    yield f"<script>{made.loader}</script>\n</body>\n</html>\n".encode()


@functools.cache
def window_page() -> bytes:
    """Returns the page of the live window. The page's script requests all data.

    The page opens comparisons that the server has made, so the policy allows the style of a
    comparison, too.

    Raises:
        NotJoined: a module of the front end cannot be part of a page.
    """
    made, script, look = assets(), read_script("window/window.js"), read_style(_COMPARISON_STYLES)
    style = made.style + read_style(("window/window.css", "window/all_recordings.css"))
    policy = content_policy((made.loader, script), (style, look), connects="'self'")
    head = rendered("web.html.j2", (), style, policy=policy, step_ns=0)
    return b"".join([*head, *_end(made, script)])


@functools.cache
def assets() -> Assets:
    """Returns the loader, the script and the style. They are equal in all reports.

    Raises:
        NotJoined: a module of the front end cannot be part of a page.
    """
    styles = {file.name for file in (_FRONT_END / "styles").iterdir() if file.name.endswith(".css")}
    order = [*filter(styles.__contains__, _STYLES), *sorted(styles - {*_STYLES})]
    style = read_style(f"styles/{name}" for name in order)
    return Assets(read_script(LOADER), read_script(SCRIPT), style)


def comparison_parts(comparison: "ComparisonFacts") -> Iterator[bytes]:
    """Yields the bytes of the page of a comparison, in order.

    Args:
        comparison: the contents of the page.
    """
    style, step_ns = read_style(_COMPARISON_STYLES), comparison.step_ns
    yield from rendered("comparison.html.j2", (), style, found=comparison, step_ns=step_ns)


def rendered(template: str, scripts: Sequence[str], style: str, **values: Any) -> Iterator[bytes]:
    """Yields a page in pieces. The page is made from a template, with the head that all pages have.

    Args:
        template: the name of the template.
        scripts: all scripts that may run in the page.
        style: the style of the page.
        **values: the values for the template.
    """
    from markupsafe import Markup  # late, as all of Jinja2

    values = {"policy": content_policy(scripts, [style]), "version": __version__, **values}
    values["style"] = Markup(style)  # our own text, without an end tag
    texts = _environment().get_template(template).generate(values)
    return (text.encode("utf-8", "backslashreplace") for text in texts)


def source_hash(text: str) -> str:
    """Returns the hash with which a content security policy allows an inline script or style.

    Args:
        text: the whole text between the tags.
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def content_policy(scripts: Iterable[str], styles: Iterable[str], connects: str = "") -> str:
    """Returns the content security policy of a page.

    Args:
        scripts: the text of each script that may run in the page.
        styles: the text of each style that may apply to the page.
        connects: the only source from which the page may request data; empty if the page requests
            nothing.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src " + (" ".join(map(source_hash, scripts)) or "'none'"),
            f"style-src {' '.join(map(source_hash, styles))}",
            *([f"connect-src {connects}"] if connects else []),
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types acp-report-script",
        )
    )


def read_script(entry: str) -> str:
    """Returns a module and all modules it imports as one script; empty if there is no such module.

    Args:
        entry: the path of the module in the front end.

    Raises:
        NotJoined: a module cannot be part of a page.
    """
    if not (_FRONT_END / entry).is_file():
        return ""
    return joined(entry, lambda path: (_FRONT_END / path).read_text(encoding="utf-8"))


def read_style(paths: Iterable[str]) -> str:
    """Returns several styles as one text, without comments and indentation.

    Args:
        paths: the paths of the styles in the front end, in order.
    """
    return "".join(_style((_FRONT_END / path).read_text(encoding="utf-8")) for path in paths)


def _style(text: str) -> str:
    """Returns a style without comments and indentation."""
    lines = (line.strip() for line in _COMMENT.sub("", text).splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def _packed(name: str, text: str) -> DataBlock:
    """Returns a script or other text as a compressed block of data."""
    return DataBlock(name, (base64.b64encode(zlib.compress(text.encode(), 9)),))


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined, pass_context  # late

    def load(name: str) -> str:
        return (_FRONT_END / "templates" / name).read_text(encoding="utf-8")

    environment = Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "as_duration": pass_context(_duration),
        "as_size": byte_size,
        "as_number": lambda count: f"{count:,}",
        "as_count": counted,
        "as_share": share,
        "as_time": _time,
        "as_tokens": brief_words,
        "as_cost": cost_words,
        "as_title": in_one_line,
        "with_links": _pieces,
    }
    return environment


def _safe(value: Any) -> Any:
    """Makes a value safe to print in a template: one short line without control characters.

    Raises:
        TypeError: a template prints a value that is neither a text nor a number.
    """
    if hasattr(value, "__html__"):
        return value
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, int):
        return value
    raise TypeError(f"expected text or a number in a template, got {type(value).__name__}")


def _duration(context: Mapping[str, Any], ns: int | None) -> str:
    """Formats a duration. The context of the template contains the resolution of recorded times."""
    return duration(ns, context["step_ns"])


def _time(text: str | None) -> str:
    """Formats a time in UTC; empty for None.

    A time without a zone comes from an imported log, and is not converted.
    """
    if text is None:
        return ""
    time = datetime.fromisoformat(text)
    zone = "" if time.tzinfo is None else " UTC"
    return f"{time.astimezone(UTC) if zone else time:%Y-%m-%d %H:%M:%S}{zone}"


def _pieces(text: str, seqs: Iterable[int] = ()) -> Iterator[tuple[str, int | None]]:
    """Splits a sentence of acp-proxy into texts and frame numbers.

    Args:
        text: the sentence, which may quote a recording.
        seqs: the numbers of frames that the sentence is about. Other numbers count as frame numbers
            only within parentheses.
    """
    known, at = {*seqs}, 0
    for match in _NUMBER.finditer(text):
        number = int(match[2])
        if match[1] or number in known:
            yield text[at : match.start() + len(match[1])], None
            yield match[0][len(match[1]) :], number
            at = match.end()
    yield text[at:], None
