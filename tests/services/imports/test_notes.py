"""basic-memory, Claude Code's memory and Obsidian's daily notes: folders of Markdown."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime

import pytest
from tests.cases import cases
from tests.services.imports.reading import BERLIN, read, written

from commonplace.core.errors import Invalid
from commonplace.services.imports.notes import read_note

NOTE = """---
title: Coffee
type: note
permalink: drinks/coffee
tags: [food, kitchen]
created: 2024-05-03 09:30
---

# Coffee

- [method] Pour over is best #brewing (from a friend)
- [ ] buy #beans
- relates_to [[Tea]]
- [[Milk]]
"""


def test_a_note_of_basic_memory_is_an_entry(tmp_path):
    """With the tags of its frontmatter and observations, and its relations; a task has no tags."""
    written(tmp_path / "drinks" / "Coffee.md", NOTE)
    written(tmp_path / ".obsidian" / "x.md", "hidden")
    written(tmp_path / "empty.md", "---\ntitle: x\n---\n")
    written(tmp_path / "odd.md", b"\xff")
    written(tmp_path / "late.md", "---\ncreated: soon\n---\ntext")
    (entry,), left = read("basic-memory", tmp_path, BERLIN)
    assert (entry.id, entry.kind) == ("drinks/coffee", "note")
    assert entry.tags == ("food", "kitchen", "brewing")
    assert entry.at == datetime(2024, 5, 3, 7, 30, tzinfo=UTC)
    assert entry.metadata["relations"] == ["relates_to Tea", "links to Milk"]
    assert entry.text.startswith("# Coffee\n\n- [method] Pour over")
    assert [(each.where, each.why) for each in left] == [
        ("empty.md", "there is no text in it"),
        ("late.md: 'soon' is not a time", "its created is not a time"),
        ("odd.md", "a file is not UTF-8"),
    ]


FRONT = r"""---
title: 'Tea: it''s "good", and the title is so long that it goes on
  in the next line'
type: "caf\xE9 \u2615 \U0001F956 a\tb \\ \"so\" it is \
  \ joined"
permalink: a plain one that is
  folded
tags:
- 'a: b'
- "it's"
- one that is folded
  as well
- '#sign'
metadata:
  created: 2024-05-03
  name: nested
description: >-
  Two lines
  of a block
summary: |
  kept
  apart
# a remark
---
Text.
"""


def test_frontmatter_is_read_as_yaml_writes_it(tmp_path):
    """Quotes, escapes and lines that are folded, as the programs' own YAML makes them."""
    note = read_note(str(written(tmp_path / "a.md", FRONT)), str(tmp_path))
    assert note.keys == {
        "title": 'Tea: it\'s "good", and the title is so long that it goes on in the next line',
        "type": 'café ☕ 🥖 a\tb \\ "so" it is  joined',
        "permalink": "a plain one that is folded",
        "created": "2024-05-03",
        "name": "nested",
        "description": "Two lines of a block",
        "summary": "kept\napart",
    }
    assert note.lists == {"tags": ("a: b", "it's", "one that is folded as well", "#sign")}


@cases(
    "value",
    ["'", '"', '"\\"', '"\\U99999999"', '"\\x"', "[", "[,]", "|", ">-", "- ", '"a', "\n  \n b"],
)
def test_what_is_no_yaml_hinders_no_note(tmp_path, value):
    """Whatever stands there, the text is read."""
    path = written(tmp_path / "a.md", f"---\ntitle: {value}\n---\nText.\n")
    assert read_note(str(path), str(tmp_path)).body == "Text."


@pytest.mark.parametrize("line", ["- a\n", "  on\n", "b: c\n", "  \\\n", "\n", "[", "'"])
def test_a_frontmatter_of_any_size_is_read_in_one_pass(tmp_path, line):
    """Ten times the lines take ten times as long, not a hundred times."""
    taken = []
    for count in (20_000, 200_000):
        front = 'tags:\n- "x\n' + line * count
        path = written(tmp_path / "a.md", f"---\n{front}\n---\nText.\n")
        began = time.process_time()
        assert read_note(str(path), str(tmp_path)).body == "Text."
        taken.append(time.process_time() - began)
    assert taken[1] < 40 * taken[0] + 0.5


@cases(
    ("program", "name", "content"),
    [
        ("basic-memory", "a.md", "key"),
        ("obsidian", "2024-05-03.md", "key"),
        ("claude-memory", "memory/a.md", "key"),
        ("jrnl", "2024/05/03.txt", "[2024-05-03 09:30] key"),
        (
            "day-one",
            "Journal.json",
            '{"entries": [{"uuid": "1", "creationDate": 1, "text": "key"}]}',
        ),
    ],
)
def test_a_link_out_of_the_folder_is_not_followed(tmp_path, program, name, content):
    """It is left out, and named."""
    secret = written(tmp_path / "elsewhere" / "secret", content)
    link = tmp_path / "notes" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    sound = link.with_name({".md": "2024-05-04.md", ".txt": "04.txt"}.get(link.suffix, "b.json"))
    written(sound, content.replace("key", "sound").replace('"1"', '"2"'))
    taken, left = read(program, tmp_path / "notes")
    assert ["sound" in each.text for each in taken] == [True]
    assert [each.why for each in left] == ["a link to another place"]


def test_what_claude_code_noted_comes_from_every_project(tmp_path):
    """Each file an entry; an index that only links is left out, one with notes is not."""
    projects = tmp_path / ".claude" / "projects"
    fact = "---\nname: locks\ndescription: Locks age\nmetadata:\n  type: project\n---\n\nA crash leaves them.\n"
    written(projects / "-home-ada-api" / "memory" / "locks.md", fact)
    written(
        projects / "-home-ada-api" / "memory" / "MEMORY.md", "# Index\n- [Locks](locks.md) — age\n"
    )
    written(projects / "-home-ada-web" / "memory" / "MEMORY.md", "# Notes\n- Use tabs\n")
    written(projects / "-home-ada-web" / "s1.jsonl", "{}")
    for path in (tmp_path / ".claude", projects):
        taken, left = read("claude-memory", path)
        assert [(each.id, each.text, each.kind) for each in taken] == [
            ("-home-ada-api/locks.md", "Locks age\n\nA crash leaves them.", "project"),
            ("-home-ada-web/MEMORY.md", "# Notes\n- Use tabs", "note"),
        ]
        assert [each.why for each in left] == ["an index of the other files"]
    one, _ = read("claude-memory", projects / "-home-ada-api" / "memory" / "locks.md")
    assert one == [taken[0]]
    with pytest.raises(Invalid, match="holds no memory"):
        read("claude-memory", tmp_path / ".claude" / "none")


def test_daily_notes_stand_at_noon_of_their_day(tmp_path):
    """12:00 in Berlin is 10:00 UTC in May; other notes are counted."""
    written(tmp_path / "Daily" / "2024-05-03.md", "---\ntags:\n  - sea\n---\nWalked.")
    written(tmp_path / "Daily" / "2024-13-03.md", "no day")
    written(tmp_path / "Ideas.md", "An idea")
    (entry,), left = read("obsidian", tmp_path, BERLIN)
    assert (entry.id, entry.text, entry.tags) == ("Daily/2024-05-03.md", "Walked.", ("sea",))
    assert entry.at == datetime(2024, 5, 3, 10, 0, tzinfo=UTC)
    assert [(each.why, each.count) for each in left] == [("notes that are not of a day", 2)]


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
    """In its own settings."""
    settings = {"format": form, "folder": folder}
    written(tmp_path / ".obsidian" / "daily-notes.json", json.dumps(settings))
    written(tmp_path / f"{name}.md", "Walked.")
    (entry,), _ = read("obsidian", tmp_path)
    assert entry.at.date() == date(2024, 5, day)


def test_a_folder_without_days_is_named(tmp_path):
    """Settings that are none do not matter."""
    written(tmp_path / ".obsidian" / "daily-notes.json", "[")
    written(tmp_path / "Ideas.md", "An idea")
    with pytest.raises(Invalid, match="no note whose name is a day"):
        read("obsidian", tmp_path)
    with pytest.raises(Invalid, match="is not a folder"):
        read("obsidian", tmp_path / "Ideas.md")
