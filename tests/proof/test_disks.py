"""Disks that fail or are odd, under every journal's write: whole or an error, and never twice."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.proof.disk import Disk

from commonplace.core.files import is_leftover

FAULTS = ("ENOSPC", "EIO", "EDQUOT", "ESTALE")
SOME_FAULTS = ["ENOSPC", *(pytest.param(x, marks=pytest.mark.long) for x in FAULTS[1:])]
FAMILY = "faulty disks"
WHOLE = re.compile(
    r'---\ntitle: "[^"\n]+"\ndate: \S+Z\ntimestamp: \d+\n---\n\n## [A-Z][^\n]*\n\n[^\n]+\n'
)
WRITES = {
    "private": ("process_thoughts", {"feelings": "{}", "project_notes": "{}"}),
    "chronicle": ("add_entry", {"message": "{}"}),
    "notebook": ("journal_write", {"path": "notes", "entry": "{}"}),
    "timeline": ("timeline_add", {"content": "{}"}),
    "memory": ("memory_save", {"kind": "message", "role": "user", "text": "{}"}),
}
READS = {
    "private": ("read_recent_entries", {"limit": 50}),
    "chronicle": ("list_entries", {"limit": 50}),
    "notebook": ("journal_list_entries", {"path": "notes", "length": 50}),
    "timeline": ("timeline_range", {"when": "today", "level": "raw", "limit": 50}),
    "memory": ("memory_list", {"kind": "message", "limit": 50}),
}


class Place(Struct):
    """A home and a project on the disk, and what was asked of a process that works with them."""

    folder: Path
    child: subprocess.Popen[str]
    owner: str = "me"

    def ask(self, name: str, **arguments: object) -> dict[str, object]:
        """What a tool answers; it may refuse, and must not break."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps([str(self.folder), self.owner, name, arguments]) + "\n")
        self.child.stdin.flush()
        told: dict[str, object] = json.loads(self.child.stdout.readline())
        assert told.get("code") != "internal", told["text"]
        return told

    def write(self, journal: str, text: str) -> dict[str, object]:
        """Write an entry of this text, whose key is the text."""
        name, arguments = WRITES[journal]
        given = {field: value.format(text) for field, value in arguments.items()}
        return self.ask(name, **given, idempotency_key=text)

    def read(self, journal: str) -> str:
        """The latest entries of a journal, which must be read."""
        name, arguments = READS[journal]
        told = self.ask(name, **arguments)
        assert told["code"] == "", told["text"]
        return str(told["text"])

    def close(self) -> None:
        """Have the process let go of it, as its end would."""
        self.ask("close")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What lies on the disk."""
    made = tmp_path_factory.mktemp("disk")
    (made / "places").mkdir()
    return made / "places"


@pytest.fixture(scope="module")
def made_disk(folder):
    return Disk(folder, folder.with_name("plan"))


@pytest.fixture(scope="module")
def child(made_disk):
    with process(made_disk) as started:
        yield started


@pytest.fixture
def disk(made_disk):
    """The disk, well and like any other."""
    made_disk.be()
    return made_disk


@pytest.fixture
def place(folder, child):
    """Makes places on the disk, all used by one process."""

    def made() -> Place:
        place = Place(Path(tempfile.mkdtemp(dir=folder)), child)
        (place.folder / "home").mkdir()
        (place.folder / "project").mkdir()
        (place.folder / "project" / ".chronicle").write_text("local_logging = true\n")
        return place

    return made


@contextmanager
def process(disk):
    """A process that works with places on the disk."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.proof.disk_child"],
        cwd=Path(__file__).parents[2],
        env={**disk.env, "PATH": os.environ["PATH"], "HOME": "/nonexistent", "TZ": "UTC"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        yield child


def everything(place: Place, journal: str) -> list[str]:
    """The texts of a journal as its files hold them, each as often as they do."""
    data = place.folder / "home" / "data" / "users" / "me"
    match journal:
        case "private":
            files = [*place.folder.rglob(".private-journal/*/*.md")]
            return [path.read_text().rsplit("\n\n", 1)[-1].strip() for path in files]
        case "chronicle":
            return column(place.folder / "home" / "chronicle.db", "SELECT message FROM entries")
        case "notebook":
            log = ["git", "-C", str(data / "notebook"), "log", "--format=%s"]
            return subprocess.run(log, capture_output=True, text=True, check=True).stdout.split(
                "\n"
            )
        case "timeline":
            return column(data / "journal" / "journal.db", "SELECT content FROM journal_entries")
    return column(data / "memory" / "memory.db", "SELECT content FROM wb_message")


def column(path: Path, query: str) -> list[str]:
    with closing(sqlite3.connect(path)) as conn:
        return [text for (text,) in conn.execute(query)]


def check_whole(
    place: Place, journal: str, texts: list[str], *, may_leave_temps: bool = False
) -> None:
    """Each text is there once, is read by a process that comes anew, and nothing half is.

    may_leave_temps: where no file could be removed; they go once their process has ended.
    """
    place.close()
    assert texts[-1] in place.read(journal)
    place.close()
    counts = Counter(text for text in everything(place, journal) if text in texts)
    assert counts == dict.fromkeys(texts, 2 if journal == "private" else 1)
    for path in place.folder.rglob("*"):
        assert may_leave_temps or not is_leftover(path.name), path
        if path.suffix == ".md" and ".private-journal" in path.parts:
            assert WHOLE.fullmatch(path.read_text()), path
        if path.suffix == ".db":
            assert column(path, "PRAGMA integrity_check") == ["ok"], path
        if path.name == ".git":
            fsck = ["git", "-C", str(path.parent), "fsck", "--strict"]
            assert subprocess.run(fsck, capture_output=True, check=False).returncode == 0
    for log in place.folder.glob("project/logs/*.log"):
        lines = re.findall(r"entry-[a-z0-9-]+", log.read_text())
        assert len(lines) == len(set(lines)), log


def failed_at(disk: Disk, place: Place, journal: str, text: str, **how: object) -> str:
    """Write with a fault, then again without; the step that failed, empty if none did."""
    disk.fail(**how)
    told = place.write(journal, text)
    step = disk.lift()
    if told["code"]:
        assert step, told
        assert told["code"] in {"unavailable", "denied"}, (step, told)
    again = place.write(journal, text)
    assert again["code"] == "", (step, told, again)
    return step


def test_the_disk_is_as_it_is_told_to_be(disk, folder):
    """To a program that is no part of ours: else the others here would show nothing."""
    told = folder / "Told"
    told.write_text("")
    os.utime(told, ns=(0, 3_141_592_653))

    def run(program: str) -> str:
        code = f"import os; told = {str(told)!r}; {program}"
        env = {**os.environ, **disk.env}
        ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        return (ran.stdout or ran.stderr).strip().rpartition("\n")[2]

    disk.be(no_links="EPERM", coarse=True, ignores_case=True)
    assert run("print(os.stat(told).st_mtime_ns)") == "2000000000"
    assert run("print(os.path.exists(told.replace('Told', 'tOLD')))") == "True"
    assert "Errno 1]" in run("os.link(told, told + '2')")
    disk.be()
    assert run("print(os.path.exists(told.replace('Told', 'told')))") == "False"
    for program, kind in (
        ("os.open(told, os.O_WRONLY)", "open"),
        ("os.write(os.open(told, os.O_WRONLY), b'x')", "write"),
        ("os.fsync(os.open(told, os.O_WRONLY))", "fsync"),
        ("os.link(told, told + '2')", "link"),
        ("os.rename(told, told + '2')", "rename"),
        ("os.unlink(told)", "unlink"),
        ("os.mkdir(told + '3')", "mkdir"),
        ("os.truncate(os.open(told, os.O_WRONLY), 0)", "truncate"),
    ):
        disk.fail("ESTALE", kinds=kind)
        assert "Errno 116]" in run(program), program
        assert disk.lift().startswith(kind)


@pytest.mark.parametrize("journal", WRITES)
@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.long)])
def test_every_step_of_a_write_may_fail(disk, place, counted, journal, stride):
    """An error that says so, or an entry; written again with its key it is there, once."""
    here = place()
    here.write(journal, "entry-first")
    texts, met = ["entry-first"], Counter()
    faults, nth = cycle(FAULTS), 1
    while True:
        text = f"entry-{len(texts)}"
        step = failed_at(disk, here, journal, text, error=next(faults), nth=nth)
        texts.append(text)
        if not step:
            break
        met[step.split()[0]] += 1
        nth += stride
    assert met
    check_whole(here, journal, texts)
    counted(FAMILY, met.total())


@pytest.mark.parametrize("journal", WRITES)
@pytest.mark.parametrize(
    "stride",
    [67, pytest.param(19, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.whole)],
)
def test_every_step_of_the_first_write_may_fail(disk, place, counted, journal, stride):
    """Alone, or with all after it: folders, databases and a repository are made the next time."""
    faults, nth, step = cycle([(x, ever) for ever in (False, True) for x in FAULTS]), 1, "some"
    cases = 0
    while step:
        here = place()
        error, ever = next(faults)
        step = failed_at(disk, here, journal, "entry-first", error=error, nth=nth, ever=ever)
        check_whole(here, journal, ["entry-first"], may_leave_temps=ever)
        cases += bool(step)
        nth += stride
    counted(FAMILY, cases)


@pytest.mark.parametrize("fault", SOME_FAULTS)
def test_a_disk_that_fails_always_is_read(disk, place, counted, fault):
    """Nothing can be written: each write says so, and what was there is read and searched."""
    here = place()
    for journal in WRITES:
        here.write(journal, "entry-before")
    with disk.failing(fault, ever=True):
        for journal in WRITES:
            assert here.write(journal, "entry-after")["code"] in {"unavailable", "denied"}
            assert "entry-before" in here.read(journal)
        assert here.ask("recall", query="entry-before")["code"] == ""
    for journal in WRITES:
        here.write(journal, "entry-after")
        check_whole(here, journal, ["entry-before", "entry-after"])
    counted(FAMILY, len(WRITES))


@pytest.mark.parametrize("fault", SOME_FAULTS)
def test_an_index_that_cannot_be_written_costs_no_entry(disk, place, counted, fault):
    """The entry is recorded, and found once the index can be."""
    here = place()
    for journal in WRITES:
        here.write(journal, "entry-before")
    with disk.failing(fault, ever=True, only="/index/"):
        for journal in WRITES:
            told = here.write(journal, f"entry-{journal}")
            assert told["code"] == "", told
            assert f"entry-{journal}" in here.read(journal)
    for journal in WRITES:
        check_whole(here, journal, ["entry-before", f"entry-{journal}"])
        found = here.ask("recall", query=journal)["facts"]["results"]
        assert journal in {hit["journal"] for hit in found}
    counted(FAMILY, len(WRITES))


@pytest.mark.parametrize("refusal", ["EPERM", pytest.param("EOPNOTSUPP", marks=pytest.mark.long)])
def test_a_disk_without_links_is_written(disk, place, counted, refusal):
    """As exFAT and some shares are: each journal is, and each step may fail there as well."""
    disk.be(no_links=refusal)
    here = place()
    for journal in WRITES:
        assert here.write(journal, "entry-first")["code"] == ""
    texts = ["entry-first"]
    for kinds in ("open", "write", "fsync", "rename", "unlink", "rename unlink"):
        texts.append(f"entry-{len(texts)}")
        failed_at(
            disk, here, "private", texts[-1], error="EIO", kinds=kinds, ever=True, only="-journal/"
        )
    for journal in WRITES:
        known = texts if journal == "private" else texts[:1]
        check_whole(here, journal, known, may_leave_temps=True)
    counted(FAMILY, len(WRITES) + len(texts) - 1)


def test_times_of_two_seconds_hide_nothing(disk, place, counted):
    """As FAT has them: what one process writes another finds at once, however soon it looks."""
    disk.be(coarse=True)
    here = place()
    with process(disk) as child:
        other = replace(here, child=child)
        for number in range(3):
            for journal in WRITES:
                word = f"{journal}{'abc'[number]}"
                here.write(journal, word)
                assert word in other.read(journal)
                found = other.ask("recall", query=word)["facts"]["results"]
                assert journal in {hit["journal"] for hit in found}, word
    counted(FAMILY, 3 * len(WRITES))


def test_names_that_differ_in_case_are_not_mixed(disk, place, counted):
    """Where a disk takes them for one: owners have stores of their own, a section keeps its name."""
    disk.be(ignores_case=True)
    here = place()
    for journal in WRITES:
        assert here.write(journal, "entry-first")["code"] == ""
    one, other = (replace(here, owner=owner) for owner in ("Ann", "ann"))
    for owner in (one, other):
        assert owner.write("memory", f"entry-of-{owner.owner}")["code"] == ""
    assert "entry-of-ann" not in one.read("memory")
    assert "entry-of-Ann" not in other.read("memory")
    told = here.ask("journal_write", path="Notes", entry="entry-second")
    assert told["code"] in {"", "conflict", "invalid"}, told
    assert "entry-first" in here.read("notebook")
    if not told["code"]:
        assert "entry-second" in str(here.ask("journal_list_entries", path="Notes")["text"])
    for journal in WRITES:
        check_whole(here, journal, ["entry-first"])
    counted(FAMILY, len(WRITES) + 3)


@pytest.mark.parametrize("fault", ["EIO", "ESTALE"])
def test_a_database_whose_making_broke_off_opens_again(disk, place, counted, fault):
    """Its rollback journal lies there, as after a kill: what is half done is rolled back."""
    journals = ("chronicle", "timeline", "memory")
    for journal in journals:
        here = place()
        step = failed_at(
            disk, here, journal, "entry-first", error=fault, kinds="unlink", only=".db-journal"
        )
        assert step.endswith(".db-journal")
        check_whole(here, journal, ["entry-first"])
    counted(FAMILY, len(journals))
