"""The wiring of what a server reads of itself for its metrics: users and encoder.

Never asks a journal, and knows no database: `database_measures` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.ports import CountsEncoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.app import Apps


class Metric(NamedTuple):
    """A number that is read when it is asked for.

    Attributes:
        name: As Prometheus names it; what is only counted up ends in `_total`.
        explanation: What it says, a sentence.
        value: Now.
    """

    name: str
    explanation: str
    value: float


def measure_apps(apps: Apps) -> Iterator[Metric]:
    """How many users are open, and what the encoder has done, once it is here."""
    yield Metric("commonplace_open_users", "Users whose journals are open.", apps.count_open())
    encoder = apps.shared.encoder.get()
    if encoder is None or not isinstance(encoder, CountsEncoding):
        return
    texts, seconds = encoder.encoded()
    name = "commonplace_encoder"
    yield Metric(f"{name}_texts_total", "Texts and questions that were encoded.", texts)
    explanation = "How long encoding them took, in all threads together."
    yield Metric(f"{name}_seconds_total", explanation, seconds)
