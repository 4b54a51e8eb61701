"""The file of an entry that another program had says by which id it is known again."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.core.ids import import_key
from commonplace.journals.private.copied import Copy, key_of_copy

AT = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)
PRINTABLE = st.text(min_size=1, max_size=2000).filter(str.isprintable)


def file_of(its_id):
    """The file of a copy with an id."""
    return Copy(text="It was fine.", at=AT, program="jrnl", id=its_id).render(AT, UTC)


@given(PRINTABLE)
@example('2024-05-02 09:30 "Bread"')
@example("'two  spaces\"")
@example("   ")
def test_an_id_is_read_back_as_it_was(its_id):
    """Whatever quotes and spaces it has, at its ends too."""
    assert key_of_copy(file_of(its_id)) == import_key("jrnl", its_id)


@cases("its_id", ["two\nlines", "a" * 2001, "a\u2028b"])
def test_an_id_of_several_lines_or_too_long_is_cut_to_one(its_id):
    """The file stays one that every program reads; it is then known by what was kept."""
    assert "It was fine." in file_of(its_id).rpartition("---\n")[2]
    assert key_of_copy(file_of(its_id)) != import_key("jrnl", its_id)


def test_an_entry_that_was_written_here_has_no_key():
    """Nor has one whose frontmatter names half of it."""
    assert key_of_copy("---\ndate: 1\n---\n\ntext") == ""
    assert key_of_copy("---\nimported_from: jrnl\n---\n\ntext") == ""
