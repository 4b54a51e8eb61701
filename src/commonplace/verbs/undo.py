"""Takes back the last edit of an entry of any journal, or the entry that superseded another.

Never takes back what was edited again since: that is a Conflict, which names it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import render_instant
from commonplace.core.errors import Conflict, NotFound
from commonplace.core.former_texts import editing

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.core.former_texts import FormerText, FormerTexts
    from commonplace.core.ports import AmendsRefs
    from commonplace.core.values import Amendment, EditableText


@runtime_checkable
class RestoresTexts(Protocol):
    """A journal in which an edit can be taken back."""

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Make an entry what it was before an edit, and file it. Raises: as `AmendsRefs.edit`."""
        ...


@runtime_checkable
class TakesBack(Protocol):
    """A journal whose entries are not deleted, and can be taken back by who wrote them."""

    def take_back(self, ref: str, *, expected: str = "") -> Amendment:
        """Show an entry no more, and undo what else its write did. Raises: as `AmendsRefs.edit`."""
        ...


def take_back(amender: AmendsRefs, entry: EditableText, *, expected: str) -> Amendment:
    """Delete an entry; where its journal keeps all, show it no more. Raises: as `edit`."""
    remove = amender.take_back if isinstance(amender, TakesBack) else amender.delete
    done = remove(entry.ref, expected=expected)
    held = (f"{entry.supersedes} holds again.",) if entry.supersedes else ()
    return replace(done, before=entry.text, notes=(*done.notes, *held))


class Undo(Struct, frozen=True, kw_only=True):
    """What can be taken back of an entry.

    Attributes:
        entry: As it is now.
        former: As it was before the last edit; None for one that superseded another.
    """

    entry: EditableText
    former: FormerText | None


class Undoing(Struct, frozen=True, kw_only=True):
    """Takes back edits of one owner.

    Attributes:
        former: The texts that edits replaced.
        zone: In which an error says when.
    """

    former: FormerTexts
    zone: tzinfo

    def find(self, amender: AmendsRefs, ref: str) -> Undo:
        """What `undo` would take back; see `AmendService.find_undo`."""
        entry = amender.read_text(ref)
        self.former.sweep(entry.ref)
        for kept in self.former.find(entry.ref):
            if not kept.made and kept.version == entry.version:
                self.former.remove(kept)  # of a process that was killed before it edited
                continue
            if kept.made not in {"", entry.version}:
                at = render_instant(datetime.fromtimestamp(kept.at, UTC), self.zone)
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

    def undo(self, amender: AmendsRefs, ref: str, *, expected: str = "") -> Amendment:
        """Take it back; see `AmendService.undo`.

        The text that goes is kept while it goes, so that a process that is killed loses neither.
        """
        found = self.find(amender, ref)
        entry, kept = found.entry, found.former
        version = expected or entry.version
        if kept is None:
            return take_back(amender, entry, expected=version)
        assert isinstance(amender, RestoresTexts)  # else nothing would have been kept
        with editing():
            done = amender.restore(kept, expected=version)
        left = self.former.find(entry.ref)
        if kept.made and left and left[0].id > kept.id:
            self.former.remove(left.pop(0))
        self.former.remove(kept)
        now = amender.read_text(entry.ref).version
        for each in left:
            if each.made == kept.version:  # the edit before it can be taken back next
                self.former.write(replace(each, made=now))
        return replace(done, before=done.before or entry.text)
