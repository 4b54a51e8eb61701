"""ScratchFolders: held as long as their process lives, and nobody's from then on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.core.scratch import (
    ScratchFolders,
    clear_scratch_folders,
    find_scratch_folders,
    is_scratch_folder,
    scratch_folder,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing tells there who is alive")

HOLDING = """
import os, signal, sys
from pathlib import Path
from commonplace.core.scratch import ScratchFolders
with ScratchFolders(folder=Path(sys.argv[1])).beside(Path(sys.argv[2])) as scratch:
    (scratch / "entries.jsonl").write_text("a text")
    print(scratch, flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def scratch_folders(tmp_path):
    return ScratchFolders(folder=tmp_path / "home" / "staging")


@pytest.fixture
def holder(scratch_folders, elsewhere):
    """Another process that holds a scratch; it kills itself when its stdin ends."""
    command = [sys.executable, "-c", HOLDING, str(scratch_folders.folder), str(elsewhere)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        process.scratch = Path(process.stdout.readline().strip())
        yield process


def test_a_stage_lives_as_long_as_its_process(scratch_folders, elsewhere, holder):
    """While it lives nobody takes it, whatever its number is; killed, the next one removes it."""
    assert scratch_folders.each() == [holder.scratch]
    assert scratch_folders.clear() == find_scratch_folders(elsewhere) == []
    assert (holder.scratch / "entries.jsonl").exists()
    assert holder.scratch.stat().st_mode & 0o777 == 0o700
    holder.stdin.close()
    holder.wait()
    assert scratch_folders.find() == find_scratch_folders(elsewhere) == [holder.scratch]
    assert scratch_folders.clear() == [holder.scratch]
    assert [*elsewhere.iterdir()] == [*scratch_folders.folder.iterdir()] == []


def test_the_next_stage_beside_it_removes_it_too(scratch_folders, elsewhere, holder, tmp_path):
    """Of another home, which has no note of it; the note of the first goes at its next look."""
    holder.stdin.close()
    holder.wait()
    with scratch_folder(elsewhere) as scratch:
        assert [*elsewhere.iterdir()] == [scratch]
    assert scratch_folders.clear() == []
    assert [*scratch_folders.folder.iterdir()] == []


def test_our_own_is_not_taken_from_us(scratch_folders, elsewhere):
    """By another thread of this process, or by a scratch within a scratch."""
    with scratch_folders.inside() as outer, scratch_folders.beside(outer) as inner:
        assert scratch_folders.clear() == clear_scratch_folders(outer) == []
        assert inner.is_dir()
    assert [*scratch_folders.folder.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["notes", ".commonplace-stage-x", ".commonplace-stage-0123456789abcdef.bak"]
)
def test_what_is_not_ours_is_left(elsewhere, name):
    """Whatever its age."""
    (elsewhere / name).mkdir()
    os.utime(elsewhere / name, (0, 0))
    assert not is_scratch_folder(name)
    assert clear_scratch_folders(elsewhere) == []


def test_a_note_that_leads_elsewhere_removes_nothing(scratch_folders, elsewhere):
    """Only a folder with the name of a scratch is ever removed, and never through a link."""
    scratch_folders.folder.mkdir(parents=True)
    (elsewhere / "keep").mkdir()
    link = elsewhere / ".commonplace-stage-0123456789abcdef"
    link.symlink_to(elsewhere / "keep")
    for number, path in enumerate((elsewhere / "keep", elsewhere, link, "relative")):
        (scratch_folders.folder / f"{number}.beside").write_bytes(os.fsencode(path))
    assert scratch_folders.clear() == []
    assert (elsewhere / "keep").is_dir()
    assert link.is_symlink()
