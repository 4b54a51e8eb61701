"""The figures of memory in Postgres are measured on what they say."""

import pytest
from bench.memories import Sizes, memory_figures
from bench.memory_database import LARGE, record_number


# What a search finds and a worker makes, tests/contracts/test_memory.py asks.
@pytest.mark.long
def test_every_figure_is_measured_and_small_users_lose_nothing(scratch):
    """A few users and a large one on a real server; each finds its nearest records, all of them."""
    sizes = Sizes(users=4, rows=10, large=60, questions=3, saves=4)
    figures = {each.name: each for each in memory_figures(sizes, scratch)}
    assert list(figures) == [
        "memory search, one of 4 users, 10 records",
        "memory search, one of 4 users, 10 records, recall",
        "memory search, a user of 60 records",
        "memory search, a user of 60 records, recall",
        "memory save",
        "a worker, a record, all of one user",
        "a worker, a record, half of one user",
        "a worker, a record, one of each user",
    ]
    recalls = [each for name, each in figures.items() if name.endswith("recall")]
    assert [each.measured.median for each in recalls] == [1.0, 1.0]
    assert "of 4 messages" in figures["a worker, a record, one of each user"].note


def test_a_record_is_known_by_its_ref():
    """The number of a record among the large one's."""
    assert record_number("memory:message/m-0000042") == 42
    assert LARGE == "large"
