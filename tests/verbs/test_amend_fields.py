"""What an entry has beside its text is edited with it: a time, tags, a project, a tick."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from tests.verbs.test_amend import opened, write

from commonplace.core.errors import Invalid

FIELDS = {
    "chronicle": {"at": "2026-11-20 09:00", "tags": "zoo, night", "project": "/srv/zoo"},
    "timeline": {"at": "2026-11-20 09:00", "tags": "zoo, night", "projects": "harborlight"},
    "memory": {"at": "2026-11-20 09:00", "done": "yes"},
}


@pytest.mark.parametrize("journal", FIELDS)
def test_what_an_entry_has_beside_its_text_is_edited_with_it(app, journal):
    """At once, and taken back at once; what is sent as it was stays to the second."""
    ref = write(app, journal)
    amend = app.amend
    text, before = amend.read_text(ref).text, amend.read_fields(ref)
    at = opened(app, ref).facts["at"]
    amend.edit_fields(ref, "the numbat naps", before)
    assert opened(app, ref).facts["at"] == at
    amend.edit_fields(ref, "the wombat digs", FIELDS[journal])
    assert amend.read_fields(ref) == FIELDS[journal]
    assert amend.read_text(ref).text == "the wombat digs"
    amend.undo(ref)
    assert amend.read_fields(ref) == before
    assert amend.read_text(ref).text == "the numbat naps"
    amend.undo(ref)
    assert amend.read_text(ref).text == text


@pytest.mark.parametrize("journal", FIELDS)
def test_what_takes_a_place_has_what_it_is_given(app, journal):
    """The entry before keeps what it had; without fields the new one has those of that one."""
    amend = app.amend
    ref = write(app, journal)
    before = amend.read_successor_fields(ref)
    at = opened(app, ref).facts["at"]
    alike = amend.supersede(ref, "the numbat naps", fields=before).ref
    assert amend.read_fields(alike) == before == amend.read_fields(ref)
    assert opened(app, alike).facts["at"] == at
    later = amend.supersede(alike, "the wombat digs", fields=FIELDS[journal]).ref
    assert amend.read_fields(later) == FIELDS[journal]
    assert amend.read_fields(alike) == before


def test_names_that_are_taken_away_stay_away(app):
    """What takes a place has none, where the form says none."""
    for journal in ("chronicle", "timeline"):
        ref = write(app, journal)
        app.amend.edit_fields(ref, "the numbat naps", {"tags": "zoo"})
        later = app.amend.supersede(ref, "the wombat digs", fields={"tags": ""}).ref
        assert app.amend.read_fields(later)["tags"] == ""


def test_the_time_of_a_private_entry_is_edited(app):
    """In each line of its file that says one; when it was written down stays, and a ref."""
    ref = write(app, "private")
    amend, before = app.amend, app.amend.read_text(ref)
    (at,) = amend.read_fields(ref).values()
    assert amend.read_successor_fields(ref) == {}
    day = at[:10]
    amend.edit_fields(ref, "the wombat digs", {"at": f"{day} 00:01"})
    after = amend.read_text(ref)
    assert amend.read_fields(ref) == {"at": f"{day} 00:01"}
    stamp = re.search(r"\ndate: (.*)\ntimestamp: (\d+)\n", after.text)
    assert datetime.fromisoformat(stamp[1]).timestamp() * 1000 == int(stamp[2])
    assert opened(app, ref).facts["at"].startswith(stamp[1][:-1].removesuffix(".000"))
    assert 'title: "12:01:00 AM - ' in after.text
    assert after.written == before.written
    amend.undo(ref)
    assert amend.read_text(ref).text == before.text


def test_what_has_a_text_alone_has_no_fields(app):
    """Its text is edited all the same."""
    ref = write(app, "notebook")
    assert app.amend.read_fields(ref) == {}
    assert app.amend.edit_fields(ref, "the wombat digs", {}).act in {"edited", "superseded"}


def test_a_folder_is_a_whole_path(app):
    """Any other would be that of nowhere."""
    ref = write(app, "chronicle")
    with pytest.raises(Invalid, match="'zoo' is not the path of a folder"):
        app.amend.edit_fields(ref, "the wombat digs", {"project": "zoo"})
