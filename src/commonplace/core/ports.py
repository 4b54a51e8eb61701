"""The seams of the house: what a journal owes the index, what an index and an encoder owe a search.

Only Protocols live here, with what *both* sides owe; no implementation and no heavy import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from commonplace.core.import_notes import NOT_NOTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from commonplace.core.import_notes import NotesImport
    from commonplace.core.phrase import Phrase
    from commonplace.core.portable import PortableItem
    from commonplace.core.values import (
        Amendment,
        Asked,
        Candidates,
        Change,
        Completion,
        Counts,
        Doc,
        DocCount,
        EditableText,
        Encoded,
        KnownSources,
        Page,
        Problem,
        Question,
        Replacement,
        Since,
        Unencoded,
        Vector,
    )


class Source(Protocol):
    """A part of a journal that the index follows: one root, one database, one notebook."""

    @property
    def name(self) -> str:
        """Unique per owner and stable for good: `private:user`, `private:project@1f2e3d4c`."""
        ...

    @property
    def cheap_mark(self) -> bool:
        """Whether `mark` waits for no lock, so that a search asks for it in its own thread.

        Many short calls to the disk take four times as long in a thread beside another one that
        computes: each hands the interpreter over and back.
        """
        ...

    @property
    def exact_mark(self) -> bool:
        """Whether `mark` changes with whatever changes, so that a sweep need not read each entry.

        True of a commit or a change log; not of the times of files, which an edit within one tick
        leaves as they are.
        """
        ...

    def mark(self) -> str:
        """A cheap token, kept across processes; equal to an earlier one means nothing new.

        Takes milliseconds at 10,000 entries, reads no entry, never raises for an absent source.
        """
        ...

    def scan(self, since: Since) -> Iterator[Change]:
        """The changes since `since.mark`, newest first: puts of new and altered docs, drops.

        Of what waits to be filed the newest entries are what a search most likely asks for.

        With `since.mark` None every entry is looked at, yet only those whose stamp differs from
        `since.stamps(prefix)` are handed over. An entry that cannot be read is skipped and logged
        once. The caller takes `mark()` *before* it scans: what arrives meanwhile is seen next
        time.
        """
        ...


@runtime_checkable
class SettlesMark(Protocol):
    """A source whose mark tells of every write of our own programs, two within one tick as well.

    settles_mark: Whether it does so here. What others edit in place it need not tell of.
    """

    settles_mark: bool


@runtime_checkable
class CountsEntries(Protocol):
    """A source that can say how much of its journal is filed, while much of it is not."""

    def count(self, since: Since) -> tuple[int, int]:
        """How many entries it holds, and how many of them the index has; reads none of them.

        What was made of entries, as the timeline's rollups, does not count. Raises: as `scan`.
        """
        ...


@runtime_checkable
class KeepsVectors(Protocol):
    """A source whose open format has a place for a vector of the whole text beside each entry."""

    def keeps(self, identity: str) -> bool:
        """Whether the format's place is made for this encoder's vectors."""
        ...

    def wanting(self, refs: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(ref, text) of the entries whose place is empty; of all entries, or of these refs."""
        ...

    def keep(self, ref: str, vector: Vector, identity: str) -> None:
        """Fill the place of one entry, if it is empty and the format is made for this encoder."""
        ...


class OpensRefs(Protocol):
    """A journal that opens its own refs, so that whatever a search returns can be read whole."""

    @property
    def journal(self) -> str:
        """Its name, with which its refs begin: `chronicle`."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """What its entries may be, as `Doc.kind` says."""
        ...

    @property
    def ref_form(self) -> str:
        """How its refs look, for the error where a text is not one: `chronicle:<id>`."""
        ...

    def place_of(self, scope: str) -> str:
        """Where the entries of a scope lie, for people: a project's folder; empty for nowhere.

        Never raises.
        """
        ...

    def read_ref(self, ref: str) -> Page:
        """The entry under a ref, as it is now, with what came before and after it.

        ref: hostile until parsed. Raises: Invalid, Denied, NotFound, Unavailable.
        """
        ...


@runtime_checkable
class SumsUpEntries(Protocol):
    """A journal with texts that sum up entries, and are not written again when one is replaced."""

    def replaced_since(self, ref: str, *, before: datetime | None = None) -> Sequence[Replacement]:
        """What a text sums up and was replaced after it was written; nothing for any other ref.

        before: Only what was written before counts; None for all.
        Never raises: where it cannot be found out, nothing is named.
        """
        ...


class AmendsRefs(Protocol):
    """A journal whose entries can be corrected by their refs; each verb files what it changed.

    A ref is hostile until parsed, and leads to nothing that another owner has.
    """

    def read_text(self, ref: str) -> EditableText:
        """The text under a ref as `edit` takes it. Raises: Invalid, Denied, NotFound, Unavailable.

        Args:
            ref: Of an entry, whole or as short as the journal lets it be.
        """
        ...

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Put a new text in place of an entry's; where its format keeps entries, supersede it.

        Args:
            ref: As for `read_text`.
            text: The whole new text.
            expected: The version that was read; empty to replace any.

        Raises:
            Conflict: The entry is another than the one that was read.
            Invalid: The text cannot be kept, or this entry's text is never altered.
            Denied, NotFound, Unavailable.
        """
        ...

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete an entry, and its text from all that was derived from it. Raises: as `edit`."""
        ...

    def supersede(self, ref: str, text: str) -> Amendment:
        """Write an entry that takes the place of another, which stays and names it.

        An entry is superseded once: the same text again is the entry that took its place.

        Raises:
            Conflict: Another entry has taken its place already; the message names it.
            Invalid, Denied, NotFound, Unavailable.
        """
        ...


@runtime_checkable
class KeepsExpired(Protocol):
    """A journal that still holds the text of an entry that no one is shown: expired, or gone."""

    def read_kept_text(self, ref: str) -> EditableText:
        """The text under a ref, to forget it; else as `AmendsRefs.read_text`."""
        ...


@runtime_checkable
class OpensPaths(Protocol):
    """A journal whose entries are files, which it also opens by their paths."""

    def read_path(self, path: str) -> Page:
        """The entry in a file of the owner's, as `OpensRefs.read_ref` gives it.

        Raises:
            Invalid, Denied, NotFound, Unavailable.
        """
        ...


class Portable(Protocol):
    """A journal that can be exported whole, and filled from an export."""

    @property
    def journal(self) -> str:
        """Its name, with which its refs begin."""
        ...

    @property
    def item_type(self) -> Any:
        """The type that an import decodes each line as: a struct, or a union of tagged ones."""
        ...

    def is_empty(self) -> bool:
        """Whether it holds no entry, so that an import may fill it. Raises: Unavailable."""
        ...

    def export_items(self, since: datetime | None) -> Iterator[PortableItem]:
        """Each entry once, in an order that depends on the entries alone; few are held in memory.

        Raises:
            Unavailable, Denied: An entry cannot be read; those before it were given.
        """
        ...

    def check_item(self, item: Any) -> None:
        """Check that an item can be imported; writes nothing. Raises: Invalid."""
        ...

    def import_items(self, items: Iterator[Any], noting: NotesImport = NOT_NOTED) -> int:
        """Write items in the order given, and return how many were new.

        An entry whose ref is there stays as it is, so that a killed import can be repeated.

        Raises:
            Invalid: An item cannot be kept.
            Conflict, Denied, Unavailable: As when the journal writes.
        """
        ...


@runtime_checkable
class LocatesItems(Protocol):
    """A journal whose refs depend on where on a machine its entries lie."""

    def located(self, item: Any) -> Any:
        """An item as it would be, had it been exported here. Raises: Invalid."""
        ...


@runtime_checkable
class ExportsSummaries(Protocol):
    """A journal that makes summaries of its entries, which an export shows."""

    def export_summaries(self, since: datetime | None) -> Iterator[PortableItem]:
        """Each summary once; no import reads them. Raises: Unavailable."""
        ...


class Encoder(Protocol):
    """An embedding model, loaded. Thread-safe; every vector has length 1."""

    @property
    def identity(self) -> str:
        """What its vectors depend on: `minilm-l6-v2:384:mean:l2:53aa5117`.

        Name, dimensions, pooling, normalisation, first 8 hex of the weights' sha256.
        """
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    def split(self, text: str, *, most: int | None = None) -> tuple[tuple[int, int], ...]:
        """(start, end) in characters of overlapping chunks of <= 256 tokens; one if short.

        most: so many of the first chunks, for the time that it takes to find those.
        """
        ...

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """(n, dimensions) float32; longer texts are cut at the model's maximum (512 tokens)."""
        ...

    def encode_query(self, text: str) -> Vector:
        """(dimensions,) float32."""
        ...


@runtime_checkable
class CountsTokens(Protocol):
    """An encoder that can say how many tokens a text is to it."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text of at most a few thousand characters, special ones not included.

        Of one in ASCII alone never more than its characters and one.
        """
        ...


@runtime_checkable
class CountsEncoding(Protocol):
    """An encoder that can say what it has done."""

    def encoded(self) -> tuple[int, float]:
        """How many texts and questions it has encoded, and in how many seconds of all threads."""
        ...


@runtime_checkable
class EncodesInBackground(Protocol):
    """An encoder that can work without slowing those who wait for it."""

    def encode_in_background(self, texts: Sequence[str]) -> Vector:
        """As `Encoder.encode_passages`, for what nobody waits for: at a lower priority."""
        ...


class EncoderSlot(Protocol):
    """Where an encoder is, or is being loaded, or cannot be had: words work in every case."""

    def start(self) -> None:
        """Begin loading in the background; may be called twice."""
        ...

    def get(self, timeout_s: float = 0.0) -> Encoder | None:
        """The encoder, waiting at most so long for one that is being loaded; never raises."""
        ...

    def reason(self) -> str:
        """Why there is none now, as one sentence; empty when there is one."""
        ...

    def is_loading(self) -> bool:
        """Whether one is on its way, so that waiting helps."""
        ...

    def close(self, timeout_s: float = 0.0) -> None:
        """Let every waiter go; wait at most so long for a load under way. May be called twice."""
        ...


class Language(Protocol):
    """A language model that can be asked: one that is configured, or the client's own (a sampler).

    Never asked under a lock or in a transaction. Whoever implements it hides secrets and fences
    every passage before it leaves the process (`core.redact.Screen`).
    """

    @property
    def name(self) -> str:
        """What is asked, for people: a model and where it is; holds no key."""
        ...

    @property
    def sees_private(self) -> bool:
        """Whether a question with private text may be put to it."""
        ...

    def complete(self, question: Question) -> Completion:
        """Ask once, retrying what may pass; ends within a time that the implementation bounds.

        An answer may be cut off: see `whole`. Raises: Denied (private text, a refused key, a cap
        of tokens), Invalid (a question that gets no answer: refused as it is, or with an empty
        one), Unavailable (all else); the message holds nothing of the question.
        """
        ...


class OwnerIndex(Protocol):
    """The words and vectors of one owner. Derived: may be deleted and rebuilt at any time.

    Thread-safe; several processes may use one at once, and each sees at once what another wrote.
    """

    @property
    def faster_than_encoding(self) -> bool:
        """Whether it may answer sooner than a question is encoded, by what is known now.

        Then it is asked once that is done: both beside each other compute a tenth more, and a
        transaction would wait for the encoder.
        """
        ...

    def apply(
        self,
        changes: Sequence[Change],
        *,
        source: str = "",
        mark: str | None = None,
        since: Since | None = None,
    ) -> None:
        """Make these changes in one transaction and, with a mark, remember it for the source.

        A put of a ref replaces its doc; its vectors stay if the text is the same and go otherwise.

        since: What was known when the changes were read. If the source has another mark by now, it
            has that one again: another process may have filed what came between, and the next look
            begins where this one did, though this process ends here.
        """
        ...

    def known(self) -> KnownSources:
        """The last mark of each source, all of one moment, and the stamps under a prefix."""
        ...

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs with no vector of this encoder for their text, newest first; blank ones never."""
        ...

    def put_vectors(self, identity: str, encoded: Sequence[Encoded]) -> None:
        """File vectors; those whose text_hash is no longer the doc's are passed over."""
        ...

    def candidates(self, asked: Asked) -> Candidates:
        """The best by words, the best by meaning, and their neighbours, of what the filter admits.

        No text raises. The vector is asked for when the words are looked up, and outside any
        transaction: it may take as long as a model does. Vectors of another identity are never
        compared. Every figure is what it would be if the docs that the filter keeps out were not
        there.
        """
        ...

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much of it waits for a vector of this encoder."""
        ...

    def bytes_on_disk(self) -> int:
        """The size of its files; 0 where it has none."""
        ...


@runtime_checkable
class FindsTexts(Protocol):
    """An index that finds which of its texts contain words exactly."""

    def docs_holding(self, phrases: Sequence[Phrase]) -> list[Doc]:
        """All docs whose text contains every part of one of these phrases, in part of a word too.

        It may leave out a text that contains the parts, but not as words in its order.
        Raises: Unavailable.
        """
        ...


class Searched(Protocol):
    """An index, or several as one, as those see it who only search; as in `OwnerIndex`."""

    @property
    def faster_than_encoding(self) -> bool:
        """Whether it may answer sooner than a question is encoded, by what is known now."""
        ...

    def candidates(self, asked: Asked) -> Candidates:
        """The best by words and by meaning, and their neighbours, of what the filter admits."""
        ...

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much of it waits for a vector of this encoder."""
        ...

    def bytes_on_disk(self) -> int:
        """The size of its files; 0 where it has none."""
        ...


@runtime_checkable
class DatesRefs(Protocol):
    """An index that says when an entry was, whose ref alone is known."""

    def dates_of(self, refs: Sequence[str]) -> Mapping[str, datetime]:
        """When each was; a ref that the index does not hold is missing. Raises: Unavailable."""
        ...


@runtime_checkable
class CountsJournals(Protocol):
    """An index that can say at once how much it holds of each journal."""

    def count_by_journal(self) -> Mapping[str, int]:
        """How many docs of each journal there are. Raises: Unavailable."""
        ...


@runtime_checkable
class FindsShortRefs(Protocol):
    """An index, or a journal with refs that no index holds, that finds the refs of a short form."""

    def refs_behind(self, number: int) -> Sequence[str]:
        """All refs whose `core.refs.short_number` this is. Raises: Unavailable."""
        ...


@runtime_checkable
class AsksTogether(Protocol):
    """What lies on a server, where questions cost less when several share a transaction."""

    def together(self) -> AbstractContextManager[None]:
        """Have what this thread asks inside it share transactions; nothing long is waited for."""
        ...


@runtime_checkable
class FollowsChains(Protocol):
    """An index that follows supersedings from an entry to the newest, however many there are."""

    def links_from(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> Sequence[tuple[str, str]]:
        """Each (former, successor) on the way from some refs to the newest entry of their chains.

        Those of older successors come first: of two that took one place the later one counts. A
        circle is given once. before: successors of then or later are left out. Raises: Unavailable.
        """
        ...


class Index(Protocol):
    """Indexes of all owners; there is no search without an owner."""

    def of_owner(self, owner: str) -> OwnerIndex:
        """The index of one owner, opened or made."""
        ...

    def close(self) -> None:
        """Close files and connections; may be called twice."""
        ...


@runtime_checkable
class CountsKinds(Protocol):
    """An index that can say how much it holds of each journal."""

    def count_by_kind(self, identity: str) -> list[DocCount]:
        """The count of each kind of docs of each journal, by both names; pending as in `counts`."""
        ...


@runtime_checkable
class ListsScopes(Protocol):
    """An index that can list where its docs were written."""

    def scopes(self) -> list[tuple[str, str]]:
        """Each (journal, scope) that has a doc in it, sorted. Raises: Unavailable."""
        ...


@runtime_checkable
class NamesPreviousEncoder(Protocol):
    """An index that can say whose vectors still answer while those of another encoder are made."""

    def previous_encoder(self, identity: str) -> str:
        """The encoder of most docs that have a vector, and none of this one; empty for none."""
        ...


@runtime_checkable
class Leasing(Protocol):
    """An index through which processes agree who does background work."""

    def take_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """Take or renew the lease; False while another holder's has not run out."""
        ...

    def drop_lease(self, name: str, holder: str) -> None:
        """Give it back, if it is the holder's."""
        ...


@runtime_checkable
class ErasingSource(Protocol):
    """A source whose journal's own file may hold bytes of what was deleted or altered in it."""

    def erase_remains(self) -> None:
        """Leave nothing of what the scan under way saw gone or altered; never raises.

        Whoever files calls it before the index forgets those entries: the process that deleted
        them may have been killed before it erased them.
        """
        ...


@runtime_checkable
class Repairable(Protocol):
    """Something `doctor` can look over and put right."""

    def problems(self) -> list[Problem]:
        """What is wrong now; changes nothing."""
        ...

    def repair(self) -> list[str]:
        """Mend what can be mended; a sentence for each thing done."""
        ...


@runtime_checkable
class Forgetting(Protocol):
    """An index that can erase a text so that no byte of it stays in its files."""

    def forget(self, refs: Sequence[str]) -> None:
        """Drop these refs and erase what their words and vectors left behind."""
        ...


@runtime_checkable
class Erasing(Protocol):
    """An index that notes durably which texts left it, so that no death keeps their bytes."""

    def erase(self) -> None:
        """Erase what dropped and altered docs left behind, if anything.

        Raises: Unavailable where bytes remain; call it again then.
        """
        ...

    def has_remains(self) -> bool:
        """Whether there is anything to erase."""
        ...


@runtime_checkable
class Clearing(Protocol):
    """An index that can be emptied while it is in use, so that filing refills it from nothing."""

    def clear(self) -> None:
        """Drop every doc, vector and mark; leases stay. Other processes see it at their next use.

        Also heals an index that is broken: afterwards it is empty, and whole.
        """
        ...
