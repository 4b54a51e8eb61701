"""Makes the snapshots that sessions begin from, by asking the SDK itself.

Never keeps a snapshot that may belong to another state than its key names.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.config.settings import NARROWED_BY, read_settings, user_file
from commonplace.config.table import SETTINGS
from commonplace.core.files import make_folder, replace_file
from commonplace.doors import entry_point
from commonplace.doors.protocol import MODERN
from commonplace.doors.stdio.front import UNKNOWN, VERSION_KEY
from commonplace.doors.stdio.snapshot import (
    MOST_SNAPSHOTS,
    read_argv,
    read_snapshot,
    snapshot_folder,
    snapshot_path,
    start_key,
    user_files,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.config.table import Settings
    from commonplace.tools.toolset import Toolset

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
SETTLED_S = 3.0
"""A file of settings younger than this may change again within one tick of its clock."""

_CLIENT = {"name": "commonplace", "version": "0"}
_ENVELOPE = {
    VERSION_KEY: MODERN,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def write_snapshot(
    key: str, toolsets: Sequence[Toolset], settings: Settings, flags: Mapping[str, object]
) -> bool:
    """Write the snapshot of a key, if the state is still the one that the key names.

    Args:
        key: From `start_key`.
        toolsets: What the session offers.
        settings: As read for this start.
        flags: The command line's options, by the keys of settings.

    Returns:
        Whether it was written.
    """
    if start_key(read_argv(key)) != key or not _is_settled(key, settings):
        return False
    snapshot = make_snapshot(toolsets)
    facts = {"key": key, "preload": settings.preload, "flags": dict(flags), **snapshot}
    path = Path(snapshot_path(key))
    make_folder(path.parent)
    if start_key(read_argv(key)) != key:
        return False
    delete_snapshot(key)  # a file that is there would lend it its mode
    replace_file(path, json.dumps(facts).encode(), mode=0o600)
    _drop_oldest(path.parent)
    return True


def list_snapshots() -> list[dict[str, Any]]:
    """List the snapshots of this installation for a start in this folder."""
    keys = []
    paths: list[Path] = []
    with suppress(OSError):
        paths = sorted(Path(snapshot_folder()).glob("*.json"))
    for path in paths:
        with suppress(OSError, ValueError, LookupError, TypeError):
            key = json.loads(path.read_text("utf-8"))["key"]
            if start_key(read_argv(key)) == key:
                keys.append(key)
    return [found for key in keys if (found := read_snapshot(key)) is not None]


def matches_sdk(snapshot: Mapping[str, Any], *, user_home: Path | None) -> bool:
    """Whether a snapshot holds the answers that the SDK gives now."""
    from commonplace.app import App

    settings = read_settings(flags=snapshot["flags"], cwd=Path.cwd(), home=user_home)
    made = make_snapshot(App(settings, user_home=user_home).toolsets())
    expected = {**made, "preload": settings.preload}
    return all(snapshot.get(name) == value for name, value in expected.items())


def keep_snapshot(
    argv: Sequence[str], *, flags: Mapping[str, object], user_home: Path | None
) -> bool:
    """Make the snapshot of `commonplace mcp`, so that its first session begins at once.

    Args:
        argv: The words after `mcp`.
        flags: What those words set, by the keys of settings.
        user_home: The home folder; None for a user who has none.

    Returns:
        Whether there is a snapshot now.
    """
    from commonplace.app import App

    key = start_key(argv)
    if key is None:
        return False
    if read_snapshot(key) is not None:
        return True
    settings = read_settings(flags=flags, cwd=Path.cwd(), home=user_home)
    app = App(settings, user_home=user_home)
    return write_snapshot(key, app.toolsets(), settings, flags)


def delete_snapshot(key: str) -> None:
    """Delete the snapshot of a key, if there is one."""
    with suppress(OSError):
        os.unlink(snapshot_path(key))


def make_snapshot(toolsets: Sequence[Toolset]) -> dict[str, Any]:
    """Ask the SDK: `texts`, and `answers` by revision and method, each an index into `texts`."""
    converse = entry_point("mcp_in_memory")
    texts: list[str] = []
    answers: dict[str, dict[str, int]] = {}
    for revision, requests in _conversations().items():
        said = converse(toolsets, [json.dumps(x) for x in requests])
        asked = [x for x in requests if "id" in x]
        if len(said) != len(asked):
            raise ValueError(revision)
        row = answers.setdefault(revision, {})
        for request, line in zip(asked, said, strict=True):
            head, tail = f'{{"jsonrpc":"2.0","id":{request["id"]},', line.removesuffix("\n")
            if not tail.startswith(head):
                raise ValueError(revision)
            text = tail.removeprefix(head)
            if text not in texts:
                texts.append(text)
            row[request["method"]] = texts.index(text)
    return {"texts": texts, "answers": answers}


def _conversations() -> dict[str, list[dict[str, Any]]]:
    handshakes = {revision: revision for revision in REVISIONS} | {UNKNOWN: "0"}
    requests = {"": _numbered("ping")}
    for name, revision in handshakes.items():
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _CLIENT}
        requests[name] = [
            *_numbered("initialize", params=params),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *_numbered("ping", *LISTS, first=1),
        ]
    modern = _numbered("server/discover", "ping", *LISTS, params={"_meta": _ENVELOPE})
    return requests | {MODERN: modern}


def _numbered(
    *methods: str, params: Mapping[str, Any] | None = None, first: int = 0
) -> list[dict[str, Any]]:
    more = {} if params is None else {"params": params}
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, **more}
        for number, method in enumerate(methods, first)
    ]


def _is_settled(key: str, settings: Settings) -> bool:
    """Whether the key names every file that sets something, and none was written just now."""
    files = [x for x in json.loads(key)[-1] if isinstance(x, list)]
    named = {path for path, *_ in files}
    origins = {
        origin.removesuffix(f" ({setting.key})")
        for setting in SETTINGS
        for origin in settings.origins.get(setting.key, "").split(NARROWED_BY)
        if origin.endswith(f" ({setting.key})")
    }
    newest = max((max(state[1:3]) for state in files), default=0)
    return (
        origins <= named
        and str(user_file()) in user_files()
        and newest / 1e9 < time.time() - SETTLED_S
    )


def _drop_oldest(folder: Path) -> None:
    with suppress(OSError):
        kept = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MOST_SNAPSHOTS]:
            path.unlink()
