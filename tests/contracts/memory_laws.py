"""The laws that every user's memory keeps, whatever store is behind it, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from tests.patience import until

from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.journals.memory.records import KINDS
from commonplace_testing import HashingEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.ports import Encoder
    from commonplace.journals.memory.records import Call
    from commonplace.memory import Memory
    from commonplace.verbs.memory.finding import MemoryFound
    from commonplace.verbs.memory.service import MemoryService
    from commonplace_testing import FrozenClock

HOSTILE = (
    "a/b",
    "..",
    "../ann",
    "A",
    "a",
    "\u0430",
    "\uff41",
    "con",
    "NUL",
    "ann ",
    "'; DROP TABLE wb_todo; --",
    '"x" OR 1=1',
    "%",
    "_",
    "*",
    "~",
    "\u202eann",
    "\U0001f600",
    "é",
    "x" * 128,
)
"""User ids that a careless store would confuse, or open a door by; one a is Cyrillic."""

SQL = "Robert'); DELETE FROM wb_todo; -- \" OR 1=1 % _ \\"
WORDS = "amber birch cedar delta ember fjord grove heath islet jetty knoll larch".split()


class OtherEncoder(HashingEncoder):
    """The same under another name: its vectors are another model's."""

    identity = "other:64:bag:l2:11111111"


class MemoryWorld(Protocol):
    """What a contract is run in: users of one place, a clock, and a look at the bytes."""

    @property
    def clock(self) -> FrozenClock:
        """The clock of all memories of this world."""
        ...

    def open(self, user: str) -> Memory:
        """A user's memory, as another process would open it; the world closes it."""
        ...

    def use(self, encoder: Encoder | None) -> None:
        """Let what is opened from now on have this encoder, or none. The first: HashingEncoder."""
        ...

    def traces(self, text: str) -> list[str]:
        """Where these bytes still lie: tables, indexes, logs, files. Lower case as well."""
        ...

    def bytes_of(self, user: str) -> bytes:
        """All that is kept of a user, the log of calls left out, the same for the same."""
        ...


def refused(
    error: type[CommonplaceError], call: Callable[..., object], *args: object, **kwargs: object
) -> CommonplaceError:
    """The error that a call ends with, which must be of this kind."""
    try:
        call(*args, **kwargs)
    except error as exc:
        return exc
    raise AssertionError(f"It was taken, where {error.__name__} was due.")


def ids(found: MemoryFound) -> list[str]:
    """The ids of what was found, best first."""
    return [hit.ref for hit in found.hits]


class MemoryContract:
    """The laws of a user's memory, as tests: subclass it and give a fixture named `world`."""

    # Indexes are created on-write for all approved kinds; deletions clean up vectors.

    @pytest.mark.design("002-01", "002-04", "002-05", "002-06")
    def test_what_is_saved_is_found_at_once(self, world: MemoryWorld) -> None:
        """Each kind, by a word of it, with nothing else."""
        mine = world.open("ann")
        saved = every_kind(mine)
        for kind, (word, ref_id) in saved.items():
            found = mine.search(word, intent="none")
            assert [(hit.kind, hit.ref) for hit in found.hits] == [(kind, ref_id)]
            assert found.hits[0].by == "both"
            assert found.notes == ()

    @pytest.mark.design("002-27", "002-54")
    def test_what_is_deleted_is_gone_from_every_byte(self, world: MemoryWorld) -> None:
        """Not found, not listed, not counted; no table, index, vector or log holds its words."""
        mine = world.open("ann")
        saved = every_kind(mine)
        mine.search("quokka", intent="none")
        for kind, (word, ref_id) in saved.items():
            assert world.traces(word)
            assert mine.delete(ref_id).notes == ()
            assert world.traces(word) == [], kind
            assert ids(mine.search(word)) == []
            refused(NotFound, mine.delete, ref_id)
        stats = mine.stats()
        assert (stats.found, stats.pending, sum(x.records for x in stats.kinds)) == (0, 0, 0)

    @pytest.mark.design(
        "002-14", "002-21", "002-22", "002-24", "002-25", "002-26", "002-27", "002-28"
    )
    def test_every_kind_has_its_vectors_while_it_is_there(self, world: MemoryWorld) -> None:
        """Made after a save, an edit and a change of status; gone with the record or as a draft."""
        mine = world.open("ann")
        saved = every_kind(mine)
        mine.edit_todo(saved["todo"][1], done=True)
        mine.edit(saved["gratitude"][1], "another cake")
        mine.wait()
        index, model = mine.service.index(), HashingEncoder.identity
        counts = index.counts(model)
        assert (counts.docs, counts.pending) == (len(KINDS), 0)
        mine.edit_journal(saved["journal"][1], is_draft=True)
        assert index.counts(model).docs == len(KINDS) - 1
        for _, ref_id in saved.values():
            mine.delete(ref_id)
        counts = index.counts(model)
        assert (counts.docs, counts.pending) == (0, 0)
        assert index.known().stamps("") == {}

    @pytest.mark.design("002-07")
    def test_what_has_no_kind_is_not_kept(self, world: MemoryWorld) -> None:
        """Quotes, support cards and overlay transcripts are refused, by the tool as well."""
        mine = world.open("ann")
        tools = mine.service
        save = tools.write_toolset(lambda: tools).tool("memory_save")
        for kind in ("quote", "support_card", "overlay", "Todo", ""):
            refused(Invalid, save.call, {"kind": kind, "text": "harbour", "title": "harbour"})
        assert all(kind.records == 0 for kind in mine.stats().kinds)

    def test_what_was_altered_before_it_is_deleted_goes_too(self, world: MemoryWorld) -> None:
        """No earlier wording of it stays either."""
        mine = world.open("ann")
        ref_id = mine.save_gratitude("zanzibaric breakfast")
        mine.edit(ref_id, "quokkaesque breakfast")
        mine.delete(ref_id)
        assert world.traces("zanzibaric") == world.traces("quokkaesque") == []

    def test_another_process_sees_it(self, world: MemoryWorld) -> None:
        """What one opening saves, alters and deletes, another finds, and finds no more."""
        one, two = world.open("ann"), world.open("ann")
        ref_id = one.save_todo("water the harbour")
        assert ids(two.search("harbour")) == [ref_id]
        two.edit_todo(ref_id, title="paint the fence")
        assert ids(one.search("harbour")) == []
        assert ids(one.search("fence")) == [ref_id]
        one.delete(ref_id)
        assert ids(two.search("fence")) == []

    # Query returns up to 8 boosted, filtered hits, within 1200-token budget.

    def test_eight_hits_at_the_most(self, world: MemoryWorld) -> None:
        """Eight where nothing is said, else as many as are asked for; never none."""
        mine = world.open("ann")
        for number in range(12):
            mine.save_message("user", f"harbour {WORDS[number]}")
        assert len(mine.search("harbour").hits) == 8
        assert len(mine.search("harbour", limit=3).hits) == 3
        assert len(mine.search("harbour", limit=100).hits) == 12
        for wrong in (0, -1, 101):
            refused(Invalid, mine.search, "harbour", limit=wrong)

    def test_newer_ones_come_first_among_like_ones(self, world: MemoryWorld) -> None:
        """The factor is 1 + 0.15 · exp(-age / 14): 1.15 for a new one, 1.0552 after 14 days."""
        mine = world.open("ann")
        now = world.clock()
        old = mine.save_todo("harbour", at=now - timedelta(days=14))
        new = mine.save_todo("harbour", at=now)
        found = mine.search("harbour", intent="none")
        assert ids(found) == [new, old]
        ratio = found.hits[0].score / found.hits[1].score
        assert math.isclose(ratio, 1.15 / (1 + 0.15 / math.e), abs_tol=1e-6)
        assert found.hits[0].score <= 1

    def test_a_year_does_not_outweigh_a_better_match(self, world: MemoryWorld) -> None:
        """An old record that is what was asked for comes before a new one that touches it."""
        mine = world.open("ann")
        old = mine.save_todo("harbour gate", at=world.clock() - timedelta(days=365))
        new = mine.save_todo("harbour amber birch cedar delta")
        assert ids(mine.search("harbour gate", intent="none")) == [old, new]

    def test_the_floor_cuts_meaning_alone(self, world: MemoryWorld) -> None:
        """What is nearly at right angles is not shown; a word in a long text is a hit by itself."""
        mine = world.open("ann")
        mine.save_todo("paint the fence")
        long = mine.save_message("user", " ".join([*WORDS, "harbour", *WORDS]))
        found = mine.search("harbour")
        assert ids(found) == [long]
        assert (found.hits[0].similarity or 0) < 0.35
        assert found.hits[0].by == "words"

    @pytest.mark.design("002-36")
    def test_snippets_stay_within_the_budget(self, world: MemoryWorld) -> None:
        """1,200 tokens: of hits with 302 each, three fit; the rest are counted."""
        mine = world.open("ann")
        for _ in range(5):
            mine.save_message("user", "harbour " + "amber " * 300)
        found = mine.search("harbour amber")
        assert (len(found.hits), found.left_out) == (3, 2)
        assert found.tokens == 3 * 302
        assert not any(hit.cut for hit in found.hits)

    def test_one_hit_over_the_budget_is_cut_and_marked(self, world: MemoryWorld) -> None:
        """Its beginning is shown, with a sign, and nothing after it."""
        mine = world.open("ann")
        long = mine.save_message("user", "harbour " + "amber " * 5000)
        found = mine.search("harbour amber")
        assert ids(found) == [long]
        assert found.hits[0].cut
        assert found.hits[0].snippet.startswith("(user) harbour amber")
        assert found.hits[0].snippet.endswith("...")
        assert 1100 < found.tokens <= 1200

    @pytest.mark.design("002-56")
    def test_a_long_record_is_one_hit(self, world: MemoryWorld) -> None:
        """However many chunks of it match."""
        mine = world.open("ann")
        long = mine.save_journal("Harbour", "harbour " * 2000)
        assert ids(mine.search("harbour")) == [long]

    def test_filters_come_before_the_best(self, world: MemoryWorld) -> None:
        """Kinds and times narrow what is looked at; a better match elsewhere takes no place."""
        mine = world.open("ann")
        now = world.clock()
        for _ in range(9):
            mine.save_message("user", "harbour")
        todo = mine.save_todo("harbour among other things", at=now - timedelta(days=40))
        assert ids(mine.search("harbour", kinds=["todo"])) == [todo]
        day = now - timedelta(days=40)
        span = {"since": day - timedelta(days=1), "until": day + timedelta(microseconds=1)}
        assert ids(mine.search("harbour", **span)) == [todo]
        assert ids(mine.search("harbour", until=day)) == []
        refused(Invalid, mine.search, "harbour", kinds=["quote"])

    @pytest.mark.design("002-57")
    def test_diversity_is_an_option(self, world: MemoryWorld) -> None:
        """Five of a kind where it is asked for."""
        mine = world.open("ann")
        for _ in range(7):
            mine.save_message("user", "harbour")
        todo = mine.save_todo("harbour and other things to see")
        kinds = [hit.entry.kind for hit in mine.search("harbour", diverse=True).hits]
        assert kinds == ["message"] * 5 + ["todo"]
        assert todo not in ids(mine.search("harbour", limit=7))

    @pytest.mark.design("002-33")
    def test_planning_prefers_todos_then_recent_messages(self, world: MemoryWorld) -> None:
        """Given, or read off the question; an old message is not preferred."""
        mine = world.open("ann")
        now = world.clock()
        old = mine.save_message("user", "harbour", at=now - timedelta(days=300))
        grateful = mine.save_gratitude("harbour", at=now)
        message = mine.save_message("user", "harbour", at=now)
        todo = mine.save_todo("harbour", at=now - timedelta(days=2))
        assert ids(mine.search("harbour", intent="planning")) == [todo, message, grateful, old]
        read = mine.search("plan the harbour")
        assert read.intent == "planning"
        assert ids(read)[0] == todo
        assert ids(mine.search("harbour", intent="none"))[-2:] == [todo, old]

    @pytest.mark.design("002-34")
    def test_journaling_prefers_recent_journals_and_gratitude(self, world: MemoryWorld) -> None:
        """An old journal is not preferred to a new to-do."""
        mine = world.open("ann")
        now = world.clock()
        old = mine.save_journal("harbour", "", at=now - timedelta(days=300))
        todo = mine.save_todo("harbour", at=now)
        grateful = mine.save_gratitude("harbour", at=now - timedelta(days=1))
        journal = mine.save_journal("harbour", "", at=now - timedelta(days=1))
        expected = [journal, grateful, todo, old]
        assert ids(mine.search("harbour", intent="journaling")) == expected
        assert mine.search("how did I feel about the harbour").intent == "journaling"

    @pytest.mark.design("002-23", "002-47", "002-48", "002-49", "002-50", "002-51")
    def test_what_a_snippet_shows(self, world: MemoryWorld) -> None:
        """A message with its role; title and 200 characters; the title; pairs; 200 characters."""
        mine = world.open("ann")
        body = "harbour " + "b" * 300
        mine.save_message("assistant", "harbour <b>gate</b>")
        mine.save_journal("Evening", body)
        mine.save_todo("Paint the harbour")
        mine.save_preferences(religion="general", flags={"place": "harbour"})
        mine.save_gratitude("harbour " + "g" * 300)
        found = mine.search("harbour", intent="none")
        assert {hit.entry.kind: hit.snippet for hit in found.hits} == {
            "message": "(assistant) harbour gate",
            "journal": f"Evening\n{body[:200]}...",
            "todo": "Paint the harbour",
            "preference": "language=en; religion=general; place=harbour",
            "gratitude": f"harbour {'g' * 192}...",
        }

    # Journals: only finalized entries are retrievable; draft edits not embedded.

    @pytest.mark.design("002-03")
    def test_drafts_are_kept_and_never_found(self, world: MemoryWorld) -> None:
        """Nor are their edits; finished they are found, a draft again they are not."""
        mine = world.open("ann")
        ref_id = mine.save_journal("Harbour", "quiet", is_draft=True)
        mine.edit_journal(ref_id, body="quiet evening")
        assert ids(mine.search("harbour quiet evening")) == []
        assert mine.stats().found == 0
        mine.edit_journal(ref_id, is_draft=False)
        assert ids(mine.search("quiet evening")) == [ref_id]
        mine.edit_journal(ref_id, body="long road")
        assert ids(mine.search("quiet")) == []
        assert ids(mine.search("road")) == [ref_id]
        again = mine.edit_journal(ref_id, is_draft=True)
        assert (again.is_draft, again.body) == (True, "long road")
        assert ids(mine.search("harbour long road")) == []
        assert world.open("ann").stats().found == 0

    # To-Dos and Gratitude embedded as specified for context recall.

    def test_todos_are_found_done_or_not(self, world: MemoryWorld) -> None:
        """By their title; done or not is told as it is now."""
        mine = world.open("ann")
        ref_id = mine.save_todo("Buy cables")
        assert mine.edit_todo(ref_id, done=True).done
        found = mine.search("cables")
        assert ids(found) == [ref_id]
        assert getattr(found.hits[0].entry, "done", None) is True
        assert mine.edit_todo(ref_id, done=False).title == "Buy cables"

    @pytest.mark.design("002-02", "002-15")
    def test_messages_are_immutable_and_have_two_roles(self, world: MemoryWorld) -> None:
        """No edit is taken, nor what a system said, nor a kind that is none."""
        from commonplace.journals.memory.records import RecordDraft

        mine = world.open("ann")
        ref_id = mine.save_message("user", "harbour")
        edit = RecordDraft(kind="message", fields={"text": "fence"}, ref_id=ref_id)
        refused(Invalid, mine.service.save, edit)
        assert mine.message(ref_id).text == "harbour"
        for role in ("system", "tool", "", "User"):
            refused(Invalid, mine.save_message, role, "x")
        for kind in ("quote", "support_card", "overlay", "", "Message", "todo; --"):
            refused(Invalid, mine.list, kinds=[kind])

    @pytest.mark.design("002-29")
    def test_text_is_searched_without_html(self, world: MemoryWorld) -> None:
        """Tags, comments and scripts go, space collapses; case, signs and what was written stay."""
        mine = world.open("ann")
        text = (
            "<p>The  HARBOUR,\n\ngate&amp;fence<br>o<b>l</b>d</p><!-- hidden --><script>x</script>"
        )
        ref_id = mine.save_message("user", text)
        found = mine.search("harbour")
        assert found.hits[0].snippet == "(user) The HARBOUR, gate&fence old"
        assert mine.message(ref_id).text == text
        assert ids(mine.search("hidden")) == []

    @pytest.mark.design("002-19", "002-26")
    def test_preferences_are_one_line(self, world: MemoryWorld) -> None:
        """What is not given stays, a flag that is None goes; there is one record of them."""
        mine = world.open("ann")
        assert mine.preferences() is None
        mine.save_preferences(language="ms", flags={"tone": "calm", "late": True})
        mine.save_preferences(religion="general", flags={"late": None})
        found = mine.search("calm", kinds=["preference"])
        assert [hit.snippet for hit in found.hits] == ["language=ms; religion=general; tone=calm"]
        assert len(mine.list(kinds=["preference"])) == 1

    # The user's own zone.

    @pytest.mark.design("002-08")
    def test_the_user_s_own_zone_cuts_days(self, world: MemoryWorld) -> None:
        """`yesterday` is that of the preferences' timezone, and so is what the answer shows."""
        mine = world.open("ann")
        # Of 1 March in UTC; in Kuala Lumpur noon of that day, and 3 o'clock of the next.
        days = (datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (4, 19))
        first, second = (mine.save_message("user", "harbour", at=at) for at in days)
        world.clock.at = datetime(2026, 3, 2, 9, tzinfo=UTC)
        tools = mine.service

        def found(when: str) -> tuple[set[str], str, list[str]]:
            answer = tools.memory_search(query="harbour", when=when)
            hits = answer.facts["payload"]["results"]
            return {hit["ref"] for hit in hits}, answer.text, answer.facts["notes"]

        assert found("yesterday")[0] == {first, second}
        mine.save_preferences(flags={"timezone": "Asia/Kuala_Lumpur"})
        refs, text, notes = found("yesterday")
        assert (refs, notes) == ({first}, [])
        assert "Time: 2026-03-01 00:00 to 2026-03-02 00:00 (UTC+08:00)" in text
        assert "2026-03-01 12:00" in text
        assert found("today")[0] == {second}
        assert "2026-03-02 03:00" in tools.memory_list(kind="message").text
        for wrong in ("Mars/Olympus\n<x>", "../../etc/passwd", "", 8, {"a": 1}, "x" * 300):
            mine.save_preferences(flags={"timezone": wrong})
            refs, text, notes = found("yesterday")
            assert refs == {first, second}
            assert "Time: 2026-03-01 00:00 to 2026-03-02 00:00 (UTC)" in text
            assert [note for note in notes if "timezone" in note], wrong
            assert "\n<x>" not in text
        mine.save_preferences(flags={"timezone": None})
        assert found("yesterday")[2] == []

    # Model choice switchable via config; both index and query respect it.

    @pytest.mark.design("002-12")
    def test_another_model_is_never_compared(self, world: MemoryWorld) -> None:
        """What one encoded another does not judge: words find it until it is encoded anew."""
        world.open("ann").save_todo("harbour gate")
        world.use(OtherEncoder())
        mine = world.open("ann")
        found = mine.search("harbour gate")
        assert len(found.hits) == 1
        mine.service.filing().catch_up()
        again = mine.search("harbour gate")
        assert math.isclose(again.hits[0].similarity or 0, 1, abs_tol=1e-5)

    def test_words_work_without_a_model(self, world: MemoryWorld) -> None:
        """Saving and finding go on, and say so; only what has no word at all is refused."""
        world.use(None)
        mine = world.open("ann")
        ref_id = mine.save_todo("harbour gate")
        found = mine.search("harbour")
        assert ids(found) == [ref_id]
        assert found.hits[0].by == "words"
        assert found.notes
        error = refused(CommonplaceError, mine.search, "\U0001f600 !?")
        assert (error.code, error.error_code) == ("unavailable", "EMBEDDING_MODEL_UNAVAILABLE")

    # RLS prevents cross-user leakage.

    @pytest.mark.design("002-32", "002-53")
    def test_nobody_sees_another(self, world: MemoryWorld) -> None:
        """Found, listed, read, altered, deleted, counted: each user has only what is theirs."""
        users = {user: world.open(user) for user in HOSTILE}
        saved = {user: mine.save_todo(f"harbour of {user}") for user, mine in users.items()}
        assert len({*saved.values()}) == len(HOSTILE)
        for user, mine in users.items():
            assert ids(mine.search("harbour", limit=100)) == [saved[user]]
            assert [x.ref for x in mine.todos()] == [saved[user]]
            others = [ref_id for other, ref_id in saved.items() if other != user][:3]
            for ref_id in others:
                refused(NotFound, mine.todo, ref_id)
                refused(NotFound, mine.edit_todo, ref_id, done=True)
                refused(NotFound, mine.delete, ref_id)
            assert mine.stats().found == 1

    def test_no_search_without_a_user(self, world: MemoryWorld) -> None:
        """Nobody, a NUL, a control sign, half a character and an endless name are refused."""
        for user in ("", "\0", "ann\0", "ann\n", "\ud800", "x" * 129):
            refused(Invalid, world.open, user)

    def test_deleting_all_of_one_leaves_the_other_as_it_was(self, world: MemoryWorld) -> None:
        """Byte for byte."""
        one, two = world.open("ann"), world.open("bob")
        mine = every_kind(one)
        every_kind(two)
        before = world.bytes_of("bob")
        for _, ref_id in mine.values():
            one.delete(ref_id)
        assert world.bytes_of("bob") == before
        assert len(two.search("quokkarine zebrawoodish", intent="none").hits) > 0

    @pytest.mark.parametrize(
        "count",
        [
            100,
            pytest.param(500, marks=pytest.mark.long),
            pytest.param(2000, marks=pytest.mark.whole),
        ],
    )
    def test_many_operations_of_several_users(self, world: MemoryWorld, count: int) -> None:
        """Every answer of every tool holds what that user wrote, all of it, and nothing else."""
        random_operations(world, count=count, seed=7)

    # Hostile texts.

    def test_hostile_texts_are_kept_as_they_are(self, world: MemoryWorld) -> None:
        """SQL and signs are text; a NUL and half a character become the sign for them."""
        mine = world.open("ann")
        texts = (SQL, "a\x00b", "half \ud800 character", "\u202eright to left", "%_*\\' \"")
        kept = [mine.todo(mine.save_todo(text)).title for text in texts]
        assert kept == [text.replace("\0", "\ufffd").replace("\ud800", "\ufffd") for text in texts]
        for text in (*texts, "*", '"', "NEAR(a b)", "AND", "title:x", "\0"):
            mine.search(text)
        assert len(mine.todos()) == len(texts)
        refused(Invalid, mine.search, " \n")
        for blank in ("", " ", "\n\t"):
            refused(Invalid, mine.save_todo, blank)

    def test_long_texts_are_refused_or_kept_whole(self, world: MemoryWorld) -> None:
        """A megabyte is kept; a character more is refused before anything is written."""
        mine = world.open("ann")
        text = ("harbour <" * 130_000)[: 1024 * 1024]
        ref_id = mine.save_message("user", text)
        assert mine.message(ref_id).text == text
        # A text of that length is filed behind its write.
        until(lambda: ids(mine.search("harbour")) == [ref_id], "its words to be filed")
        refused(Invalid, mine.save_message, "user", "x" * (1024 * 1024 + 1))
        refused(Invalid, mine.search, "x" * 10_001)
        refused(Invalid, mine.save_preferences, flags={"x": "y" * 100_000})
        assert len(mine.messages()) == 1

    # The log, keys and pages.

    @pytest.mark.design("002-58")
    def test_each_call_is_logged_without_its_text(self, world: MemoryWorld) -> None:
        """Status, duration, how many, filters; no word of the question, in no byte."""
        mine = world.open("ann")
        mine.save_todo("harbour")
        mine.search("xylophonic harbour", kinds=["todo"], limit=3)
        refused(Invalid, mine.search, " ")
        bad, good = calls_of(mine)
        assert (good.tool, good.status, good.top_k_effective) == ("memory.search", "ok", 3)
        assert good.filters["kinds"] == ["todo"]
        assert good.duration_ms >= 0
        assert bad.status == "invalid"
        assert world.traces("xylophonic") == []

    @pytest.mark.design("002-60")
    def test_calls_are_kept_for_thirty_days(self, world: MemoryWorld) -> None:
        """The next call lets go of what is older."""
        mine = world.open("ann")
        mine.search("harbour")
        world.clock.advance(29 * 86_400)
        mine.search("harbour")
        assert len(calls_of(mine)) == 2
        world.clock.advance(2 * 86_400)
        mine.search("harbour")
        assert len(calls_of(mine)) == 2

    def test_the_same_key_is_one_record(self, world: MemoryWorld) -> None:
        """The first stands; deleted, it does not come back; another kind or user is another."""
        mine, other = world.open("ann"), world.open("bob")
        first = mine.save_todo("harbour", idempotency_key="k")
        assert mine.save_todo("fence", idempotency_key="k") == first
        assert mine.todo(first).title == "harbour"
        assert mine.save_gratitude("harbour", idempotency_key="k") != first
        assert other.save_todo("harbour", idempotency_key="k") != first
        mine.delete(first)
        assert mine.save_todo("harbour", idempotency_key="k") == first
        refused(NotFound, mine.todo, first)

    def test_lists_go_on_where_they_ended(self, world: MemoryWorld) -> None:
        """Newest first, page by page, each record once, of one instant too."""
        mine = world.open("ann")
        now = world.clock()
        made = [mine.save_todo(f"t {n}", at=now + timedelta(hours=n // 3)) for n in range(7)]
        seen: list[str] = []
        cursor = ""
        while True:
            listed = mine.service.list_records("todo", limit=2, cursor=cursor)
            seen += [record.ref for record in listed.records]
            if not (cursor := listed.cursor):
                break
        assert sorted(seen) == sorted(made)
        assert seen[0] == made[6]
        refused(Invalid, mine.service.list_records, "todo", limit=2, cursor="' OR 1=1 --")
        refused(Invalid, mine.service.list_records, "todo", limit=0)


def every_kind(mine: Memory) -> dict[str, tuple[str, str]]:
    """One record of each kind; by kind a word of it that nothing else has, and its id."""
    mine.save_preferences(flags={"pet": "axolotlish"})
    return {
        "message": ("quokkarine", mine.save_message("user", "a quokkarine harbour")),
        "journal": ("zebrawoodish", mine.save_journal("Evening", "a zebrawoodish light")),
        "todo": ("tamarindose", mine.save_todo("buy tamarindose soap")),
        "gratitude": ("marzipanical", mine.save_gratitude("a marzipanical cake")),
        "preference": ("axolotlish", "memory:preference/preferences"),
    }


def calls_of(mine: Memory) -> Sequence[Call]:
    """The log of a store that keeps one, newest first."""
    return mine.service.store.calls()


def random_operations(world: MemoryWorld, *, count: int, seed: int) -> None:
    """Save, alter, search, list and delete as several users, through the tools, all checked."""
    chance = random.Random(seed)
    users = [_User(world.open(name), name) for name in ("ann", "Ann", "a/b", "..", SQL[:40])]
    for step in range(count):
        user = chance.choice(users)
        match chance.randrange(10):
            case 0 | 1 | 2:
                user.save(chance, step)
            case 3:
                user.alter(chance, step)
            case 4:
                user.delete(chance, users)
            case 5:
                user.check_list(chance)
            case _:
                user.check_search(chance)
    for user in users:
        user.check_all()


class _User:
    """One user of many: the tools, and what they must know by now, by (kind, id)."""

    def __init__(self, memory: Memory, name: str) -> None:
        tools = memory.service
        self._tools = {tool.name: tool for toolset in _toolsets(tools) for tool in toolset.tools}
        self._stats = tools.stats
        self._mark = f"mark{sum(map(ord, name))}x{len(name)}"
        self.known: dict[tuple[str, str], str] = {}

    def save(self, chance: random.Random, step: int) -> None:
        kind = chance.choice(KINDS[:3])
        words = f"{self._mark} {chance.choice(WORDS)} n{step}"
        fields = {
            "message": {"role": "user", "text": words},
            "journal": {"title": words, "body": chance.choice(WORDS)},
            "todo": {"title": words},
        }[kind]
        facts = self._call("memory_save", kind=kind, **fields)
        self.known[kind, facts["ref_id"]] = words

    def alter(self, chance: random.Random, step: int) -> None:
        mine = [(kind, ref_id) for kind, ref_id in self.known if kind != "message"]
        if not mine:
            return
        kind, ref_id = chance.choice(mine)
        words = f"{self._mark} {chance.choice(WORDS)} n{step}"
        self._call("memory_save", kind=kind, ref=ref_id, title=words)
        self.known[kind, ref_id] = words

    def delete(self, chance: random.Random, users: Sequence[_User]) -> None:
        """One of theirs; and what is another's is not there for them."""
        other = chance.choice([each for each in users if each is not self])
        for kind, ref_id in list(other.known)[:1]:
            refused(NotFound, self._call, "memory_delete", kind=kind, ref=ref_id)
        if self.known:
            kind, ref_id = chance.choice(list(self.known))
            self._call("memory_delete", kind=kind, ref=ref_id)
            del self.known[kind, ref_id]

    def check_list(self, chance: random.Random) -> None:
        kind = chance.choice(KINDS[:3])
        facts = self._call("memory_list", kind=kind, limit=100)
        listed = {each["ref_id"] for each in facts["records"]}
        mine = {ref_id for of, ref_id in self.known if of == kind}
        assert listed <= mine
        assert len(listed) == min(len(mine), 100)

    def check_search(self, chance: random.Random) -> None:
        word = chance.choice([*WORDS, self._mark, "n1", SQL])
        facts = self._call("memory_search", query=word, top_k=100)
        for hit in facts["payload"]["results"]:
            assert self.known[hit["kind"], hit["ref_id"]] in hit["snippet"].replace("\n", " ")
            assert self._mark in hit["snippet"]

    def check_all(self) -> None:
        assert self._stats().found == len(self.known)
        for (kind, ref_id), words in list(self.known.items())[:40]:
            found = self._call("memory_search", query=words, kinds=[kind], top_k=5)
            assert ref_id in {hit["ref_id"] for hit in found["payload"]["results"]}

    def _call(self, name: str, **arguments: Any) -> Any:
        return self._tools[name].call(arguments).facts


def _toolsets(tools: MemoryService) -> Any:
    return (tools.toolset(lambda: tools), tools.write_toolset(lambda: tools))
