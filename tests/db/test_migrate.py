"""Numbered migrations."""

import subprocess
import sys
from contextlib import closing

import pytest
from tests.patience import PATIENCE_S

from commonplace.core.errors import Internal, Unavailable
from commonplace.db.migrate import Migration, list_migrations, migrate
from commonplace.db.sqlite import connect

ONE = Migration(1, "things", "CREATE TABLE things (x);\nINSERT INTO things VALUES (1);")
TWO = Migration(2, "more", "ALTER TABLE things ADD COLUMN y;\nUPDATE things SET y = x + 1;")

MIGRATING = """
import sys
from pathlib import Path
from commonplace.db.migrate import Migration, migrate
from commonplace.db.sqlite import connect
path = Path(sys.argv[1])
steps = [Migration(n, f"step{n}", f"CREATE TABLE t{n} (x); INSERT INTO t{n} VALUES (1);") for n in range(1, 21)]
print(len(migrate(connect(path), steps, path=path)))
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "truth.db"


@pytest.fixture
def conn(path):
    with closing(connect(path)) as conn:
        yield conn


def test_what_is_missing_is_applied_once(conn, path):
    """A new database gets all steps, an older one the rest, a current one none."""
    assert migrate(conn, [ONE], path=path) == ["things"]
    assert migrate(conn, [ONE, TWO], path=path) == ["more"]
    assert migrate(conn, [ONE, TWO], path=path) == []
    assert conn.execute("SELECT x, y FROM things").fetchall() == [(1, 2)]


def test_a_failing_step_leaves_nothing_of_itself(conn, path):
    """The steps before it stay, and it can be tried again."""
    broken = Migration(
        2, "more", "ALTER TABLE things ADD COLUMN y;\nINSERT INTO nowhere VALUES (1);"
    )
    with pytest.raises(Exception, match="nowhere"):
        migrate(conn, [ONE, broken], path=path)
    assert migrate(conn, [ONE, TWO], path=path) == ["more"]


def test_a_newer_database_is_refused(conn, path):
    """A program that knows fewer steps touches nothing and names both numbers."""
    migrate(conn, [ONE, TWO], path=path)
    with pytest.raises(Unavailable, match=r"schema 2; this program knows schema 1") as caught:
        migrate(conn, [ONE], path=path)
    assert caught.value.hint


def test_the_database_of_another_program_is_refused(conn, path):
    """It holds tables that we did not make: nothing is added to them."""
    conn.execute("CREATE TABLE notes (x)")
    with pytest.raises(Unavailable, match="another program"):
        migrate(conn, [ONE], path=path)
    assert conn.execute("SELECT name FROM sqlite_schema").fetchall() == [("notes",)]


def test_processes_at_once_apply_each_step_once(path):
    """Four processes start on one new file; every step is applied by exactly one of them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATING, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    done = [int(process.communicate(timeout=PATIENCE_S)[0]) for process in started]
    assert sum(done) == 20
    with closing(connect(path)) as conn:
        assert conn.execute("SELECT sum(x) FROM t20").fetchone() == (1,)


def test_migrations_are_files_of_a_package(tmp_path, monkeypatch):
    """They are found by number; a gap or another kind of name is refused."""
    folder = tmp_path / "some_package" / "migrations"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    (folder / "0001_things.sql").write_text(ONE.sql)
    (folder / "0002_more.sql").write_text(TWO.sql)
    assert list_migrations("some_package") == [ONE, TWO]
    (folder / "0004_gap.sql").write_text("SELECT 1;")
    with pytest.raises(Internal, match="gaps"):
        list_migrations("some_package")
    (folder / "0004_gap.sql").rename(folder / "third.sql")
    with pytest.raises(Internal, match=r"third\.sql"):
        list_migrations("some_package")
