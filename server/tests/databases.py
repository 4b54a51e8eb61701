"""A real Postgres for tests: one server for the whole run, a fresh database for each test.

A database is copied file by file, and a server of a test's own begins with files that were made
once, since that is what a test waited for.

With COMMONPLACE_DATABASE_ADMIN_URL in the environment it is that server, whose role must be able
to make databases and roles, and be a superuser; else the wheel's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from examples.postgres import OwnDatabase, PostgresServer, own_database
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.core.files import locked
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.postgres.database import Postgres, refuse_unguarded
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.wiring.schema import list_series

_FOLDER = "CP_TEST_POSTGRES"
_GIVEN_NAME = "CP_TEST_DATABASE_ADMIN_URL"
_GIVEN = os.environ.get(_GIVEN_NAME) or os.environ.get("COMMONPLACE_DATABASE_ADMIN_URL", "")

SERIES = list_series()


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
    with locked(server.folder):
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


@pytest.fixture(scope="session")
def administrator(postgres_url):
    """A connection that makes and drops databases."""
    with psycopg.connect(postgres_url, autocommit=True) as made:
        yield made


@contextmanager
def _copied_database(administrator, url, like):
    name = f"cp_{uuid4().hex[:12]}"
    # Before 15 there was no other way; since then a small one is else written to the log in full.
    how = " STRATEGY FILE_COPY" if administrator.info.server_version >= 150_000 else ""
    made = sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE {}" + how)
    administrator.execute(made.format(sql.Identifier(name), sql.Identifier(like)))
    try:
        yield OwnDatabase(
            admin_url=address(url, role=None, name=name),
            app_url=address(url, role="commonplace_app", name=name),
            worker_url=address(url, role="commonplace_worker", name=name),
        )
    finally:
        dropped = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        administrator.execute(dropped)


@pytest.fixture
def database(administrator, postgres_url, postgres_template):
    """A database of this test alone, migrated and empty."""
    with _copied_database(administrator, postgres_url, postgres_template) as made:
        yield made


@pytest.fixture
def empty_database(administrator, postgres_url):
    """A database of this test alone, without tables."""
    with _copied_database(administrator, postgres_url, "template0") as made:
        yield made


@pytest.fixture
def postgres_index(database):
    """The index of all users in a database of this test alone."""
    pool = Postgres(database.app_url, check=partial(refuse_unguarded, tables=TABLES))
    index = PostgresIndex(pool)
    yield index
    index.close()
    pool.close()


def _stopped_server():
    """The folder of a server that was made once for the run, and stopped."""
    folder = Path(os.environ[_FOLDER]) / "stopped"
    with locked(folder.parent):
        if not (folder / "ready").exists():
            server = PostgresServer(folder)
            server.start()
            server.stop()
            (folder / "ready").touch()
    return folder


def _copied_server(stopped, folder):
    """A server with a copy of the other's files, and its programs."""
    server = PostgresServer(folder)
    if (stopped / "wheel").exists():
        (folder / "wheel").symlink_to(stopped / "wheel")
    shutil.copytree(stopped / "data", folder / "data")
    owner = (stopped / "data").stat()
    for path in (folder / "data", *(folder / "data").rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    with (folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"unix_socket_directories = '{folder}'\n")
    return server


@pytest.fixture
def own_server():
    """A server of this test alone, running, to be stopped, killed and frozen."""
    stopped = _stopped_server() if _FOLDER in os.environ else None
    # Below the folder of the run's own, with which it ends if this process is killed.
    below = stopped.parent if stopped else Path("/tmp")
    folder = Path(tempfile.mkdtemp(prefix="cp-pg-", dir=below))
    server = _copied_server(stopped, folder) if stopped else PostgresServer(folder)
    if stopped is None:
        server.remove_after(os.getpid())
    server.start()
    yield server
    server.thaw()
    server.remove()
