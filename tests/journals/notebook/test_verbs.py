"""Writing, reading, listing and moving in a notebook on real git, beside people who use git."""

from __future__ import annotations

import hashlib
import threading
import zlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.patience import until

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.values import Put
from commonplace.journals.notebook.format import version_of
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sections import OverviewConflict
from commonplace.journals.notebook.source import changes_of

NOTHING = "e3b0c44298fc"  # the first 12 hex of the sha256 of nothing


@pytest.mark.design("001-02", "001-03", "001-31")
def test_a_first_entry_makes_the_section(book):
    """The file holds a count alone, the commit the entry; the folder is clean."""
    notes = book.open(author="Wren Fox <wren@example.org>")
    made = notes.write("project-alpha/api", "REST it is.", work_context="designing an API")
    assert (made.entry_count, made.version, made.overview, made.notes) == (1, NOTHING, "", ())
    assert (book.folder / "project-alpha" / "api.md").read_text() == "<!-- entry count: 1 -->\n"
    assert book.git("log", "--format=%an <%ae>%n%B").stdout == (
        "Wren Fox <wren@example.org>\nREST it is.\n\nREST it is.\n\n"
        f"Work-Context: designing an API\nSection: project-alpha/api\nEntry-Id: {made.entry.id}\n\n"
    )
    assert book.status() == ""
    section = notes.read_section("project-alpha/api")
    assert (section.overview, section.version, section.entry_count) == ("", NOTHING, 1)
    assert section.last_entry.id == made.entry.id


@pytest.mark.design("001-01", "001-08", "001-15", "001-43")
def test_an_entry_is_read_by_hash_and_by_id(book):
    """Whole hashes, beginnings of them, ids in any case, and refs."""
    notes = book.open()
    entry = notes.write(
        "a", "First.\n\n# Second\n", summary="One line", work_context="reading"
    ).entry
    for mark in (entry.id, entry.id.upper(), entry.hash, entry.hash[:7]):
        assert notes.read_entry(f"a#{mark}") == entry
    assert notes.read_entry(entry.ref).text == "First.\n\n# Second\n"
    notes.write("b", "Elsewhere.")
    for wrong in (f"b#{entry.id}", "a#abcdef0", "a#HEAD", "a#main", "a#--all", f"a#{'f' * 40}"):
        with pytest.raises(NotFound):
            notes.read_entry(wrong)


def test_an_overview_needs_to_be_read(book):
    """The loser is told both texts and both versions, and nothing of his is written."""
    notes = book.open()
    first = notes.write("a", "Begun.", overview="We know little.", base_version=NOTHING)
    assert first.version == version_of("We know little.")
    second = notes.write("a", "Learned.", overview="We know more.", base_version=first.version)
    head = book.git("rev-parse", "HEAD").stdout
    for stale in (first.version, None, "0" * 12, ""):
        with pytest.raises(OverviewConflict) as told:
            notes.write("a", "Late.", overview="We know else.", base_version=stale)
        conflict = told.value
        assert (conflict.current, conflict.yours) == ("We know more.", "We know else.")
        assert (conflict.version, conflict.base_version) == (second.version, stale or "")
        assert second.version in str(conflict)
        assert "know" not in conflict.message.replace("base_version", "")
    assert book.git("rev-parse", "HEAD").stdout == head
    notes.write("b", "Others go on.", overview="New.")
    notes.write("a", "An entry alone always goes.")
    same = notes.write("a", "As it is.", overview="We know more.\n")
    assert (same.version, same.entry_count) == (second.version, 4)


def test_a_base_version_of_a_section_that_is_gone_is_a_conflict(book):
    """Somebody removed what was read."""
    notes = book.open()
    read = notes.write("a", "x", overview="Text.")
    book.git("rm", "-q", "a.md")
    book.git("commit", "-qm", "Remove it")
    with pytest.raises(OverviewConflict):
        notes.write("a", "y", overview="More.", base_version=read.version)
    assert notes.write("a", "y", overview="Anew.").entry_count == 3  # x, the removal, y


def test_the_same_key_is_one_entry(book):
    """In another notebook object, another section and with another text as well."""
    first = book.open().write("a", "Once.", idempotency_key="k1")
    again = book.open().write("b", "Twice?", overview="No.", idempotency_key="k1")
    assert (again.repeated, again.entry, again.entry_count) == (True, first.entry, 1)
    other = book.open(owner="you").write("a", "Mine.", idempotency_key="k1")
    assert (other.repeated, other.entry_count) == (False, 2)


def test_an_entry_may_be_back_dated(book):
    """The author's time is the entry's, in the owner's zone; lists go by it."""
    notes = book.open(zone=timezone(timedelta(hours=5, minutes=45)))
    notes.write("a", "Now.")
    made = notes.write("a", "Then.", at=datetime(2024, 2, 29, 20, 0, 0, 999, tzinfo=UTC))
    assert made.entry.at == datetime(2024, 2, 29, 20, tzinfo=UTC)
    assert book.git("log", "-1", "--format=%ai|%cI").stdout.startswith(
        "2024-03-01 01:45:00 +0545|2026-11-22"
    )
    assert [x.summary for x in notes.list_entries("a")] == ["Now.", "Then."]
    with pytest.raises(Invalid):
        notes.write("a", "Before git.", at=datetime(1969, 12, 31, tzinfo=UTC))


@pytest.mark.design("001-20", "001-21", "001-22", "001-23")
def test_entries_are_listed_in_pages_newest_first(book):
    """Start and length; a section without more gives nothing, one that never was is not found."""
    notes = book.open()
    for number in range(5):
        book.now += timedelta(seconds=1)
        notes.write("a", f"Entry {number}")
    notes.write("b", "Other")
    assert [x.summary for x in notes.list_entries("a", start=1, length=2)] == ["Entry 3", "Entry 2"]
    assert notes.list_entries("a", start=5) == []
    with pytest.raises(NotFound):
        notes.list_entries("c")
    for start, length in [(-1, 10), (0, 0), (0, 1001)]:
        with pytest.raises(Invalid):
            notes.list_entries("a", start=start, length=length)


@pytest.mark.design("001-04", "001-18")
def test_the_table_of_contents(book):
    """A folder without a file is a group; what lies deeper than asked is not told."""
    notes = book.open()
    notes.write("p", "x")
    book.now += timedelta(hours=1)
    notes.write("p/api/errors", "y")
    notes.write("q", "z")
    notes.write("q", "z")
    top = notes.toc()
    assert [(x.id, x.type, x.entry_count, x.subsections) for x in top] == [
        ("p", "section", 1, ()),
        ("q", "section", 2, ()),
    ]
    ((_, group),) = [(x, x.subsections[0]) for x in notes.toc(depth=2) if x.id == "p"]
    assert (group.id, group.type, group.entry_count, group.subsections) == ("p/api", "group", 0, ())
    assert group.last_updated == book.now.replace(microsecond=0)
    assert [x.id for x in notes.toc("p/api")] == ["p/api/errors"]
    assert notes.toc("q") == ()
    assert book.open(book.folder.parent / "empty").toc() == ()
    with pytest.raises(NotFound):
        notes.toc("r")
    with pytest.raises(Invalid):
        notes.toc(depth=0)


@pytest.mark.design("001-06", "001-42")
def test_commits_by_hand_are_entries(book):
    """Of each section they touch; a merge is none; the count in the file follows with a write."""
    notes = book.open()
    notes.write("a", "Ours.")
    by_hand = book.commit("Tidy up\n\nBoth of them.", a="Mine now.", d__b="New.", **{"x.txt": "no"})
    section = notes.read_section("a")
    assert (section.overview, section.entry_count) == ("Mine now.", 2)
    (line,) = notes.list_entries("d/b")
    assert (line.hash, line.summary) == (by_hand, "Tidy up")
    assert [x.section for x in notes.ledger.by_id(line.id)] == ["a", "d/b", "x.txt"]
    entry = notes.read_entry(f"d/b#{line.id}")
    assert (entry.text, entry.author, entry.by_hand) == (
        "Tidy up\n\nBoth of them.",
        "Ann Example",
        True,
    )
    assert notes.write("a", "Again.").entry_count == 3
    assert (book.folder / "a.md").read_text() == "Mine now.\n\n<!-- entry count: 3 -->\n"


def test_a_hash_that_a_rebase_replaced_still_leads_there(book):
    """The ids stay, the hashes change, and the count stays right."""
    notes = book.open()
    notes.write("a", "One.")
    old = notes.write("b", "Two.").entry
    book.git("rebase", "-q", "--force-rebase", "HEAD~1", GIT_COMMITTER_DATE="2030-01-01T00:00:00Z")
    new = notes.read_entry(f"b#{old.id}")
    assert new.hash != old.hash
    assert notes.read_entry(f"b#{old.hash}") == new
    assert [x.id for x in notes.list_entries("b")] == [old.id]
    assert notes.write("b", "Three.").entry_count == 2


def test_a_hand_commit_that_was_rebased_is_the_same_entry(book):
    """Its id and its former hash lead to it, under its new one."""
    notes = book.open()
    notes.write("a", "One.")
    first = book.commit("By hand", b="B.")
    old = notes.read_entry(f"b#{first}")
    book.git("rebase", "-q", "--force-rebase", "HEAD~1", GIT_COMMITTER_DATE="2030-01-01T00:00:00Z")
    new = notes.read_entry(f"b#{old.id}")
    assert new.hash == book.git("rev-parse", "HEAD").stdout.strip() != first
    assert notes.read_entry(f"b#{first}") == new


def test_a_moved_section_keeps_its_history(book):
    """Under the new name; old ids still lead there; the old name may begin anew."""
    notes = book.open()
    entry = notes.write("old/name", "Before.", overview="Known.").entry
    notes.write("old/name/below", "Stays.")
    assert notes.move("old/name", "new") == ((("old/name", "new"),), ())
    assert not (book.folder / "old" / "name.md").exists()
    assert (book.folder / "new.md").read_text() == "Known.\n\n<!-- entry count: 1 -->\n"
    assert book.status() == ""
    assert notes.read_section("new").entry_count == 1
    for fresh in (notes, book.open()):
        assert [x.id for x in fresh.list_entries("new")] == [entry.id]
        assert fresh.read_entry(f"new#{entry.id}").section == "new"
        assert fresh.read_entry(entry.ref).section == "new"
        with pytest.raises(NotFound, match="It was moved: read new"):
            fresh.read_section("old/name")
    assert notes.write("new", "After.").entry_count == 2
    assert notes.write("old/name", "Another.").entry_count == 1
    assert book.open().read_section("new").entry_count == 2
    with pytest.raises(Conflict):
        notes.move("new", "old/name")
    with pytest.raises(NotFound):
        notes.move("nothing", "x")
    with pytest.raises(Invalid):
        notes.move("new", "../x")


def test_a_folder_of_sections_is_moved(book):
    """All or none: a folder alone with what is below it, a section with it if that is asked for."""
    notes = book.open()
    ids = {name: notes.write(name, "x").entry.id for name in ("p", "p/a", "p/d/b", "q/c", "pq")}
    moved, told = notes.move("q/", "r")
    assert (moved, told) == ((("q/c", "r/c"),), ())
    assert notes.move("p", "s/t", below=True) == (
        (("p", "s/t"), ("p/a", "s/t/a"), ("p/d/b", "s/t/d/b")),
        (),
    )
    assert notes.list_sections() == ["pq", "r/c", "s/t", "s/t/a", "s/t/d/b"]
    for fresh in (notes, book.open()):
        assert fresh.read_entry(f"s/t/d/b#{ids['p/d/b']}").section == "s/t/d/b"
        assert fresh.read_entry(f"p/a#{ids['p/a']}").section == "s/t/a"
    assert book.status() == ""
    assert sorted(x.name for x in book.folder.iterdir()) == [".git", "pq.md", "r", "s"]
    head = book.git("rev-parse", "HEAD").stdout
    notes.write("u/a", "x")
    for new, error in {"s/t/deeper": Invalid, "u": Conflict, "R/v": Invalid}.items():
        with pytest.raises(error):
            notes.move("s/t", new, below=True)
    with pytest.raises(NotFound):
        notes.move("nothing/", "x")
    assert book.git("rev-parse", "HEAD~1").stdout == head


def test_what_a_person_edits_in_the_folder_stays(book):
    """Uncommitted text is kept and told; a file that was removed there is not brought back."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    notes.write("b", "x")
    (book.folder / "a.md").write_text("I am typing")
    (book.folder / "b.md").unlink()
    made = notes.write("a", "y")
    assert made.notes == (
        "a.md was edited in the folder and not committed; it was left as it is there.",
    )
    assert (book.folder / "a.md").read_text() == "I am typing"
    assert notes.write("b", "y").notes == (
        "b.md was removed in the folder and not committed; it was left so.",
    )
    assert book.git("show", "HEAD:b.md").stdout == "<!-- entry count: 2 -->\n"
    assert book.status() == " M a.md\n D b.md\n"


def test_what_a_person_staged_stays(book):
    """For another file, and for the same one."""
    notes = book.open()
    notes.write("a", "x")
    (book.folder / "b.md").write_text("staged")
    book.git("add", "b.md")
    assert notes.write("a", "y").notes == ()
    assert book.status() == "A  b.md\n"
    (book.folder / "a.md").write_text("staged too")
    book.git("add", "a.md")
    assert len(notes.write("a", "z").notes) == 2
    assert book.git("show", ":a.md").stdout == "staged too"


def test_windows_line_ends_in_the_folder_stay(book):
    """A file that git checked out with CRLF is the same file, and is written so again."""
    notes = book.open()
    notes.write("a", "x", overview="One\nTwo")
    (book.folder / "a.md").write_bytes(b"One\r\nTwo\r\n\r\n<!-- entry count: 1 -->\r\n")
    assert notes.write("a", "y").notes == ()
    assert (book.folder / "a.md").read_bytes() == b"One\r\nTwo\r\n\r\n<!-- entry count: 2 -->\r\n"


@pytest.mark.parametrize(
    "name", ["../x", ".git/config", "-rf", "--output=x", "/etc/x", "a#b", "CON"]
)
def test_a_hostile_name_changes_nothing(book, name):
    """No file, no commit, no folder."""
    notes = book.open()
    notes.write("a", "x")
    before = (book.git("rev-parse", "HEAD").stdout, sorted(book.folder.parent.rglob("*.md")))
    with pytest.raises(Invalid):
        notes.write(name, "y")
    with pytest.raises(Invalid):
        notes.move("a", name)
    assert before == (
        book.git("rev-parse", "HEAD").stdout,
        sorted(book.folder.parent.rglob("*.md")),
    )


def test_a_case_twin_is_refused(book):
    """Of a section, and of a folder."""
    notes = book.open()
    notes.write("Project/api", "x")
    for twin in ("project/api", "Project/API", "PROJECT/other"):
        with pytest.raises(Invalid):
            notes.write(twin, "y")
    notes.write("Project/other", "y")
    notes.move("Project/api", "Project/API")


def test_a_link_in_the_folder_is_not_followed(book, tmp_path):
    """Whoever laid it there; the commit holds the entry."""
    notes = book.open()
    notes.write("d/a", "x")
    outside = tmp_path / "outside"
    (book.folder / "d").rename(outside)
    (book.folder / "d").symlink_to(outside)
    before = (outside / "a.md").read_bytes()
    made = notes.write("d/a", "y")
    assert made.notes == ("d/a.md was left alone: a link leads out of the notebook.",)
    assert (outside / "a.md").read_bytes() == before
    assert notes.read_section("d/a").entry_count == 2


def test_what_a_write_gives_the_index(book):
    """The entry, and the overview if there is one, as a scan would."""
    notes = book.open()
    (put,) = changes_of(notes, notes.write("a", "Said.", work_context="talking"))
    assert (put.doc.text, put.doc.headings, put.doc.kind) == (
        "Said.\n\ntalking",
        ("talking",),
        "entry",
    )
    both = changes_of(notes, notes.write("a", "More.", overview="Known.", base_version=NOTHING))
    assert all(isinstance(x, Put) for x in both)
    assert [x.doc.ref for x in both] == [
        f"notebook:a#{notes.list_entries('a')[0].id}",
        "notebook:a",
    ]


def test_no_notebook_is_told_with_the_next_step(tmp_path):
    """Looking for one makes nothing."""
    folder = tmp_path / "nowhere"
    notes = NotebookJournal(
        folder, ledger=tmp_path / "l.db", owner="me", zone=UTC, clock=datetime.now
    )
    assert not notes.exists
    with pytest.raises(NotFound, match="commonplace notebook init"):
        notes.read_section("a")
    assert not folder.exists()


def test_a_first_overview_needs_no_read(book):
    """There is nothing yet that could be lost; a version that was never there is still refused."""
    notes = book.open()
    notes.write("a", "x")
    with pytest.raises(OverviewConflict):
        notes.write("a", "y", overview="Known.", base_version="0" * 12)
    assert notes.write("a", "y", overview="Known.").overview == "Known."


def lay_loose(objects, folder: str, count: int) -> None:
    """Lay blobs into one of git's 256 folders of loose objects, as thousands elsewhere come with."""
    (objects / folder).mkdir(exist_ok=True)
    for text in map(str, range(1_000_000)):
        blob = f"blob {len(text)}\0{text}".encode()
        name = hashlib.sha1(blob).hexdigest()
        if name.startswith(folder):
            (objects / folder / name[2:]).write_bytes(zlib.compress(blob))
            count -= 1
            if not count:
                return


def packing() -> list[str]:
    """The threads of this process that pack a notebook."""
    return [thread.name for thread in threading.enumerate() if thread.name == "pack notebook"]


@pytest.mark.design("001-53")
def test_packing_packs_what_lies_loose(book):
    """By itself when it is due; everything is there afterwards, and a section's history is indexed."""
    notes = book.open(auto_gc=False)
    for number in range(3):
        notes.write("a", f"Entry {number}")
    objects = book.folder / ".git" / "objects"
    lay_loose(objects, "17", 27)  # by which git itself guesses that 6,700 lie loose
    notes.write("a", "Entry 3")
    assert (packing(), [*objects.glob("pack/*.pack")]) == ([], [])
    book.open().write("a", "Entry 4")
    until((objects / "info" / "commit-graph").exists, "the notebook to be packed")
    until(lambda: not packing(), "the packing to end")
    assert list(objects.glob("pack/*.pack"))
    assert notes.write("a", "Entry 5").entry_count == 6
    notes.pack()
    for _ in range(2):  # git's own packing keeps the filters of changed paths
        graph = (objects / "info" / "commit-graph").read_bytes()
        assert b"BDAT" in graph[:200]
        book.git("gc", "-q")
