"""What `commonplace setup` does: plans the change of a client's file, makes it, and says so.

Never decides how a client's file is edited: `clients` does.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.config.settings import parse_setting
from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Answer
from commonplace.doors import entry_point
from commonplace.doors.setup.clients import (
    CLIENTS,
    Machine,
    find_options,
    own_command,
    plan_setup,
    read_text,
    render_block,
    write_change,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def set_up_client(client: str, *, toolsets: str | None, home: Path) -> Answer:
    """Put our server into a client's file, with a backup of the file beside it.

    The options of an entry that is there already are kept.

    Args:
        client: A key of `CLIENTS`.
        toolsets: As the setting is written; None for those of the entry, else the default.
        home: The user's home folder, below which clients keep their files.

    Raises:
        Invalid: The file cannot be edited safely, or the toolsets are unknown.
        Conflict: Another program changed the file meanwhile.
    """
    chosen = CLIENTS[client]
    machine = Machine(platform=sys.platform, home=home, environ=os.environ)
    options = _options(find_options(chosen, machine), toolsets)
    command = [*own_command(sys.argv[0], sys.executable), "mcp", *options]
    file = chosen.file(machine)
    change = plan_setup(chosen, command, machine)
    facts: dict[str, object] = {"client": client, "file": str(file), "command": command}
    if change is None:
        facts |= {"changed": False, "backup": None, "primed": _keep_snapshot(options, home)}
        return Answer(text=f"{chosen.title} is already set up in {file}.", facts=facts)
    backup = write_change(change, now=datetime.now(UTC))
    facts |= {
        "changed": True,
        "backup": str(backup) if backup else None,
        "primed": _keep_snapshot(options, home),
    }
    kept = f"\nThe file as it was: {backup}" if backup else ""
    text = f"Commonplace is set up for {chosen.title} in {file}.{kept}\n{chosen.afterwards}"
    return Answer(text=text, facts=facts)


def show_block(client: str, *, toolsets: str | None, home: Path) -> Answer:
    """What a user adds to a client's file by hand, and where; writes nothing.

    Args:
        client: A key of `CLIENTS`.
        toolsets: As the setting is written; None for those of the entry, else the default.
        home: The user's home folder, below which clients keep their files.

    Raises:
        Invalid: The toolsets are unknown.
    """
    chosen = CLIENTS[client]
    machine = Machine(platform=sys.platform, home=home, environ=os.environ)
    options = _options(find_options(chosen, machine), toolsets)
    command = [*own_command(sys.argv[0], sys.executable), "mcp", *options]
    file = chosen.file(machine)
    block = render_block(chosen, command, machine, beside=read_text(chosen, machine))
    facts = {"client": client, "file": str(file), "command": command, "block": block}
    return Answer(text=f"# {file}\n{block}", facts=facts)


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


def _keep_snapshot(options: Sequence[str], home: Path) -> bool:
    """Keep the first answers of the server that a client will start; whether they are kept."""
    try:
        flags = entry_point("parse_mcp_options")(options)
        return bool(entry_point("keep_snapshot")(options, flags=flags, user_home=home))
    except CommonplaceError:  # the first session begins slower, and `doctor` says why
        return False
