"""Tags are suggested by whole words, by the owner's own vocabulary, and never by chance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from bench import tag_sentences
from commonplace.journals.chronicle.tags import kinds_of, suggest_tags


def _measured(sentences):
    return tag_sentences.precision_recall(
        (each.expected, suggest_tags(each.text)) for each in sentences
    )


@pytest.mark.design("004-20")
def test_the_held_out_sentences_are_tagged_well():
    """On sentences the rules were not tuned on: precision >= .9 and recall >= .8."""
    precision, recall = _measured(tag_sentences.HELD_OUT)
    assert precision >= 0.9
    assert recall >= 0.8


def test_the_sentences_of_tuning_are_tagged_as_written():
    """Each sentence the rules were written for gets exactly its tags."""
    wrong = {
        each.text: suggest_tags(each.text)
        for each in tag_sentences.TUNING
        if set(suggest_tags(each.text)) != each.expected
    }
    assert wrong == {}


def test_the_table_is_large_and_its_halves_do_not_meet():
    """At least 80 sentences, about half held out, none in both halves, every kind in each."""
    held_out, tuning = (
        {each.text for each in half} for half in (tag_sentences.HELD_OUT, tag_sentences.TUNING)
    )
    assert len(held_out) + len(tuning) >= 80
    assert len(held_out) >= 40
    assert not held_out & tuning
    for half in (tag_sentences.HELD_OUT, tag_sentences.TUNING):
        assert len(frozenset().union(*(each.expected for each in half))) == 13


def test_precision_and_recall_are_counted_over_tags():
    """Two of three suggested are right, two of four expected are found."""
    pairs = [({"a", "b", "c"}, ("a", "x")), ({"d"}, ("d",))]
    assert tag_sentences.precision_recall(pairs) == (2 / 3, 2 / 4)
    assert tag_sentences.precision_recall([]) == (0.0, 0.0)


@cases(
    "text",
    [
        "the latest build",
        "a prefix",
        "the photo contest",
        "the fixture",
        "undecided voters",
        "homepage",
    ],
)
def test_a_stem_inside_a_word_is_no_match(text):
    """`test` in latest, `fix` in prefix and the like suggest nothing."""
    assert suggest_tags(text) == ("work",)


def test_the_context_counts_as_well():
    """What it was for tells the kind when the activity does not."""
    assert suggest_tags("moved the cutoff", "decided with finance") == ("decision",)


def test_kinds_come_in_one_order():
    """The order of the words does not change the order of the tags."""
    assert suggest_tags("tested, then deployed") == suggest_tags("deployed, then tested")


def test_tags_of_near_entries_are_offered_by_weight():
    """One close entry is enough, of farther ones two are needed, and far ones do not count."""
    neighbours = [
        (0.62, ("atlas", "backend")),
        (0.81, ("billing",)),
        (0.55, ("Atlas", "odd")),
        (0.49, ("noise",)),
        (0.40, ("noise",)),
    ]
    assert suggest_tags("deployed it", neighbours=neighbours) == ("deployment", "billing", "atlas")


def test_a_near_entry_tells_the_kind_only_where_no_rule_does():
    """A neighbour's `deployment` is not put upon a bug-fix, but helps where words say nothing."""
    neighbours = [(0.9, ("deployment", "work", "api"))]
    assert suggest_tags("fixed the api", neighbours=neighbours) == ("bug-fix", "api")
    assert suggest_tags("new build is out", neighbours=neighbours) == ("deployment", "api")


def test_work_stands_only_where_nothing_is_known():
    """The owner's own tag takes the place of `work`; the folder alone does not."""
    assert suggest_tags("watered plants", neighbours=[(0.8, ("garden",))]) == ("garden",)
    assert suggest_tags("watered plants", folder="home", used=("home",)) == ("work", "home")


def test_the_folder_is_a_tag_only_when_the_owner_uses_it():
    """A folder's name counts once it has been used as a tag, in the owner's spelling."""
    assert suggest_tags("deployed", folder="my-app") == ("deployment",)
    assert suggest_tags("deployed", folder="my-app", used=("My_App",)) == ("deployment", "My_App")
    far = [(0.1, ("my app",))]
    assert suggest_tags("deployed", folder="my-app", neighbours=far) == ("deployment", "my app")


def test_a_tag_is_never_given_twice():
    """Spellings of one tag are one tag."""
    neighbours = [(0.9, ("Bug_Fix", "API")), (0.9, ("api",))]
    assert suggest_tags("fixed it", neighbours=neighbours, folder="api") == ("bug-fix", "API")


@given(st.text(max_size=300), st.text(max_size=50))
def test_any_text_gets_at_least_one_tag(activity, context):
    """Whatever is written, there is a tag, and none twice."""
    tags = suggest_tags(activity, context)
    assert tags
    assert len(set(tags)) == len(tags)


def test_only_the_beginning_of_a_long_text_is_read():
    """A text of a megabyte costs no more than its beginning."""
    assert kinds_of("deployed " + "push the site " * 100_000) == ("deployment",)
