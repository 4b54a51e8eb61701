"""What a prompt brings to mind, asked of a running server of this session's project.

Never waits longer than WAIT_S in all, and opens no journal and no index: where no server answers,
nothing is said.
"""

from __future__ import annotations

import json
import os

from commonplace.doors.prompt_socket import (
    FOLDER,
    MOST_PROMPT,
    MOST_REFS,
    REFS_SUFFIX,
    SUFFIX,
    is_ours,
    is_same_user,
    prefix_of,
    receive_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.config.quick import QuickSettings
    from commonplace.doors.hooks.client_messages import HookCall

WAIT_S = 0.1

_MOST_SERVERS = 8
_MOST_REFS_BYTES = 1 << 15


def recall_for(call: HookCall, settings: QuickSettings) -> str:
    """What a server finds for a prompt; empty where none is in time. Raises: OSError."""
    import socket

    folder = os.path.join(settings.owner_folder, FOLDER)
    if not hasattr(socket, "AF_UNIX") or not call.prompt.strip() or not is_ours(folder):
        return ""
    from commonplace.verbs.brief.project import find_root

    prefix = prefix_of(find_root(settings, call.cwd))
    shown = _read_refs(folder, call)
    asked = {"prompt": call.prompt[:MOST_PROMPT], "shown": shown}
    text, refs = _read_answer(_ask(folder, prefix, json.dumps(asked).encode() + b"\n"))
    if text:
        _keep_refs(folder, call, [*shown, *refs])
    return text


def note_brief(call: HookCall, settings: QuickSettings, brief: str) -> None:
    """Note what a brief showed to a session; a cut lets it be shown again. Raises: OSError."""
    folder = os.path.join(settings.owner_folder, FOLDER)
    if not os.path.isdir(folder):
        from commonplace.core.files import make_folder

        make_folder(folder)
    if is_ours(folder):
        ends = (line.rpartition(" [") for line in brief.splitlines() if line.endswith("]"))
        _keep_refs(folder, call, [ref[:-1] for _, sign, ref in ends if sign])


def _ask(folder: str, prefix: str, asked: bytes) -> bytes:
    """The answer of the newest server that is alive; empty where there is none in time."""
    import socket
    import time

    ends = time.monotonic() + WAIT_S
    os.chdir(folder)  # the whole path may be longer than the address of a socket
    for name in _newest(prefix):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_S)
            try:
                connection.connect(name)
            except OSError:  # its process is dead, or answers nobody
                continue
            try:
                if not is_same_user(connection):
                    continue
                connection.settimeout(max(ends - time.monotonic(), 0.001))
                connection.sendall(asked)
                return receive_line(connection, ends)
            except OSError:
                return b""
    return b""


def _newest(prefix: str) -> list[str]:
    """The names of the sockets of a project in the working folder, the newest first."""
    found = []
    with os.scandir(".") as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(SUFFIX):
                try:
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
                except OSError:  # it was just removed
                    continue
    return [name for _, name in sorted(found, reverse=True)[:_MOST_SERVERS]]


def _read_answer(line: bytes) -> tuple[str, list[str]]:
    """The text to show and the refs in it; nothing for what is no answer of ours."""
    try:
        said = json.loads(line)
        text, refs = said["text"], said["refs"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return "", []
    if not isinstance(text, str) or not isinstance(refs, list):
        return "", []
    return text, [ref for ref in refs if isinstance(ref, str) and "\n" not in ref]


def _refs_file(folder: str, call: HookCall) -> str:
    from commonplace.core.digest import sha256_hex

    digest = sha256_hex(os.fsencode(f"{call.client}/{call.session}"))[:16]
    return os.path.join(folder, f"{digest}{REFS_SUFFIX}")


def _read_refs(folder: str, call: HookCall) -> list[str]:
    try:
        with open(_refs_file(folder, call), "rb") as file:
            lines = file.read(_MOST_REFS_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    return [line for line in lines if line][-MOST_REFS:]


def _keep_refs(folder: str, call: HookCall, refs: Sequence[str]) -> None:
    if not call.session:
        return
    path = _refs_file(folder, call)
    part = f"{path}.{os.urandom(4).hex()}"
    kept = "".join(f"{ref}\n" for ref in refs[-MOST_REFS:])
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(part, flags, 0o600)
    os.write(descriptor, kept.encode("utf-8", "replace"))
    os.close(descriptor)
    os.replace(part, path)
