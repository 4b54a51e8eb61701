"""A table of cases as one test: the body is run for each, and each that fails is a failure of its own.

For cases that share nothing but what they are given; a test for each costs more than such a case.
"""

from __future__ import annotations

import functools
import inspect
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHORT = 60


def cases(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """Run a test for each row of a table, as `pytest.mark.parametrize` takes them.

    Of its fixtures the test may change two: each case has a folder of its own in `tmp_path`, and
    what it does with `monkeypatch` is undone after it.

    Args:
        names: The parameters that a row gives, in their order, with commas between them.
        table: The rows; of one parameter its values.
    """
    given_by_row = names.split(",") if isinstance(names, str) else names
    columns = [name.strip() for name in given_by_row]
    rows = [row if len(columns) > 1 else (row,) for row in table]

    def of(test: Callable[..., None]) -> Callable[..., None]:
        fixtures = [name for name in inspect.signature(test).parameters if name not in columns]
        is_one_of_several = "subtests" in fixtures

        @functools.wraps(test)
        def run(subtests: Any, **fixed: Any) -> None:
            for number, row in enumerate(rows):
                case = dict(zip(columns, row, strict=True))
                given = {**fixed, **case, **({"subtests": subtests} if is_one_of_several else {})}
                with ExitStack() as until_then:
                    if "monkeypatch" in fixed:
                        patches = fixed["monkeypatch"].context()
                        given["monkeypatch"] = until_then.enter_context(patches)
                    if "tmp_path" in fixed:
                        given["tmp_path"] = fixed["tmp_path"] / f"case {number}"
                        given["tmp_path"].mkdir()
                    try:
                        test(**given)
                    except (Exception, pytest.fail.Exception):
                        shown = {name: str(value)[:_SHORT] for name, value in case.items()}
                        with subtests.test(**shown):
                            raise

        asked = ["subtests", *(name for name in fixtures if name != "subtests")]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kind) for name in asked]
        )
        return run

    return of
