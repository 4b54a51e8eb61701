"""How long a search takes when everything is warm, beside the encoding of its question alone.

Never measures through a pipe: the tool is called in this process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bench.figures import Figure, Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.homes import Home
    from commonplace.app import App
    from commonplace.verbs.toolset import Tool


class Asking(Struct, frozen=True, kw_only=True):
    """What is asked: a tool of an app, its argument for the question, its filters by their name."""

    name: str
    tool: Callable[[App], Tool]
    argument: str
    filters: Mapping[str, dict[str, Any]]


PRIVATE = Asking(
    name="warm search",
    tool=lambda app: app.private.toolset().tool("search_journal"),
    argument="query",
    filters={
        "": {},
        ", a month": {"when": "2025-06"},
        ", a heading": {"sections": ["technical_insights"]},
        ", a scope": {"type": "project"},
    },
)


def search_figures(
    home: Home,
    asking: Asking,
    questions: list[str],
    *,
    entries: int,
    allowed_ms: float,
    note: str = "",
) -> list[Figure]:
    """Warm searches, plain and with each filter; each question once per kind."""
    encoding: list[float] = []
    searching: dict[str, list[float]] = {name: [] for name in asking.filters}
    with home.opened() as app:
        app.filing.catch_up()
        encoder = app.encoder.get()
        assert encoder is not None
        search = asking.tool(app).call
        for question in questions[:5]:
            search({asking.argument: question})
        for question in questions:
            began = time.perf_counter()
            encoder.encode_query(question)
            encoding.append((time.perf_counter() - began) * 1000)
            for name, arguments in asking.filters.items():
                began = time.perf_counter()
                answer = search({asking.argument: question, **arguments})
                searching[name].append((time.perf_counter() - began) * 1000)
                assert not answer.facts["notes"], answer.facts["notes"]
    floor = Spread.of(encoding)
    return [
        Figure(
            name=f"{asking.name}, {entries:,} entries{name}",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median + allowed_ms,
            rule=f"query encoding + {allowed_ms:.0f}",
            note=note,
        )
        for name, took in searching.items()
    ]
