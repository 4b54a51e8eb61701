"""The timeline as a library, and by the interface and examples of its design."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.aio import AsyncTimeline, JournalStorage
from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import ROLLUP_TYPES, TimelineDraft
from commonplace.timeline import Timeline
from commonplace_testing import FrozenClock
from commonplace_testing.language import FakeLLM, Reply, summarising

OWNER = "http_http_wren"
START = datetime(2025, 2, 4, 10, 15, 30, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(START)


@pytest.fixture
def home(tmp_path, no_weights):
    return tmp_path / "data"


@pytest.fixture
def journal(home, clock):
    with Timeline(OWNER, home=home, timezone="UTC", clock=clock) as made:
        yield made


def opened(home, zone, clock):
    """What a timeline of a zone has one day of, by the hours of its entries."""
    with Timeline(OWNER, home=home, timezone=zone, clock=clock) as journal:
        return [x.start for x in journal.trends("daily").periods]


@pytest.mark.design("003-52")
def test_the_first_zone_given_is_the_owners(home, clock):
    """It is kept with the first entry; a different one is refused until it is set."""
    with Timeline(OWNER, home=home, timezone="Asia/Tokyo", clock=clock) as journal:
        journal.save_entry("Oiled the gate")
        midnight = journal.trends("daily").periods[0].start
    assert midnight == datetime(2025, 2, 3, 15, tzinfo=UTC)
    for zone in (None, "Asia/Tokyo"):
        assert opened(home, zone, clock) == [midnight]
    with pytest.raises(Invalid, match=r"cut by Asia/Tokyo, not by UTC") as caught:
        opened(home, "UTC", clock)
    assert "set_timezone" in caught.value.hint
    with Timeline(OWNER, home=home, clock=clock) as journal:
        journal.set_timezone("UTC")
    assert opened(home, "UTC", clock) == [datetime(2025, 2, 4, tzinfo=UTC)]


def test_a_different_zone_is_refused_by_the_storage_too(home, clock):
    """By the awaited face of the design; `set_timezone` is what it names, and what then helps."""

    async def scenario():
        async with JournalStorage(home=home, timezone="Asia/Tokyo", clock=clock) as storage:
            await storage.add_entry(OWNER, "Oiled the gate")
        async with JournalStorage(home=home, timezone="UTC", clock=clock) as storage:
            with pytest.raises(Invalid, match=r"cut by Asia/Tokyo, not by UTC") as caught:
                await storage.get_time_range(OWNER, START, START + timedelta(hours=1))
            assert "set_timezone" in caught.value.hint
            with pytest.raises(Invalid, match="Unknown time zone"):
                storage.timeline(OWNER).set_timezone("Mars/Olympus")
            with pytest.raises(Invalid, match="not by UTC"):
                await storage.add_entry(OWNER, "Painted it")
            storage.timeline(OWNER).set_timezone("UTC")
            await storage.add_entry(OWNER, "Painted it")
        async with AsyncTimeline(Timeline(OWNER, home=home, timezone="Asia/Tokyo")) as timeline:
            with pytest.raises(Invalid, match=r"cut by UTC, not by Asia/Tokyo"):
                await timeline.trends()
            await timeline.set_timezone("Asia/Tokyo")
            assert (await timeline.trends()).periods

    asyncio.run(scenario())


def test_a_zone_is_not_kept_by_looking(home, clock):
    """Nothing is written by opening and reading, and another zone may be the first."""
    assert opened(home, "Asia/Tokyo", clock) == []
    assert not list(home.rglob("journal.db"))
    with Timeline(OWNER, home=home, timezone="UTC", clock=clock) as journal:
        journal.save_entry("Oiled the gate")
    assert opened(home, "UTC", clock) == [datetime(2025, 2, 4, tzinfo=UTC)]


@pytest.mark.design("003-78")
def test_the_profile_is_found_by_its_name(journal, clock):
    """As the design looks for it, though none of these words is in it; the newest one."""
    journal.save_profile("Wren is an analyst")
    clock.advance(60)
    newest = journal.save_profile("Wren leads the team")
    for query in ("profile snapshot", "my profile"):
        assert journal.search(query).hits[0].ref == newest
    kinds = ["profile_snapshot"]
    assert journal.search("profile snapshot", kinds=kinds).hits[0].ref == newest
    assert [x.kind for x in journal.search("profile snapshot", kinds=["raw"]).hits] == []


@pytest.fixture
def storage(home, clock):
    made = JournalStorage(home=home, timezone="UTC", clock=clock)
    yield made
    asyncio.run(made.close())


def a_february(journal, clock):
    """Three working days of February 2025, then 3 March, ten past one in the morning."""
    days = {
        "2025-02-04T10:15": "Created work_log table with columns: date, task, duration",
        "2025-02-04T10:40": "Inserted a first test entry for Q4 sales data",
        "2025-02-11T09:00": "Completed the sales analysis dashboard",
        "2025-02-25T14:30": "Decided to automate the daily reports. Blockers: none",
    }
    for when, text in days.items():
        clock.at = datetime.fromisoformat(f"{when}+00:00")
        journal.save_entry(text, metadata={"projects": ["sales"], "tags": ["work"]})
    clock.at = datetime(2025, 3, 3, 1, 10, tzinfo=UTC)


@pytest.mark.design("003-15", "003-17", "003-18", "003-20", "003-32", "003-54")
def test_a_raw_entry_has_the_keys_of_the_design(storage):
    """The period of a raw entry is its hour, half-open; other metadata is kept as it came."""
    told = {
        "source": "user_message",
        "message_id": "msg_456",
        "projects": ["work_log"],
        "action": "create_tdb_table",
        "tools_used": ["create_tdb_table"],
        "mine": {"kept": 1},
    }
    entry_id = asyncio.run(storage.add_entry(OWNER, "Created work_log table", metadata=told))
    (entry,) = asyncio.run(storage.get_time_range(OWNER, START, START + timedelta(hours=1), 0))
    assert entry["id"] == entry_id
    assert entry["thread_id"] == OWNER
    assert entry["entry_type"] == "raw"
    assert entry["timestamp"] == "2025-02-04T10:15:30.000000Z"
    assert entry["period_start"] == "2025-02-04T10:00:00.000000Z"
    assert entry["period_end"] == "2025-02-04T11:00:00.000000Z"
    assert entry["metadata"] == told
    assert (entry["rollup_level"], entry["status"], entry["parent_id"]) == (0, "active", None)


@pytest.mark.design("003-21", "003-70")
def test_a_time_range_tells_what_each_was_made_from_and_went_into(storage, clock):
    """Parents, sources and staleness are those of `get_rollup`, in every list of entries."""
    a_february(storage.timeline(OWNER), clock)
    until = datetime(2025, 2, 5, tzinfo=UTC)
    day = asyncio.run(storage.get_rollup(OWNER, "daily", START))
    since = START - timedelta(hours=1)
    listed = asyncio.run(storage.get_time_range(OWNER, since, until))
    by_id = {x["id"]: x for x in listed}
    assert by_id[day["id"]] == day
    assert day["parent_id"] == "rollup_weekly_2025W06"
    assert day["metadata"]["source_entries"] == ["rollup_hourly_20250204_10"]
    raw = [x for x in listed if x["entry_type"] == "raw"]
    assert {x["parent_id"] for x in raw} == {"rollup_hourly_20250204_10"}
    hour = by_id["rollup_hourly_20250204_10"]
    assert hour["metadata"]["source_entries"] == [x["id"] for x in reversed(raw)]
    blank = asyncio.run(storage.search(OWNER, "", (since, until), ["daily_rollup"]))
    assert [x["metadata"]["source_entries"] for x in blank] == [["rollup_hourly_20250204_10"]]


def test_a_time_range_tells_which_summaries_are_stale(storage, clock):
    """As `get_rollup` does, where what changed cannot be rolled up yet."""
    a_february(storage.timeline(OWNER), clock)
    service = storage.timeline(OWNER).service
    service.catch_up()
    service.rolls_up = False  # as on a server that may only read
    (raw, *_) = service.list_entries(Interval(), types=("raw",)).entries
    service.journal.update(raw.id, content="Decided to wait")
    weeks = asyncio.run(storage.get_time_range(OWNER, START, clock(), 2))
    assert {x["id"]: x["stale"] for x in weeks if not x["metadata"].get("partial")} == {
        "rollup_daily_20250225": True,
        "rollup_daily_20250211": False,
        "rollup_daily_20250204": False,
    }


@pytest.mark.design("003-77")
def test_facts_and_profiles_are_found_as_a_memory_system_asks_for_them(storage, clock):
    """The design's second phase: `entry_types=["profile_snapshot", "fact"]`, listed and searched."""
    memories = storage.timeline(OWNER).memories()
    storage.timeline(OWNER).save_entry("Wren prefers tea, it was said")
    fact = memories.create_memory("Wren prefers brief responses")
    other = memories.create_memory("Wren prefers trains", type="wish")
    profile = memories.create_memory("Wren is an analyst", type="profile")
    asked = {"thread_id": OWNER, "entry_types": ["profile_snapshot", "fact"]}
    for query in ("", "what does Wren prefer"):
        found = asyncio.run(storage.search(query=query, **asked))
        assert {x["id"] for x in found} == {profile, fact}
    (first, *_) = asyncio.run(storage.search(query="profile snapshot", **asked))
    assert first["id"] == profile
    found = asyncio.run(storage.search(OWNER, "prefers", entry_types=["fact"]))
    assert [x["id"] for x in found] == [fact]
    assert [x["entry_type"] for x in found] == ["raw"]
    found = asyncio.run(storage.search(OWNER, "prefers", entry_types=["raw"]))
    assert {fact, other} < {x["id"] for x in found}
    with pytest.raises(Invalid, match=r"entry_type: 'facts'.*") as caught:
        asyncio.run(storage.search(OWNER, "prefers", entry_types=["facts"]))
    assert caught.value.hint.startswith("Did you mean fact?")


@pytest.mark.design("003-09", "003-71")
def test_what_was_i_working_on_last_week(storage, clock):
    """The seed's first example: the weekly rollup of the week that ended within seven days."""
    a_february(storage.timeline(OWNER), clock)
    now = clock()
    found = storage.search(
        thread_id=OWNER,
        query="What was I working on?",
        time_range=(now - timedelta(days=7), now),
        entry_types=["weekly_rollup"],
    )
    results = asyncio.run(found)
    assert [x["id"] for x in results] == ["rollup_weekly_2025W09"]
    assert "automate the daily reports" in results[0]["content"]


@pytest.mark.design("003-72")
def test_show_me_my_progress_this_month(storage, clock):
    """The seed's second example: the month that still goes on is computed, and marked partial."""
    a_february(storage.timeline(OWNER), clock)
    clock.at = datetime(2025, 2, 26, tzinfo=UTC)
    found = storage.get_time_range(
        thread_id=OWNER,
        start=datetime(2025, 2, 1, tzinfo=UTC),
        end=clock(),
        rollup_level=4,
    )
    results = asyncio.run(found)
    assert [(x["id"], x["metadata"]["partial"]) for x in results] == [
        ("rollup_monthly_202502", True)
    ]
    assert results[0]["metadata"]["entries"] == 4


@pytest.mark.design("003-73")
def test_what_did_i_accomplish_in_february(storage, clock):
    """The seed's third example: February's rollups and no other month's."""
    a_february(storage.timeline(OWNER), clock)
    found = storage.search(
        thread_id=OWNER,
        query="accomplishments achievements completed",
        time_range=(datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)),
        entry_types=["monthly_rollup", "weekly_rollup"],
    )
    results = asyncio.run(found)
    # The week of the dashboard is what the month was made from: one hit, the other beside it.
    assert results[0]["id"] == "rollup_monthly_202502"
    assert results[0]["metadata"]["source_entry_count"] == 3


@pytest.mark.design("003-74")
def test_how_is_my_project_going(storage, clock):
    """The seed's fourth example: of all levels, at most five."""
    a_february(storage.timeline(OWNER), clock)
    now = clock()
    found = storage.search(
        thread_id=OWNER,
        query="project status progress blockers issues",
        time_range=(now - timedelta(days=7), now),
        limit=5,
    )
    results = asyncio.run(found)
    assert 1 <= len(results) <= 5
    assert "Blockers" in results[0]["content"]


def test_a_rollup_and_what_it_was_made_from_are_one_hit(journal, clock):
    """Hour, day, week, month and the entry itself say one thing: it is told once."""
    a_february(journal, clock)
    hits = journal.search("sales analysis dashboard").hits
    beside = {*hits[0].also, hits[0].ref}
    assert {"timeline:rollup_daily_20250211", "timeline:rollup_hourly_20250211_09"} <= beside
    assert "timeline:rollup_daily_20250211" not in [x.ref for x in hits[1:]]


def test_the_labels_of_a_summary_are_not_searched(journal, clock):
    """Every summary is laid out with them: what was written is found by them, and nothing else."""
    told = {"projects": ["sales"], "tags": ["work"], "action": "plan", "tools_used": ["editor"]}
    for day in (4, 5):
        clock.at = datetime(2025, 2, day, 10, 15, tzinfo=UTC)
        journal.save_entry("Decided to automate the reports", metadata=told)
        clock.advance(600)
        journal.save_entry("Rebuilt the pipeline of the shop", metadata=told)
    clock.at = datetime(2025, 3, 3, 1, 10, tzinfo=UTC)
    journal.roll_up()
    labels = "Projects Tags Actions Tools Decisions Highlights entries"
    for query in (*labels.split(), labels):
        assert [x.ref for x in journal.search(query).hits] == [], query
    written = journal.save_entry("Wrote down the highlights")
    assert [x.ref for x in journal.search("highlights").hits] == [written]
    for query in ("sales", "pipeline", "editor"):  # what was counted and quoted is found
        assert journal.search(query, kinds=[*ROLLUP_TYPES.values()]).hits, query
    assert "**Highlights**:" in journal.rollup("monthly", START).text


def test_a_time_in_the_question_is_read(journal, clock):
    """A day's rollup is what fits `on 4 February`; what lies on other days comes after it."""
    a_february(journal, clock)
    hits = journal.search("sales data on 4 february 2025").hits
    assert hits[0].ref == "timeline:rollup_daily_20250204"
    is_other = [x.at.date() != START.date() for x in hits]
    assert is_other == sorted(is_other)
    assert any(is_other)


def test_a_blank_question_lists_newest_first(journal, clock):
    """With filters alone there is nothing to rank by."""
    a_february(journal, clock)
    hits = journal.search("", kinds=["raw"]).hits
    assert [x.at.date().isoformat() for x in hits] == [
        "2025-02-25",
        "2025-02-11",
        "2025-02-04",
        "2025-02-04",
    ]


def test_the_rollup_of_an_open_period_is_none_until_it_is_asked_for_as_partial(journal, clock):
    """What may still grow is not told as if it were whole."""
    a_february(journal, clock)
    assert journal.rollup("yearly") is None
    year = journal.rollup("yearly", partial=True)
    assert (year.id, year.metadata["entries"]) == ("rollup_yearly_2025", 4)
    assert year.sources == ("rollup_monthly_202502",)


@pytest.mark.design("003-33", "003-35", "003-36", "003-37", "003-68", "003-70")
def test_a_closed_rollup_has_the_keys_of_the_design(storage, clock):
    """Counts and names from rows; the model and its cost are told, and here there was none."""
    a_february(storage.timeline(OWNER), clock)
    hour = asyncio.run(storage.get_rollup(OWNER, "hourly", START))
    assert hour["id"] == "rollup_hourly_20250204_10"
    assert hour["content"].startswith("[10:00-11:00] 2 entries; projects: sales.")
    assert hour["timestamp"] == "2025-02-04T10:59:59.999999Z"
    told = hour["metadata"]
    assert told["source_entry_count"] == len(told["source_entries"]) == 2
    assert (told["projects"], told["tags"]) == (["sales"], ["work"])
    assert (told["llm_model"], told["rollup_cost_tokens"]) == (None, 0)
    assert "productivity_score" not in told
    assert hour["parent_id"] == "rollup_daily_20250204"


def test_a_day_without_an_entry_is_told_as_empty(journal, clock):
    """Nothing happened: that differs from what was not looked at."""
    a_february(journal, clock)
    day = journal.rollup("daily", datetime(2025, 2, 5, 12, tzinfo=UTC))
    assert (day.text, day.metadata["source_entry_count"]) == ("", 0)


@pytest.mark.design("003-69")
def test_the_newest_profile_is_told(journal, clock):
    """Profiles are no activity: no rollup counts them."""
    assert journal.profile() is None
    journal.save_profile("Wren is an analyst")
    clock.advance(60)
    journal.save_profile("Wren is a product manager")
    assert journal.profile().text == "Wren is a product manager"
    clock.advance(86_400)
    assert journal.rollup("daily", START).metadata["entries"] == 0


@pytest.mark.design("003-87")
def test_a_message_is_added_once(journal):
    """A conversation that is replayed adds nothing."""
    first = journal.save_message("user", "Please deploy the report", idempotency_key="msg_1")
    assert (
        journal.save_message("user", "Please deploy the report", idempotency_key="msg_1") == first
    )
    entry = journal.get(first)
    assert entry.metadata["source"] == "user_message"
    assert entry.metadata["message_id"] == "msg_1"


def test_a_clock_that_was_set_back_shows_no_period_twice(journal, clock):
    """The day that is rolled up already goes on again, with one entry more."""
    journal.save_entry("Fixed the gate")
    clock.advance(86_400)
    journal.roll_up()
    clock.advance(-86_000)
    journal.save_entry("Painted it")
    (day,) = journal.list(kinds=["daily_rollup"], since=START, until=START + timedelta(hours=1))
    assert (day.metadata["entries"], day.metadata["partial"]) == (2, True)
    clock.advance(86_400)
    (day,) = journal.list(kinds=["daily_rollup"], since=START, until=START + timedelta(hours=1))
    assert (day.metadata["entries"], day.metadata.get("partial")) == (2, None)


def test_messages_without_an_id_are_each_an_entry(journal):
    """Nothing tells one from another, and none may be lost."""
    told = {journal.save_message("user", text) for text in ("Yes", "No", "No")}
    assert len(told) == 3


def test_what_was_deleted_is_found_nowhere(journal, clock):
    """Not the entry, and not in a summary of any level."""
    a_february(journal, clock)
    journal.roll_up()
    (entry,) = [x for x in journal.search("", kinds=["raw"]).hits if "dashboard" in x.text]
    journal.delete(entry.ref)
    with pytest.raises(NotFound, match="deleted"):
        journal.get(entry.ref)
    assert not any("dashboard" in x.text for x in journal.search("dashboard").hits)
    everything = journal.list(since=START - timedelta(days=9), until=clock(), limit=1000)
    assert not any("dashboard" in x.text for x in everything)
    assert journal.rollup("monthly", START).metadata["entries"] == 3


def test_an_altered_entry_alters_its_rollups(journal, clock):
    """Every level follows, and the old text is in none."""
    a_february(journal, clock)
    journal.roll_up()
    (entry,) = [x for x in journal.search("", kinds=["raw"]).hits if "dashboard" in x.text]
    journal.edit(entry.ref, "Completed the harbour report")
    month = journal.rollup("monthly", START)
    assert "harbour report" in month.text
    assert "dashboard" not in month.text


@pytest.mark.design("003-88")
def test_context_holds_profile_rollups_and_entries_within_its_budget(journal, clock):
    """What a prompt should hold, four bytes a token, stored text fenced."""
    journal.save_profile("Wren is a product manager")
    a_february(journal, clock)
    text = journal.context("what happened with sales in february 2025", budget_tokens=600)
    assert "product manager" in text
    assert "rollup_monthly_202502" in text
    assert len(text.encode()) <= 2400
    assert text.startswith("```Profile\n")


def test_context_tells_nothing_twice(journal, clock):
    """Where a day's summary stands its hour's does not; the entry itself may."""
    clock.at = START
    journal.save_entry("Decided on the harbour report")
    clock.advance(86_400)
    text = journal.context("harbour report")
    assert "rollup_daily_20250204" in text
    assert "rollup_hourly_20250204_10" not in text
    assert text.count("Decided on the harbour report") <= 2


def test_context_without_a_question_tells_of_the_week_and_the_month_that_go_on(journal, clock):
    """On a Thursday; on the 3rd of March of the month before, and of no month that has begun."""
    a_february(journal, clock)
    march, clock.at = clock.at, datetime(2025, 2, 27, 12, tzinfo=UTC)
    blocks = journal.context("", budget_tokens=3000).split("```")
    told = [x.split("\n")[0] for x in blocks if x.startswith("timeline:rollup")]
    assert told == [
        "timeline:rollup_weekly_2025W09 2025-02-24 00:00 to 2025-03-03 00:00 (UTC), partial",
        "timeline:rollup_monthly_202502 2025-02-01 00:00 to 2025-03-01 00:00 (UTC), partial",
    ]
    clock.at = march
    text = journal.context("", budget_tokens=3000)
    assert "rollup_monthly_202502 " in text
    assert "rollup_monthly_202503" not in text


@pytest.mark.design("003-11")
def test_trends_come_from_data(journal, clock):
    """Days without an entry are counted as nothing, not left out."""
    a_february(journal, clock)
    trends = journal.trends("weekly")
    assert [(x.key, x.figures.entries) for x in trends.periods] == [
        ("2025-W06", 2),
        ("2025-W07", 1),
        ("2025-W08", 0),
        ("2025-W09", 1),
    ]
    total = trends.total
    assert (total.entries, total.hours) == (4, 3)
    assert (dict(total.projects), dict(total.tags)) == ({"sales": 4}, {"work": 4})
    # What is still to come is told where it is asked for: there are 95,000 weeks until then.
    journal.save_entry("Open the time capsule", at=datetime(3847, 1, 1, 10, tzinfo=UTC))
    weeks = journal.trends("weekly").periods
    assert [x.figures.entries for x in weeks] == [2, 1, 0, 1, 0]


@pytest.mark.design("003-28", "003-31")
@pytest.mark.parametrize("other", ["a/b", "..", "A", "a\u0300", "\u0430", "a ", "x" * 128])
def test_owners_never_share_a_store(home, clock, other):
    """Whatever their names look like, on any disk."""
    with (
        Timeline("a", home=home, timezone="UTC", clock=clock) as one,
        one.beside(other) as two,
    ):
        one.save_entry("The first one's own words")
        two.save_entry("The other one's words")
        assert [x.text for x in one.search("words").hits] == ["The first one's own words"]
        assert [x.text for x in two.search("words").hits] == ["The other one's words"]
    assert len(list((home / "users").glob("*/journal/journal.db"))) == 2
    assert {x.name for x in home.iterdir()} == {"users"}


@pytest.mark.parametrize("nobody", ["", "x" * 129, "a\nb"])
def test_nobody_has_no_timeline(home, nobody):
    """An owner is 1 to 128 characters, none of them a control character."""
    with pytest.raises(Invalid):
        Timeline(nobody, home=home)


@pytest.mark.design("003-64", "003-65")
def test_the_design_s_storage_is_awaited(storage):
    """The same names and signatures, for a program with an event loop."""

    async def use():
        async with storage:
            await storage.add_entry(thread_id=OWNER, content="Fixed the gate", metadata={})
            found = await storage.search(thread_id=OWNER, query="gate", limit=3)
            profile = await storage.get_profile_snapshot(thread_id=OWNER)
            with pytest.raises(Invalid, match="rollup_level"):
                await storage.get_time_range(OWNER, START, START + timedelta(hours=1), 6)
            return [x["content"] for x in found], profile

    assert asyncio.run(use()) == (["Fixed the gate"], None)


def test_nothing_of_a_deleted_text_stays_below_the_home(journal, clock, home):
    """Neither in the timeline, nor in the index, nor in any log."""
    clock.at = START
    journal.save_entry("Fixed the gate")
    gone = journal.save_entry("Decided on zanzibarquartz", metadata={"tags": ["quartzite"]})
    clock.at = datetime(2026, 2, 1, tzinfo=UTC)
    journal.roll_up()
    assert "zanzibarquartz" in journal.search("zanzibarquartz").hits[0].text
    journal.delete(gone)
    assert journal.rollup("yearly", START).metadata["entries"] == 1
    journal.search("gate")
    for path in home.rglob("*"):
        if path.is_file():
            text = path.read_bytes().lower()
            assert b"zanzibarquartz" not in text, path
            assert b"quartzite" not in text, path


def test_the_timelines_of_many_owners_are_closed_later(home, clock):
    """One that nobody asks for is closed after a while, and opened again when somebody does."""
    seconds = FrozenClock()

    async def use():
        made = JournalStorage(home=home, timezone="UTC", clock=clock, monotonic=seconds.seconds)
        async with made as storage:
            await storage.add_entry("first", "words of the first")
            first = storage.timeline("first")
            for number in range(40):
                storage.timeline(f"owner {number}")
            assert first.profile() is None
            seconds.advance(61)
            storage.timeline("another")
            with pytest.raises(Unavailable, match="closed"):
                first.profile()
            return [x["content"] for x in await storage.search("first", "words")]

    assert asyncio.run(use()) == ["words of the first"]


def test_a_long_range_is_listed_whole(journal):
    """However many entries lie in it; fewer where fewer are asked for."""
    drafts = [TimelineDraft(content=f"entry {number}") for number in range(1_205)]
    journal.service.journal.add_many(drafts)
    hour = {"since": START - timedelta(hours=1), "until": START + timedelta(hours=1)}
    found = journal.list(**hour, limit=2_000)
    assert len({x.id for x in found}) == len(found) == 1_205
    assert len(journal.list(**hour, limit=7)) == 7


@pytest.mark.parametrize("background", ["", "true"])
def test_a_model_is_asked_where_the_settings_let_a_program_ask(
    monkeypatch, home, clock, background
):
    """Its tokens are the owner's; without the setting the extractive summary stands."""
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
    monkeypatch.setenv("COMMONPLACE_LLM_BACKGROUND", background)
    with FakeLLM(summarising("Fixed the gate")) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        with Timeline(OWNER, home=home, timezone="UTC", clock=clock) as journal:
            journal.save_entry("Fixed the gate")
            clock.advance(86_400)
            assert journal.roll_up() >= 2
            day = journal.rollup("daily", START)
    assert len(fake.asked) == (2 if background else 0)
    assert ("**Accomplishments**" in day.text) is bool(background)
    assert [x.name for x in home.rglob("llm")] == (["llm"] if background else [])


def test_a_model_that_fails_is_logged(monkeypatch, home, clock, caplog):
    """The summaries are made, and the program goes on."""
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
    monkeypatch.setenv("COMMONPLACE_LLM_BACKGROUND", "true")
    with FakeLLM(Reply(status=401)) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        with Timeline(OWNER, home=home, timezone="UTC", clock=clock) as journal:
            journal.save_entry("Fixed the gate")
            clock.advance(86_400)
            assert journal.roll_up() == 2
            assert "1 entry" in journal.rollup("daily", START).text
    assert "answered 401" in caplog.text


def test_a_search_as_of_an_instant_knows_nothing_later(journal, clock):
    """Nor what was recorded afterwards of an earlier time; an instant without a zone is refused."""
    first = journal.save_entry("The dashboard is planned.")
    clock.advance(60)
    journal.save_entry("The dashboard was planned.", at=START - timedelta(days=1))
    found = journal.search("dashboard", kinds=["raw"], as_of=START + timedelta(seconds=1))
    assert [hit.ref for hit in found.hits] == [first]
    assert len(journal.search("dashboard", kinds=["raw"]).hits) == 2
    with pytest.raises(Invalid, match="as_of"):
        journal.search("dashboard", as_of=START.replace(tzinfo=None))
