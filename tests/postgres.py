"""A real Postgres for tests: one server for the whole run, a fresh database for each test.

With COMMONPLACE_DATABASE_ADMIN_URL in the environment it is that server, whose role must be able
to make databases and roles, and be a superuser; else the wheel's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from filelock import FileLock
from psycopg.conninfo import make_conninfo

from commonplace.db.migrate import list_migrations
from commonplace.db.postgres_migrate import migrate_postgres
from commonplace.testing_postgres import PostgresServer

_FOLDER = "CP_TEST_POSTGRES"
_GIVEN = os.environ.get("COMMONPLACE_DATABASE_ADMIN_URL", "")

SERIES = {
    "records": list_migrations("commonplace.journals", "memory_postgres_migrations"),
    "index": list_migrations("commonplace.index", "postgres_migrations"),
}


@dataclass(frozen=True)
class OwnDatabase:
    """A database of a test: its addresses as administrator, application and worker."""

    admin_url: str
    app_url: str
    worker_url: str

    def rows(self, query, *values):
        """What a query answers the administrator, whom nothing is hidden from."""
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            return conn.execute(query, values).fetchall()

    def run(self, statement, *values):
        """Run a statement as the administrator."""
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            conn.execute(statement, values)


def address(url, *, role, name):
    """The address of another database, or for another role, of the same server."""
    given = {"dbname": name} if role is None else {"dbname": name, "user": role}
    return make_conninfo(url, **given)


def begin_run(config):
    """Say where the run's server is to be, before the processes of the run begin."""
    if not hasattr(config, "workerinput") and not _GIVEN:
        os.environ[_FOLDER] = tempfile.mkdtemp(prefix="cp-pg-")


def end_run(config):
    """Stop the run's server, if any test has started it."""
    if hasattr(config, "workerinput") or _FOLDER not in os.environ:
        return
    folder = Path(os.environ.pop(_FOLDER))
    if (folder / "server").exists():
        PostgresServer(folder / "server").remove()
    shutil.rmtree(folder, ignore_errors=True)


def _server_url():
    if _GIVEN:
        return _GIVEN
    folder = Path(os.environ[_FOLDER])
    with FileLock(folder / "lock"):
        os.chmod(folder, 0o755)  # the server's own user passes through it
        server = PostgresServer(folder / "server")
        if not server.pid:
            server.remove_after(
                os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
            )
            server.start()
    return server.url()


@pytest.fixture(scope="session")
def postgres_url():
    """The administrator's address of the run's server."""
    return _server_url()


@pytest.fixture(scope="session")
def postgres_template(postgres_url):
    """The name of a database with all our tables, which each test's is a copy of."""
    name = f"cp_template_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    migrate_postgres(address(postgres_url, role=None, name=name), SERIES)
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(postgres_url, postgres_template):
    """A database of this test alone, migrated and empty."""
    yield from _database(postgres_url, f"TEMPLATE {postgres_template}")


@pytest.fixture
def empty_database(postgres_url):
    """A database of this test alone, without tables."""
    yield from _database(postgres_url, "ENCODING 'UTF8' TEMPLATE template0")


def _database(postgres_url, like):
    name = f"cp_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} {like}")
    yield OwnDatabase(
        admin_url=address(postgres_url, role=None, name=name),
        app_url=address(postgres_url, role="commonplace_app", name=name),
        worker_url=address(postgres_url, role="commonplace_worker", name=name),
    )
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def own_server():
    """A server of this test alone, running, to be stopped, killed and frozen."""
    folder = Path(tempfile.mkdtemp(prefix="cp-pg-"))
    folder.chmod(0o755)
    server = PostgresServer(folder / "server")
    server.remove_after(os.getpid())
    server.start()
    yield server
    server.thaw()
    server.remove()
    shutil.rmtree(folder, ignore_errors=True)
