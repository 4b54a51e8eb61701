"""A ref or a path leads to an entry inside a root, or to a refusal that names the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound
from commonplace.journals.private.places import (
    EntryPlace,
    parse_place,
    read_bytes,
    reading_day,
)
from commonplace.journals.private.roots import Root

DAY = "2026-11-21"
NAME = f"{DAY}/23-19-45-015109.md"


@pytest.fixture
def journal(world):
    """A journal with one entry in each root, and forbidden things around."""
    world.put(NAME, b"user's own")
    world.put(NAME, b"project's own", root=world.project_root)
    world.put(f"{DAY}/x.md", b"outside", root=world.home / ".private-journal-evil")
    world.put("secret.md", b"outside", root=world.home)
    world.put(f"{DAY}/x.embedding", b"{}")
    world.put(f"{DAY}/x.txt", b"no entry")
    return world.open()


def test_each_way_to_name_an_entry(journal, world):
    """Its ref, its ref with `.md`, its absolute path, its path below a root."""
    refs = [x.ref for x in journal.list_entries(limit=10)]
    assert f"private:user/{NAME[:-3]}" in refs
    assert len(refs) == 2
    for ref in refs:
        entry = journal.read_entry(ref)
        assert entry.ref == ref
        assert journal.read_entry(f"{ref}.md") == entry
        assert journal.read_entry(str(entry.path)) == entry
        assert journal.path_of(ref) == entry.path
    assert journal.read_entry(NAME).raw == "user's own"
    assert journal.read_entry(refs[0]).scope != journal.read_entry(refs[1]).scope


HOSTILE = [
    ("", Invalid, "empty"),
    ("   ", Invalid, "empty"),
    ("x" * 4097 + ".md", Invalid, "4096"),
    ("{root}/a\0.md", Invalid, "control"),
    ("{root}/a\n.md", Invalid, "control"),
    ("{root}/a\ud800.md", Invalid, "control"),
    ("{root}/../secret.md", Denied, "climbs"),
    ("{root}/2026-11-21/../../secret.md", Denied, "climbs"),
    ("../secret.md", Denied, "climbs"),
    ("private:user/../secret", Denied, "climbs"),
    ("private:user/2026-11-21/../../secret", Denied, "climbs"),
    ("private:user/./x", Denied, "climbs"),
    ("{root}/%2e%2e/secret.md", Invalid, "percent"),
    ("private:user/%2E%2E%2fsecret", Invalid, "percent"),
    ("{root}-evil/2026-11-21/x.md", Denied, "outside"),
    ("{home}/secret.md", Denied, "outside"),
    ("{home}/missing.md", Denied, "outside"),
    ("/etc/hostname.md", Denied, "outside"),
    ("/etc/hostname", Invalid, "not a .md"),
    ("{root}/2026-11-21/x.embedding", Invalid, "not a .md"),
    ("{root}/2026-11-21/x.txt", Invalid, "not a .md"),
    ("{root}/2026-11-21/23-19-45-015109.md ", Invalid, "not a .md"),
    ("{root}/2026-11-21/23-19-45-015109.md.", Invalid, "not a .md"),
    ("{root}/2026-11-21/23-19-45-015109.md::$DATA", Invalid, "not a .md"),
    ("{root}/2026-11-21/23-19-45-015109.MD", Invalid, "not a .md"),
    ("{root}", Invalid, "not a .md"),
    ("{root}/2026-11-21/none.md", NotFound, "no entry"),
    ("{root}//2026-11-21/none.md", Invalid, "empty name"),
    ("private:user/2026-11-21/none", NotFound, "no entry"),
    ("private:user/2026-11-21/" + "n" * 300, NotFound, "no entry"),
    ("private:user/", Invalid, "not a ref"),
    ("private:user", Invalid, "not a ref"),
    ("private:project@00000000/2026-11-21/x", NotFound, "not open here"),
    ("private:USER/2026-11-21/23-19-45-015109", NotFound, "not open here"),
    ("~/.private-journal/2026-11-21/23-19-45-015109.md", Denied, "neither absolute"),
    ("~root/x.md", Denied, "neither absolute"),
    ("C:\\Users\\x.md", Invalid, "another system"),
    ("C:/Users/x.md", Invalid, "another system"),
    ("\\\\server\\share\\x.md", Invalid, "another system"),
    ("//server/share/x.md", Denied, "neither absolute"),
    ("..\\secret.md", Invalid, "another system"),
    ("file:///etc/passwd.md", Invalid, "empty name"),
    ("CON.md", NotFound, "no entry"),
    ("-rf.md", NotFound, "no entry"),
    ("2026-11-21/none.md", NotFound, "no entry"),
]


@cases(("text", "kind", "reason"), HOSTILE)
def test_what_is_refused_and_why(journal, world, text, kind, reason):
    """Reading, editing and deleting refuse it alike, naming the reason; nothing is touched."""
    text = text.replace("{root}", str(world.user_root)).replace("{home}", str(world.home))
    before = world.files()
    for act in (
        lambda: journal.read_entry(text),
        lambda: journal.edit(text, "new"),
        lambda: journal.delete(text),
    ):
        with pytest.raises(CommonplaceError) as caught:
            act()
        assert type(caught.value) is kind
        assert reason in caught.value.message
        assert caught.value.hint
        caught.value.message.encode()
    assert world.files() == before
    assert (world.home / "secret.md").read_bytes() == b"outside"


def test_links_out_of_a_root_are_never_read(journal, world):
    """A linked file and a linked day are refused by name, not listed, not indexed."""
    (world.user_root / DAY / "link.md").symlink_to(world.home / "secret.md")
    (world.user_root / "2026-11-20").symlink_to(world.home / ".private-journal-evil" / DAY)
    (world.user_root / "2026-11-19").symlink_to(world.home / "nowhere")
    for relative in (f"{DAY}/link", "2026-11-20/x"):
        with pytest.raises(Denied, match="outside"):
            journal.read_entry(f"private:user/{relative}")
        with pytest.raises(Denied, match="outside"):
            journal.read_entry(str(world.user_root / f"{relative}.md"))
    assert len(journal.list_entries(limit=10)) == 2


def test_a_link_inside_a_root_is_the_entry_it_leads_to(journal, world):
    """Reading through it gives the entry itself under its own ref; a list shows the entry once."""
    (world.user_root / DAY / "again.md").symlink_to(world.user_root / NAME)
    assert journal.read_entry(f"private:user/{DAY}/again").ref == f"private:user/{NAME[:-3]}"
    assert len(journal.list_entries(limit=10, kind="user")) == 1


def test_a_folder_swapped_for_a_link_after_the_check_is_not_entered(journal, world):
    """Opening goes folder by folder without following links, whatever the check had seen."""
    place = parse_place(NAME, journal.roots)
    (world.user_root / DAY).rename(world.user_root / "moved")
    (world.user_root / DAY).symlink_to(world.home / ".private-journal-evil" / DAY)
    with pytest.raises(CommonplaceError):
        read_bytes(place)
    (world.user_root / DAY).unlink()
    (world.user_root / "moved").rename(world.user_root / DAY)
    (world.user_root / NAME).unlink()
    (world.user_root / NAME).symlink_to(world.home / "secret.md")
    with pytest.raises(Denied, match="symbolic link"):
        read_bytes(place)


def test_a_day_that_is_held_open_is_read_like_any_other(journal, world):
    """No link, pipe or expired entry is read, and a folder put in its place is not looked into."""
    root = journal.roots[0]
    place = parse_place(NAME, [root])
    other = EntryPlace(root=root, relative=f"{DAY}/other.md")
    (world.user_root / other.relative).symlink_to(world.home / "secret.md")
    os.mkfifo(world.user_root / DAY / "pipe.md")
    expired = replace(root, hidden=lambda: frozenset({place.ref}))
    with reading_day(expired, DAY) as read, pytest.raises(NotFound, match="expired"):
        read(place)
    with reading_day(root, DAY) as read:
        assert read(place)[0] == read_bytes(place)[0] == b"user's own"
        assert read(place, 3)[0] == b"user"
        with pytest.raises(Denied, match="symbolic link"):
            read(other)
        with pytest.raises(Denied, match="not a regular file"):
            read(EntryPlace(root=root, relative=f"{DAY}/pipe.md"))
        (world.user_root / DAY).rename(world.user_root / "moved")
        (world.user_root / DAY).symlink_to(world.home / ".private-journal-evil" / DAY)
        with pytest.raises(NotFound):
            read(EntryPlace(root=root, relative=f"{DAY}/x.md"))
    with reading_day(root, DAY) as read, pytest.raises(CommonplaceError):
        read(EntryPlace(root=root, relative=f"{DAY}/x.md"))


def test_only_plain_files_are_entries(journal, world):
    """A folder and a pipe with an entry's name are refused, and a pipe makes nobody wait."""
    (world.user_root / DAY / "folder.md").mkdir()
    os.mkfifo(world.user_root / DAY / "pipe.md")
    for name in ("folder", "pipe"):
        with pytest.raises(Denied, match="not a regular file"):
            journal.read_entry(f"private:user/{DAY}/{name}")
    assert len(journal.list_entries(limit=10, kind="user")) == 1


def test_a_linked_root_is_a_root(world, tmp_path):
    """The root itself may be a link: its entries have refs below it, and both paths lead there."""
    real = tmp_path / "synced"
    world.put(NAME, b"text", root=real)
    world.user_root.symlink_to(real)
    journal = world.open()
    entry = journal.read_entry(str(world.user_root / NAME))
    assert entry.ref == f"private:user/{NAME[:-3]}"
    assert entry.path == world.user_root / NAME
    assert journal.read_entry(str(real / NAME)) == entry
    assert [x.ref for x in journal.list_entries(limit=5)] == [entry.ref]


def test_names_that_cannot_be_shown_are_no_entries(journal, world):
    """A name with a line break or with bytes that are not UTF-8 is passed over, not raised on."""
    world.put(f"{DAY}/two\nlines.md", b"x")
    with open(os.path.join(os.fsencode(world.user_root / DAY), b"caf\xe9.md"), "wb") as file:
        file.write(b"x")
    assert len(journal.list_entries(limit=10, kind="user")) == 1
    assert any("two\\nlines.md" in x.what for x in journal.problems())


@settings(deadline=None)  # a busy machine is no fault of the text
@given(st.text(max_size=60), st.sampled_from(["", "private:user/", "/", "/r/", "2026-11-21/"]))
def test_no_text_escapes_a_root(text, prefix):
    """Any text whatever is refused in our words where there is no entry."""
    root = Root(path=Path("/nonexistent/root"), scope="user", kinds=frozenset({"user"}))
    with pytest.raises(CommonplaceError):  # that root does not exist, so nothing lies in it
        parse_place(prefix + text, [root])
