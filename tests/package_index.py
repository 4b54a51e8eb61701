"""A package index on 127.0.0.1, for pip and uv, with the wheels of a folder."""

from __future__ import annotations

import contextlib
import http.server
import os
import threading

from tests.patience import PATIENCE_S


class Index(http.server.ThreadingHTTPServer):
    """A package index with the wheels of a folder, which may stop halfway through one."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), _Answers)
        self.folder = folder
        self.asked: list[str] = []
        self.stops = False
        self.stopped = threading.Event()
        self.ends = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def handle_error(self, request, client_address):
        """A client that was killed is part of the tests."""


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        index = self.server
        index.asked.append(self.path)
        wheels = {path.name: path for path in index.folder.glob("*.whl")}
        pages = {f"/simple/{name.split('-')[0].replace('_', '-')}/": name for name in wheels}
        if name := pages.get(self.path):
            self._answer(f'<a href="/{name}">{name}</a>'.encode(), "text/html")
        elif self.path[1:] in wheels:
            self._answer(wheels[self.path[1:]].read_bytes(), "application/zip")
        else:
            self.send_error(404)

    def _answer(self, content: bytes, kind: str) -> None:
        index = self.server
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if index.stops and kind == "application/zip":
            self.wfile.write(content[: len(content) // 2])
            index.stopped.set()
            index.ends.wait(PATIENCE_S)
            return
        self.wfile.write(content)

    def log_message(self, *args):
        """Quiet."""


@contextlib.contextmanager
def serving(folder, monkeypatch):
    """The index of a folder, which the user's configuration of pip and uv names."""
    server = Index(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    for name, value in {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": server.address,
        "PIP_RETRIES": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_NO_CONFIG": "1",
        "UV_DEFAULT_INDEX": server.address,
        "UV_HTTP_RETRIES": "0",
    }.items():
        monkeypatch.setenv(name, value)
    yield server
    server.ends.set()
    server.shutdown()
    thread.join()
    server.server_close()
