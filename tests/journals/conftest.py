"""A private journal and a notebook in folders of their own, and golden private entries."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.roots import resolve_roots

GOLDEN = Path(__file__).parent.parent / "golden" / "private-journal"
NOW = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)


@pytest.fixture
def golden() -> Path:
    """The folder of golden entries."""
    return GOLDEN


@pytest.fixture
def world(tmp_path):
    """A folder with a home and a project in it, and journals opened over them."""
    return World(tmp_path)


class World:
    """Folders of one user and one project; every journal opened here shares them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.keys = folder / "keys"
        self.known = folder / "known"
        self.copies = folder / "copies"
        self.temp = folder / "temp"
        for each in (self.home, self.project, self.temp):
            each.mkdir(exist_ok=True)
        self.user_root = self.home / ".private-journal"
        self.project_root = self.project / ".private-journal"
        self.now = NOW

    def open(self, *, zone=UTC, project: bool = True, micros=None, **settings: str):
        """A journal over these folders; micros: the last digits of file names, else 0, 1, 2."""
        count = itertools.count()
        roots = resolve_roots(
            home=self.home, project=self.project if project else None, temp=self.temp, **settings
        )
        return PrivateJournal(
            roots=roots,
            zone=zone,
            clock=lambda: self.now,
            keys=self.keys,
            known=self.known,
            copies=self.copies,
            home=self.home,
            trusted=self.keys.parent / "trusted-notes",
            random_micros=micros or (lambda: next(count) % 1000),
        )

    def put_golden(self, version: str) -> None:
        """Lay the golden folders of one version where their tool would have written them."""
        shutil.copytree(GOLDEN / version / "home" / "private-journal", self.user_root)
        shutil.copytree(GOLDEN / version / "proj" / "private-journal", self.project_root)

    def put(self, relative: str, content: bytes, *, root: Path | None = None) -> Path:
        """Lay one file into a root, by hand."""
        path = (root or self.user_root) / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def files(self) -> list[str]:
        """Every file below both roots but .gitignore, by its path below the world."""
        found = [x for root in (self.user_root, self.project_root) for x in root.rglob("*")]
        return sorted(
            str(x.relative_to(self.home.parent))
            for x in found
            if not x.is_dir() and x.name != ".gitignore"
        )


@pytest.fixture
def book(tmp_path):
    """A git notebook's folder; `git fsck` is clean after the test."""
    made = Book(tmp_path)
    yield made
    made.close()
    if (made.folder / ".git").exists() or (made.folder / "HEAD").exists():
        said = made.git("fsck", "--strict", "--no-dangling", check=False)
        assert (said.returncode, said.stdout) == (0, ""), said


class Book:
    """A folder with a notebook in it, and a person who uses plain git there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "notebook"
        self.now = NOW
        self._ledgers = folder / "ledgers"
        self._opened = []

    def open(self, folder: Path | None = None, **settings):
        """A notebook over this folder, or another; made if it is not there."""
        from commonplace.journals.notebook.journal import NotebookJournal

        settings = {"owner": "me", "zone": UTC, "clock": lambda: self.now, **settings}
        folder = folder or self.folder
        ledger = self._ledgers / f"{len(self._opened)}.db"
        self._opened.append(NotebookJournal(folder, **{"ledger": ledger, **settings}))
        self._opened[-1].init()
        return self._opened[-1]

    def git(self, *arguments: str, folder: Path | None = None, check: bool = True, **environ):
        """Run git as a person does, with his own name."""
        person = {f"GIT_{x}_{y}": z for x in ("AUTHOR", "COMMITTER") for y, z in _PERSON.items()}
        outside = {name: x for name, x in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", "-C", str(folder or self.folder), *arguments],
            env={**outside, **person, **environ},
            check=check,
            capture_output=True,
            text=True,
        )

    def commit(self, message: str, **files: str) -> str:
        """Commit files by hand, named by their sections with `__` for `/`; the hash."""
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.git("add", "--", str(path))
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
        return self.git("rev-parse", "HEAD").stdout.strip()

    def status(self) -> str:
        """What git says has changed in the folder."""
        return self.git("status", "--porcelain").stdout

    def close(self) -> None:
        """Close every notebook that was opened here."""
        while self._opened:
            self._opened.pop().close()


_PERSON = {"NAME": "Ann Example", "EMAIL": "ann@example.org"}
