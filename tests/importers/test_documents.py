"""mem0, Day One and ActivityWatch: documents of any size, whole, broken or hostile."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

import pytest
from tests.importers.reading import BERLIN, read, written

from commonplace.core.errors import Invalid
from commonplace.verbs.imports.programs import load_importer

TEA = {
    "id": "m1", "memory": "Likes tea", "hash": "x", "metadata": {"source": "chat"},
    "created_at": "2024-05-03T02:30:00-07:00", "updated_at": None, "user_id": "ada",
    "categories": ["food"],
}  # fmt: skip
WALK = {
    "uuid": "A1", "creationDate": "2024-05-03T07:30:00Z", "timeZone": "Europe/Berlin",
    "text": "Walked to the harbour.", "tags": ["sea"], "starred": True,
    "location": {"placeName": "Pier 3", "localityName": "Kiel", "country": "Germany"},
    "photos": [{"identifier": "p1"}, {"identifier": "p2"}],
}  # fmt: skip


@pytest.mark.parametrize("form", [lambda x: x, lambda x: {"count": 1, "results": x, "relations": []},
                                  lambda x: {"memories": x}])  # fmt: skip
def test_memories_of_mem0_come_in_every_form(tmp_path, form):
    """A list, or an object with one."""
    (entry,), left = read("mem0", written(tmp_path / "m.json", json.dumps(form([TEA]))))
    assert (entry.id, entry.text, entry.tags) == ("m1", "Likes tea", ("food",))
    assert entry.at == datetime(2024, 5, 3, 9, 30, tzinfo=UTC)
    assert entry.metadata == {"source": "chat", "user_id": "ada"}
    assert not left


def test_what_is_no_memory_is_left_out(tmp_path):
    """With its line; a file without a list is an error."""
    bad = [
        1,
        {"id": "a"},
        {**TEA, "created_at": "yesterday"},
        {**TEA, "created_at": True},
    ]
    text = json.dumps({"results": bad, "relations": [{}, {}]}, indent=None).replace("}, {", "},\n{")
    taken, left = read("mem0", written(tmp_path / "m.json", text))
    assert not taken
    assert [each.why for each in left] == [
        "a memory is not an object",
        "a memory has no text",
        "its created_at is not a time",
        "its created_at is not a time",
        "relations of mem0's graph",
    ]
    assert left[2].where == "line 2: 'yesterday'"
    for text in ("{}", "3", '"x"', ""):
        with pytest.raises(Invalid):
            read("mem0", written(tmp_path / "n.json", text))


def test_each_shape_of_a_memory_is_read(tmp_path):
    """A number as its id, or none; its text under each name; times in each form, or none."""
    memories = [
        {"id": 7, "memory": "number", "metadata": None, "categories": None, "created_at": None},
        {"memory": "no id"},
        {"id": "e", "data": "data field", "created_at": 1767225600},
        {"id": "f", "text": "text field", "expiration_date": "2027-01-01"},
    ]
    pages = [{"results": memories[:2], "next": None}, {"results": memories[2:], "next": "…page=3"}]
    whole = [
        json.dumps(pages),
        "\n".join(map(json.dumps, pages)),
        "\n".join(map(json.dumps, memories)),
    ]
    for text in whole:
        for encoding in ("utf-8", "utf-16"):
            path = written(tmp_path / "m.json", text.encode(encoding))
            taken, left = read("mem0", path)
            assert [each.text for each in taken] == ["number", "no id", "data field", "text field"]
            assert taken[0].id == "7"
            assert taken[1].id.startswith("text ")
            assert [each.is_dated for each in taken] == [False, False, True, False]
            assert taken[2].at == datetime(2026, 1, 1, tzinfo=UTC)
            assert taken[3].metadata == {"expiration_date": "2027-01-01"}
            assert len(left) == (text == whole[1])


def test_what_is_glued_to_a_document_is_named(tmp_path):
    """Its line; the memories before it are read."""
    path = written(tmp_path / "m.json", json.dumps([TEA]) + "\nrest")
    found = load_importer("mem0").read(str(path), zone=UTC)
    assert next(found).id == "m1"
    with pytest.raises(Invalid, match="line 2: expected an object or a list"):
        next(found)


def test_a_diary_of_day_one_is_read_from_an_archive_a_folder_or_a_file(tmp_path):
    """Text with tags and place; pictures are counted."""
    export = json.dumps(
        {"metadata": {"version": "1.0"}, "entries": [WALK, {**WALK, "uuid": "A2", "text": ""}]}
    )
    file = written(tmp_path / "export" / "Travel.json", export)
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("Travel.json", export)
        made.writestr("photos/p1.jpeg", b"\xff\xd8")
    for path in (file, file.parent, archive):
        (entry,), left = read("day-one", path)
        assert (entry.id, entry.text, entry.tags) == ("A1", WALK["text"], ("sea", "starred"))
        assert entry.at == datetime(2024, 5, 3, 7, 30, tzinfo=UTC)
        assert entry.metadata == {"diary": "Travel", "place": "Pier 3, Kiel, Germany"}
        assert [(each.why, each.count) for each in left] == [
            ("there is no text in it", 1),
            ("pictures of entries", 4),
        ]


def test_a_hostile_archive_is_refused(tmp_path):
    """What swells, what is cut, and what holds no diary."""
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("Journal.json", b" " * 80_000_000)
    with pytest.raises(Invalid, match="would unpack"):
        read("day-one", bomb)
    cut = written(tmp_path / "cut.zip", bomb.read_bytes()[:400])
    with pytest.raises(Invalid, match="damaged or encrypted"):
        read("day-one", cut)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as made:
        made.writestr("../../x.json", "{}")
    with pytest.raises(Invalid, match="holds no entries of Day One's"):
        read("day-one", tmp_path / "other.zip")


def test_names_and_links_in_an_archive_lead_nowhere(tmp_path):
    """What they hold is read in place: nothing is unpacked, and no link is followed."""
    export = json.dumps({"entries": [WALK]})
    secret = written(tmp_path / "secret.json", export.replace("A1", "S1"))
    archive = tmp_path / "in" / "export.zip"
    archive.parent.mkdir()
    link = zipfile.ZipInfo("Link.json")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("../climbs.json", export)
        made.writestr("/absolute.json", export.replace("A1", "A2"))
        made.writestr(link, f'"{secret}"')
    before = sorted(tmp_path.rglob("*"))
    taken, left = read("day-one", archive)
    assert [each.id for each in taken] == ["A1", "A2"]
    assert [each.why for each in left] == ["pictures of entries"]
    assert sorted(tmp_path.rglob("*")) == before


def event(at, seconds, **data):
    """An event of ActivityWatch's."""
    return {"id": 1, "timestamp": at, "duration": seconds, "data": data}


def exported(path, *, presence=True):
    """An export with a window for 2 h over midnight in Berlin, half of it with somebody there."""
    window = [
        event("2024-05-03T21:00:00Z", 3600, app="Editor", title="journal.py"),
        event("2024-05-03T22:00:00Z", 3600, app="Browser", title="Docs"),
        event("soon", 5, app="x"),
        3,
    ]
    afk = [event("2024-05-03T21:30:00Z", 3600, status="not-afk")]
    buckets = {
        "aw-watcher-window_box": {"type": "currentwindow", "hostname": "box", "events": window},
        "aw-watcher-web-firefox": {"type": "web.tab.current", "events": [event("x", 1)]},
    }
    if presence:
        buckets["aw-watcher-afk_box"] = {"events": afk, "type": "afkstatus", "hostname": "box"}
    return written(path / "aw.json", json.dumps({"buckets": buckets}))


def test_activity_is_summed_up_by_day_where_somebody_was_there(tmp_path):
    """30 minutes on each side of midnight in Berlin, 22:00 UTC; the rest is counted."""
    taken, left = read("activitywatch", exported(tmp_path), BERLIN)
    assert [(each.id, each.text, each.at) for each in taken] == [
        (
            "box 2024-05-03",
            "At box: 30 min.\n- Editor 30 min: journal.py 30 min",
            datetime(2024, 5, 3, 21, 30, tzinfo=UTC),
        ),
        (
            "box 2024-05-04",
            "At box: 30 min.\n- Browser 30 min: Docs 30 min",
            datetime(2024, 5, 3, 22, 0, tzinfo=UTC),
        ),
    ]
    assert {each.why: each.count for each in left} == {
        "events that are not objects": 1,
        "events of the kind web.tab.current": 1,
        "events without a time, or of a length that cannot be": 1,
    }


def test_without_a_record_of_presence_all_counts(tmp_path):
    """In UTC it is an hour on each day."""
    taken, _ = read("activitywatch", exported(tmp_path, presence=False), UTC)
    assert [each.text.partition(".")[0] for each in taken] == ["At box: 2 h"]
    with pytest.raises(Invalid, match="holds no `buckets`"):
        read("activitywatch", written(tmp_path / "b.json", '{"events": []}'))
