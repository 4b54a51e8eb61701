"""What every journal owes `undo` of an import, over all of them; see `GivesImportsBack`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.contracts.noting import Noted
from tests.importable import EXPORT
from tests.verbs.recall_world import ask, refs

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.journals.table import JOURNAL_NAMES
from commonplace.journals.timeline.portable import PortableExpired
from commonplace.search.filing.filing import Filing
from commonplace.search.filing.port import Pending
from commonplace.verbs.export.reading import open_export

EDITED = {
    "private": "the cache",
    "chronicle": "rolled",
    "timeline": "moons",
    "memory": "graz",
    "notebook": "",
    "transcripts": "",
}
"""Words of the entry of each that is changed."""


@pytest.fixture
def app(no_weights):
    """The app of a home without entries."""
    opened = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
    yield opened
    opened.close()


def brought(app, journal):
    """What was noted of an export's items of a journal, which are there and filed."""
    noted = Noted()
    wiring = next(each for each in app.journals if each.name == journal)
    portable = wiring.portable()
    with open_export(EXPORT) as export:
        items = export.items(journal, portable.item_type)
        if journal == "private":
            items = map(portable.located, items)
        count = portable.import_items(items, noted)
    app.filing.sweep()
    return noted, count


def all_of(journal, noted):
    """By their keys, the refs and versions of all that is to go, in the order in which it goes."""
    found = [(key, (x.ref, x.version)) for key, x in journal.find(noted.added).items()]
    return dict(reversed(found) if journal.last_first else found)


def change(app, name, found):
    """Change one of the entries; its ref."""
    if name == "notebook":
        app.notebook.service().reading().write("boats", "They float.")
        return "notebook"
    if name == "transcripts":
        app.transcripts.store.delete("claude-code", "s1", [1])
        return "transcripts:claude-code/s1"
    service = app.amend
    refs = (entry.ref for entry in found.values())
    ref = next(x for x in refs if EDITED[name] in service.read_kept_text(x).text.lower())
    service.edit(ref, "changed since")
    return ref


@pytest.mark.parametrize("name", JOURNAL_NAMES)
def test_what_was_added_is_found_by_what_was_noted(app, name):
    """Before it was written as after: the two agree, so that a kill in between hides nothing."""
    noted, _ = brought(app, name)
    journal = app.gives_back(name)
    assert noted.planned == noted.added != {}
    for versions in (noted.planned, noted.added):
        found = journal.find(versions)
        assert found.keys() == versions.keys()
        assert all(entry.is_as_added for entry in found.values())
    assert journal.find({}) == {}


@pytest.mark.parametrize("name", JOURNAL_NAMES)
def test_what_was_changed_is_not_removed(app, name):
    """It is not as it was added, and the version that it had then removes nothing."""
    noted, _ = brought(app, name)
    journal = app.gives_back(name)
    before = journal.find(noted.added)
    ref = change(app, name, before)
    after = next((x for x in journal.find(noted.added).values() if x.ref == ref), None)
    assert after is not None
    was = next(entry for entry in before.values() if entry.ref == ref)
    if name == "transcripts":  # a part of it was deleted: the rest goes with the session
        assert (after.is_as_added, after.version == was.version) == (True, False)
    else:
        assert not after.is_as_added or after.successor
    if not after.successor:
        assert not journal.remove({ref: was.version})[0]
        assert ref in {entry.ref for entry in journal.find(noted.added).values()}


@pytest.mark.parametrize("name", JOURNAL_NAMES)
def test_what_is_removed_is_gone_and_comes_again(app, name):
    """From the journal and the index; done twice, as after a kill, it is the same."""
    noted, count = brought(app, name)
    journal = app.gives_back(name)
    asked = all_of(journal, noted)
    gone, _ = journal.remove(dict(asked.values()))
    assert {*gone} == {ref for ref, _ in asked.values()}
    assert journal.find(noted.added) == {}
    for _ in range(2):
        journal.unfile(asked)
    app.filing.sweep()
    assert refs(ask(app, "recall", query="harbour moons graz threes quiet river")) == []
    again, count_again = brought(app, name)
    assert (again.added, count_again) == (noted.added, count)


@pytest.mark.parametrize("name", [x for x in JOURNAL_NAMES if x != "memory"])
def test_an_index_that_is_read_holds_nothing_up(app, name, monkeypatch):
    """What is left in it is said, as after a deletion, and goes at its next opening."""
    noted, _ = brought(app, name)
    journal = app.gives_back(name)
    asked = all_of(journal, noted)
    gone, _ = journal.remove(dict(asked.values()))
    reading = Pending("It is being read.")
    monkeypatch.setattr(Filing, "forget", lambda *_: reading)
    monkeypatch.setattr(Filing, "sweep", lambda _: reading.notes)
    left = journal.unfile({key: entry for key, entry in asked.items() if entry[0] in gone})
    assert any("It is being read." in x for x in left)


def test_what_retention_left_of_an_entry_goes(app):
    """The sentences that summaries quote of it, too."""
    noted = Noted()
    at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    items = [PortableExpired(ref="timeline:old", at=at, facts={}, points=(), hash="00" * 8)]
    portable = app.timeline.portable()
    assert portable.import_items(iter(items), noted) == 1
    journal = app.gives_back("timeline")
    asked = all_of(journal, noted)
    assert journal.remove(dict(asked.values())) == (["timeline:old"], ())
    assert [*portable.export_items(None)] == []
    journal.unfile(asked)
    assert portable.import_items(iter(items), noted) == 1
