"""What an entry has beside its text is edited with it: a time, tags, a project, a tick."""

from __future__ import annotations

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


@pytest.mark.parametrize("journal", ["private", "notebook"])
def test_what_has_a_text_alone_has_no_fields(app, journal):
    """Its text is edited all the same."""
    ref = write(app, journal)
    assert app.amend.read_fields(ref) == {}
    assert app.amend.edit_fields(ref, "the wombat digs", {}).act in {"edited", "superseded"}


def test_a_folder_is_a_whole_path(app):
    """Any other would be that of nowhere."""
    ref = write(app, "chronicle")
    with pytest.raises(Invalid, match="'zoo' is not the path of a folder"):
        app.amend.edit_fields(ref, "the wombat digs", {"project": "zoo"})
