"""Owns the manifest of an export: its version, its journals, and its files with their hashes.

Reads and writes no file; the bytes of a manifest are hostile until they are checked here.
"""

from __future__ import annotations

import re
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from typing import Literal

import msgspec
from msgspec import Struct, field

from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.journals.table import JOURNAL_NAMES
from commonplace.verbs.container import EXPORT_FORMAT

VERSION = 3
"""The version of the schema; exports of a newer one are refused, those of an older one are read."""

ENTRIES = "entries.jsonl"
SUMMARIES = "summaries.jsonl"

_NAME = re.compile(r"[a-z]+/[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}")
_HEX = re.compile(r"[0-9a-f]{64}")
_BY_HAND = "It was damaged or changed by hand; make the export again, or use another one."


class ExportFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of an export.

    Attributes:
        name: `<journal>/<file>`.
        role: An import reads `entries` alone; summaries and pages are for people.
        items: How many lines a file of lines has; 0 for a page.
    """

    name: str
    role: Literal["entries", "summaries", "page"]
    items: int
    size: int
    sha256: str


class ExportManifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an export holds.

    Attributes:
        owner: Whose journals it holds.
        zone: The time zone of its pages; all other times are UTC.
        since: Older entries were left out; None where none were.
        journals: How many entries there are of each journal.
        files: Sorted by name.
        seen: What its owner had looked at, as `verbs.today.seen` keeps it: times in seconds since
            1970, by ref; up to when everything was stands under an empty one.
    """

    format: str
    version: int
    owner: str
    zone: str
    since: datetime | None
    journals: dict[str, int]
    files: tuple[ExportFile, ...]
    seen: dict[str, float] = field(default_factory=dict)


class _Beginning(Struct):
    format: str | int = ""
    version: int | str = 0


def encode_export_manifest(manifest: ExportManifest) -> bytes:
    """The manifest as the bytes of its file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def parse_export_manifest(content: bytes) -> ExportManifest:
    """Parse the manifest of an export. Raises: Invalid, for one of a newer version too."""
    try:
        beginning = msgspec.json.decode(content, type=_Beginning)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as exc:
        raise Invalid("The manifest of the export cannot be read.", hint=_BY_HAND) from exc
    if isinstance(beginning.format, int):
        raise Invalid(
            "This is a backup, not an export.",
            hint="Restore it into an empty home with `commonplace restore FILE`.",
        )
    if beginning.format != EXPORT_FORMAT:
        raise Invalid(
            "The manifest is not that of an export by Commonplace.",
            hint="Name what `commonplace export` made.",
        )
    if not isinstance(beginning.version, int) or not 1 <= beginning.version <= VERSION:
        raise Invalid(
            f"The export has version {beginning.version} of the schema; this program knows 1 to"
            f" {VERSION}.",
            hint="Update Commonplace, then import it again.",
        )
    try:
        manifest = msgspec.json.decode(content, type=ExportManifest)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as exc:
        raise Invalid(f"The manifest of the export is wrong: {exc}.", hint=_BY_HAND) from exc
    _check(manifest)
    return manifest


def _check(manifest: ExportManifest) -> None:
    known = set(JOURNAL_NAMES)
    names = [each.name for each in manifest.files]
    for journal in (*manifest.journals, *(name.partition("/")[0] for name in names)):
        if journal not in known:
            raise Invalid(
                f"The export holds a journal that is not known here: {opening(journal, 60)!a}.",
                hint="Update Commonplace, then import it again.",
            )
    for each in manifest.files:
        if not _NAME.fullmatch(each.name) or ".." in each.name:
            raise Invalid(
                f"The export lists the file {opening(each.name, 200)!a}, "
                "which may lead outside of it.",
                hint=_BY_HAND,
            )
        if each.size < 0 or each.items < 0 or not _HEX.fullmatch(each.sha256):
            raise Invalid(f"The export gives no size or hash of {each.name}.", hint=_BY_HAND)
    if len({*names}) != len(names):
        raise Invalid("The export lists a file twice.", hint=_BY_HAND)
    counted = dict.fromkeys(manifest.journals, 0)
    for each in manifest.files:
        if each.role == "entries":
            journal = each.name.partition("/")[0]
            counted[journal] = counted.get(journal, 0) + each.items
    if counted != manifest.journals:
        raise Invalid("The export's counts of entries do not agree.", hint=_BY_HAND)
