"""Repositories of strangers: whatever one brings along, private text stays private, and we say why."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.proof.strangers import CASES, SECRET, THEIRS

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError, Denied
from commonplace.doors.doctor.checks import Doctor
from commonplace_testing import FrozenClock

pytestmark = pytest.mark.usefixtures("no_weights")

FAMILY = "hostile repositories"
QUIET = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
PLANTED = (
    *("commonplace", "json", "yaml", "numpy", "sitecustomize", "usercustomize", "click", "mcp"),
    *("sqlite3", "anyio", "pydantic", "tzlocal", "platformdirs", "onnxruntime", "_json", "site"),
)


class Stranger:
    """A repository that somebody else wrote, and what lies around it on the user's machine."""

    def __init__(self, folder: Path) -> None:
        self.world = folder
        self.home = folder / "home"
        self.outside = folder / "outside"
        self.other = folder / "other"
        self.shared = folder / "shared"
        self.folder = self.shared / "clone"
        self.trap = folder / "trap.sh"
        self.sprung = folder / "sprung"
        self.clock = FrozenClock(utc_now())  # no midnight comes between what is laid and used
        self.today = f"{self.clock():%Y-%m-%d}"
        for each in (self.outside, self.folder, self.home / ".private-journal"):
            each.mkdir(parents=True, exist_ok=True)
        self.put(self.outside / "2026-01-02" / "10-00-00-000000.md", f"## Feelings\n\n{THEIRS}\n")
        self.put(
            self.other / ".private-journal/2026-01-02/10-00-00-000000.md",
            f"## Project Notes\n\n{THEIRS}\n",
        )
        self.trap.write_text(f"#!/bin/sh\ntouch {self.sprung}\n")
        self.trap.chmod(0o755)
        self.git("init", "-q")
        self.put("README.md", "A harmless project.\n")

    def git(self, *words: str) -> str:
        """What the user's git says, with no program that the repository's configuration names."""
        safe = ["-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"]
        safe += ["-c", f"core.attributesFile={os.devnull}"]
        return subprocess.run(
            ["git", "-C", self.folder, *safe, "-c", "user.name=a", "-c", "user.email=a@b", *words],
            env={**os.environ, **QUIET},
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
        ).stdout

    def put(self, name: str | Path, text: str) -> None:
        """Write a file of the repository, or one of the machine by its whole path."""
        path = self.folder / self.named(str(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.named(text))

    def link(self, name: str, target: str) -> None:
        """Lay a symbolic link."""
        path = self.folder / self.named(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.named(target))

    def append(self, name: str, text: str) -> None:
        """Add to a file that is there."""
        path = self.folder / name
        path.write_text(path.read_text() + self.named(text))

    def remove(self, name: str) -> None:
        """Take a file away."""
        (self.folder / name).unlink()

    def odd(self, name: str, kind: str) -> None:
        """Lay what is neither a file nor a folder, or a file without end."""
        path = self.folder / self.named(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "folder":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
            case "socket":
                here = os.getcwd()
                os.chdir(path.parent)  # the name of a socket may have about 100 characters
                with socket.socket(socket.AF_UNIX) as made:
                    made.bind(path.name)
                os.chdir(here)
            case "huge":
                path.touch()
                os.truncate(path, 40 << 20)
            case "closed":
                path.write_text("toolsets = 'all'\n")
                path.chmod(0)
            case "another user's":
                os.chown(path, 65_534, 65_534)

    def named(self, text: str) -> str:
        """A text with the places of this machine filled in."""
        places = {
            "{outside}": self.outside,
            "{other}": self.other,
            "{home}": self.home,
            "{trap}": self.trap,
            "{shared}": self.shared,
            "{today}": self.today,
        }
        for name, place in places.items():
            text = text.replace(name, str(place))
        return text

    @contextmanager
    def opened(self):
        """What a command or a server works with there."""
        settings = read_settings(cwd=self.folder, home=self.home)
        app = App(settings, user_home=self.home, clock=self.clock)
        try:
            yield app
        finally:
            app.close()

    def used(self) -> str:
        """All that a day of use answers: written, searched, listed, recalled, checked, repaired."""
        said: list[str] = []

        def tell(run):
            try:
                said.append(run())
            except CommonplaceError as exc:
                said.append(str(exc))

        def call(toolset, name, **arguments):
            tell(lambda: toolset.tool(name).call(arguments).text)

        try:
            with self.opened() as app:
                private = app.private.toolset()
                for _ in range(2):
                    call(private, "process_thoughts", project_notes=SECRET)
                    call(private, "process_thoughts", feelings=SECRET, project_notes=SECRET)
                    call(app.chronicle.toolset(), "add_entry", message=SECRET)
                    call(private, "search_journal", query=THEIRS, type="project")
                call(private, "list_recent_entries", days=36_500)
                call(private, "read_recent_entries")
                call(app.recall.toolset(), "recall", query=THEIRS)
                checkup = Doctor(app)
                report = checkup.examine()
                said += [f"{problem.what} {problem.hint}" for _, problem in report.problems]
                said += [note for _, note in report.notes]
                mended = checkup.repair()
                said += [done for _, done in mended.done]
        except CommonplaceError as exc:
            said.append(f"{exc}")
        return "\n".join(said)

    def files(self) -> dict[str, tuple[int, int]]:
        """Every file of the machine but those of the home and git's own, with size and time."""
        found = {}
        for folder, folders, names in os.walk(self.world):
            inner = Path(folder)
            folders[:] = [
                x for x in folders if inner / x not in {self.home, self.world / "no weights"}
            ]
            for name in names:
                state = os.lstat(inner / name)
                found[str(inner / name)] = (state.st_size, state.st_mtime_ns)
        return found


@pytest.fixture
def stranger(tmp_path):
    """A repository of a stranger, with nothing hostile in it so far."""
    return Stranger(tmp_path)


def check_laws(stranger: Stranger, before: dict[str, tuple[int, int]]) -> None:
    """Nothing ran, nothing was written elsewhere, and git adds nothing of the user's."""
    assert not stranger.sprung.exists(), "a program of the repository was run"
    after = stranger.files()
    gits = str(stranger.folder / ".git" / "info" / "exclude")
    roots = tuple(f"{stranger.folder}/{name}/" for name in (".private-journal", "notes", "a [b]"))
    elsewhere = [
        name
        for name in after
        if after[name] != before.get(name) and name != gits and not name.startswith(roots)
    ]
    assert elsewhere == []
    for name in after:
        if not name.startswith(roots) and stat_is_small_file(name):
            assert SECRET.encode() not in Path(name).read_bytes(), name
    stranger.git("add", "-A", "--ignore-errors")
    added = stranger.git("diff", "--cached", "--name-only", "--diff-filter=AM").splitlines()
    trees = (stranger.folder, stranger.outside)
    assert [x for x in added if not any(str(tree / x) in before for tree in trees)] == []
    assert SECRET not in stranger.git("diff", "--cached")


def stat_is_small_file(name: str) -> bool:
    found = os.lstat(name)
    return os.path.isfile(name) and not os.path.islink(name) and found.st_size < 1 << 20


@pytest.mark.parametrize("case", [pytest.param(x, id=x.name, marks=x.marks) for x in CASES])
def test_private_text_stays_private(stranger, case, counted, plain_permissions):
    """Written, searched and repaired there: the laws hold, and the answers name what was refused."""
    if case.needs_root and os.geteuid() != 0:
        pytest.skip("Only root can give a file to another user.")
    for step, *words in case.lay:
        if step != "after":
            getattr(stranger, step)(*words)
    stranger.git("add", "-A")
    stranger.git("commit", "-q", "-m", "as it was published")
    for step, *words in case.lay:
        if step == "after":  # what git does not carry: an archive does, or another user
            getattr(stranger, words[0])(*words[1:])
    before = stranger.files()
    with plain_permissions():
        said = stranger.used()
    assert stranger.named(case.says) in said, said
    assert "Internal error" not in said
    if not case.reads:
        assert THEIRS not in said
    check_laws(stranger, before)
    counted(FAMILY, 1)


@pytest.mark.parametrize(
    "rounds",
    [6, pytest.param(30, marks=pytest.mark.long), pytest.param(150, marks=pytest.mark.whole)],
)
def test_no_ignore_rules_get_a_note_into_git(tmp_path, rounds, counted):
    """Random rules in random places: whatever is written, git adds nothing of it."""
    chance = random.Random(rounds)
    rules = ["*", "!*", "!*/", "!*.md", "!*.embedding", "!.private-journal/", "!/.private-journal"]
    rules += [
        "!.private-journal/**",
        "**",
        "!**/*",
        "# x",
        "",
        "!.gitignore",
        "*.md",
        "!20*",
        "*\\",
    ]
    refused = 0
    for number in range(rounds):
        stranger = Stranger(tmp_path / str(number))
        stranger.put(".private-journal/2026-01-03/10-00-00-000000.md", "published\n")
        places = [".gitignore", ".private-journal/.gitignore"]
        places += [f".private-journal/{stranger.today}/.gitignore"] * (number % 3 == 0)
        places += [".git/info/exclude"] * (number % 4 == 0)
        laid = {}
        for place in places:
            lines = [chance.choice(rules) for _ in range(chance.randrange(5))]
            laid[place] = chance.choice(["\n", "\r\n"]).join(lines) + "\n"
            stranger.put(place, laid[place])
        stranger.git("add", "-A", "-f")
        stranger.git("commit", "-q", "-m", "as it was published")
        with stranger.opened() as app:
            journal = app.private.journal
            for at in (None, stranger.clock()):
                try:
                    journal.write({"project_notes": SECRET}, at=at)
                except Denied:  # a day that takes itself back
                    refused += 1
        stranger.git("add", "-A")
        assert SECRET not in stranger.git("diff", "--cached"), laid
    assert refused < rounds
    counted(FAMILY, rounds)


@pytest.mark.parametrize("way", ["command", "-m", pytest.param("-P -m", marks=pytest.mark.long)])
def test_no_planted_module_is_imported(stranger, way, counted):
    """A module of any name in the folder where a client starts the server, or a person a command."""
    planted = [name for name in PLANTED if way != "-m" or name != "commonplace"]
    for name in planted:
        stranger.put(
            f"{name}.py", f"open({str(stranger.sprung)!r}, 'w').close()\nraise SystemExit(9)\n"
        )
    stranger.put("numpy/__init__.py", f"open({str(stranger.sprung)!r}, 'w').close()\n")
    script = Path(sys.executable).parent / "commonplace"
    command = [script] if way == "command" else [sys.executable, *way.split(), "commonplace"]
    done = subprocess.run(
        [*command, "private", "search", "x"], cwd=stranger.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not stranger.sprung.exists()
    counted(FAMILY, len(planted))
