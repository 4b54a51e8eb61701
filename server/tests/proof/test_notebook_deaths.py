"""A writer of a notebook on Postgres that is killed: an entry and its overview are there, or neither."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from server.tests.proof.deaths import asked_of, wait_for
from server.tests.proof.notebook_child import open_notebook
from server.tests.two_homes import settings_in

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.journals.git.repo import is_repository
from commonplace.journals.notebook.whole import PastOverview
from commonplace.notebook import Notebook
from commonplace_server.postgres.database import Postgres
from commonplace_server.wiring.schema import check_database
from commonplace_testing import ReadySlot

POINTS = range(1, 330, 13)


@pytest.mark.parametrize("acknowledged", [1, 4, 9])
def test_what_was_acknowledged_is_there_whole(database, acknowledged):
    """Every line and every entry that was told, and no overview without the entry it came with."""
    with closing(Postgres(database.app_url, check=check_database)) as opened:
        notes = open_notebook(opened)
        notes.write("a", "Begun.", overview="# All")
        with subprocess.Popen(
            [sys.executable, "-m", "server.tests.proof.notebook_child", database.app_url],
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            told = [*islice(child.stdout, acknowledged)]
            child.kill()
            told += [line for line in child.stdout if line.endswith("\n")]
        lines = set(notes.read_section("a").overview.splitlines())
        entries = {x.id: x.summary for x in notes.list_entries("a", length=1000)}
        versions = [x for x in notes.read_whole().steps if isinstance(x, PastOverview)]
    for number in map(int, told):
        assert f"Line {number}." in lines
        assert f"Entry {number}." in entries.values()
    assert len(versions) == len(entries)
    for version in versions[1:]:
        assert entries[version.entry_id].removeprefix("Entry") in version.text.splitlines()[-1]


def test_a_move_is_killed_at_every_step(world, database, children, tmp_path):
    """Nothing is lost, nothing comes twice, and in the end nothing of it lies on the disk."""
    settings = settings_in(tmp_path)
    shared = ProcessContext(settings, encoder=ReadySlot(None), serves_owners=True)
    apps = Apps(settings, user_home=None, shared=shared)
    with apps.using("ann") as app:
        service, texts, base = app.notebook.service(), [], ""
        for number in range(6):
            texts.append(f"Entry {number}.")
            overview = "\n".join(texts)
            made, _ = service.write("a", texts[-1], overview=overview, base_version=base)
            base = made.version
        service.move(old="a", new="b")
        folder = app.notebook.repository.folder
    apps.close()
    shared.close()

    def die_at(point):
        asked = asked_of(database, tmp_path, journal="notebook", point=point)
        wait_for(children.start("move", **asked))

    def there():
        with Notebook("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
            if not mine.sections():
                return [], ""
            lines = [line.summary for line in mine.entries("b")]
            return lines[::-1], mine.section("b").overview

    for point in POINTS:
        die_at(point)
        assert there() in [([], ""), (texts, "\n".join(texts))]
        assert there() != ([], "") or is_repository(folder)
    die_at(10**9)
    assert there() == (texts, "\n".join(texts))
    assert [x.name for x in folder.parent.glob("notebook*")] == []
