"""Takes out or replaces an entry's line in a project log once the entry is deleted or edited.

Never touches a log that git tracks, or that the user no longer allows: it says why instead.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.files import remove_file, replace_file, translated
from commonplace.core.plain_files import NotRegularError, open_regular, take_lock
from commonplace.journals.chronicle.go_format import continued, one_line, render_go_json
from commonplace.journals.chronicle.log_config import read_log_config
from commonplace.journals.chronicle.logs import (
    append_to_log,
    folder_of_logs,
    harmless,
    log_name,
    render_log,
)
from commonplace.journals.chronicle.times import SECOND_NS, local_of
from commonplace.journals.git.index import is_tracked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.trust import TrustedLogs, TrustRequest

_LOGS = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].log"
_DAY = timedelta(days=1)
_BREAK = rb"\r?\n"
"""An editor, or a git that writes files for Windows, may have changed how lines end."""
_END = rb"(?:\r?\n|\Z)"
_QUARTER_S = 900
"""Every offset of a time zone is so many seconds, or a multiple of it."""


class ProjectLogLine(Struct, frozen=True, kw_only=True):
    """The line of an entry in a project log.

    Attributes:
        log: The file.
        left: Why it is not touched, and the next step; empty where it can be taken out.
    """

    log: Path
    left: str = ""


class ProjectLogs(Struct, frozen=True, kw_only=True):
    """The project logs of all projects in which the user allows, or once allowed, them.

    Attributes:
        trusted: What the user has allowed.
        zone: The owner's, whose days name the files.
    """

    trusted: TrustedLogs
    zone: tzinfo

    def files(self) -> Iterator[Path]:
        """Every log that is there."""
        for _, folder in self._folders():
            yield from sorted(folder.glob(_LOGS))

    def find(self, event: Event) -> Iterator[ProjectLogLine]:
        """The lines of an entry, in every log that may have one."""
        day = local_of(event.instant, self.zone).date()
        for asked, folder in self._folders():
            # The owner's zone may have been another one when it was logged.
            for each in (day, day - _DAY, day + _DAY):
                log = folder / log_name(each)
                content = _content(log)
                if content and _span_of(content, event, self.zone):
                    yield ProjectLogLine(log=log, left=_left(log, asked))

    def take_out(self, event: Event, log: Path, *, after: Event | None = None) -> None:
        """Take an entry's line out of a log, or put that of the edited entry in its place.

        The edited entry's line goes to the log of its day. A log that is empty then is removed.

        Raises: Denied, Unavailable.
        """
        with _held_log(log) as descriptor:
            if descriptor is None:
                return
            content = _read_all(descriptor)
            span = _span_of(content, event, self.zone)
            if span is None:
                return
            start, end, log_format = span
            line, name = b"", log.name
            if after is not None:
                line = render_log(after, log_format, self.zone).encode()
                name = log_name(local_of(after.instant, self.zone).date())
            if name != log.name:
                with translated(log):
                    append_to_log(log.with_name(name), line)
                line = b""
            left = content[:start] + line + content[end:]
            if left:
                replace_file(log, left)
            else:
                remove_file(log)
            # Another program locks nothing: what it added during this went to the former file.
            if late := _read_all(descriptor)[len(content) :]:
                with translated(log):
                    append_to_log(log, late)

    def correct(self, event: Event, after: Event | None = None) -> tuple[str, ...]:
        """Do so in every log; a note on each that is left as it was. Never raises."""
        notes = []
        for line in self.find(event):
            left = line.left
            if not left:
                try:
                    self.take_out(event, line.log, after=after)
                except CommonplaceError as exc:
                    left = f"{exc.located} {exc.located_hint}"
            if left:
                notes.append(f"The project log {line.log} still has its line: {left}")
        return tuple(notes)

    def _folders(self) -> Iterator[tuple[TrustRequest, Path]]:
        for asked in self.trusted.every():
            file = Path(asked.file)
            # Where none was ever allowed here, chronicle's own tool may have written one.
            for name in asked.logs or (read_log_config(file).log_dir,):
                with contextlib.suppress(CommonplaceError):
                    yield asked, folder_of_logs(file, name)


def _left(log: Path, asked: TrustRequest) -> str:
    """Why a log is not touched, and the next step; empty where it is."""
    if not asked.allowed:
        return f"{asked.file} is no longer trusted; take the line out yourself."
    match is_tracked(log):
        case True:
            return "git tracks it; take the line out and commit. Git's history keeps it."
        case None:
            return "git cannot say whether it tracks it; take the line out yourself."
        case _:
            return ""


def _span_of(content: bytes, event: Event, zone: tzinfo) -> tuple[int, int, str] | None:
    """Where an entry's line lies in a log, and in which format; None where there is none."""
    line = render_go_json({"id": event.id})[:-1].encode()
    if found := re.search(rb"^" + re.escape(line) + rb",[^\n]*" + _END, content, re.MULTILINE):
        return *found.span(), "json"
    message = harmless(continued(event.message)).encode()
    if message not in content.replace(b"\r\n", b"\n"):
        return None
    user = harmless(one_line(f"{event.username}@{event.hostname}")).encode()
    directory = harmless(one_line(event.directory)).encode()
    message, user, directory = map(re.escape, (message, user, directory))
    message = message.replace(b"\\\n", _BREAK)
    clock = rb"(\d\d):(\d\d):(\d\d)"
    forms = {
        "markdown": rb"^## %b - %b\r?\n(?:- \*\*Tags\*\*: [^\n]*\n)?"
        rb"- \*\*User\*\*: %b\r?\n- \*\*Directory\*\*: %b%b(?:\r?\n)?"
        % (clock, message, user, directory, _END),
        "text": rb"^%b %b %b(?: \[[^\n]*\])? %b%b(?![\r\n]* {4})"
        % (clock, user, directory, message, _END),
    }
    spans = [
        (abs(off), *found.span(), log_format)
        for log_format, form in forms.items()
        for found in re.finditer(form, content, re.MULTILINE)
        if (off := _seconds_off(found, event, zone)) % _QUARTER_S == 0
    ]
    # The nearest: the same words may have been logged twice that day.
    return min(spans)[1:] if spans else None


def _seconds_off(found: re.Match[bytes], event: Event, zone: tzinfo) -> int:
    hours, minutes, seconds = (int(each) for each in found.groups()[:3])
    local = local_of(event.instant // SECOND_NS * SECOND_NS, zone)
    return (hours - local.hour) * 3600 + (minutes - local.minute) * 60 + seconds - local.second


def _content(log: Path) -> bytes:
    """What a log holds; nothing for one that is not there, or is no plain file of this user's."""
    try:
        with _held_log(log, waits_s=0.0) as descriptor:
            return b"" if descriptor is None else _read_all(descriptor)
    except CommonplaceError:
        return b""


@contextlib.contextmanager
def _held_log(log: Path, *, waits_s: float = 2.0) -> Iterator[int | None]:
    """A log, open and locked against our own writers; None where there is none.

    waits_s: how long its lock is waited for; 0 to read without it. Raises: Denied, Unavailable.
    """
    opened = None
    with translated(log), contextlib.suppress(FileNotFoundError, NotRegularError):
        opened = open_regular(log, follows_links=False)
    if opened is None:
        yield None
        return
    with opened:
        if waits_s and take_lock(opened.fileno(), waits_s=waits_s) is False:
            raise Unavailable(
                "The project log {place} is locked.", hint="Take the line out yourself.", place=log
            )
        yield opened.fileno()


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)
