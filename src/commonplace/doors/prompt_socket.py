"""Where a session's server listens for prompts and how hooks find it, for both ends.

Imports next to nothing: a hook has a few milliseconds. Never trusts what another user could write.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISDIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

FOLDER = "prompts"
"""The folder of the sockets, in what of the owner is only ours."""

SUFFIX = ".sock"
REFS_SUFFIX = ".refs"
"""Files of the refs that a session was given, which only hooks write."""

MOST_PROMPT = 1000
"""Characters of a prompt that are sent: what is asked stands at its beginning."""

MOST_REFS = 100
MOST_BYTES = 1 << 16
"""Of a question and of an answer; each is one line of JSON."""

_LINUX_CREDENTIALS = 12
_OTHERS = 0o077


def prefix_of(project: str) -> str:
    """How the names of a project's sockets begin; the id of the server's process follows."""
    from commonplace.core.digest import sha256_hex

    return f"{sha256_hex(os.fsencode(project))[:8]}-"


def is_ours(folder: str) -> bool:
    """Whether a folder is there, and only this user can reach into it."""
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    return S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & _OTHERS


def is_same_user(connection: socket.socket) -> bool:
    """Whether this user runs the other end; True where the system does not say who does."""
    import socket

    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder's mode has kept others out
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def receive_line(connection: socket.socket, ends: float) -> bytes:
    """What comes up to the first line break; empty where the other end leaves before.

    ends: When it must be there, on the monotonic clock.

    Raises:
        OSError: It did not come in time, or is longer than `MOST_BYTES`.
    """
    import time

    found = bytearray()
    while not found.endswith(b"\n"):
        left = ends - time.monotonic()
        if left <= 0 or len(found) > MOST_BYTES:
            raise TimeoutError
        connection.settimeout(left)
        chunk = connection.recv(MOST_BYTES)
        if not chunk:
            return b""
        found += chunk
    return bytes(found)
