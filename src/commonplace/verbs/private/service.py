"""The private journal's verbs with search joined, values in and values out.

Never makes a text for a model, and never decides anything about files or ranking.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Invalid, NotFound
from commonplace.core.values import Filter, Interval, Put
from commonplace.journals.private.places import read_entry
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.times import read_as_of, read_at, read_span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.values import Found
    from commonplace.journals.private.journal import PrivateEntry, PrivateJournal, ThoughtsWritten
    from commonplace.journals.private.roots import Kind
    from commonplace.search.filing.filing import Filing
    from commonplace.search.filing.port import Filed, Pending
    from commonplace.search.finder import Finder

_LATEST = timedelta(days=1)


class PrivateWritten(Struct, frozen=True, kw_only=True):
    """What a write came to.

    Attributes:
        written: The refs, and when it was.
        entries: Of these refs; one that an earlier call wrote may be deleted by now.
        filed: Whether the index has them.
    """

    written: ThoughtsWritten
    entries: tuple[PrivateEntry, ...]
    filed: Filed | Pending


class PrivateFound(Struct, frozen=True, kw_only=True):
    """What a search found, best first.

    Attributes:
        interval: The time it kept to; None for any.
        before: The instant as of which it was asked; None for the present.
    """

    found: Found
    interval: Interval | None
    before: datetime | None = None


class PrivateListed(Struct, frozen=True, kw_only=True):
    """Entries, newest first, and the time they lie in. named: whether a phrase named that time."""

    entries: tuple[PrivateEntry, ...]
    interval: Interval
    named: bool


class PrivateService(Struct, frozen=True, kw_only=True):
    """The private journal of one owner and one project, with its index.

    Attributes:
        zone: The owner's, in which phrases of time are read.
        former: Keeps the texts that edits replace.
        shows_paths: Whether the caller can use a path of this machine; else entries go by refs.
    """

    journal: PrivateJournal
    filing: Filing
    finder: Finder
    clock: Clock
    zone: tzinfo
    former: FormerTexts
    shows_paths: bool = True

    def write(
        self,
        thoughts: Mapping[str, str],
        *,
        at: str,
        idempotency_key: str | None,
        supersedes: str = "",
    ) -> PrivateWritten:
        """Write thoughts, and file them.

        Args:
            thoughts: Field to text; blank ones count as absent.
            at: A phrase of a time that is not over a day ahead; blank for now.
            idempotency_key: The same key twice is one entry.
            supersedes: The ref or path of the entry whose place they take; blank for none. Done
                twice it is one entry, whatever the key.

        Raises:
            Invalid, NotFound, Denied, Unavailable, Conflict.
        """
        instant = read_at(self, at)
        if instant and instant > self.clock() + _LATEST:
            raise Invalid(f"Invalid at: {at!r} lies in the future.", hint="Give a past time.")
        if supersedes.strip():
            self._refuse_path(supersedes)
            return look_up_former(
                supersedes,
                "private",
                lambda ref: self._filed_both(*self.journal.supersede_by(ref, thoughts, at=instant)),
                by_name=True,
            )
        written = self.journal.write(thoughts, at=instant, idempotency_key=idempotency_key)
        filed = self.filing.file(self._docs(written.entries))
        return PrivateWritten(written=written, entries=written.entries, filed=filed)

    def search(
        self,
        query: str,
        *,
        limit: int,
        kind: Kind,
        headings: Sequence[str],
        when: str,
        since: str,
        until: str,
        floor: float,
        as_of: str = "",
    ) -> PrivateFound:
        """The best entries for a question.

        Args:
            query: A question, or a few words.
            limit: How many at the most.
            kind: Of which roots.
            headings: Only entries with one of these; empty for any.
            when: A phrase of time, as since and until are; blank for any time.
            since: Only from its start on.
            until: Only to its end.
            floor: Least cosine of a hit that shares no word with the query.
            as_of: A phrase: what was written after its end does not count; blank for the present.

        Raises:
            Invalid.
        """
        from commonplace.search import policy
        from commonplace.search.finder import SearchQuestion

        interval = read_span(self, since, until, when=when)
        before = read_as_of(self, as_of)
        found = self.finder.find(
            SearchQuestion(
                text=query,
                where=Filter(
                    journals=("private",),
                    scopes=self.journal.scopes(kind),
                    headings=tuple(headings),
                    interval=interval or Interval(),
                    written_before=before,
                ),
                limit=limit,
                floor=floor,
                policy=policy.PRIVATE,
            )
        )
        return PrivateFound(found=found, interval=interval, before=before)

    def read(self, path_or_ref: str) -> PrivateEntry:
        """The entry under a ref or, where the caller can use one, a path.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        self._refuse_path(path_or_ref)
        return self.journal.read_entry(path_or_ref)

    def list_entries(self, *, limit: int, kind: Kind, days: int, when: str) -> PrivateListed:
        """The newest entries of a phrase's time or, where it is blank, of so many days back."""
        asked = read_span(self, "", "", when=when)
        interval = asked or Interval(start=self.clock() - timedelta(days=days))
        entries = self.journal.list_entries(limit=limit, kind=kind, within=interval)
        return PrivateListed(entries=tuple(entries), interval=interval, named=asked is not None)

    def open_entry(self, path_or_ref: str) -> PrivateEntry:
        """As `read`, also of the owner's other projects, to be corrected: see `open_written`."""
        self._refuse_path(path_or_ref)
        return self.journal.open_written(path_or_ref)

    def _refuse_path(self, path_or_ref: str) -> None:
        if not self.shows_paths and PurePath(path_or_ref).anchor:
            # Whatever it leads to: else the answer would reveal whether it was guessed.
            raise Denied(
                "Here entries go by their refs, and by no path of the machine that keeps them.",
                hint="Use a ref that a search or a list has shown.",
            )

    def edit(
        self, path_or_ref: str, text: str, *, expected: str
    ) -> tuple[PrivateEntry, Filed | Pending]:
        """Replace the text of one entry, and file it again.

        Raises: Invalid, Denied, NotFound, Unavailable; Conflict where it is not `expected`.
        """
        before = self.open_entry(path_or_ref)
        with self.former.edited(before.ref, before.version, before.raw) as note:
            entry = self.journal.edit(before.ref, text, expected=expected)
            note(entry.version)
        return entry, self.filing.refile(self._docs([entry]))

    def supersede(self, path_or_ref: str, text: str) -> tuple[str, PrivateWritten]:
        """Write an entry in the place of another, and file both; the former's ref comes first.

        Raises: Invalid, Denied, NotFound, Unavailable; Conflict where another has its place.
        """
        self._refuse_path(path_or_ref)
        former, written = self.journal.supersede(path_or_ref, text)
        return former.ref, self._filed_both(former, written)

    def _filed_both(self, former: PrivateEntry, written: ThoughtsWritten) -> PrivateWritten:
        filed = self.filing.file(self._docs([*written.entries, former]))
        return PrivateWritten(written=written, entries=written.entries, filed=filed)

    def delete(self, path_or_ref: str, *, expected: str | None) -> tuple[str, Filed | Pending]:
        """Delete one entry and every trace of its text; answers its ref. Raises: as `edit`."""
        entry = self.open_entry(path_or_ref)
        ref = entry.ref
        if expected in {None, entry.version}:
            self.former.drop([ref])
        self.journal.delete(ref, expected=expected)
        return ref, self.filing.forget([ref])

    def delete_many(self, versions: Mapping[str, str]) -> list[str]:
        """Delete the entries, by refs, that have these versions; the refs of those.

        Also those of which only our copy is kept, their project not being there. The index is the
        caller's. Raises: Denied, Unavailable; those before are gone.
        """
        self.former.drop([*versions])
        gone: list[str] = []
        for ref, version in versions.items():
            try:
                self.journal.delete(ref, expected=version)
            except Conflict:  # changed at this moment
                continue
            except NotFound:
                kept = self.journal.find_kept(ref)
                if kept is None or kept.version != version:
                    continue
                self.journal.copies.forget([ref])
            gone.append(ref)
        return gone

    def find_gone(self, ref: str) -> PrivateEntry | None:
        """The entry of a note that only its copy has, of any project; None for any other.

        Raises: Denied, Unavailable.
        """
        place = self.journal.recovery.find_gone(ref)
        return None if place is None else read_entry(place, self.zone)

    def forget_gone(self) -> tuple[list[str], Filed | Pending | None]:
        """Remove every trace of this project's notes that are gone; answers their refs.

        Raises: Denied, Unavailable.
        """
        refs = self.journal.recovery.gone_refs()
        return refs, self.forget_copies(refs) if refs else None

    def forget_copies(self, refs: Sequence[str]) -> Filed | Pending:
        """Remove every trace of notes that only their copies have. Raises: Denied, Unavailable.

        The copies go last: what a process that is killed leaves of them, the next call finds.
        """
        self.former.drop(refs)
        filed = self.filing.forget(refs)
        self.journal.copies.forget(refs)
        return filed

    def place_of(self, ref: str) -> str:
        """By what the caller asks for an entry: its path, or else its ref."""
        if self.shows_paths:
            with suppress(CommonplaceError):  # one that has no path hides no other
                return str(self.journal.path_of(ref))
        return ref

    @property
    def lacks_project(self) -> bool:
        """Whether no project is known here, so that project notes lie with the user's."""
        return all(root.scope == "user" for root in self.journal.roots)

    def _docs(self, entries: Sequence[PrivateEntry]) -> list[Put]:
        from commonplace.journals.private.source import doc_of

        return [Put(doc_of(entry, self.zone)) for entry in entries]
