"""The verbs that correct an entry of any journal by its ref: edit, delete, supersede, undo.

Never knows a journal but by its port, and opens only the one that a ref names. Never takes back
what was edited again since: that is a Conflict, which names it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import render_instant
from commonplace.core.errors import (
    CommonplaceError,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    has_changed,
)
from commonplace.core.former_texts import correct_latest, editing
from commonplace.core.inherited import HandsOnValues, Inheritance
from commonplace.core.ports import KeepsExpired
from commonplace.core.refs import look_up
from commonplace.core.spaces import author_at_work, check_may_delete, writer_at_work
from commonplace.core.text import nearest, opening
from commonplace.journals.table import JOURNAL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from commonplace.core.former_texts import FormerText, FormerTexts
    from commonplace.core.inherited import InheritedValues
    from commonplace.core.ports import AmendsRefs
    from commonplace.core.time_book import TimeBook
    from commonplace.core.values import Amendment, EditableText
    from commonplace.search.filing.port import Outcome

_Written = TypeVar("_Written")
_Given = TypeVar("_Given")

SHORT_VERSION = 12
"""So many characters of a version are shown to a model, and taken back from it."""

_IS_OWN = "it stays as it was written, and the new text is an entry of its own."


@runtime_checkable
class KeepsGone(KeepsExpired, Protocol):
    """A journal with copies of entries that were lost, by which they can come back."""

    def delete_kept(self, ref: str, *, expected: str = "") -> Amendment:
        """Erase all of a lost entry; as `AmendsRefs.delete`."""
        ...


@runtime_checkable
class RestoresTexts(Protocol):
    """A journal in which an edit can be taken back."""

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Make an entry what it was before an edit, and file it. Raises: as `AmendsRefs.edit`."""
        ...


Field: TypeAlias = Literal["title", "done", "at", "tags", "projects", "project"]
"""What an entry may have beside its text that can be edited."""

EntryFields: TypeAlias = "Mapping[Field, str]"
"""Fields by name, as people type them: a time, `yes` or nothing, names with commas."""


@runtime_checkable
class EditsFields(Protocol):
    """A journal whose entries have more to edit than a text."""

    def read_fields(self, ref: str) -> EntryFields:
        """The fields of an entry as they are. Raises: as `AmendsRefs.read_text`."""
        ...

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Put a new text and new fields in place of an entry's at once; what is not given stays.

        Raises: as `AmendsRefs.edit`.
        """
        ...


@runtime_checkable
class SupersedesFields(EditsFields, Protocol):
    """A journal in which what takes the place of an entry has the same fields."""

    def supersede_fields(self, ref: str, text: str, fields: EntryFields) -> Amendment:
        """Write an entry with these fields in the place of another; others as `supersede` has them.

        Raises: as `AmendsRefs.supersede`.
        """
        ...


@runtime_checkable
class TakesBack(Protocol):
    """A journal whose entries are not deleted, and can be taken back by who wrote them."""

    def take_back(self, ref: str, *, expected: str = "") -> Amendment:
        """Show an entry no more, and undo what else its write did. Raises: as `AmendsRefs.edit`."""
        ...


@runtime_checkable
class TakesPlaces(Protocol):
    """A journal in which an entry that is there can take the place of another."""

    def take_place(self, ref: str, former: str) -> Amendment:
        """Have an entry say that it took the place of another, which `undo` takes back; both stay.

        Raises: Conflict where one took that place already; as `AmendsRefs.edit`.
        """
        ...


class Undo(Struct, frozen=True, kw_only=True):
    """What can be taken back of an entry.

    Attributes:
        entry: As it is now.
        former: As it was before the last edit; None for one that superseded another.
    """

    entry: EditableText
    former: FormerText | None


class AmendService(Struct, frozen=True, kw_only=True):
    """Corrects the entries of one owner's journals.

    Attributes:
        amenders: Opens what corrects a journal, by the journal's name; it gives None for one whose
            entries are never corrected, and raises what opening the journal raises.
        ref_of_path: The ref of the entry under an absolute path; raises what opening it raises.
        book: When entries expire.
        zone: The owner's, in which an answer says when.
        former: The texts that edits replaced.
    """

    amenders: Mapping[str, Callable[[], AmendsRefs | None]]
    ref_of_path: Callable[[str], str]
    book: TimeBook
    zone: tzinfo
    former: FormerTexts

    def read_text(self, ref: str) -> EditableText:
        """The text under a ref as `edit` takes it. Raises: as `AmendsRefs.read_text`."""
        return self._found(ref, lambda amender, each: _of_member(amender.read_text(each)))

    def read_kept_text(self, ref: str) -> EditableText:
        """The same, also of an entry that has expired or is gone, if its journal still holds it."""

        def read(amender: AmendsRefs, each: str) -> EditableText:
            if isinstance(amender, KeepsExpired):
                return amender.read_kept_text(each)
            return amender.read_text(each)

        return self._found(ref, read)

    def read_inheritance(self, ref: str) -> Inheritance:
        """What an entry hands on to the one that takes its place. Raises: as `read_text`."""

        def read(amender: AmendsRefs, each: str) -> Inheritance:
            if isinstance(amender, HandsOnValues):
                return amender.read_inheritance(each)
            return Inheritance(ref=each, successor="", values={})

        return self._found(ref, read)

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take values out of an entry for good; see `core.inherited.HandsOnValues`."""

        def drop(amender: AmendsRefs, each: str) -> Amendment:
            if isinstance(amender, HandsOnValues):
                with editing(keeps=False):
                    return amender.drop_inherited(each, values)
            raise Denied(f"{each} has no values of another entry.", hint="Edit its text.")

        return self._found(ref, drop)

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Put a new text in place of an entry's; see `AmendsRefs.edit`.

        Args:
            ref: Of an entry of any journal, or the path of its file.
            text: The whole new text.
            expected: The version that was read, or its first 12 characters; empty to replace any.

        Raises:
            As `AmendsRefs.edit`; NotFound where no journal has such refs.
        """
        edit = partial(edit_entry, text=text, expected=expected)
        return ending_alike(self.book, self.zone, ref, lambda: self._found(ref, edit))

    def read_fields(self, ref: str) -> EntryFields:
        """What else of an entry can be edited; empty for nothing. Raises: as `read_text`."""

        def read(amender: AmendsRefs, each: str) -> EntryFields:
            return amender.read_fields(each) if isinstance(amender, EditsFields) else {}

        return self._found(ref, read)

    def read_successor_fields(self, ref: str) -> EntryFields:
        """What else of the entry that supersedes one can be given, as it would have it.

        Empty for nothing. Raises: as `read_text`.
        """

        def read(amender: AmendsRefs, each: str) -> EntryFields:
            return amender.read_fields(each) if isinstance(amender, SupersedesFields) else {}

        return self._found(ref, read)

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Edit the text of an entry and what else it has, at once; what is equal stays as it is.

        Args and raises: as `edit`; fields: as `read_fields` gives them.
        """

        def edited(amender: AmendsRefs, each: str) -> Amendment:
            if isinstance(amender, EditsFields):
                now = amender.read_fields(each)
                new = {x: y.strip() for x, y in fields.items() if y.strip() != now.get(x, "")}
                if new and not (author_at_work() and _is_anothers(amender.read_text(each).author)):
                    return amender.edit_fields(each, text, new, expected=expected)
            return edit_entry(amender, each, text, expected=expected, fields=fields)

        return ending_alike(self.book, self.zone, ref, lambda: self._found(ref, edited))

    def find_end(self, ref: str) -> datetime | None:
        """When an entry expires; None for never. Raises: Unavailable."""
        end = self.book.find([ref]).get(ref)
        return None if end is None else datetime.fromtimestamp(end, UTC)

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete an entry for good; see `AmendsRefs.delete`. Args and raises: as `edit`."""
        return self._found(ref, partial(delete_entry, expected=expected))

    def delete_kept(self, ref: str, *, expected: str = "") -> Amendment:
        """As `delete`, also of an entry that is gone and of which a copy alone is kept."""

        def delete(amender: AmendsRefs, each: str) -> Amendment:
            try:
                return delete_entry(amender, each, expected=expected)
            except NotFound:
                if isinstance(amender, KeepsGone):
                    return amender.delete_kept(each, expected=expected)
                raise

        return self._found(ref, delete)

    def supersede(
        self, ref: str, text: str, *, expected: str = "", fields: EntryFields | None = None
    ) -> Amendment:
        """Write an entry that takes the place of another; see `AmendsRefs.supersede`.

        Args and raises: as `edit`; fields: as `read_successor_fields` gives them, None for those.
        """
        supersede = partial(supersede_entry, text=text, expected=expected, fields=fields)
        return ending_alike(self.book, self.zone, ref, lambda: self._found(ref, supersede))

    def take_place(self, ref: str, former: str) -> Amendment:
        """Have an entry that is there take the place of a former one; see `TakesPlaces`.

        Raises: Denied where its journal writes a new one instead; as `TakesPlaces.take_place`.
        """

        def take(amender: AmendsRefs, each: str) -> Amendment:
            is_anothers = _is_anothers(amender.read_text(each).author)
            if isinstance(amender, TakesPlaces) and not is_anothers:
                return amender.take_place(each, former)
            raise Denied(
                f"{each} can take no entry's place afterwards.",
                hint=f"Supersede {former} by what holds.",
            )

        return self._found(ref, take)

    def find_undo(self, ref: str) -> Undo:
        """What `undo` would take back of an entry.

        Args:
            ref: As for `edit`.

        Raises:
            NotFound: The entry, or nothing of it can be taken back.
            Conflict: It has changed since, in another way than by an edit whose text was kept.
            As `AmendsRefs.read_text`.
        """
        return self._found(ref, partial(find_undo, former=self.former, zone=self.zone))

    def undo(self, ref: str, *, expected: str = "") -> Amendment:
        """Take back the last edit of an entry; of one that superseded another, delete it.

        Args: as `edit`. Raises: as `find_undo` and `edit`.
        """

        def undone(amender: AmendsRefs, each: str) -> Amendment:
            version = _version_of(amender.read_text(each), expected) if expected else ""
            return undo(amender, each, former=self.former, zone=self.zone, expected=version)

        return self._found(ref, undone)

    def take_back(self, ref: str, *, expected: str) -> Amendment:
        """Delete an entry that was just written; where its journal keeps all, show it no more.

        Args:
            ref: As for `edit`.
            expected: Its version when it was written.

        Raises:
            Conflict: It was edited or superseded since, or what else its write changed was.
            As `edit`.
        """
        return self._found(
            ref, lambda amender, each: take_back(amender, amender.read_text(each), expected)
        )

    def _found(self, ref: str, use: Callable[[AmendsRefs, str], _Given]) -> _Given:
        """What `use` gives for the journal that a ref or a path leads to, and the entry's ref."""

        def used(each: str) -> _Given:
            if PurePath(each).is_absolute():
                each = self.ref_of_path(each)
            return use(self._amender_of(each), each)

        return look_up(ref, used)

    def _amender_of(self, ref: str) -> AmendsRefs:
        name, colon, _ = ref.partition(":")
        if not colon or name not in self.amenders:
            near = nearest(name, [*self.amenders]) if colon else ""
            guess = f"Did you mean {near}? " if near else ""
            forms = ", ".join(f"{each}:" for each in self.amenders)
            raise NotFound(
                f"No entry {opening(ref, 100)!r}.",
                hint=f"{guess}A ref begins with one of {forms} as a search or a list shows it.",
            )
        amender = self.amenders[name]()
        if amender is None:
            raise Denied(f"Entries of {name} are never altered.", hint="Write a new one.")
        return amender


def edit_entry(
    amender: AmendsRefs,
    ref: str,
    text: str,
    *,
    expected: str = "",
    fields: EntryFields | None = None,
) -> Amendment:
    """Edit an entry; the answer has the text that was replaced. See `AmendService.edit`.

    In a space nobody's words stand under another member's name: that entry is superseded.
    """

    def edited() -> Amendment:
        read = amender.read_text(ref)
        if _is_anothers(read.author):
            done = supersede_entry(amender, ref, text, expected=expected, fields=fields)
            return replace(done, notes=(f"{read.author} wrote it: {_IS_OWN}", *done.notes))
        # Of one version, so that what the answer shows stood there until then.
        done = amender.edit(ref, text, expected=_version_of(read, expected))
        return replace(done, before=done.before or read.text)

    return correct_latest(expected, edited)


def delete_entry(amender: AmendsRefs, ref: str, *, expected: str = "") -> Amendment:
    """Delete an entry; the answer has the text that is gone. See `AmendService.delete`."""
    check_may_delete()

    def deleted() -> Amendment:
        try:
            read = amender.read_text(ref)
        except CommonplaceError:  # what has expired or cannot be read may still be deleted
            return amender.delete(ref, expected=expected)
        done = amender.delete(ref, expected=_version_of(read, expected) if expected else "")
        return replace(done, before=read.text)

    return correct_latest(expected, deleted)


def supersede_entry(
    amender: AmendsRefs,
    ref: str,
    text: str,
    *,
    expected: str = "",
    fields: EntryFields | None = None,
) -> Amendment:
    """Supersede an entry; the answer has what it says. See `AmendService.supersede`."""
    read = amender.read_text(ref)
    if expected and _version_of(read, expected) != read.version:
        raise has_changed(read.ref)
    if fields and isinstance(amender, SupersedesFields):
        now = amender.read_fields(ref)
        # A time that stays as it was shown is the former's own, to the microsecond.
        new = {x: y.strip() for x, y in fields.items() if x != "at" or y.strip() != now.get(x)}
        return replace(amender.supersede_fields(ref, text, new), before=read.text)
    return replace(amender.supersede(ref, text), before=read.text)


def _of_member(read: EditableText) -> EditableText:
    """An entry with what the member at work may do to it; as it is where nobody shares it."""
    refused = {"delete"} if writer_at_work() else set()
    if _is_anothers(read.author):
        refused.add("edit")
    return replace(read, verbs=tuple(x for x in read.verbs if x not in refused))


def _is_anothers(author: str) -> bool:
    """Whether this is another member of a space than who is at work; never where none is named."""
    return author not in {"", author_at_work() or author}


def _version_of(read: EditableText, expected: str) -> str:
    """The version to expect: the one that was read just now, where it may be any or is named."""
    is_short = len(expected) >= SHORT_VERSION and read.version.startswith(expected)
    return read.version if is_short or not expected else expected


def ending_alike(
    book: TimeBook, zone: tzinfo, ref: str, correct: Callable[[], Amendment]
) -> Amendment:
    """Correct an entry; one that takes its place expires when it does, and the notes say so.

    An end that the new entry has by itself stays. If the process is killed in between, the new
    entry has none.

    Args:
        book: When entries expire.
        zone: The owner's.
        ref: Of the entry.
        correct: Edits, or writes an entry that takes the place of another.

    Raises: as `correct`; Unavailable where the book cannot be read, and nothing is corrected.
    """
    book.find([ref])
    done = correct()
    ends = book.find([done.ref, done.former]) if done.former else {}
    end = ends.get(done.ref, ends.get(done.former))
    if end is None:
        return done
    if done.ref not in ends:
        book.keep(done.ref, end)
    at = render_instant(datetime.fromtimestamp(end, UTC), zone)
    return replace(done, notes=(*done.notes, f"It expires {at}."))


def take_back(amender: AmendsRefs, entry: EditableText, expected: str) -> Amendment:
    """Delete an entry; where its journal keeps all, show it no more. Raises: as `edit`."""
    check_may_delete()
    remove = amender.take_back if isinstance(amender, TakesBack) else amender.delete
    done = remove(entry.ref, expected=expected)
    held = (f"{entry.supersedes} holds again.",) if entry.supersedes else ()
    return replace(done, before=entry.text, notes=(*done.notes, *held))


def find_undo(amender: AmendsRefs, ref: str, *, former: FormerTexts, zone: tzinfo) -> Undo:
    """What `undo` would take back; see `AmendService.find_undo`."""
    entry = amender.read_text(ref)
    former.sweep(entry.ref)
    for kept in former.find(entry.ref):
        if not kept.made and kept.version == entry.version:
            former.remove(kept)  # of a process that was killed before it edited
            continue
        if kept.made not in {"", entry.version}:
            at = render_instant(datetime.fromtimestamp(kept.at, UTC), zone)
            raise Conflict(
                f"{entry.ref} was changed again since it was edited at {at}.",
                hint="Open it, and edit it.",
            )
        return Undo(entry=entry, former=kept)
    if entry.supersedes:
        return Undo(entry=entry, former=None)
    raise NotFound(
        f"Nothing of {entry.ref} can be taken back: no former text of it is kept.",
        hint="Edit it, or delete it.",
    )


def check_may_undo(found: Undo) -> None:
    """Refuse a member of a space who may not take that back. Raises: Denied."""
    kept = found.former
    if kept is None or _is_anothers(kept.member or found.entry.author) or not kept.text.strip():
        check_may_delete()  # what goes is kept nowhere


def undo(
    amender: AmendsRefs, ref: str, *, former: FormerTexts, zone: tzinfo, expected: str = ""
) -> Amendment:
    """Take it back; see `AmendService.undo`.

    The text that goes is kept while it goes, so that a process that is killed loses neither.
    """
    found = find_undo(amender, ref, former=former, zone=zone)
    entry, kept = found.entry, found.former
    version = expected or entry.version
    if kept is None:
        return take_back(amender, entry, version)
    check_may_undo(found)
    assert isinstance(amender, RestoresTexts)  # else nothing would have been kept
    with editing():
        done = amender.restore(kept, expected=version)
    left = former.find(entry.ref)
    if kept.made and left and left[0].id > kept.id:
        former.remove(left.pop(0))
    former.remove(kept)
    now = amender.read_text(entry.ref).version
    for each in left:
        if each.made == kept.version:  # the edit before it can be taken back next
            former.write(replace(each, made=now))
    return replace(done, before=done.before or entry.text)


def look_up_former(
    ref: str, journal: str, write: Callable[[str], _Written], *, by_name: bool = False
) -> _Written:
    """What `write` gives for the ref of the entry that a write supersedes, as it was copied.

    Args:
        ref: What was given as `supersedes`.
        journal: The one that is written in.
        write: Takes a ref of that journal; writes nothing where it raises.
        by_name: Whether a path or an id alone names an entry of this journal too.

    Raises:
        Invalid: It is no ref of this journal. What `write` raises.
    """

    def checked(each: str) -> _Written:
        name, colon, _ = each.partition(":")
        is_name = by_name and not (colon and name in JOURNAL_NAMES)
        if not each.startswith(f"{journal}:") and not is_name:
            raise Invalid(
                f"Invalid supersedes: {opening(each, 100)!r} is not a ref of {journal}.",
                hint=f"An entry is superseded in its own journal: by a ref such as {journal}:….",
            )
        return write(each)

    return look_up(ref, checked)


def left_notes(filed: Outcome | None) -> tuple[str, ...]:
    """What the caller must know where the text of a deleted entry is still in the index."""
    return (f"Still in the index: {filed.why}",) if filed and filed.why else ()


def names_in(text: str) -> list[str]:
    """The names in a field that has them with commas: once each, without `#`."""
    names = (" ".join(each.split()).lstrip("# ") for each in text.split(","))
    return list(dict.fromkeys(filter(None, names)))
