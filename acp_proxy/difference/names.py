"""Names of values that are the same in both recordings: by their first appearance in A."""

from collections import Counter
from collections.abc import Iterable

from attrs import define, field

from acp_proxy.difference.defaults import PATH, SESSION
from acp_proxy.difference.lanes import SideIndex
from acp_proxy.difference.values import Scope, Values


@define
class StableNames:
    """Stable names of values.

    Attributes:
        a: by index, of A's values.
        b: by index, of B's; values that are the same have the same name.
        pairs: indexes in A by indexes in B.
        sessions: B's session by A's.
    """

    a: dict[int, str] = field(factory=dict)
    b: dict[int, str] = field(factory=dict)
    pairs: dict[int, int] = field(factory=dict)
    sessions: dict[Scope, Scope] = field(factory=dict)

    def give(self, a: Values, b: Values) -> None:
        """Numbers values by their first appearance in A, and then those that only B has."""
        numbers: Counter[str] = Counter()
        for index, value in enumerate(a.every):
            if value.is_seen:
                self.a[index] = _next(value.kind, numbers)
        for index, value in enumerate(b.every):
            if not value.is_seen:
                continue
            known = self.pairs.get(index)
            self.b[index] = self.a[known] if known is not None else _next(value.kind, numbers)


def titles(told: SideIndex, sessions: Iterable[Scope], names: dict[int, str]) -> dict[Scope, str]:
    """What lanes are called: by the names of their sessions."""
    every = told.former.values.every
    by_text = {every[i].text: name for i, name in names.items() if every[i].kind == SESSION}
    return {one: by_text.get(one, one) if one is not None else "connection" for one in sessions}


def _next(kind: str, numbers: "Counter[str]") -> str:
    numbers[kind] += 1
    return "path:cwd" if kind == PATH and numbers[kind] == 1 else f"{kind}:{numbers[kind]}"
