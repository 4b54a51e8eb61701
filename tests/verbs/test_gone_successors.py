"""What was replaced is not true again because what took its place expired or was forgotten."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from tests.verbs.recall_world import ask, refs
from tests.verbs.test_amend import EDITED, EVERY, EVERY_STORE, opened, superseding, write

from commonplace.core.time_book import REPLACED, TimeBook
from commonplace.core.values import Interval
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.retention import parse_retention

DAY = 86_400


def lost(world, app, journal, way):
    """An entry of 21 November whose successor of 24 November is no more."""
    old = write(app, journal, "The quokka API listens on port 8000.")
    world.clock.advance(3 * DAY)
    new = superseding(app, journal, old, "The quokka API moved: it listens on port 9000.")
    if way == "expired":
        app.expiring.expire(new, world.clock() + timedelta(days=1))
        world.clock.advance(2 * DAY)
    else:
        service = app.forgetting()
        service.carry_out(service.plan([new]))
    return old, new


@pytest.mark.parametrize(
    ("journal", "way"),
    [
        *((x, "expired") for x in EVERY),
        *((x, "forgotten") for x in EDITED),
        *(
            pytest.param("memory", x, id=f"postgres-{x}", marks=pytest.mark.on_postgres)
            for x in ("expired", "forgotten")
        ),
    ],
)
def test_it_stays_replaced_and_says_so(world, app, journal, way):
    """It stands below what holds, and names the day; opened it says the same."""
    write(app, journal, "The quokka API is written in Rust.")
    old, new = lost(world, app, journal, way)
    answer = ask(app, "recall", query="quokka API port 8000")
    assert new not in refs(answer)
    assert (
        "No longer holds: replaced by an entry of 24 November 2026, which is gone." in answer.text
    )
    (hit,) = [x for x in answer.facts["results"] if x["ref"] == old]
    assert hit["replaced_by"]["ref"] == ""
    assert hit["replaced_by"]["at"].startswith("2026-11-24")
    page = opened(app, old)
    assert "No longer holds: what took its place on 24 November 2026 is gone." in page.text
    listed = {x["ref"]: x for x in ask(app, "list_by_time").facts["results"]}
    assert listed[old]["replaced_by"]["ref"] == ""


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_another_may_take_its_place(world, app, journal):
    """It is named then; deleted, it leaves the old one as it was."""
    old, _ = lost(world, app, journal, "expired")
    again = superseding(app, journal, old, "The quokka API listens on port 7000.")
    assert opened(app, old).facts["superseded_by"] == again
    assert opened(app, old).facts["replaced"] == ""
    if journal == "notebook":
        return  # its entries are not deleted
    app.amend.delete(again)
    assert opened(app, old).facts["replaced"].startswith("2026-11-24")


def test_before_it_was_replaced_it_held(world, app):
    """As of then nothing had taken its place."""
    old, _ = lost(world, app, "chronicle", "expired")
    answer = ask(app, "recall", query="quokka API port", as_of="2026-11-22")
    assert refs(answer) == [old]
    assert "No longer holds" not in answer.text


def test_what_holds_stands_above_it(world, app):
    """Also where the words fit the old one better."""
    holds = write(app, "chronicle", "The quokka API has a port.")
    old, _ = lost(world, app, "chronicle", "expired")
    answer = ask(app, "recall", query="quokka API listens on port 8000")
    assert refs(answer) == [holds, old]


def test_a_deleted_successor_is_taken_back(world, app):
    """Who deletes it says that it should not have been written."""
    old, _ = lost(world, app, "chronicle", "forgotten")
    fresh = write(app, "chronicle", "The wombat API listens on port 1.")
    new = superseding(app, "chronicle", fresh, "The wombat API listens on port 2.")
    app.amend.delete(new)
    assert opened(app, fresh).facts["replaced"] == ""
    assert opened(app, old).facts["replaced"]


@pytest.mark.parametrize("way", ["expired", "forgotten"])
def test_a_summary_leaves_it_out(world, app, way):
    """It counts the entry, as it counts one that was replaced by an entry that is still there."""
    lost(world, app, "timeline", way)
    ask(app, "recall", query="quokka")
    world.clock.advance(2 * DAY)
    app.timeline.rollups.catch_up()
    told = app.timeline.journal.list_entries(Interval(), level=2).entries
    assert told
    assert not any("8000" in entry.content for entry in told)


def test_retention_of_the_timeline_leaves_it_replaced(world, app):
    """A plan of next month that was given up today outlives what gave it up."""
    service = app.timeline.service()
    plan = service.add("The quokka ships.", at=world.clock() + timedelta(days=30)).entry
    service.add("The quokka stays at home.", at=world.clock(), supersedes=plan.ref)
    for _ in range(3):
        world.clock.advance(8 * DAY)
        apply_retention(app.timeline.rollups, parse_retention("raw=2d"))
    assert opened(app, plan.ref).facts["replaced"].startswith("2026-11-21")
    world.clock.advance(8 * DAY)
    app.timeline.rollups.catch_up()
    told = [app.timeline.service().rollup(level, plan.at).content for level in ("hourly", "daily")]
    assert len(told) == 2
    assert not any("ships" in text for text in told)


def test_a_damaged_note_hides_no_entry(world, app):
    """Then entries are shown as if nothing had gone."""
    old, _ = lost(world, app, "chronicle", "forgotten")
    (app.folder / "replaced" / "entries.json").write_text("[no json")
    assert refs(ask(app, "recall", query="quokka API")) == [old]


def test_two_processes_note_at_once(tmp_path):
    """Neither note is lost; one that goes itself is noted no more."""
    one, other = TimeBook(tmp_path, REPLACED), TimeBook(tmp_path, REPLACED)
    now = time.time()
    one.keep_all({"chronicle:1": now})
    assert dict(other.read()) == {"chronicle:1": now}
    other.keep_all({"chronicle:2": now})
    assert dict(one.read()) == {"chronicle:1": now, "chronicle:2": now}
    one.drop(["chronicle:1"])
    assert dict(other.read()) == {"chronicle:2": now}
