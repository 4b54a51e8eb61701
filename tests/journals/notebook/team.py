"""Two people with a clone each, and a bare repository where they meet; all on one disk.

What many tests begin with is played once a process, and its folders are copied for each of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.repositories import git

from commonplace.core.errors import CommonplaceError
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sync import Sync

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("Ann", "Bob", "Cyd")
START = datetime(2026, 11, 21, tzinfo=UTC)
# Of the remote, seen from a clone: so that copies of a team are alike.
ADDRESS = "../meeting.git"
COUNT = "<!-- entry count: {} -->\n"


class Team:
    """Clones of one bare repository; `git` is what a person does there, `notes` what we do.

    Args:
        folder: Where they lie.
        people: How many.
        after: What has been already: `diverged`, `clashing`, or what `having` gives. `ids` is what it returned.
    """

    def __init__(
        self, folder: Path, *, people: int = 2, after: Callable[[Team], list[str]] | None = None
    ) -> None:
        self.folder = folder
        self.bare = folder / "meeting.git"
        laid = _laid(people, after)
        for path, content in laid.files.items():
            if content is None:
                (folder / path).mkdir()
            else:
                (folder / path).write_bytes(content)
        self.now = laid.now
        self.ids = [*laid.ids]
        self.notes = [self.open(which) for which in range(people)]

    def place(self, which: int) -> Path:
        """The folder of one person's clone."""
        return self.folder / NAMES[which]

    def open(self, which: int, folder: Path | None = None, **settings) -> NotebookJournal:
        """A notebook over a clone, with a ledger of its own."""
        own = {
            "ledger": self.folder / f"{NAMES[which]}.db",
            "author": f"{NAMES[which]} <{NAMES[which].lower()}@example.org>",
            "auto_gc": False,
        }
        return NotebookJournal(
            folder or self.place(which),
            **{"owner": "me", "zone": UTC, "clock": lambda: self.now, **own, **settings},
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
        return self._tip(self.place(which) / ".git")

    def remote_head(self) -> str:
        """The commit that the remote is at."""
        return self._tip(self.bare)

    def entries(self, which: int) -> list[tuple[str, str]]:
        """Every entry of a clone, by section and summary, oldest first."""
        notes = self.notes[which]
        notes.ledger.catch_up()
        lines = [
            line
            for name in notes.ledger.section_counts()
            for line in notes.list_entries(name, length=999)
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

    def is_in_step(self, which: int) -> bool:
        """Whether a clone and the remote are at one commit, or both at none."""
        return self._tip(self.place(which) / ".git") == self._tip(self.bare)

    def _tip(self, folder: Path) -> str:
        """The commit that the HEAD of a repository is at, empty for none; a loose ref is read."""
        try:
            return (folder / (folder / "HEAD").read_text()[5:-1]).read_text().strip()
        except OSError:
            return self.git(None, "rev-parse", "-q", "--verify", "HEAD", at=folder, check=False)[
                :-1
            ]

    def check(self) -> None:
        """Git finds nothing wrong in any clone."""
        for which in range(len(self.notes)):
            assert self.git(which, "fsck", "--strict", "--no-dangling") == ""

    def close(self) -> None:
        """Let go of the ledgers; git finds nothing wrong where they meet."""
        for notes in self.notes:
            notes.close()
        assert self.git(None, "fsck", "--strict", "--no-dangling", at=self.bare) == ""


def both(team: Team) -> None:
    """Sync until nobody has anything new; who is where the remote is has nothing to sync."""
    for which in (0, 1, 0):
        if not team.is_in_step(which):
            team.sync(which)
    assert team.head(0) == team.head(1) == team.remote_head()


# What a team may begin with: played once a process, then laid from memory into each folder.

Entry = tuple[str, ...]
"""A section, a text, and its overview if it has one."""


def diverged(team: Team) -> list[str]:
    """Both changed one place of the overview of `a`: Bob synced, Ann has not yet."""
    team.write(0, "a", "x", "It is red.\n\nIt is round.")
    both(team)
    team.write(1, "a", "Bob", "It is blue.\n\nIt is round.")
    team.write(0, "a", "Ann", "It is green.\n\nIt is round.")
    team.write(0, "b", "Other", "Of its own.")
    team.sync(1)
    return []


def clashing(team: Team) -> list[str]:
    """So have they, and Ann synced too: she has her overview to settle with Bob's."""
    diverged(team)
    assert team.sync(0).conflicts == ("a",)
    return []


@cache
def having(*entries: Entry) -> Callable[[Team], list[str]]:
    """A beginning in which Ann wrote these entries, and both have them."""

    def play(team: Team) -> list[str]:
        ids = [team.write(0, *entry) for entry in entries]
        team.sync(0)
        team.notes[0].close()
        # Bob's is a copy of Ann's, as if he had taken over her machine: of equal clones each is.
        shutil.rmtree(team.place(1))
        shutil.copytree(team.place(0), team.place(1))
        shutil.copy(team.folder / "Ann.db", team.folder / "Bob.db")
        return ids

    return play


class _Laid(NamedTuple):
    """What lies in a folder by its path there, None for a folder; when that is; the ids."""

    files: dict[Path, bytes | None]
    now: datetime
    ids: list[str]


@cache
def _laid(people: int, after: Callable[[Team], list[str]] | None) -> _Laid:
    """What a team begins with: clones of a bare repository, and what was written there."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        now, ids = START, []
        if after is None:
            git(folder, "init", "-q", "--bare", "-b", "main", "--template=", folder / "meeting.git")
            for name in NAMES[:people]:
                git(folder, "init", "-q", "-b", "main", "--template=", folder / name)
                git(folder / name, "remote", "add", "origin", ADDRESS)
                (folder / name / ".git" / "info").mkdir()
        else:
            team = Team(folder, people=people)
            ids = after(team)
            now = team.now
            for notes in team.notes:
                notes.close()
        files = {
            path.relative_to(folder): None if path.is_dir() else path.read_bytes()
            for path in sorted(folder.rglob("*"))
        }
    return _Laid(files, now, ids)
