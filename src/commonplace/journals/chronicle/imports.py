"""Owns what is read back from chronicle's exports: JSON, YAML and Markdown of every version.

Never reads a file or a journal, and never trusts a text: no YAML tag, anchor or alias is followed.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import from_local
from commonplace.core.errors import Invalid
from commonplace.core.plain_yaml import LinedMapping, parse_yaml
from commonplace.core.text import json_kind, well_formed
from commonplace.journals.chronicle.event import Event
from commonplace.journals.chronicle.exports import TITLE
from commonplace.journals.chronicle.times import from_instant, parse_timestamp

if TYPE_CHECKING:
    from datetime import tzinfo

LONGEST_EXPORT = 256 * 1024 * 1024
"""Characters; a longer export is refused."""

_TITLE = re.compile(rf"\s*{re.escape(TITLE)}[ \t]*(?:\r?\n|\Z)")
_YAML_KEY = re.compile(r"^(?:- )?(?:version|exported_at|tool|entries|id)[ \t]*:", re.MULTILINE)
_DAY = re.compile(r"## (\d{4}-\d{2}-\d{2})[ \t]*")
_HEADING = re.compile(r"### (\d{2}:\d{2}:\d{2}) - (.*)", re.DOTALL)
_ITEM = re.compile(r"- \*\*(ID|Tags|Host|User|Directory)\*\*: (.*)", re.DOTALL)
_HINT = "Export again, or correct that entry in the file."


def parse_export(text: str, *, zone: tzinfo = UTC, limit: int = LONGEST_EXPORT) -> list[Event]:
    """The entries of an export, in its order, whichever of chronicle's forms it has.

    Their ids are the export's: the first version of chronicle counted 1, 2, 3, so that those of two
    of its databases may be equal.

    JSON (an export, the list of `list --json` in lower case or, of early versions, in Go's field
    names), YAML and Markdown. zone: the clock of Markdown's times, which bear none; all others are
    exact. Raises Invalid naming the line or the entry for anything else, and then gives nothing.
    """
    if len(text) > limit:
        raise Invalid(
            f"The export has {len(text):,} characters, more than {limit:,}.",
            hint="Split it into several files.",
        )
    plain = well_formed(text).removeprefix("\ufeff")
    if plain.lstrip()[:1] in {"{", "["} or plain.strip() == "null":
        return _from_tree(_parse_json(plain))
    if _TITLE.match(plain):
        return _parse_markdown(plain, zone)
    if _YAML_KEY.search(plain):
        return _from_tree(parse_yaml(plain))
    raise Invalid(
        "The file is not an export of chronicle's: neither JSON nor YAML nor Markdown.",
        hint="Export with `chronicle export` or `commonplace chronicle export`.",
    )


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise Invalid(f"The JSON breaks off at line {exc.lineno}: {exc.msg}.", hint=_HINT) from exc
    except (ValueError, RecursionError) as exc:
        raise Invalid("The JSON has too long a number, or is nested too deep.", hint=_HINT) from exc


def _from_tree(tree: Any) -> list[Event]:
    entries = tree
    if isinstance(tree, dict):
        if "entries" not in tree:
            raise Invalid("The export holds no `entries`.", hint=_HINT)
        entries = tree["entries"]
    if entries is None:  # Go's spelling of an empty list
        return []
    if not isinstance(entries, list):
        raise Invalid(f"Expected a list of `entries`, got {json_kind(entries)}.", hint=_HINT)
    return [_from_fields(each, number) for number, each in enumerate(entries, start=1)]


def _from_fields(entry: Any, number: int) -> Event:
    where = f"Entry {number}"
    if isinstance(entry, LinedMapping):
        where = f"Entry {number} (line {entry.line})"
    if not isinstance(entry, dict):
        raise Invalid(f"{where}: expected an object, got {json_kind(entry)}.", hint=_HINT)
    # `working_directory`, `WorkingDirectory` and `directory` are what three versions write.
    fields = {key.replace("_", "").casefold(): value for key, value in entry.items()}
    fields.setdefault("workingdirectory", fields.get("directory"))
    if type(fields.get("id")) is int:
        fields["id"] = str(fields["id"])
    names = ("id", "timestamp", "message", "hostname", "username", "workingdirectory")
    texts = {name: "" if fields.get(name) is None else fields[name] for name in names}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise Invalid(
                f"{where}: expected text as its {name}, got {json_kind(value)}.", hint=_HINT
            )
    if "message" not in fields or not texts["id"]:
        missing = "id" if "message" in fields else "message"
        raise Invalid(f"{where} has no {missing}.", hint=_HINT)
    tags = fields.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise Invalid(f"{where}: expected a list of texts as its tags.", hint=_HINT)
    try:
        instant = parse_timestamp(texts["timestamp"])
    except Invalid as exc:
        raise Invalid(f"{where}: its timestamp is not a time.", hint=_HINT) from exc
    return Event(
        id=texts["id"],
        at=from_instant(instant),
        nanos=instant % 1000,
        message=texts["message"],
        tags=tuple(tags),
        hostname=texts["hostname"],
        username=texts["username"],
        directory=texts["workingdirectory"],
    )


def _parse_markdown(text: str, zone: tzinfo) -> list[Event]:
    lines = text.replace("\r\n", "\n").split("\n")
    day: date | None = None
    blocks: list[tuple[int, date, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        found = _DAY.fullmatch(line)
        # The original writes a message's further lines as they are: a day's heading inside one
        # is the message's unless the items of its entry are over.
        if found and (not blocks or any(map(_ITEM.fullmatch, blocks[-1][2]))):
            day = _parse_day(found[1], number)
        elif _HEADING.fullmatch(line):
            if day is None:
                raise Invalid(f"Line {number}: an entry stands above the first day.", hint=_HINT)
            blocks.append((number, day, [line]))
        elif blocks:
            blocks[-1][2].append(line)
    return [_from_block(*block, zone) for block in blocks]


def _parse_day(text: str, number: int) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as exc:
        raise Invalid(f"Line {number}: {text} is not a date.", hint=_HINT) from exc


def _from_block(number: int, day: date, lines: list[str], zone: tzinfo) -> Event:
    heading = _HEADING.fullmatch(lines[0])
    assert heading is not None
    first = next((n for n, line in enumerate(lines) if line.startswith("- **ID**: ")), 0)
    if not first:
        raise Invalid(f"Line {number}: the entry has no ID.", hint=_HINT)
    listed = takewhile(bool, map(_ITEM.fullmatch, lines[first:]))
    items = {item[1]: item[2] for item in listed if item}
    try:
        local = datetime.combine(day, time.fromisoformat(heading[1]))
    except ValueError as exc:
        raise Invalid(f"Line {number}: {heading[1]} is not a time.", hint=_HINT) from exc
    tags = items.get("Tags", "")
    further = lines[1:first]
    # Ours are indented; the original's are as they are.
    if all(not line or line.startswith("    ") for line in further):
        further = [line[4:] for line in further]
    return Event(
        id=items["ID"],
        at=from_local(local, zone),
        message="\n".join([heading[2], *further]),
        tags=tuple(tags.split(", ")) if tags else (),
        hostname=items.get("Host", ""),
        username=items.get("User", ""),
        directory=items.get("Directory", ""),
    )
