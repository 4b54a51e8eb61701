"""The seeds of a test that lives a random life: one in `make test`, some in `long`, all in `whole`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def seeds(first: int, *, long: Iterable[int], whole: Iterable[int]) -> list[Any]:
    """The values for `parametrize`: the first, those that take long, and the rest of the proof."""
    return [
        first,
        *(pytest.param(seed, marks=pytest.mark.long) for seed in long),
        *(pytest.param(seed, marks=pytest.mark.whole) for seed in whole),
    ]
