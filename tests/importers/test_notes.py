"""basic-memory and Claude Code's memory: folders of Markdown, read as every vault is."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from tests.cases import cases
from tests.importers.reading import BERLIN, read, written

from commonplace.core.errors import Invalid
from commonplace.importers.formats.notes import read_note

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
    (odd, entry), left = read("basic-memory", tmp_path, BERLIN)
    assert (odd.text, odd.read_as) == ("ÿ", "Latin-1")
    assert (entry.id, entry.kind) == ("drinks/coffee", "note")
    assert entry.tags == ("food", "kitchen", "brewing")
    assert entry.at == datetime(2024, 5, 3, 7, 30, tzinfo=UTC)
    assert entry.metadata["relations"] == ["relates_to Tea", "links to Milk"]
    assert entry.text.startswith("# Coffee\n\n- [method] Pour over")
    assert [(each.where, each.why) for each in left] == [
        ("empty.md", "there is no text in it"),
        ("late.md: 'soon' is not a time", "its created is not a time"),
    ]


@cases(
    ("value", "day_first", "month_first"),
    [
        ("23/11/2026", "2026-11-23", None),
        ("11/23/2026", "2026-11-23", None),
        ("03.03.2026", "2026-03-03", None),
        ("2026/11/23", "2026-11-23", None),
        ("2026-2-1", "2026-02-01", None),
        ("Monday, November 23rd, 2026", "2026-11-23", None),
        ("[[23 Nov 2026]]", "2026-11-23", None),
        ("1795392000", "2026-11-23", None),
        ("01/02/2026", "2026-02-01", "2026-01-02"),
        ("1.2.2026 08:15 pm", "2026-02-01", "2026-01-02"),
    ],
)
def test_a_date_is_read_in_every_order(tmp_path, value, day_first, month_first):
    """One that is two days says both, and neither is chosen."""
    path = written(tmp_path / "a.md", f"---\ncreated: '{value}'\n---\ntext")
    (entry,), _ = read("basic-memory", path)
    days = [at.date().isoformat() if at else None for at in (entry.at, entry.month_first)]
    assert days == [day_first, month_first]
    assert entry.said == (f"'{value}' is {day_first} or {month_first}" if month_first else "")


@cases(
    "value", ["soon", "13/13/2026", "31/02/2026", "{{date}}", "5 mai 2026", "1/2/26", "0/0/0000"]
)
def test_what_is_no_date_is_named(tmp_path, value):
    """With its value."""
    path = written(tmp_path / "a.md", f"---\ncreated: '{value}'\n---\ntext")
    _, (left,) = read("basic-memory", path)
    assert left.where == f"a.md: '{value}' is not a time"


def test_a_second_frontmatter_counts(tmp_path):
    """basic-memory puts its own above one that it does not know; a rule in the text is none."""
    own = "---\ntitle: Tea\npermalink: tea\n---\n\n"
    theirs = "---\ncreated: 2024-05-03\ntags:\n- hot\nmood: 4\n---\n"
    (entry,), _ = read("basic-memory", written(tmp_path / "a.md", f"{own}{theirs}Tea."))
    assert (entry.id, entry.tags, entry.text) == ("tea", ("hot",), "Tea.")
    assert entry.at == datetime(2024, 5, 3, tzinfo=UTC)
    assert entry.metadata["properties"] == {"mood": "4"}
    (entry,), _ = read(
        "basic-memory", written(tmp_path / "a.md", f"{own}---\nTea. Or:\ncoffee?\n---\n")
    )
    assert entry.text == "---\nTea. Or:\ncoffee?\n---"


@cases(
    ("content", "body", "read_as"),
    [
        ("\ufeffcafé 日本".encode(), "café 日本", ""),
        ("café 日本".encode("utf-16"), "café 日本", ""),
        ("café tea".encode("utf-16-le"), "café tea", ""),
        ("café tea".encode("utf-16-be"), "café tea", ""),
        ("café".encode("latin-1"), "café", "Latin-1"),
        ("“café” – 5 €".encode("cp1252"), "“café” – 5 €", "Latin-1"),
        ("日本 ".encode() + b"caf\xe9", "日本 café", "Latin-1"),
        (b"\x81", "\x81", "Latin-1"),
    ],
)
def test_a_note_is_read_in_its_encoding(tmp_path, content, body, read_as):
    """Where it can only be guessed, the guess is named."""
    note = read_note(str(written(tmp_path / "a.md", content)), str(tmp_path))
    assert (note.body, note.read_as) == (body, read_as)


@cases("content", [b"\xff\xfea", b"\x7fELF\0\0\0\1", b"\0", b"tea\0"])
def test_what_is_no_text_is_left_out(tmp_path, content):
    """A program, or what was cut in the middle of a sign."""
    note = read_note(str(written(tmp_path / "a.md", content)), str(tmp_path))
    assert note.why == "a file is not text"


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
    assert [name for name, _ in note.properties] == [
        *("title", "type", "permalink", "tags", "created", "name", "description", "summary")
    ]


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
