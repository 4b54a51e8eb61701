"""Converts the files of the user's private journal into items of an export, and items into files.

Never reads or writes a file of an export, nor any project's journal.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  a struct reads it at run time
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import translated
from commonplace.core.portable import PortableItem
from commonplace.journals.private.format import parse_day
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.journals.private.places import (
    LARGEST_FILE,
    EntryPlace,
    lexical_place,
    list_day,
    list_days,
    places_of,
    read_at,
    read_changed,
    read_entry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.private.journal import PrivateJournal

JOURNAL = "private"


class PortableThoughts(PortableItem, frozen=True, kw_only=True):
    """An entry of the private journal.

    Attributes:
        text: The whole file, with its frontmatter.
        changed: When the file was last changed, if that alone gives the entry its time.
    """

    text: str
    changed: datetime | None = None

    def page_text(self) -> str:
        """The file without its frontmatter."""
        return split_frontmatter(self.text)[1]


class PortablePrivate:
    """Exports the user's journal, and imports into an empty one. See `core.ports.Portable`."""

    journal = JOURNAL
    item_type: Any = PortableThoughts

    def __init__(self, private: PrivateJournal) -> None:
        self._private = private
        self._root = private.roots[0]

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return next(self._places(), None) is None

    def export_items(self, since: datetime | None) -> Iterator[PortableThoughts]:
        """See `Portable.export_items`."""
        times = sorted(
            ((at, place) for place in self._places() if (at := self._time_of(place))),
            key=lambda each: (each[0], each[1].ref),
        )
        for at, place in times:
            if since is None or at >= since:
                yield from self._items_of(place)

    def check_item(self, item: PortableThoughts) -> None:
        """See `Portable.check_item`."""
        self._content_of(item)

    def import_items(self, items: Iterator[PortableThoughts]) -> int:
        """See `Portable.import_items`."""
        added = 0
        for item in items:
            place, content = self._content_of(item)
            added += self._private.write_file(place, content, at=item.at, changed=item.changed)
        return added

    def _content_of(self, item: PortableThoughts) -> tuple[EntryPlace, bytes]:
        """The place and the content of an item's file. Raises: Invalid, Denied."""
        content = item.text.encode("utf-8", "replace")
        if len(content) > LARGEST_FILE:
            raise Invalid(
                f"Invalid text of {item.ref}: {len(content):,} bytes.",
                hint=f"Use at most {LARGEST_FILE >> 20} MB.",
            )
        return self._place_of(item), content

    def _places(self) -> Iterator[EntryPlace]:
        root = self._root
        if root.link() is not None:
            return
        try:
            days = list_days(root)
        except FileNotFoundError:
            return
        except OSError as exc:
            with translated(root.path):
                raise exc from None
        for day in days:
            with translated(root.path / day.name):
                listing = list_day(root, day.name)
            for name in listing.refused:
                self._private.notices.log(root.path / day.name / name, "it is not a plain file")
            yield from places_of(root, day.name, listing)

    def _time_of(self, place: EntryPlace) -> datetime | None:
        try:
            return read_at(place, self._private.zone)
        except CommonplaceError as exc:
            self._private.notices.log(place.path, exc.message)
            return None

    def _items_of(self, place: EntryPlace) -> Iterator[PortableThoughts]:
        try:
            entry = read_entry(place, self._private.zone)
            changed = read_changed(place, self._private.zone)
        except CommonplaceError as exc:
            self._private.notices.log(place.path, exc.message)
            return
        yield PortableThoughts(
            ref=entry.ref,
            at=entry.at,
            supersedes=entry.supersedes,
            superseded_by=entry.superseded_by,
            text=entry.raw,
            changed=changed,
        )

    def _place_of(self, item: PortableThoughts) -> EntryPlace:
        """The place of an item's file, in the folder of a day. Raises: Invalid, Denied."""
        place = lexical_place(item.ref, (self._root,))
        day, _, name = place.relative.partition("/")
        if parse_day(day) is None or "/" in name or name.startswith("."):
            raise Invalid(
                f"Invalid ref: {item.ref[:200]!a} is not in the folder of a day.",
                hint="Use an export that was not changed by hand.",
            )
        return place
