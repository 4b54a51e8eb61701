"""The words of `commonplace trust`: which repositories may have a project log written.

Never offered to a model: to allow a log is the user's alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.values import Answer
from commonplace.journals.chronicle.log_config import CONFIG_NAME, find_log_config
from commonplace.journals.chronicle.logs import asking_for, log_folder

if TYPE_CHECKING:
    from commonplace.journals.chronicle.log_config import LogConfig
    from commonplace.verbs.chronicle.service import ChronicleService


def allow_log(verbs: ChronicleService, path: Path | None) -> Answer:
    """Allow the log that the `.chronicle` of a folder asks for, as it reads now.

    path: the folder, or the file itself; None for the project. Raises: NotFound, Invalid, Denied.
    """
    asked = _folder_of(verbs, path)
    config = find_log_config(asked, verbs.home)
    if config is None:
        raise NotFound(
            f"No file {CONFIG_NAME} lies in {asked} or above it.",
            hint=f"Write one: `local_logging = true` in {asked / CONFIG_NAME}.",
        )
    if config.warning and not config.local_logging:
        raise Invalid(config.warning, hint=f"Mend {config.file}.")
    if not config.local_logging:
        raise Invalid(
            f"{config.file} asks for no project log.", hint="It does with `local_logging = true`."
        )
    folder = log_folder(config)
    verbs.trusted.allow(config)
    log = folder / "YYYY-MM-DD.log"
    lines = [
        f"Allowed: what is logged in {config.root} also goes to {log}, as {config.log_format}.",
        _readers(),
        f"When {config.file} changes, you are asked again; `commonplace trust --revoke` ends it.",
        *([config.warning] if config.warning else []),
    ]
    facts = {"file": str(config.file), "folder": str(folder), "mode": f"{_mode():04o}"}
    return Answer(text="\n".join(lines), facts=facts)


def revoke_log(verbs: ChronicleService, path: Path | None) -> Answer:
    """Take back what `allow_log` did; logs that are there stay. Raises: NotFound, Denied."""
    folder = _folder_of(verbs, path)
    config = find_log_config(folder, verbs.home)
    file = config.file if config else Path(os.path.realpath(folder)) / CONFIG_NAME
    if not verbs.trusted.revoke(file):
        raise NotFound(f"{file} was not allowed.", hint="See `commonplace trust --list`.")
    return Answer(
        text=f"No more project logs are written for {file}. Those that are there stay.",
        facts={"file": str(file)},
    )


def list_allowed(verbs: ChronicleService) -> Answer:
    """Every `.chronicle` the user has allowed, and whether it still reads as it did then."""
    rows = [(asked.file, _state(verbs, Path(asked.file))) for asked in verbs.trusted.each()]
    lines = [f"{file}: {state}" for file, state in rows] or ["No repository is allowed a log."]
    return Answer(
        text="\n".join(lines),
        facts={"allowed": [{"file": file, "state": state} for file, state in rows]},
    )


def log_state(verbs: ChronicleService) -> str:
    """A sentence on the project log of this folder; empty where none is asked for."""
    config = find_log_config(verbs.folder, verbs.home) if verbs.folder else None
    return _state_of(verbs, config) if config else ""


def _state(verbs: ChronicleService, file: Path) -> str:
    config = find_log_config(file.parent, file.parent)
    return _state_of(verbs, config) if config else "it is not there."


def _state_of(verbs: ChronicleService, config: LogConfig) -> str:
    if not config.local_logging:
        return config.warning
    try:
        folder = log_folder(config)
    except CommonplaceError as exc:
        return exc.message
    if not verbs.trusted.is_allowed(config):
        return asking_for(folder)
    return f"Entries are also written to {folder}. {_readers()}"


def _folder_of(verbs: ChronicleService, path: Path | None) -> Path:
    if path is not None:
        return path.parent if path.name == CONFIG_NAME and not os.path.isdir(path) else path
    if verbs.folder is None:
        raise Invalid("No project is known here.", hint="Name its folder: commonplace trust PATH.")
    return verbs.folder


def _mode() -> int:
    """The mode of a new log: 0644 less the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o644 & ~mask


def _readers() -> str:
    mode = _mode()
    who = "other users of this machine can read them" if mode & 0o044 else "they are yours alone"
    return f"New logs have mode {mode:04o} under your umask: {who}."
