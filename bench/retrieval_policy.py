"""Policies to measure with: the one that recall uses, overridden by name, and grids of them.

Never holds a ranking number: those live in `search/policy.py` alone.
"""

from __future__ import annotations

import ast
from itertools import product
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.search import policy as numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.search.policy import Policy

RECALL = numbers.RECALL


def overridden(policy: Policy, assignments: Sequence[str]) -> Policy:
    """The policy with `name=value` set, `part.name=value` inside a part of it.

    Raises: Invalid for a name that the policy does not have, or a value of another type.
    """
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise Invalid(f"No value in {assignment!r}.", hint="Write name=value.")
        policy = _with(policy, name.split("."), value)
    return policy


def _with(policy: Any, path: Sequence[str], value: str) -> Any:
    known = policy.__struct_fields__ if isinstance(policy, Struct) else ()
    if path[0] not in known:
        raise Invalid(
            f"The policy has no {path[0]!r}.", hint=f"Use one of {', '.join(known) or 'none'}."
        )
    before = getattr(policy, path[0])
    after = _with(before, path[1:], value) if path[1:] else _parsed(before, path[0], value)
    return replace(policy, **{path[0]: after})


def _parsed(before: object, name: str, value: str) -> Any:
    try:
        after = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        after = None
    if isinstance(before, float) and type(after) is int:
        after = float(after)
    if type(after) is not type(before):
        raise Invalid(
            f"{name}={value} is not of the type of {before!r}.", hint="Give a like value."
        )
    return after


def grid(policy: Policy, sweeps: Sequence[str]) -> Iterator[tuple[str, Policy]]:
    """(label, policy) for every combination of `name=value,value,...`. Raises: Invalid."""
    axes = []
    for sweep in sweeps:
        name, _, values = sweep.partition("=")
        axes.append([f"{name}={value}" for value in values.split(",")])
    for chosen in product(*axes):
        yield " ".join(chosen), overridden(policy, chosen)
