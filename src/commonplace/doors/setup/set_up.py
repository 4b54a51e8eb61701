"""What `commonplace setup` does: plans the changes of a client's files, makes them, and says so.

Never decides how a client's file is edited: `files` and `file_changes` do.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.config.settings import parse_setting
from commonplace.core.errors import Invalid
from commonplace.core.programs import find_program
from commonplace.core.values import Answer
from commonplace.doors.setup.allowing import (
    ALL,
    NONE,
    READ,
    Leave,
    allowed_level,
    kept_level,
    note_file,
    parse_note,
)
from commonplace.doors.setup.clients import CLIENTS, SERVER, Machine, own_command, read_settings
from commonplace.doors.setup.file_changes import plan_removal, plan_setup, read_text, write_change
from commonplace.doors.setup.files import ListedServer, SetupPart, list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.doors.setup.file_changes import Change
    from commonplace.doors.setup.files import ClientFile

_KINDS = {"server": "server", "hook": "hooks", "skill": "skills", "module": "module"}
_ALLOWED = {
    READ: "Without asking, it may call our tools that only read.",
    ALL: "Without asking, it may call all of our tools.",
}


class ClientSetup:
    """What of ours is in the files of one client, and how it gets there and out again.

    Args:
        key: Of `CLIENTS`.
        name: What the client calls our server; empty for the name that it has, else the usual one.
        home: The user's home folder, below which clients keep their files.
    """

    def __init__(self, key: str, *, name: str = "", home: Path) -> None:
        self._key = key
        self._client = CLIENTS[key]
        self._name = name
        self._machine = Machine(platform=sys.platform, home=home, environ=os.environ)

    def set_up(
        self, *, toolsets: str | None, allow: str | None, on_step: Callable[[str], None]
    ) -> Answer:
        """Put our server, hooks and skills into the client's files, with backups beside them.

        The options of an entry that is there already are kept. Where our plugin is installed in the
        client no file is changed, but for what it need not ask for.

        Args:
            toolsets: As the setting is written; None for those of the entry, else the default.
            allow: What need not be asked for: none, read or all; None for what setup wrote last.
            on_step: Called with a sentence before each thing that is done.

        Raises:
            Invalid: A file cannot be edited safely, the toolsets are unknown, or the client keeps
                in no file what it need not ask for.
            Conflict: Another program changed a file, or a file, a rule or a server of the user's
                own has the name of ours.
        """
        self._check_allow(allow)
        if self._has_plugin():
            return self._set_up_beside_plugin(allow, on_step)
        options = self._options(toolsets)
        files = self._files(options, allow=allow)
        changes = plan_setup(files)
        backups = _write(changes, on_step)
        wanted = [each for each in files if each.is_wanted]
        facts = self._facts(wanted, changes, backups, options)
        places = _places(wanted)
        title = self._client.title
        if not changes:
            return Answer(text=f"{title} is already set up in {places}.", facts=facts)
        lines = [f"Commonplace is set up for {title} in {places}.", *_kept_lines(backups)]
        allowed = _ALLOWED.get(self._allowed() or "")
        lines += [*filter(None, [allowed]), self._client.afterwards]
        return Answer(text="\n".join(lines), facts=facts)

    def asks(self) -> bool:
        """Whether what may be called is asked: before the files have anything of ours."""
        if self._client.rules_file is None or self._has_plugin():
            return False
        row = self.state()
        return row["allowed"] == NONE and not any(row[kind] for kind in _KINDS.values())

    def show(self, *, toolsets: str | None, allow: str | None) -> Answer:
        """What a user puts into the client's files by hand, and where; writes nothing.

        Raises: Invalid, as `set_up`.
        """
        self._check_allow(allow)
        options = self._options(toolsets)
        files = self._files(options, allow=allow)
        shown = [(str(each.path), each.block(read_text(each.path))) for each in files]
        blocks = [{"file": file, "block": block} for file, block in shown if block]
        facts = {"client": self._key, "command": _command(options), "blocks": blocks}
        text = "\n\n".join(f"# {each['file']}\n{each['block']}" for each in blocks)
        return Answer(text=text, facts=facts)

    def remove(self) -> Answer:
        """Take our server, hooks and skills out of the client's files.

        Raises:
            Invalid: A file cannot be edited safely.
            Conflict: Another program changed a file meanwhile.
        """
        files = self._files()
        changes = plan_removal(files)
        backups = _write(changes)
        facts = self._facts(files, changes, backups)
        title = self._client.title
        if not changes:
            return Answer(text=f"Nothing of Commonplace is in the files of {title}.", facts=facts)
        changed = {change.file for change in changes}
        places = _places([each for each in files if each.path in changed])
        text = f"Commonplace is taken out of {title}: {places}."
        return Answer(text="\n".join([text, *_kept_lines(backups)]), facts=facts)

    def state(self) -> dict[str, Any]:
        """What of ours the client has: facts."""
        found: dict[str, list[dict[str, str]]] = {kind: [] for kind in _KINDS}
        missing = []
        command: list[str] = []
        for each in self._files():
            text = read_text(each.path)
            present = [part for part in each.present(text) if part.kind != "rule"]
            for part in present:
                found[part.kind].append({"file": str(each.path), "name": part.label})
                if isinstance(part, ListedServer):
                    command = self._client.command(part.entry)
            missing += [x for x in each.parts if x.kind != "rule" and x.find(text) is None]
        return {
            "client": self._key,
            "title": self._client.title,
            **{name: found[kind] for kind, name in _KINDS.items()},
            "allowed": self._allowed(),
            "plugin": self._has_plugin(),
            "problem": self._problem(command, missing) if any(found.values()) else None,
        }

    def _set_up_beside_plugin(self, allow: str | None, on_step: Callable[[str], None]) -> Answer:
        """Set up what the plugin does not bring: what need not be asked for."""
        rules = [
            replace(each, parts=tuple(part for part in each.parts if part.kind == "rule"))
            for each in ([] if allow is None else self._files(allow=allow))
        ]
        changes = plan_setup([each for each in rules if each.parts])
        backups = _write(changes, on_step)
        row = self.state()
        facts = {"client": self._key, "plugin": True, "changed": bool(changes)}
        what = "no file is changed" if not changes else "only what it need not ask for is changed"
        text = f"{row['title']} has Commonplace as a plugin, which brings the same: {what}."
        lines = [*_kept_lines(backups), _ALLOWED.get(row["allowed"]), row["problem"]]
        return Answer(text="\n".join([text, *filter(None, lines)]), facts=facts)

    def _check_allow(self, allow: str | None) -> None:
        """Raises Invalid where a client is to be allowed what it keeps in no file."""
        if allow not in (None, NONE) and self._client.rules_file is None:
            raise Invalid(
                f"{self._client.title} keeps in no file what it need not ask for.",
                hint=self._client.how_to_allow,
            )

    def _problem(self, command: Sequence[str], missing: Sequence[SetupPart]) -> str | None:
        """What is wrong with a client that has something of ours; None where nothing is."""
        again = f"Run `commonplace setup {self._key}`."
        if self._has_plugin():
            remove = f"Run `commonplace setup {self._key} --remove`."
            return f"The plugin brings the same again. {remove}"
        if missing:
            kinds = ", ".join(dict.fromkeys(_KINDS[part.kind] for part in missing))
            return f"Not all is there: {kinds}. {again}"
        if command and not (find_program(command[0]) or os.path.exists(command[0])):
            return f"It starts {command[0]}, which is not there. {again}"
        return None

    def _files(self, options: Sequence[str] = (), *, allow: str | None = None) -> list[ClientFile]:
        leave = self._leave()
        if leave is not None and allow is not None:
            leave = replace(leave, level=allow)
        program = own_command(sys.argv[0], sys.executable)
        return list_files(self._key, program, options, self._machine, name=self._name, leave=leave)

    def _leave(self) -> Leave | None:
        """What setup wrote that a client need not ask for; None where that stands in no file."""
        if self._client.rules_file is None:
            return None
        servers = list_files(self._key, [SERVER], [], self._machine, name=self._name)[0]
        (part,) = [part for part in servers.parts if isinstance(part, ListedServer)]
        path = self._client.rules_file(self._machine)
        leave = Leave(
            server=part.name_in(read_text(servers.path)),
            has_plugin=self._has_plugin(),
            noted=parse_note(read_text(note_file(path))),
        )
        return replace(leave, level=kept_level(self._key, leave, read_text(path)))

    def _allowed(self) -> str | None:
        """What a client need not ask for, whoever wrote that; None where it stands in no file."""
        leave, file = self._leave(), self._client.rules_file
        if leave is None or file is None:
            return None
        return allowed_level(self._key, leave, read_text(file(self._machine)))

    def _facts(
        self,
        files: Sequence[ClientFile],
        changes: Sequence[Change],
        backups: Sequence[Path],
        options: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        return {
            "client": self._key,
            "files": [str(each.path) for each in files],
            **({} if options is None else {"command": _command(options)}),
            "changed": bool(changes),
            "changed_files": [str(change.file) for change in changes],
            "backups": [str(backup) for backup in backups],
        }

    def _has_plugin(self) -> bool:
        """Whether our plugin is installed in the client and switched on."""
        if self._client.plugin is None:
            return False
        find, path = self._client.plugin
        file = find(self._machine)
        level: Any = read_settings(read_text(file), is_toml=file.suffix == ".toml")
        for key in path:
            level = level.get(key) if isinstance(level, dict) else None
        return bool(level.get("enabled", True) if isinstance(level, dict) else level)

    def _options(self, toolsets: str | None) -> list[str]:
        """The words after `mcp` in our entry, with these toolsets in their place. Raises: Invalid.

        toolsets: None for those that the entry has.
        """
        kept: list[str] = []
        servers = self._files()[0]
        for part in servers.present(read_text(servers.path)):
            if isinstance(part, ListedServer):
                words = self._client.command(part.entry)
                kept = words[words.index("mcp") + 1 :] if "mcp" in words else []
        if toolsets is None:
            return kept
        parse_setting("toolsets", toolsets)
        words_left = iter(kept)
        others = []
        for word in words_left:
            if word == "--toolsets":
                next(words_left, None)
            elif not word.startswith("--toolsets="):
                others.append(word)
        return [*others, "--toolsets", toolsets]


def list_clients(*, home: Path) -> Answer:
    """What of ours is in the files of every client below a home folder."""
    rows = [ClientSetup(client, home=home).state() for client in CLIENTS]
    lines = [line for row in rows for line in _state_lines(row)]
    return Answer(text="\n".join(lines), facts={"clients": rows})


def _state_lines(row: Mapping[str, Any]) -> list[str]:
    lines = []
    for name in _KINDS.values():
        files = list(dict.fromkeys(part["file"] for part in row[name]))
        if not files:
            continue
        count = len(row[name])
        what = f"{count} {name if count > 1 else name.removesuffix('s')}"
        where = files[0] if len(files) == 1 else str(Path(files[0]).parent.parent)
        lines.append(f"{what if name in ('hooks', 'skills') else name} in {where}")
    if row["plugin"]:
        lines.append("plugin")
    if row["allowed"] in _ALLOWED:
        lines.append(_ALLOWED[row["allowed"]])
    if row["problem"]:
        lines.append(row["problem"])
    heads = [row["client"], *[""] * len(lines)]
    return [f"{head:<15} {line}" for head, line in zip(heads, lines or ["-"], strict=False)]


def _command(options: Sequence[str]) -> list[str]:
    return [*own_command(sys.argv[0], sys.executable), "mcp", *options]


def _write(
    changes: Sequence[Change], on_step: Callable[[str], None] = lambda _sentence: None
) -> list[Path]:
    """Make the changes; the backups that were kept."""
    now = datetime.now(UTC)
    backups = []
    for change in changes:
        on_step(f"Writing {change.file} ...")
        backups.append(write_change(change, now=now))
    return [backup for backup in backups if backup is not None]


def _places(files: Sequence[ClientFile]) -> str:
    """The files, in a line; skills by their folder."""
    named = [
        each.path.parent.parent if each.parts[0].kind == "skill" else each.path for each in files
    ]
    *first, last = dict.fromkeys(map(str, named))
    return f"{', '.join(first)} and {last}" if first else last


def _kept_lines(backups: Sequence[Path]) -> list[str]:
    return [f"As it was: {backup}" for backup in backups]
