"""What counts as a number of an entry, and how entries are counted over time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.verbs.chronicle.figures import figure_over_time, numbers_in


@cases(
    ("text", "numbers"),
    [
        ("ran 5.2 km in 31 minutes", [(5.2, "km"), (31, "minutes")]),
        ("weight 71,5 kg", [(71.5, "kg")]),
        ("1,234 tests, 12,345.5 more", [(1234, "tests"), (12345.5, "more")]),
        ("-3 °C, 80% for 12€, 5km", [(-3, "°c"), (80, "%"), (12, "€"), (5, "km")]),
        ("2 of 3 and 4", [(2, ""), (3, ""), (4, "")]),
        ("2026-11-23 at 10:30, v1.2 1.2.3 10.0.0.1 #22 a1 1/2", []),
    ],
)
def test_numbers_with_the_word_behind_them(text, numbers):
    """No date, time, version, address or name is one."""
    assert [(each.value, each.unit) for each in numbers_in(text)] == numbers


@given(st.text(alphabet=st.sampled_from("0123456789.,-:/# kmé°%\u2212\u0664"), max_size=80))
def test_any_text_has_numbers_or_none(text):
    """Whatever is written, what is found is finite."""
    assert all(abs(each.value) < 1e300 for each in numbers_in(text))


@pytest.mark.parametrize(
    ("first", "last", "level", "parts"),
    [
        ("2026-11-01 10:00", "2026-11-03 10:00", "day", 3),
        ("2026-01-01 10:00", "2026-06-30 10:00", "week", 26 + 1),
        ("2022-01-15 10:00", "2025-12-15 10:00", "month", 48),
    ],
)
def test_the_parts_are_as_small_as_can_be_seen(world, first, last, level, parts):
    """From the first entry to the last, the empty ones too; their counts are all entries."""
    world.log((first, "ran 5 km"), (last, "ran 5 km"))
    found = figure_over_time(world.service, "ran")
    assert found.level == level
    assert len(found.parts) == parts
    assert sum(each.count for each in found.parts) == found.count == 2
    assert [each.value for each in found.points] == [5, 5]
