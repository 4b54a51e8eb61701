"""An overview stays as it was written; its readers learn what was replaced since."""

from __future__ import annotations

import contextlib
import random

import pytest
from tests.journals.notebook.team import Team, both, having
from tests.repositories import bring
from tests.seeds import seeds
from tests.verbs.recall_world import ask

from commonplace.core.errors import Conflict
from commonplace.journals.notebook.format import version_of

SECTION = "zoo/night"
OVERVIEW = "The quokka API listens on port 8000."


def entry(world, app, text, *, path=SECTION, **more):
    """The ref of an entry of the next day."""
    world.clock.advance(86_400)
    return "notebook:" + ask(app, "journal_write", path=path, entry=text, **more).facts["id"]


def line(old, new, days=(22, 23), *, text="this overview"):
    """What is said of an entry of one day of November that one of another replaced."""
    before, after = (f"{day} November 2026" for day in days)
    return f"Since {text}: {old} of {before} was replaced by {new} of {after}."


def read(app, path=SECTION):
    return ask(app, "journal_read", id=path)


def replaced(world, app):
    """An entry that an overview tells, and the one that took its place the day after."""
    old = entry(world, app, "The port is 8000.", overview=OVERVIEW)
    return old, entry(world, app, "The port is 9000.", supersedes=old)


def test_readers_of_an_overview_learn_what_was_replaced_since(world, app):
    """By the notebook's tool and by its ref; the overview itself is as it was written."""
    old, new = replaced(world, app)
    for answer in (read(app), ask(app, "open_ref", ref=f"notebook:{SECTION}")):
        assert line(old, new) in answer.text
        (fact,) = answer.facts["replaced_since"]
        assert (fact["ref"], fact["replaced_by"]["ref"]) == (old, new)
    assert read(app).facts["overview"] == OVERVIEW


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("recall", {"query": "quokka API listens", "kinds": ["overview"]}),
        ("list_by_time", {}),
        ("journal_search", {"content": "quokka API listens"}),
    ],
)
def test_an_overview_that_is_found_says_what_was_replaced_since(world, app, tool, asked):
    """In every search and list that shows it, and of no other hit."""
    old, new = replaced(world, app)
    answer = ask(app, tool, **asked)
    assert answer.text.count(line(old, new)) == 1
    said = [hit for hit in answer.facts["results"] if "replaced_since" in hit]
    assert [hit.get("kind", hit.get("type")) for hit in said] == ["overview"]


def test_as_of_then_nothing_was_replaced(world, app):
    """What took a place later does not exist in such an answer, wherever it was written."""
    old = entry(world, app, "The port is 8000.", overview=OVERVIEW)
    new = entry(world, app, "The port is 9000.", path="zoo/day", supersedes=old)
    for day, is_known in (("22 November", False), ("23 November", True)):
        answer = ask(app, "recall", query="quokka API listens", as_of=day)
        assert f"notebook:{SECTION}" in {hit["ref"] for hit in answer.facts["results"]}
        assert (line(old, new) in answer.text) is is_known
        answer = ask(app, "journal_search", content="quokka API listens", as_of=day)
        assert (line(old, new) in answer.text) is is_known


def test_a_new_overview_knows_what_came_before_it(world, app):
    """Its writer is told what the one before could not know; its readers nothing more."""
    old, new = replaced(world, app)
    version = read(app).facts["version"]
    answer = ask(
        app, "journal_write", path=SECTION, entry="Rewritten.", overview="It is port 9000."
    )
    assert line(old, new, text="the overview before this one") in answer.text
    assert answer.facts["version"] != version
    assert "replaced by" not in read(app).text


def test_an_edited_overview_is_a_new_one(world, app):
    """By its ref, without an entry."""
    old, new = replaced(world, app)
    done = app.amend.edit(f"notebook:{SECTION}", "It is port 9000.")
    assert any(
        note.startswith(line(old, new, text="the overview before this one")) for note in done.notes
    )
    assert "replaced by" not in read(app).text


def test_an_overview_written_with_the_successor_knows_of_it(world, app):
    """One write did both: neither its writer nor a reader is told."""
    old = entry(world, app, "The port is 8000.", overview=OVERVIEW)
    read(app)
    answer = ask(
        app,
        "journal_write",
        path=SECTION,
        entry="The port is 9000.",
        overview="It is port 9000.",
        supersedes=old,
    )
    assert "Since" not in answer.text
    assert "replaced by" not in read(app).text


def test_an_entry_that_is_newer_than_the_overview_is_not_told(world, app):
    """The overview never knew it; of a chain that it knew the beginning of, the end is named."""
    first = entry(world, app, "The port is 8000.", overview=OVERVIEW)
    second = entry(world, app, "The port is 9000.", supersedes=first)
    third = entry(world, app, "The port is 7000.", supersedes=second)
    assert read(app).text.count("was replaced by") == 1
    assert line(first, third, (22, 24)) in read(app).text


def test_a_section_without_an_overview_says_nothing(world, app):
    """There is no text that may be believed."""
    old = entry(world, app, "The port is 8000.")
    entry(world, app, "The port is 9000.", supersedes=old)
    assert "replaced by" not in read(app).text


def test_a_moved_section_still_says_what_was_replaced(world, app):
    """Before the move and after it; a section that takes its old name says nothing of it."""
    rust = entry(world, app, "It is written in Rust.")
    read(app)
    port, new_port = replaced(world, app)
    app.notebook.service().reading().move(SECTION, "den")
    rust, port, new_port = (ref.replace(SECTION, "den") for ref in (rust, port, new_port))
    c = entry(world, app, "It is written in C.", path="den", supersedes=rust)
    of_rust, of_port = line(rust, c, (22, 25)), line(port, new_port, (23, 24))
    both = f"{of_rust[:-1]}; {of_port.removeprefix('Since this overview: ')}"
    assert both in read(app, "den").text
    entry(world, app, "Another night.", overview=OVERVIEW, base_version=version_of(""))
    assert "replaced by" not in read(app).text


def test_many_are_counted_and_the_newest_named(world, app):
    """Five of them; an overview that is long behind is to be written again anyway."""
    olds = [entry(world, app, f"Burrow {number} is dry.") for number in range(7)]
    entry(world, app, "All are seen.", overview="All burrows are dry.")
    news = [entry(world, app, f"{old} is wet.", supersedes=old) for old in olds]
    text = read(app).text
    assert text.count("was replaced by") == 5
    assert news[-1] in text
    assert "; and 2 more." in text
    assert len(read(app).facts["replaced_since"]) == 7


def test_behind_many_entries_an_overview_is_still_known_as_old(world, app):
    """However many wrote to its section since."""
    old = entry(world, app, "The port is 8000.", overview=OVERVIEW)
    fallen = [
        (f"Leaf {n} fell.", f"{SECTION}.md", f"{OVERVIEW}\n\n<!-- entry count: {n + 2} -->\n")
        for n in range(150)
    ]
    bring(app.notebook.journal.folder, fallen, at=int(world.clock().timestamp()) + 1)
    assert read(app).facts["entry_count"] == 151
    new = entry(world, app, "The port is 9000.", supersedes=old)
    assert line(old, new) in read(app).text


@pytest.fixture
def teams(tmp_path):
    made = []

    def make(*entries):
        made.append(Team(tmp_path, after=having(*entries)))
        return made[-1]

    yield make
    for team in made:
        team.close()


def replaced_in(team, which):
    """(former, successor) that one clone names beside the overview."""
    found = team.notes[which].list_replaced_since("a")
    return [(each.former.ref[-36:], each.successor.ref[-36:]) for each in found]


def test_an_overview_from_a_clone_that_had_not_synced_did_not_know(teams):
    """Though it was written later than the entry that took a place elsewhere."""
    team = teams(("a", "The port is 8000.", "Port 8000."))
    (old,) = team.ids
    team.tick()
    new = team.notes[1].supersede(f"a#{old}", "The port is 9000.").entry.id
    version = team.notes[0].read_section("a").version
    team.write(0, "a", "It is written in Rust.", "Port 8000, in Rust.", base_version=version)
    both(team)
    assert replaced_in(team, 0) == replaced_in(team, 1) == [(old, new)]
    version = team.notes[1].read_section("a").version
    team.write(1, "a", "Put right.", "Port 9000, in Rust.", base_version=version)
    team.sync(1)
    team.sync(0)
    assert replaced_in(team, 0) == replaced_in(team, 1) == []


def known_in(team, which):
    """The entries of the section that a clone holds."""
    team.notes[which].ledger.catch_up()
    return {line.id for line in team.notes[which].list_entries("a", length=999)}


@pytest.mark.parametrize("seed", seeds(0, long=range(1, 5), whole=range(5, 12)))
def test_what_is_named_is_what_the_writer_did_not_have(teams, seed):
    """Two clones write, replace and sync at random; what each writer had is kept by hand."""
    chance = random.Random(seed)
    formers = {}
    team = teams(("a", "The first.", "Overview 0."))
    had = {"Overview 0.": known_in(team, 0)}
    for step in range(1, 23 if seed else 11):
        which = chance.randrange(2)
        notes = team.notes[which]
        act = chance.choice(["entry", "overview", "supersede", "supersede", "sync"])
        holding = [x for x in sorted(known_in(team, which)) if not notes.ledger.find_successor(x)]
        if act == "sync":
            with contextlib.suppress(Conflict):
                team.sync(which)
        elif act == "supersede":
            old = chance.choice(holding)
            team.tick()
            formers[notes.supersede(f"a#{old}", f"Replacing {step}.").entry.id] = old
        elif act == "overview":
            team.write(which, "a", f"Entry {step}.", f"Overview {step}.")
            had[f"Overview {step}."] = known_in(team, which)
        else:
            team.write(which, "a", f"Entry {step}.")
        for clone in range(2):
            overview = team.notes[clone].read_section("a").overview
            if overview in had:  # and not one that a sync merged
                here, before = known_in(team, clone), had[overview]
                news = {new: old for new, old in formers.items() if new in here - before}
                named = {former for former, _ in replaced_in(team, clone)}
                assert named == {old for old in news.values() if old in before}
