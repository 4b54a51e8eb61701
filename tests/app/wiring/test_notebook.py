"""The notebook's wiring: what doctor asks of it."""

from __future__ import annotations

import sqlite3

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings


@pytest.fixture
def app(tmp_path, no_weights, monkeypatch):
    """An app whose notebook lies in a folder of its own."""
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(tmp_path / "notes"))
    settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
    made = App(settings, user_home=tmp_path / "home")
    yield made
    made.close()


def test_its_problems_are_named_and_repaired(app, tmp_path):
    """None where there is no notebook; a ledger that lost an entry is rebuilt."""
    wiring = app.notebook
    assert (list(wiring.problems()), wiring.repair()) == ([], [])
    wiring.journal.init()
    wiring.journal.write("api", "Said.")
    place = str(wiring.journal.folder)
    assert (list(wiring.problems()), wiring.repair()) == ([place], [])
    wiring.journal.close()
    (ledger,) = tmp_path.rglob("ledgers/*.db")
    with sqlite3.connect(ledger) as conn:
        conn.execute("DELETE FROM entries")
    conn.close()
    (_place, problem) = wiring.problems()
    assert problem.what.endswith("says otherwise than its history.")
    assert (len(wiring.repair()), list(wiring.problems())) == (1, [place])
