"""A law tried on a few examples in each run, and on many in `make test-long`.

The few are the first of the many. `make explore` tries both on examples of its own.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

# A fixture is made once for all examples, and some begin a program for each.
_CALM = [HealthCheck.too_slow, HealthCheck.data_too_large]


def sampled(
    few: int, many: int, **strategies: SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on examples of what it takes by these names; its fixtures are those of all.

    Args:
        few: How many examples a run tries.
        many: How many `make test-long` tries.
        strategies: What the examples are drawn from, by the name of the parameter.
    """

    def of(test: Callable[..., None]) -> Callable[..., None]:
        fixtures = [name for name in inspect.signature(test).parameters if name not in strategies]

        @functools.wraps(test)
        def run(examples: int, **fixed: Any) -> None:
            @settings(max_examples=examples, deadline=None, suppress_health_check=_CALM)
            @given(**strategies)
            def law(**drawn: Any) -> None:
                test(**fixed, **drawn)

            law()

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, kind) for name in ("examples", *fixtures)]
        )
        counts = [few, pytest.param(many, marks=pytest.mark.long)]
        return pytest.mark.hypothesis(pytest.mark.parametrize("examples", counts)(run))

    return of
