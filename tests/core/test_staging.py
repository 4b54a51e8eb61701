"""Stages: held as long as their process lives, and nobody's from then on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.core.staging import Stages, clear_stages, find_stages, is_stage, staged

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nothing tells there who is alive")

HOLDING = """
import os, signal, sys
from pathlib import Path
from commonplace.core.staging import Stages
with Stages(folder=Path(sys.argv[1])).beside(Path(sys.argv[2])) as stage:
    (stage / "entries.jsonl").write_text("a text")
    print(stage, flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def stages(tmp_path):
    return Stages(folder=tmp_path / "home" / "staging")


@pytest.fixture
def holder(stages, elsewhere):
    """Another process that holds a stage; it kills itself when its stdin ends."""
    command = [sys.executable, "-c", HOLDING, str(stages.folder), str(elsewhere)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        process.stage = Path(process.stdout.readline().strip())
        yield process


def test_a_stage_lives_as_long_as_its_process(stages, elsewhere, holder):
    """While it lives nobody takes it, whatever its number is; killed, the next one removes it."""
    assert stages.each() == [holder.stage]
    assert stages.clear() == find_stages(elsewhere) == []
    assert (holder.stage / "entries.jsonl").exists()
    assert holder.stage.stat().st_mode & 0o777 == 0o700
    holder.stdin.close()
    holder.wait()
    assert stages.find() == find_stages(elsewhere) == [holder.stage]
    assert stages.clear() == [holder.stage]
    assert [*elsewhere.iterdir()] == [*stages.folder.iterdir()] == []


def test_the_next_stage_beside_it_removes_it_too(stages, elsewhere, holder, tmp_path):
    """Of another home, which has no note of it; the note of the first goes at its next look."""
    holder.stdin.close()
    holder.wait()
    with staged(elsewhere) as stage:
        assert [*elsewhere.iterdir()] == [stage]
    assert stages.clear() == []
    assert [*stages.folder.iterdir()] == []


def test_our_own_is_not_taken_from_us(stages, elsewhere):
    """By another thread of this process, or by a stage within a stage."""
    with stages.inside() as outer, stages.beside(outer) as inner:
        assert stages.clear() == clear_stages(outer) == []
        assert inner.is_dir()
    assert [*stages.folder.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["notes", ".commonplace-stage-x", ".commonplace-stage-0123456789abcdef.bak"]
)
def test_what_is_not_ours_is_left(elsewhere, name):
    """Whatever its age."""
    (elsewhere / name).mkdir()
    os.utime(elsewhere / name, (0, 0))
    assert not is_stage(name)
    assert clear_stages(elsewhere) == []


def test_a_note_that_leads_elsewhere_removes_nothing(stages, elsewhere):
    """Only a folder with the name of a stage is ever removed, and never through a link."""
    stages.folder.mkdir(parents=True)
    (elsewhere / "keep").mkdir()
    link = elsewhere / ".commonplace-stage-0123456789abcdef"
    link.symlink_to(elsewhere / "keep")
    for number, path in enumerate((elsewhere / "keep", elsewhere, link, "relative")):
        (stages.folder / f"{number}.beside").write_bytes(os.fsencode(path))
    assert stages.clear() == []
    assert (elsewhere / "keep").is_dir()
    assert link.is_symlink()
