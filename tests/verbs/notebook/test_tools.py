"""The notebook's tools on real git: read, write, list, search, merge; several connections."""

from __future__ import annotations

import json

import pytest
from tests.verbs.notebook_world import NotebookWorld

from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable
from commonplace.journals.git.run import git_program
from commonplace.journals.notebook.format import version_of
from commonplace_testing import ReadySlot

NOTHING = "e3b0c44298fc"  # the first 12 hex of the sha256 of nothing


@pytest.fixture
def open_world(tmp_path):
    """Opens worlds; each closes at the end."""
    made = []

    def open_(**rest):
        made.append(NotebookWorld(tmp_path / str(len(made)), **rest))
        return made[-1]

    yield open_
    for each in made:
        each.close()


@pytest.fixture
def world(open_world):
    """One world."""
    return open_world()


def ids(answer):
    return [each["id"] for each in answer.facts["results"]]


@pytest.mark.design(
    "001-10",
    "001-11",
    "001-13",
    "001-17",
    "001-18",
    "001-20",
    "001-21",
    "001-22",
    "001-24",
    "001-25",
    "001-26",
    "001-27",
    "001-39",
)
def test_the_six_tools_have_the_names_and_arguments_of_the_design(world):
    """As the notebook's design has them, and what was added to it."""
    schemas = {tool.name: tool.schema for tool in world.toolset.tools}
    assert {name: [*schema["properties"]] for name, schema in schemas.items()} == {
        "journal_read": ["id"],
        "journal_write": [
            "path",
            "entry",
            "overview",
            "summary",
            "work_context",
            "base_version",
            "idempotency_key",
            "supersedes",
        ],
        "journal_list_entries": ["path", "start", "length", "branch"],
        "journal_toc": ["id", "depth"],
        "journal_search": [
            "work_context",
            "content",
            "salience_threshold",
            "min_score",
            "when",
            "as_of",
            "limit",
            "branch",
            "explain",
        ],
        "journal_synthesize_conflict": ["section", "version_a", "version_b", "work_context"],
    }
    assert schemas["journal_write"]["required"] == ["path", "entry"]
    assert schemas["journal_search"]["properties"]["min_score"] == {
        "description": "Least score of a hit that shares no word.",
        "type": "number",
        "minimum": -1,
        "maximum": 1,
    }
    assert [t.name for t in world.toolset.tools if t.effects.writes] == ["journal_write"]


@pytest.mark.design("001-08", "001-16", "001-28")
def test_an_entry_alone_needs_no_reading(world):
    """It is there at once: read by id and by hash, listed, told with its section."""
    made = world(
        "write", path="api/errors", entry="Problem+json it is.\n\nBecause.", work_context="design"
    ).facts
    assert (made["entry_count"], made["summary"]) == (1, "Problem+json it is.")
    assert (made["version"], made["overview_written"]) == (NOTHING, False)
    for name in (made["id"], made["hash_id"], f"notebook:{made['id']}"):
        read = world("read", id=name)
        assert read.facts["content"] == "Problem+json it is.\n\nBecause."
        assert (read.facts["work_context"], read.facts["author"]) == ("design", "Wren Fox")
        assert "Problem+json it is.\n\nBecause." in read.text
    section = world("read", id="api/errors")
    assert section.facts["last_entry"]["id"] == made["id"]
    assert "(There is no overview yet.)" in section.text
    listed = world("list_entries", path="api/errors").facts
    assert listed["entries"] == [
        {
            "id": made["id"],
            "hash_id": made["hash_id"],
            "timestamp": "2026-11-22T12:00:00+00:00",
            "summary": "Problem+json it is.",
        }
    ]


@pytest.mark.design("001-16", "001-29", "001-51")
def test_an_overview_needs_a_read_on_this_connection(world):
    """Another section's read, or another connection's, is none; the error tells the next step."""
    world.write("a", "Begun.", overview="We know little.")
    other = world.connect()
    other("journal_write", path="b", entry="Begun.")
    other("journal_read", id="b")
    with pytest.raises(Conflict) as told:
        other("journal_write", path="a", entry="x", overview="We know more.")
    assert "was not read here" in told.value.message
    assert "Read a with journal_read" in told.value.hint
    assert world("read", id="a").facts["entry_count"] == 1
    other("journal_write", path="a", entry="An entry alone.")
    other("journal_read", id="a")
    made = other("journal_write", path="a", entry="Learned.", overview="We know more.").facts
    assert (made["version"], made["overview_written"]) == (version_of("We know more."), True)


def test_who_wrote_an_overview_has_read_it(world):
    """The next one of the same connection is accepted; entries of others do not stand between."""
    world.write("a", "1", overview="One.")
    world.connect()("journal_write", path="a", entry="Between.")
    world.write("a", "2", overview="Two.")
    assert world("read", id="a").facts["overview"] == "Two."


@pytest.mark.design("001-30")
def test_a_conflict_tells_both_texts_both_versions_and_the_next_step(world):
    """Nothing is written, and the version told is what the next write needs."""
    world.write("a", "1", overview="Old text.")
    world.connect()(
        "journal_write",
        path="a",
        entry="2",
        overview="Their text.",
        base_version=version_of("Old text."),
    )
    with pytest.raises(Conflict) as told:
        world.write("a", "3", overview="My text.")
    theirs, mine = version_of("Their text."), version_of("My text.")
    for part in ("Their text.", "My text.", theirs, mine, version_of("Old text.")):
        assert part in told.value.message
    assert f"base_version {theirs}" in told.value.hint
    assert world("read", id="a").facts["entry_count"] == 2
    world.write("a", "3", overview="Both texts.", base_version=theirs)
    assert world("read", id="a").facts["overview"] == "Both texts."


def test_an_empty_overview_is_none(world):
    """Some hosts fill in what they leave out."""
    world.write("a", "1", overview="Text.")
    assert world("write", path="a", entry="2", overview=" ").facts["overview_written"] is False
    assert world("read", id="a").facts["overview"] == "Text."


def test_the_same_key_twice_is_one_entry(world):
    """And the second call does not count as a read of what it would have written."""
    first = world("write", path="a", entry="Once.", idempotency_key="k").facts
    again = world("write", path="a", entry="Once.", idempotency_key="k")
    assert (again.facts["repeated"], again.facts["id"]) == (True, first["id"])
    assert again.text.startswith("This was already written: ")


@pytest.mark.design("001-24")
def test_sections_that_cannot_be(world):
    """A `#` names an entry; paths stay inside; what never was is not found."""
    for path in ("a#b", "../a", "", "-rf", "a//b", ".git/config"):
        with pytest.raises(Invalid):
            world("write", path=path, entry="x")
    for tool in ("read", "toc"):
        with pytest.raises(NotFound):
            world(tool, id="never")
    with pytest.raises(NotFound):
        world("list_entries", path="never")


@pytest.mark.design("001-19")
def test_the_table_of_contents(world):
    """Children of the root or of a section; a folder without a file is a group."""
    world.write("p/api/errors", "x")
    world.write("p", "y")
    (top,) = world("toc").facts["subsections"]
    assert (top["id"], top["type"], top["entry_count"], top["subsections"]) == (
        "p",
        "section",
        1,
        [],
    )
    assert (top["below"], world("toc").text) == (1, "- p (1 entry, 2026-11-22 12:00; 1 below)")
    deep = world("toc", depth=3)
    (group,) = deep.facts["subsections"][0]["subsections"]
    assert (group["id"], group["type"], group["entry_count"]) == ("p/api", "group", 0)
    assert deep.text == (
        "- p (1 entry, 2026-11-22 12:00)\n"
        "  - p/api (group, 2026-11-22 12:00)\n"
        "    - p/api/errors (1 entry, 2026-11-22 12:00)"
    )
    assert [x["id"] for x in world("toc", id="p").facts["subsections"]] == ["p/api"]
    leaf = world("toc", id="notebook:p/api/errors")
    assert leaf.text.endswith("There are no sections below it.")
    assert leaf.text.startswith("- p/api/errors (")
    assert (leaf.facts["section"]["id"], leaf.facts["subsections"]) == ("p/api/errors", [])


def test_a_moved_section_keeps_its_history(world):
    """Under its new name, which search and lists give."""
    made = world.write("old", "The lighthouse keeper left.")
    world.service.move(old="old", new="new/name")
    moved = made.replace("old#", "new/name#")
    listed = world("list_entries", path="new/name").facts["entries"]
    assert [x["id"] for x in listed] == [moved]
    assert moved in ids(world("search", content="lighthouse keeper"))


@pytest.mark.design("001-10", "001-12", "001-49")
def test_search_by_work_and_by_content(world):
    """Each question has its own score; both sides equal to it are cosine 1."""
    world.write("a", "postgres partial indexes", work_context="choosing storage", summary="db")
    world.write("b", "bread with caraway", work_context="baking", summary="food")
    asked = {"content": "postgres partial indexes", "work_context": "choosing storage db"}
    assert "by" not in world("search", **asked).facts["results"][0]
    explained = world("search", **asked, explain=True)
    assert "   By both, salience 1.000" in explained.text.splitlines()
    (hit, *_) = explained.facts["results"]
    assert hit["id"].startswith("a#")
    assert (hit["work_context_score"], hit["content_score"], hit["combined_score"]) == (1, 1, 1)
    assert (hit["salience"], hit["by"], hit["work_context"]) == (1, "both", "choosing storage")
    assert hit["content"] == "postgres partial indexes"
    (alone, *_) = world("search", work_context="baking food").facts["results"]
    assert (alone["id"][:2], alone["content_score"]) == ("b#", None)
    with pytest.raises(Invalid, match="blank"):
        world("search")
    for name in asked:
        with pytest.raises(Invalid, match=f"^Invalid {name}: it has 10,001 characters"):
            world("search", **asked | {name: "x" * 10_001})


def test_by_content_alone_an_entry_is_compared_as_a_whole(world):
    """With its first line too, though that is its summary; beside a work context it is that's."""
    world.write("a", "Tide tables\n\nThey lie in one file.", work_context="moving")
    world.write("b", "Ebb and flow\n\nThey lie in one file.", work_context="moving")
    (hit,) = world("search", content="tide tables").facts["results"]
    assert hit["id"].startswith("a#")
    assert hit["content_score"] > 0.2
    both = world("search", content="tide tables", work_context="moving").facts["results"]
    assert max(hit["content_score"] for hit in both) < 0.1


def test_overviews_are_searched_too(world):
    """An overview is named by its section alone."""
    world.write("a/tides", "x", overview="Spring tides follow the new moon.")
    (hit, *_) = world("search", content="spring tides follow the new moon").facts["results"]
    assert (hit["id"], hit["type"], hit["content_score"]) == ("a/tides", "overview", 1)


@pytest.mark.design("001-45")
def test_an_old_strong_match_stands_above_a_fresh_weak_one(world):
    """Twenty months lie between them."""
    old = world.write("a", "granite quarry blasting schedule", days_ago=600)
    world.write("b", "granite is a stone among many other stones that people talk about")
    found = world("search", content="granite quarry blasting schedule")
    assert ids(found)[0] == old
    assert found.facts["results"][0]["salience"] == 0.1


def test_search_in_a_time(world):
    """The interval is told; a phrase that cannot be read is an error that names its argument."""
    old = world.write("a", "harbour master", days_ago=40)
    world.write("a", "harbour master again")
    found = world("search", content="harbour master", when="october")
    assert ids(found) == [old]
    assert found.facts["interval"]["since"] == "2026-10-01T00:00:00+00:00"
    assert found.text.startswith("Time: 2026-10-01")
    with pytest.raises(Invalid, match="Invalid when"):
        world("search", content="x", when="sometime")


@pytest.mark.design("001-46")
def test_settings_bound_a_search(open_world):
    """The most entries shown, and the least score where none is asked for."""
    world = open_world(most=1, min_score=0.99)
    for n in range(3):
        world.write("a", f"heron number {n}")
    assert len(ids(world("search", content="heron"))) == 1
    assert ids(world("search", content="unrelated words entirely")) == []
    assert len(ids(world("search", content="unrelated words entirely", min_score=-1))) == 1


def test_words_are_found_without_an_encoder(open_world):
    """The scores are null, and the answer says why."""
    world = open_world(slot=ReadySlot(reason="No weights."))
    world.write("a", "The kingfisher nests here.")
    found = world("search", content="kingfisher")
    assert [x["combined_score"] for x in found.facts["results"]] == [None]
    assert "Searched by words alone: No weights." in found.facts["notes"]


def test_two_overviews_are_merged_with_what_was_read_before(world):
    """The base is what this connection read; no model is claimed, and nothing is written."""
    base = "# Tides\n\nHigh at noon.\n\nLow at dusk."
    world.write("a", "1", overview=base)
    theirs, mine = f"{base}\n\nSpring tides too.", base.replace("noon", "ten")
    world.connect()(
        "journal_write", path="a", entry="2", overview=theirs, base_version=version_of(base)
    )
    merged = world("synthesize_conflict", section="a", version_a=version_of(theirs), version_b=mine)
    facts = merged.facts
    assert (facts["made_by"], facts["base_version"]) == ("merge", version_of(base))
    assert (facts["differing"], facts["added"]) == (1, 1)
    for line in ("High at noon.", "High at ten.", "Low at dusk.", "Spring tides too."):
        assert line in facts["merged"]
    assert merged.text.startswith("No model made this: ")
    assert world("read", id="a").facts["entry_count"] == 2
    with pytest.raises(Invalid, match="not known here"):
        world("synthesize_conflict", section="a", version_a="0" * 12, version_b=mine)


def test_our_own_notebook_is_made_by_its_first_write(open_world, tmp_path, monkeypatch):
    """Reading makes nothing, nor does what is refused; a folder that somebody named is not made by a write."""
    world = open_world(made=False, is_own=True)
    for tool, arguments in (("toc", {}), ("search", {"content": "x"}), ("read", {"id": "a"})):
        with pytest.raises(NotFound, match="There is no notebook yet"):
            world(tool, **arguments)
    refused = (
        {"entry": ""},
        {"entry": "x", "supersedes": "notebook:a#nope"},
        {"entry": "x", "overview": "Y.", "base_version": "0" * 12},
    )
    for each in refused:
        with pytest.raises((Invalid, NotFound, Conflict)):
            world("write", path="a", **each)
    monkeypatch.setenv("PATH", "")
    git_program.cache_clear()
    with pytest.raises(Unavailable, match="The git command is not there"):
        world("write", path="a", entry="First.")
    assert not world.notebook.folder.exists()
    (tmp_path / "git").write_text("#!/bin/sh\nexit 53\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    git_program.cache_clear()
    with pytest.raises(Unavailable, match=r"\(53\): git said nothing\."):
        world("write", path="a", entry="First.")
    monkeypatch.undo()
    git_program.cache_clear()
    world.write("a", "First.")
    assert world("read", id="a").facts["entry_count"] == 1
    with pytest.raises(NotFound, match="There is no notebook in"):
        open_world(made=False).write("a", "First.")


OLD = {
    "sections": {
        "alpha": {
            "path": "alpha",
            "overview": "Alpha is about tides.",
            "entries": [
                {"work_context": "x", "content": "Second", "timestamp": "2025-07-22 10:00:00.5"},
                {"work_context": "x", "content": "First", "timestamp": "2025-07-21T10:00:00"},
                {"work_context": "x", "content": " "},
            ],
            "subsections": {
                "beta": {"overview": "", "entries": [{"content": "Deep", "timestamp": "?"}]}
            },
        },
        "../out": {"entries": [{"content": "Hostile"}], "overview": ""},
        "gamma": {"overview": "Only an overview."},
    }
}


def test_the_older_json_is_imported_once(world):
    """Oldest first, with times on UTC's clock; what cannot be is left out and told."""
    first = world.service.import_json(text=json.dumps(OLD), name="journal.json")
    assert (first.facts["added"], first.facts["repeated"]) == (4, 0)
    assert len(first.facts["notes"]) == 2
    listed = world("list_entries", path="alpha").facts["entries"]
    assert [(x["summary"], x["timestamp"]) for x in listed] == [
        ("Second", "2025-07-22T10:00:00+00:00"),
        ("First", "2025-07-21T10:00:00+00:00"),
    ]
    assert world("read", id="alpha").facts["overview"] == "Alpha is about tides."
    assert world("read", id="gamma").facts["overview"] == "Only an overview."
    assert world("read", id="alpha/beta").facts["entry_count"] == 1
    again = world.service.import_json(text=json.dumps(OLD), name="journal.json")
    assert (again.facts["added"], again.facts["repeated"]) == (0, 4)
    assert world("read", id="alpha").facts["entry_count"] == 2


def test_an_overview_that_is_there_is_kept(world):
    """The import says so."""
    world.write("alpha", "x", overview="Ours.")
    done = world.service.import_json(text=json.dumps(OLD), name="journal.json")
    assert "alpha has an overview already, and keeps it." in done.facts["notes"]
    assert world("read", id="alpha").facts["overview"] == "Ours."


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"sections": []}', '{"sections": {"a": 1}}', "[" * 100_000]
)
def test_what_is_no_such_file(world, text):
    """One sentence, and nothing is written."""
    with pytest.raises(Invalid, match=r"x\.json is not a notebook in JSON"):
        world.service.import_json(text=text, name="x.json")
    assert world("toc").facts["count"] == 0


@pytest.mark.design("001-36")
def test_a_work_context_in_the_first_line_is_one(world):
    """As the design writes it: the line leaves the text, and the search asks by it."""
    text = "work_context: debugging memory retrieval\n\n# Today\n\nIt was the stale lock."
    ref = world.write("api", text)
    read = world("read", id=ref).facts
    assert read["work_context"] == "debugging memory retrieval"
    assert read["content"] == "# Today\n\nIt was the stale lock."
    assert read["summary"] == "Today"
    again = world("write", path="api", entry=text, supersedes=f"notebook:{ref}").facts
    assert world("write", path="api", entry=text, supersedes=f"notebook:{ref}").facts["repeated"]
    assert world("read", id=again["id"]).facts["work_context"] == "debugging memory retrieval"


def test_a_first_line_that_names_another_context_stays_in_the_text(world):
    """What was given beside it goes before it, and nothing that was written is lost."""
    text = "work_context: one\n\nIt was the lock."
    read = world("read", id=world.write("api", text, work_context="two")).facts
    assert (read["work_context"], read["content"]) == ("two", text)
    alone = world("read", id=world.write("api", "work_context: one")).facts
    assert (alone["work_context"], alone["content"]) == ("", "work_context: one")


@pytest.mark.design("001-50")
def test_an_equal_work_context_is_as_near_as_can_be(world):
    """Of the context alone and the context with its summary the nearer one counts."""
    long = "Nothing else was thought of for two years, whatever anybody said about it"
    world.write("api", "REST it is.", work_context="designing an api", summary=long)
    (hit,) = world("search", work_context="designing an api").facts["results"]
    assert hit["work_context_score"] >= 0.95


@pytest.mark.design("001-09")
def test_what_links_to_a_text_is_said_where_it_is_read(world):
    """In words and as data, of a section and of an entry; of many the first twenty, and a count."""
    first = world("write", path="api", entry="Problem+json it is.").facts
    world("write", path="map", entry="Begun.", overview=f"Errors: {first['id']}, see [[api]].")
    links = [world("write", path="web", entry=f"As [[api]] says, {n}.").facts for n in range(21)]
    read = world("read", id="api")
    assert "\nLinked from:\n- The overview of map (notebook:map)\n- " in read.text
    assert f" As [[api]] says, 20. (notebook:{links[-1]['id']})\n" in read.text
    assert "\n- and 2 more\n" in read.text
    assert read.facts["backlink_count"] == 22
    shown = read.facts["backlinks"]
    assert (len(shown), shown[0]) == (20, {"id": "map", "type": "overview"})
    assert (shown[1]["id"], shown[1]["summary"]) == (links[-1]["id"], "As [[api]] says, 20.")
    entry = world("read", id=first["id"])
    assert "Linked from:\n- The overview of map (notebook:map)\n\nProblem+json it is." in entry.text
    assert entry.facts["backlinks"] == shown[:1]
    other = world("read", id="web")
    assert "Linked from" not in other.text
    assert (other.facts["backlinks"], other.facts["backlink_count"]) == ([], 0)


@pytest.mark.design("001-58")
def test_a_setting_that_cuts_a_larger_limit_says_so(open_world):
    """Only where there is more than it lets through, and more was asked for."""
    world = open_world(most=2)
    for number in range(2):
        world("write", path="api", entry=f"Errors are problem+json, {number}.")
    assert world("search", content="errors", limit=5).facts["notes"] == []
    world("write", path="api", entry="Errors are problem+json, 3.")
    said = "There are more hits than these 2: the setting `notebook.max_results` allows no more."
    answer = world("search", content="errors", limit=5)
    assert answer.facts["notes"] == [said]
    assert said in answer.text
    assert len(ids(answer)) == 2
    assert world("search", content="errors", limit=2).facts["notes"] == []
