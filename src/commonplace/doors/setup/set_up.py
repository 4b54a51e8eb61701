"""What `commonplace setup` does: plans the changes of a client's files, makes them, and says so.

Never decides how a client's file is edited: `files` and `changes` do.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.config.settings import parse_setting
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.programs import find_program
from commonplace.core.toml import parse_toml
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
from commonplace.doors.setup.changes import plan_removal, plan_setup, read_text, write_change
from commonplace.doors.setup.clients import CLIENTS, SERVER, Machine, own_command
from commonplace.doors.setup.files import ListedServer, SetupPart, list_files
from commonplace.doors.setup.json_text import read_json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.doors.setup.changes import Change
    from commonplace.doors.setup.files import ClientFile

_KINDS = {"server": "server", "hook": "hooks", "skill": "skills", "module": "module"}
_ALLOWED = {
    READ: "Without asking, it may call our tools that only read.",
    ALL: "Without asking, it may call all of our tools.",
}


def set_up_client(
    client: str,
    *,
    toolsets: str | None,
    name: str,
    allow: str | None = None,
    home: Path,
    on_step: Callable[[str], None],
) -> Answer:
    """Put our server, hooks and skills into a client's files, with backups beside them.

    The options of an entry that is there already are kept. Where our plugin is installed in the
    client no file is changed, but for what it need not ask for.

    Args:
        client: A key of `CLIENTS`.
        toolsets: As the setting is written; None for those of the entry, else the default.
        name: What the client calls our server; empty for the name that it has, else the usual one.
        allow: What the client need not ask for: none, read or all; None for what setup wrote last.
        home: The user's home folder, below which clients keep their files.
        on_step: Called with a sentence before each thing that is done.

    Raises:
        Invalid: A file cannot be edited safely, the toolsets are unknown, or the client keeps in no
            file what it need not ask for.
        Conflict: Another program changed a file, or a file, a rule or a server of the user's own
            has the name of ours.
    """
    chosen, machine = CLIENTS[client], _machine(home)
    _check_allow(client, allow)
    if _has_plugin(client, machine):
        return _plugin_answer(client, machine, allow, on_step)
    options = _options(_kept_options(client, machine, name), toolsets)
    files = _files(client, options, machine, name, allow=allow)
    changes = plan_setup(files)
    backups = _write(changes, on_step)
    wanted = [each for each in files if each.is_wanted]
    facts = _facts(client, options, wanted, changes, backups)
    places = _places(wanted)
    if not changes:
        return Answer(text=f"{chosen.title} is already set up in {places}.", facts=facts)
    lines = [f"Commonplace is set up for {chosen.title} in {places}.", *_kept_lines(backups)]
    allowed = _ALLOWED.get(_state(client, machine, name)["allowed"])
    return Answer(
        text="\n".join([*lines, *filter(None, [allowed]), chosen.afterwards]), facts=facts
    )


def asks_at_setup(client: str, *, name: str, home: Path) -> bool:
    """Whether setup asks what a client need not ask for: before its files have anything of ours.

    Args:
        client: A key of `CLIENTS`.
        name: What the client calls our server; empty for the name that it has, else the usual one.
        home: The user's home folder, below which clients keep their files.
    """
    machine = _machine(home)
    if CLIENTS[client].rules_file is None or _has_plugin(client, machine):
        return False
    row = _state(client, machine, name)
    return row["allowed"] == NONE and not any(row[kind] for kind in _KINDS.values())


def _plugin_answer(
    client: str, machine: Machine, allow: str | None, on_step: Callable[[str], None]
) -> Answer:
    """The answer where our plugin is installed: it brings all but what need not be asked for."""
    rules = [
        replace(each, parts=tuple(part for part in each.parts if part.kind == "rule"))
        for each in ([] if allow is None else _files(client, [], machine, allow=allow))
    ]
    changes = plan_setup([each for each in rules if each.parts])
    backups = _write(changes, on_step)
    row = _state(client, machine)
    facts = {"client": client, "plugin": True, "changed": bool(changes)}
    what = "no file is changed" if not changes else "only what it need not ask for is changed"
    text = f"{row['title']} has Commonplace as a plugin, which brings the same: {what}."
    lines = [*_kept_lines(backups), _ALLOWED.get(row["allowed"]), row["problem"]]
    return Answer(text="\n".join([text, *filter(None, lines)]), facts=facts)


def _check_allow(client: str, allow: str | None) -> None:
    """Raises Invalid where a client is to be allowed what it keeps in no file."""
    chosen = CLIENTS[client]
    if allow not in (None, NONE) and chosen.rules_file is None:
        raise Invalid(
            f"{chosen.title} keeps in no file what it need not ask for.", hint=chosen.how_to_allow
        )


def show_blocks(
    client: str, *, toolsets: str | None, name: str, allow: str | None = None, home: Path
) -> Answer:
    """What a user puts into a client's files by hand, and where; writes nothing.

    Args:
        client: A key of `CLIENTS`.
        toolsets: As the setting is written; None for those of the entry, else the default.
        name: What the client calls our server; empty for the name that it has, else the usual one.
        allow: What the client need not ask for: none, read or all; None for what setup wrote last.
        home: The user's home folder, below which clients keep their files.

    Raises:
        Invalid: The toolsets are unknown, or the client keeps in no file what it need not ask for.
    """
    machine = _machine(home)
    _check_allow(client, allow)
    options = _options(_kept_options(client, machine, name), toolsets)
    files = _files(client, options, machine, name, allow=allow)
    shown = [(str(each.path), each.block(read_text(each.path))) for each in files]
    blocks = [{"file": file, "block": block} for file, block in shown if block]
    facts = {"client": client, "command": _command(options), "blocks": blocks}
    text = "\n\n".join(f"# {each['file']}\n{each['block']}" for each in blocks)
    return Answer(text=text, facts=facts)


def remove_from_client(client: str, *, name: str, home: Path) -> Answer:
    """Take our server, hooks and skills out of a client's files.

    Args:
        client: A key of `CLIENTS`.
        name: What the client calls our server; empty for the name that it has.
        home: The user's home folder, below which clients keep their files.

    Raises:
        Invalid: A file cannot be edited safely.
        Conflict: Another program changed a file meanwhile.
    """
    chosen, machine = CLIENTS[client], _machine(home)
    files = _files(client, [], machine, name)
    changes = plan_removal(files)
    backups = _write(changes)
    facts = _facts(client, None, files, changes, backups)
    if not changes:
        return Answer(
            text=f"Nothing of Commonplace is in the files of {chosen.title}.", facts=facts
        )
    changed = {change.file for change in changes}
    places = _places([each for each in files if each.path in changed])
    text = f"Commonplace is taken out of {chosen.title}: {places}."
    return Answer(text="\n".join([text, *_kept_lines(backups)]), facts=facts)


def list_clients(*, home: Path) -> Answer:
    """What of ours is in the files of every client.

    Args:
        home: The user's home folder, below which clients keep their files.
    """
    machine = _machine(home)
    rows = [_state(client, machine) for client in CLIENTS]
    lines = [line for row in rows for line in _state_lines(row)]
    return Answer(text="\n".join(lines), facts={"clients": rows})


def _state(client: str, machine: Machine, name: str = "") -> dict[str, Any]:
    """What of ours a client has: facts."""
    found: dict[str, list[dict[str, str]]] = {kind: [] for kind in _KINDS}
    missing = []
    command: list[str] = []
    for each in _files(client, [], machine, name):
        text = read_text(each.path)
        present = [part for part in each.present(text) if part.kind != "rule"]
        for part in present:
            found[part.kind].append({"file": str(each.path), "name": part.label})
            if isinstance(part, ListedServer):
                command = CLIENTS[client].command(part.entry)
        missing += [x for x in each.parts if x.kind != "rule" and x.find(text) is None]
    is_there = any(found.values())
    plugin = _has_plugin(client, machine)
    return {
        "client": client,
        "title": CLIENTS[client].title,
        **{name: found[kind] for kind, name in _KINDS.items()},
        "allowed": _allowed(client, machine, name),
        "plugin": plugin,
        "problem": _problem(client, command, missing, has_plugin=plugin) if is_there else None,
    }


def _problem(
    client: str, command: Sequence[str], missing: Sequence[SetupPart], *, has_plugin: bool
) -> str | None:
    """What is wrong with a client that has something of ours; None where nothing is."""
    again = f"Run `commonplace setup {client}`."
    if has_plugin:
        return f"The plugin brings the same again. Run `commonplace setup {client} --remove`."
    if missing:
        kinds = ", ".join(dict.fromkeys(_KINDS[part.kind] for part in missing))
        return f"Not all is there: {kinds}. {again}"
    if command and not (find_program(command[0]) or os.path.exists(command[0])):
        return f"It starts {command[0]}, which is not there. {again}"
    return None


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


def _machine(home: Path) -> Machine:
    return Machine(platform=sys.platform, home=home, environ=os.environ)


def _files(
    client: str,
    options: Sequence[str],
    machine: Machine,
    name: str = "",
    *,
    allow: str | None = None,
) -> list[ClientFile]:
    program = own_command(sys.argv[0], sys.executable)
    leave = _leave(client, machine, name)
    if leave is not None and allow is not None:
        leave = replace(leave, level=allow)
    return list_files(client, program, options, machine, name=name, leave=leave)


def _leave(client: str, machine: Machine, name: str) -> Leave | None:
    """What setup wrote that a client need not ask for; None where that stands in no file."""
    file = CLIENTS[client].rules_file
    if file is None:
        return None
    servers = list_files(client, [SERVER], [], machine, name=name)[0]
    (part,) = [part for part in servers.parts if isinstance(part, ListedServer)]
    path = file(machine)
    leave = Leave(
        server=part.name_in(read_text(servers.path)),
        has_plugin=_has_plugin(client, machine),
        noted=parse_note(read_text(note_file(path))),
    )
    return replace(leave, level=kept_level(client, leave, read_text(path)))


def _allowed(client: str, machine: Machine, name: str) -> str | None:
    """What a client need not ask for, whoever wrote that; None where it stands in no file."""
    leave, file = _leave(client, machine, name), CLIENTS[client].rules_file
    if leave is None or file is None:
        return None
    return allowed_level(client, leave, read_text(file(machine)))


def _command(options: Sequence[str]) -> list[str]:
    return [*own_command(sys.argv[0], sys.executable), "mcp", *options]


def _write(
    changes: Sequence[Change], on_step: Callable[[str], None] = lambda _sentence: None
) -> list[Path]:
    now = datetime.now(UTC)
    backups = []
    for change in changes:
        on_step(f"Writing {change.file} ...")
        backups.append(write_change(change, now=now))
    return [backup for backup in backups if backup is not None]


def _facts(
    client: str,
    options: Sequence[str] | None,
    files: Sequence[ClientFile],
    changes: Sequence[Change],
    backups: Sequence[Path],
) -> dict[str, Any]:
    return {
        "client": client,
        "files": [str(each.path) for each in files],
        **({} if options is None else {"command": _command(options)}),
        "changed": bool(changes),
        "changed_files": [str(change.file) for change in changes],
        "backups": [str(backup) for backup in backups],
    }


def _places(files: Sequence[ClientFile]) -> str:
    """The files, in a line; skills by their folder."""
    named = [
        each.path.parent.parent if each.parts[0].kind == "skill" else each.path for each in files
    ]
    *first, last = dict.fromkeys(map(str, named))
    return f"{', '.join(first)} and {last}" if first else last


def _kept_lines(backups: Sequence[Path]) -> list[str]:
    return [f"As it was: {backup}" for backup in backups]


def _has_plugin(client: str, machine: Machine) -> bool:
    """Whether our plugin is installed in a client and switched on."""
    named = CLIENTS[client].plugin
    if named is None:
        return False
    file, path = named(machine)
    text = read_text(file)
    try:
        level: Any = parse_toml(text, name="") if file.suffix == ".toml" else read_json_object(text)
    except CommonplaceError:
        return False
    for key in path:
        level = level.get(key) if isinstance(level, dict) else None
    return bool(level.get("enabled", True) if isinstance(level, dict) else level)


def _kept_options(client: str, machine: Machine, name: str) -> list[str]:
    """The words after `mcp` in our entry among a client's servers; empty where there are none."""
    servers = _files(client, [], machine, name)[0]
    for part in servers.present(read_text(servers.path)):
        if isinstance(part, ListedServer):
            words = CLIENTS[client].command(part.entry)
            return words[words.index("mcp") + 1 :] if "mcp" in words else []
    return []


def _options(kept: Sequence[str], toolsets: str | None) -> list[str]:
    """The options of an entry, with these toolsets in place of its own. Raises: Invalid."""
    if toolsets is None:
        return [*kept]
    parse_setting("toolsets", toolsets)
    words = iter(kept)
    others = []
    for word in words:
        if word == "--toolsets":
            next(words, None)
        elif not word.startswith("--toolsets="):
            others.append(word)
    return [*others, "--toolsets", toolsets]
