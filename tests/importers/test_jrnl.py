"""jrnl: its text file, its folder and its JSON give the same entries under the same ids."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from tests.cases import cases
from tests.importers.reading import BERLIN, read, written

from commonplace.core.errors import Invalid, NotFound

DIARY = """[2024-05-03 09:30:00 AM] Walked to the harbour. It was cold.
The herring boats were in. @sea

[x] is no time, so it goes on.

[2024-05-04 10:00:00 PM] *Bread *
Baked twice.

[2024-05-04 10:00:30 PM] Bread
Again.
"""


def test_a_text_file_is_read_in_the_zone(tmp_path):
    """09:30 in Berlin is 07:30 UTC in May; a star is a tag, and what is no time is text."""
    taken, left = read("jrnl", written(tmp_path / "journal.txt", DIARY), BERLIN)
    assert not left
    assert [each.at for each in taken] == [
        datetime(2024, 5, 3, 7, 30, tzinfo=UTC),
        datetime(2024, 5, 4, 20, 0, tzinfo=UTC),
        datetime(2024, 5, 4, 20, 0, 30, tzinfo=UTC),
    ]
    assert taken[0].text == (
        "Walked to the harbour. It was cold.\nThe herring boats were in. @sea\n\n"
        "[x] is no time, so it goes on."
    )
    assert (taken[1].text, taken[1].tags) == ("Bread\nBaked twice.", ("starred",))
    assert [each.where for each in taken] == [f"journal.txt line {n}" for n in (1, 6, 9)]


def test_its_export_gives_the_same_ids(tmp_path):
    """An entry has no id: the minute and the title stand for one, numbered where two are alike."""
    entries = [
        {
            "title": "Walked to the harbour. It was cold.",
            "body": "The herring boats were in. @sea",
            "date": "2024-05-03",
            "time": "09:30",
            "tags": ["@sea"],
            "starred": False,
        },
        {
            "title": "Bread",
            "body": "Baked twice.",
            "date": "2024-05-04",
            "time": "22:00",
            "tags": [],
            "starred": True,
        },
        {
            "title": "Bread",
            "body": "Again.",
            "date": "2024-05-04",
            "time": "22:00",
            "tags": [],
            "starred": False,
        },
    ]
    export = written(tmp_path / "d.json", json.dumps({"tags": {"@sea": 1}, "entries": entries}))
    of_json, left = read("jrnl", export)
    of_text, _ = read("jrnl", written(tmp_path / "journal.txt", DIARY))
    assert not left
    assert (
        [each.id for each in of_json]
        == [each.id for each in of_text]
        == [
            "2024-05-03 09:30 Walked to the harbour. It was cold.",
            "2024-05-04 22:00 Bread",
            "2024-05-04 22:00 Bread (2)",
        ]
    )
    assert [each.tags for each in of_json] == [(), ("starred",), ()]


def test_a_folder_of_days_is_read_in_order(tmp_path):
    """Files of other names are not of the journal."""
    for name in ("2024/05/04.txt", "2024/05/03.txt", "notes.txt"):
        day = name[8:10] if name[0] == "2" else "09"
        written(tmp_path / "diary" / name, f"[2024-05-{day} 09:00] Day {day}\n")
    taken, _ = read("jrnl", tmp_path / "diary")
    assert [each.text for each in taken] == ["Day 03", "Day 04"]
    with pytest.raises(Invalid, match="no journal of jrnl's"):
        read("jrnl", written(tmp_path / "empty" / "a.txt", "x").parent)


@cases(
    ("content", "message"),
    [
        ("gAAAAABmNJ3v", "is encrypted"),
        ("Dear diary\n[2024-05-03 09:30] x\n", "line 1, does not begin with a time .*'Dear diary'"),
        ('{"tags": {}}', "holds no `entries`"),
        ('{"entries": [{"title": "a"},\n{"tit', "line 2: the JSON breaks off"),
        ('{"entries": 3}', "line 1: expected a list, found a number"),
        ('{"entries": [' + "[" * 100_000, "line 1: a value is nested too deep"),
    ],
)
def test_what_is_no_journal_is_named(tmp_path, content, message):
    """With its file, its line, its value and the next step."""
    path = written(tmp_path / "journal.txt", content)
    with pytest.raises(Invalid, match=message) as caught:
        read("jrnl", path)
    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_a_diary_in_another_encoding_is_read(tmp_path):
    """UTF-16 by its mark; each entry of any other as Latin-1, which it says."""
    wide = written(tmp_path / "wide.txt", "[2024-05-03 09:30] Kölsch\nsüß\n".encode("utf-16"))
    assert [(each.text, each.read_as) for each in read("jrnl", wide)[0]] == [("Kölsch\nsüß", "")]
    text = b"[2024-05-03 09:30] caf\xe9\n[2024-05-04 09:30] plain\n[2024-05-05 09:30] x\n\xff\xfe\n"
    taken, _ = read("jrnl", written(tmp_path / "old.txt", text))
    assert [(each.text, each.read_as) for each in taken] == [
        ("café", "Latin-1"),
        ("plain", ""),
        ("x\nÿþ", "Latin-1"),
    ]


def test_an_entry_that_is_none_is_left_out_alone(tmp_path):
    """The others come in."""
    entries = [{"date": "2024-13-01", "time": "09:30"}, 7, {"date": "2024-01-01", "title": "New"}]
    path = written(tmp_path / "d.json", json.dumps({"entries": entries}, indent=1))
    taken, left = read("jrnl", path)
    assert [each.text for each in taken] == ["New"]
    assert [(each.why, each.where) for each in left] == [
        ("its date and time are not a time", "line 3: '2024-13-01 09:30'"),
        ("an entry is not an object", "line 7"),
    ]


def test_a_missing_file_is_named(tmp_path):
    """As everywhere."""
    with pytest.raises(NotFound):
        read("jrnl", tmp_path / "nothing.txt")
