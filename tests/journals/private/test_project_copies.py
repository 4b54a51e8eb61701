"""Each project's own notes have a copy in the home, which says what is gone and brings it back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest
from tests.journals.private.killing import KILL_BEFORE

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.values import Since
from commonplace.journals.private.source import sources_of

TEXT = "ochre zebrafinch"


def git(folder, *words):
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


@pytest.fixture
def journal(world):
    """A journal whose project is a repository with one file in it."""
    git(world.project, "init", "-q")
    (world.project / "a.txt").write_text("a")
    git(world.project, "add", "a.txt")
    git(world.project, "commit", "-qm", "one")
    return world.open()


def write(journal, *texts, days=0):
    """Write notes about the project, all on one day; their paths."""
    at = journal._clock() - timedelta(days=days)
    refs = [journal.write({"project_notes": x}, at=at).refs[0] for x in texts]
    return [journal.path_of(ref) for ref in refs]


def copied(world):
    """The texts that copies hold, by the paths of their notes below a root."""
    found = sorted(world.copies.glob("*/*/*.md"))
    return {str(x.relative_to(x.parent.parent)): x.read_text().split()[-1] for x in found}


def count_gone(journal):
    gone = journal.recovery.gone()
    return gone.count if gone else 0


def clean(world):
    git(world.project, "clean", "-fdxq")


def test_every_verb_keeps_the_copy(world, journal):
    """A write, an edit, a superseding note and a deletion are in the copy at once, 0600."""
    first, second = write(journal, "low", "high")
    assert [*copied(world).values()] == ["low", "high"]
    journal.edit(str(first), "## Project Notes\n\nebb")
    journal.supersede(str(second), "## Project Notes\n\nflood")
    assert sorted(copied(world).values()) == ["ebb", "flood", "high"]
    originals = {x.name: x.read_bytes() for x in world.project_root.glob("*/*.md")}
    assert {x.name: x.read_bytes() for x in world.copies.glob("*/*/*.md")} == originals
    journal.delete(str(first))
    assert sorted(copied(world).values()) == ["flood", "high"]
    modes = {x.stat().st_mode & 0o777 for x in world.copies.rglob("*") if x.is_file()}
    assert modes == {0o600}
    assert {x.stat().st_mode & 0o777 for x in world.copies.rglob("*") if x.is_dir()} == {0o700}


def test_the_user_s_own_journal_has_none(world):
    """Nor has a folder that serves as both."""
    world.open().write({"feelings": "F"})
    world.open(private_journal_path=str(world.home / "both")).write({"project_notes": "P"})
    assert copied(world) == {}


def test_a_folder_that_the_user_named_has_one(world):
    """Whether or not it is called as usual."""
    journal = world.open(journal_path=str(world.home / "named"))
    write(journal, "low", "high")
    shutil.rmtree(world.home / "named")
    assert count_gone(journal) == 2
    assert len(journal.recovery.bring_back()) == 2
    assert len([*(world.home / "named").glob("*/*.md")]) == 2


def test_what_a_clean_deleted_comes_back(world, journal):
    """To the byte, with its time of change, ignored by git, and once; then nothing is gone."""
    paths = write(journal, "low", "high") + write(journal, "neap", days=1)
    before = {x: (x.read_bytes(), x.stat().st_mtime_ns) for x in paths}
    clean(world)
    assert not world.project_root.exists()
    gone = journal.recovery.gone()
    assert (gone.count, gone.since) == (3, world.now)
    world.now += timedelta(hours=1)
    assert journal.recovery.gone() == gone
    assert len(journal.recovery.bring_back()) == 3
    assert {x: (x.read_bytes(), x.stat().st_mtime_ns) for x in paths} == before
    status = subprocess.run(
        ["git", "-C", world.project, "status", "--porcelain"], capture_output=True, check=True
    )
    assert status.stdout == b""
    assert (count_gone(journal), journal.recovery.bring_back()) == (0, [])


def test_what_is_not_wanted_back_is_forgotten(world, journal):
    """The copies of what is gone go, and of nothing else."""
    write(journal, "low", "high")
    clean(world)
    write(journal, "new")
    assert count_gone(journal) == 2
    journal.copies.forget(journal.recovery.gone_refs())
    assert [*copied(world).values()] == ["new"]
    assert (count_gone(journal), journal.recovery.gone_refs()) == (0, [])


def test_a_note_deleted_by_hand_leaves_the_copy(world, journal):
    """One that is missing while its folder is the one it was, whether or not one is left in it."""
    first, second, third = write(journal, "low", "high", "neap")
    for path, left in ((first, 2), (second, 1), (third, 0)):
        path.unlink()
        assert (count_gone(journal), len(copied(world))) == (0, left)


def test_several_that_are_missing_are_gone(world, journal):
    """So is one whose folder is missing, or another one under its name."""
    first, second, _ = write(journal, "low", "high", "neap")
    first.unlink()
    second.unlink()
    assert count_gone(journal) == 2
    (fourth,) = write(journal, "ebb", days=1)
    count_gone(journal)
    shutil.rmtree(fourth.parent)
    fourth.parent.mkdir()  # some disks give it the number of the one before
    assert count_gone(journal) == 3


def test_one_by_hand_beside_what_is_gone(world, journal):
    """It leaves the copy, and the others wait."""
    write(journal, "low", "high", days=1)
    clean(world)
    (path, _) = write(journal, "ebb", "flood")
    assert count_gone(journal) == 2
    path.unlink()
    assert (count_gone(journal), sorted(copied(world).values())) == (2, ["flood", "high", "low"])


def test_a_clean_that_leaves_a_tracked_note_of_the_day(world, journal):
    """The only other note of that folder is gone, not deleted by hand."""
    first, _ = write(journal, "low", "high")
    git(world.project, "add", "-f", str(first))
    clean(world)
    assert (first.exists(), count_gone(journal)) == (True, 1)


def test_what_comes_back_by_itself_is_not_gone(world, journal):
    """As from a checkout of the file system; what is written there by then stays."""
    paths = write(journal, "low", "high")
    shutil.move(world.project_root, world.temp / "away")
    assert count_gone(journal) == 2
    shutil.move(world.temp / "away", world.project_root)
    paths[0].write_text("## Project Notes\n\nebb\n")
    assert count_gone(journal) == 0
    assert sorted(copied(world).values()) == ["ebb", "high"]


def test_notes_of_another_program_are_copied_at_the_next_look(world, journal):
    """And what it edits in place at the next look at everything, as a sweep of the index is."""
    path = world.put(
        "2026-11-20/10-00-00-000001.md", b"## Project Notes\n\nlow\n", root=world.project_root
    )
    (source,) = [x for x in sources_of(journal) if "project" in x.name]
    assert len([*source.scan(Since(mark=None, stamps=lambda _: {}))]) == 1
    assert [*copied(world).values()] == ["low"]
    path.write_text("## Project Notes\n\nhigh\n")
    [*source.scan(Since(mark=None, stamps=lambda _: {}))]
    assert [*copied(world).values()] == ["high"]


def test_a_look_after_a_write_writes_nothing(world, journal):
    """Though the day is not young any more; what another program wrote on it is copied all the same."""
    (path,) = write(journal, "low")
    (record,) = world.copies.glob("*/copy.json")
    before = record.stat().st_ino, record.read_bytes()
    os.utime(path.parent, (0, 0))
    assert count_gone(journal) == 0
    assert (record.stat().st_ino, record.read_bytes()) == before
    path.with_name("x.md").write_text("high")
    os.utime(path.parent, (1, 1))
    assert count_gone(journal) == 0
    assert sorted(copied(world).values()) == ["high", "low"]


def test_a_search_notices_what_is_gone(world, journal):
    """Its scan looks; nobody else has to."""
    write(journal, "low", "high")
    (source,) = [x for x in sources_of(journal) if "project" in x.name]
    mark = source.mark()
    clean(world)
    assert source.mark() != mark
    [*source.scan(Since(mark=mark, stamps=lambda _: {}))]
    assert journal.copies.gone(journal.roots, looks=False).count == 2


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("index", [["add", "-f"]]),
        ("HEAD", [["add", "-f"], ["commit", "-qm", "two"], ["rm", "-q", "--cached"]]),
    ],
)
def test_what_git_holds_has_no_copy(world, journal, stage, words):
    """It is the repository's word: put there by anybody, in the index or in HEAD."""
    path = world.put("2026-11-20/x.md", stage.encode(), root=world.project_root)
    (own,) = write(journal, "own")
    for each in words:
        git(world.project, *each, *([] if each[0] == "commit" else [str(path)]))
    journal.recovery.copy_all()
    assert [*copied(world).values()] == ["own"]
    # Nor once it is written to, and one that git comes to hold has none any more.
    journal.edit(str(path), "changed")
    git(world.project, "add", "-f", str(own))
    journal.recovery.copy_all()
    assert copied(world) == {}


def test_another_branch_takes_no_note_away(world, journal):
    """Notes that a branch holds are not gone when another one is checked out."""
    paths = write(journal, "low", "high")
    count_gone(journal)
    git(world.project, "switch", "-qc", "notes")
    git(world.project, "add", "-f", *map(str, paths))
    git(world.project, "commit", "-qm", "two")
    git(world.project, "switch", "-q", "-")
    assert not paths[0].exists()
    assert (count_gone(journal), copied(world)) == (0, {})


def test_a_project_that_was_moved_takes_its_copy_along(world, journal):
    """Within a disk or by copying: nothing is gone, and a deletion there leaves no copy anywhere."""
    write(journal, TEXT, "high")
    shutil.copytree(world.project, world.home / "new")
    shutil.rmtree(world.project)
    world.project = world.home / "new"
    moved = world.open()
    assert count_gone(moved) == 0
    assert len([*world.copies.glob("*")]) == 1
    refs = [x.ref for x in moved.list_entries(limit=9) if TEXT in x.text]
    moved.delete(refs[0])
    assert holders(world) == []


def holders(world):
    return [
        x
        for x in world.home.parent.rglob("*")
        if x.is_file() and TEXT.split()[1].encode() in x.read_bytes()
    ]


def test_a_deletion_in_a_moved_project_that_nobody_looked_at(world, journal):
    """It takes the copy of the former place as well."""
    (path,) = write(journal, TEXT)
    shutil.move(world.project, world.home / "new")
    world.project = world.home / "new"
    moved = world.open()
    moved.delete(str(world.home / "new" / path.relative_to(path.parents[2])))
    assert holders(world) == []


def test_a_project_that_is_away_has_lost_nothing(world, journal):
    """Its folder is missing, or an empty one stands in its place, as where a disk is taken out."""
    paths = write(journal, "low", "high")
    before = copied(world)
    shutil.move(world.project, world.temp / "away")
    assert (count_gone(journal), copied(world)) == (0, before)
    world.project.mkdir()
    assert (count_gone(journal), copied(world)) == (0, before)
    world.project.rmdir()
    shutil.move(world.temp / "away", world.project)
    assert (count_gone(journal), copied(world), paths[0].exists()) == (0, before, True)


def test_another_clone_in_its_place_has_lost_its_notes(world, journal):
    """The project is there and its notes are not."""
    write(journal, "low", "high")
    shutil.move(world.project, world.temp / "away")
    git(world.home.parent, "clone", "-q", str(world.temp / "away"), str(world.project))
    assert count_gone(journal) == 2


def test_two_clones_keep_apart(world, journal):
    """Each has a copy of its own notes, and a deletion in one is none in the other."""
    write(journal, "low", "high")
    git(world.home.parent, "clone", "-q", str(world.project), str(world.home / "clone"))
    first, world.project = world.project, world.home / "clone"
    other = world.open()
    (path,) = write(other, "neap")
    clean(world)
    assert (count_gone(other), count_gone(journal)) == (1, 0)
    other.copies.forget(other.recovery.gone_refs())
    assert sorted(copied(world).values()) == ["high", "low"]
    assert (first / ".private-journal").exists()
    assert not path.exists()


def test_what_is_forgotten_while_its_project_is_away(world, journal):
    """The copy of a ref goes, wherever its note is."""
    ref = journal.write({"project_notes": TEXT}).refs[0]
    shutil.move(world.project, world.temp / "away")
    journal.copies.forget([ref, "private:user/2026-11-21/x", "private:project@00000000/../x"])
    shutil.rmtree(world.temp / "away")
    assert holders(world) == []


def test_a_link_in_the_way_is_not_followed(world, journal):
    """Neither to copy what it leads to, nor to write what is gone."""
    write(journal, "low", "high")
    shutil.rmtree(world.project_root)
    assert count_gone(journal) == 2
    away = world.temp / "away"
    (away / "2026-11-20").mkdir(parents=True)
    (away / "2026-11-20" / "x.md").write_text("neap")
    os.symlink(away, world.project_root)
    with pytest.raises(Denied, match="symbolic link"):
        journal.recovery.bring_back()
    assert [x.name for x in away.rglob("*.md")] == ["x.md"]
    assert sorted(copied(world).values()) == ["high", "low"]


@pytest.mark.parametrize(
    "record",
    [b"", b"{", b"[]", b'{"path": 1}', json.dumps({"path": "/", "mount": "/"}).encode(), b"\xff"],
)
def test_a_damaged_record_loses_nothing(world, journal, record):
    """What it said is found again, and what is gone is still known to be."""
    write(journal, "low", "high")
    (file,) = world.copies.glob("*/copy.json")
    file.write_bytes(record)
    assert (count_gone(journal), len(copied(world))) == (0, 2)
    file.write_bytes(record)
    clean(world)
    assert count_gone(journal) == 2
    assert len(journal.recovery.bring_back()) == 2


def test_a_copy_that_cannot_be_written_stops_no_write(world, journal):
    """The note is whole, and is copied at the first look that can."""
    world.copies.write_text("in the way")
    (path,) = write(journal, "low")
    assert (path.exists(), count_gone(journal)) == (True, 0)
    assert "no copy in the home" in journal.recovery.troubles()[0]
    world.copies.unlink()
    assert journal.recovery.troubles() == []
    assert [*copied(world).values()] == ["low"]


@pytest.mark.parametrize("verb", ["delete", "edit"])
def test_what_another_process_does_to_a_note_before_it_is_copied(world, journal, monkeypatch, verb):
    """The copy has what is there then: nothing, or the new text."""
    write(journal, "low")
    keep = journal.copies.keep

    def keep_late(place, *written):
        other = world.open()
        if verb == "delete":
            other.delete(place.ref)
        else:
            other.edit(place.ref, "## Project Notes\n\nebb")
        keep(place, *written)

    monkeypatch.setattr(journal.copies, "keep", keep_late)
    write(journal, "high")
    originals = {x.name: x.read_bytes() for x in world.project_root.glob("*/*.md")}
    assert {x.name: x.read_bytes() for x in world.copies.glob("*/*/*.md")} == originals


def test_a_note_that_is_too_large_for_a_copy_is_written(world, journal, monkeypatch):
    """As one of another program is passed over by a look."""
    monkeypatch.setattr("commonplace.journals.private.project_copies.LARGEST_FILE", 300)
    write(journal, "low", "x" * 300)
    assert len([*world.project_root.glob("*/*.md")]) == 2
    assert [*copied(world).values()] == ["low"]


def test_a_note_whose_copy_cannot_be_removed_stays_whole(world, journal):
    """Else a text that was to go would be left, and nobody told."""
    (path,) = write(journal, "low")
    (copy,) = world.copies.glob("*/*/*.md")
    copy.unlink()
    copy.mkdir()
    for change in (journal.delete, lambda ref: journal.edit(ref, "high")):
        with pytest.raises(CommonplaceError):
            change(str(path))
        assert path.read_text().split()[-1] == "low"


KILLED = (
    KILL_BEFORE
    + """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.roots import resolve_roots

STEPS = ("open", "write", "fsync", "link", "unlink", "mkdir", "replace", "rmdir", "utime")
now = datetime(2026, 11, 21, 23, 19, 45, 15000, tzinfo=UTC)

def opened(folder):
    roots = resolve_roots(home=folder / "home", project=folder / "project", temp=folder)
    return PrivateJournal(roots=roots, zone=UTC, clock=lambda: now, keys=folder / "keys",
                          copies=folder / "copies", random_micros=lambda: os.urandom(1)[0])

def act(journal, verb, ref):
    if verb == "write":
        journal.write({"project_notes": "new"})
    elif verb == "edit":
        journal.edit(ref, "## Project Notes\\n\\nnew\\n")
    elif verb == "delete":
        journal.delete(ref)
    elif verb == "look":
        journal.recovery.gone()
    else:
        journal.recovery.bring_back()

base, verb = sys.argv[1:]
for step in itertools.count(1):
    folder = Path(base) / str(step)
    for name in ("home", "project"):
        (folder / name).mkdir(parents=True)
    journal = opened(folder)
    refs = [journal.write({"project_notes": x}).refs[0] for x in ("one", "two", "three")]
    journal.recovery.gone()
    if verb in ("look", "recover"):
        os.system(f"rm -r {folder}/project/.private-journal")
    child = os.fork()
    if child == 0:
        kill_before(step, STEPS)
        act(opened(folder), verb, refs[0])
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
print(step)
"""
)


@pytest.mark.parametrize("verb", ["write", "edit", "delete", "look", "recover"])
def test_killed_at_any_step(tmp_path, counted, verb):
    """The next look has the copy as the notes are, and finds gone just what is; none comes back."""
    script = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), verb], capture_output=True, text=True
    )
    assert script.returncode == 0, script.stderr
    steps = int(script.stdout)
    assert steps > 5
    for step in range(1, steps):
        _check_after_a_kill(tmp_path / str(step), verb)
    counted("notes of a project and their copies, killed at each step", steps - 1)


def _check_after_a_kill(folder, verb):
    from tests.journals.conftest import World

    world = World(folder)
    journal = world.open()
    gone = count_gone(journal)
    notes = {x.name: x.read_text() for x in world.project_root.glob("*/*.md")}
    copies = {x.name: x.read_text() for x in world.copies.glob("*/*/*.md")}
    if verb in {"look", "recover"}:
        assert len(notes) + gone == len(copies) == 3
        journal.recovery.bring_back()
        assert len([*world.project_root.glob("*/*.md")]) == 3
    else:
        assert (copies, gone) == (notes, 0)
        assert journal.recovery.bring_back() == []
    assert [*world.copies.rglob(".*.tmp")] == []


def test_two_processes_write_delete_and_look_at_once(tmp_path):
    """The copy is what the notes are in the end, and nothing counts as gone meanwhile."""
    from tests.journals.conftest import World

    script = (
        KILLED.split("base, verb", maxsplit=1)[0]
        + """
folder, seed = Path(sys.argv[1]), int(sys.argv[2])
journal = opened(folder)
for turn in range(25):
    refs = journal.write({"project_notes": f"{seed} {turn}"}).refs
    if turn % 3 == 0:
        journal.delete(refs[0])
    gone = journal.recovery.gone()
    assert gone is None, gone
"""
    )
    world = World(tmp_path)
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(seed)])
        for seed in range(2)
    ]
    assert [child.wait() for child in children] == [0, 0]
    journal = world.open()
    assert count_gone(journal) == 0
    notes = {x.name: x.read_text() for x in world.project_root.glob("*/*.md")}
    assert {x.name: x.read_text() for x in world.copies.glob("*/*/*.md")} == notes
    assert len(notes) == 2 * 16
