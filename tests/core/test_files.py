"""Files are written whole or not at all, and what a disk refuses is told in our words."""

from __future__ import annotations

import errno
import os
import re
import threading

import pytest
from tests.cases import cases

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound, Unavailable
from commonplace.core.files import (
    LEFTOVER_AGE_S,
    is_leftover,
    is_locked,
    locked,
    make_folder,
    regular_file,
    remove_file,
    remove_leftovers,
    replace_file,
    translated,
    write_derived,
    write_new,
)

STEPS = ("open", "write", "fsync", "close", "link", "unlink", "chmod", "replace")


@pytest.fixture
def folder(tmp_path):
    """A folder with nothing else in it."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


class FailingDisk:
    """Lets the n-th step of a write fail with an errno; every other step is the system's own."""

    def __init__(self, monkeypatch, step: int, code: int, steps: tuple[str, ...] = STEPS) -> None:
        self.left = step
        for name in steps:
            monkeypatch.setattr(os, name, self._failing(getattr(os, name), code, name))

    def _failing(self, real, code, name):
        def call(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                if name == "close":
                    real(*args)
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call


def test_a_new_file_is_whole_and_private(folder):
    """The content arrives byte for byte, in a file of mode 0600, and nothing lies beside it."""
    write_new(folder / "a.md", b"one\r\n\0two", mode=0o600)
    assert (folder / "a.md").read_bytes() == b"one\r\n\0two"
    assert (folder / "a.md").stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["a.md"]


def test_a_taken_name_is_never_overwritten(folder):
    """FileExistsError tells that the name is taken; the file there stays as it was."""
    (folder / "a.md").write_bytes(b"first")
    with pytest.raises(FileExistsError):
        write_new(folder / "a.md", b"second")
    assert (folder / "a.md").read_bytes() == b"first"
    assert os.listdir(folder) == ["a.md"]


def test_a_dangling_link_is_a_taken_name(folder):
    """A symbolic link that leads nowhere is not written through."""
    (folder / "a.md").symlink_to(folder / "elsewhere")
    with pytest.raises(FileExistsError):
        write_new(folder / "a.md", b"text")
    assert not (folder / "elsewhere").exists()


def test_one_of_many_writers_wins_a_name(folder):
    """Eight threads write one name: one succeeds, and the file is its own."""
    won: list[int] = []
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        barrier.wait()
        try:
            write_new(folder / "a.md", f"writer {number}".encode() * 1000)
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (folder / "a.md").read_bytes() == f"writer {won[0]}".encode() * 1000
    assert os.listdir(folder) == ["a.md"]


@pytest.mark.parametrize("links", [None, errno.EPERM, errno.EOPNOTSUPP])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
def test_a_failing_step_leaves_nothing(folder, monkeypatch, code, links):
    """Whichever step of a new file fails, there is an error, no file and no temp; then it works."""
    step, errors = 0, []
    while True:
        step += 1
        with monkeypatch.context() as patch:
            if links is not None:
                patch.setattr(os, "link", _without_links(links))
            disk = FailingDisk(
                patch, step, code, tuple(x for x in STEPS if links is None or x != "link")
            )
            try:
                write_new(folder / "a.md", b"text" * 100)
            except CommonplaceError as exc:
                errors.append(exc)
                assert os.listdir(folder) == [], f"after step {step}"
        if disk.left > 0:
            break
        if os.listdir(folder):  # what failed came after the last step
            (folder / "a.md").unlink()
    assert step - 2 <= len(errors) <= step - 1
    assert step > 7
    assert all(str(folder / "a.md") in x.located and x.hint for x in errors)
    assert (folder / "a.md").read_bytes() == b"text" * 100
    assert os.listdir(folder) == ["a.md"]


def _without_links(code):
    def link(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return link


def test_without_hard_links_a_taken_name_still_stands(folder, monkeypatch):
    """On a filesystem that knows no hard links the name is reserved, and never written over."""
    monkeypatch.setattr(os, "link", _without_links(errno.EOPNOTSUPP))
    write_new(folder / "a.md", b"first")
    with pytest.raises(FileExistsError):
        write_new(folder / "a.md", b"second")
    assert (folder / "a.md").read_bytes() == b"first"
    assert os.listdir(folder) == ["a.md"]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "circle of links"])
def test_what_is_no_file_is_named_and_not_waited_for(folder, kind):
    """No end of a pipe, a device or a circle of links ever comes."""
    path = folder / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"device": "/dev/zero", "circle of links": "x"}[kind])
    with pytest.raises(Invalid, match=re.escape(str(path))), regular_file(path) as file:
        file.read()


def test_replacing_keeps_the_mode(folder):
    """The new content is under the name, with the mode the file had; a new file gets the default."""
    path = folder / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    replace_file(folder / "b.md", b"new")
    assert (folder / "b.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failing_replacement_leaves_one_whole_content(folder, monkeypatch, code):
    """Old or new is under the name after any failing step, and no temp is left."""
    path = folder / "a.md"
    step, errors = 0, []
    while True:
        step += 1
        path.write_bytes(b"old")
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, step, code)
            try:
                replace_file(path, b"new")
            except Unavailable as exc:
                errors.append(exc)
        if disk.left > 0:
            break
        assert path.read_bytes() in {b"old", b"new"}
        assert os.listdir(folder) == ["a.md"]
    assert step - 2 <= len(errors) <= step - 1
    assert step > 7
    assert all(str(path) in x.located for x in errors)
    assert path.read_bytes() == b"new"


def test_removing_tells_whether_there_was_a_file(folder):
    """True for a file that was there, False for one that was not."""
    (folder / "a").write_bytes(b"")
    assert remove_file(folder / "a") is True
    assert remove_file(folder / "a") is False


def test_folders_are_made_closed_to_others(folder):
    """Each missing folder gets mode 0700; one that is there keeps its own; twice is once."""
    (folder / "there").mkdir(mode=0o755)
    assert make_folder(folder / "there" / "a" / "b") is True
    assert make_folder(folder / "there" / "a" / "b") is False
    modes = [(folder / x).stat().st_mode & 0o777 for x in ("there", "there/a", "there/a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_file_in_the_way_of_a_folder_is_named(folder):
    """A file where a folder should be is an error that names the path."""
    (folder / "a").write_bytes(b"")
    with pytest.raises(Invalid, match=re.escape(str(folder / "a"))):
        make_folder(folder / "a")


def _while_written(folder, act):
    """Call this with the name of a temp while its write is under way; what it gives."""
    seen = []
    real = os.fsync

    def fsync(descriptor):
        if not seen:
            seen.extend([name := os.listdir(folder)[0], act(name)])
        return real(descriptor)

    os.fsync = fsync
    try:
        write_new(folder / "probe", b"whole")
    finally:
        os.fsync = real
    return seen[1]


@pytest.mark.skipif(os.name == "nt", reason="nothing tells there whether a writer is alive")
def test_leftovers_of_dead_writers_go(folder):
    """A temp that no process holds goes, whatever process has its number; others' stay."""
    kept, name = _while_written(folder, lambda name: (remove_leftovers(folder), name))
    assert kept == 0
    assert (folder / "probe").read_bytes() == b"whole"
    assert is_leftover(name)
    elsewhere = re.sub(r"^\.[0-9a-f]{8}-", ".00000000-", name)
    for each in (name, elsewhere, "notes.tmp", ".hidden.tmp"):
        (folder / each).write_bytes(b"half")
    assert remove_leftovers(folder) == 1
    assert sorted(os.listdir(folder)) == sorted([elsewhere, "notes.tmp", ".hidden.tmp", "probe"])


@pytest.mark.skipif(os.name == "nt", reason="nothing tells there whether a writer is alive")
def test_a_temp_that_is_taken_for_a_leftover_too_early_is_made_again(folder, monkeypatch):
    """Another process has its lock between its making and its maker's lock: the write is whole."""
    import fcntl

    real, calls = fcntl.flock, []

    def flock(descriptor, kind):
        calls.append(kind)
        if len(calls) == 1:
            (temp,) = folder.iterdir()
            temp.unlink()
        return real(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", flock)
    write_new(folder / "probe", b"whole")
    assert os.listdir(folder) == ["probe"]
    assert len(calls) == 2


def test_old_leftovers_go_whoever_left_them(folder):
    """After ten minutes a temp of another machine is nobody's."""
    path = folder / ".00000000-0123456789abcdef.tmp"
    path.write_bytes(b"half")
    now = path.stat().st_mtime
    os.utime(path, (now, now - LEFTOVER_AGE_S - 1))
    assert remove_leftovers(folder) == 1
    assert remove_leftovers(folder / "missing") == 0


@cases(
    ("code", "kind"),
    [
        (errno.ENOSPC, Unavailable),
        (errno.EDQUOT, Unavailable),
        (errno.EFBIG, Unavailable),
        (errno.EIO, Unavailable),
        (errno.ESTALE, Unavailable),
        (errno.EACCES, Denied),
        (errno.EPERM, Denied),
        (errno.EROFS, Denied),
        (errno.ELOOP, Denied),
        (errno.ENOENT, NotFound),
        (errno.ENAMETOOLONG, Invalid),
        (errno.ENOTDIR, Invalid),
        (errno.EISDIR, Invalid),
    ],
)
def test_what_a_disk_refuses_is_ours(code, kind):
    """Each refusal has its code, names the path, and says what to do."""
    with pytest.raises(kind, match="/journal/a") as caught, translated("/journal/a.md"):
        raise OSError(code, os.strerror(code))
    assert caught.value.hint[0].isupper()
    assert type(caught.value) is kind


def test_a_taken_name_passes_untranslated():
    """FileExistsError is an answer, not a fault."""
    with pytest.raises(FileExistsError), translated("/journal/a.md"):
        raise FileExistsError(errno.EEXIST, "exists")


def test_a_derived_file_is_whole_and_takes_no_name_that_is_taken(folder, monkeypatch):
    """It appears whole under its name, leaves no temp, and nobody waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("a derived file is not synced"))
    write_derived(folder / "a.embedding", b"{}", mode=0o600)
    with pytest.raises(FileExistsError):
        write_derived(folder / "a.embedding", b"other")
    assert [path.name for path in folder.iterdir()] == ["a.embedding"]
    assert (folder / "a.embedding").read_bytes() == b"{}"


def test_a_lock_holds_against_threads(folder):
    """Eight threads add to one number under the lock, and no addition is lost."""
    count = folder / "count"
    count.write_text("0")

    def add() -> None:
        for _ in range(25):
            with locked(folder):
                count.write_text(str(int(count.read_text()) + 1))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.read_text() == "200"


def test_a_process_forked_under_a_lock_keeps_it_from_nobody(folder):
    """It has the folder open as long as it lives, as a copy of the descriptor has."""
    with locked(folder) as descriptor:
        if descriptor is None:
            pytest.skip("No folder can be locked here.")
        copy = os.dup(descriptor)
    assert not is_locked(folder)
    os.close(copy)


def test_a_child_goes_on_under_the_lock_of_who_was_stopped(folder):
    """It has the descriptor: what it writes is not to be mixed with what another one does."""
    copies = []

    def stop_amid() -> None:
        with locked(folder) as descriptor:
            if descriptor is None:
                pytest.skip("No folder can be locked here.")
            copies.append(os.dup(descriptor))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_amid()
    assert is_locked(folder)
    os.close(copies.pop())
    assert not is_locked(folder)
