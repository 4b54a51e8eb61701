"""Converts the files of the private journals into items of an export, and items into files.

Never reads or writes a file of an export, nor a project's folder: it keeps to the copies in our
home of the notes of all projects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.clock import micros
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.expiring import nothing_hidden
from commonplace.core.files import translated
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem
from commonplace.core.text import opening
from commonplace.journals.private.format import parse_day, version_of
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.journals.private.places import (
    LARGEST_FILE,
    SCHEME,
    EntryPlace,
    find_linked,
    lexical_place,
    list_day,
    list_days,
    list_places,
    places_of,
    read_at,
    read_changed,
    read_entry,
)
from commonplace.journals.private.roots import digest_in, project_digest, project_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.roots import Root

JOURNAL = "private"
_HOME = "~/"
_AT_ONCE = 500


class PortableThoughts(PortableItem, frozen=True, kw_only=True):
    """An entry of the private journal.

    Attributes:
        text: The whole file, with its frontmatter.
        changed: When the file was last changed, if that alone gives the entry its time.
        project: The root that it lies in, `~/` for the home; empty for the user's own.
    """

    text: str
    changed: datetime | None = None
    project: str = ""

    def page_facts(self) -> Mapping[str, str]:
        """Whose note it is."""
        return {"Project": self.project}

    def page_text(self) -> str:
        """The file without its frontmatter."""
        return split_frontmatter(self.text)[1]


class PortablePrivate:
    """Exports the user's journal and the notes of all projects, and imports them.

    See `core.ports.Portable`, and `LocatesItems`.
    """

    journal = JOURNAL
    item_type: Any = PortableThoughts

    def __init__(self, private: PrivateJournal, home: Path | None) -> None:
        self._private = private
        self._home = home
        self._root = private.roots[0]

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return next(self._places(), None) is None

    def export_items(self, since: datetime | None) -> Iterator[PortableThoughts]:
        """See `Portable.export_items`; of projects what their copies held when it was called.

        Who exports has the copies follow their projects first, once: see `NotesRecovery.copy_all`.
        """
        projects = {copy.scope: (root, copy) for root, copy in self._private.copies.each()}
        places, hidden = [*self._places()], self._root.hidden()
        for _, copy in projects.values():
            places += (place for place in list_places(copy) if place.ref not in hidden)
        times = sorted(
            ((at, place) for place in places if (at := self._time_of(place))),
            key=lambda each: (each[0], each[1].ref),
        )
        for at, place in times:
            if since is None or at >= since:
                project = None if place.root is self._root else projects[place.root.scope][0]
                yield from self._items_of(place, project)

    def check_item(self, item: PortableThoughts) -> None:
        """See `Portable.check_item`."""
        self._placed(item)

    def located(self, item: PortableThoughts) -> PortableThoughts:
        """A project's note as it would be, had it been exported here; see `LocatesItems`."""
        old = item.ref.removeprefix(SCHEME).partition("/")[0]
        new = f"project@{project_digest(self._path_of(item))}" if item.project else old
        if not digest_in(old) or new == old:
            return item
        return replace(
            item,
            ref=_relocated(item.ref, old, new),
            supersedes=_relocated(item.supersedes, old, new),
            superseded_by=_relocated(item.superseded_by, old, new),
            text=relocated_text(item.text, old, new),
        )

    def import_items(
        self, items: Iterator[PortableThoughts], noting: NotesImport = NOT_NOTED
    ) -> int:
        """See `Portable.import_items`."""
        added = 0
        while batch := list(islice(items, _AT_ONCE)):
            planned: dict[str, str] = {}
            placed = [(item, *self._placed(item)) for item in batch]
            for item, place, content in placed:
                if not os.path.lexists(place.path):
                    key = self._private.plan_file(place, content, at=item.at)
                    planned[key] = version_of(content)
            noting.put_planned(planned)
            added += sum(self._import(*each) for each in placed)
            noting.put_added(planned)
        self._private.recovery.place_restored(self._home)
        return added

    def _import(self, item: PortableThoughts, place: EntryPlace, content: bytes) -> bool:
        """Write the file of an item, or keep it for its project; whether it is new."""
        if not item.project:
            return self._private.write_file(place, content, at=item.at, changed=item.changed)
        at_ns = micros(item.changed or item.at) * 1000
        is_there = os.path.lexists(place.path)
        return not is_there and self._private.copies.add(place, content, at_ns)

    def _placed(self, item: PortableThoughts) -> tuple[EntryPlace, bytes]:
        """The place and the content of an item's file. Raises: Invalid, Denied."""
        content = content_of(item)
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
            with translated(root.path / day):
                listing = list_day(root, day)
            for name in listing.refused:
                self._private.notices.log(root.path / day / name, "it is not a plain file")
            yield from places_of(root, day, listing)

    def _time_of(self, place: EntryPlace) -> datetime | None:
        try:
            return read_at(place, self._private.zone)
        except CommonplaceError as exc:
            self._private.notices.log(place.path, exc.message)
            return None

    def _shown(self, root: Path) -> str:
        """A root as an export names it, so that it is found below another home as well."""
        for home in (self._home, self._home and Path(os.path.realpath(self._home))):
            if home and root.is_relative_to(home) and root != home:
                return f"{_HOME}{root.relative_to(home).as_posix()}"
        return str(root)

    def _path_of(self, item: PortableThoughts) -> Path:
        """The root that a project's note lies in here. Raises: Invalid."""
        named = item.project
        below = named.removeprefix(_HOME)
        path = self._home / below if self._home and below != named else Path(named)
        if "\0" in named or not path.is_absolute() or os.path.normpath(path) != str(path):
            raise Invalid(
                f"Invalid project of {item.ref[:200]!a}: {named[:200]!a}.",
                hint="Use an export that was not changed by hand.",
            )
        return Path(os.path.realpath(path))

    def _items_of(self, place: EntryPlace, project: Root | None) -> Iterator[PortableThoughts]:
        try:
            entry = read_entry(place, self._private.zone)
            changed = read_changed(place, self._private.zone)
        except CommonplaceError as exc:
            self._private.notices.log(place.path, exc.message)
            return
        # A project's git repository may hold the other one, of which there is no copy then.
        roots = [place.root, *([] if project is None else [project])]
        links = (find_linked(entry.superseded_by, root) for root in roots)
        yield PortableThoughts(
            ref=entry.ref,
            at=entry.at,
            supersedes=entry.supersedes,
            superseded_by=next(filter(None, links), ""),
            text=entry.raw,
            changed=changed,
            project="" if project is None else self._shown(project.path),
        )

    def _place_of(self, item: PortableThoughts) -> EntryPlace:
        """The place of an item's file, in the folder of a day. Raises: Invalid, Denied."""
        root = self._root
        if item.project:
            path = self._path_of(item)
            root = project_root(path, base=path.parent, hidden=nothing_hidden)
        place = lexical_place(item.ref, (root,))
        day, _, name = place.relative.partition("/")
        if parse_day(day) is None or "/" in name or name.startswith("."):
            raise not_in_a_day(item.ref)
        return place


def content_of(item: PortableThoughts) -> bytes:
    """The file of an item. Raises: Invalid where it is larger than any entry."""
    content = item.text.encode("utf-8", "replace")
    if len(content) > LARGEST_FILE:
        raise Invalid(
            f"Invalid text of {item.ref}: {len(content):,} bytes.",
            hint=f"Use at most {LARGEST_FILE >> 20} MB.",
        )
    return content


def not_in_a_day(ref: str) -> Invalid:
    """What is raised for an item whose ref is not that of a file in the folder of a day."""
    return Invalid(
        f"Invalid ref: {opening(ref, 200)!a} is not in the folder of a day.",
        hint="Use an export that was not changed by hand.",
    )


def relocated_text(text: str, old: str, new: str) -> str:
    """A note whose frontmatter names its project's others by the scope that they have here."""
    frontmatter = split_frontmatter(text)[0]
    return _relocated(frontmatter, old, new) + text[len(frontmatter) :] if frontmatter else text


def _relocated(text: str, old: str, new: str) -> str:
    return text.replace(f"{SCHEME}{old}/", f"{SCHEME}{new}/")
