"""Filing: the index follows the journals, and nothing reaches into a write."""

from __future__ import annotations

import threading
from itertools import product
from typing import ClassVar

import pytest
from tests.patience import PATIENCE_S, until
from tests.search.filing.world import (
    BrokenIndex,
    CountingEncoder,
    KeepingSource,
    PausedSource,
    pending,
    words_of,
)

from commonplace.core.errors import Unavailable
from commonplace.core.values import Drop, Put
from commonplace.search import policy
from commonplace.search.filing.filing import Behind, Filing
from commonplace.search.filing.port import Filed, Pending
from commonplace_testing import HashingEncoder, OneSource, ReadySlot, a_doc


def test_a_filed_entry_is_found_by_words_and_by_meaning(opened, index):
    """With an encoder the answer is Filed, and nothing waits."""
    encoder = HashingEncoder()
    assert opened(encoder=encoder).file([Put(a_doc("n:1", "the quiet harbour"))]) == Filed()
    assert words_of(index, "harbour") == {"n:1"}
    assert pending(index, encoder) == 0


def test_without_an_encoder_an_entry_is_pending_and_found_by_words(opened, index):
    """The answer says why, and words find the entry at once."""
    filing = opened(encoder=ReadySlot(reason="The weights are on holiday."))
    assert filing.file([Put(a_doc("n:1", "harbour"))]) == Pending("The weights are on holiday.")
    assert words_of(index, "harbour") == {"n:1"}


@pytest.mark.parametrize(
    "error", [Unavailable("The disk is full."), MemoryError(), OSError(5, "x"), ValueError("x")]
)
def test_filing_never_raises_into_a_write(opened, error):
    """Whatever the index or the encoder raises, the write has succeeded: the entry is pending."""

    class BrokenEncoder(HashingEncoder):
        def split(self, text, *, most=None):
            raise error

    docs = [Put(a_doc("n:1", "harbour"))]
    for filing in (opened(index=BrokenIndex(error)), opened(encoder=BrokenEncoder())):
        answer = filing.file(docs)
        assert isinstance(answer, Pending)
        assert answer.why
    assert isinstance(opened(index=BrokenIndex(error)).forget(["n:1"]), Pending)


def test_an_entry_is_forgotten_though_what_quotes_it_cannot_be(opened, index):
    """It leaves the index at once, and the answer says what waits."""

    def quoting(_refs):
        raise Unavailable("journal.db is being read.")

    filing = opened(quoting=quoting)
    filing.file([Put(a_doc("n:1", "harbour"))])
    assert filing.forget(["n:1"]) == Pending("journal.db is being read.")
    assert words_of(index, "harbour") == set()


def test_a_blank_text_gets_no_vector_and_its_neighbour_does(opened, index):
    """An entry of headings alone is filed, wants nothing, and hinders nobody."""
    encoder = CountingEncoder()
    source = KeepingSource(docs=[a_doc("n:1", " \n"), a_doc("n:2", "harbour")])
    filing = opened(source, encoder=encoder)
    assert filing.file([Put(doc) for doc in source.docs.values()]) == Filed()
    filing.catch_up()
    assert encoder.texts == ["harbour"]
    assert set(source.places) == {"n:2"}
    assert pending(index, encoder) == 0
    assert index.counts(encoder.identity).docs == 2


def test_a_long_entry_does_not_hold_up_the_write(opened, index):
    """What is too long to be encoded at once is pending, and the background makes it findable."""
    encoder = CountingEncoder()
    encoder.gate.clear()
    filing = opened(encoder=encoder)
    long = "harbour " * policy.ENCODE_AT_ONCE
    assert isinstance(filing.file([Put(a_doc("n:long", long))]), Pending)
    assert words_of(index, "harbour") == {"n:long"}
    encoder.gate.set()
    until(lambda: pending(index, encoder) == 0, "every entry to have its vector")


def test_a_write_waits_for_no_words_of_a_very_long_entry(opened, index):
    """The thread that follows its journal files it; what no thread follows is filed at once."""
    encoder = HashingEncoder()
    source = PausedSource(name="n")
    filing = opened(source, encoder=encoder)
    long = a_doc("n:long", "harbour " * (policy.FILE_AT_ONCE // 8 + 1))
    source.put(long)
    filed = filing.file([Put(long)])
    assert isinstance(filed, Pending)
    assert filed.notes == ("It is long: meaning finds its first 200 parts, words all of it.",)
    assert source.has_read.wait(PATIENCE_S)
    assert words_of(index, "harbour") == set()
    source.gate.set()
    until(lambda: words_of(index, "harbour") == {"n:long"}, "its words to be filed")
    until(lambda: pending(index, encoder) == 0, "its vectors to be made")
    filing.file([Put(a_doc("other:long", long.text))])
    assert words_of(index, "harbour") == {"n:long", "other:long"}


def test_an_entry_gets_a_bounded_number_of_vectors(opened, index):
    """The chunks past the bound are found by words, and the entry does not wait for ever."""
    encoder = CountingEncoder()
    long = "filler " * 224 * (policy.CHUNKS_OF_AN_ENTRY + 50) + "harbour"
    filing = opened(OneSource(docs=[a_doc("n:long", long)]), encoder=encoder)
    filing.catch_up()
    assert len(encoder.texts) == policy.CHUNKS_OF_AN_ENTRY
    assert filing.cut == 1
    assert pending(index, encoder) == 0
    assert words_of(index, "harbour") == {"n:long"}


def test_a_write_says_that_words_alone_find_its_end(opened):
    """The note is there from one chunk too many on, and not before; 224 words are a chunk."""
    filing = opened(encoder=HashingEncoder())
    whole = "filler " * (224 * policy.CHUNKS_OF_AN_ENTRY + 32)
    assert filing.file([Put(a_doc("n:1", whole))]).notes == ()
    (note,) = filing.file([Put(a_doc("n:2", f"{whole} harbour"))]).notes
    assert "first 200 parts" in note


def test_catching_up_heals_a_crash_between_truth_and_index(opened, index):
    """Written, never filed: the next process finds it by words and meaning, and marks it done."""
    encoder = HashingEncoder()
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(3)])
    assert opened(source, encoder=encoder).catch_up() == 3
    source.put(a_doc("n:lost", "harbour lost"))
    source.drop("n:0")
    again = opened(source, encoder=encoder)
    assert again.catch_up() == 1
    assert words_of(index, "harbour") == {"n:1", "n:2", "n:lost"}
    assert index.known().marks.get(source.name) == source.mark()
    assert again.catch_up() == 0


def test_catching_up_tells_its_progress(opened):
    """(made, still to make) after each batch of words and each group of vectors, down to none.

    100 entries are filed at a time. Of short ones 64 are encoded first, then 128 at a time.
    """
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(635)])
    told = []
    opened(source, encoder=HashingEncoder()).catch_up(lambda *each: told.append(each))
    words = [(0, filed) for filed in (100, 200, 300, 400, 500, 600, 635)]
    first, rest = [(64, 571)], [(192, 443), (320, 315), (448, 187)]
    assert told == [*words, *first, *rest, (576, 59), (635, 0)]


def test_texts_of_like_length_are_encoded_together(opened):
    """Of 600 entries every other one is long; padding costs time, so a group holds one kind.

    The first 64 and the last 24 are a group each; between them are four groups of 128.
    """

    class Grouping(HashingEncoder):
        groups: ClassVar[list[set[int]]] = []

        def encode_passages(self, texts):
            self.groups.append({len(text) for text in texts})
            return super().encode_passages(texts)

    texts = ["harbour", "harbour " * 12]
    source = OneSource(docs=[a_doc(f"n:{i}", texts[i % 2]) for i in range(600)])
    opened(source, encoder=Grouping()).catch_up()
    assert [len(group) for group in Grouping.groups] == [2, 1, 1, 1, 1, 2]


def test_few_long_texts_are_taken_at_a_time(opened, index):
    """Memory is bounded: of entries of 5,000 characters never more than 64 are asked for."""
    asked = []

    class Asked:
        def __getattr__(self, name):
            return getattr(index, name)

        def unencoded(self, identity, limit):
            asked.append(limit)
            return index.unencoded(identity, limit)

    source = OneSource(docs=[a_doc(f"n:{i}", f"{i} " + "harbour " * 625) for i in range(150)])
    opened(source, encoder=HashingEncoder(), index=Asked()).catch_up()
    assert set(asked) == {64}


def test_a_search_sees_what_another_process_wrote(opened, index):
    """Refresh files it before it returns."""
    source = OneSource()
    filing = opened(source, encoder=HashingEncoder())
    source.put(a_doc("n:1", "harbour"))
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "harbour") == {"n:1"}


def test_what_is_being_erased_is_waited_for(opened, index):
    """The thread that erases reads the index, in which nobody else can erase meanwhile."""
    erasing, gate, erased = threading.Event(), threading.Event(), []

    class SlowIndex:
        def __getattr__(self, name):
            return getattr(index, name)

        def erase(self):
            erasing.set()
            assert gate.wait(PATIENCE_S)
            erased.append("all")

        def has_remains(self):
            return not erased

    filing = opened(OneSource(docs=[a_doc("n:1", "harbour")]), index=SlowIndex())
    filing.sweep()
    assert erasing.wait(PATIENCE_S)
    filing.finish(0.0)
    assert erased == []
    threading.Timer(0.05, gate.set).start()
    filing.finish(PATIENCE_S)
    assert erased == ["all"]


def test_a_search_has_vectors_made_that_nobody_makes(opened, index):
    """Of what was written before the model was there, by a program that never calls `start`."""
    slot, encoder = ReadySlot(reason="It is being loaded."), HashingEncoder()
    filing = opened(encoder=slot)
    filing.file([Put(a_doc("n:1", "harbour"))])
    slot.encoder = encoder
    assert pending(index, encoder) == 1
    assert filing.settle(encoder.identity, PATIENCE_S) == ()
    assert pending(index, encoder) == 0


def test_words_go_before_vectors(opened, index, monkeypatch):
    """While a long log is filed no vector is made of its first part; afterwards all are."""
    monkeypatch.setattr(policy, "SILENT_S", PATIENCE_S)  # a busy machine may pause it for long
    part_filed, going = threading.Event(), threading.Event()

    class LargeSource(OneSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                if number == policy.APPLY_BATCH:  # asked for once the part before is filed
                    part_filed.set()
                    assert going.wait(PATIENCE_S)
                yield change

    class CountingSlot(ReadySlot):
        times = 0

        def get(self, timeout_s=0.0):
            self.times += 1
            return super().get(timeout_s)

    encoder = CountingEncoder()
    slot = CountingSlot(encoder)
    source = LargeSource(docs=[a_doc(f"n:{i}", "harbour") for i in range(600)])
    filing = opened(source, encoder=slot)
    try:
        filing.start()
        assert part_filed.wait(PATIENCE_S)
        for _ in range(3):  # at the third time the second is over
            before = slot.times
            filing.wake()
            until(lambda before=before: slot.times > before, "the missing vectors to be looked for")
        assert encoder.texts == []
    finally:
        going.set()
    until(lambda: len(encoder.texts) == 600, "every entry to be encoded")


def test_what_one_filed_too_late_another_looks_at_again(opened, index, monkeypatch):
    """One read an entry, another filed that it is gone, and the first ended in the midst of it."""
    monkeypatch.setattr(policy, "APPLY_BATCH", 2)
    has_read, gone, part_filed, ended = (threading.Event() for _ in range(4))

    class SharedSource(OneSource):
        exact_mark = True

    class SlowSource(SharedSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                if number == 1:
                    has_read.set()
                    assert gone.wait(PATIENCE_S)
                if number == 2:
                    part_filed.set()
                    assert ended.wait(PATIENCE_S)
                yield change

    source, slow = SharedSource(), SlowSource()
    opened(source).catch_up()
    for number, each in product((1, 2, 3), (source, slow)):
        each.put(a_doc(f"n:{number}", "harbour", minutes=number))
    late = opened(slow)
    late.start()
    assert has_read.wait(PATIENCE_S)
    source.drop("n:1")
    opened(source).catch_up()
    gone.set()
    assert part_filed.wait(PATIENCE_S)
    late.close(0.0)
    ended.set()
    late.close(PATIENCE_S)
    opened(source).catch_up()
    assert words_of(index, "harbour") == {"n:2", "n:3"}


def test_what_a_killed_filing_left_goes_where_the_source_is_as_it_was_before(opened, index):
    """As of a branch that is reset: its mark is the one that the index had, and not its entries."""

    class ResetSource(OneSource):
        exact_mark = True

        def mark(self):
            return ",".join(sorted(self.docs))

        def scan(self, since):
            if since.mark is None:
                yield from super().scan(since)
                return
            yield from (Put(self.docs[ref]) for ref in {*self.docs} - {*since.mark.split(",")})
            if len(self.docs) > 1:
                raise KeyboardInterrupt

    source = ResetSource(docs=[a_doc("n:1", "harbour")])
    opened(source).catch_up()
    source.put(a_doc("n:2", "harbour", minutes=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "APPLY_BATCH", 1)
        with pytest.raises(KeyboardInterrupt):
            opened(source).catch_up()
    assert words_of(index, "harbour") == {"n:1", "n:2"}
    source.drop("n:2")
    opened(source).catch_up()
    assert words_of(index, "harbour") == {"n:1"}


def test_of_long_texts_fewer_are_filed_at_once(opened, index):
    """Else a busy machine files none for so long that the journal counts as silent."""
    going = threading.Event()

    class LongSource(OneSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                assert number < 5 or going.wait(PATIENCE_S)
                yield change

    text = "harbour " * (policy.APPLY_CHARACTERS // 40)
    filing = opened(LongSource(docs=[a_doc(f"n:{i}", text) for i in range(6)]))
    try:
        filing.refresh(0.01)
        until(lambda: index.counts("").docs == 5, "the first to be filed")
    finally:
        going.set()
    until(lambda: filing.refresh(PATIENCE_S) == (), "all to be filed")


@pytest.mark.parametrize("error", [Unavailable("No space is left."), RuntimeError("a fault")])
def test_a_journal_that_fails_is_named_and_tried_again(opened, index, error):
    """The note says what is wrong; when it is over, the entry is filed."""

    class FailingSource(OneSource):
        broken = True

        def scan(self, since):
            if self.broken:
                raise error
            yield from super().scan(since)

    source = FailingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source)
    assert "Not every entry of test could be filed" in filing.refresh(PATIENCE_S)[0]
    source.broken = False
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "harbour") == {"n:1"}


@pytest.mark.design("000-72")
def test_one_broken_journal_does_not_hide_the_others(opened, index):
    """The project's folder fails; what another program wrote to the user's is filed all the same."""

    class BrokenSource(OneSource):
        def scan(self, since):
            raise Unavailable("This disk is gone.")

    filing = opened(BrokenSource("test:broken"), OneSource("test:sound", [a_doc("n:1", "harbour")]))
    assert "This disk is gone." in filing.refresh(PATIENCE_S)[0]
    assert words_of(index, "harbour") == {"n:1"}


class HangingSource(OneSource):
    """A source whose mark, or whose scan, does not come back until it is let go."""

    def __init__(self, name, docs=(), *, hangs_in):
        super().__init__(name, docs, prefix="log:")
        self._hangs_in = hangs_in
        self.hangs = threading.Event()
        self.going = threading.Event()

    def _hang(self, here):
        if here == self._hangs_in:
            self.hangs.set()
            assert self.going.wait(PATIENCE_S)

    def mark(self):
        self._hang("mark")
        return super().mark()

    def scan(self, since):
        self._hang("scan")
        yield from super().scan(since)


@pytest.mark.parametrize("hangs_in", ["mark", "scan"])
def test_a_journal_that_hangs_holds_up_no_other(opened, index, hangs_in):
    """Another's entries are filed meanwhile; it is named, waited for once, and filed in the end."""
    hanging = HangingSource("log:one", [a_doc("log:1", "harbour")], hangs_in=hangs_in)
    sound = OneSource("test:sound", [a_doc("n:1", "harbour")], prefix="n:")
    filing = opened(hanging, sound)
    silent = ("log does not answer, it may be locked; a later search may find more.",)
    try:
        until(lambda: filing.refresh(0.2) == silent, "the journal to be given up")
        assert [each.journal for each in filing.behind()] == ["log"]
        assert words_of(index, "harbour") == {"n:1"}
        sound.put(a_doc("n:2", "harbour"))
        assert filing.refresh(PATIENCE_S) == silent
        assert words_of(index, "harbour") == {"n:1", "n:2"}
    finally:
        hanging.going.set()
    until(lambda: filing.refresh(PATIENCE_S) == (), "all to be filed")
    assert words_of(index, "harbour") == {"log:1", "n:1", "n:2"}
    assert filing.behind() == ()


@pytest.mark.parametrize("hangs_in", ["mark", "scan"])
def test_a_command_waits_for_a_journal_while_it_goes_on(opened, index, monkeypatch, hangs_in):
    """One that hangs is left after a while, one that has much to file is not."""
    monkeypatch.setattr(policy, "SILENT_S", PATIENCE_S)

    apply = index.apply

    def apply_and_note(changes, **given):
        apply(changes, **given)
        if given["source"] == "test:large" and given.get("mark"):  # all of it is filed
            monkeypatch.setattr(policy, "SILENT_S", 0.3)  # from now on only the other is silent

    monkeypatch.setattr(index, "apply", apply_and_note)
    hanging = HangingSource("log:one", hangs_in=hangs_in)
    docs = [a_doc(f"n:{i}", "harbour") for i in range(1200)]
    filing = opened(hanging, OneSource("test:large", docs, prefix="n:"))
    try:
        assert filing.sweep() == (
            "log does not answer, it may be locked; a later search may find more.",
        )
        assert index.counts("").docs == 1200
    finally:
        hanging.going.set()
    until(lambda: filing.sweep() == (), "all to be filed")


def test_a_sweep_tells_what_fails_and_files_the_rest(opened, index):
    """Nothing is raised: a search goes on with what there is."""

    class BrokenSource(OneSource):
        def mark(self):
            raise Unavailable("This disk is gone.", hint="Fetch it.")

    filing = opened(BrokenSource("log:one"), OneSource("test:sound", [a_doc("n:1", "harbour")]))
    note = "Not every entry of log could be filed: This disk is gone. Fetch it."
    assert filing.sweep() == filing.refresh(PATIENCE_S) == (note,)
    assert filing.behind() == (Behind(journal="log", why=note),)
    assert words_of(index, "harbour") == {"n:1"}


@pytest.mark.design("000-72")
def test_catching_up_does_all_it_can_before_it_fails(opened, index):
    """One journal is broken: the vectors of the others are made, then the error is raised."""

    class BrokenSource(OneSource):
        def scan(self, since):
            raise Unavailable("This disk is gone.")

    encoder = HashingEncoder()
    sound = OneSource("test:sound", [a_doc("n:1", "harbour")])
    with pytest.raises(Unavailable, match="This disk is gone"):
        opened(BrokenSource("log:one"), sound, encoder=encoder).catch_up()
    assert pending(index, encoder) == 0
    assert words_of(index, "harbour") == {"n:1"}


def test_other_projects_journals_are_filed_aside(opened, index):
    """Whoever starts, sweeps or catches up files them; a search alone does not look at them."""
    for number, act in enumerate((Filing.start, Filing.sweep, Filing.catch_up)):
        doc = a_doc(f"n:{number}", f"word{number}")
        other = OneSource(f"test:other{number}", [doc], prefix=doc.ref)
        filing = opened(OneSource(prefix="own:"), others=[other])
        filing.refresh(PATIENCE_S)
        assert words_of(index, f"word{number}") == set()
        act(filing)
        until(lambda word=f"word{number}": words_of(index, word), "the other project to be filed")


def test_closing_does_not_wait_for_a_journal_that_hangs(opened):
    """Its threads end when it lets them; nobody who waits for it is left waiting."""
    hanging = HangingSource("log:one", hangs_in="scan")
    filing = opened(hanging)
    waiting = threading.Thread(target=filing.refresh, args=(PATIENCE_S,))
    waiting.start()
    assert hanging.hangs.wait(PATIENCE_S)
    filing.close(wait_s=0.05)
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
    hanging.going.set()


def test_a_sweep_finds_an_edit_in_place(opened, index, clock):
    """The mark is as it was; the next search after 5 s looks at every entry's stamp."""
    source = OneSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=HashingEncoder())
    filing.start()
    until(lambda: words_of(index, "harbour"), "the entry to be filed")
    source.docs["n:1"] = a_doc("n:1", "mountain")
    clock.advance(policy.SWEEP_EVERY_S)
    until(
        lambda: filing.refresh(PATIENCE_S) == () and words_of(index, "mountain") == {"n:1"},
        "the edit to be found",
    )
    assert words_of(index, "harbour") == set()


def test_sweeps_that_find_nothing_take_a_tenth_of_the_time(opened, index, clock):
    """After one of two seconds a search begins the next one 20 s later, and not after five."""

    class SlowSource(OneSource):
        scans = 0

        def scan(self, since):
            yield from super().scan(since)
            clock.advance(2.0)
            self.scans += 1

    source = SlowSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source)
    filing.sweep()
    filing.sweep()
    assert source.scans == 2
    source.docs["n:1"] = a_doc("n:1", "mountain")
    clock.advance(17.0)  # and the two that it took itself
    filing.refresh(PATIENCE_S)
    assert source.scans == 2
    clock.advance(1.0)
    until(
        lambda: filing.refresh(PATIENCE_S) == () and words_of(index, "mountain") == {"n:1"},
        "the edit to be found",
    )


def test_a_sweep_leaves_a_source_alone_whose_mark_tells_all(opened, index):
    """Of 100,000 commits none is read again while the branch stands where it stood."""

    class Committed(OneSource):
        exact_mark = True
        scans = 0

        def scan(self, since):
            self.scans += 1
            yield from super().scan(since)

    source = Committed(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=HashingEncoder())
    assert filing.sweep() == ()
    assert words_of(index, "harbour") == {"n:1"}
    assert filing.sweep() == ()
    assert source.scans == 1
    source.put(a_doc("n:2", "mountain"))
    assert filing.sweep() == ()
    assert words_of(index, "mountain") == {"n:2"}
    assert source.scans == 2


def test_what_is_forgotten_leaves_the_index(opened, index):
    """A deleted entry is neither found nor counted."""
    filing = opened(encoder=HashingEncoder())
    filing.file([Put(a_doc("n:1", "harbour")), Put(a_doc("n:2", "wood"))])
    assert filing.forget(["n:1"]) == Filed()
    assert words_of(index, "harbour") == set()
    assert filing.file([Drop("n:2")]) == Filed()
    assert index.counts("").docs == 0


def test_what_went_does_not_stay_where_another_process_filed_it_late(opened, index):
    """It filed what it had read before, after we saw that nothing was there: the next look sees it."""

    class Outbox:
        """Numbered changes: an entry came with the fifth, and left with the sixth."""

        name = "n"
        cheap_mark = False
        exact_mark = True
        is_first = True

        def mark(self):
            return "6"

        def scan(self, since):
            there = "n:1" in since.stamps("n:")
            if self.is_first:
                self.is_first = False
                index.apply([Put(a_doc("n:1", "harbour"))], source="n")
                index.apply([], source="n", mark="5")
            if since.mark in {"4", "5"} and there:
                yield Drop("n:1")

    index.apply([], source="n", mark="4")
    filing = opened(Outbox(), encoder=HashingEncoder())
    filing.catch_up()
    assert filing.refresh(PATIENCE_S) == ()
    until(lambda: words_of(index, "harbour") == set(), "what went to leave the index")


def test_an_entry_deleted_in_the_midst_of_a_scan_stays_forgotten(opened, index):
    """The scan read its text before; what is filed of the scan leaves it out."""
    source = PausedSource(docs=[a_doc("n:1", "harbour"), a_doc("n:2", "lighthouse")])
    filing = opened(source)
    filing.start()
    assert source.has_read.wait(PATIENCE_S)
    source.drop("n:1")
    assert filing.forget(["n:1"]) == Filed()
    source.gate.set()
    until(lambda: words_of(index, "lighthouse"), "the scan to end")
    assert words_of(index, "harbour") == set()


def test_an_entry_edited_in_the_midst_of_a_scan_is_found_as_it_is_now(opened, index):
    """The scan read its old text, and does not bring it back."""
    source = PausedSource(docs=[a_doc("n:1", "harbour"), a_doc("n:2", "lighthouse")])
    filing = opened(source)
    filing.start()
    assert source.has_read.wait(PATIENCE_S)
    edited = a_doc("n:1", "pier")
    source.put(edited)
    filing.refile([Put(edited)])
    source.gate.set()
    until(lambda: words_of(index, "lighthouse"), "the scan to end")
    assert (words_of(index, "harbour"), words_of(index, "pier")) == (set(), {"n:1"})


def test_what_a_scan_left_out_is_looked_at_again(opened, index):
    """Else an edit that was read as it is now, and could not be filed, would be found by none."""
    source = PausedSource(docs=[a_doc("n:1", "pier"), a_doc("n:2", "lighthouse")])
    filing = opened(source)
    filing.start()
    assert source.has_read.wait(PATIENCE_S)
    filing.forget(["n:1"])
    source.gate.set()
    until(lambda: words_of(index, "lighthouse"), "the scan to end")
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "pier") == {"n:1"}
