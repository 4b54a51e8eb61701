"""A writer of a notebook on Postgres that is killed: an entry and its overview are there, or neither."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from server.tests.proof.notebook_child import open_notebook

from commonplace_server.postgres.database import Postgres
from commonplace_server.wiring.schema import check_database


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
        versions = notes.list_versions("a")
    for number in map(int, told):
        assert f"Line {number}." in lines
        assert f"Entry {number}." in entries.values()
    assert len(versions) == len(entries)
    for version in versions[:-1]:
        assert entries[version.entry_id].removeprefix("Entry") in version.text.splitlines()[-1]
