"""The index hears of every entry and overview, by us or by hand, whatever becomes of the history."""

from __future__ import annotations

from datetime import timedelta

import pytest

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put, Since
from commonplace.journals.notebook.pages import NotebookPages
from commonplace.journals.notebook.source import NotebookSource, changes_of


class Follower:
    """Follows a source as an index does."""

    def __init__(self, notebook) -> None:
        self.source = NotebookSource(notebook)
        self.mark = None
        self.docs = {}

    def catch_up(self, *, sweep: bool = False) -> list[str]:
        """Take what changed: `+ref` of each put, `-ref` of each drop, `notebook:` left out."""
        mark = self.source.mark()
        if mark == self.mark and not sweep:
            return []
        told = []
        since = Since(mark=None if sweep else self.mark, stamps=self._stamps)
        for change in self.source.scan(since):
            match change:
                case Put(doc):
                    self.docs[doc.ref] = doc
                    told.append(f"+{doc.ref.removeprefix('notebook:')}")
                case Drop(ref):
                    del self.docs[ref]
                    told.append(f"-{ref.removeprefix('notebook:')}")
        self.mark = mark
        return told

    def _stamps(self, prefix: str) -> dict[str, str]:
        return {ref: doc.stamp for ref, doc in self.docs.items() if ref.startswith(prefix)}


def test_entries_come_newest_first_then_overviews(book):
    """Each with its section as scope, its author, its time, its date in words; it stands alone."""
    notes = book.open(author="Wren <w@x.org>")
    one = notes.write("a", "One.", work_context="testing").entry
    two = notes.write("b", "Two.", overview="Known of b.").entry
    follower = Follower(notes)
    assert follower.catch_up() == [f"+b#{two.id}", f"+a#{one.id}", "+b"]
    doc = follower.docs[f"notebook:a#{one.id}"]
    assert (doc.journal, doc.scope, doc.session, doc.kind) == (
        "notebook",
        "a",
        "",
        "entry",
    )
    assert (doc.author, doc.at, doc.dated) == ("Wren", one.at, "21 November 2026")
    overview = follower.docs["notebook:b"]
    assert (overview.kind, overview.text, overview.scope) == ("overview", "Known of b.", "b")
    assert follower.catch_up() == []
    assert follower.catch_up(sweep=True) == []


def test_nobody_is_named_where_nobody_was(book):
    """The standing author of commits is no person."""
    notes = book.open()
    notes.write("a", "x")
    follower = Follower(notes)
    follower.catch_up()
    assert {doc.author for doc in follower.docs.values()} == {""}
    assert "journal@localhost" in book.git("log", "--format=%ae").stdout


@pytest.mark.design("001-65")
def test_only_what_is_new_is_read(book):
    """By us and by hand; an overview comes again when its section has a newer entry."""
    notes = book.open()
    notes.write("a", "One.", overview="Known.")
    follower = Follower(notes)
    follower.catch_up()
    book.now += timedelta(minutes=1)
    made = notes.write("a", "Two.").entry
    book.commit("By hand", b="Text of b.")
    by_hand = notes.list_entries("b")[0].id
    assert follower.catch_up() == [f"+b#{by_hand}", f"+a#{made.id}", "+a", "+b"]
    book.git("rm", "-q", "b.md")
    book.git("commit", "-qm", "Away with it")
    assert follower.catch_up()[1:] == ["-b"]


def test_what_the_writer_filed_is_not_filed_again(book):
    """The stamps of a write and of a scan are the same."""
    notes = book.open()
    notes.write("z", "First.")
    follower = Follower(notes)
    follower.catch_up()
    for change in changes_of(notes, notes.write("a", "One.\n", overview="Known.", summary="S")):
        follower.docs[change.doc.ref] = change.doc
    assert follower.catch_up() == []
    assert follower.catch_up(sweep=True) == []


def test_a_rewritten_history_is_followed_by_ids(book):
    """A rebase hands nothing over; a reset drops what it lost."""
    notes = book.open()
    notes.write("a", "One.")
    two = notes.write("b", "Two.").entry
    follower = Follower(notes)
    follower.catch_up()
    book.git("rebase", "-q", "--force-rebase", "HEAD~1", GIT_COMMITTER_DATE="2030-01-01T00:00:00Z")
    assert follower.source.mark() != follower.mark
    assert follower.catch_up() == []
    book.git("reset", "-q", "--hard", "HEAD~1")
    assert follower.catch_up() == [f"-b#{two.id}"]
    book.git("reflog", "expire", "--expire=all", "--all")
    book.git("gc", "-q", "--prune=now")
    follower.mark = "f" * 40
    assert follower.catch_up() == []


def test_a_move_is_followed(book):
    """The refs are of the new name, for whoever saw the old ones and whoever did not."""
    notes = book.open()
    entry = notes.write("old", "One.", overview="Known.").entry
    follower = Follower(notes)
    follower.catch_up()
    notes.move("old", "new")
    assert sorted(follower.catch_up()) == sorted(
        ["-old", f"-old#{entry.id}", "+new", f"+new#{entry.id}"]
    )
    fresh = Follower(book.open())
    fresh.catch_up()
    assert fresh.docs.keys() == follower.docs.keys()


def test_a_merge_brings_both_sides(book):
    """Each entry once, and the overview as the merge has it."""
    notes = book.open()
    notes.write("a", "Base.", overview="Base.")
    book.git("switch", "-q", "-c", "side")
    side = notes.write("b", "Side.", overview="Side.").entry
    book.git("switch", "-q", "main")
    main = notes.write("a", "Main.").entry
    follower = Follower(notes)
    follower.catch_up()
    assert f"notebook:a#{main.id}" in follower.docs
    book.git("merge", "-q", "side", "-m", "Merge side")
    assert follower.catch_up() == [f"+b#{side.id}", "+b"]
    assert follower.catch_up(sweep=True) == []
    assert len(follower.docs) == 5


def test_an_empty_notebook_and_none(book, tmp_path):
    """A branch without a commit has nothing; a folder that is gone raises nothing in a mark."""
    notes = book.open()
    follower = Follower(notes)
    assert (follower.source.mark(), follower.catch_up()) == ("", [])
    book.folder.rename(tmp_path / "gone")
    assert NotebookSource(notes).mark() == ""
    (tmp_path / "gone").rename(book.folder)


def test_pages_open_what_the_index_names(book):
    """Entries with their neighbours in the section, overviews, and a hash taken for its id."""
    notes = book.open(author="Wren <w@x.org>")
    entries = []
    for text in ("One.", "Two.", "Three."):
        book.now += timedelta(seconds=1)
        entries.append(
            notes.write("a", text, overview="Known.", base_version=_version(notes)).entry
        )
    notes.write("b", "Elsewhere.")
    pages = NotebookPages(notes)
    page = pages.read_ref(f"notebook:a#{entries[1].hash[:8]}")
    assert (page.ref, page.text, page.author, page.kind) == (
        entries[1].ref,
        "Two.",
        "Wren",
        "entry",
    )
    assert (page.before.text, page.after.text) == ("One.", "Three.")
    assert pages.read_ref(entries[0].ref).before is None
    overview = pages.read_ref("notebook:a")
    assert (overview.text, overview.kind, overview.at) == ("Known.", "overview", entries[2].at)
    assert pages.place_of("a") == str(book.folder / "a.md")
    for wrong in (
        "notebook:../x",
        "notebook:c",
        "notebook:a#nothing",
        "notebook:",
        "notebook:a#\n",
    ):
        with pytest.raises(CommonplaceError):
            pages.read_ref(wrong)


def _version(notes):
    try:
        return notes.read_section("a").version
    except CommonplaceError:
        return None
