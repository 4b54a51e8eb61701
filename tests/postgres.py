"""A real Postgres for tests: one server for the whole run, a fresh database for each test.

With COMMONPLACE_DATABASE_ADMIN_URL in the environment it is that server, whose role must be able
to make databases and roles, and be a superuser; else the wheel's.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.db.migrate import list_migrations
from commonplace.db.postgres.database import Postgres, refuse_unguarded
from commonplace.db.postgres.migrate import migrate_postgres
from commonplace.doors.demos.postgres import PostgresServer, own_database
from commonplace.index.postgres.index import TABLES, PostgresIndex

_FOLDER = "CP_TEST_POSTGRES"
_GIVEN_NAME = "CP_TEST_DATABASE_ADMIN_URL"
_GIVEN = os.environ.get(_GIVEN_NAME) or os.environ.get("COMMONPLACE_DATABASE_ADMIN_URL", "")

SERIES = {
    "records": list_migrations("commonplace.journals.memory.postgres"),
    "index": list_migrations("commonplace.index.postgres"),
}


def address(url, *, role, name):
    """The address of another database, or for another role, of the same server."""
    given = {"dbname": name} if role is None else {"dbname": name, "user": role}
    return make_conninfo(url, **given)


def begin_run(config):
    """Say where the run's server is to be, before the processes of the run begin."""
    if _GIVEN:
        os.environ[_GIVEN_NAME] = _GIVEN
    elif not hasattr(config, "workerinput"):
        os.environ[_FOLDER] = str(PostgresServer().folder)


def end_run(config):
    """Stop the run's server, if any test has started it."""
    if hasattr(config, "workerinput") or _FOLDER not in os.environ:
        return
    PostgresServer(Path(os.environ.pop(_FOLDER))).remove()


def _server_url():
    if _GIVEN:
        return _GIVEN
    server = PostgresServer(Path(os.environ[_FOLDER]))
    with FileLock(server.folder / "lock"):
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
    with own_database(postgres_url) as made:
        migrate_postgres(made.admin_url, SERIES)
        yield conninfo_to_dict(made.admin_url)["dbname"]


@pytest.fixture
def database(postgres_url, postgres_template):
    """A database of this test alone, migrated and empty."""
    with own_database(postgres_url, like=postgres_template) as made:
        yield made


@pytest.fixture
def empty_database(postgres_url):
    """A database of this test alone, without tables."""
    with own_database(postgres_url) as made:
        yield made


@pytest.fixture
def postgres_index(database):
    """The index of all users in a database of this test alone."""
    pool = Postgres(database.app_url, check=partial(refuse_unguarded, tables=TABLES))
    index = PostgresIndex(pool)
    yield index
    index.close()
    pool.close()


@pytest.fixture
def own_server():
    """A server of this test alone, running, to be stopped, killed and frozen."""
    beside = Path(os.environ[_FOLDER]).parent if _FOLDER in os.environ else Path("/tmp")
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="cp-pg-", dir=beside)))
    server.remove_after(os.getpid())
    server.start()
    yield server
    server.thaw()
    server.remove()
