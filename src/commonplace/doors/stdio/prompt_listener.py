"""Answers the prompts that hooks of this project send, on a socket that only this user can reach.

Never answers another user, never lets what is sent harm the session, and opens nothing that the
server has not opened for itself.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.doors.prompt_socket import (
    FOLDER,
    MOST_REFS,
    REFS_SUFFIX,
    SUFFIX,
    is_ours,
    is_same_user,
    prefix_of,
    receive_line,
)
from commonplace.verbs.brief.render import render_recalled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.app import App

_log = logging.getLogger(__name__)

READ_S = 0.5
"""How long the whole of a question may take: it is one write of a process that waits 0.1 s."""

QUEUE = 8
LONGEST_ADDRESS = 100
REFS_KEPT_S = 7 * 86_400
ABANDONED_S = 60.0
"""After what time a socket that never got its name, or a file that was half written, goes."""

_WARMING = "a prompt that nobody asked"


class PromptListener:
    """The socket of one server, started once encoder and index are loaded."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._path = ""
        self._closing = threading.Lock()
        self._is_closed = False

    def start(self) -> None:
        """Listen, unless the settings forbid it or the system has no such sockets; never raises.

        Without an encoder nothing is strong, so nobody listens.
        """
        settings = self._app.settings
        if not settings.hooks.recall or not hasattr(socket, "AF_UNIX"):
            return
        if not self._app.finder.is_ready:
            _log.info("No encoder: prompts bring nothing to mind.")
            return
        try:
            self._app.prompts().find_strong(_WARMING, ())
            listening = self._listen()
        except (OSError, CommonplaceError) as exc:
            _log.warning("Prompts bring nothing to mind: %s", exc)
            return
        threading.Thread(
            target=_serve, args=(listening, self._app), name="prompts", daemon=True
        ).start()

    def close(self) -> None:
        """Take the socket's name away; may be called twice, and before `start`."""
        with self._closing:
            self._is_closed = True
            if self._path:
                with suppress(OSError):
                    os.unlink(self._path)

    def _listen(self) -> socket.socket:
        """A socket under its name. It listens before it has that: so one that refuses is dead."""
        folder = os.path.join(self._app.folder, FOLDER)
        self._app.make_folder(self._app.folder / FOLDER)
        if not is_ours(folder):
            raise PermissionError(f"{folder} must be yours alone: chmod 700.")
        _remove_dead(folder)
        project = self._app.settings.project
        # No process number: two containers on one home have the same ones.
        name = f"{prefix_of(os.fspath(project) if project else '')}{os.urandom(4).hex()}"
        path = os.path.join(folder, f"{name}{SUFFIX}")
        unnamed = f"{name}.new"
        listening = socket.socket(socket.AF_UNIX)
        for address in _addresses(folder, unnamed):
            listening.bind(address)
        os.chmod(os.path.join(folder, unnamed), 0o600)
        listening.listen(QUEUE)
        with self._closing:
            os.replace(os.path.join(folder, unnamed), path)
            self._path = path
        if self._is_closed:  # while this was made
            self.close()
        return listening


def _addresses(folder: str, name: str) -> Iterator[str]:
    """The one address of a file, by way of its open folder where its path is too long."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield path
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def _serve(listening: socket.socket, app: App) -> None:
    """Answer one after another, as long as the process lives."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # too many files are open, say
            time.sleep(READ_S)
            continue
        with connection:
            try:
                _answer(connection, app)
            except (OSError, CommonplaceError) as exc:
                _log.debug("A prompt was not answered: %s", type(exc).__name__)
            except Exception:  # noqa: BLE001  a thread's last line: the session goes on
                _log.exception("A prompt was not answered")


def _answer(connection: socket.socket, app: App) -> None:
    if not is_same_user(connection):
        return
    asked = _parse(receive_line(connection, time.monotonic() + READ_S))
    if asked is None or _has_left(connection):
        return
    prompt, shown = asked
    items, zone = app.prompts().find_strong(prompt, shown), app.settings.timezone
    text = render_recalled(
        items, lambda at: datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M")
    )
    answer = {"text": text, "refs": [item.ref for item in items]}
    connection.settimeout(READ_S)
    connection.sendall(json.dumps(answer).encode() + b"\n")


def _parse(line: bytes) -> tuple[str, frozenset[str]] | None:
    """The prompt and the refs that its session knows; None for what no hook of ours sends."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("prompt"), str):
        return None
    shown = said.get("shown")
    refs = shown[:MOST_REFS] if isinstance(shown, list) else []
    return said["prompt"], frozenset(ref for ref in refs if isinstance(ref, str))


def _has_left(connection: socket.socket) -> bool:
    """Whether the hook gave up, as it does while the one before is being answered."""
    connection.settimeout(0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False


def _remove_dead(folder: str) -> None:
    """Remove what killed servers and sessions long over have left."""
    now = time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                age = now - entry.stat(follow_symlinks=False).st_mtime
                if entry.name.endswith(SUFFIX):
                    is_dead = _refuses(folder, entry.name)
                else:
                    kept_s = REFS_KEPT_S if entry.name.endswith(REFS_SUFFIX) else ABANDONED_S
                    is_dead = age > kept_s
                if is_dead:
                    os.unlink(entry.path)


def _refuses(folder: str, name: str) -> bool:
    """Whether nobody listens any more."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(READ_S)
        try:
            for address in _addresses(folder, name):
                connection.connect(address)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
