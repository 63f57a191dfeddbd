"""Parses the HTML of a report page: its elements, its texts and its data."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from acp_proxy.report.data_blocks import DataBlock
from tests.support.report_data import DecodedReport, decode

_BLOCK = re.compile(
    r'<script type="application/octet-stream" id="([a-z]+\d*)">([A-Za-z0-9+/=]*)</script>'
)
_VOID = {"br", "input", "meta", "rect"}


class Page(HTMLParser):
    """The elements of an HTML page, with their attributes and texts, in order.

    Attributes:
        elements: name and attributes of each start tag.
        texts: all text outside of scripts and styles.
        scripts: the text of each script that has no type.
        inert: the text of each other script, by its id.
        styles: the text of each style.
        comments: the text of each comment.
        tables: the cells of each table, with those of its head, by the id of the section.
        lists: the items of each list by the id of the section.
        terms: the definitions of each term.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.inert: dict[str, str] = {}
        self.styles: list[str] = []
        self.comments: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.lists: dict[str, list[str]] = {}
        self.terms: dict[str, list[str]] = {}
        self._section = self._term = ""
        self._cell: list[str] | None = None
        self._open: list[str] = []
        self._attributes: dict[str, str | None] = {}
        self.feed(html)
        self.close()
        assert self._open == [], "expected an end tag for each start tag"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes the start of an element."""
        self.elements.append((tag, tuple(attrs)))
        self._attributes = dict(attrs)
        if tag not in _VOID:
            self._open.append(tag)
        match tag:
            case "style":
                self.styles.append("")
            case "script" if "type" not in self._attributes:
                self.scripts.append("")
            case "script":
                self.inert[self._attributes["id"] or ""] = ""
            case "details":
                self._section = self._attributes["id"] or ""
            case "tr":
                self.tables.setdefault(self._section, []).append([])
            case "td" | "th" | "li" | "dt" | "dd":
                self._cell = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element without content."""
        self.elements.append((tag, tuple(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Notes the end of an element."""
        assert self._open.pop() == tag
        if self._cell is None or tag not in ("td", "th", "li", "dt", "dd"):
            return
        text, self._cell = " ".join("".join(self._cell).split()), None
        match tag:
            case "li":
                self.lists.setdefault(self._section, []).append(text)
            case "dt":
                self._term = text
            case "dd":
                self.terms.setdefault(self._term, []).append(text)
            case _:
                self.tables[self._section][-1].append(text)

    def handle_comment(self, data: str) -> None:
        """Notes a comment; a page should not have any."""
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        """Notes text where it belongs."""
        inside = self._open[-1] if self._open else ""
        if inside == "style":
            self.styles[-1] += data
        elif inside != "script":
            self.texts.append(data)
            if self._cell is not None:
                self._cell.append(data)
        elif self._attributes.get("type") is None:
            self.scripts[-1] += data
        else:
            self.inert[self._attributes["id"] or ""] += data

    @property
    def text(self) -> str:
        """Returns all text, with single blanks."""
        return " ".join("".join(self.texts).split())

    def policy(self) -> dict[str, str]:
        """Returns the content security policy by directive."""
        (results,) = (
            dict(attributes)["content"]
            for tag, attributes in self.elements
            if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes
        )
        assert results is not None
        return dict(part.split(" ", 1) for part in results.split("; "))


def decode_page(html: str) -> DecodedReport:
    """Returns the data that a report page contains."""
    return decode(DataBlock(name, (text.encode(),)) for name, text in _BLOCK.findall(html))
