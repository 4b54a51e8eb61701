"""Obsidian's vaults and Logseq's graphs: days, dates, titles, tags and all other properties."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime

import pytest
from tests.cases import cases
from tests.importers.reading import BERLIN, read, written

from commonplace.core.errors import Invalid


def test_daily_notes_stand_at_noon_of_their_day(tmp_path):
    """12:00 in Berlin is 10:00 UTC in May, whatever their properties say."""
    note = "---\ntags:\n  - sea\ncreated: 2024-05-09\n---\nWalked."
    written(tmp_path / "Daily" / "2024-05-03.md", note)
    (entry,), left = read("obsidian", tmp_path, BERLIN)
    assert (entry.id, entry.tags) == ("Daily/2024-05-03.md", ("sea",))
    assert entry.text == "Walked.\n\n- created: 2024-05-09"
    assert entry.at == datetime(2024, 5, 3, 10, 0, tzinfo=UTC)
    assert not left


@cases(
    ("name", "front", "at", "is_dated"),
    [
        ("Ideas", "date: 2024-05-03", datetime(2024, 5, 3, tzinfo=UTC), True),
        ("Ideas", "Date Created: 3 May 2024 09:30", datetime(2024, 5, 3, 9, 30, tzinfo=UTC), True),
        ("2024-05-03 Trip", "created: '{{date}}'", datetime(2024, 5, 3, 12, tzinfo=UTC), True),
        ("2024-13-03", "mood: 4", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), False),
        ("Ideas", "date: spring", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), False),
    ],
)
def test_other_notes_stand_at_their_date(tmp_path, name, front, at, is_dated):
    """That of a property, else the day the name begins with, else the time of the file."""
    path = written(tmp_path / f"{name}.md", f"---\n{front}\n---\nTea.")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (entry,), _ = read("obsidian", tmp_path)
    assert (entry.at, entry.is_dated) == (at, is_dated)
    assert entry.text.startswith(f"# {name}\n\nTea.\n\n- ")


@cases(
    ("front", "tags", "text"),
    [
        ("Tags: [walk, rain]\nmood: 4", ("walk", "rain"), "Tea.\n\n- mood: 4"),
        ("tag: alone\ntags: null", ("alone",), "Tea."),
        ("tags: a, b #c", ("a", "b", "c"), "Tea."),
        ("dg-publish: true\naliases: [x, y]", (), "Tea.\n\n- dg-publish: true\n- aliases: x, y"),
        ("people:\n  - Ada\n  - Bob\nempty:", (), "Tea.\n\n- people: Ada, Bob"),
        ("place:\n  lat: 54\n  lon: 10", (), "Tea.\n\n- lat: 54\n- lon: 10"),
        ("天气: fog\n# remark\nno key", (), "Tea.\n\n- 天气: fog\n- no key"),
        ("more: |\n  a\n  b", (), "Tea.\n\n- more: a\n  b"),
    ],
)
def test_every_property_is_kept(tmp_path, front, tags, text):
    """As a tag under any case of its name, else as a line."""
    written(tmp_path / "2024-05-03.md", f"---\n{front}\n---\nTea.")
    (entry,), _ = read("obsidian", tmp_path)
    assert (entry.tags, entry.text) == (tags, text)


def test_a_note_of_properties_alone_is_kept(tmp_path):
    """One without a word, and a drawing, are not."""
    written(tmp_path / "2024-05-01.md", "---\nmood: 4\n---\n")
    written(tmp_path / "2024-05-02.md", "---\ntags:\nmood:\n---\n")
    written(tmp_path / "sketch.md", "---\nexcalidraw-plugin: parsed\n---\nxyz")
    (entry,), left = read("obsidian", tmp_path)
    assert entry.text == "- mood: 4"
    assert [each.why for each in left] == ["there is no text in it", "a drawing of Excalidraw's"]


@pytest.mark.parametrize(
    ("form", "folder", "name", "day"),
    [
        ("YYYY/MM-MMMM/YYYY-MM-DD-dddd", "Journal", "Journal/2024/05-May/2024-05-03-Friday", 3),
        ("D MMM YY", "", "3 May 24", 3),
        ("[Day] Do MMMM YYYY", "/Notes/", "Notes/Day 3rd May 2024", 3),
        ("DD.MM.YYYY", "", "03.05.2024", 3),
    ],
)
def test_the_vault_says_how_they_are_named(tmp_path, form, folder, name, day):
    """In its own settings, also where only a folder of it is read."""
    settings = {"format": form, "folder": folder}
    written(tmp_path / ".obsidian" / "daily-notes.json", json.dumps(settings))
    path = written(tmp_path / f"{name}.md", "Walked.")
    for each in (tmp_path, path.parent):
        (entry,), _ = read("obsidian", each)
        assert entry.at.date() == date(2024, 5, day)
        assert entry.text == "Walked."


def test_a_folder_without_notes_is_named(tmp_path):
    """And so is what is no folder."""
    path = written(tmp_path / ".obsidian" / "daily-notes.json", "[")
    with pytest.raises(Invalid, match="holds no Markdown note"):
        read("obsidian", tmp_path)
    with pytest.raises(Invalid, match="is not a folder"):
        read("obsidian", path)
    with pytest.raises(Invalid, match="neither `journals` nor `pages`"):
        read("logseq", tmp_path)


def test_a_graph_of_logseq_is_read(tmp_path):
    """Journals at noon of their days, pages below their titles; its copies for safety are not."""
    written(tmp_path / "journals" / "2024_05_03.md", "- Walked #sea\n- mood:: good")
    written(
        tmp_path / "pages" / "drinks___Tea.md",
        "tags:: [[hot drink]], #leaf\ndate:: [[May 3rd, 2024]]\n\n- Steep.",
    )
    written(tmp_path / "pages" / "old.org", "* x")
    written(tmp_path / "logseq" / "bak" / "journals" / "2024_05_03" / "1.md", "- Walked")
    (day, page), left = read("logseq", tmp_path, BERLIN)
    assert (day.id, day.text) == ("journals/2024_05_03.md", "- Walked #sea\n- mood:: good")
    assert day.at == datetime(2024, 5, 3, 10, 0, tzinfo=UTC)
    assert page.tags == ("hot-drink", "leaf")
    assert page.text.startswith("# drinks/Tea\n\ntags:: [[hot drink]], #leaf\n")
    assert page.at == datetime(2024, 5, 2, 22, 0, tzinfo=UTC)
    assert [(each.why, each.where) for each in left] == [("a file in Org mode", "pages")]
    assert read("logseq", tmp_path / "journals", BERLIN)[0] == [day]


def test_a_graph_says_where_its_journals_lie(tmp_path):
    """And how they are named, in a line that is no remark."""
    config = '{;; :journals-directory "x"\n :journals-directory "days"\n :journal/file-name-format "EEE, dd-MM-yyyy"}'
    written(tmp_path / "logseq" / "config.edn", config)
    written(tmp_path / "days" / "Fri, 03-05-2024.md", "- Walked")
    (day,), _ = read("logseq", tmp_path)
    assert (day.at.date(), day.text) == (date(2024, 5, 3), "- Walked")
