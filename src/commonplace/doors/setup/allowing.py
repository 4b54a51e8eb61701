"""What a client may call of ours without asking: where it notes that, and how.

Never allows a tool of another server, and never takes out or changes a rule of the user's own: a
note beside the file says which rules are ours. Never writes a file: `file_changes` does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.config.toml_edit import set_toml_value, unset_toml_value
from commonplace.core.errors import Conflict
from commonplace.doors import entry_point
from commonplace.doors.setup.clients import OUR_PLUGIN, SERVER, read_settings
from commonplace.doors.setup.json_text import (
    append_json_item,
    cut_json_value,
    set_json_value,
)
from commonplace.doors.setup.packaged import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

READ = "read"
ALL = "all"
NONE = "none"
LEVELS = (NONE, READ, ALL)
"""What may be called without asking: nothing, the tools that only read, all tools of ours."""

_EITHER = (READ, ALL)
_NOTE_SUFFIX = f".{SERVER}-allowed"


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of a client's file that lets it call a tool of ours, or all of them.

    Args:
        path: The keys that lead to the list that the rule is an item of, or to the rule itself.
        levels: The levels that need it.
        is_item: Whether it is an item of a list.
        is_wanted: Whether it is to be in the file; else it is taken out where it is ours.
        is_ours: Whether the note says that setup wrote it.
    """

    path: tuple[str, ...]
    value: Any
    levels: tuple[str, ...]
    is_item: bool = False
    is_toml: bool = False
    is_wanted: bool = False
    is_ours: bool = False
    kind: str = "rule"

    @property
    def label(self) -> str:
        """The rule in a line, as the note has it."""
        return str(self.value) if self.is_item else f"{'.'.join(self.path)} = {self.value}"

    def held(self, text: str) -> Any:
        """What a text has at the path; None where it has nothing."""
        level: Any = read_settings(text, is_toml=self.is_toml)
        for key in self.path:
            level = level.get(key) if isinstance(level, dict) else None
        return level

    def stands(self, text: str) -> bool:
        """Whether the rule is in a text, whoever wrote it."""
        held = self.held(text)
        return isinstance(held, list) and self.value in held if self.is_item else held == self.value

    def find(self, text: str) -> Rule | None:
        """See `SetupPart`: a rule of the user's own is not found."""
        return replace(self, is_wanted=True) if self.is_ours and self.stands(text) else None

    def put(self, text: str, *, name: str) -> str:
        """See `SetupPart`. Raises Conflict for another rule of the user's own in its place."""
        if not self.is_wanted:
            return self.cut(text, name=name) if self.find(text) else text
        if self.stands(text):
            return text
        if self.is_item:
            return append_json_item(text, self.path, self.value, name=name)
        held, place = self.held(text), ".".join(self.path)
        if held is not None:
            raise Conflict(
                f"{name} has {place} = {json.dumps(held)}, which stays as it is.",
                hint="Take it out yourself, or run setup without --allow.",
            )
        setter: Callable[..., str] = set_toml_value if self.is_toml else set_json_value
        return setter(text, self.path, self.value, name=name)

    def cut(self, text: str, *, name: str) -> str:
        """See `SetupPart`."""
        if self.is_toml:
            return unset_toml_value(text, self.path, name=name)
        path = [*self.path, self.held(text).index(self.value)] if self.is_item else self.path
        return cut_json_value(text, path, name=name)


class Allowing(Struct, frozen=True, kw_only=True):
    """How one client is told which tools it need not ask for.

    Args:
        path: The keys that lead to its rules; empty for a client that has a file of ours instead.
        one: The rule for a tool, in which `{server}` and `{tool}` stand for their names.
        every: The rule for all tools of a server; empty where each is named by itself.
        value: What stands under a rule; None where the rules are the items of a list.
        modes: The level under each value of the one rule of a server; `one` is its key then.
        plugin_path: The keys that lead to the rules for the server of our plugin.
        plugin_server: What the client calls that server; empty where it has none.
        policy: The text of a file that is ours alone, for a server of a name and a level.
    """

    path: tuple[str, ...] = ()
    one: str = ""
    every: str = ""
    value: object = None
    modes: Mapping[str, str] = {}
    plugin_path: tuple[str, ...] = ()
    plugin_server: str = ""
    policy: Callable[[str, str], str] | None = None

    def rules(self, path: tuple[str, ...], server: str) -> list[Rule]:
        """Every rule for a server, below these keys."""
        if self.modes:
            path = (*path, server, self.one)
            return [
                Rule(path=path, value=mode, levels=(level,), is_toml=True)
                for mode, level in self.modes.items()
            ]
        if not self.one:
            return []
        named = {
            self.one.format(server=server, tool=tool): _EITHER if reads else (ALL,)
            for tool, reads in sorted(
                entry_point("offered_tools")().items(), key=lambda x: not x[1]
            )
        }
        if self.every:
            named = {rule: (READ,) for rule, levels in named.items() if levels == _EITHER}
            named[self.every.format(server=server)] = (ALL,)
        if self.value is None:
            return [
                Rule(path=path, value=rule, levels=levels, is_item=True)
                for rule, levels in named.items()
            ]
        return [
            Rule(path=(*path, rule), value=self.value, levels=levels)
            for rule, levels in named.items()
        ]


class Leave(Struct, frozen=True, kw_only=True):
    """What a client need not ask for.

    Args:
        server: Its name for our server.
        level: One of `LEVELS`.
        noted: The labels of the rules that setup wrote.
    """

    server: str
    level: str = NONE
    has_plugin: bool = False
    noted: frozenset[str] = frozenset()


def _gemini_policy(server: str, level: str) -> str:
    narrowed = "toolAnnotations = { readOnlyHint = true }\n" if level == READ else ""
    return (
        f"# {MARK} --allow {level}: what Gemini may call of ours without asking.\n"
        f'[[rule]]\nmcpName = "{server}"\ntoolName = "*"\n{narrowed}'
        'decision = "allow"\npriority = 100\n'
    )


ALLOWING: Mapping[str, Allowing] = {
    "claude-code": Allowing(
        path=("permissions", "allow"),
        one="mcp__{server}__{tool}",
        every="mcp__{server}",
        plugin_path=("permissions", "allow"),
        plugin_server=f"plugin_{SERVER}_{SERVER}",
    ),
    "cursor": Allowing(path=("mcpAllowlist",), one="{server}:{tool}", every="{server}:*"),
    "codex": Allowing(
        path=("mcp_servers",),
        one="default_tools_approval_mode",
        modes={"writes": READ, "approve": ALL},
        plugin_path=("plugins", OUR_PLUGIN, "mcp_servers"),
        plugin_server=SERVER,
    ),
    "gemini": Allowing(policy=_gemini_policy),
    "opencode": Allowing(
        path=("permission",), one="{server}_{tool}", every="{server}_*", value="allow"
    ),
    "zed": Allowing(
        path=("agent", "tool_permissions", "tools"),
        one="mcp:{server}:{tool}",
        value={"default": "allow"},
    ),
}
"""The clients that keep what they need not ask for in a file."""


def list_rules(client: str, leave: Leave) -> list[Rule]:
    """Every rule that may stand in a client's file, those that are not wanted there first."""
    allowing = ALLOWING[client]
    rules = [(rule, False) for rule in allowing.rules(allowing.path, leave.server)]
    if allowing.plugin_server:
        of_plugin = allowing.rules(allowing.plugin_path, allowing.plugin_server)
        rules += [(rule, True) for rule in of_plugin]
    found = [
        replace(
            rule,
            is_wanted=leave.level in rule.levels and is_plugins == leave.has_plugin,
            is_ours=rule.label in leave.noted,
        )
        for rule, is_plugins in rules
    ]
    return sorted(found, key=lambda rule: rule.is_wanted)


def skill_rule(client: str, leave: Leave | None, level: str | None) -> Callable[[str], str]:
    """Gives what a skill of a client says of a tool that needs no leave; empty for any other.

    level: In place of that of `leave`; None for that one.
    """
    if leave is None or client != "claude-code":  # of the others none is known to read it
        return lambda _tool: ""
    tools: dict[str, bool] = entry_point("offered_tools")()
    asked = level or leave.level

    def rule(tool: str) -> str:
        is_allowed = asked == ALL or (asked == READ and tools[tool])
        return f"mcp__{leave.server}__{tool}" if is_allowed else ""

    return rule


def render_policies(client: str, server: str) -> dict[str, str]:
    """The text for each level of the file that is ours alone; empty where a client has none."""
    policy = ALLOWING[client].policy
    return {} if policy is None else {level: policy(server, level) for level in (READ, ALL)}


def kept_level(client: str, leave: Leave, text: str) -> str:
    """The level of the rules that setup wrote into the text of a client's file."""
    found = [rule for rule in list_rules(client, leave) if rule.find(text)]
    if any(rule.levels == (ALL,) for rule in found):
        return ALL
    return READ if found else _level_of_policy(client, leave, text)


def allowed_level(client: str, leave: Leave, text: str) -> str:
    """The highest level all of whose rules stand in a text, whoever wrote them."""
    for level in (ALL, READ):
        wanted = [x for x in list_rules(client, replace(leave, level=level)) if x.is_wanted]
        if wanted and all(rule.stands(text) for rule in wanted):
            return level
    return _level_of_policy(client, leave, text)


def _level_of_policy(client: str, leave: Leave, text: str) -> str:
    levels = render_policies(client, leave.server)
    return next((level for level in levels if f"{MARK} --allow {level}:" in text), NONE)


def note_file(file: Path) -> Path:
    """Where the note lies that says which rules of a file are ours."""
    return file.with_name(f"{file.name}{_NOTE_SUFFIX}")


def parse_note(text: str) -> frozenset[str]:
    """The labels of the rules in a note; none where it cannot be read."""
    try:
        listed = json.loads(text or "[]")
    except ValueError:
        return frozenset()
    items = listed if isinstance(listed, list) else []
    return frozenset(label for label in items if isinstance(label, str))


def render_note(labels: Iterable[str]) -> str:
    """A note that holds these labels."""
    return json.dumps([*labels], ensure_ascii=False, indent=2) + "\n"
