"""The laws that every journal keeps towards the index and the opening of refs, as tests.

Never imported by the product itself.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.ports import CountsEntries
from commonplace.core.values import Drop, Put, Since

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.ports import OpensRefs, Source
    from commonplace.core.values import Doc

_LONGEST_MESSAGE = 1000
_HOSTILE = (
    "",
    "nothing",
    "../../etc/passwd",
    "%2e%2e/%2e%2e",
    "user/..",
    "\0",
    "x" * 10_000,
    "\u202e",
    "\ud800",
    "'; DROP TABLE entries; --",
    "\n# heading",
    "C:\\\\windows",
    "~",
    "-rf",
    "#",
    "a#b#c",
)


class JournalTrial(Struct, frozen=True, kw_only=True):
    """A journal as these laws try it: empty, in a folder of the test's own.

    Attributes:
        source: What the index follows.
        pages: What opens its refs.
        add: Writes an entry with this text, each one later than the one before; its ref.
        reopen: The same source as another process would open it.
        alter: Puts a text in the place of an entry's, by its ref; None where entries stay as
            they are.
        delete: Deletes the entry under a ref; None where entries stay for good.
    """

    source: Source
    pages: OpensRefs
    add: Callable[[str], str]
    reopen: Callable[[], Source]
    alter: Callable[[str, str], object] | None = None
    delete: Callable[[str], object] | None = None


class _Follower(Struct):
    """Follows a source as an index does: a mark, and the docs it was handed."""

    source: Source
    docs: dict[str, Doc] = field(default_factory=dict)
    mark: str | None = None

    def follow(self, *, sweep: bool = False) -> list[str]:
        """Take what changed; the refs, each drop with a `-` before it."""
        mark = self.source.mark()
        if mark == self.mark and not sweep:
            return []
        changes = []
        since = Since(mark=None if sweep else self.mark, stamps=self._stamps, now=mark)
        for change in self.source.scan(since):
            match change:
                case Put(doc):
                    self.docs[doc.ref] = doc
                    changes.append(doc.ref)
                case Drop(ref):
                    del self.docs[ref]
                    changes.append(f"-{ref}")
        self.mark = mark
        return changes

    def count(self) -> tuple[int, int]:
        """As the source counts: how many entries it holds, how many of them are here."""
        assert isinstance(self.source, CountsEntries)
        return self.source.count(Since(mark=self.mark, stamps=self._stamps))

    def _stamps(self, prefix: str) -> dict[str, str]:
        return {ref: doc.stamp for ref, doc in self.docs.items() if ref.startswith(prefix)}


class SourceContract:
    """The laws of `core.ports.Source`, as tests: subclass it and give a fixture named `journal`.

    ```python
    class TestMine(SourceContract, PagesContract):
        @pytest.fixture
        def journal(self, tmp_path):
            mine, other = MyJournal(tmp_path), MyJournal(tmp_path)
            yield JournalTrial(source=mine, pages=mine, add=mine.add, reopen=lambda: other)
    ```
    """

    def test_a_journal_that_is_not_there_is_empty(self, journal: JournalTrial) -> None:
        """Its mark is twice the same, and a scan hands over nothing, or says what is not there."""
        follower = _Follower(journal.source)
        mark = journal.source.mark()
        for sweep in (False, True):
            with suppress(NotFound):
                assert follower.follow(sweep=sweep) == []
        assert journal.source.mark() == mark

    def test_entries_come_newest_first_and_whole(self, journal: JournalTrial) -> None:
        """Each once, with a ref that names its journal, a time with a zone, and all its text."""
        refs = [journal.add(text) for text in ("harbour in fog", "quiet evening", "long road")]
        follower = _Follower(journal.source)
        assert [ref for ref in follower.follow() if ref in refs] == refs[::-1]
        name = journal.source.name.partition(":")[0]
        for doc in follower.docs.values():
            assert doc.ref.startswith(f"{name}:")
            assert doc.journal == name
            assert doc.at.utcoffset() == timedelta(0)
            assert doc.stamp
        assert "quiet evening" in follower.docs[refs[1]].text

    def test_it_says_how_much_waits_to_be_filed(self, journal: JournalTrial) -> None:
        """Where it counts: of three entries three wait before they are filed, and then none."""
        if not isinstance(journal.source, CountsEntries):
            return
        for text in ("harbour in fog", "quiet evening", "long road"):
            journal.add(text)
        follower = _Follower(journal.source)
        assert follower.count() == (3, 0)
        follower.follow()
        assert follower.count() == (3, 3)

    def test_what_is_known_is_not_handed_over_again(self, journal: JournalTrial) -> None:
        """While nothing changes a look and a sweep find nothing, in another process neither."""
        journal.add("harbour in fog")
        journal.add("quiet evening")
        follower = _Follower(journal.source)
        assert follower.follow() != []
        assert follower.follow() == []
        assert follower.follow(sweep=True) == []
        follower.source = journal.reopen()
        assert follower.source.name == journal.source.name
        assert follower.follow() == []
        assert follower.follow(sweep=True) == []

    def test_what_came_since_is_handed_over_alone(self, journal: JournalTrial) -> None:
        """The mark moves with every entry, and each opening sees what the other wrote."""
        first = journal.add("harbour in fog")
        follower, other = _Follower(journal.source), _Follower(journal.reopen())
        assert first in follower.follow()
        assert first in other.follow()
        second = journal.add("quiet evening")
        for each in (other, follower):
            changes = each.follow()
            assert second in changes
            assert first not in changes
        assert other.docs == follower.docs

    def test_an_altered_entry_is_put_again(self, journal: JournalTrial) -> None:
        """Under its ref, with its new text, in every opening; the others are left alone."""
        if journal.alter is None:
            return
        refs = [journal.add(text) for text in ("harbour in fog", "quiet evening")]
        followers = _Follower(journal.source), _Follower(journal.reopen())
        for each in followers:
            each.follow()
        journal.alter(refs[0], "harbour in the sun")
        for each in followers:
            changes = each.follow(sweep=not each.source.exact_mark)
            assert refs[0] in changes
            assert refs[1] not in changes
            assert "in the sun" in each.docs[refs[0]].text

    def test_a_deleted_entry_is_dropped(self, journal: JournalTrial) -> None:
        """By its ref, in every opening; what was never filed is not dropped."""
        if journal.delete is None:
            return
        refs = [journal.add(text) for text in ("harbour in fog", "quiet evening")]
        follower, late = _Follower(journal.source), _Follower(journal.reopen())
        follower.follow()
        journal.delete(refs[0])
        assert f"-{refs[0]}" in follower.follow()
        assert refs[0] not in follower.docs
        assert refs[1] in follower.docs
        assert f"-{refs[0]}" not in late.follow()
        assert late.docs == follower.docs

    def test_an_exact_mark_needs_no_sweep(self, journal: JournalTrial) -> None:
        """It is another after every entry that comes and goes, however fast they follow."""
        if not journal.source.exact_mark:
            return
        marks = [journal.source.mark()]
        for number in range(3):
            ref = journal.add(f"harbour {number}")
            marks.append(journal.source.mark())
            if journal.delete is not None:
                journal.delete(ref)
                marks.append(journal.source.mark())
        assert len({*marks}) == len(marks)


class PagesContract:
    """The laws of `core.ports.OpensRefs`, as tests: give the fixture of `SourceContract`."""

    def test_whatever_is_filed_can_be_opened(self, journal: JournalTrial) -> None:
        """A page has the ref, scope, kind, time and author of its doc, and all its text."""
        pages = journal.pages
        for text in ("harbour in fog", "quiet evening"):
            journal.add(text)
        docs = _filed(journal)
        assert docs
        for doc in docs:
            page = pages.read_ref(doc.ref)
            assert (page.ref, page.journal, page.scope) == (doc.ref, doc.journal, doc.scope)
            assert (page.kind, page.at, page.author) == (doc.kind, doc.at, doc.author)
            assert doc.text in page.text

    def test_its_name_begins_its_refs_and_its_kinds_are_known(self, journal: JournalTrial) -> None:
        """So that a ref finds its journal, and an unknown kind is an error."""
        journal.add("harbour in fog")
        pages = journal.pages
        assert pages.ref_form.startswith(f"{pages.journal}:")
        for doc in _filed(journal):
            assert doc.journal == pages.journal
            assert doc.kind in pages.kinds
            assert isinstance(pages.place_of(doc.scope), str)

    def test_neighbours_lead_there_and_back(self, journal: JournalTrial) -> None:
        """Where a page names what came before or after it, that opens, and names it in turn."""
        for text in ("harbour in fog", "quiet evening", "long road"):
            journal.add(text)
        pages = journal.pages
        for doc in _filed(journal):
            page = pages.read_ref(doc.ref)
            if page.before is not None:
                assert page.before.at <= page.at
                before = pages.read_ref(page.before.ref)
                assert before.after is not None
                assert before.after.ref == page.ref
            if page.after is not None:
                assert page.after.at >= page.at
                assert pages.read_ref(page.after.ref).at == page.after.at

    def test_a_deleted_entry_is_not_found(self, journal: JournalTrial) -> None:
        """Its ref names nothing any more."""
        if journal.delete is None:
            return
        ref = journal.add("harbour in fog")
        journal.delete(ref)
        assert _code_of(journal.pages, ref) == "not_found"

    def test_any_other_text_is_one_of_our_errors(self, journal: JournalTrial) -> None:
        """Short, and of a kind that says what it is; a scope nobody knows raises nothing."""
        journal.add("harbour in fog")
        for text in _HOSTILE:
            code = _code_of(journal.pages, f"{journal.pages.journal}:{text}")
            assert code in {"invalid", "denied", "not_found"}, text
            assert isinstance(journal.pages.place_of(text), str)


def _filed(journal: JournalTrial) -> list[Doc]:
    follower = _Follower(journal.source)
    follower.follow()
    return [*follower.docs.values()]


def _code_of(pages: OpensRefs, ref: str) -> str:
    try:
        pages.read_ref(ref)
    except CommonplaceError as exc:
        message, code = str(exc), exc.code
        message.encode()
        if len(message) > _LONGEST_MESSAGE:
            raise AssertionError(f"The error is too long: {message[:100]!a}") from exc
        return code
    raise AssertionError(f"{ref[:100]!a} was opened.")
