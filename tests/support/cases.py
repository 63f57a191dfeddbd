"""Checks all cases of a table in one test, with the interface of `pytest.mark.parametrize`.

For each test, pytest and its workers take several milliseconds. A case of a pure function often
takes less than one, so that a long table of them would wait for pytest most of the time.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Test = Callable[..., None]

_LONGEST_NAME = 100


def each_case(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Test], Test]:
    """Lets a test call itself with every case of a table, and fail with all cases that fail.

    The cases share the fixtures of the test, so it must leave nothing behind in them.

    Args:
        names: of the parameters that a case sets, as in `pytest.mark.parametrize`.
        cases: the values of the parameters, or results of `pytest.param` without marks.
        ids: the names of the cases, or a function that makes a name of a value.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [*_named(cases, ids, is_single=isinstance(names, str) and len(parameters) == 1)]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def check_all(**fixtures: Any) -> None:
            errors: list[BaseException] = []
            failed = []
            for name, values in table:
                try:
                    test(**dict(zip(parameters, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as e:
                    e.add_note(f"in the case {name}")
                    errors.append(e)
                    failed.append(name)
            if errors:
                raise BaseExceptionGroup(
                    f"{len(errors)} of {len(table)} cases failed: {'; '.join(failed)}", errors
                )

        signature = inspect.signature(test)
        others = [it for name, it in signature.parameters.items() if name not in parameters]
        check_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return check_all

    assert table, f"expected cases for {names}"
    return decorate


def _named(
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Sequence[str] | None,
    *,
    is_single: bool,
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yields the name and the values of each case."""
    for number, case in enumerate(cases):
        values, name = (case,) if is_single else case, None
        if isinstance(case, type(pytest.param())):
            assert not case.marks, "a case that has marks needs a test of its own"
            values, name = case.values, case.id
        if callable(ids):
            name = "-".join(str(ids(value)) for value in values)
        elif ids is not None:
            name = ids[number]
        yield str(name or ", ".join(map(repr, values))[:_LONGEST_NAME]), values
