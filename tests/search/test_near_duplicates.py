"""What is shown: like hits once, nothing lost by it, and no journal crowded out."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from tests.cases import cases
from tests.search.conftest import one

from commonplace.search.near_duplicates import without_duplicates
from commonplace.search.policy import Policy
from commonplace.search.query_features import QueryFeatures
from commonplace.search.rank import rank

EVEN = Policy(meaning=0.5, words=0.5, clear=0.0)
DIVERSE = replace(EVEN, diverse=0.5)
TEN = "one two three four five six seven eight nine ten"


def shown(found, *, limit=10, policy=EVEN):
    ranking = rank(found, floor=0.1, policy=policy, features=QueryFeatures())
    return without_duplicates(found, ranking, limit=limit, policy=policy)


def refs(hits):
    return [each.doc.ref for each in hits]


def test_near_duplicates_fold_into_the_best_which_names_them(made):
    """Nine of ten words in common is one hit; the other's ref is not lost."""
    hits = shown(
        made(
            one("a", TEN, words=2.0),
            one("b", TEN.upper() + "!", words=1.0),
            one("c", "something else", words=0.5),
        )
    )
    assert refs(hits) == ["a", "c"]
    assert hits[0].also == ["b"]


def test_a_date_or_a_version_is_one_word(made):
    """The same numbers in another order are another day."""
    dates = [one("a", "Paid on 3.12.2025", words=2.0), one("b", "Paid on 12.3.2025", words=1.0)]
    assert refs(shown(made(*dates))) == ["a", "b"]
    versions = [one("a", "Back to v1.2.3", words=2.0), one("b", "Back to v1.3.2", words=1.0)]
    assert refs(shown(made(*versions))) == ["a", "b"]
    same = [one("a", "Back to v1.2.3.", words=2.0), one("b", "back to: v1.2.3", words=1.0)]
    assert refs(shown(made(*same))) == ["a"]


def test_entries_without_words_are_not_taken_for_each_other(made):
    """Two entries of emoji alone stay two."""
    assert refs(shown(made(one("a", "🎉", words=2.0), one("b", "☕", words=1.0)))) == ["a", "b"]


def test_a_duplicate_takes_no_place(made):
    """The limit counts what is shown."""
    rows = [one(f"a:{i}", TEN, words=9.0 - i) for i in range(5)]
    hits = shown(made(*rows, one("b", "other", words=1.0)), limit=2)
    assert refs(hits) == ["a:0", "b"]
    assert hits[0].also == ["a:1", "a:2", "a:3", "a:4"]


def test_a_summary_and_what_it_was_made_from_are_one(made):
    """Whichever ranks higher is shown, and names the other as the way down or up."""
    hits = shown(
        made(
            one("r:day", "a busy day", words=2.0, covers=("e:1",)),
            one("e:1", "fixed the gate", words=1.0),
            one("e:2", "painted it", words=3.0),
            one("r:other", "an afternoon", words=0.5, covers=("e:2",)),
        )
    )
    assert refs(hits) == ["e:2", "r:day"]
    assert [hit.also for hit in hits] == [["r:other"], ["e:1"]]


def test_an_entry_and_the_summary_of_its_summary_are_one(made):
    """A day is made from hours, not from entries: who went into what is told beside."""
    found = made(one("r:day", "a busy day", words=2.0), one("e:1", "fixed the gate", words=1.0))
    ranking = rank(found, floor=0.1, policy=EVEN, features=QueryFeatures())
    went = {"e:1": frozenset({"r:hour", "r:day"})}
    hits = without_duplicates(found, ranking, limit=10, policy=EVEN, above=lambda _refs: went)
    assert [(hit.doc.ref, hit.also) for hit in hits] == [("r:day", ["e:1"])]


def test_a_journal_near_the_best_gets_a_place(made):
    """Half as good as the best is enough; the last of the journal that has most makes room."""
    rows = [
        one("a:1", "red", words=9.0, journal="a"),
        one("a:2", "green", words=8.0, journal="a"),
        one("a:3", "blue", words=7.0, journal="a"),
        one("b:1", "black", words=5.0, journal="b"),
        one("c:1", "white", words=4.0, journal="c"),
    ]
    assert refs(shown(made(*rows), limit=3)) == ["a:1", "a:2", "a:3"]
    assert refs(shown(made(*rows), limit=3, policy=DIVERSE)) == ["a:1", "a:2", "b:1"]


@cases(("words", "most"), [(120, 48), (20, 60)])
def test_docs_are_read_once_and_as_many_as_are_likely_to_be_shown(made, words, most):
    """Of long texts the least and as many again, of short ones what the room holds; a few more."""
    texts = [" ".join(f"w{number}x{i}" for i in range(words)) for number in range(90)]
    found = made(*[one(x, x, words=99.0 - place) for place, x in enumerate(texts)])
    reads = []
    counted = replace(found, read=lambda keys: reads.append(keys) or found.read(keys))
    ranking = rank(found, floor=0.1, policy=DIVERSE, features=QueryFeatures())
    hits = without_duplicates(counted, ranking, limit=50, room=3600, policy=DIVERSE)
    assert 20 <= len(hits) <= 50
    (read,) = reads
    assert len(hits) + 20 < len(read) <= most


def test_a_wrong_length_changes_no_answer(made):
    """How long the index says that texts are decides how many are read at once, and nothing else."""
    rows = [one(f"a:{i}", f"{TEN} {i // 3 * ' more'}", words=99.0 - i) for i in range(90)]
    rows += [one("b:1", "black", words=50.0, journal="b")]
    found = made(*rows)
    ranking = rank(found, floor=0.1, policy=DIVERSE, features=QueryFeatures())
    answers = [
        without_duplicates(
            replace(found, lengths=np.full(len(rows), length)),
            ranking,
            limit=50,
            room=3600,
            policy=DIVERSE,
        )
        for length in (0, 10, 10**6)
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0].also


def test_a_doc_that_left_meanwhile_is_not_shown(made):
    """Ranked, and gone before it was read."""
    found = made(one("a", words=2.0), one("b", words=1.0))
    ranking = rank(found, floor=0.1, policy=EVEN, features=QueryFeatures())
    gone = replace(
        found, read=lambda keys: {key: doc for key, doc in found.read(keys).items() if key}
    )
    assert refs(without_duplicates(gone, ranking, limit=5, policy=EVEN)) == ["b"]
