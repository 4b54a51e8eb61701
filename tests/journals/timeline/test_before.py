"""What a model is shown of the period before, and that what is deleted there leaves its text too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.journals.timeline.test_model_texts import World, say

from commonplace.core.values import Page
from commonplace.inference.language.extract import Extractive
from commonplace.journals.timeline.feed import Feeding
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.rollups import Rollups
from commonplace_testing import OneSource, a_doc
from commonplace_testing.language import FakeLLM, ScriptedLanguage

STEPS = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=31),
    "year": timedelta(days=365),
}
"""How long before 4 February 2025 10:00 lies an instant of the period before, by level."""

HERON = "The heron was counted at the harbour"


@pytest.fixture
def world(tmp_path):
    with FakeLLM(say) as fake:
        made = World(tmp_path / "journal", fake)
        yield made
        made.close()


def before_of(question):
    """What a question holds of the period before, as one text; empty for nothing."""
    return "".join(x.text for x in question.passages if x.origin == "before")


def asked_for(language, level):
    return [x for x in language.questions if f"The period is one {level}" in x.instructions]


class Said(ScriptedLanguage):
    """A model that answers each level with the heron, or with a line of its own."""

    def __init__(self, line=HERON, **more):
        super().__init__(**more)
        self.line = line

    def complete(self, question):
        heading = "Accomplishments" if "one day" in question.instructions else "Learnings"
        hour = "one hour" in question.instructions
        self._answers.clear()
        self._answers.append(f"{self.line}." if hour else f"**{heading}**:\n• {self.line}")
        return super().complete(question)


def run(world, language):
    return world.model_texts(small=language, large=language).run()


@pytest.mark.design("003-59")
@pytest.mark.parametrize("level", list(STEPS))
def test_each_question_holds_the_period_before_with_its_figures_and_summary(world, level):
    """Of an hour the hour before, of a week the week before, and so on up to the year."""
    world.clock.at = datetime(2026, 2, 1, tzinfo=UTC)
    hours = -STEPS[level] / timedelta(hours=1)
    numbers = {"hours_worked": 6.5, "blockers": ["The gate is stuck"]}
    world.add("Decided to paint the gate.", hours=hours, metadata=numbers)
    world.add("Counted the heron.", metadata={"hours_worked": 2})
    language = Said()
    run(world, language)
    held = [x for x in map(before_of, asked_for(language, level)) if "paint the gate" in x]
    (told,) = held
    assert "entries: 1" in told.splitlines()
    assert "figures: 6.5 hours worked" in told.splitlines()
    assert "The gate is stuck" in told
    assert "Decided to paint the gate." in told


def test_a_period_after_one_in_which_nothing_was_recorded_is_compared_with_none(world):
    """Nor is the first one of all."""
    world.add()
    world.add(hours=48)
    language = Said()
    run(world, language)
    assert [before_of(x) for x in asked_for(language, "day")] == ["", ""]


def altered(world, entry, how):
    """Take an entry out of what holds, in one of the ways there are."""
    match how:
        case "deleted":
            world.journal.delete(entry.id)
        case "edited":
            world.journal.update(entry.id, content="Painted the fence.")
        case "moved":
            world.journal.update(entry.id, at=entry.at - timedelta(days=40))
        case "replaced":
            world.journal.supersede(entry.id, "Painted the fence.")


@pytest.mark.parametrize("how", ["deleted", "edited", "moved", "replaced"])
def test_what_leaves_a_period_leaves_what_a_model_wrote_of_the_one_after(world, how):
    """At once; made again from what is left, and so is all that this went into."""
    entry = world.add("The heron of the gate.", hours=-5 * 24)  # a Thursday; Monday is after it
    world.add(hours=-4 * 24)
    world.add(hours=-3 * 24)
    run(world, Said())
    # What a model may tell of the day before, and the month of the day after it.
    for level, day in (("day", -4), ("day", -3), ("month", 0)):
        found = world.rollup(level, datetime(2025, 2, 4, 10, tzinfo=UTC) + timedelta(days=day))
        assert HERON in found.content
    altered(world, entry, how)
    after = world.journal.read("rollup_daily_20250131")
    assert after.content == ""
    assert world.journal.read("rollup_monthly_202502").content == ""
    # The day after that was shown no text of this one.
    assert HERON in world.journal.read("rollup_daily_20250201").content
    world.rollups.catch_up()
    assert world.journal.read("rollup_daily_20250131").content.startswith("**31 January 2025**")
    language = Said()
    run(world, language)
    (told,) = [x for x in asked_for(language, "day") if "31 January" in x.passages[0].text]
    assert "heron of the gate" not in str(told)


def test_nothing_is_made_again_where_no_model_wrote(world):
    """The extractive text of the day after was shown nothing of this one."""
    entry = world.add("The heron of the gate.", hours=-24)
    world.add()
    world.rollups.catch_up()
    world.journal.delete(entry.id)
    assert "Counted the heron" in world.journal.read("rollup_daily_20250204").content


@pytest.mark.parametrize("how", ["deleted", "edited", "moved", "replaced"])
def test_what_is_told_of_a_day_that_changes_meanwhile_is_thrown_away(world, how):
    """The answer came from what the day before had said; it is asked for again the next time."""
    entry = world.add("The heron has a secret.", hours=-24)
    world.add()

    class Meanwhile(Said):
        def complete(self, question):
            if "secret" in before_of(question) and "one day" in question.instructions:
                altered(world, entry, how)
                self.line = "The heron has a secret"
            said = super().complete(question)
            self.line = HERON
            return said

    run(world, Meanwhile())
    assert "secret" not in world.rollup("day").content
    run(world, Said())
    assert HERON in world.rollup("day").content


def test_an_entry_that_has_expired_hides_what_a_model_told_of_it_a_day_later(world):
    """Until it is forgotten; the day after that stays."""
    entry = world.add("The heron of the gate.", hours=-24)
    world.add()
    world.add(hours=24)
    run(world, Said())
    hidden = frozenset([entry.ref])
    reader = TimelineJournal(
        world.folder, owner="me", zone=UTC, clock=world.clock, hidden=lambda: hidden
    )
    assert reader.find("rollup_daily_20250203") is None
    assert reader.find("rollup_daily_20250204") is None
    assert reader.find("rollup_daily_20250205") is not None
    reader.close()


@pytest.mark.parametrize("sees_private", [False, True])
def test_private_text_of_the_day_before_is_told_where_the_day_itself_is_private(
    world, sees_private
):
    """A day that is not is shown nothing of it, though the model is on this machine."""
    refs = {"private:user/x": "A private heron.", "private:user/z": "A third private heron."}
    when = {"private:user/x": 0, "private:user/z": 2}
    ten = datetime(2025, 2, 4, 10, tzinfo=UTC)

    class Pages:
        def read_ref(self, ref):
            at = ten + timedelta(days=when[ref])
            return Page(
                ref=ref, journal="private", scope="user", kind="entry", at=at, text=refs[ref]
            )

    docs = [
        replace(
            a_doc(ref, text, journal="private", kind="entry"), at=ten + timedelta(days=when[ref])
        )
        for ref, text in refs.items()
    ]
    source = OneSource("private:user", docs, prefix="private:")
    world.rollups.feed = Feeding(
        world.journal, sources=lambda: [source], openers=lambda: {"private": Pages()}
    )
    world.add("An open gate.", hours=24)
    assert world.rollups.feed.sync() == 2
    language = Said(sees_private=sees_private)
    run(world, language)
    told = {x.is_private for x in language.questions if "private heron" in str(x)}
    assert told == ({True} if sees_private else set())
    days = asked_for(language, "day")
    (gate,) = [x for x in days if "period: 5 February" in x.passages[0].text]
    assert before_of(gate) == ""


def test_a_feed_that_loses_an_entry_takes_what_was_told_of_it_a_day_later(world):
    """As a deletion in the timeline does."""
    ten = datetime(2025, 2, 4, 10, tzinfo=UTC)

    class Pages:
        def read_ref(self, ref):
            return Page(
                ref=ref, journal="chronicle", scope="", kind="event", at=ten, text="The egret."
            )

    doc = replace(a_doc("chronicle:1", "The egret.", journal="chronicle", kind="event"), at=ten)
    source = OneSource("chronicle", [doc], prefix="chronicle:")
    world.rollups = Rollups(
        world.journal,
        Extractive(),
        feed=Feeding(
            world.journal, sources=lambda: [source], openers=lambda: {"chronicle": Pages()}
        ),
    )
    world.rollups.feed.sync()
    world.add(hours=24)
    run(world, Said())
    assert HERON in world.journal.read("rollup_daily_20250205").content
    blanked = world.rollups.feed.forget(["chronicle:1"])
    assert "timeline:rollup_daily_20250205" in blanked
    assert world.journal.read("rollup_daily_20250205").content == ""
