"""The newest entries of a section, told by git while the ledger is blank."""

from __future__ import annotations

import subprocess

from commonplace.journals.notebook.newest_entries import newest_entries


def filled(book):
    """A notebook with entries, a move, hand commits and a merge by hand; its folder."""
    notes = book.open()
    for number in range(6):
        book.now = book.now.replace(second=number)
        notes.write("old", f"old {number}")
        notes.write("other", f"other {number}")
    book.now = book.now.replace(second=10)
    notes.move("old", "new")
    book.now = book.now.replace(second=11)
    notes.write("new", "new 1")
    stamp = {
        "GIT_AUTHOR_DATE": "2026-11-21T23:20:00Z",
        "GIT_COMMITTER_DATE": "2026-11-21T23:20:00Z",
    }
    book.git("switch", "-q", "-c", "side")
    (book.folder / "new.md").write_text("By hand.\n")
    book.git("commit", "-qam", "by hand", **stamp)
    book.git("switch", "-q", "main")
    book.now = book.now.replace(minute=21)
    notes.write("other", "main")
    book.git("merge", "-q", "--no-edit", "side")
    book.now = book.now.replace(minute=22)
    notes.write("new", "new 2")
    notes.tidy()
    return notes


def test_git_tells_what_the_ledger_would(book):
    """Through a move and beside a merge, page by page; a section that never was has none."""
    notes = filled(book)
    head = notes.repo.head().commit
    for section in ("new", "other"):
        for start, length in ((0, 3), (0, 99), (4, 2), (50, 5)):
            told = newest_entries(
                notes.repo, head, section, start=start, length=length, now=book.now
            )
            assert told == notes.list_entries(section, start=start, length=length)
    assert len(notes.list_entries("new", length=99)) == 9
    for section, at in (("never", head), ("new", "")):
        assert newest_entries(notes.repo, at, section, start=0, length=9, now=book.now) == []


def test_a_blank_ledger_is_not_waited_for(book):
    """A first list is git's; what needs counts reads the history. The filters of paths are kept."""
    filled(book)
    graph = (book.folder / ".git" / "objects" / "info" / "commit-graph").read_bytes()
    assert b"BDAT" in graph[:200]
    subprocess.run(["git", "-C", str(book.folder), "gc", "-q"], check=True)
    graph = (book.folder / ".git" / "objects" / "info" / "commit-graph").read_bytes()
    assert b"BDAT" in graph[:200]
    fresh = book.open()
    assert [x.summary for x in fresh.list_entries("new", length=2)] == ["new 2", "by hand"]
    assert fresh.ledger.is_empty
    assert fresh.read_section("new").entry_count == 9
    assert not fresh.ledger.is_empty
