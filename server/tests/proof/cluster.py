"""Two Postgres of a test under Patroni, with one etcd and an haproxy that leads to the primary."""

from __future__ import annotations

import itertools
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import psutil
import pytest
from examples.postgres import OwnDatabase, PostgresServer
from server.tests.proof.haproxy import HaProxy
from tests.patience import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TTL_S = 20
"""After so long a leader that says nothing is replaced: the least that Patroni takes."""

AGREED: dict[str, Any] = {
    "ttl": TTL_S,
    "loop_wait": 2,
    "retry_timeout": 3,
    "synchronous_mode": True,
    "postgresql": {"use_pg_rewind": True},
}
"""What its nodes agree on; the page `Operating it` has the same."""

FOLLOWING: dict[str, Any] = {
    # Else a node of another name waits for the primary's next checkpoint: minutes.
    "basebackup": [{"checkpoint": "fast"}],
    "remove_data_directory_on_rewind_failure": True,
    "remove_data_directory_on_diverged_timelines": True,
}
"""How a node comes to follow the one that leads; the page has the same."""

ENCODED = {"encoding": "UTF8", "locale": "C"}
"""How its databases are made."""

LOG = logging.getLogger(__name__)

_PATRONI = Path(__file__).parents[3] / ".tools" / "patroni"
_SLOTS = {"max_replication_slots": 30}
_LAST_LINES = 60


class Node:
    """A Postgres and its Patroni."""

    def __init__(self, cluster: Cluster, name: str, port: int, rest: int) -> None:
        self.name, self.port, self.rest = name, port, rest
        self._cluster = cluster
        self._folder = cluster.folder / name
        self._running: subprocess.Popen[bytes] | None = None
        # JSON is YAML as well.
        (cluster.folder / f"{name}.yml").write_text(json.dumps(self._settings()))

    def _settings(self) -> dict[str, Any]:
        postgres, rest = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.rest}"
        whom = ("host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust")
        return {
            "scope": "commonplace",
            "name": self.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"host": f"127.0.0.1:{self._cluster.etcd}"},
            "bootstrap": {
                # A node that is gone keeps its slot for half an hour, and here ten may go in that.
                "dcs": {**AGREED, "postgresql": {**AGREED["postgresql"], "parameters": _SLOTS}},
                "initdb": [*({x: y} for x, y in ENCODED.items()), "no-sync"],
            },
            "postgresql": {
                "listen": postgres,
                "connect_address": postgres,
                "data_dir": str(self._folder),
                "bin_dir": str(self._cluster.programs),
                "pgpass": str(self._cluster.folder / f"{self.name}.pass"),
                "pg_hba": [*whom, "local all all trust"],
                "authentication": {
                    x: {"username": "postgres"} for x in ("superuser", "replication", "rewind")
                },
                "parameters": {
                    "unix_socket_directories": str(self._cluster.folder),
                    "max_connections": 60,
                    "shared_buffers": "64MB",
                    "fsync": "off",  # what a machine's own end would lose is not the subject
                },
                **FOLLOWING,
            },
        }

    def start(self) -> None:
        """Start its Patroni, which starts Postgres."""
        python = (_PATRONI / "bin" / "python").resolve()
        self._running = self._cluster.run(
            *(str(python), "-m", "patroni", str(self._cluster.folder / f"{self.name}.yml")),
            log=f"{self.name}.log",
        )

    @property
    def is_primary(self) -> bool:
        """Whether it says that it is the primary."""
        return self._asked("primary")

    def _asked(self, what: str) -> bool:
        with suppress(httpx2.HTTPError):
            return httpx2.get(f"http://127.0.0.1:{self.rest}/{what}", timeout=2).status_code == 200
        return False

    def signal_postgres(self, number: int) -> None:
        """Signal every process of its Postgres."""
        with suppress(OSError, ValueError):
            _signal_all([self._postmaster()], number)

    def go_on(self) -> None:
        """End what SIGSTOP began, and wait until its Postgres, which led before, has ended.

        Where the other leads by now, its Patroni ends it, to follow that one.
        """
        first = psutil.Process(self._postmaster())
        self.signal(signal.SIGCONT)
        until(lambda: _is_gone(first) or self._asked("replica"), "the other alone to lead")

    def _postmaster(self) -> int:
        """The first process of its Postgres, which ends after all others."""
        return int((self._folder / "postmaster.pid").read_text().split("\n", 1)[0])

    def signal(self, number: int) -> None:
        """Signal every process of it, as where its machine is gone or frozen."""
        assert self._running is not None
        _signal_all([self._running.pid], number)
        self.signal_postgres(number)
        if number == signal.SIGKILL:
            self._running.wait(PATIENCE_S)

    def switch_over(self) -> None:
        """Have the other lead."""
        url = f"http://127.0.0.1:{self.rest}/switchover"
        (other,) = (node for node in self._cluster.nodes if node is not self)

        def is_done() -> bool:
            # Refused for a moment, or done without an answer, it is asked once more.
            with suppress(httpx2.HTTPError):
                httpx2.post(url, json={"leader": self.name}, timeout=PATIENCE_S)
            return other.is_primary

        until(is_done, "the other to lead")


class Cluster:
    """All of it. Close it; its processes end with ours, whatever ends it."""

    def __init__(self) -> None:
        self._etcd = shutil.which("etcd")
        if self._etcd is None or not (_PATRONI / "bin").exists():
            pytest.skip("There is no etcd, or no Patroni: see `make proxies .tools/patroni/ready`.")
        self._server = PostgresServer()  # for its folder, its user and its programs
        self.folder = self._server.folder
        self._server.remove_after(os.getpid())
        self.programs = self._server.programs()
        self._held = ExitStack()
        self._held.callback(self._server.remove)
        packages = next(_PATRONI.glob("lib/python3*/site-packages"))
        shutil.copytree(packages, self.folder / "python")
        self.etcd, peer, *ports = _free_ports(8)
        self._start_etcd(peer)
        one, two = Node(self, "one", *ports[:2]), Node(self, "two", *ports[2:4])
        self.nodes: tuple[Node, ...] = (one, two)
        self._names = itertools.count(3)
        self._spare = ports[4], ports[5]
        for node in self.nodes:
            node.start()
        until(lambda: self.is_whole, "one to lead and the other to follow")
        led = [(node.port, node.rest) for node in self.nodes]
        self.proxy = self._held.enter_context(HaProxy.to_primary([*led, self._spare]))

    def replace(self, gone: Node) -> None:
        """Have a node of another name, at another place, come for one that was killed for good."""
        made = Node(self, f"node{next(self._names)}", *self._spare)
        self._spare = gone.port, gone.rest
        self.nodes = (made, *(node for node in self.nodes if node is not gone))
        made.start()

    @property
    def is_whole(self) -> bool:
        """Whether one leads and the other has each commit, so that it may take its place."""
        leading = self._leading()
        if len(leading) != 1:
            return False
        with suppress(httpx2.HTTPError):
            found = httpx2.get(f"http://127.0.0.1:{leading[0].rest}/cluster", timeout=5)
            if found.status_code == 200:
                states = {each["role"]: each["state"] for each in found.json()["members"]}
                return states == {"leader": "running", "sync_standby": "streaming"}
        return False

    def primary(self) -> Node:
        """The node that leads."""
        found: list[Node] = []
        until(lambda: found.extend(self._leading()) or found, "a node to lead")
        return found[0]

    def _leading(self) -> list[Node]:
        return [node for node in self.nodes if node.is_primary]

    def database(self, name: str = "postgres") -> OwnDatabase:
        """Addresses that name both nodes and the place of a third, and want the one that leads.

        The primary comes first: once it is frozen each connection waits for it, and has it again
        at the moment it goes on.
        """
        nodes = sorted(self.nodes, key=lambda node: not node.is_primary)
        ports = (*(node.port for node in nodes), self._spare[0])
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        roles = ("postgres", "commonplace_app", "commonplace_worker")
        urls = (f"postgresql://{x}@{hosts}/{name}?target_session_attrs=read-write" for x in roles)
        return OwnDatabase(*urls)

    def run(self, *words: str, log: str) -> subprocess.Popen[bytes]:
        """Start a program as the user of the servers; it is killed with us."""
        with (self.folder / log).open("ab") as output:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *words],
                user=self._server.user,
                extra_groups=None if self._server.user is None else [],
                cwd=self.folder,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.folder),
                    "PYTHONPATH": str(self.folder / "python"),
                    "LC_ALL": "C.UTF-8",
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._held.callback(_end, process)
        return process

    def _start_etcd(self, peer: int) -> None:
        client, other = (f"http://127.0.0.1:{port}" for port in (self.etcd, peer))
        self.run(
            *(str(self._etcd), "--name", "e", "--data-dir", str(self.folder / "etcd")),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", other, "--initial-advertise-peer-urls", other),
            *("--initial-cluster", f"e={other}"),
            log="etcd.log",
        )

    def close(self) -> None:
        """Kill all of it, log the last that its programs said, and delete its folder."""
        for node in self.nodes:
            node.signal(signal.SIGKILL)
        for each in sorted(self.folder.glob("*.log")):
            last = each.read_text("utf-8", errors="replace").splitlines()[-_LAST_LINES:]
            # As a warning: the report of a failed test shows no less, unless asked.
            LOG.warning("%s: %s", each.name, "\n".join(last))
        self._held.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE_S)


def _is_gone(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _signal_all(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with suppress(psutil.Error):
            first = psutil.Process(pid)
            first.suspend()  # so that it starts no process that is not listed
            for each in (first, *first.children(recursive=True)):
                with suppress(psutil.Error):
                    each.send_signal(number)


def _free_ports(count: int) -> Iterator[int]:
    """Ports of 127.0.0.1 that nobody listens at, of those that a system hands to no one unasked.

    So a server that is started again finds its port free, whatever others were given.
    """
    tried = itertools.count(10_000 + os.getpid() % 800 * 12)
    while count:
        with socket.socket() as opened, suppress(OSError):
            opened.bind(("127.0.0.1", port := next(tried)))
            count -= 1
            yield port
