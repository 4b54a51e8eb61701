"""A ref of chronicle opened: the entry whole, and its neighbours in time."""

from __future__ import annotations

import itertools
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.pages import ChroniclePages
from commonplace.journals.chronicle.places import ChroniclePlace

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)


@pytest.fixture
def opened(tmp_path):
    """Makes a chronicle of a form at a path; all are closed at the end."""
    made = []

    def open_chronicle(form="database", path=None):
        numbers = itertools.count(1)
        chronicle = ChronicleJournal(
            ChroniclePlace(path=path or tmp_path / f"chronicle.{form}", form=form),
            owner="me",
            zone=UTC,
            clock=lambda: NOW,
            author=Author(hostname="otter", username="wren", directory="/srv/garden"),
            new_id=lambda: f"id-{next(numbers)}",
        )
        made.append(chronicle)
        return chronicle

    yield open_chronicle
    for each in made:
        each.close()


@pytest.mark.parametrize("form", ["database", "tree"])
def test_an_entry_is_opened_with_what_came_before_and_after(opened, form):
    """In the order of time, whatever the order of writing; the first words of the neighbours."""
    chronicle = opened(form)
    chronicle.add_event("shipped it", tags=["release"], at=NOW)
    chronicle.add_event("went home " + "and on " * 30, at=NOW + timedelta(days=400))
    chronicle.add_event("built\nit", at=NOW - timedelta(seconds=1))
    chronicle.add_event("long before", at=NOW - timedelta(days=400))
    pages = ChroniclePages(chronicle)
    assert pages.read_ref("chronicle:id-1") == Page(
        ref="chronicle:id-1",
        journal="chronicle",
        scope="/srv/garden",
        kind="event",
        at=NOW,
        text="shipped it",
        author="wren",
        tags=("release",),
        before=EntryPreview(ref="chronicle:id-3", at=NOW - timedelta(seconds=1), text="built it"),
        after=EntryPreview(
            ref="chronicle:id-2",
            at=NOW + timedelta(days=400),
            text="went home" + " and on" * 10 + "...",
        ),
    )
    assert pages.read_ref("chronicle:id-4").before is None
    assert pages.read_ref("chronicle:id-2").after is None


def test_entries_of_one_instant_follow_one_another(opened):
    """Each is passed once on the way up and on the way down."""
    chronicle = opened()
    for number in range(5):
        chronicle.add_event(f"step {number}", at=NOW)
    pages = ChroniclePages(chronicle)
    walked, ref = [], "chronicle:id-1"
    while ref:
        page = pages.read_ref(ref)
        walked.append(page.text)
        assert page.before is None or pages.read_ref(page.before.ref).after.ref == ref
        ref = page.after.ref if page.after else ""
    assert walked == [f"step {number}" for number in range(5)]


@pytest.mark.parametrize("generation", ["A", "B", "D1", "D2", "A migrated to B", "B then D2"])
def test_every_generation_is_walked_through_in_order(opened, tmp_path, generation):
    """From the oldest to the newest and back, as a list shows them."""
    chronicle = opened(path=GOLDEN["make"](generation, tmp_path / "chronicle.db"))
    chronicle.upgrade()
    listed = [event.ref for event in chronicle.list_events().events]
    pages = ChroniclePages(chronicle)
    up = [page.after.ref for page in map(pages.read_ref, listed[1:]) if page.after]
    down = [page.before.ref for page in map(pages.read_ref, listed) if page.before]
    assert up == listed[:-1]
    assert down == listed[1:]


def test_where_an_entry_lies_is_its_folder(opened):
    """Nobody's folder is no place."""
    places = [ChroniclePages(opened()).place_of(x) for x in ("/srv/garden", "unknown", "", "/")]
    assert places == ["/srv/garden", "", "", ""]


def test_what_is_not_there_is_named(opened):
    """Neither an absent entry nor a hostile ref is anything but one of our errors."""
    pages = ChroniclePages(opened())
    with pytest.raises(NotFound, match="chronicle:nope"):
        pages.read_ref("chronicle:nope")
    for ref in ("chronicle:", "chronicle:\0", "chronicle:" + "x" * 10_000, "chronicle:a\nb"):
        with pytest.raises(Invalid):
            pages.read_ref(ref)
    for ref in ("chronicle:../../etc/passwd", "chronicle:%2e%2e", "chronicle:' OR 1=1 --"):
        with pytest.raises(CommonplaceError):
            pages.read_ref(ref)
