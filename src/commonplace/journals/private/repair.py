"""Owns what `doctor` says of a private root, and the little it may mend there.

Never alters the text of an entry: a broken one is named, and its owner decides.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Denied, NotFound
from commonplace.core.files import (
    locked,
    remove_file,
    remove_leftovers,
    replace_file,
    translated,
)
from commonplace.core.values import Problem
from commonplace.journals.private.embedding import find_fault
from commonplace.journals.private.format import decode, mark_superseded, parse_day, rewritten
from commonplace.journals.private.markdown import (
    FRONTMATTER_LIMIT,
    SUPERSEDED_BY,
    SUPERSEDES,
    is_torn,
    parse_frontmatter,
)
from commonplace.journals.private.places import (
    LARGEST_FILE,
    SIDECAR,
    SUFFIX,
    EntryPlace,
    Listing,
    find_linked,
    list_day,
    list_days,
    parse_place,
    places_of,
    read_bytes,
    reading_day,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from commonplace.journals.private.gitignore import IgnoredDays
    from commonplace.journals.private.project_copies import ProjectCopies
    from commonplace.journals.private.roots import Root

_OTHERS = 0o077


def find_problems(root: Root, ignored: IgnoredDays) -> Iterator[Problem]:
    """What is wrong with a root now; reads every entry and every `.embedding`, changes nothing."""
    try:
        root.refuse_link()
    except Denied as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)
        return
    try:
        days = list_days(root)
    except FileNotFoundError:
        return
    except OSError as exc:
        yield Problem(
            what=f"{root.path} cannot be listed: {os.strerror(exc.errno or 0)}.",
            hint="Check its owner and mode.",
        )
        return
    if _is_open_to_others(root):
        yield Problem(
            what=f"{root.path} can be entered by other users of this machine.",
            hint="Make it yours alone: chmod 700.",
            repairable=True,
        )
    if ignored.missing(root, days):
        yield Problem(
            what=f"Git may not ignore {root.path}: `git add` would add private notes.",
            hint="Repair has it ignored; or name the folder in your own settings (private.path).",
            repairable=True,
        )
    for link in _linked_days(root):
        yield Problem(
            what=f"{root.path / link} is a symbolic link named like a day; it is not followed.",
            hint="Replace it by the folder it leads to, or remove it.",
        )
    superseding: list[tuple[EntryPlace, str]] = []
    for day in days:
        yield from _problems_of_day(root, day, superseding)
    for place, successor in _half_superseded(root, superseding):
        yield Problem(
            what=f"{place.path} does not name the entry that took its place, {successor}.",
            hint="Repair has it name that one.",
            repairable=True,
        )


def _problems_of_day(
    root: Root, day: str, superseding: list[tuple[EntryPlace, str]]
) -> Iterator[Problem]:
    """What is wrong in one day folder; each file of it is read once.

    superseding: Takes what entries say that they supersede, as `_superseding`.
    """
    folder = root.path / day
    try:
        listing = list_day(root, day)
    except OSError as exc:
        yield Problem(
            what=f"{folder} cannot be listed: {os.strerror(exc.errno or 0)}.",
            hint="Check its owner and mode.",
        )
        return
    for name in listing.refused:
        yield Problem(
            what=f"{str(folder / name)!r} is not read: it is not a plain file with a plain name.",
            hint="Move the file itself here, under a name of letters, digits, '-' and '_'.",
        )
    yield from _problems_of_entries(root, day, listing, superseding)
    for stem in sorted(listing.sidecars):
        if f"{stem}{SUFFIX}" not in listing.entries:
            yield Problem(
                what=f"{folder / stem}{SIDECAR} holds the text of an entry that is gone.",
                hint="Remove it, or write the entry again from its text.",
            )
    for place, reason in corrupt_sidecars(root, day, listing):
        yield Problem(
            what=f"{place.sidecar} {reason}.",
            hint="Repair removes it; it is made again from the entry.",
            repairable=True,
        )


def _problems_of_entries(
    root: Root, day: str, listing: Listing, superseding: list[tuple[EntryPlace, str]]
) -> Iterator[Problem]:
    with reading_day(root, day) as read:
        for place in places_of(root, day, listing):
            try:
                content, _ = read(place)
            except NotFound:
                continue
            except CommonplaceError as exc:
                yield Problem(what=exc.located, hint=exc.located_hint)
                continue
            what, hint = _fault_of(place, content)
            if what:
                yield Problem(what=what, hint=hint)
            if former := _superseded_in(content):
                superseding.append((place, former))


def repair_root(root: Root, ignored: IgnoredDays, copies: ProjectCopies) -> Iterator[str]:
    """Remove corrupt `.embedding` files and leftovers, close the root to users and to git.

    Says each thing that was done.

    Raises: Denied, Unavailable.
    """
    try:
        days = list_days(root)
    except OSError:
        return
    if _is_open_to_others(root):
        with translated(root.path):
            os.chmod(root.path, 0o700)
        yield f"Closed {root.path} to other users."
    for day in days:
        if note := ignored.ensure(root, day):
            yield note
    for folder in (root.path, *(root.path / x for x in days)):
        removed = remove_leftovers(folder)
        if removed:
            yield f"Removed {removed} leftovers of interrupted writes from {folder}."
    yield from _link_superseded(root, days, copies)
    for day in days:
        try:
            listing = list_day(root, day)
        except OSError:
            continue
        for place, reason in corrupt_sidecars(root, day, listing):
            remove_file(place.sidecar)
            yield f"Removed {place.sidecar}: it {reason}."


def _link_superseded(root: Root, days: Sequence[str], copies: ProjectCopies) -> Iterator[str]:
    """Have entries name the one that took their place; says each."""
    for place, successor in list(_half_superseded(root, _superseding(root, days))):
        with locked(place.path.parent):
            mark = partial(mark_superseded, successor=successor)
            with copies.changing(place):
                replace_file(place.path, rewritten(read_bytes(place)[0], mark))
        yield f"Had {place.path} name {successor}, which took its place."


def _superseding(root: Root, days: Sequence[str]) -> Iterator[tuple[EntryPlace, str]]:
    """The entries that say which one they supersede, each with what it says."""
    for day in days:
        with suppress(OSError):
            listing = list_day(root, day)
            with reading_day(root, day) as read:
                for place in places_of(root, day, listing):
                    with suppress(CommonplaceError):
                        if former := _superseded_in(read(place, FRONTMATTER_LIMIT)[0]):
                            yield place, former


def _superseded_in(content: bytes) -> str:
    """What a file says that its entry supersedes; mostly nothing."""
    beginning = content[: FRONTMATTER_LIMIT + 1]
    if SUPERSEDES.encode() not in beginning.lower():
        return ""
    return parse_frontmatter(decode(beginning)).get(SUPERSEDES, "")


def _half_superseded(
    root: Root, superseding: Iterable[tuple[EntryPlace, str]]
) -> Iterator[tuple[EntryPlace, str]]:
    """Entries that do not name the one that took their place, as where a process was killed."""
    for place, named in superseding:
        with suppress(CommonplaceError):
            former = parse_place(named, (root,))
            found = parse_frontmatter(decode(read_bytes(former, FRONTMATTER_LIMIT)[0]))
            if not find_linked(found.get(SUPERSEDED_BY, ""), root):
                yield former, place.ref


def _linked_days(root: Root) -> list[str]:
    with os.scandir(root.path) as names:
        return sorted(x.name for x in names if parse_day(x.name) and x.is_symlink())


def _is_open_to_others(root: Root) -> bool:
    return os.name != "nt" and bool(os.stat(root.path).st_mode & _OTHERS)


def _fault_of(place: EntryPlace, content: bytes) -> tuple[str, str]:
    if not content:
        return f"{place.path} is empty.", "Remove it, or write into it."
    if len(content) > LARGEST_FILE:
        return f"{place.path} is too large to be read.", "Split the file."
    if is_torn(decode(content)):
        return f"{place.path} has frontmatter that never ends.", "Close it with a line of `---`."
    return "", ""


def corrupt_sidecars(
    root: Root, day: str, listing: Listing, *, fault_of: Callable[[bytes], str] = find_fault
) -> Iterator[tuple[EntryPlace, str]]:
    """The entries of a day whose `.embedding` cannot be used, each with the reason."""
    with reading_day(root, day) as read:
        for place in places_of(root, day, listing):
            stem = place.relative.removesuffix(SUFFIX)
            if stem.rpartition("/")[2] not in listing.sidecars:
                continue
            try:
                content, _ = read(EntryPlace(root=root, relative=stem + SIDECAR))
            except CommonplaceError:
                continue
            if reason := fault_of(content):
                yield place, reason
