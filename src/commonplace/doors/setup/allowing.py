"""What a client may call of ours without asking: where it notes that, and how.

Never allows a tool of another server, and never takes out or changes a rule of the user's own: a
note beside the file says which rules are ours. Never writes a file: `changes` does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.config.toml_edit import set_toml_value, unset_toml_value
from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.toml import parse_toml
from commonplace.doors import entry_point
from commonplace.doors.setup.clients import OUR_PLUGIN, SERVER
from commonplace.doors.setup.json_text import (
    append_json_item,
    cut_json_value,
    read_json_object,
    set_json_value,
)
from commonplace.doors.setup.packaged import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

READ = "read"
ALL = "all"
NONE = "none"
LEVELS = (NONE, READ, ALL)
"""What may be called without asking: nothing, the tools that only read, all tools of ours."""

_EITHER = (READ, ALL)
_CODEX_KEY = "default_tools_approval_mode"
_NOTE_SUFFIX = f".{SERVER}-allowed"


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of a client's file that lets it call a tool of ours, or all of them.

    Args:
        path: The keys that lead to the list that the rule is an item of, or to the rule itself.
        value: What stands there.
        levels: The levels that need it.
        is_item: Whether it is an item of a list.
        is_toml: Whether the file is TOML; else it is JSON.
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
        try:
            level: Any = parse_toml(text, name="") if self.is_toml else read_json_object(text)
        except CommonplaceError:
            return None
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
        rules: The rules for a server of a name, given the tools that only read and those that
            write; none for a client that has a file of ours instead.
        plugin_rules: Those for the server of our plugin, where the client has one.
        policy: The text of a file that is ours alone, for a server of a name and a level.
    """

    rules: Callable[[str, Sequence[str], Sequence[str]], list[Rule]] = lambda *_: []
    plugin_rules: Callable[[Sequence[str], Sequence[str]], list[Rule]] = lambda *_: []
    policy: Callable[[str, str], str] | None = None


class Leave(Struct, frozen=True, kw_only=True):
    """What a client need not ask for.

    Args:
        server: Its name for our server.
        level: One of `LEVELS`.
        has_plugin: Whether our plugin brings the server.
        noted: The labels of the rules that setup wrote.
    """

    server: str
    level: str = NONE
    has_plugin: bool = False
    noted: frozenset[str] = frozenset()


def _items(path: tuple[str, ...], one: str, every: str) -> Callable[..., list[Rule]]:
    """Rules that are items of a list: one a tool, or one for the server."""

    def rules(server: str, readers: Sequence[str], _writers: Sequence[str]) -> list[Rule]:
        each = [one.format(server=server, tool=tool) for tool in readers]
        return [
            *(Rule(path=path, value=value, levels=(READ,), is_item=True) for value in each),
            Rule(path=path, value=every.format(server=server), levels=(ALL,), is_item=True),
        ]

    return rules


_claude_rules = _items(("permissions", "allow"), "mcp__{server}__{tool}", "mcp__{server}")


def _opencode_rules(server: str, readers: Sequence[str], _writers: Sequence[str]) -> list[Rule]:
    paths = [(("permission", f"{server}_{tool}"), (READ,)) for tool in readers]
    paths.append((("permission", f"{server}_*"), (ALL,)))
    return [Rule(path=path, value="allow", levels=levels) for path, levels in paths]


def _zed_rules(server: str, readers: Sequence[str], writers: Sequence[str]) -> list[Rule]:
    tools = [*((tool, _EITHER) for tool in readers), *((tool, (ALL,)) for tool in writers)]
    return [
        Rule(
            path=("agent", "tool_permissions", "tools", f"mcp:{server}:{tool}"),
            value={"default": "allow"},
            levels=levels,
        )
        for tool, levels in tools
    ]


def _codex_rules(path: tuple[str, ...]) -> list[Rule]:
    modes = {"writes": (READ,), "approve": (ALL,)}
    return [
        Rule(path=(*path, _CODEX_KEY), value=mode, levels=levels, is_toml=True)
        for mode, levels in modes.items()
    ]


def _gemini_policy(server: str, level: str) -> str:
    narrowed = "toolAnnotations = { readOnlyHint = true }\n" if level == READ else ""
    return (
        f"# {MARK} --allow {level}: what Gemini may call of ours without asking.\n"
        f'[[rule]]\nmcpName = "{server}"\ntoolName = "*"\n{narrowed}'
        'decision = "allow"\npriority = 100\n'
    )


ALLOWING: Mapping[str, Allowing] = {
    "claude-code": Allowing(
        rules=_claude_rules,
        plugin_rules=lambda *tools: _claude_rules(f"plugin_{SERVER}_{SERVER}", *tools),
    ),
    "cursor": Allowing(rules=_items(("mcpAllowlist",), "{server}:{tool}", "{server}:*")),
    "codex": Allowing(
        rules=lambda server, *_: _codex_rules(("mcp_servers", server)),
        plugin_rules=lambda *_: _codex_rules(("plugins", OUR_PLUGIN, "mcp_servers", SERVER)),
    ),
    "gemini": Allowing(policy=_gemini_policy),
    "opencode": Allowing(rules=_opencode_rules),
    "zed": Allowing(rules=_zed_rules),
}
"""The clients that keep what they need not ask for in a file."""


def list_rules(client: str, leave: Leave) -> list[Rule]:
    """Every rule that may stand in a client's file, those that are not wanted there first."""
    tools = entry_point("offered_tools")()
    readers = [tool for tool, reads in tools.items() if reads]
    writers = [tool for tool, reads in tools.items() if not reads]
    allowing = ALLOWING[client]
    rules = [(rule, False) for rule in allowing.rules(leave.server, readers, writers)]
    rules += [(rule, True) for rule in allowing.plugin_rules(readers, writers)]
    found = [
        replace(
            rule,
            is_wanted=leave.level in rule.levels and of_plugin == leave.has_plugin,
            is_ours=rule.label in leave.noted,
        )
        for rule, of_plugin in rules
    ]
    return sorted(found, key=lambda rule: rule.is_wanted)


def skill_rule(client: str, leave: Leave | None, level: str | None) -> Callable[[str], str]:
    """Gives what a skill of a client says of a tool that needs no leave; empty for any other.

    Args:
        client: A key of the table of clients.
        leave: What the client need not ask for; None for nothing.
        level: A level in place of that of `leave`; None for that one.
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
    """The level of the rules that setup wrote into a text.

    Args:
        client: A key of `ALLOWING`.
        leave: Of any level.
        text: The text of the client's file.
    """
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
