"""Counts the elements of a page, to notice anything that recorded text has added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.watching import Visit

NAMES = """
html head meta title style body header main footer nav section article aside div span p
h1 h2 h3 h4 ul ol li dl dt dd table caption colgroup col thead tbody tr th td details summary
pre code kbd samp strong em b i small mark bdi bdo del ins s time hr br noscript script
a button input label select option optgroup textarea output progress meter fieldset legend
dialog menu search datalist svg g path rect line circle ellipse polygon polyline text tspan
defs marker pattern use symbol clippath lineargradient stop desc title canvas img figure template
"""
"""The elements that a report may have. None loads anything from elsewhere or sends anything."""
TAKE = r"""() => {
  const found = { elements: {}, handlers: [], addresses: [], roots: 0, refreshes: 0 };
  const take = (root) => {
    for (const element of root.querySelectorAll("*")) {
      const name = element.localName.toLowerCase();
      found.elements[name] = (found.elements[name] ?? 0) + 1;
      for (const { name, value } of element.attributes) {
        const is = (...names) => names.includes(name.toLowerCase());
        if (name.toLowerCase().startsWith("on")) found.handlers.push(`${name}=${value}`);
        if (is("href", "xlink:href", "src", "srcset", "srcdoc", "action", "formaction", "data",
               "poster", "background", "ping", "manifest", "cite", "longdesc", "is", "part")
            || (is("style", "fill", "mask", "filter", "clip-path", "stroke", "marker-end")
                && /url|expression|import/i.test(value))) {
          const isOwn = /^(#|url\(["']?#)/.test(value);
          const isData = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/.test(value);
          const isPicture = isData && element.localName === "img" && name === "src";
          if (!isOwn && !isPicture) found.addresses.push(value);
        }
      }
      if (element.localName === "meta" && element.httpEquiv === "refresh") found.refreshes += 1;
      if (element.localName === "template") take(element.content);
      if (element.shadowRoot) { found.roots += 1; take(element.shadowRoot); }
    }
  };
  take(document);
  return found;
}"""


def census(visit: Visit) -> dict[str, Any]:
    """Returns the number of elements by name, and all addresses outside of the page."""
    results: dict[str, Any] = visit.ask(TAKE)
    return results


def assert_harmless(visit: Visit, scripts: int) -> None:
    """Asserts that a page has no event handlers, no foreign addresses and no foreign elements.

    Args:
        visit: the page.
        scripts: the number of script elements, which also hold the data.
    """
    results = census(visit)
    assert results["elements"].keys() <= {*NAMES.split()}
    assert results["handlers"] == []
    assert results["addresses"] == []
    assert results["elements"].get("script", 0) == scripts
    assert results["elements"]["meta"] == 6
    assert (results["elements"]["style"], results["elements"]["title"], results["refreshes"]) == (
        1,
        1,
        0,
    )
