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

_PAGE = Path(__file__).parents[2] / "docs" / "http.md"


def read_page() -> str:
    """What the page tells to set."""
    (told,) = re.findall(r"```\n(defaults\n.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    return str(told)


def find_program() -> str:
    """Where haproxy is; the test is skipped where it is nowhere."""
    program = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("There is no haproxy.")
    return program


def _conf_of_page() -> str:
    """What the page tells to set, with places for what a test fills in.

    Nothing is tried again: whatever a server refuses reaches the client. It looks more often.
    """
    told = read_page().removeprefix("defaults\n").replace("{", "{{").replace("}", "}}")
    told = told.replace("inter 1s fall", "inter 250ms fall").replace("bind :8080", "bind fd@{fd}")
    told = re.sub(r"(\n +server .*)+", "\n{servers}", told)
    return f"global\n    stats socket {{folder}}/stats\ndefaults\n    retries 0\n{told}"


_TO_PRIMARY = """
global
    stats socket {folder}/stats
defaults
    mode tcp
    timeout connect 2s
    timeout client 300s
    timeout server 300s
    timeout check 2s
listen ready
    bind fd@{fd}
    option httpchk GET /primary
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class HaProxy:
    """One address before servers at these ports. Close it.

    Args:
        ports: Of each server.
        conf: What it does; empty for what the page tells to set.
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
            file.write_text((conf or _conf_of_page()).format(**filled))
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
        return cls([*more], conf=_TO_PRIMARY, more=more)

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
        found = (x for x in rows if (x["# pxname"], x["svname"]) == ("ready", f"s{port}"))
        return next(found)[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.terminate()
        self._running.wait(PATIENCE_S)
        shutil.rmtree(self._folder)
