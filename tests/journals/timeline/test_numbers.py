"""How entries and changes of a timeline are numbered: upwards, and no number twice."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.journals.timeline.world import World, at

from commonplace.core.errors import Unavailable
from commonplace.core.values import Since
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.sqlite import connect
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.queries import sql
from commonplace.journals.timeline.repair import find_problems
from commonplace.journals.timeline.retention import parse_retention
from commonplace.journals.timeline.source import TimelineSource

OLD_ADD = """
INSERT INTO journal_entries (id, thread_id, content, entry_type, timestamp, period_start,
    period_end, rollup_level, created_at, updated_at, hash)
VALUES (?, 'me', ?, 'raw', '2025-02-04T10:15:00.000000Z', '2025-02-04T10:00:00.000000Z',
    '2025-02-04T11:00:00.000000Z', 0, '2025-02-04T10:15:00.000000Z',
    '2025-02-04T10:15:00.000000Z', x'00')
"""


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()


def last_number(world):
    return world.rows(sql()["last_change"])[0][0]


@pytest.mark.parametrize("order", [(2, 1), (1, 2), (2,), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("by_hand", [False, True], ids=["deleted", "by hand"])
def test_an_entry_is_numbered_after_all_there_ever_were(world, order, by_hand):
    """Whichever went, in whichever order, by ours or another program; another process knows it."""
    entries = [world.add(f"number {n}") for n in range(3)]
    assert [x.seq for x in entries] == [1, 2, 3]
    for number in order:
        if by_hand:
            with world.journal.database.writing() as conn:
                conn.connection.execute("DELETE FROM journal_entries WHERE seq = ?", (number + 1,))
        else:
            world.journal.delete(entries[number].id)
    last = last_number(world)
    assert last == (3 if by_hand else 3 + len(order))
    other = world.again()
    assert (world.add("four").seq, other.add("five").seq) == (last + 1, last + 2)
    other.close()


def test_numbers_go_on_where_all_has_expired(world):
    """The entry and its hour have left, and with them what the log told of them."""
    world.add("fixed the gate", "2025-02-04T10:15")
    keep = parse_retention("raw=24h, hourly=2d")
    seen = []
    for when in ("2025-02-11T12:00", "2025-02-20T12:00"):
        world.clock.at = at(when)
        apply_retention(world.rollups, keep)
        seen.append(last_number(world))
    assert world.rows("SELECT count(*) FROM journal_entries WHERE rollup_level < 2") == [(0,)]
    assert seen == sorted(seen)
    assert world.add("painted the gate", "2025-02-20T11:15").seq == seen[-1] + 1


def test_an_add_writes_no_note_of_the_last_number(world):
    """It would be a page more to be synced with each."""
    notes = []
    for text in ("one", "two"):
        world.add(text)
        notes.append(world.rows("SELECT name, seq FROM sqlite_sequence ORDER BY name"))
    assert notes == [[("journal_entries", 10**12)]] * 2


@pytest.fixture
def old(tmp_path):
    """A file of the version before: 1 and 3 of 3 entries are gone, and the log is pruned of all."""
    path = tmp_path / "journal.db"
    with closing(connect(path)) as conn:
        migrate(conn, list_migrations("commonplace.journals.timeline")[:1], path=path)
        for number in (1, 2, 3):
            conn.execute(OLD_ADD, (f"id-{number}", f"the old gate {number}"))
            conn.execute("INSERT INTO changes (entry) VALUES (?)", (number,))
        conn.execute("DELETE FROM journal_entries WHERE seq IN (1, 3)")
        conn.execute("INSERT INTO tombstones VALUES (1, x'01', 1), (3, x'03', 1)")
        conn.execute("INSERT INTO changes (entry) VALUES (1), (3)")
        conn.execute("DELETE FROM changes WHERE entry IN (1, 3)")
        conn.execute("UPDATE state SET pruned = 5")
    return path


def test_a_file_of_the_version_before_goes_on(old, tmp_path):
    """Its numbers are known where only SQLite had noted them; its words and entries stay."""
    world = World(tmp_path)
    mark = TimelineSource(world.journal).mark()
    assert mark.endswith(" 5")
    new = world.add("the new gate")
    assert new.seq == 6
    changed = TimelineSource(world.journal).scan(Since(mark=mark, stamps=lambda _: {}))
    assert [x.doc.ref for x in changed] == [new.ref]
    assert world.journal.read("id-2").content == "the old gate 2"
    assert list(find_problems(world.journal)) == []
    found = world.rows("SELECT rowid FROM journal_fts WHERE journal_fts MATCH 'gate' ORDER BY 1")
    assert found == [(2,), (6,)]
    world.close()


def told(conn):
    tables = ("sqlite_schema", "sqlite_sequence", "state", "changes", "applied_migrations")
    return [conn.execute(f"SELECT * FROM {table}").fetchall() for table in tables]


def test_a_file_of_the_version_before_stays_so_until_it_is_done(old):
    """Whatever step it is stopped at; then it is taken up again."""
    two = list_migrations("commonplace.journals.timeline")[:2]
    for stopped in ("floor", "journal_entries_floor", "new_changes", "sqlite_sequence"):
        with closing(connect(old)) as conn:
            before = told(conn)
            conn.set_authorizer(lambda _, one, *more, it=stopped: int(it in {one, *more}))
            with pytest.raises(Unavailable):
                migrate(conn, two, path=old)
            conn.set_authorizer(None)
            assert told(conn) == before
    with closing(connect(old)) as conn:
        assert migrate(conn, two, path=old) == ["numbers"]
        assert migrate(conn, two, path=old) == []
