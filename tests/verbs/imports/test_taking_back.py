"""An import that is taken back: what it added goes, and nothing of another import does."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.ids import import_key
from commonplace.verbs.imports.journals import IntoPrivate, IntoTimeline
from commonplace.verbs.imports.programs import load_importer
from commonplace_testing import FrozenClock

DAYS = "".join(f"[2024-05-0{n} 09:30] Day {n}\n\n" for n in (1, 2, 3, 4))


@pytest.fixture
def app(no_weights):
    """The app of a home without entries."""
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    opened = App(settings, user_home=Path.home(), clock=FrozenClock())
    yield opened
    opened.close()


@pytest.fixture
def diary(tmp_path):
    """A diary of jrnl's with four entries."""
    path = tmp_path / "journal.txt"
    path.write_text(DAYS)
    return path


def keys_of(diary, app):
    """The import keys of its entries."""
    read = load_importer("jrnl").read(str(diary), zone=app.settings.timezone)
    return [import_key("jrnl", each.id) for each in read]


def imported(app, diary, into):
    """Import what is in the diary, to its end; the id of the record."""
    app.clock.advance(1)
    record = app.import_records().new()
    app.foreign_import({}).go_through("jrnl", [str(diary)], into=into, record=record)
    return record.id


def cut_off(app, diary, into, *, written=0):
    """An import that was killed when it had written that many entries; the id of its record."""
    app.clock.advance(1)
    record = app.import_records().new()
    record.begin("jrnl")
    keys = keys_of(diary, app)
    journals = {
        "private": lambda: IntoPrivate(app.private.journal, app.shared.screen, app.clock),
        "timeline": lambda: IntoTimeline(app.timeline.journal, app.clock),
    }
    record.into(into).put_planned(dict.fromkeys(journals[into]().absent(keys), ""))
    if written:
        diary.write_text(DAYS[: DAYS.index(f"[2024-05-0{written + 1}")])
        app.foreign_import({}).go_through(
            "jrnl", [str(diary)], into=into, record=app.import_records().open("unknown")
        )
        app.import_records().open("unknown").remove()
        diary.write_text(DAYS)
    return record.id


def removed(app, record):
    """How many entries of an import are found, which are then taken back."""
    taking = app.import_taking_back(record)
    found = taking.preview().entries
    assert taking.take_back(None, most=found).entries == found
    return found


@pytest.mark.parametrize("into", ["private", "timeline"])
@pytest.mark.parametrize("written", [0, 2])
def test_a_killed_import_leaves_what_a_later_one_added(app, diary, into, written):
    """Only what it wrote itself before it was killed goes."""
    killed = cut_off(app, diary, into, written=written)
    later = imported(app, diary, into)
    assert [removed(app, each) for each in (killed, later)] == [written, 4 - written]


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_of_two_killed_imports_each_takes_its_own(app, diary, into):
    """What was written after the second began is the second's."""
    first = cut_off(app, diary, into, written=1)
    second = cut_off(app, diary, into, written=3)
    assert [removed(app, each) for each in (first, second)] == [1, 2]


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_what_is_taken_back_and_comes_again_is_of_the_import_that_brought_it(app, diary, into):
    """Also where the one that took it back was killed before it had forgotten its import."""
    first = imported(app, diary, into)
    path = app.folder / "brought" / f"{first}.jsonl"
    kept = path.read_bytes()
    assert removed(app, first) == 4
    path.write_bytes(kept)
    second = imported(app, diary, into)
    assert [removed(app, each) for each in (first, second)] == [0, 4]


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_of_two_imports_at_once_a_killed_one_takes_nothing_of_the_other(app, diary, into):
    """Both had found the entries absent; the one that wrote them knows that it did."""
    app.clock.advance(1)
    first = app.import_records().new()
    killed = cut_off(app, diary, into)
    app.foreign_import({}).go_through("jrnl", [str(diary)], into=into, record=first)
    assert [removed(app, each) for each in (killed, first.id)] == [0, 4]
