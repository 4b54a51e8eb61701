"""Owns the project logs: where a `.chronicle` puts them, and the line an entry adds to one.

Never writes where the user has not allowed it, nor outside `.chronicle`'s own folder, and never
lets a log that fails reach the entry.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Denied, Invalid
from commonplace.core.files import make_folder, translated
from commonplace.core.plain_files import NotRegularError, end_lock, is_at, open_plain, take_lock
from commonplace.journals.chronicle.go_format import (
    continued,
    one_line,
    render_go_json,
    render_rfc3339,
)
from commonplace.journals.chronicle.log_config import NOT_WRITTEN, LogConfig
from commonplace.journals.chronicle.times import local_of

if TYPE_CHECKING:
    from datetime import date, tzinfo

    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.trust import TrustedLogs

# Tabs and line ends may stay; what else steers a terminal does not belong into a file to `cat`.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def write_log(config: LogConfig | None, event: Event, zone: tzinfo, trusted: TrustedLogs) -> str:
    """Append an entry to its project's log of the day; a sentence of warning where that failed.

    Writes `<root>/<log_dir>/YYYY-MM-DD.log`, named and clocked by the zone, in one write, so that
    two processes never mix. The mode of new files follows the umask. Writes nothing where the
    project does not ask for it, or the user has not allowed it, which is asked once. Never raises.
    """
    if config is None or not config.local_logging:
        return config.warning if config else ""
    try:
        folder = log_folder(config)
        if not trusted.is_allowed(config):
            return asking_for(folder) if trusted.ask_once(config) else ""
        path = folder / log_name(local_of(event.instant, zone).date())
        make_folder(folder, 0o755)
        _refuse_foreign(folder)
        with translated(path):
            whole = append_to_log(path, render_log(event, config.log_format, zone).encode())
    except CommonplaceError as exc:
        return f"{NOT_WRITTEN}: {exc.message}"
    return config.warning if whole else f"The project log {path} took only part of the entry."


def asking_for(folder: Path) -> str:
    """What an answer says of a log that the user has not allowed."""
    return (
        f"This repository asks for a project log at {folder}; none is written unless the user "
        "runs `commonplace trust`, which allows it."
    )


def log_folder(config: LogConfig) -> Path:
    """The folder that a `.chronicle` of this user puts its logs into, there or not.

    Raises: Denied where it is another user's, leads out of its folder, through a link, or to git.
    """
    _refuse_foreign(config.file)
    return folder_of_logs(config.file, config.log_dir)


def folder_of_logs(file: Path, log_dir: str) -> Path:
    """The folder that a `.chronicle` means by a log_dir. Raises: Denied, as `log_folder`."""
    root, hint = file.parent, f"Change log_dir in {file}."
    folder = Path(os.path.normpath(os.path.join(root, log_dir)))
    # `~` means the home, not a folder of that name; TOML can write a NUL, and no path can hold it.
    if log_dir[:1] == "~" or "\0" in log_dir or not folder.is_relative_to(root):
        raise Denied(f"log_dir in {file} leads out of its folder.", hint=hint)
    if any(part.casefold() == ".git" for part in folder.parts):
        raise Denied(f"log_dir in {file} leads into git's own folder.", hint=hint)
    for each in (folder, *folder.parents):
        if each == root:
            break
        if os.path.islink(each):
            raise Denied(f"{each} is a symbolic link.", hint=hint)
    return folder


def log_name(day: date) -> str:
    """The name of the log of a day."""
    return f"{day.isoformat()}.log"


def _refuse_foreign(path: Path) -> None:
    with translated(path):
        owner = os.stat(path).st_uid
    if os.name != "nt" and owner != os.geteuid():
        raise Denied(f"{path} belongs to another user.", hint="Use a folder of your own.")


def append_to_log(path: Path, content: bytes) -> bool:
    """Add to the end of a plain file in one write; whether all was taken. Raises OSError, Invalid.

    A file that another process of ours is changing is waited for, and its new content added to.
    """
    while True:
        descriptor = _opened(path)
        try:
            # It waits half a second at most: any program may hold such a lock, and for ever.
            take_lock(descriptor, waits_s=0.5, is_shared=True)
            if is_at(path, descriptor):
                return os.write(descriptor, content) == len(content)
        finally:
            end_lock(descriptor)
            os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        descriptor = open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, mode=0o644)
    except NotRegularError as exc:
        raise Invalid(f"{path} is not a plain file.", hint="Move it away.") from exc
    if os.name != "nt" and os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise Denied(f"{path} belongs to another user.", hint="Move it away.")
    return descriptor


def render_log(event: Event, log_format: str, zone: tzinfo) -> str:
    """An entry as a project log holds it, in one of FORMATS.

    Markdown and JSON are the original's, but that further lines of a message are indented by four
    spaces and control characters shown as U+FFFD. Text is one line: time, user, folder, tags,
    message.
    """
    if log_format == "json":
        return _render_json_line(event, zone)
    at = f"{local_of(event.instant, zone):%H:%M:%S}"
    message = harmless(continued(event.message))
    tags = harmless(one_line(", ".join(event.tags)))
    user = harmless(one_line(f"{event.username}@{event.hostname}"))
    directory = harmless(one_line(event.directory))
    if log_format == "text":
        bracketed = f" [{tags}]" if tags else ""
        return f"{at} {user} {directory}{bracketed} {message}\n"
    tag_line = f"- **Tags**: {tags}\n" if tags else ""
    return f"## {at} - {message}\n{tag_line}- **User**: {user}\n- **Directory**: {directory}\n\n"


def _render_json_line(event: Event, zone: tzinfo) -> str:
    fields = {
        "id": event.id,
        "timestamp": render_rfc3339(event.instant, zone),
        "message": event.message,
        "hostname": event.hostname,
        "username": event.username,
        "working_directory": event.directory,
        "tags": list(event.tags) or None,
    }
    return render_go_json(fields) + "\n"


def harmless(text: str) -> str:
    """The text as a log holds it, its control characters shown as U+FFFD."""
    return _CONTROL.sub("\ufffd", text)
