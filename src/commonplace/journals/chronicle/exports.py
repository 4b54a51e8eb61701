"""Owns how entries are exported: in chronicle's own JSON, YAML and Markdown.

Never reads a file or a journal; what is written here, `imports` reads.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC
from typing import TYPE_CHECKING, Any

from commonplace.core import plain_yaml
from commonplace.journals.chronicle.go_format import (
    continued,
    one_line,
    render_go_json,
    render_rfc3339,
)
from commonplace.journals.chronicle.times import local_of, to_instant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from commonplace.journals.chronicle.event import Event

VERSION = "1.0"
TOOL = "chronicle"
TITLE = "# Chronicle Export"


def render_json(events: Iterable[Event], *, exported_at: datetime) -> str:
    """The entries as the original's JSON export, in the order given, without a final line end.

    exported_at: aware; its zone is the one in which all times are written. A fraction of a second
    is kept, which the original cuts: what is exported comes back as it was.
    """
    zone = _zone_of(exported_at)
    entries = [_fields(each, zone) for each in events]
    return render_go_json({**_header(exported_at), "entries": entries}, indent=2)


def render_yaml(events: Iterable[Event], *, exported_at: datetime) -> str:
    """The entries as YAML that the original reads; otherwise as `render_json`."""
    zone = _zone_of(exported_at)
    entries = [_fields(each, zone) for each in events]
    return plain_yaml.render_yaml({**_header(exported_at), "entries": entries})


def render_markdown(events: Iterable[Event], *, exported_at: datetime) -> str:
    """The entries as the original's Markdown export: days, and the entries of each, newest first.

    Times are to the second, on the clock of exported_at's zone (UTC's in the calendar's first and
    last hours). Further lines of a message are
    indented by four spaces; other line ends than LF become LF, and a line end in any other field a
    space. So `parse_export` gives back all but the fraction, such line ends, and tags with `, `.
    """
    zone = _zone_of(exported_at)
    days: defaultdict[str, list[tuple[Event, datetime]]] = defaultdict(list)
    for each in sorted(events, key=lambda event: -event.instant):
        local = local_of(each.instant, zone)
        days[local.date().isoformat()].append((each, local))
    generated = _header(exported_at)["exported_at"]
    head = f"{TITLE}\n\nGenerated: {generated}\n\n---\n\n"
    if not days:
        return f"{head}No entries to export.\n"
    parts = [head]
    for day in sorted(days, reverse=True):
        parts.append(f"## {day}\n\n")
        parts += [_markdown_entry(event, local) for event, local in days[day]]
    return "".join(parts)


def _zone_of(exported_at: datetime) -> tzinfo:
    return exported_at.tzinfo or UTC


def _header(exported_at: datetime) -> dict[str, str]:
    whole = exported_at.replace(microsecond=0)
    written = render_rfc3339(to_instant(whole), _zone_of(exported_at))
    return {"version": VERSION, "exported_at": written, "tool": TOOL}


def _fields(event: Event, zone: tzinfo) -> dict[str, Any]:
    """The fields of an export's entry, in its order; empty ones left out from the tags on."""
    optional = {
        "tags": list(event.tags),
        "hostname": event.hostname,
        "username": event.username,
        "working_directory": event.directory,
    }
    return {
        "id": event.id,
        "timestamp": render_rfc3339(event.instant, zone),
        "message": event.message,
        **{key: value for key, value in optional.items() if value},
    }


def _markdown_entry(event: Event, local: datetime) -> str:
    optional = {
        "Tags": ", ".join(event.tags),
        "Host": event.hostname,
        "User": event.username,
        "Directory": event.directory,
    }
    items = {"ID": event.id, **{key: value for key, value in optional.items() if value}}
    lines = [f"- **{key}**: {one_line(value)}\n" for key, value in items.items()]
    return f"### {local:%H:%M:%S} - {continued(event.message)}\n{''.join(lines)}\n"
