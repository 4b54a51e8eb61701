"""A PgBouncer of a test, where the machine has one: each transaction may get another session."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from examples.postgres import OwnDatabase
from tests.patience import PATIENCE_S

CONF = """
[databases]
app = host={host} port={port} dbname={name} user=commonplace_app
worker = host={host} port={port} dbname={name} user=commonplace_worker

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
server_reset_query_always = 0
server_login_retry = 1
pidfile = {folder}/pid
logfile = {folder}/log
"""


class PgBouncer:
    """Two sessions of the server for whoever comes. Close it."""

    def __init__(self, *, host, name, port=5432) -> None:
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.skip("There is no pgbouncer.")
        # Short, for a path of a socket, and below folders that the user it runs as may pass.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="cp-pgb-", dir="/tmp"))
        folder.chmod(0o755)
        (folder / "ini").write_text(CONF.format(folder=folder, host=host, port=port, name=name))
        user = None
        if os.geteuid() == 0:  # it does not run as root
            user = pwd.getpwnam("nobody").pw_uid
            os.chown(folder, user, -1)
        self._program, self._user = program, user
        self.start()

    def start(self) -> None:
        """Have it run, at first or after it was killed."""
        self._running = subprocess.Popen(
            [self._program, "-q", str(self._folder / "ini")],
            user=self._user,
            extra_groups=None if self._user is None else [],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def is_there(self) -> bool:
        assert self._running.poll() is None
        return (self._folder / ".s.PGSQL.6432").exists()

    def database(self, admin_url) -> OwnDatabase:
        at = f"host={self._folder}&port=6432"
        return OwnDatabase(
            admin_url=admin_url,
            app_url=f"postgresql://x@/app?{at}",
            worker_url=f"postgresql://x@/worker?{at}",
        )

    def kill(self) -> None:
        """End it at once, and each connection through it."""
        self._running.kill()
        self._running.wait(PATIENCE_S)
        for left in ("pid", ".s.PGSQL.6432", ".s.PGSQL.6432.lock"):
            (self._folder / left).unlink(missing_ok=True)

    def close(self) -> None:
        self._running.terminate()
        self._running.wait(PATIENCE_S)
        shutil.rmtree(self._folder)
