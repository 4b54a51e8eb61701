"""Files are read in a process that has the databases among them open: their locks stay held.

A system drops all locks of a process on a file when the process closes any descriptor of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.app import App
from commonplace.app.backup import backup_places
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.verbs.backup.making import make_backup


def back_up(app, folder):
    """As the page does."""
    make_backup(
        folder / "all.zip",
        backup_places(app),
        scratch_folders=app.scratch_folders,
        clock=utc_now,
        program="1",
    )


def forget(app, folder):
    """As the page does, with the look through every file at its end."""
    thoughts = {"feelings": "the code of the door of the old bakery is 4711"}
    write = app.private.toolset().tool("process_thoughts")
    (ref,) = write.call(thoughts).facts["refs"]
    service = app.forgetting()
    assert service.carry_out(service.plan([ref])).is_clean


def command(*words):
    """What another process prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "commonplace", *words], capture_output=True, text=True, check=True
    )
    return ran.stdout


@pytest.mark.parametrize("read", [back_up, forget])
def test_a_server_still_writes_where_others_read(no_weights, tmp_path, read):
    """Another process that closes a database does not take itself for the last that uses it.

    It would remove the log that the server goes on writing to, and what it says is lost.
    """
    app = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
    try:
        app.timeline.service().add("written before it")
        read(app, tmp_path)
        command("timeline", "add", "written by another process")
        app.timeline.service().add("written after it")
        shown = command("list", "-j", "timeline")
        assert "written before it" in shown
        assert "written by another process" in shown
        assert "written after it" in shown
    finally:
        app.close()
