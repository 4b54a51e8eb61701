"""How long a search takes when everything is warm, beside the encoding of its question alone.

Never measures through a pipe: the tool is called in this process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bench.figures import Figure, Spread

if TYPE_CHECKING:
    from bench.homes import Home

FILTERS: dict[str, dict[str, Any]] = {
    "": {},
    ", a month": {"when": "2025-06"},
    ", a heading": {"sections": ["technical_insights"]},
    ", a scope": {"type": "project"},
}


def search_figures(
    home: Home, questions: list[str], *, entries: int, allowed_ms: float, note: str = ""
) -> list[Figure]:
    """Warm `search_journal`, plain and with each filter; each question once per kind."""
    encoding: list[float] = []
    searching: dict[str, list[float]] = {name: [] for name in FILTERS}
    with home.opened() as app:
        app.filing.catch_up()
        encoder = app.encoder.get()
        assert encoder is not None
        search = app.private.toolset.tool("search_journal").call
        for question in questions[:5]:
            search({"query": question})
        for question in questions:
            began = time.perf_counter()
            encoder.encode_query(question)
            encoding.append((time.perf_counter() - began) * 1000)
            for name, arguments in FILTERS.items():
                began = time.perf_counter()
                answer = search({"query": question, **arguments})
                searching[name].append((time.perf_counter() - began) * 1000)
                assert not answer.facts["notes"], answer.facts["notes"]
    floor = Spread.of(encoding)
    return [
        Figure(
            name=f"warm search, {entries:,} entries{name}",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median + allowed_ms,
            rule=f"query encoding + {allowed_ms:.0f}",
            note=note,
        )
        for name, took in searching.items()
    ]
