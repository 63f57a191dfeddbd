"""Reads the catalogue of rules: what each rule demands of which side, in which dialects, and why.

``catalogue.json`` holds the rules with their places in the specification, and the rules that are
not checked, each with the reason. The functions that find breaches are in the modules of `rules`.
"""

from functools import cache
from importlib import resources

from attrs import frozen

from acp_proxy.conformance.values import Rule
from acp_proxy.forms import converter


@frozen
class _Catalogue:
    rules: tuple[Rule, ...]
    left_out: dict[str, str]


@cache
def rules() -> dict[str, Rule]:
    """Returns the rules that can be checked, by id, in the order of the catalogue."""
    return {rule.id: rule for rule in _read().rules}


def left_out() -> dict[str, str]:
    """Returns the rules of the specification that are not checked, with the reason."""
    return _read().left_out


@cache
def _read() -> _Catalogue:
    text = resources.files("acp_proxy.conformance").joinpath("catalogue.json").read_text("utf-8")
    return converter.loads(text, _Catalogue)
