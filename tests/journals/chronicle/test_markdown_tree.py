"""Chronicle's Markdown tree is read and written as chronicle itself does, a file an entry."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE_S
from tests.sampled import sampled

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, Unavailable
from commonplace.core.project_folders import ProjectFolders
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.markdown_tree import parse_file, render_file
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource

NOW = datetime(2026, 11, 22, 3, 19, 45, 15_000, tzinfo=UTC)
ID = "1f2e3d4c-5b6a-4978-8899-aabbccddeeff"

# As yaml.v3 writes these values; the body as chronicle's renderEntry has it.
GOLDEN = """---
id: 0c06ef7c-0461-4d5b-b5d2-b14a40b46182
timestamp: "2026-02-01T15:30:00.123456789Z"
hostname: otter
username: wren
working_directory: /srv/garden
tags:
    - work
    - "no"
    - 'it''s'
---

shipped it

--- and this
"""


_OPENED: list[ChronicleJournal] = []


@pytest.fixture(autouse=True)
def _closed():
    """Every chronicle of a test is closed after it."""
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def folder(tmp_path):
    """Where the tree is, or is to be."""
    return tmp_path / "tree"


def opened(folder, **settings) -> ChronicleJournal:
    """A chronicle over a tree, in Chicago."""
    author = Author(hostname="otter", username="wren", directory="/srv/garden")
    settings = {"owner": "me", "author": author, "clock": lambda: NOW, **settings}
    _OPENED.append(
        ChronicleJournal(
            ChroniclePlace(path=folder, form="tree"), zone=ZoneInfo("America/Chicago"), **settings
        )
    )
    return _OPENED[-1]


def put(folder, name: str, text: str):
    """Lay a file into the tree, as another program would."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def files(folder) -> list[str]:
    """Every file of the tree by its path."""
    return sorted(str(x.relative_to(folder)) for x in folder.rglob("*") if x.is_file())


def test_a_file_of_chronicle_is_read(folder):
    """Wherever it lies in the tree, in either form of its name."""
    put(folder, "2026/02/01/shipped-it-0c06ef7c.md", GOLDEN)
    long = "a" * 64
    put(
        folder,
        f"2026/02/01/old-{long}.md",
        GOLDEN.replace("0c06", "1c06").replace("15:30", "14:30"),
    )
    new, old = opened(folder).list_events().events
    assert (new.message, new.tags) == ("shipped it\n\n--- and this", ("work", "no", "it's"))
    assert (new.at, new.nanos) == (datetime(2026, 2, 1, 15, 30, 0, 123_456, tzinfo=UTC), 789)
    assert (new.hostname, new.username, new.directory) == ("otter", "wren", "/srv/garden")
    assert old.at == new.at - timedelta(hours=1)


def test_an_entry_is_written_as_chronicle_writes_one(folder):
    """Folder by the local date, name of five words and eight digits, time in UTC, its lock file."""
    chronicle = opened(folder, new_id=lambda: ID)
    event = chronicle.add_event(
        "Fixed: the  Café's bug-fix #42 today again", tags=["work", "no"]
    ).event
    name = "2026/11/21/fixed-the-caf-s-bug-fix-42-1f2e3d4c.md"
    assert files(folder) == [".lock", name]
    assert (folder / name).read_text("utf-8") == (
        f"---\nid: {ID}\ntimestamp: '2026-11-22T03:19:45.015Z'\nhostname: otter\n"
        "username: wren\nworking_directory: /srv/garden\ntags:\n- work\n"
        "- 'no'\n---\n\nFixed: the  Café's bug-fix #42 today again\n"
    )
    assert chronicle.list_events().events == (event,)
    assert (folder / name).stat().st_mode & 0o777 == 0o600


def test_a_file_lies_in_the_folder_of_its_day(folder):
    """An edit of the time moves it there; with the last file of a day its folder goes."""
    chronicle = opened(folder)
    first, second = chronicle.add_event("one").event, chronicle.add_event("two").event
    chronicle.edit_event(first.id, message="one more")
    chronicle.edit_event(second.id, at=NOW - timedelta(days=40))
    assert [x.partition("-")[0] for x in files(folder)] == [
        ".lock",
        "2026/10/12/two",
        "2026/11/21/one",
    ]
    chronicle.delete_event(second.id)
    assert not (folder / "2026" / "10").exists()
    assert chronicle.delete_event(first.id).message == "one more"
    assert files(folder) == [".lock"]


def test_an_absent_tree_is_empty(folder):
    """Reading makes no folder."""
    chronicle = opened(folder)
    assert chronicle.list_events().events == ()
    assert chronicle.list_tags() == chronicle.problems() == []
    assert not folder.exists()


@pytest.mark.parametrize(
    "text",
    [
        *("", "---", "\0", "no frontmatter", "---\nid: x\n", "---\n- a\n---\n"),
        *("---\nid: x\n---\nno time", '---\nid: "x\n---\n'),
        *(GOLDEN.replace("id:", "no:"), GOLDEN.replace("2026-02-01T", "soon ")),
    ],
)
def test_a_broken_file_is_passed_over_and_named(text, folder):
    """The others are listed; `doctor` names its path."""
    put(folder, "2026/02/01/broken-1.md", text)
    put(folder, "2026/02/01/shipped-it-0c06ef7c.md", GOLDEN)
    chronicle = opened(folder)
    assert len(chronicle.list_events().events) == 1
    assert ["broken-1.md" in x.what for x in chronicle.problems()] == [True]


def test_a_link_is_not_followed(folder, tmp_path):
    """Neither a file nor a folder of it leads out of the tree."""
    outside = put(tmp_path / "outside", "2026/02/01/x-1.md", GOLDEN)
    put(folder, "2026/02/02/in-2.md", GOLDEN.replace("0c06", "2c06"))
    os.symlink(outside, folder / "2026/02/02/link.md")
    os.symlink(tmp_path / "outside" / "2026", folder / "2027")
    chronicle = opened(folder)
    assert len(chronicle.list_events().events) == 1
    assert ["not a plain file" in x.what for x in chronicle.problems()] == [True]


def test_an_edit_that_breaks_off_leaves_one_entry(folder, monkeypatch):
    """Between the move and the writing of the file: the entry as it was, under its next name."""
    chronicle = opened(folder)
    event = chronicle.add_event("a storm at sea").event

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("commonplace.journals.chronicle.markdown_tree.replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            chronicle.edit_event(event.id, message="a calm", at=NOW - timedelta(days=40))
    assert [(x.id, x.message) for x in opened(folder).list_events().events] == [
        (event.id, "a storm at sea")
    ]
    assert len(list(folder.rglob("*.md"))) == 1
    opened(folder).edit_event(event.id, message="a calm")
    assert [x.message for x in opened(folder).list_events().events] == ["a calm"]


def test_a_link_is_not_written_through(folder, tmp_path):
    """An entry there would be in no list; the lock file makes none elsewhere either."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / "2026").symlink_to(elsewhere)
    with pytest.raises(Invalid, match="is reached through a link"):
        opened(folder).add_event("x")
    (folder / "2026").unlink()
    (folder / ".lock").unlink()
    (folder / ".lock").symlink_to(elsewhere / "lock")
    with pytest.raises(CommonplaceError, match="is a symbolic link"):
        opened(folder).add_event("x")
    assert list(elsewhere.iterdir()) == []


def test_a_tree_behind_a_link_is_a_tree(folder, tmp_path):
    """The whole of it may lie elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    opened(folder).add_event("x")
    assert [x.message for x in opened(folder).list_events().events] == ["x"]


def test_a_file_in_the_place_of_the_tree_is_named(folder):
    """It is not taken for an empty tree."""
    folder.write_text("x")
    chronicle = opened(folder)
    for verb in (chronicle.list_events, lambda: chronicle.add_event("x")):
        with pytest.raises(Invalid, match="folder"):
            verb()
    assert ChronicleSource(chronicle).mark().startswith("unreadable")
    assert len(chronicle.problems()) == 1


def test_a_lock_that_another_holds_is_not_waited_for_forever(folder):
    """Lists go on; a write says which file is held."""
    fcntl = pytest.importorskip("fcntl")
    chronicle = opened(folder, patience_s=0.1)
    chronicle.add_event("before")
    with open(folder / ".lock", "r+b") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match="lock is held by another process"):
            chronicle.add_event("x")
        assert [x.message for x in chronicle.list_events().events] == ["before"]
    chronicle.add_event("after")


def test_a_name_that_is_taken_is_not_written_over(folder):
    """Another entry lies under just this name: told, and kept."""
    put(folder, "2026/11/21/one-1f2e3d4c.md", GOLDEN)
    with pytest.raises(Conflict, match="with another entry"):
        opened(folder, new_id=lambda: ID).add_event("one")
    assert (folder / "2026/11/21/one-1f2e3d4c.md").read_text("utf-8") == GOLDEN


def test_yaml_of_other_hands_is_read():
    """Flow lists, comments, folded quotes, literal blocks, other indents, line ends of Windows."""
    text = (
        "---\r\n# by hand\r\nid: x # mine\r\ntimestamp: 2026-02-01T15:30:00Z\r\n"
        "tags: [work, \"a, b\", 'it''s']\r\n"
        'hostname: "two\r\n  lines \\u00e9"\r\nusername: |-\r\n  a\r\n  b\r\nworking_directory: ~\r\n'
        "---\r\nhello\r\n"
    )
    fields, message = parse_file(text)
    assert message == "hello"
    assert fields == {
        "id": "x",
        "timestamp": "2026-02-01T15:30:00Z",
        "tags": ["work", "a, b", "it's"],
        "hostname": "two lines é",
        "username": "a\nb",
        "working_directory": "",
    }
    with pytest.raises(Invalid):
        parse_file("---\nid: 'never\n---\n")


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(tags=st.lists(_TEXT, max_size=4), directory=_TEXT, message=_TEXT)
def test_a_file_is_read_as_it_was_written(tags, directory, message):
    """Any text in any field; PyYAML agrees where it is there."""
    text = render_file({"id": "x", "working_directory": directory, "tags": tags}, message)
    fields, body = parse_file(text)
    assert fields.get("working_directory", "") == directory
    assert [*fields.get("tags", [])] == tags
    assert body == message.strip()
    yaml = pytest.importorskip("yaml")
    loaded = yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))
    assert (loaded.get("tags") or []) == tags
    assert (loaded.get("working_directory") or "") == directory


@sampled(10, 30, message=_TEXT.filter(str.strip), tags=st.lists(_TEXT, max_size=3))
def test_messages_and_tags_come_back_as_they_went(message, tags, tmp_path):
    """Through a file and another reader of it."""
    folder = tmp_path / "tree"
    made = opened(folder).add_event(message, tags=tags).event
    assert opened(folder).read_event(made.id) == made
    assert made.message == message.strip()


_ADD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
place = ChroniclePlace(path=Path(sys.argv[1]), form="tree")
chronicle = ChronicleJournal(place, owner="me", zone=UTC, clock=lambda: datetime.now(UTC))
for number in range(30):
    chronicle.add_event(f"{sys.argv[2]} {number}", idempotency_key=f"k{number}")
"""


def test_two_processes_keep_a_key_to_one_entry(folder):
    """Chronicle's lock stands between them."""
    both = [subprocess.Popen([sys.executable, "-c", _ADD, str(folder), name]) for name in "ab"]
    assert [x.wait(PATIENCE_S) for x in both] == [0, 0]
    found = opened(folder).list_events(limit=100).events
    assert sorted(int(x.message.split()[1]) for x in found) == list(range(30))


def test_a_name_that_a_killed_write_holds_is_given_up(folder):
    """Where a disk knows no links an empty file holds it: the same call again writes the entry."""
    made = opened(folder).add_event("shipped it", idempotency_key="one")
    (path,) = folder.rglob("*.md")
    whole = path.read_bytes()
    path.write_bytes(b"")
    again = opened(folder).add_event("shipped it", idempotency_key="one")
    assert (again.event.id, path.read_bytes()) == (made.event.id, whole)


def test_the_successors_of_many_are_found_at_once(folder):
    """Of each entry that was replaced."""
    chronicle = opened(folder)
    olds = [chronicle.add_event(f"port {number}").event for number in range(3)]
    news = [chronicle.supersede_event(old.ref, f"{old.message}!").event for old in olds[:2]]
    found = chronicle.find_successors([*olds, *news])
    assert found == {olds[0].id: news[0], olds[1].id: news[1]}


def test_no_brief_is_told_what_has_expired(folder):
    """What nobody may read is not among the newest of a project either."""
    first = opened(folder).add_event("shipped it").event
    second = opened(folder).add_event("watered the beds").event
    chronicle = opened(folder, hidden=lambda: frozenset({second.ref}))
    project = ProjectFolders("/srv/garden", ("/srv/garden",))
    assert chronicle.list_newest(project, limit=5) == [first]
