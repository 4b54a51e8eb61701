"""The letters of short refs: one for each journal of the table."""

from __future__ import annotations

from commonplace.core.refs import short_number, short_ref
from commonplace.journals.table import JOURNAL_NAMES


def test_each_journal_has_a_letter_of_its_own():
    """What was said has `s`, since `t` is the timeline's."""
    letters = [short_ref(f"{name}:1")[0] for name in JOURNAL_NAMES]
    assert len(set(letters)) == len(letters)
    assert short_ref("transcripts:codex/1").startswith("s:")


def test_one_of_before_leads_where_it_led():
    """When sessions and the timeline shared a letter: the eight signs behind it say what is meant."""
    ref = short_ref("transcripts:codex/1")
    assert short_number(f"t{ref[1:]}") == short_number(ref)
