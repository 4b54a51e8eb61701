"""A journal whose file or folder is gone, as on a disk that is not mounted."""

from __future__ import annotations

import pytest

from commonplace.app.app import App
from commonplace.config.settings import read_settings
from commonplace_testing import HashingEncoder, ReadySlot

WRITES = {
    "notebook": ("journal_write", {"path": "harbours", "entry": "the lighthouse is green"}),
    "timeline": ("timeline_add", {"content": "the lighthouse is green"}),
    "memory-write": ("memory_save", {"kind": "todo", "title": "the lighthouse is green"}),
}
FOLDERS = {"notebook": "notebook", "timeline": "journal", "memory-write": "memory"}


@pytest.mark.parametrize("offered", ["default", "all"])
@pytest.mark.parametrize("toolset", WRITES)
def test_what_was_filed_of_a_journal_that_is_gone_stays(tmp_path, toolset, offered):
    """It is not taken for an empty one, and is searched as before once it is back."""
    settings = read_settings(
        flags={"home": str(tmp_path / "own"), "timezone": "UTC", "toolsets": offered},
        environ={},
        cwd=tmp_path,
        home=tmp_path,
    )

    def found():
        app = App(settings, user_home=tmp_path, encoder=ReadySlot(HashingEncoder()))
        try:
            answer = app.toolset("recall").tool("recall").call({"query": "green lighthouse"})
            return "lighthouse is green" in answer.text
        finally:
            app.close()

    app = App(settings, user_home=tmp_path, encoder=ReadySlot(HashingEncoder()))
    name, given = WRITES[toolset]
    app.toolset(toolset).tool(name).call(given)
    app.close()
    assert found()
    there = tmp_path / "own" / "users" / "me" / FOLDERS[toolset]
    there.rename(tmp_path / "away")
    assert found()
    there.mkdir()  # where a disk was mounted
    assert found()
    there.rmdir()
    (tmp_path / "away").rename(there)
    assert found()
