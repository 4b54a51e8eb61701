"""The system tells what changed in folders, and where it would not, nobody is told that all is still."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading

import pytest

from commonplace.journals.private.watch import MOST_FOLDERS, FolderWatch

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a program of its folders"
)
NAMES = {"2026-11-20", "2026-11-21"}


@pytest.fixture
def root(tmp_path):
    """A folder with two subfolders, an entry in each."""
    root = tmp_path / "root"
    for name in NAMES:
        (root / name).mkdir(parents=True)
        (root / name / "entry.md").write_text("x")
    return root


@pytest.fixture
def watch(root):
    """A watch over it that trusts whatever disk the tests run on."""
    return trusting(root)


def trusting(root):
    """A watch that trusts the disk of this folder."""

    class Every(frozenset):
        def __contains__(self, _: object) -> bool:
            return True

    return FolderWatch(root, disks=Every())


def test_nothing_happened(watch, root):
    """Reading, and writing into a file that is there, change no folder."""
    token = watch.token(NAMES)
    assert token is not None
    (root / "2026-11-20" / "entry.md").read_text()
    (root / "2026-11-20" / "entry.md").write_text("y")
    assert watch.is_unchanged(token)
    assert watch.is_unchanged(token)


CHANGES = {
    "an entry came": lambda root: (root / "2026-11-20" / "new.md").write_text("x"),
    "an entry went": lambda root: (root / "2026-11-21" / "entry.md").unlink(),
    "an entry was renamed": lambda root: (root / "2026-11-21" / "entry.md").rename(
        root / "2026-11-21" / "other.md"
    ),
    "an entry was replaced": lambda root: (root / "2026-11-20" / "entry.md").replace(
        root / "2026-11-21" / "entry.md"
    ),
    "a folder came": lambda root: (root / "2026-11-22").mkdir(),
    "a folder went": lambda root: shutil.rmtree(root / "2026-11-20"),
    "a folder was renamed": lambda root: (root / "2026-11-20").rename(root / "2026-11-19"),
    "another process wrote": lambda root: subprocess.run(
        [sys.executable, "-c", "open('2026-11-20/theirs.md', 'w').close()"], cwd=root, check=True
    ),
    "all went": shutil.rmtree,
    "the whole was replaced by way of its parent": lambda root: (
        root.rename(root.with_name("old")),
        shutil.copytree(root.with_name("old"), root),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_happened_is_known_at_once(watch, root, change):
    """With no delay, and it stays known: the token never holds again."""
    token = watch.token(NAMES)
    change(root)
    assert not watch.is_unchanged(token)
    assert not watch.is_unchanged(token)


def test_a_parent_may_be_replaced(tmp_path):
    """A folder in whose parents another was put in place is another folder."""
    root = tmp_path / "home" / "root"
    root.mkdir(parents=True)
    watch = trusting(root)
    token = watch.token(set())
    (tmp_path / "home").rename(tmp_path / "old")
    root.mkdir(parents=True)
    assert not watch.is_unchanged(token)
    token = watch.token(set())
    (root / "2026-11-20").mkdir()
    assert not watch.is_unchanged(token)


def test_a_folder_made_again_is_watched_again(watch, root):
    """Its old name does not hide that nothing would be told of the new one."""
    watch.token(NAMES)
    shutil.rmtree(root / "2026-11-20")
    (root / "2026-11-20").mkdir()
    assert not watch.is_unchanged(watch.token(NAMES)), "what went before is not read yet"
    token = watch.token(NAMES)
    assert watch.is_unchanged(token)
    (root / "2026-11-20" / "entry.md").write_text("x")
    assert not watch.is_unchanged(token)


def test_what_one_thread_was_told_holds_for_all(watch, root):
    """Who reads it first leaves no other in the belief that nothing happened."""
    mine, theirs = watch.token(NAMES), watch.token(NAMES)
    (root / "2026-11-20" / "new.md").write_text("x")
    told = []
    thread = threading.Thread(target=lambda: told.append(watch.is_unchanged(theirs)))
    thread.start()
    thread.join()
    assert told == [False]
    assert not watch.is_unchanged(mine)


def test_a_folder_that_is_not_there_has_no_token(watch, tmp_path):
    """Neither the whole nor a part; once it is there it has one."""
    assert watch.token({*NAMES, "2026-11-22"}) is None
    assert watch.token(NAMES) is not None
    absent = trusting(tmp_path / "absent")
    assert absent.token(set()) is None
    (tmp_path / "absent").mkdir()
    assert absent.token(set()) is not None


def test_a_disk_that_others_write_to_has_no_token(root):
    """What another machine does there is told to nobody."""
    assert FolderWatch(root, disks=()).token(NAMES) is None


def test_too_many_folders_have_no_token(watch):
    """The system's watches are for all programs."""
    assert watch.token({f"{number}" for number in range(MOST_FOLDERS + 1)}) is None


def test_a_system_without_a_watch_left_is_asked_once(watch, monkeypatch):
    """All other programs may have taken them; the folders are looked at then."""
    asked = []

    def refused(*_: object) -> None:
        asked.append(1)
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("inotify_simple.INotify.add_watch", refused)
    assert watch.token(NAMES) is None
    assert watch.token(NAMES) is None
    assert asked == [1]


def test_a_link_in_a_folder_s_place_is_not_followed(watch, root, tmp_path):
    """A link is no subfolder; the mark of the journal leaves it out as well."""
    (root / "2026-11-22").symlink_to(tmp_path)
    assert watch.token({"2026-11-22"}) is None
