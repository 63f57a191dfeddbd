"""The browser forbids a report page to load, send or run anything that recorded text adds.

The tests run in the page what recorded text could run if the page had a security hole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.truth import report
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visitor

HTML = "require-trusted-types-for"
ATTEMPTS = {
    "a handler": (HTML, "element('button', {onclick: 'window.ran = 1'}).click()"),
    "a link": ("script-src-elem", "element('a', {href: 'javascript:window.ran = 1'}).click()"),
    "innerHTML": (HTML, "document.body.innerHTML = '<img src=x onerror=ran=1>'"),
    "outerHTML": (HTML, "element('p').outerHTML = '<b>bold</b>'"),
    "insertAdjacentHTML": (HTML, "document.body.insertAdjacentHTML('beforeend', '<b>bold</b>')"),
    "a refresh in HTML": (HTML, "element('p').innerHTML = '<meta http-equiv=refresh content=0>'"),
    "a fragment": (HTML, "document.createRange().createContextualFragment('<b>bold</b>')"),
    "a parser": (HTML, "new DOMParser().parseFromString('<b>bold</b>', 'text/html')"),
    "write": (HTML, "document.write('<script>window.ran = 1<\\/script>')"),
    "a page in a frame": (HTML, "element('iframe').srcdoc = '<script>parent.ran = 1<\\/script>'"),
    "the text of a script": (HTML, "element('script').text = 'window.ran = 1'"),
    "the address of a script": (HTML, "element('script').src = AWAY"),
    "a script": (HTML, "element('script', {}, 'window.ran = 1')"),
    "eval": (HTML, "later(() => eval('window.ran = 1'))"),
    "a function": (HTML, "later(() => new Function('window.ran = 1')())"),
    "a timer": (HTML, "setTimeout('window.ran = 1')"),
    "another policy": ("trusted-types", "trustedTypes.createPolicy('other', {})"),
    "an image": ("img-src", "element('img', {src: AWAY})"),
    "a sound": ("media-src", "element('audio', {src: AWAY})"),
    "a frame": ("frame-src", "element('iframe', {src: AWAY})"),
    "an object": (HTML, "element('object', {data: AWAY})"),
    "a style sheet": ("style-src-elem", "element('link', {rel: 'stylesheet', href: AWAY})"),
    "a style": ("style-src-elem", "element('style', {}, 'body { display: none }')"),
    "an attribute with style": ("style-src-attr", "element('p', {style: 'display: none'})"),
    "a picture of a style": ("img-src", "element('p', {}, 'x').style.background = `url(${AWAY})`"),
    "a font": ("font-src", "later(() => new FontFace('x', `url(${AWAY})`).load())"),
    "a prefetch": ("default-src", "element('link', {rel: 'prefetch', href: AWAY})"),
    "fetch": ("connect-src", "fetch(AWAY).catch(() => {})"),
    "a beacon": ("connect-src", "navigator.sendBeacon(AWAY)"),
    "a request": ("connect-src", "const x = new XMLHttpRequest(); x.open('GET', AWAY); x.send()"),
    "a socket": ("connect-src", "new WebSocket('ws://example.invalid/socket')"),
    "a stream of events": ("connect-src", "new EventSource(AWAY)"),
    "a worker from elsewhere": (HTML, "new Worker('data:text/javascript,postMessage(1)')"),
    "another base": ("base-uri", "element('base', {href: AWAY})"),
    "a form": ("form-action", "element('form', {action: AWAY}).submit()"),
}  # fmt: skip
"""Each attack, and the directive of the policy that forbids it."""
TRY = """async (attempt) => {
  const AWAY = "http://example.invalid/away";
  const violations = [];
  const note = (event) => violations.push(event.effectiveDirective);
  document.addEventListener("securitypolicyviolation", note);
  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    made.append(text);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    (name === "base" ? document.head : document.body).append(made);
    return made;
  };
  const later = (run) => setTimeout(run);  // not within what the test itself runs
  try { ATTEMPT; } catch (error) { if (!(error instanceof TypeError)) throw error; }
  for (let waited = 0; waited < 100 && violations.length === 0; waited++) {
    await new Promise((done) => setTimeout(done, 5));
  }
  document.removeEventListener("securitypolicyviolation", note);
  return [violations, window.ran ?? null];
}"""


def test_the_policy_forbids_whatever_a_hole_would_allow(visit: Visitor, tmp_path: Path) -> None:
    """The content security policy of a report page forbids all loading and sending."""
    window = visit.window()
    failures: dict[str, str | None] = {}
    window.page.on("requestfailed", lambda it: failures.update({it.url: it.failure}))
    window.open(report(DIRECTORY / "hello.db", tmp_path), ready=None)
    forbidden = {}
    for name, (_, attempt) in ATTEMPTS.items():
        forbidden[name], ran = window.ask(TRY.replace("ATTEMPT", attempt))
        assert ran is None, name
    assert forbidden == {name: [directive] for name, (directive, _) in ATTEMPTS.items()}
    assert window.noted.dialogs == []
    assert {failures.get(request) for request in window.noted.requests} <= {"csp"}
    assert {*window.noted.navigations} <= {"about:blank", "chrome-error://chromewebdata/"}  # frames
