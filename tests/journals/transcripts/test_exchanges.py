"""Which turns of a session are filed as one, and what the index is given of them."""

from __future__ import annotations

from datetime import UTC

import pytest
from tests.journals.transcripts.sessions import said

from commonplace.core.refs import short_number, short_ref
from commonplace.core.values import NOTHING_KNOWN, Drop, Put, Since
from commonplace.journals.transcripts.exchanges import (
    ASKS,
    FEW,
    SILENT,
    WORDS,
    Turn,
    each_alone,
    in_exchanges,
    said_by,
)
from commonplace.journals.transcripts.message import ref_of
from commonplace.journals.transcripts.source import TranscriptSource
from commonplace.journals.transcripts.store import TranscriptStore

CLIENT, LONG = "claude-code", "The reports are rendered by a script that reads the ledger."


@pytest.fixture
def store(tmp_path):
    kept = TranscriptStore(str(tmp_path / "transcripts"))
    yield kept
    kept.close()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \n", SILENT),
        ("ok", FEW),
        ("Shall I?", ASKS),
        ("提交了吗？", ASKS),
        ("x" * 39, FEW),
        ("x" * 40, WORDS),
        ("提" * 13, FEW),
        ("提" * 14, WORDS),
    ],
)
def test_a_turn_says_little_below_40_bytes(text, says):
    """40 letters, or 14 signs of Chinese, say something by themselves."""
    assert said_by(text) == says


def numbers(*says, days=None):
    """The numbers of the turns that are filed together, of turns that say so much; n first."""
    turns = [Turn(n, n, each, (days or "d" * 9)[n - 1]) for n, each in enumerate(says, 1)]
    return [(x.n, x.numbers) for x in in_exchanges(turns)]


@pytest.mark.parametrize(
    ("says", "together"),
    [
        ((WORDS, WORDS), [(1, (1,)), (2, (2,))]),
        ((WORDS, FEW, WORDS), [(1, (1, 2)), (3, (3,))]),
        ((WORDS, ASKS, WORDS), [(1, (1,)), (3, (2, 3))]),
        ((WORDS, ASKS), [(1, (1,)), (2, (2,))]),
        ((FEW, WORDS, FEW), [(2, (1, 2, 3))]),
        ((FEW,), [(1, (1,))]),
        ((FEW, ASKS, FEW, FEW, FEW), [(1, (1, 2, 3, 4)), (5, (5,))]),
        ((WORDS, FEW, FEW, FEW, FEW, WORDS), [(1, (1, 2, 3, 4)), (6, (5, 6))]),
    ],
)
def test_a_few_words_go_with_what_they_answer(says, together):
    """One that asks goes with its answer; four go together at the most."""
    assert numbers(*says) == together


def test_turns_of_two_days_are_not_one():
    """By the day in UTC."""
    assert numbers(WORDS, FEW, days="ab") == [(1, (1,)), (2, (2,))]


def docs(changes):
    return {x.doc.ref: x.doc for x in changes if isinstance(x, Put)}


def test_a_doc_says_who_says_what(store):
    """Under the ref and the author of the turn that says most, at its time."""
    store.append(CLIENT, "a", [said(1, "Ready?"), said(2, LONG), said(3, "ok ")])
    [doc] = docs(TranscriptSource(store, UTC).scan(NOTHING_KNOWN)).values()
    assert doc.ref == ref_of(CLIENT, "a", 2)
    assert doc.text == f"user: Ready?\n\nassistant: {LONG}\n\nuser: ok"
    assert (doc.author, f"{doc.at:%H:%M}") == ("assistant", "00:02")
    # As of an instant before "ok" was said it is not known.
    assert f"{doc.written:%H:%M}" == "00:03"
    store.append(CLIENT, "b", [said(12, LONG), said(13, "ok")])
    found = docs(TranscriptSource(store, UTC).scan(NOTHING_KNOWN))
    assert found[ref_of(CLIENT, "b", 1)].text == f"{LONG}\n\nuser: ok"


def test_what_is_filed_follows_as_a_session_goes_on(store):
    """A greeting moves to what follows it, an answer of a word to what stands before it."""
    source = TranscriptSource(store, UTC)
    known = {}

    def follow():
        since = Since(mark=None, stamps=lambda _prefix: dict(known))
        changes = list(source.scan(since))
        for change in changes:
            if isinstance(change, Drop):
                del known[change.ref]
            else:
                known[change.doc.ref] = change.doc.stamp
        return [x.ref if isinstance(x, Drop) else x.doc.ref for x in changes]

    one, two = ref_of(CLIENT, "a", 1), ref_of(CLIENT, "a", 2)
    store.append(CLIENT, "a", [said(1, "Hello!")])
    assert follow() == [one]
    store.append(CLIENT, "a", [said(2, LONG)])
    assert follow() == [two, one]
    store.append(CLIENT, "a", [said(3, "ok")])
    assert follow() == [two]
    store.delete(CLIENT, "a", [2])
    assert follow() == [one, two]
    assert follow() == []


def test_each_message_can_be_had_by_itself(store):
    """For what is done to one message: it is forgotten, or counted in a summary."""
    store.append(CLIENT, "a", [said(1, LONG), said(2, "ok")])
    found = docs(TranscriptSource(store, UTC, each_alone).scan(NOTHING_KNOWN))
    assert {x.text for x in found.values()} == {LONG, "ok"}
    assert found[ref_of(CLIENT, "a", 2)].written is None


def test_the_short_refs_of_all_messages_lead_to_them(store):
    """Also of those that the index holds with another, and of sessions."""
    store.append(CLIENT, "a", [said(1, LONG), said(2, "ok")])
    for ref in (ref_of(CLIENT, "a"), ref_of(CLIENT, "a", 2)):
        assert store.refs_behind(short_number(short_ref(ref))) == [ref]
    assert store.refs_behind(1) == []


def test_a_catalog_of_before_is_made_again(store):
    """And with it every doc is compared once more: what is filed of before follows."""
    store.append(CLIENT, "a", [said(1, LONG), said(2, "ok")])
    with store._opened().conn as conn:
        conn.execute("PRAGMA user_version = 1")
    store.close()
    known = {change.doc.ref: change.doc.stamp for change in _alone(store)}
    since = Since(mark="00000000.1 0", stamps=lambda _prefix: dict(known))
    changes = list(TranscriptSource(store, UTC).scan(since))
    assert [type(x) for x in changes] == [Put, Drop]


def _alone(store):
    return TranscriptSource(store, UTC, each_alone).scan(NOTHING_KNOWN)
