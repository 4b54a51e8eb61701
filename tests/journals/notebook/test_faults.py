"""Many writers, killed writers, people with git: no entry is lost, none doubled, counts are right."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.journals.notebook.moments import at, dies, git_that
from tests.patience import PATIENCE_S
from tests.sampled import sampled

from commonplace.core.errors import CommonplaceError
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sections import OverviewConflict

_WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.notebook.journal import NotebookJournal
folder, ledger, name, count, own = sys.argv[1:]
notes = NotebookJournal(Path(folder), ledger=Path(ledger), owner="me", zone=UTC, clock=lambda: datetime.now(UTC))
for number in range(int(count)):
    made = notes.write("shared" if number % 2 else name, f"{name} {number}")
    assert made.notes == (), made.notes
    print(made.entry.id, flush=True)
"""


def writers(book, names, count, *, ledgers=("one",)):
    """Processes that each write so many entries; their ids."""
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", _WRITER, str(book.folder)),
                *(
                    str(book.folder.parent / f"{ledgers[n % len(ledgers)]}.db"),
                    name,
                    str(count),
                    "",
                ),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n, name in enumerate(names)
    ]
    told = [x.communicate(timeout=PATIENCE_S)[0].split() for x in started]
    assert [x.returncode for x in started] == [0] * len(names)
    return [entry for each in told for entry in each]


@pytest.mark.parametrize(("names", "count"), [(4, 4), pytest.param(10, 6, marks=pytest.mark.long)])
def test_writers_at_once_lose_nothing(book, names, count):
    """Half of them with a ledger of their own; every id once, the counts and the folder right."""
    notes = book.open()
    notes.write("shared", "x")
    ids = writers(book, [f"w{n}" for n in range(names)], count, ledgers=("one", "two"))
    assert len(set(ids)) == names * count
    lines = [x for s in notes.list_sections() for x in notes.list_entries(s, length=100)]
    assert Counter(x.id for x in lines if x.summary != "x") == Counter(ids)
    shared = 1 + names * count // 2
    assert notes.read_section("shared").entry_count == shared
    assert (book.folder / "shared.md").read_text() == f"<!-- entry count: {shared} -->\n"
    assert book.status() == ""


_KILLED = """
notes.write("a", "killed", overview="Killed.", idempotency_key="k", base_version=notes.read_section("a").version)
"""
# Where a git of ours ends the writer that called it.
_ENDS = {
    "inside the stream": '{ head -c 60; kill -9 $PPID; } | $git "$@"',
    "before the ledger": '$git "$@"; kill -9 $PPID',
}


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize(
    ("where", "is_there", "ledger"),
    [
        ("inside the stream", False, "two"),
        ("before the ledger", True, "one"),
        ("after a.md", True, "two"),
        *(
            pytest.param(where, is_there, ledger, marks=pytest.mark.long)
            for where, is_there, ledger in (
                ("before fast-import", False, "one"),
                ("before fast-import", False, "two"),
                ("inside the stream", False, "one"),
                ("before the ledger", True, "two"),
                ("after fast-import", True, "one"),
                ("after fast-import", True, "two"),
                ("before a.md", True, "one"),
                ("before a.md", True, "two"),
                ("after a.md", True, "one"),
            )
        ),
    ],
)
def test_a_writer_killed_anywhere_leaves_all_or_nothing(book, where, is_there, ledger):
    """The retry with its key makes one entry; the next write heals folder and index."""
    base = book.folder.parent
    notes = book.open(ledger=base / f"{ledger}.db")
    first = notes.write("a", "first", overview="First.")
    more = git_that(base, "fast-import", _ENDS[where]) if where in _ENDS else {}
    assert dies(_KILLED, book.folder, ledger=base / "one.db", at=where, **more)
    assert len(notes.list_entries("a")) == 1 + is_there
    if is_there:
        assert notes.read_section("a").overview == "Killed."
    again = notes.write(
        "a", "killed", overview="Killed.", idempotency_key="k", base_version=first.version
    )
    assert (again.repeated, again.notes) == (is_there, ())
    assert (book.folder / "a.md").read_text() == "Killed.\n\n<!-- entry count: 2 -->\n"
    assert book.status() == ""
    assert [x.summary for x in notes.list_entries("a")].count("killed") == 1


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"), st.integers(0, 1), st.sampled_from(["a", "b", "d/c"]), st.booleans()
        ),
        st.tuples(st.just("hand"), st.sampled_from(["a", "b", "d/c"])),
        st.tuples(st.just("rebase"), st.integers(1, 3)),
        st.tuples(st.just("amend")),
        st.tuples(st.just("merge"), st.sampled_from(["a", "b"])),
        st.tuples(st.just("move"), st.integers(0, 1)),
        st.tuples(st.just("forget"), st.integers(0, 1)),
        st.tuples(st.just("gc")),
    ),
    min_size=4,
    max_size=14,
)


@pytest.mark.design("001-05", "001-68")
@sampled(4, 20, plan=steps)
def test_any_interleaving_keeps_every_entry_once(plan):
    """Two writers, hand commits, rebases, amendments, merges, moves, gc, a lost ledger."""
    with tempfile.TemporaryDirectory() as folder:
        Play(Path(folder)).run(plan)


class Play:
    """One notebook, two writers with ledgers of their own, and what they were told is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "n"
        self.ledgers = [folder / "0.db", folder / "1.db"]
        self.now = datetime(2026, 11, 21, tzinfo=UTC)
        self.ids: list[str] = []
        self.hands = 0
        self.notes = [self.open(n) for n in (0, 1)]
        self.notes[0].init()

    def open(self, which: int) -> NotebookJournal:
        return NotebookJournal(
            self.folder, ledger=self.ledgers[which], owner="me", zone=UTC, clock=lambda: self.now
        )

    def run(self, plan) -> None:
        try:
            for step, *arguments in plan:
                self.now += timedelta(seconds=1)
                getattr(self, step)(*arguments)
            self.check()
        finally:
            for each in self.notes:
                each.close()

    def git(self, *arguments: str, **environ: str) -> str:
        person = {f"GIT_{x}_{y}": "p@x" for x in ("AUTHOR", "COMMITTER") for y in ("NAME", "EMAIL")}
        times = {
            f"GIT_{x}_DATE": f"{int(self.now.timestamp())} +0000" for x in ("AUTHOR", "COMMITTER")
        }
        run = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env={**os.environ, **person, **times, **environ},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run
        return run.stdout

    def write(self, which, section, is_overview) -> None:
        notes = self.notes[which]
        overview = f"Known at {self.now}" if is_overview else None
        try:
            version = notes.read_section(section).version
        except CommonplaceError:
            version = None
        made = notes.write(
            section, f"entry {len(self.ids)}", overview=overview, base_version=version
        )
        assert made.notes == ()
        self.ids.append(made.entry.id)
        if is_overview:
            with pytest.raises(OverviewConflict):
                notes.write(section, "late", overview="other", base_version="0" * 12)

    def hand(self, section) -> None:
        path = self.folder / f"{section}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"by hand {self.hands}\n")
        self.git("add", "--", str(path))
        self.git("commit", "-q", "-m", f"hand {self.hands}")
        self.hands += 1

    def commits(self) -> int:
        if not self.notes[0].repo.head().commit:
            return 0
        return int(self.git("rev-list", "--count", "--first-parent", "HEAD"))

    def rebase(self, back) -> None:
        if self.commits() > back:
            self.git("rebase", "-q", "--force-rebase", "--rebase-merges", f"HEAD~{back}")

    def amend(self) -> None:
        if self.commits():
            self.git("commit", "-q", "--amend", "--no-edit", "--allow-empty", "--cleanup=verbatim")

    def merge(self, section) -> None:
        if not self.commits():
            return
        self.git("switch", "-q", "-c", "side")
        self.write(0, section, False)
        self.git("switch", "-q", "main")
        self.write(1, "main-only", False)
        self.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        self.git("branch", "-q", "-d", "side")

    def move(self, which) -> None:
        sections = self.notes[which].list_sections()
        if sections:
            self.notes[which].move(
                sections[0], f"moved-{self.commits()}-{int(self.now.timestamp())}"
            )

    def forget(self, which) -> None:
        self.notes[which].close()
        for path in self.ledgers[which].parent.glob(f"{which}.db*"):
            path.unlink()
        self.notes[which] = self.open(which)

    def gc(self) -> None:
        self.git("gc", "-q", "--prune=now")

    def check(self) -> None:
        """Every id once, every hand commit once, both ledgers alike, counts as listed."""
        seen = []
        for notes in self.notes:
            notes.ledger.catch_up()
            sections = {x.section for i in self.ids for x in notes.ledger.by_id(i)}
            sections |= set(notes.list_sections())
            lines = [x for s in sorted(sections) for x in notes.list_entries(s, length=1000)]
            found = Counter(x.id for x in lines)
            assert {i: found[i] for i in self.ids} == dict.fromkeys(self.ids, 1)
            assert sum(1 for x in lines if x.summary.startswith("hand ")) == self.hands
            assert len(lines) == len(self.ids) + self.hands
            for section in notes.list_sections():
                assert notes.read_section(section).entry_count == len(
                    notes.list_entries(section, length=1000)
                )
            seen.append(sorted(found))
        assert seen[0] == seen[1]
        assert self.git("fsck", "--strict", "--no-dangling") == ""
        for section in self.notes[0].list_sections():
            made = self.notes[0].write(section, "last")
            text = (self.folder / f"{section}.md").read_text()
            assert text.endswith(f"<!-- entry count: {made.entry_count} -->\n")
        assert self.git("status", "--porcelain") == ""


def test_a_hand_that_moves_the_branch_meanwhile(book, monkeypatch):
    """Whoever commits between reading and writing is kept: the write is made anew on top."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    at(monkeypatch, "cat-file", lambda: book.commit("By hand", a="Mine."))
    assert notes.write("a", "y").entry_count == 3
    assert notes.read_section("a").overview == "Mine."
    assert book.status() == ""
    version = notes.read_section("a").version
    at(monkeypatch, "cat-file", lambda: book.commit("By hand", a="Other."))
    with pytest.raises(OverviewConflict) as told:
        notes.write("a", "z", overview="New.", base_version=version)
    assert (told.value.current, told.value.base_version) == ("Other.", version)


@pytest.mark.design("001-67")
@pytest.mark.parametrize("broken", [b"", b"no database at all" * 100, None])
def test_a_broken_ledger_is_made_anew(book, broken):
    """It is derived; so is one of another layout."""
    path = book.folder.parent / "ledger.db"
    first = book.open(ledger=path)
    first.write("a", "x")
    first.close()
    if broken is None:
        import sqlite3

        with sqlite3.connect(path) as conn:
            conn.execute("UPDATE state SET layout = 99")
        conn.close()
    else:
        for each in path.parent.glob("ledger.db*"):
            each.unlink()
        path.write_bytes(broken)
    notes = book.open(ledger=path)
    assert notes.write("a", "y").entry_count == 2
    assert [x.summary for x in notes.list_entries("a")] == ["y", "x"]


def test_a_note_that_cannot_be_kept_is_named_and_nothing_is_written(book):
    """What is to be remembered before the branch moves has no place: the file is told."""
    notes = book.open()
    notes.write("a", "kept")
    note = book.folder / ".git" / "commonplace-refresh"
    note.mkdir()
    with pytest.raises(CommonplaceError) as told:
        notes.write("a", "lost")
    assert str(note) in told.value.located
    note.rmdir()
    assert [x.summary for x in notes.list_entries("a")] == ["kept"]
    assert notes.write("a", "again").entry_count == 2
