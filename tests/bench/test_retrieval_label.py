"""What the bench tells of the label of a weak match, by hand."""

from __future__ import annotations

from bench.retrieval_data import Archive, Asked, read_languages
from bench.retrieval_label import Label, others_questions, render_labels

from commonplace.core.stop_words import is_foreign
from commonplace_testing import a_doc


def test_the_label_is_measured_by_pairs_and_by_shares():
    """Of six pairs four are in order and one is even: .75; one of three answered is called weak."""
    row = Label.of("all", [0.9, 0.5, 0.1], [0.5, 0.05])
    assert row.auc == 4.5 / 6
    assert (row.answered_weak, row.others_weak) == (1 / 3, 1 / 2)
    assert "| all | 0.750 | 33.3% of 3 | 50.0% of 2 |" in render_labels("weak", [row])


def _archive(name, speaker, question):
    doc = a_doc(f"bench:{name}/1", "text", author=speaker)
    asked = (Asked(text=question, kind="single-hop", gold=frozenset((doc.ref,))),)
    return Archive(name=name, docs=(doc,), asked=asked, sessions={})


def test_the_next_archives_questions_bear_this_ones_names():
    """Who asks what another chat said asks it of those who speak here."""
    one = _archive("one", "Ann", "Did Ann swim?")
    other = _archive("other", "Bob", "Where was Bob on Bobs' day?")
    asked = others_questions([one, other])
    assert {name: [each.text for each in found] for name, found in asked.items()} == {
        "one": ["Where was Ann on Bobs' day?"],
        "other": ["Did Bob swim?"],
    }


def test_the_set_in_other_languages_is_large_enough():
    """150 English entries, 40 questions a language and some that nothing answers, in two halves."""
    halves = read_languages()
    assert [half.label for half in halves[:3]] == [
        f"{name}, tuned on" for name in ("German", "French", "Spanish")
    ]
    for tuned, measured in zip(halves[:3], halves[3:], strict=True):
        assert len(tuned.archive.docs) >= 150
        assert len(tuned.archive.asked) + len(measured.archive.asked) >= 40
        texts = [one.text for half in (tuned, measured) for one in half.archive.asked]
        strange = {one.text for half in (tuned, measured) for one in half.strange}
        assert len({*texts, *strange}) == len(texts) + 24
        known = {doc.ref for doc in tuned.archive.docs}
        assert all(one.gold <= known for one in (*tuned.archive.asked, *measured.archive.asked))
        assert not any(is_foreign(doc.text) for doc in tuned.archive.docs)
        assert sum(map(is_foreign, texts)) >= 0.95 * len(texts)
