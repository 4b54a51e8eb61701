"""Where each MCP client keeps its servers, hooks and skills: the table of clients.

Never reads or writes a file: `files` does.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.config.table import SETTINGS
from commonplace.core.errors import Invalid
from commonplace.core.programs import find_program
from commonplace.core.toml import parse_toml
from commonplace.doors.setup.json_text import parse_json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FOLDER_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA")
_OF_LINKS = frozenset({"COMMONPLACE_SERVE_ADDRESS"})
_OF_OTHER_ROLES = frozenset({"database.worker_url", "database.admin_url"})

SERVER = "commonplace"
"""Our usual name among a client's servers, and that of our plugins."""

RUN_BY_UV = ("uvx", "commonplace-memory")
"""What starts Commonplace where only uv is installed: the plugins' line, and the registry's."""
_PROGRAMS = frozenset({SERVER, RUN_BY_UV[1], "cpl"})


class Machine(Struct, frozen=True, kw_only=True):
    """A machine, as far as it decides where clients keep their files."""

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


class Client(Struct, frozen=True, kw_only=True):
    """One MCP client.

    Args:
        file: Where a machine has its list of servers.
        table: The key of that list in the file.
        afterwards: What the user does next, a sentence.
        extra: What an entry holds besides the command.
        variables: Where an entry lists the names of the variables that the client hands on; empty
            where it hands on all it has.
        is_one_list: Whether an entry has the program and its arguments in one list.
        hooks_file: Where a machine has its hooks; None for a client without hooks in a file.
        skills: The folder of the user's skills; None for a client that reads none of its own.
        module: Where a module of ours goes that the client loads; None where it loads none.
        plugin: The file in which our plugin is named where it is installed, and the keys that lead
            to it there; None for a client without plugins of ours.
        rules_file: Where a machine has what tools may be called without asking; None for a client
            that keeps that in no file.
        how_to_allow: What the user of such a client does instead, a sentence.
    """

    title: str
    file: Callable[[Machine], Path]
    table: str
    afterwards: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    is_toml: bool = False
    variables: str = ""
    is_one_list: bool = False
    hooks_file: Callable[[Machine], Path] | None = None
    skills: Callable[[Machine], Path] | None = None
    module: Callable[[Machine], Path] | None = None
    plugin: tuple[Callable[[Machine], Path], Sequence[str]] | None = None
    rules_file: Callable[[Machine], Path] | None = None
    how_to_allow: str = ""

    def entry(self, command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
        """The entry of our server among the client's."""
        if self.is_one_list:
            return {**self.extra, "command": list(command)}
        entry = {**self.extra, "command": command[0], "args": list(command[1:])}
        named = [x for x in variables_of_clients() if environ.get(x)] if self.variables else []
        return {**entry, self.variables: named} if named else entry

    def is_ours(self, entry: object) -> bool:
        """Whether an entry starts Commonplace, as `setup` or the user wrote it; or is empty."""
        words = self.command(entry)
        programs = [_program(word) in _PROGRAMS for word in words]
        before_mcp = zip(programs, words[1:], strict=False)
        starts = any(programs[:1]) or any(is_ours and word == "mcp" for is_ours, word in before_mcp)
        return starts or entry == {}

    def command(self, entry: object) -> list[str]:
        """The command of an entry, word by word; empty where it has none."""
        if not isinstance(entry, dict):
            return []
        command, args = entry.get("command"), entry.get("args", [])
        words = command if isinstance(command, list) else [command]
        words = [*words, *args] if isinstance(args, list) else words
        return [word for word in words if isinstance(word, str)]


def _program(word: str) -> str:
    """A word of a command without its folders and its ending, in lower case."""
    name = re.split(r"[/\\]", word)[-1].lower()
    return name.removesuffix(".exe").removesuffix(".cmd")


def own_variables() -> list[str]:
    """The names of all variables that decide how Commonplace works."""
    return sorted({*_FOLDER_VARIABLES, *(setting.env for setting in SETTINGS)})


def variables_of_clients() -> list[str]:
    """Those that decide how the server works that a client starts.

    Never those of a server of many users, its worker or its migrations: some hold secrets, and a
    client starts none of them.
    """
    left_out = {x.env for x in SETTINGS if x.key.startswith("serve.")} - _OF_LINKS
    left_out |= {x.env for x in SETTINGS if x.key in _OF_OTHER_ROLES}
    return [name for name in own_variables() if name not in left_out]


def own_command(argv0: str, executable: str) -> list[str]:
    """The command by which a client starts Commonplace: the program, uvx, or Python with `-m`.

    Clients start it in the folder of a repository: without `-P`, Python would import a
    `commonplace.py` from there.
    """
    if "archive-v0" in Path(executable).parts:  # the cache of uv, which it empties now and then
        return [find_program(RUN_BY_UV[0]) or RUN_BY_UV[0], *RUN_BY_UV[1:]]
    called = shutil.which(argv0) if Path(argv0).stem.lower() == SERVER else None
    found = called or find_program(SERVER, beside=os.path.dirname(executable))
    return [os.path.abspath(found)] if found else [executable, "-P", "-m", "commonplace"]


def _claude_desktop(machine: Machine) -> Path:
    name = "claude_desktop_config.json"
    if machine.platform == "win32":
        # The packaged app reads a folder of its own, whatever its Edit Config button opens.
        packages = machine.folder("LOCALAPPDATA", "AppData", "Local") / "Packages"
        for package in sorted(packages.glob("Claude_*")):
            return package / "LocalCache" / "Roaming" / "Claude" / name
    return machine.application_folder("Claude", name)


def _below(variable: str, *below_home: str) -> Callable[..., Callable[[Machine], Path]]:
    """What finds files by their names in the folder of a variable, else in one below the home."""

    def named(*names: str) -> Callable[[Machine], Path]:
        return lambda machine: machine.folder(variable, *below_home).joinpath(*names)

    return named


_claude = _below("CLAUDE_CONFIG_DIR", ".claude")
_codex = _below("CODEX_HOME", ".codex")
_copilot = _below("COPILOT_HOME", ".copilot")
_cursor = _below("", ".cursor")
_gemini = partial(_below("GEMINI_CLI_HOME"), ".gemini")
_opencode = partial(_below("XDG_CONFIG_HOME", ".config"), "opencode")
_windsurf = _below("", ".codeium", "windsurf")


def _opencode_settings(machine: Machine) -> Path:
    with_comments: Path = _opencode("opencode.jsonc")(machine)
    return with_comments if with_comments.exists() else with_comments.with_suffix(".json")


def _zed(machine: Machine) -> Path:
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.application_folder(
        "Zed" if machine.platform == "win32" else "zed", "settings.json"
    )


def parse_settings(text: str, *, is_toml: bool, name: str) -> dict[str, Any]:
    """The settings in the text of a file. Raises: Invalid."""
    return parse_toml(text, name=name) if is_toml else parse_json_object(text, name=name)


def read_settings(text: str, *, is_toml: bool) -> dict[str, Any]:
    """The settings in a text; none where it cannot be parsed."""
    try:
        return parse_settings(text, is_toml=is_toml, name="")
    except Invalid:
        return {}


OUR_PLUGIN = f"{SERVER}@{SERVER}"
"""Our plugin, by the name that clients list it under."""

CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        title="Claude Code",
        file=lambda machine: machine.folder("CLAUDE_CONFIG_DIR") / ".claude.json",
        table="mcpServers",
        # Without it the client hides all tools of MCP servers behind a search by their names.
        extra={"type": "stdio", "alwaysLoad": True},
        afterwards="Start a new session; /mcp lists it.",
        hooks_file=_claude("settings.json"),
        skills=_claude("skills"),
        plugin=(
            _claude("settings.json"),
            ("enabledPlugins", OUR_PLUGIN),
        ),
        rules_file=_claude("settings.json"),
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        file=_claude_desktop,
        table="mcpServers",
        afterwards="Quit Claude Desktop and start it again.",
        how_to_allow="Choose Always allow where it asks.",
    ),
    "cursor": Client(
        title="Cursor",
        file=_cursor("mcp.json"),
        table="mcpServers",
        afterwards="Look for it in Cursor's settings, under MCP.",
        hooks_file=_cursor("hooks.json"),
        skills=_cursor("skills"),
        rules_file=_cursor("permissions.json"),
    ),
    "vscode": Client(
        title="VS Code",
        file=lambda machine: machine.application_folder("Code", "User", "mcp.json"),
        table="servers",
        extra={"type": "stdio"},
        afterwards="Run the command MCP: List Servers in VS Code to start it.",
        how_to_allow="Choose Always Allow where it asks.",
    ),
    "codex": Client(
        title="Codex",
        file=_codex("config.toml"),
        table="mcp_servers",
        afterwards="Start Codex again; /mcp lists it. Trust its hooks in /hooks, else none runs.",
        is_toml=True,
        # Of all others it hands on a few, such as HOME and PATH: COMMONPLACE_HOME would be lost.
        variables="env_vars",
        hooks_file=_codex("hooks.json"),
        skills=_codex("skills"),
        plugin=(_codex("config.toml"), ("plugins", OUR_PLUGIN)),
        rules_file=_codex("config.toml"),
    ),
    "gemini": Client(
        title="Gemini CLI",
        file=_gemini("settings.json"),
        table="mcpServers",
        afterwards="Start Gemini again; /mcp list shows it, in folders that you trust.",
        hooks_file=_gemini("settings.json"),
        skills=_gemini("skills"),
        plugin=(
            _gemini("extensions", SERVER, "gemini-extension.json"),
            ("name",),
        ),
        rules_file=_gemini("policies", f"{SERVER}.toml"),
    ),
    "opencode": Client(
        title="OpenCode",
        file=_opencode_settings,
        table="mcp",
        extra={"type": "local", "enabled": True},
        afterwards="Start OpenCode again; `opencode mcp list` shows it.",
        is_one_list=True,
        skills=_opencode("skills"),
        module=_opencode("plugins", f"{SERVER}.js"),
        rules_file=_opencode_settings,
    ),
    "zed": Client(
        title="Zed",
        file=_zed,
        table="context_servers",
        afterwards="Look for it in the settings of Zed's agent panel.",
        rules_file=_zed,
    ),
    "windsurf": Client(
        title="Windsurf",
        file=_windsurf("mcp_config.json"),
        table="mcpServers",
        afterwards="Refresh the list of MCP servers in Windsurf's settings.",
        skills=_windsurf("skills"),
        how_to_allow="Allow the tools where it asks.",
    ),
    "copilot": Client(
        title="Copilot CLI",
        file=_copilot("mcp-config.json"),
        table="mcpServers",
        extra={"type": "local", "tools": ["*"]},
        afterwards="Start Copilot again; /mcp show lists it.",
        hooks_file=_copilot("hooks", f"{SERVER}.json"),
        skills=_copilot("skills"),
        how_to_allow="Start it with --allow-tool=commonplace, for one session.",
    ),
}
