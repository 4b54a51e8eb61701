"""What our journals keep beyond `PagesContract`: neighbours through all entries, any text at all."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Since
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.pages import ChroniclePages
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.pages import PrivatePages
from commonplace.journals.private.roots import resolve_roots
from commonplace.journals.private.source import sources_of
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.source import TimelineSource

if TYPE_CHECKING:
    from commonplace.core.ports import Source

NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)
OFFSETS = [timedelta(0), timedelta(hours=1), timedelta(days=3), timedelta(days=3, seconds=1)]


def _chronicle(folder, form):
    numbers = itertools.count()
    chronicle = ChronicleJournal(
        ChroniclePlace(path=folder / form, form=form),
        owner="me",
        zone=UTC,
        clock=lambda: NOW,
        author=Author(directory="/srv"),
        new_id=lambda: f"entry-{next(numbers)}",
    )
    for number, offset in enumerate(OFFSETS):
        chronicle.add_event(f"entry {number}", at=NOW + offset)
    return ChroniclePages(chronicle), ChronicleSource(chronicle), chronicle.close


def _private(folder):
    roots = resolve_roots(home=folder, project=None, temp=folder)
    journal = PrivateJournal(
        roots=roots, zone=UTC, clock=lambda: NOW, keys=folder / "keys", random_micros=lambda: 0
    )
    for number, offset in enumerate(OFFSETS):
        journal.write({"feelings": f"entry {number}"}, at=NOW + offset)
    return PrivatePages(journal), sources_of(journal)[0], lambda: None


def _timeline(folder):
    journal = TimelineJournal(folder / "journal", owner="me", zone=UTC, clock=lambda: NOW)
    for number, offset in enumerate(OFFSETS):
        journal.add(f"entry {number}", at=NOW + offset)
    return TimelinePages(journal), TimelineSource(journal), journal.close


JOURNALS = {
    "private": _private,
    "chronicle's database": lambda folder: _chronicle(folder, "database"),
    "chronicle's tree": lambda folder: _chronicle(folder, "tree"),
    "timeline": _timeline,
}


@pytest.fixture(params=JOURNALS)
def journal(request, tmp_path):
    """A journal of four entries: what opens its refs, and what the index follows."""
    pages, source, close = JOURNALS[request.param](tmp_path)
    yield pages, source
    close()


def docs_of(source: Source):
    """Its docs as an index gets them, oldest first."""
    changes = source.scan(Since(mark=None, stamps=lambda _prefix: {}))
    return sorted((change.doc for change in changes), key=lambda doc: doc.at)


def test_neighbours_lead_through_all_entries_and_back(journal):
    """In the order of time, with the time and first words of each."""
    pages, source = journal
    docs = docs_of(source)
    opened = [pages.read_ref(doc.ref) for doc in docs]
    assert [page.before and page.before.ref for page in opened] == [
        None,
        *(doc.ref for doc in docs[:-1]),
    ]
    assert [page.after and page.after.ref for page in opened] == [
        *(doc.ref for doc in docs[1:]),
        None,
    ]
    for page, following in zip(opened, docs[1:], strict=False):
        assert (page.after.at, page.after.text) == (following.at, following.text)


@given(ref=st.text())
@example(ref="../../etc/passwd")
@example(ref="%2e%2e/%2e%2e")
@example(ref="user/..")
@example(ref="\0")
@example(ref="x" * 10_000)
@example(ref="\u202e")
@example(ref="\ud800")
@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_other_text_is_one_of_our_errors(journal, ref):
    """Short, and of a kind that says what it is; a scope nobody knows raises nothing."""
    pages, _ = journal
    with pytest.raises(CommonplaceError) as caught:
        pages.read_ref(f"{pages.journal}:{ref}")
    assert caught.value.code in {"invalid", "denied", "not_found"}
    assert len(str(caught.value)) < 1000
    str(caught.value).encode()
    assert isinstance(pages.place_of(ref), str)
