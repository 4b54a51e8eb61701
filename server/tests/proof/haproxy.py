"""An haproxy of a test, where the machine has one, before servers whose readiness it asks for."""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PAGES = Path(__file__).parents[2] / "docs"


def read_pages() -> tuple[str, str]:
    """What the pages tell to set: before servers, and before the nodes of their database."""
    (servers,), (nodes,) = (
        re.findall(r"```\n(defaults\n.*?)```", (_PAGES / x).read_text("utf-8"), re.DOTALL)
        for x in ("http.md", "operating.md")
    )
    return str(servers), str(nodes)


def find_program() -> str:
    """Where haproxy is; the test is skipped where it is nowhere."""
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("There is no haproxy.")
    return program


def _conf_of(told: str) -> str:
    """What a page tells to set, with places for what a test fills in."""
    told = told.removeprefix("defaults\n").replace("{", "{{").replace("}", "}}")
    told = re.sub(r"bind \S*:\d+", "bind fd@{fd}", told)
    told = re.sub(r"(\n +server .*)+", "\n{servers}", told)
    return f"global\n    stats socket {{folder}}/stats\ndefaults\n{told}"


def conf_of_servers(*, retries: int) -> str:
    """What the page tells to set before servers; it looks more often.

    retries: of a connection that a server refuses. The page leaves that at haproxy's own 3; where
    it is 0, whatever a server refuses reaches the client.
    """
    told = read_pages()[0].replace("inter 1s fall", "inter 250ms fall")
    return _conf_of(told.replace("mode http\n", f"mode http\n    retries {retries}\n", 1))


class HaProxy:
    """One address before servers at these ports. Close it.

    Args:
        ports: Of each server.
        conf: What it does; empty for what the page tells to set, with nothing tried again.
        more: What else is set for a server, by its port.
    """

    def __init__(
        self, ports: Sequence[int], *, conf: str = "", more: Mapping[int, str] | None = None
    ) -> None:
        program = find_program()
        self._folder = Path(tempfile.mkdtemp(prefix="cp-ha-"))  # short, for a socket's path
        with socket.socket() as opened:
            opened.bind(("127.0.0.1", 0))
            opened.listen()
            self.port = opened.getsockname()[1]
            given = more or {}
            lines = [f"    server s{x} 127.0.0.1:{x} {given.get(x, '')}" for x in ports]
            file = self._folder / "conf"
            filled = {"folder": self._folder, "fd": opened.fileno(), "servers": "\n".join(lines)}
            file.write_text((conf or conf_of_servers(retries=0)).format(**filled))
            self._running = subprocess.Popen(
                [program, "-db", "-f", str(file)],
                pass_fds=[opened.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    @classmethod
    def to_primary(cls, nodes: Sequence[tuple[int, int]]) -> Self:
        """One before Postgres servers, whose Patroni says at its port which is the primary."""
        more = {port: f"port {rest}" for port, rest in nodes}
        return cls([*more], conf=_conf_of(read_pages()[1]), more=more)

    @property
    def url(self) -> str:
        """Where clients of MCP find it."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def sends_to(self, port: int) -> bool:
        """Whether it finds the server there ready."""
        return self._figure(port, "status").startswith("UP")

    def sent_to(self, port: int) -> int:
        """How many requests it has sent there."""
        return int(self._figure(port, "stot") or 0)

    def _figure(self, port: int, name: str) -> str:
        """What its statistics say of a server; empty while it does not answer."""
        assert self._running.poll() is None
        with socket.socket(socket.AF_UNIX) as asking:
            try:
                asking.connect(str(self._folder / "stats"))
            except OSError:
                return ""
            asking.sendall(b"show stat\n")
            said = b"".join(iter(lambda: asking.recv(65536), b"")).decode()
        rows = csv.DictReader(said.splitlines())
        found = (
            x for x in rows if x["# pxname"] in {"ready", "primary"} and x["svname"] == f"s{port}"
        )
        return next(found)[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.terminate()
        self._running.wait(PATIENCE_S)
        shutil.rmtree(self._folder)
