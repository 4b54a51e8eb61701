"""What of ours goes into each file of a client, and how it is put in and taken out again.

Never changes a file it cannot parse, never drops what is not ours, and never writes without a
backup where something else could be lost.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from commonplace.config.toml_edit import cut_toml_table, render_toml_value, set_toml_value
from commonplace.core.errors import Conflict
from commonplace.doors.setup.allowing import (
    LEVELS,
    Leave,
    Rule,
    list_rules,
    render_policies,
    skill_rule,
)
from commonplace.doors.setup.clients import (
    CLIENTS,
    SERVER,
    Client,
    Machine,
    parse_settings,
    read_settings,
)
from commonplace.doors.setup.hooks import HOOKS, HookTable, is_ours, render_hook, with_group
from commonplace.doors.setup.json_text import (
    append_json_item,
    cut_json_value,
    parse_json_object,
    read_json_object,
    set_json_value,
)
from commonplace.doors.setup.packaged import MARK, list_skills, render_module, with_allowed_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.doors.setup.json_text import JsonPath


class SetupPart(Protocol):
    """One thing of ours in a file of a client."""

    @property
    def kind(self) -> str:
        """One of `server`, `hook`, `skill`, `module`, `rule`."""

    @property
    def label(self) -> str:
        """Which one, where there are several of its kind."""

    def find(self, text: str) -> Self | None:
        """The part as it stands in a text; None where it is not there. Never raises."""

    def put(self, text: str, *, name: str) -> str:
        """The text with the part in it; what the user added to the part stays. Raises: Invalid."""

    def cut(self, text: str, *, name: str) -> str | None:
        """The text without the part, which is in it; None for no file. Raises: Invalid."""


class ListedServer(Struct, frozen=True, kw_only=True):
    """Our server among a client's.

    Attributes:
        entry: What the list holds under our name.
        label: That name; empty for the one that it has, or is to have where the user named none.
    """

    client: Client
    entry: dict[str, Any]
    kind: str = "server"
    label: str = ""

    def find(self, text: str) -> ListedServer | None:
        """See `SetupPart`."""
        name = self.name_in(text)
        present = self._servers(text).get(name)
        is_ours = present is not None and self.client.is_ours(present)
        return replace(self, entry=present, label=name) if is_ours else None

    def put(self, text: str, *, name: str) -> str:
        """See `SetupPart`. Raises Conflict for a server of the user's own under our name."""
        parse_settings(text, is_toml=self.client.is_toml, name=name)
        found, ours = self.find(text), self.name_in(text)
        if found is None and self._servers(text).get(ours) is not None:
            raise Conflict(
                f"{name} has a server {ours} that is not Commonplace, and stays as it is.",
                hint=f"Run setup again with another name for ours, as --name {SERVER}-memory.",
            )
        present, wanted = found.entry if found else {}, self.entry
        listed = self.client.variables
        if listed in wanted and isinstance(present.get(listed, []), list):
            kept = present.get(listed, [])
            wanted = {**wanted, listed: [*kept, *(x for x in wanted[listed] if x not in kept)]}
        setter = set_toml_value if self.client.is_toml else set_json_value
        return _with_merged(text, (self.client.table, ours), present, wanted, setter, name=name)

    def cut(self, text: str, *, name: str) -> str:
        """See `SetupPart`."""
        cut = cut_toml_table if self.client.is_toml else cut_json_value
        return cut(text, (self.client.table, self.name_in(text)), name=name)

    def name_in(self, text: str) -> str:
        """The name that a text has for our server, or that it is to get there."""
        ours = [name for name, each in self._servers(text).items() if self.client.is_ours(each)]
        return self.label or (ours[0] if ours and SERVER not in ours else SERVER)

    def _servers(self, text: str) -> dict[str, Any]:
        """The client's servers, by their names; none where the file has no such list."""
        found = read_settings(text, is_toml=self.client.is_toml).get(self.client.table)
        return found if isinstance(found, dict) else {}


class JsonHook(Struct, frozen=True, kw_only=True):
    """One hook in a client's file; its label is the event of `commonplace hook`."""

    client: str
    label: str
    hook: dict[str, Any]
    kind: str = "hook"

    @property
    def _table(self) -> HookTable:
        return HOOKS[self.client]

    def _where(self, text: str) -> JsonPath | None:
        """The path of our hook in a text; None where it is not there."""
        event = self._table.events[self.label]
        hooks = read_json_object(text).get("hooks")
        items = hooks.get(event) if isinstance(hooks, dict) else None
        for number, item in enumerate(items if isinstance(items, list) else []):
            if is_ours(item, self.label, self.client):
                return "hooks", event, number
            inner = item.get("hooks") if isinstance(item, dict) else None
            for place, hook in enumerate(inner if isinstance(inner, list) else []):
                if is_ours(hook, self.label, self.client):
                    return "hooks", event, number, "hooks", place
        return None

    def find(self, text: str) -> JsonHook | None:
        """See `SetupPart`."""
        where = self._where(text)
        if where is None:
            return None
        hook: Any = read_json_object(text)
        for step in where:
            hook = hook[step]
        return replace(self, hook=hook)

    def put(self, text: str, *, name: str) -> str:
        """See `SetupPart`."""
        where, present = self._where(text), self.find(text)
        if where is not None and present is not None:
            return _with_merged(text, where, present.hook, self.hook, set_json_value, name=name)
        held = parse_json_object(text, name=name)
        for key, value in self._table.top.items():
            if key not in held:
                text = set_json_value(text, (key,), value, name=name)
        path = ("hooks", self._table.events[self.label])
        return append_json_item(text, path, with_group(self.hook, self._table), name=name)

    def cut(self, text: str, *, name: str) -> str:
        """See `SetupPart`."""
        where = self._where(text)
        assert where is not None
        group: Any = parse_json_object(text, name=name)
        for step in where[:3]:
            group = group[step]
        is_alone = len(where) == 3 or len(group["hooks"]) == 1  # noqa: PLR2004  hooks, event, number
        return cut_json_value(text, where[:3] if is_alone else where, name=name)


class OwnFile(Struct, frozen=True, kw_only=True):
    """A file that is ours from its first line to its last.

    Args:
        kind: `skill`, `module` or `rule`.
        text: What stands in it; empty where it is not to be there.
        others: What else setup writes there, of which no backup is needed.
    """

    kind: str
    label: str
    text: str
    others: tuple[str, ...] = ()

    def find(self, text: str) -> OwnFile | None:
        """See `SetupPart`."""
        return replace(self, text=text) if MARK in text else None

    def put(self, text: str, *, name: str) -> str:
        """See `SetupPart`. Raises Conflict for a file of the user's own under our name."""
        if not self.text and self.find(text) is None:
            return text
        if text.strip() and self.find(text) is None:
            raise Conflict(f"{name} is not ours.", hint="Move it away, then run setup again.")
        return self.text

    def cut(self, text: str, *, name: str) -> None:
        """See `SetupPart`."""
        return


class ClientFile(Struct, frozen=True, kw_only=True):
    """A file of a client, and what of ours goes into it."""

    path: Path
    parts: tuple[SetupPart, ...]

    @property
    def is_wanted(self) -> bool:
        """Whether anything of ours goes into it."""
        return bool(self.with_ours(""))

    def with_ours(self, text: str) -> str:
        """The text with every part in it. Raises: Invalid, Conflict."""
        for part in self.parts:
            text = part.put(text, name=str(self.path))
        return text

    def without_ours(self, text: str) -> str | None:
        """The text with no part in it; None where nothing of a file is left. Raises: Invalid."""
        left: str | None = text
        for part in self.parts:
            if left is not None and part.find(left):
                left = part.cut(left, name=str(self.path))
        return left

    def present(self, text: str) -> list[SetupPart]:
        """The parts that stand in a text, as they stand there."""
        found = [part.find(text) for part in self.parts]
        return [part for part in found if part is not None]

    def block(self, beside: str = "") -> str:
        """What a user adds to the file by hand.

        Args:
            beside: The text of the file, which decides the form of TOML: a table that is written
                in braces takes no header of its own.
        """
        first = self.parts[0]
        if isinstance(first, ListedServer) and first.client.is_toml:
            return _toml_block(first, self.parts[1:], beside)
        return self.with_ours("").rstrip("\n")


def list_files(
    client: str,
    program: Sequence[str],
    options: Sequence[str],
    machine: Machine,
    *,
    name: str = "",
    leave: Leave | None = None,
) -> list[ClientFile]:
    """Every file of a client that something of ours goes into, the list of servers first.

    Args:
        client: A key of `CLIENTS`.
        program: What starts Commonplace, word by word.
        options: What follows `mcp`.
        machine: Where the files are.
        name: What the client calls our server; empty for the name that it has, else the usual one.
        leave: What it need not ask for; None to leave out what says so.
    """
    chosen = CLIENTS[client]
    entry = chosen.entry([*program, "mcp", *options], machine.environ)
    files: dict[Path, list[SetupPart]] = {
        chosen.file(machine): [ListedServer(client=chosen, entry=entry, label=name)]
    }
    if chosen.hooks_file is not None:
        files.setdefault(chosen.hooks_file(machine), []).extend(
            JsonHook(
                client=client,
                label=event,
                hook=render_hook(program, event, client, platform=machine.platform),
            )
            for event in HOOKS[client].events
        )
    if chosen.rules_file is not None and leave is not None:
        files.setdefault(chosen.rules_file(machine), []).extend(list_rules(client, leave))
    files |= {path: [file] for path, file in _own_files(client, program, machine, leave)}
    return [ClientFile(path=path, parts=tuple(parts)) for path, parts in files.items()]


def _own_files(
    client: str, program: Sequence[str], machine: Machine, leave: Leave | None
) -> Iterator[tuple[Path, OwnFile]]:
    """The files of a client that are ours alone: a module, skills, rules."""
    chosen = CLIENTS[client]
    if chosen.module is not None:
        path = chosen.module(machine)
        yield path, OwnFile(kind="module", label=path.name, text=render_module(program))
    for skill, text in list_skills() if chosen.skills is not None else ():
        assert chosen.skills is not None
        now, *others = (
            with_allowed_tools(skill, text, skill_rule(client, leave, level))
            for level in (None, *LEVELS)
        )
        skill_file = OwnFile(kind="skill", label=skill, text=now, others=tuple(others))
        yield chosen.skills(machine) / skill / "SKILL.md", skill_file
    if chosen.rules_file is not None and leave is not None:
        path = chosen.rules_file(machine)
        if policies := render_policies(client, leave.server):
            text, all_texts = policies.get(leave.level, ""), tuple(policies.values())
            yield path, OwnFile(kind="rule", label=path.name, text=text, others=all_texts)


def _with_merged(
    text: str,
    path: JsonPath,
    present: dict[str, Any],
    wanted: dict[str, Any],
    setter: Callable[..., str],
    *,
    name: str,
) -> str:
    """A text with ours beside what the user added or chose; what starts us is ours alone."""
    ours = {"type", "command", "args", "env_vars", "bash", "powershell"}
    merged = {**wanted, **present} | {key: wanted[key] for key in wanted if key in ours}
    for key, value in merged.items():
        if key not in present or present[key] != value:
            text = setter(text, (*path, key), value, name=name)
    return text


def _toml_block(part: ListedServer, beside_it: Sequence[SetupPart], beside: str) -> str:
    table, name = part.client.table, part.label or SERVER
    rules = [each for each in beside_it if isinstance(each, Rule) and each.is_wanted]
    keys = {**part.entry, **{rule.path[-1]: rule.value for rule in rules}}
    lines = [f"{key} = {render_toml_value(value)}" for key, value in keys.items()]
    if _is_toml(beside) and not _is_toml(f"{beside}\n[{table}.{name}-]\n"):
        inside = f"{name} = {{ {', '.join(lines)} }}"
        return f"# inside the braces of {table}, after a comma:\n{inside}"
    return "\n".join([f"[{table}.{name}]", *lines])


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True
