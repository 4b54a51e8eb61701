"""What a server counts of itself, in the text format of Prometheus.

Never holds an owner's name or a text: labels are names of tools, codes of errors and of limits.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from commonplace_server.http.calls import FinishedCall
    from commonplace_server.wiring.measures import Metric

METRICS = "/metrics"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The bounds that calls are counted below: a search takes 0.03, and ten are a client's patience."""


class Metrics:
    """What is counted since the start of a server. Thread-safe; see `http.calls.ObservesCalls`.

    Args:
        measures: What is read at each time of asking; may give nothing of what cannot be read.
    """

    def __init__(self, measures: Callable[[], Iterable[Metric]] = tuple) -> None:
        self._measures = measures
        self._lock = threading.Lock()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._below: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._refused: Counter[str] = Counter()

    def __call__(self, call: FinishedCall) -> None:
        """Count a call that is over."""
        place = bisect_left(SECONDS, call.seconds)
        with self._lock:
            self._outcomes[call.tool, call.outcome] += 1
            self._below.setdefault(call.tool, [0] * (len(SECONDS) + 1))[place] += 1
            self._seconds[call.tool] += call.seconds

    def count_refusal(self, limit: str) -> None:
        """Count a call that a limit kept out, by the name of the limit."""
        with self._lock:
            self._refused[limit] += 1

    def render(self) -> str:
        """All of it, as Prometheus reads it."""
        measured = [line for each in self._measures() for line in _measured(each)]
        with self._lock:
            lines = [*self._calls(), *self._histogram(), *self._limits(), *measured]
        return "\n".join(lines) + "\n"

    def _calls(self) -> Iterator[str]:
        name = "commonplace_calls_total"
        yield from _head(name, "counter", "Calls of tools that are over, by how they ended.")
        for (tool, outcome), count in sorted(self._outcomes.items()):
            yield f'{name}{{tool="{tool}",outcome="{outcome}"}} {count}'

    def _histogram(self) -> Iterator[str]:
        name = "commonplace_call_seconds"
        yield from _head(name, "histogram", "How long calls of tools took.")
        bounds = [*map(str, SECONDS), "+Inf"]
        for tool, counts in sorted(self._below.items()):
            below = [*accumulate(counts)]
            for bound, count in zip(bounds, below, strict=True):
                yield f'{name}_bucket{{tool="{tool}",le="{bound}"}} {count}'
            yield f'{name}_sum{{tool="{tool}"}} {self._seconds[tool]!r}'
            yield f'{name}_count{{tool="{tool}"}} {below[-1]}'

    def _limits(self) -> Iterator[str]:
        name = "commonplace_refused_calls_total"
        yield from _head(name, "counter", "Calls that a limit of one user kept out, by the limit.")
        for limit, count in sorted(self._refused.items()):
            yield f'{name}{{limit="{limit}"}} {count}'


def _head(name: str, kind: str, explanation: str) -> Iterator[str]:
    yield f"# HELP {name} {explanation}"
    yield f"# TYPE {name} {kind}"


def _measured(measure: Metric) -> Iterator[str]:
    kind = "counter" if measure.name.endswith("_total") else "gauge"
    yield from _head(measure.name, kind, measure.explanation)
    yield f"{measure.name} {measure.value!r}"
