"""A person's plain git beside writers that are killed: no entry lost, no overview taken back."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime

import pytest
from tests.patience import PATIENCE_S, until

from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.repair import find_problems, repair

SECTIONS = ("s0", "s1", "d/s2")

_WRITER = """
import os, random, sys, threading
from datetime import UTC, datetime
from pathlib import Path
from commonplace.core.errors import Conflict, NotFound, Unavailable
from commonplace.journals.notebook.journal import NotebookJournal
folder, ledger, name, stop = sys.argv[1:]
notes = NotebookJournal(Path(folder), ledger=Path(ledger), owner="me", zone=UTC,
                 clock=lambda: datetime.now(UTC), auto_gc=False)
number, pause = 0, threading.Event()
while not os.path.exists(stop):
    number += 1
    section, text = random.choice(("s0", "s1", "d/s2")), f"{name} {number}"
    try:
        if number % 2:
            made = notes.write(section, text)
            print("entry", made.entry.id, flush=True)
        else:
            now = notes.read_section(section)
            overview = f"{now.overview}\\n\\n{name}-{number}."
            made = notes.write(section, text, overview=overview, base_version=now.version)
            print("line", made.entry.id, section, f"{name}-{number}.", flush=True)
    except (Conflict, Unavailable) as exc:
        print("refused", type(exc).__name__, exc.message, flush=True)
        pause.wait(0.02)
"""

_LOCKED = re.compile(r"index\.lock|cannot lock ref|could not write index|unable to write new index")


class Office:
    """A notebook's folder with writers at work, and a person who uses git there."""

    def __init__(self, folder, seed: int, writers: int) -> None:
        self.folder = folder / "notebook"
        self.stop = folder / "stop"
        self.base = folder
        self.random = random.Random(seed)
        self.notes = NotebookJournal(
            self.folder,
            ledger=folder / "person.db",
            owner="me",
            zone=UTC,
            clock=lambda: datetime.now(UTC),
            auto_gc=False,
        )
        self.notes.init()
        for section in SECTIONS:
            self.notes.write(section, "first", overview="First.")
        (self.folder / "other.txt").write_text("0\n")
        self.git("add", "other.txt")
        self.git("commit", "-qm", "other 0")
        self.told: list[str] = []
        self.lines: dict[str, set[str]] = {x: set() for x in SECTIONS}
        self.number = 0
        self.tried = 0
        self.readers: list[threading.Thread] = []
        self.writers = [self.hire() for _ in range(writers)]

    def hire(self) -> subprocess.Popen[str]:
        """A writer at work; what it says is collected."""
        self.number += 1
        name = f"w{self.number}"
        words = (self.folder, self.base / f"{self.number % 2}.db", name, self.stop)
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        reader = threading.Thread(target=self.listen, args=(writer,))
        reader.start()
        self.readers.append(reader)
        return writer

    def listen(self, writer: subprocess.Popen[str]) -> None:
        """Collect what a writer says; a line that its end cut off was told nobody."""
        with writer.stdout as said:
            self.told.extend(line for line in said if line.endswith("\n"))

    def git(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Plain git as a person types it, again while something else holds a lock."""
        person = {f"GIT_{x}_{y}": "p@x" for x in ("AUTHOR", "COMMITTER") for y in ("NAME", "EMAIL")}
        waiting = threading.Event()
        for _ in range(600):
            done = subprocess.run(
                ["git", "-C", str(self.folder), *words],
                env={**os.environ, **person, "GIT_EDITOR": ":"},
                capture_output=True,
                text=True,
            )
            if done.returncode == 0 or not _LOCKED.search(done.stderr):
                break
            waiting.wait(self.random.uniform(0, 0.03))
        assert done.returncode == 0 or not check, done
        return done

    def restore(self, path: str) -> None:
        """`checkout HEAD`, again while something is staged.

        Git reads HEAD before it takes its lock: a write that comes between the two leaves the file
        of before staged, which no lock of ours can keep git from.
        """
        for _ in range(100):
            self.git("checkout", "-q", "HEAD", "--", path)
            staged = self.git("diff", "--cached", "--name-only").stdout.split()
            if not staged:
                return
            path = staged[0]
        raise AssertionError(f"{path} stays staged.")

    def other(self) -> None:
        """A file of the person's own."""
        (self.folder / f"other-{self.tried}.txt").write_text("mine")
        self.git("add", f"other-{self.tried}.txt")
        self.git("commit", "-qm", f"other {self.tried}")

    def all(self) -> None:
        """`commit -a`."""
        (self.folder / "other.txt").write_text(f"{self.tried}\n")
        self.git("commit", "-qam", f"other {self.tried}")

    def edit(self) -> None:
        """An addition to an overview, looked at before it is committed."""
        section = self.random.choice(SECTIONS)
        path, line = self.folder / f"{section}.md", f"person-{self.tried}."
        for _ in range(100):
            path.write_text(f"{line}\n\n{path.read_text()}")
            self.git("add", "--", f"{section}.md")
            changed = self.git("diff", "--cached", "-U0", "--", f"{section}.md").stdout
            removed = [x for x in changed.splitlines() if re.match(r"-[^-]", x)]
            if f"+{line}" in changed and all("entry count" in x for x in removed):
                self.git("commit", "-qm", f"edit {self.tried}")
                self.lines[section].add(line)
                return
            self.restore(f"{section}.md")
        raise AssertionError("The person never came to write.")

    def checkout(self) -> None:
        """What was scribbled into a section is thrown away."""
        path = f"{self.random.choice(SECTIONS)}.md"
        (self.folder / path).write_text("scribble")
        self.restore(path)

    def stash(self) -> None:
        """Put away and taken back."""
        (self.folder / "other.txt").write_text(f"stashed {self.tried}\n")
        self.git("stash", "-q", check=False)
        if (
            self.git("stash", "list").stdout
            and self.git("stash", "pop", "-q", check=False).returncode
        ):
            self.restore(".")
            self.git("stash", "drop", "-q")
        self.restore("other.txt")

    def amend(self) -> None:
        """Whatever the last commit is."""
        self.git("commit", "-q", "--amend", "--no-edit", "--allow-empty")

    def rebase(self) -> None:
        """The last commits anew; given up where others were in the way."""
        self.git("rebase", "-q", "--force-rebase", "HEAD~2", check=False)
        while (self.folder / ".git" / "rebase-merge").exists():
            self.git("rebase", "--abort", check=False)

    def kill(self) -> None:
        """One writer ends in the middle of what it does, and another begins."""
        which = self.random.randrange(len(self.writers))
        self.writers[which].kill()
        self.writers[which].wait()
        self.writers[which] = self.hire()

    def look_on(self) -> None:
        """Wait until somebody has written, or a second."""
        known, waiting = len(self.told), threading.Event()
        for _ in range(100):
            if len(self.told) > known:
                return
            waiting.wait(0.01)

    def work(self, commands: int) -> None:
        """So many commands in any order; then everybody goes home."""
        verbs = (self.other, self.all, self.edit, self.checkout, self.stash, self.amend)
        verbs = (*verbs, self.other, self.edit, self.rebase, self.kill)
        until(lambda: self.told, "a writer to be told something")
        try:
            for _ in range(commands):
                self.tried += 1
                if self.random.random() < 0.5:
                    self.look_on()
                self.random.choice(verbs)()
        finally:
            self.stop.touch()
            for writer in self.writers:
                writer.wait(PATIENCE_S)
            for reader in self.readers:
                reader.join(PATIENCE_S)
        assert [x.returncode for x in self.writers] == [0] * len(self.writers)

    def check(self) -> Counter[str]:
        """Every law, once all is quiet; how much was written and refused."""
        repair(self.notes)
        said = [x.split() for x in self.told]
        for section in SECTIONS:
            self.notes.write(section, "last")
        assert [*find_problems(self.notes)] == []
        assert self.git("status", "--porcelain").stdout == ""
        self.notes.ledger.catch_up()
        ids = [x[1] for x in said if x[0] in {"entry", "line"}]
        lost = [x for x in ids if len(self.notes.ledger.by_id(x)) != 1]
        assert lost == []
        for kind, _, *rest in said:
            if kind == "line":
                self.lines[rest[0]].add(rest[1])
        for section in SECTIONS:
            read = self.notes.read_section(section)
            assert self.lines[section] - set(read.overview.split()) == set()
            assert read.entry_count == len(self.notes.list_entries(section, length=1000))
            text = (self.folder / f"{section}.md").read_text()
            assert text.endswith(f"<!-- entry count: {read.entry_count} -->\n")
        log = self.git("log", "--format=%x01%s", "--name-only").stdout.split("\x01")[1:]
        for subject, *names in (x.split("\n") for x in log):
            if subject.startswith("other"):
                assert all(not x or x.startswith("other") for x in names), (subject, names)
        assert self.git("fsck", "--strict", "--no-dangling").stdout == ""
        return Counter(x[0] for x in said)


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize(
    ("writers", "commands", "seed"),
    [
        (3, 24, 1),
        pytest.param(6, 60, 2, marks=pytest.mark.long),
        *(pytest.param(10, 150, n, marks=pytest.mark.whole) for n in range(2, 5)),
    ],
)
def test_a_person_beside_writers_that_are_killed(tmp_path, counted, writers, commands, seed):
    """What was acknowledged is there, once, and a commit of one's own takes nothing else along."""
    office = Office(tmp_path, seed, writers)
    try:
        office.work(commands)
        made = office.check()
        assert made["line"]
        assert made["entry"]
    finally:
        for writer in office.writers:
            writer.kill()
            writer.wait()
        office.notes.close()
    counted("commands of a person's git beside killed writers", office.tried)
