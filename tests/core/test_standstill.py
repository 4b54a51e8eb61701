"""What was asked before this process stood still is written into no file, but for what is derived."""

from __future__ import annotations

import math
import time
from contextlib import closing

import pytest
from tests.patience import PATIENCE_S

from commonplace.core import standstill
from commonplace.core.errors import Unavailable
from commonplace.core.files import is_locked, locked, write_new
from commonplace.core.standstill import PROCESS
from commonplace.db.sqlite import connect, transaction


@pytest.fixture(autouse=True)
def asked_before(monkeypatch):
    """Whatever a test does was asked before; what later tests do was not."""
    monkeypatch.setattr(PROCESS, "_went_on_at", -math.inf)
    with PROCESS.asked(0.0):
        PROCESS.note_standstill()
        yield


def refused():
    return pytest.raises(Unavailable, match="stood still")


def test_no_new_file_gets_its_name(tmp_path):
    """Nothing of it is left either."""
    folder = tmp_path / "notes"
    folder.mkdir()
    with refused() as told:
        write_new(folder / "note.md", b"said")
    assert told.value.hint
    assert [*folder.iterdir()] == []


def test_a_folder_is_not_locked_for_it(tmp_path):
    """Its lock is free for who was asked since."""
    with refused(), locked(tmp_path):
        pass
    assert not is_locked(tmp_path)
    with PROCESS.begun(), locked(tmp_path):
        pass


@pytest.mark.parametrize("most", [{}, {"waits_s": PATIENCE_S}])
def test_a_lock_that_another_keeps_is_waited_for_as_long_as_who_asks_may_wait(
    tmp_path, monkeypatch, most
):
    """Then the next step is said; what was asked at no time waits until it is free."""
    began = time.monotonic()
    assert standstill.patience_s() == standstill._LEAST_S
    monkeypatch.setattr(standstill, "_LEAST_S", 0.0)
    with PROCESS.begun(), locked(tmp_path):
        assert 0 < standstill.patience_s() <= standstill.ANSWERED_S
        with (
            PROCESS.asked(0.0),
            pytest.raises(Unavailable, match="Another process is at work") as told,
            locked(tmp_path, **most),
        ):
            pass
    assert told.value.hint
    assert time.monotonic() - began < PATIENCE_S
    with PROCESS.asked(math.inf):
        assert standstill.patience_s() == math.inf


def test_nothing_is_written_into_a_database(tmp_path):
    """Its lock is free, and what can be made again is written all the same."""
    with closing(connect(tmp_path / "kept.db", synchronous="full")) as conn:
        with refused(), transaction(conn):
            pass
        assert not conn.in_transaction
    with closing(connect(tmp_path / "derived.db", synchronous="normal")) as conn:
        with transaction(conn):
            conn.execute("CREATE TABLE docs (ref TEXT)")
        assert conn.execute("SELECT count(*) FROM docs").fetchone() == (0,)
