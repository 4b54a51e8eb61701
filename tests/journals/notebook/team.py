"""Two people with a clone each, and a bare repository where they meet; all on one disk."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.journals.notebook.journal import Notebook
from commonplace.journals.notebook.sync import Sync

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("Ann", "Bob", "Cyd")
COUNT = "<!-- entry count: {} -->\n"


class Team:
    """Clones of one bare repository; `git` is what a person does there, `notes` what we do."""

    def __init__(self, folder: Path, *, people: int = 2) -> None:
        self.folder = folder
        self.now = datetime(2026, 11, 21, tzinfo=UTC)
        self.bare = folder / "meeting.git"
        self.git(None, "init", "-q", "--bare", "-b", "main", str(self.bare), at=folder)
        self.notes: list[Notebook] = []
        for which in range(people):
            self.git(None, "init", "-q", "-b", "main", str(self.place(which)), at=folder)
            self.git(which, "remote", "add", "origin", str(self.bare))
            self.notes.append(self.open(which))

    def place(self, which: int) -> Path:
        """The folder of one person's clone."""
        return self.folder / NAMES[which]

    def open(self, which: int, folder: Path | None = None) -> Notebook:
        """A notebook over a clone, with a ledger of its own."""
        return Notebook(
            folder or self.place(which),
            ledger=self.folder / f"{NAMES[which]}.db",
            owner="me",
            zone=UTC,
            clock=lambda: self.now,
            author=f"{NAMES[which]} <{NAMES[which].lower()}@example.org>",
            auto_gc=False,
        )

    def git(
        self, which: int | None, *words: str, at: Path | None = None, check: bool = True
    ) -> str:
        """Plain git, as one person; its output."""
        name = "Nobody" if which is None else NAMES[which]
        stamp = f"{int(self.now.timestamp())} +0200"
        person = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in {"NAME": name, "EMAIL": f"{name}@x.org", "DATE": stamp}.items()
        }
        outside = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        run = subprocess.run(
            ["git", "-C", str(at or self.place(which)), *words],
            env={**outside, **person},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0 or not check, run
        return run.stdout

    def tick(self) -> None:
        """A second goes by."""
        self.now += timedelta(seconds=1)

    def write(
        self, which: int, section: str, text: str, overview: str | None = None, **rest
    ) -> str:
        """An entry; its id."""
        self.tick()
        if overview is not None:
            rest.setdefault("base_version", self.version(which, section))
        return self.notes[which].write(section, text, overview=overview, **rest).entry.id

    def version(self, which: int, section: str) -> str | None:
        """The version of a section's overview; None where there is none."""
        try:
            return self.notes[which].read_section(section).version
        except CommonplaceError:
            return None

    def hand(self, which: int, message: str, **files: str | None) -> str:
        """A commit by hand of files named by their sections, `__` for `/`; None removes one."""
        self.tick()
        for name, text in files.items():
            path = self.place(which) / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
            self.git(which, "add", "-A", "--", str(path))
        self.git(which, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
        return self.head(which)

    def sync(self, which: int, **rest):
        """What a sync of one clone came to."""
        self.tick()
        return self.syncing(which, **rest).run()

    def syncing(self, which: int, **rest) -> Sync:
        """A sync that has not begun."""
        notes = self.notes[which]
        settings = {"remote": "origin", "sleep": lambda _: None, **rest}
        return Sync(notes, **settings)

    def head(self, which: int) -> str:
        """The commit that a clone is at."""
        return self.git(which, "rev-parse", "HEAD").strip()

    def remote_head(self) -> str:
        """The commit that the remote is at."""
        return self.git(None, "rev-parse", "main", at=self.bare).strip()

    def entries(self, which: int) -> list[tuple[str, str]]:
        """Every entry of a clone, by section and summary, oldest first."""
        notes = self.notes[which]
        notes.ledger.catch_up()
        lines = [
            line for name in notes.ledger.tallies() for line in notes.list_entries(name, length=999)
        ]
        return [(x.section, x.summary) for x in sorted(lines, key=lambda x: (x.at, x.section))]

    def files(self, which: int) -> dict[str, str]:
        """What lies in a clone's folder, by section; git finds it clean."""
        assert self.git(which, "status", "--porcelain") == ""
        place = self.place(which)
        return {
            str(x.relative_to(place)).removesuffix(".md"): x.read_text()
            for x in place.rglob("*.md")
        }

    def states(self, which: int) -> dict[str, str]:
        """Every ref of a clone but those of a sync under way."""
        lines = self.git(which, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return {
            ref: name
            for ref, _, name in (line.partition(" ") for line in lines)
            if not ref.startswith(("refs/commonplace/fetched/", "refs/commonplace/sync/"))
        }

    def close(self) -> None:
        """Let go of the ledgers; git finds nothing wrong anywhere."""
        for notes in self.notes:
            notes.close()
        for place in (self.bare, *(self.place(n) for n in range(len(self.notes)))):
            assert self.git(None, "fsck", "--strict", "--no-dangling", at=place) == ""


def both(team: Team) -> None:
    """Sync until nobody has anything new."""
    for which in (0, 1, 0):
        team.sync(which)
    assert team.head(0) == team.head(1) == team.remote_head()
