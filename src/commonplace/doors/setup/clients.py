"""Where each MCP client keeps its list of servers, and how Commonplace is added to it.

Never changes a file it cannot parse, never drops another entry, and never writes without a backup.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.config.table import SETTINGS
from commonplace.config.toml_edit import render_toml_value, set_toml_value
from commonplace.core.errors import CommonplaceError, Conflict, Invalid
from commonplace.core.files import make_folder, replace_file, translated, write_new
from commonplace.core.programs import find_program
from commonplace.core.toml import parse_toml
from commonplace.doors.setup.json_text import parse_json_object, set_json_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

SERVER = "commonplace"
_FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine, as far as it decides where clients keep their files.

    Args:
        platform: As `sys.platform`.
        home: The user's home folder.
        environ: The environment variables.
    """

    platform: str
    home: Path
    environ: Mapping[str, str]

    def folder(self, variable: str, *below_home: str) -> Path:
        """The folder a variable names, if it is absolute; else one below the home."""
        named = self.environ.get(variable, "")
        return Path(named) if os.path.isabs(named) else self.home.joinpath(*below_home)

    def application_folder(self, *names: str) -> Path:
        """Where desktop programs of this platform keep their settings."""
        if self.platform == "darwin":
            return self.home.joinpath("Library", "Application Support", *names)
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming").joinpath(*names)
        return self.folder("XDG_CONFIG_HOME", ".config").joinpath(*names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One MCP client.

    Args:
        title: Its name.
        file: Where a machine has its list of servers.
        table: The key of that list in the file.
        afterwards: What the user does next, a sentence.
        extra: What an entry holds besides command and args.
        toml: Whether the file is TOML; else it is JSON.
        variables: Where an entry lists the names of the variables that the client hands on; empty
            where it hands on all it has.
    """

    title: str
    file: Callable[[Machine], Path]
    table: str
    afterwards: str
    extra: Mapping[str, str]
    toml: bool = False
    variables: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A planned change of a client's file.

    Args:
        file: The file.
        before: Its content; None where there is no file yet.
        after: What is to be written.
    """

    file: Path
    before: bytes | None
    after: bytes


def read_text(client: Client, machine: Machine) -> str:
    """The text of the client's file; empty where there is none, or it cannot be read."""
    try:
        return (_content(client.file(machine)) or b"").decode("utf-8-sig")
    except (UnicodeDecodeError, CommonplaceError):
        return ""


def find_options(client: Client, machine: Machine) -> list[str]:
    """The words after `mcp` in our entry in the client's file; empty where there are none."""
    parse = parse_toml if client.toml else parse_json_object
    try:
        servers = parse(read_text(client, machine), name="").get(client.table)
    except Invalid:
        return []
    entry = servers.get(SERVER) if isinstance(servers, dict) else None
    args = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(args, list) or "mcp" not in args:
        return []
    return [str(word) for word in args[args.index("mcp") + 1 :]]


def render_block(
    client: Client, command: Sequence[str], machine: Machine, *, beside: str = ""
) -> str:
    """The lines that a user adds to a client's file.

    Args:
        client: The client.
        command: What starts our server.
        machine: Whose variables the server is to see.
        beside: The text of the file, which decides the form of TOML: a table that is written in
            braces takes no header of its own.
    """
    if client.toml:
        entry = _entry(client, command, machine)
        lines = [f"{key} = {render_toml_value(value)}" for key, value in entry]
        header = f"[{client.table}.{SERVER}]"
        if _is_toml(beside) and not _is_toml(f"{beside}\n[{client.table}.{SERVER}-]\n"):
            inside = f"{SERVER} = {{ {', '.join(lines)} }}"
            return f"# inside the braces of {client.table}, after a comma:\n{inside}"
        return "\n".join([header, *lines])
    block = {client.table: {SERVER: dict(_entry(client, command, machine))}}
    return json.dumps(block, ensure_ascii=False, indent=2)


def plan_setup(client: Client, command: Sequence[str], machine: Machine) -> Change | None:
    """The change that puts our server into the client's file; None where it is there already.

    Other servers, keys, comments and what the user added to our entry stay. Raises Invalid, with
    the block to paste, for a file that cannot be edited safely.
    """
    file = client.file(machine)
    before = _content(file)
    text = ""
    try:
        text = (before or b"").decode("utf-8-sig")
        after = (_with_toml if client.toml else _with_json)(text, client, command, machine)
    except UnicodeDecodeError as exc:
        raise _not_editable(f"{file} is not UTF-8 text.", client, command, machine, text) from exc
    except Invalid as exc:
        raise _not_editable(exc.message, client, command, machine, text) from exc
    if after == text:
        return None
    mark = b"\xef\xbb\xbf" if (before or b"").startswith(b"\xef\xbb\xbf") else b""
    return Change(file=file, before=before, after=mark + after.encode())


def write_change(change: Change, *, now: datetime) -> Path | None:
    """Write a planned change; a link stays a link, and a mode stays as it was.

    Args:
        change: From `plan_setup`.
        now: Aware UTC; names the backup.

    Returns:
        The backup of the file as it was; None for a new file.

    Raises:
        Conflict: The file has changed since it was read.
    """
    if _content(change.file) != change.before:
        raise Conflict(f"{change.file} has just been changed by another.", hint="Try again.")
    target = Path(os.path.realpath(change.file))
    make_folder(target.parent)
    backup = None
    if change.before is not None:
        stamp = f"{now:%Y%m%dT%H%M%S%fZ}"
        backup = change.file.with_name(f"{change.file.name}.backup-{stamp}")
        write_new(backup, change.before, mode=target.stat().st_mode & 0o777)
    replace_file(target, change.after)
    return backup


def own_command(argv0: str, executable: str) -> list[str]:
    """The command by which a client starts Commonplace: the program, or Python with `-m`.

    Clients start it in the folder of a repository: without `-P`, Python would import a
    `commonplace.py` from there.

    Args:
        argv0: The name that this process was started by.
        executable: The path of its Python.
    """
    called = shutil.which(argv0) if Path(argv0).stem.lower() == SERVER else None
    found = called or find_program(SERVER, beside=os.path.dirname(executable))
    return [os.path.abspath(found)] if found else [executable, "-P", "-m", "commonplace"]


def _entry(
    client: Client,
    command: Sequence[str],
    machine: Machine,
    present: Mapping[str, Any] | None = None,
) -> list[tuple[str, Any]]:
    """What our entry holds. present: what it holds already."""
    entry = [*client.extra.items(), ("command", command[0]), ("args", list(command[1:]))]
    if not client.variables:
        return entry
    listed = (present or {}).get(client.variables, [])
    kept = listed if isinstance(listed, list) else []
    named = [*kept, *(name for name in _own_variables(machine.environ) if name not in kept)]
    return [*entry, *([(client.variables, named)] if named else [])]


def _own_variables(environ: Mapping[str, str]) -> list[str]:
    """The names of the variables that are set, and that decide how the server works."""
    known = {*_FOLDER_VARIABLES, *(setting.env for setting in SETTINGS)}
    return sorted(name for name, value in environ.items() if value and name in known)


def _content(file: Path) -> bytes | None:
    with translated(file):
        return file.read_bytes() if file.exists() else None


def _with_json(text: str, client: Client, command: Sequence[str], machine: Machine) -> str:
    name = str(client.file(machine))
    servers = parse_json_object(text, name=name).get(client.table, {})
    present = servers.get(SERVER) if isinstance(servers, dict) else None
    present = present if isinstance(present, dict) else {}
    wanted = {**present, **dict(_entry(client, command, machine, present))}
    return (
        text if wanted == present else set_json_entry(text, client.table, SERVER, wanted, name=name)
    )


def _with_toml(text: str, client: Client, command: Sequence[str], machine: Machine) -> str:
    name = str(client.file(machine))
    servers = parse_toml(text, name=name).get(client.table, {})
    found = servers.get(SERVER) if isinstance(servers, dict) else None
    present = found if isinstance(found, dict) else {}
    for key, value in _entry(client, command, machine, present):
        if present.get(key) != value:
            text = set_toml_value(text, (client.table, SERVER, key), value, name=name)
    return text


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _not_editable(
    message: str, client: Client, command: Sequence[str], machine: Machine, text: str
) -> Invalid:
    block = render_block(client, command, machine, beside=text)
    return Invalid(message, hint=f"Add this to it yourself:\n{block}")


def _claude_desktop(machine: Machine) -> Path:
    name = "claude_desktop_config.json"
    if machine.platform == "win32":
        # The packaged app reads a folder of its own, whatever its Edit Config button opens.
        packages = machine.folder("LOCALAPPDATA", "AppData", "Local") / "Packages"
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache" / "Roaming" / "Claude" / name
    return machine.application_folder("Claude", name)


CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        title="Claude Code",
        file=lambda machine: machine.folder("CLAUDE_CONFIG_DIR") / ".claude.json",
        table="mcpServers",
        extra={"type": "stdio"},
        afterwards="Start a new session; /mcp lists it.",
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        file=_claude_desktop,
        table="mcpServers",
        extra={},
        afterwards="Quit Claude Desktop and start it again.",
    ),
    "cursor": Client(
        title="Cursor",
        file=lambda machine: machine.home / ".cursor" / "mcp.json",
        table="mcpServers",
        extra={},
        afterwards="Look for it in Cursor's settings, under MCP.",
    ),
    "vscode": Client(
        title="VS Code",
        file=lambda machine: machine.application_folder("Code", "User", "mcp.json"),
        table="servers",
        extra={"type": "stdio"},
        afterwards="Run the command MCP: List Servers in VS Code to start it.",
    ),
    "codex": Client(
        title="Codex",
        file=lambda machine: machine.folder("CODEX_HOME", ".codex") / "config.toml",
        table="mcp_servers",
        extra={},
        afterwards="Start Codex again; /mcp lists it.",
        toml=True,
        # Of all others it hands on a few, such as HOME and PATH: COMMONPLACE_HOME would be lost.
        variables="env_vars",
    ),
}
