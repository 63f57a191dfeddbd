"""Mermaid's own parser accepts each diagram, and reads the texts that acp-proxy wrote."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.log.sequence_diagram import SequenceDiagram
from acp_proxy.store.reader import RecordingReader
from tests.browser.hostile import PAYLOADS
from tests.support.captures import all_text_forms
from tests.support.drawn_conversations import HEADER, reader_of
from tests.support.log_writer import error, notification, request, result, text, update
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

_HOSTILE = (
    "end", "END of it", "; end", "#", "#35;", "#quot;", "&amp;", "%%", "%% x", "%%{init: {}}%%",
    "a\nend\nb", "a\r\nb", "\"'`", "```", "<br>", "<br/>x", "<script>alert(1)</script>", "</svg>",
    "{a}", "}{", "@{", "x@{ shape: y }", "A->>C: x", "-->>", "--x", "-)", "participant Z",
    "actor Z", "Note over A,C: x", "wrap:x", ":wrap:x", "nowrap: x", "title x", "accTitle: x",
    "accDescr {", "activate A", "autonumber", "box red", "loop x", "alt", "else", "rect rgb(0,0,0)",
    "link A: x @ y", "properties A: {}", "$$x^2$$", "\\n", "\u2028", "\u202e x", "\x1b[31m", "\x00",
    "é 你好 😀", "👩\u200d👩\u200d👧", "\ufb02\xb0\xb035\xb6\xdf", "\xa0", " ", "---\nx: x\n---",
    "sequenceDiagram", "x" * 5000, "#" * 500, "as B", "A as B", "1.5 ", "()", "+", "-", ",", ":",
    "::", "style a:b#c;d", "classDef a:#b;",
)  # fmt: skip
"""Texts that have a meaning in Mermaid, in HTML or in Markdown."""
_PARSE = """
import { readFileSync } from "node:fs";
const [, packages] = process.argv;
const purify = (await import(`${packages}/dompurify/dist/purify.es.mjs`)).default;
Object.assign(purify, { addHook: () => {}, sanitize: String });  // there is no DOM to draw in
const { default: mermaid } = await import(`${packages}/mermaid/dist/mermaid.core.mjs`);
const texts = JSON.parse(readFileSync(0, "utf8"));
await mermaid.parse("sequenceDiagram");  // which loads what reads such diagrams
const found = [];
for (const text of texts) {
  try {
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    const actors = [...db.getActors().values()].map((actor) => actor.description);
    const messages = db.getMessages().map((message) => message.message);
    found.push({ title: [db.getDiagramTitle()].filter(Boolean), actors, messages });
  } catch (error) {
    found.push({ error: String(error) });
  }
}
console.log(JSON.stringify(found));
"""


def hostile(word: str) -> RecordingReader:
    """Returns a recording with one text at all places that a peer controls."""
    told = [
        ("to-agent", request(1, "initialize", clientInfo={"name": word, "version": word})),
        ("to-client", result(1, agentInfo={"name": word, "version": word})),
        ("to-agent", request(2, "session/prompt", sessionId=word, prompt=[text(word)])),
        ("to-client", update(word, "agent_message_chunk", content=text(word))),
        ("to-client", update(word, "agent_message_chunk", content=text(word))),
        ("to-client", update(word, "tool_call", toolCallId=word, title=word, status=word)),
        ("to-client", request(word, word, x=word)),
        ("to-agent", error(word, -1, word)),
        ("to-client", notification(word)),
        ("to-client", result(2, stopReason=word)),
    ]
    rows: list[dict[str, Any]] = [{**HEADER, "recording": {**HEADER["recording"], "name": word}}]
    rows += [{"stream": stream, "message": message} for stream, message in told]
    rows += [{"stream": "to-client", "message": notification("x"), "fault": word},
             {"fired": {"rule": word, "action": word, "received": "x", "delivered": word}},
             {"event": "note", "data": {"reason": word}}]  # fmt: skip
    return reader_of([json.dumps(row).encode() + b"\n" for row in rows])


def _is_text(word: str) -> bool:
    """Whether a text form can contain a text: it has no surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in word)


def written(diagram: str) -> dict[str, Any]:
    """Returns the title, the actors and the messages that a diagram contains."""
    lines = [line.strip() for line in diagram.splitlines()]
    titles, actors, rest = [], [], []
    for line in lines[1:]:
        if line.startswith("title "):
            titles.append(line.removeprefix("title "))
        elif line.startswith("participant "):
            actors.append(line.partition(" as ")[2])
        else:
            rest.append(line.partition(": ")[2].strip())
    return {"title": titles, "actors": actors, "messages": rest}


def read(actual: dict[str, Any]) -> dict[str, Any]:
    """Returns the texts that the parser returned, with entities written as in the diagram."""
    marked = json.dumps(actual, ensure_ascii=False)
    plain: dict[str, Any] = json.loads(re.sub("\ufb02°°([0-9]+)¶ß", r"#\1;", marked))
    return plain


@pytest.mark.slow
def test_mermaid_parses_every_diagram(npm_packages: Path) -> None:
    """Mermaid can parse the sequence diagram that `export` makes of each shipped recording."""
    words = filter(_is_text, (*_HOSTILE, *PAYLOADS.values()))
    diagrams = []
    for reader in chain(map(RecordingReader, [*SHIPPED, *all_text_forms()]), map(hostile, words)):
        with reader:
            diagrams.append("".join(SequenceDiagram(reader, most=100).lines()))
    command = ["node", "--input-type=module", "--eval", _PARSE, str(npm_packages)]
    process = subprocess.run(
        command, input=json.dumps(diagrams), capture_output=True, text=True, check=True
    )
    for diagram, actual in zip(diagrams, json.loads(process.stdout), strict=True):
        has, expected = read(actual), written(diagram)
        assert has.keys() == expected.keys(), has
        for name, texts in expected.items():
            pairs = list(zip_longest(has[name], texts))
            assert [pair for pair in pairs if pair[0] != pair[1]][:3] == []
