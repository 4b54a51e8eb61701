"""The laws that transcripts keep, whatever keeps their sessions, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.contracts.noting import Noted
from tests.journals.transcripts.sessions import said, texts

from commonplace.core.errors import Conflict
from commonplace.core.refs import short_number, short_ref
from commonplace.journals.transcripts.exchanges import in_exchanges
from commonplace.journals.transcripts.message import ref_of

if TYPE_CHECKING:
    from commonplace.core.values import Doc
    from commonplace.journals.transcripts.portable import PortableTranscripts
    from commonplace.journals.transcripts.store import TranscriptStore

CLIENT = "claude-code"
KEPT = "2026-06-01T00:00:00.000Z"
HOSTILE = [
    "'); DROP TABLE cp_entries; --",
    "a\0b",
    "\u202e",
    "line\r\nline\n\ttab",
    "%s {} \\u0000 %(owner)s",
    "x" * 100_000,
]


class TranscriptWorld(Protocol):
    """What a contract is run in: one storage, and others of the same kind."""

    def open(self, name: str = "ann") -> TranscriptStore:
        """The sessions of one owner, as another process would open them; the world closes them."""
        ...

    def portable(self, name: str = "ann") -> PortableTranscripts:
        """What exports and imports them."""
        ...

    def filed(self) -> dict[str, Doc]:
        """The docs that an index holds which was told of every change, by their refs."""
        ...


def lines(portable):
    """An export, item by item."""
    return [repr(item) for item in portable.export_items(None)]


class TranscriptContract:
    """Each subclass gives a `world`."""

    @pytest.fixture
    def store(self, world):
        return world.open()

    def test_a_message_is_kept_once_for_each_client(self, store):
        """A session that was resumed or forked repeats none; another client may use the same id."""
        assert store.append(CLIENT, "one", [said(1), said(2), said(1, "again")]) == 2
        assert store.append(CLIENT, "two", [said(1), said(2), said(3)]) == 1
        assert store.append(CLIENT, "one", [said(1), said(2)]) == 0
        assert store.append("codex", "one", [said(1)]) == 1
        assert texts(store.read(CLIENT, "one")) == ["Words 1.", "Words 2."]
        assert texts(store.read(CLIENT, "two")) == ["Words 3."]
        assert store.new_ids(CLIENT, "two", ["id-1", "id-9"]) == {"id-9"}

    def test_all_of_a_message_comes_back(self, store, world):
        """With its number, whatever stands in it; nothing of it is a command."""
        full = said(1, "Grüße", parent="id-0", cwd="/p", branch="main", tools=("Bash", "a\0b"))
        given = [full, said(2, sidechain=True, kept="2026-06-01T00:00:00.000Z")]
        given += [said(3 + n, text, cwd=text) for n, text in enumerate(HOSTILE)]
        store.append(CLIENT, "one", given)
        kept = world.open().read(CLIENT, "one")
        assert kept == [x._replace(n=n) for n, x in enumerate(given, 1)]
        assert store.read(CLIENT, "one", first=2, last=3) == kept[1:3]
        assert store.read(CLIENT, "one", first=2, limit=1) == kept[1:2]
        assert store.read(CLIENT, "none") == []

    def test_what_is_around_a_message_says_something(self, store):
        """One that says nothing, as one that only calls tools, is passed over."""
        store.append(CLIENT, "one", [said(1), said(2, " "), said(3), said(4, " "), said(5)])
        assert [x.n for x in store.read_around(CLIENT, "one", 3)] == [1, 3, 5]
        assert [x.n for x in store.read_around(CLIENT, "one", 4)] == [3, 4, 5]
        assert [x.n for x in store.read_around(CLIENT, "one", 1)] == [1, 3]
        assert [x.n for x in store.list_turns(CLIENT, "one")] == [1, 3, 5]

    def test_a_session_opens_with_its_task(self, store):
        """Not with a greeting; of small talk alone with the first of it."""
        store.append(CLIENT, "one", [said(1, "hi"), said(2), said(3, "Build the quay.")])
        store.append(CLIENT, "two", [said(11, "hi"), said(12)])
        assert store.read_opening(CLIENT, "one").n == 3
        assert store.read_opening(CLIENT, "two").n == 1
        assert store.read_opening(CLIENT, "none") is None

    def test_sessions_are_listed_by_when_they_went_on_last(self, store):
        """With their ends, folder, branch and length; of a time and of a client too."""
        at = ["2026-05-01T00:00:00.000Z", "2026-05-02T00:00:00.000Z", "2026-05-03T00:00:00.000Z"]
        store.append(CLIENT, "one", [said(1, at=at[1], cwd="/p"), said(2, at=at[0], branch="b")])
        store.append(CLIENT, "two", [said(3, at=at[2], cwd="/q"), said(4, at=at[2], cwd="/r")])
        store.append("claude", "two", [said(5, at=at[2])])
        found = store.sessions()
        assert [(x.client, x.name) for x in found] == [
            *(("claude", "two"), ("claude-code", "two"), ("claude-code", "one"))
        ]
        assert found[1][2:] == (at[2], at[2], "/q", "", 2, "2026")
        assert found[2][2:] == (at[0], at[1], "/p", "b", 2, "2026")
        assert store.sessions(client="claude") == found[:1]
        assert store.sessions(since=at[2]) == found[:2]
        assert store.sessions(until=at[1]) == found[2:]
        assert store.list_names() == [("claude-code", "one"), ("claude", "two"), (CLIENT, "two")]
        state = store.find_session(CLIENT, "one")
        assert (state.messages, state.last_n, state.year) == (2, 2, "2026")
        assert store.find_session(CLIENT, "none") is None

    def test_what_is_deleted_does_not_come_back(self, store, world):
        """Neither a message by its id, nor anything of a session that was deleted whole."""
        store.append(CLIENT, "one", [said(1), said(2), said(3)])
        assert store.delete(CLIENT, "one", [2, 9]) == 1
        assert store.delete(CLIENT, "none") == 0
        assert world.open().append(CLIENT, "two", [said(2)]) == 0
        assert [x.n for x in store.read(CLIENT, "one")] == [1, 3]
        assert store.append(CLIENT, "one", [said(2), said(4)]) == 1
        assert [x.n for x in store.read(CLIENT, "one")] == [1, 3, 4]
        assert store.delete(CLIENT, "one") == 3
        assert store.append(CLIENT, "one", [said(5)]) == 0
        assert store.sessions() == []
        assert store.list_names() == []
        assert store.find_session(CLIENT, "one") is None

    def test_the_last_number_is_not_given_again(self, store):
        """A ref that named a deleted message names no other."""
        store.append(CLIENT, "one", [said(1), said(2)])
        store.delete(CLIENT, "one", [2])
        store.append(CLIENT, "one", [said(3)])
        assert [x.n for x in store.read(CLIENT, "one")] == [1, 3]

    def test_what_goes_with_time_may_go_on(self, store):
        """What an old session says later is kept again, under the next numbers."""
        store.append(CLIENT, "old", [said(1), said(2)])
        store.append(CLIENT, "new", [said(3, at="2026-07-01T00:00:00.000Z")])
        assert [x.name for x in store.retain("2026-06-01T00:00:00.000Z")] == ["old"]
        assert [x.name for x in store.sessions()] == ["new"]
        assert store.append(CLIENT, "old", [said(2), said(4)]) == 1
        assert [x.n for x in store.read(CLIENT, "old")] == [3]

    def test_what_is_taken_back_may_come_again(self, store):
        """Only as it was when it was looked at."""
        store.append(CLIENT, "one", [said(1), said(2)])
        assert not store.take_back(CLIENT, "one", messages=1, last_n=1)
        assert store.take_back(CLIENT, "one", messages=2, last_n=2)
        assert not store.take_back(CLIENT, "one", messages=2, last_n=2)
        assert store.append(CLIENT, "one", [said(1)]) == 1
        assert [x.n for x in store.read(CLIENT, "one")] == [1]

    def test_a_short_ref_leads_to_messages_and_sessions(self, store):
        """Also to those that lie with others in one doc of the index."""
        store.append(CLIENT, "one", [said(1), said(2, "ok")])
        for ref in (ref_of(CLIENT, "one"), ref_of(CLIENT, "one", 2)):
            assert store.refs_behind(short_number(short_ref(ref))) == [ref]
        assert store.refs_behind(short_number(short_ref("transcripts:codex/no"))) == []

    def test_of_two_who_keep_the_same_one_does(self, world):
        """No number is given twice."""
        stores = [world.open() for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            batches = [[said(n), said(n + 1)] for n in range(1, 9)]
            counts = threads.map(
                lambda x: stores[x[0] % 4].append(CLIENT, "one", x[1]), enumerate(batches * 2)
            )
            assert sum(counts) == 9
        kept = world.open().read(CLIENT, "one")
        assert [x.n for x in kept] == [*range(1, 10)]
        assert {x.id for x in kept} == {f"id-{n}" for n in range(1, 10)}

    def test_an_export_comes_in_as_it_was(self, store, world):
        """Once, with numbers that have gaps; another session of a name stays as it is."""
        store.append(CLIENT, "one", [said(n, HOSTILE[n]) for n in range(5)])
        store.append("codex", "two", [said(9, " ", cwd="/p", tools=("Bash",), kept=KEPT)])
        store.delete(CLIENT, "one", [2])
        before = lines(world.portable())
        into = world.portable("bob")
        assert into.is_empty()
        assert into.import_items(world.portable().export_items(None)) == 5
        assert into.import_items(world.portable().export_items(None)) == 0
        assert lines(into) == before
        other = world.open("eve")
        other.append(CLIENT, "one", [said(77)])
        with pytest.raises(Conflict):
            world.portable("eve").import_items(world.portable().export_items(None))
        assert texts(other.read(CLIENT, "one")) == ["Words 77."]

    def test_an_import_notes_what_it_keeps(self, store, world):
        """Less what was deleted or is of another session; asked again it adds and refuses nothing.

        By that number `undo` knows a session that went on since.
        """
        store.append(CLIENT, "one", [said(n) for n in range(1, 5)])
        store.append("codex", "gone", [said(9)])
        export = [*world.portable().export_items(None)]
        bob, into, noted = world.open("bob"), world.portable("bob"), Noted()
        bob.append(CLIENT, "fork", [said(2), said(3)])
        bob.delete(CLIENT, "fork", [2])
        bob.append("codex", "gone", [said(8)])
        bob.delete("codex", "gone")
        assert into.import_items(iter(export), noted) == 2
        assert noted.planned == noted.added == {ref_of(CLIENT, "one"): "2"}
        assert [x.n for x in bob.read(CLIENT, "one")] == [1, 4]
        for gone in ([], [4]):
            assert bob.delete(CLIENT, "one", gone or [99]) == len(gone)
            assert into.import_items(iter(export)) == 0
        assert texts(bob.read(CLIENT, "one")) == ["Words 1."]
        assert bob.list_names() == [(CLIENT, "one"), (CLIENT, "fork")]

    def test_the_index_is_told_of_all_that_is_filed_otherwise(self, store, world):
        """A few words are filed with what they answer; what was beside them is filed again."""
        short, words = "ok", "These are words enough to stand alone here."
        steps = [
            lambda: store.append(CLIENT, "one", [said(1, short), said(2, short)]),
            lambda: store.append(CLIENT, "one", [said(3, words), said(4, short)]),
            lambda: store.append(CLIENT, "one", [said(5, "why?"), said(6, words), said(7, " ")]),
            lambda: store.append(CLIENT, "one", [said(8, short), said(9, short), said(10, short)]),
            lambda: store.append("codex", "two", [said(1, words), said(2, short)]),
            lambda: store.delete(CLIENT, "one", [3]),
            lambda: store.delete(CLIENT, "one", [6, 9]),
            lambda: store.delete("codex", "two"),
            lambda: store.append(CLIENT, "one", [said(11, words)]),
        ]
        for step in steps:
            assert step()
            stamps = {
                ref_of(*name, each.n): each.stamp
                for name in store.list_names()
                for each in in_exchanges(store.list_turns(*name))
            }
            filed = world.filed()
            assert {ref: doc.stamp for ref, doc in filed.items()} == stamps
        says = {ref.rpartition("#")[2]: doc.text for ref, doc in filed.items()}
        assert says == {
            "1": "ok\n\nassistant: ok\n\nassistant: ok\n\nuser: why?",
            "11": f"assistant: ok\n\nassistant: ok\n\nuser: {words}",
        }
