"""A proxy of a test between a program and Postgres, which says another process answers than does."""

from __future__ import annotations

import socket
import struct
import tempfile
import threading
from contextlib import suppress

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_READY, _KEY = b"Z", b"K"


class Relay:
    """Hands on what comes; url: where it listens. Close it."""

    def __init__(self, url) -> None:
        given = conninfo_to_dict(url)
        self._host, self._port = given["host"], int(given.get("port", 5432))
        # Short, for a socket's path.
        self._folder = tempfile.TemporaryDirectory(prefix="cp-relay-")
        self.url = make_conninfo(url, host=self._folder.name)
        self._open = [socket.socket(socket.AF_UNIX)]
        self._open[0].bind(self._path(self._folder.name))
        self._open[0].listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._folder.cleanup()

    def _path(self, folder) -> str:
        return f"{folder}/.s.PGSQL.{self._port}"

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._path(self._host))
        return server

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._open[0].accept()
                server = self._connect()
                self._open += [client, server]
                for hand_on, ends in ((_copy, (client, server)), (_rename, (server, client))):
                    threading.Thread(target=hand_on, args=ends, daemon=True).start()


def _copy(giver, taker) -> None:
    with suppress(OSError):
        while some := giver.recv(1 << 16):
            taker.sendall(some)
        taker.shutdown(socket.SHUT_WR)


def _rename(server, client) -> None:
    """Until the session is ready each message is read: one names the process and a key."""
    kind = b""
    with suppress(OSError), server.makefile("rb", buffering=0) as sent:
        while kind != _READY and (kind := sent.read(1)):
            size = sent.read(4)
            rest = sent.read(struct.unpack("!I", size)[0] - 4)
            if kind == _KEY:
                (process,) = struct.unpack("!I", rest[:4])
                rest = struct.pack("!I", process + 1) + rest[4:]
            client.sendall(kind + size + rest)
    _copy(server, client)
