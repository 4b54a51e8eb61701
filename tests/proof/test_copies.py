"""Deaths and full disks in export, import, backup, restore and forget: whole, or as before."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from typing import ClassVar

import pytest
from msgspec import Struct
from tests.proof.commands import Commands
from tests.proof.disk import Disk

from commonplace.verbs.backup.reading import open_backup

SECRET = "the spare key of the old bakery lies under the third blue flower pot"
FAULTS = [
    ("ENOSPC", 211),
    pytest.param(("EIO", 173), marks=pytest.mark.long),
    *(pytest.param((x, 5), marks=pytest.mark.whole) for x in ("ENOSPC", "EIO")),
]
FULL = "open write fsync mkdir link rename truncate"
"""A full disk still lets go of a file."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    (folder / "disk").mkdir()
    return Disk(folder / "disk", folder / "plan")


@pytest.fixture(scope="module")
def commands(disk, tmp_path_factory):
    weights = str(tmp_path_factory.mktemp("no weights"))
    started = Commands({**disk.env, "COMMONPLACE_ENCODER_FOLDER": weights})
    yield started
    started.close()


class Lived(Struct):
    """A memory that others are made from, and what an export of it holds."""

    folder: object
    backup: object
    export: object
    refs: dict


@pytest.fixture(scope="module")
def lived(commands, tmp_path_factory):
    """A memory with entries in each journal, one of each with words that are to be forgotten."""
    folder = tmp_path_factory.mktemp("lived")
    world = folder / "world"

    def ok(*words):
        ran = commands.run(world, *words)
        assert ran.code == 0, ran.err
        return ran.out

    def ref(*words):
        return json.loads(ok(*words, "--json"))["ref"]

    ok("log", "the first deploy")
    ok("private", "write", "Copies are not the thing.")
    ok("timeline", "add", "Read about tides.")
    ok("memory", "save", "todo", "Call the bank")
    ok("notebook", "write", "api/errors", "They come in twos.", "--overview", "# Errors\n\nTwo.")
    refs = {
        "chronicle": ref("log", SECRET),
        "timeline": ref("timeline", "add", SECRET + "."),
        "notebook": ref("notebook", "write", "door", SECRET),
    }
    ok("notebook", "write", "door", "It was painted.")
    ok("recall", "bakery")
    ok("backup", folder / "all.zip")
    ok("export", folder / "out")
    return Lived(folder=world, backup=folder / "all.zip", export=folder / "out", refs=refs)


@pytest.fixture
def world(disk, lived, tmp_path):
    """Makes worlds on the disk, as the lived one or empty."""
    root = disk.root
    numbers = iter(range(10**6))

    def made(*, empty: bool = False):
        folder = root / f"{tmp_path.name}-{next(numbers)}"
        if empty:
            (folder / "home").mkdir(parents=True)
            (folder / "project").mkdir()
        else:
            shutil.copytree(lived.folder, folder, symlinks=True)
        (folder / "to").mkdir()
        return folder

    return made


@pytest.fixture
def made(commands, lived, world):
    """Makes cases, each in a world of its own."""
    return lambda case: case(commands, lived, world(empty=case.empty))


def first_of(stride):
    """The first step that is hindered, which is no more than the half of any command's."""
    return min(stride // 3, 45) or 1


def content_of(folder):
    """Each file of a folder by its name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def words_of(content):
    """Whether bytes hold the text that is forgotten."""
    return SECRET.encode() in content


def said_clearly(ran):
    """An error that a person can act on: what is wrong, and no traceback."""
    assert ran.code in {1, 3, 4}, (ran.code, ran.err)
    assert "Traceback" not in ran.err, ran.err
    assert "nternal error" not in ran.err, ran.err
    assert ran.err.strip()


class Case(Struct):
    """A command that is hindered, and what must be true of it."""

    commands: Commands
    lived: Lived
    world: object

    empty: ClassVar[bool] = False
    """Whether its home is."""

    def run(self, *words):
        return self.commands.run(self.world, *words)

    def ok(self, *words):
        ran = self.run(*words)
        assert ran.code == 0, (words, ran.err)
        return ran.out

    @property
    def to(self):
        return self.world / "to"

    def exported(self):
        """What an export of the memory holds now."""
        shutil.rmtree(self.to / "check", ignore_errors=True)
        self.ok("export", self.to / "check")
        found = content_of(self.to / "check")
        shutil.rmtree(self.to / "check")
        return found


class Copy(Case):
    """Nothing is under the name, or all of it; the next one is whole, and nothing lies beside it."""

    name: ClassVar[str]
    command: ClassVar[str] = "export"

    @property
    def target(self):
        return self.to / self.name

    def begin(self):
        return self.run(self.command, self.target)

    def go_on(self):
        if self.target.exists():
            self.ended_well()
            (shutil.rmtree if self.target.is_dir() else os.unlink)(self.target)
        assert self.begin().code == 0
        self.ended_well()
        assert os.listdir(self.to) == [self.name]


class Export(Copy):
    """The same bytes as any other export of it."""

    name = "out"

    def ended_well(self):
        assert content_of(self.target) == content_of(self.lived.export)


class ExportZip(Copy):
    """As a zip too."""

    name = "out.zip"

    def ended_well(self):
        checked = self.run("import", self.target, "--dry-run")
        assert checked.code == 4, checked.err  # whole, and the journals hold entries


class Backup(Copy):
    """Every file that it should hold, each byte of it read."""

    name = "all.zip"
    command = "backup"

    def ended_well(self):
        held = []
        for path in (self.target, self.lived.backup):
            with open_backup(path) as backup:
                backup.check()
                held.append({each.name for each in backup.manifest.files})
        assert held[0] == held[1]


class Filling(Case):
    """An empty home is filled: the same command again ends the work, and every byte comes back."""

    empty: ClassVar[bool] = True

    def ended_well(self):
        assert self.exported() == content_of(self.lived.export)


class Restore(Filling):
    """Nothing is left beside the places either."""

    def begin(self):
        return self.run("restore", self.lived.backup)

    def go_on(self):
        ran = self.begin()
        assert ran.code == 0, ran.err
        self.ended_well()
        assert not [*self.world.rglob(".commonplace-stage-*")]


class Import(Filling):
    """Of an export."""

    def begin(self):
        return self.run("import", self.lived.export)

    def go_on(self):
        ran = self.begin()
        # All was written, and what noted that it was begun is gone.
        assert ran.code == 0 or "only into empty journals" in ran.err, ran.err
        self.ended_well()


class Forget(Case):
    """Killed, it is finished by the next one; what is not named stays, byte for byte."""

    journals = ("chronicle", "timeline")
    more = ()

    def begin(self):
        refs = [self.lived.refs[name] for name in self.journals]
        return self.run("forget", *refs, *self.more, "--yes")

    def ended_well(self):
        for name in self.journals:
            assert self.run("open", self.lived.refs[name]).code == 3
        there, before = self.exported(), content_of(self.lived.export)
        words = SECRET.encode()
        for name, content in before.items():
            if name.endswith("entries.jsonl") and not name.startswith("notebook/"):
                lines = content.splitlines(keepends=True)
                kept = [x for x in lines if words not in x or not name.startswith(self.journals)]
                assert there[name] == b"".join(kept), name

    def go_on(self):
        self.run("forget")  # goes on with what was begun; where nothing was, it says so
        refs = [self.lived.refs[name] for name in self.journals]
        left = [ref for ref in refs if self.run("open", ref).code == 0]
        if left:
            assert left == refs
            ran = self.run("forget", *left, *self.more, "--yes")
            assert ran.code == 0, ran.err + ran.out
        self.ended_well()


class ForgetHistory(Forget):
    """So with the notebook's history, which git then finds whole."""

    journals = ("notebook",)
    more = ("--rewrite-history", "--keep-days", "0")

    def ended_well(self):
        super().ended_well()
        (folder,) = {path.parent for path in self.world.rglob(".git")}
        git = ["git", "-C", str(folder)]
        fsck = subprocess.run([*git, "fsck", "--strict"], capture_output=True, text=True)
        assert fsck.returncode == 0, fsck.stderr
        status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True)
        assert status.stdout == ""
        names = ["cat-file", "--batch-all-objects", "--batch"]
        assert SECRET.encode() not in subprocess.run([*git, *names], capture_output=True).stdout
        assert "It was painted." in self.ok("notebook", "log", "door")


class ForgetAll(ForgetHistory):
    """So with an entry of each journal at once."""

    journals = ("chronicle", "timeline", "notebook")


CASES = [Export, ExportZip, Backup, Restore, Import, Forget, ForgetHistory]


@pytest.mark.parametrize(
    ("stride", "case"),
    [
        *((140, case) for case in (Backup, Restore, Forget)),
        *(pytest.param(131, case, marks=pytest.mark.long) for case in CASES),
        *(pytest.param(5, case, marks=pytest.mark.whole) for case in CASES),
    ],
)
def test_a_death_at_each_step(disk, made, counted, case, stride):
    """Killed with all that it started, before each step on the disk in turn."""
    nth, dead = first_of(stride), 0
    while True:
        this = made(case)
        disk.fail("kill", nth=nth)
        ran = this.begin()
        step = disk.lift()
        if not step:
            assert ran.code == 0, ran.err
            this.ended_well()
            break
        assert ran.code == -signal.SIGKILL, (step, ran)
        try:
            this.go_on()
        except AssertionError as exc:
            exc.add_note(f"killed at step {nth}: {step}")
            raise
        dead += 1
        nth += stride
    assert dead
    counted("a command that copies, restores or forgets, killed at each step", dead)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_is_full_from_each_step_on(disk, made, counted, case, fault):
    """It says so; nothing is under the final name, nothing is lost, and later all is done."""
    (error, stride), failed = fault, 0
    nth = first_of(stride)
    while True:
        this = made(case)
        disk.fail(error, nth=nth, ever=True, kinds=FULL)
        ran = this.begin()
        step = disk.lift()
        if not step:
            break
        try:
            if ran.code:
                said_clearly(ran)
            this.go_on()
        except AssertionError as exc:
            exc.add_note(f"{error} from step {nth} on: {step}: {ran.err}")
            raise
        failed += 1
        nth += stride
    assert failed
    counted("a command that copies, restores or forgets on a full disk", failed)


@pytest.mark.parametrize("case", [Export, ExportZip, Backup])
def test_two_processes_that_make_one_copy(disk, commands, made, case):
    """One of them makes it, whole; the other says that the name is taken."""
    disk.fail("")
    this = made(case)
    words = (this.command, this.target)
    both = commands.run_beside((this.world, *words), (this.world, *words))
    assert sorted(ran.code for ran in both) == [0, 4], both
    this.ended_well()
    assert os.listdir(this.to) == [this.name]


@pytest.mark.parametrize("case", [Restore, Import])
def test_two_processes_that_fill_one_home(disk, commands, lived, made, case):
    """One of them fills it, and what the other does or says harms nothing."""
    disk.fail("")
    this = made(case)
    source = ("restore", lived.backup) if case is Restore else ("import", lived.export)
    both = commands.run_beside((this.world, *source), (this.world, *source))
    for ran in both:
        if ran.code:
            said_clearly(ran)
    if all(ran.code for ran in both):
        assert this.begin().code == 0, both
    this.ended_well()


def test_two_processes_that_forget_one_entry(disk, commands, lived, made):
    """It goes once, with a proof each or the word that it is gone."""
    disk.fail("")
    this = made(Forget)
    words = ("forget", *(lived.refs[name] for name in this.journals), "--yes")
    both = commands.run_beside((this.world, *words), (this.world, *words))
    assert {ran.code for ran in both} <= {0, 3, 4}, both
    assert 0 in {ran.code for ran in both}, both
    this.ended_well()


def test_a_backup_and_an_export_while_entries_are_forgotten(disk, commands, lived, world):
    """Each is whole, and of each journal it holds the entry as it was, or nothing of it."""
    disk.fail("")
    this = ForgetAll(commands, lived, world())
    words = ("forget", *lived.refs.values(), *this.more, "--yes")
    copies = [("backup", this.to / "all.zip"), ("export", this.to / "out")]
    all_of_them = commands.run_beside(*((this.world, *each) for each in (words, *copies)))
    # What a database held before stays in it as long as another process reads it: this is said.
    assert all_of_them[0].code == 0 or "Still there: " in all_of_them[0].out, all_of_them
    assert [ran.code for ran in all_of_them[1:]] == [0, 0], all_of_them
    this.ended_well()
    this.ok("recall", "tides")
    assert not [x for x, text in content_of(this.world / "home").items() if words_of(text)]
    for name in lived.refs:
        lines = (this.to / "out" / name / "entries.jsonl").read_bytes().splitlines()
        assert sum(SECRET.encode() in line for line in lines) <= 1
    other = world(empty=True)
    assert commands.run(other, "restore", this.to / "all.zip").code == 0
    assert commands.run(other, "doctor").code in {0, 1}
    assert commands.run(other, "export", other / "to" / "out").code == 0
