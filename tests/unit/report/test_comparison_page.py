"""`report.comparison_page`: recorded text is text, and the page has what its policy names."""

from __future__ import annotations

import base64
import hashlib
import re

from acp_proxy.difference.result import Change, DiffEntry, Field
from acp_proxy.report.comparison_page import comparison_assets
from tests.comparison_page import made_up, page_of
from tests.differing import EVIL, differing, equal

_ELEMENTS = (
    "html head meta title style body div p strong code bdi header h1 h2 h3 span table thead tbody"
    " tr th td ul li a details summary nav button kbd main section article del ins br script"
)


def test_recorded_text_is_text() -> None:
    """Whatever it is; the page has one script and one style, which its policy names."""
    evil = f"{EVIL}</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    field = Field(f"/{evil}", evil, {evil: [evil]})
    entry = DiffEntry(Change.CHANGED, evil, "to-client", evil, 1, 1, 1, 1, (field,), evil)
    page = page_of(made_up(differing([entry]), words=evil, masked=evil))
    assert {tag for tag, _ in page.elements} <= set(_ELEMENTS.split())
    assert not any(name.startswith("on") or name == "src"
                   for _, attributes in page.elements for name, _ in attributes)  # fmt: skip
    assert page.comments == []
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert not re.search("[\x1b\x9b\u202e]", page.text)
    script, style = comparison_assets()
    assert (page.scripts, page.styles) == ([script], [style])
    for directive, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert page.policy()[directive] == f"'sha256-{digest}'"


def test_a_page_that_may_have_secrets_says_so() -> None:
    """In its first line; else it says what is masked."""
    shown = page_of(made_up(equal(), masked="2 secrets are masked", is_unmasked=True)).text
    assert "SECRETS ARE NOT MASKED" in shown
    masked = page_of(made_up(equal(), masked="2 secrets are masked", words="kind:error")).text
    assert "filter kind:error; 2 secrets are masked" in masked
    assert "SECRETS" not in masked


def test_the_assets_are_small_and_self_contained() -> None:
    """They load nothing, and cannot end their own element."""
    script, style = comparison_assets()
    assert len(script) + len(style) < 15_000
    assert not re.search(r"url\(|@import|@font-face", style)
    assert not re.search(r"</?(script|style)|<!--", script + style, re.IGNORECASE)
