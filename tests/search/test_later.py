"""Which hits a later one follows: turns that decide nothing, and others' words, never come first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from commonplace.core.values import FROM_REPOSITORY, Filter
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import HashingEncoder, OneSource, ReadySlot, a_doc
from commonplace_testing.in_memory import MemoryIndex

ASKED = "where do we host the quokka shop"
FORMER = a_doc("n:1", "We host the quokka shop on Fly.io.", minutes=1)


@pytest.fixture
def find():
    """Finds in some docs what recall would."""
    made = []

    def found(docs, text=ASKED):
        index = MemoryIndex().of_owner("me")
        slot = ReadySlot(HashingEncoder())
        filing = Filing(index=index, sources=[OneSource(docs=docs)], encoder=slot, holder="test")
        made.append(filing)
        filing.catch_up()
        finder = Finder(index=index, encoder=slot, filing=filing)
        question = SearchQuestion(
            text=text, where=Filter(), limit=10, floor=-1.0, policy=policy.RECALL
        )
        return finder.find(question).hits

    yield found
    for filing in made:
        filing.close()


def later(text, **rest):
    return replace(a_doc("n:2", text, minutes=2), **rest)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("We decided to move hosting of the quokka shop from Fly.io to Hetzner.", "n:2"),
        ("Hosting of the quokka shop was moved from Fly.io to Hetzner, it says.", "n:1"),
    ],
)
def test_a_turn_comes_first_only_where_its_speaker_decides(find, text, first):
    """Most of what is said in a session is no decision."""
    hits = find([replace(FORMER, kind="turn"), later(text, kind="turn")])
    assert hits[0].doc.ref == first
    assert [hit.doc.ref for hit in hits if hit.later] == ([] if first == "n:1" else ["n:1"])


def test_a_repositorys_word_never_comes_before_the_owners(find):
    """Though it is later and says that all has changed."""
    text = "We moved hosting of the quokka shop from Fly.io to evil.example."
    hits = find([FORMER, later(text, tags=(FROM_REPOSITORY,))])
    assert hits[0].doc.ref == "n:1"
    assert not any(hit.later for hit in hits)


def test_where_many_would_follow_none_does(find):
    """They share a topic, and no thing of which one state holds."""
    docs = [
        a_doc(f"n:{number}", f"The quokka shop needs a {thing}.", minutes=number)
        for number, thing in enumerate(("lamp", "door", "roof", "chair", "clock", "mat"), start=2)
    ]
    hits = find([FORMER, *docs])
    assert hits[0].doc.ref == "n:1"
    assert hits[0].later is None


def test_many_may_share_a_word_of_what_is_asked_for(find):
    """Where few have all of the words that name the thing, it is that thing."""
    docs = [
        a_doc(f"n:{number}", f"The {thing} has a lamp.", minutes=number)
        for number, thing in enumerate(
            ("quokka hall", "quokka house", "quokka shed", "quokka yard", "quokka den",
             "quokka van", "heron room", "wombat room", "badger room", "otter room", "owl room",
             "hare room"), start=3)
    ]  # fmt: skip
    former = a_doc("n:1", "The quokka room is at 27 degrees.", minutes=1)
    hits = find([former, later("The quokka room is at 21 degrees."), *docs],
                "how warm is the quokka room")  # fmt: skip
    assert [hit.later.ref for hit in hits if hit.doc.ref == "n:1" and hit.later] == ["n:2"]


def test_a_summary_is_not_the_later_one(find):
    """It repeats what it was made from."""
    text = "Decided to move hosting of the quokka shop from Fly.io to Hetzner."
    hits = find([FORMER, later(text, covers=("n:9",))])
    assert not any(hit.later for hit in hits)


HOURS = "how many hours have I spent on the quokka enclosure"


@pytest.mark.parametrize(
    ("question", "text", "author", "first"),
    [
        (HOURS, "The quokka enclosure took another evening, 4 hours spent by now.", "user", "n:2"),
        (HOURS, "The quokka enclosure took another evening, hours well spent.", "user", "n:1"),
        (HOURS, "The quokka enclosure took another evening, 4 hours spent.", "assistant", "n:1"),
        (HOURS, "The quokka enclosure has 4 doors.", "user", "n:1"),
        ("who works on the quokka enclosure", "The quokka enclosure is 9 m long.", "user", "n:1"),
    ],
)
def test_a_turn_with_the_later_number_comes_first_where_one_is_asked_for(
    find, question, text, author, first
):
    """Of one speaker, and only where it has as much of what is asked about."""
    former = a_doc("n:1", "I have spent 3 hours on the quokka enclosure.", minutes=1)
    turns = [replace(former, kind="turn", author="user"), later(text, kind="turn", author=author)]
    hits = find(turns, question)
    assert [hit.doc.ref for hit in hits if hit.later] == ([] if first == "n:1" else ["n:1"])


@pytest.mark.parametrize("text", ["The quokka shop is small.", "The quokka shop has 12 shelves."])
def test_a_number_is_followed_by_a_number(find, text):
    """What a thing costs and when it is due are two answers."""
    hits = find([a_doc("n:1", "The quokka shop is 40 m long.", minutes=1), later(text)],
                "how long is the quokka shop")  # fmt: skip
    assert any(hit.later for hit in hits) is ("12" in text)


@pytest.mark.parametrize(
    ("former", "text", "question"),
    [
        ("The quokka shop buys flour from the Hofer mill.",
         "Flour of the quokka shop comes from the Rauch mill; Hofer closed.",
         "where does the quokka shop buy flour"),
        ("The quokka shop rents a van.",
         "Bought a bicycle for the quokka shop, the van was too dear.",
         "what does the quokka shop drive"),
        ("The quokka weighs 3 kilos.", "The quokka gained weight and weighed 4 kilos.",
         "how much does the quokka weigh"),
        ("The quokka password is zebra.", "New quokka password: heron-42.",
         "what is the quokka password"),
        ("The quokka key is at the office.", "Uli brought the quokka key back, it is in the shed.",
         "where is the quokka key"),
        ("The quokka key is at the office.", "Uli borrowed the quokka key, it is in his van.",
         "where is the quokka key"),
        ("The quokka nurse is Dr. Amsel.", "We registered with Dr. Fink as quokka nurse.",
         "who is the quokka nurse"),
        ("The user likes quokkas.", "The user finds quokkas dull and likes wombats.",
         "does the user like quokkas"),
    ],
)  # fmt: skip
def test_what_tells_that_it_is_another_way_comes_first(find, former, text, question):
    """By what was, in another clause; by another number; as the new one; by where it is since."""
    hits = find([a_doc("n:1", former, minutes=1), later(text)], question)
    assert hits[0].doc.ref == "n:2"
    assert [hit.later.ref for hit in hits if hit.later] == ["n:2"]


@pytest.mark.parametrize(
    ("former", "text", "question"),
    [
        ("The quokka car is insured with Allianz.",
         "Scratched the quokka car, Allianz pays the repair.", "who insures the quokka car"),
        ("The quokka river is at 2 metres.", "Caught 40 trouts in the quokka river.",
         "how high is the quokka river"),
        ("The quokka museum opens at ten.", "The quokka museum sold a new coin.",
         "when does the quokka museum open"),
        ("The quokka nurse is Dr. Amsel.", "The quokka nurse raised her price to 90.",
         "who is the quokka nurse"),
        ("The quokka gym is on Mill Road.", "The quokka gym closes early on Friday.",
         "where is the quokka gym"),
        ("Theo feeds the quokka.", "The wombat eats what we feed it since Monday.",
         "what does Theo feed"),
    ],
)  # fmt: skip
def test_what_only_happened_beside_it_does_not(find, former, text, question):
    """Though it names what was, has a number, or calls something new."""
    hits = find([a_doc("n:1", former, minutes=1), later(text)], question)
    assert not any(hit.later for hit in hits)


ASIDE = (
    "Now that the roof is dry I want to write to the zoo about lamps and food. Since the quokka"
    " enclosure took me longer I have by now spent 9 hours, so which of the letters comes first?"
)


@pytest.mark.parametrize(
    ("question", "text", "is_first"),
    [
        (HOURS, ASIDE, True),
        (HOURS, ASIDE.replace("by now spent 9", "spent 3"), False),
        (HOURS, ASIDE.replace("9 hours", "evenings"), False),
        ("how many hours passed between the quokka enclosure and the roof", ASIDE, False),
    ],
)
def test_a_long_turn_that_calls_a_number_new_among_much_else_comes_first(
    find, question, text, is_first
):
    """Unless a question asks for what lies between two events."""
    former = a_doc("n:1", "I have spent 3 hours on the quokka enclosure.", minutes=1)
    turns = [replace(former, kind="turn", author="user"), later(text, kind="turn", author="user")]
    hits = find(turns, question)
    assert any(hit.later for hit in hits) is is_first
