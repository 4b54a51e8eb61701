"""Asked as of an instant, an answer is that of a home in which nothing later was ever written."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from tests.seeds import seeds
from tests.verbs.recall_world import ALL, ask, refs
from tests.verbs.test_amend import EVERY, EVERY_STORE, EXPORT, superseding, write

from commonplace.core.errors import Invalid
from commonplace.journals.transcripts.message import Message, time_of
from commonplace.verbs.chronicle.commands import ChronicleCommands

TOOLSETS = f"{ALL},transcripts"
WORDS = (
    *("quokka", "wombat", "harbour", "tide", "port", "leaf", "burrow", "engine", "lamp", "moth"),
    *("deploy", "rollback", "cache", "queue", "token", "letter"),
)
DAY = 86_400


@pytest.fixture
def app(world, environ):
    return world.open(COMMONPLACE_TOOLSETS=TOOLSETS, **environ)


def instant(world):
    """The present as a phrase that names it to the second."""
    return world.clock().astimezone(UTC).isoformat(timespec="seconds")


class Writer:
    """Writes at random into every journal: for now, backdated, and in the place of others."""

    def __init__(self, world, seed):
        self.world = world
        self.random = random.Random(seed)
        self.holds = {journal: [] for journal in EVERY}
        self.said = 0

    def sentence(self):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(4, 12))) + "."

    def step(self, app, *, backdates_timeline):
        self.world.clock.advance(self.random.randint(1, 7 * 3600))
        journal = self.random.choice([*EVERY, "transcripts"])
        act = self.random.choice(["write", "write", "past", "supersede", "correct"])
        if journal == "transcripts":
            self.say(app)
        elif act in {"supersede", "correct"} and self.holds[journal]:
            old = self.holds[journal].pop(self.random.randrange(len(self.holds[journal])))
            if act == "supersede":
                new = superseding(app, journal, old, self.sentence())
            elif journal == "timeline" and not backdates_timeline:
                self.holds[journal].append(old)
                return
            else:
                new = app.amend.supersede(old, self.sentence()).ref
            self.holds[journal].append(new)
        elif act == "past" and (journal != "timeline" or backdates_timeline):
            self.holds[journal].append(self.backdated(app, journal))
        else:
            self.holds[journal].append(write(app, journal, self.sentence()))

    def backdated(self, app, journal):
        days = self.random.randint(2, 300)
        match journal:
            case "private":
                tool, name = "process_thoughts", "feelings"
            case "chronicle":
                tool, name = "add_entry", "message"
            case "timeline":
                tool, name = "timeline_add", "content"
            case "memory":
                at = f"{days} days ago"
                facts = ask(app, "memory_save", kind="todo", title=self.sentence(), at=at).facts
                return facts["ref"]
            case "notebook":
                at = self.world.clock() - timedelta(days=days)
                written = app.notebook.service().notebook.write("zoo/day", self.sentence(), at=at)
                app.notebook.service().file(written)
                return written.entry.ref
        facts = ask(app, tool, **{name: self.sentence()}, at=f"{days} days ago").facts
        return facts["refs"][0] if journal == "private" else facts["ref"]

    def say(self, app):
        """A turn of a session; some are copied long after they were said."""
        self.said += 1
        ago = self.random.choice([0, 0, 400 * DAY])
        at = time_of(self.world.clock().timestamp() - ago)
        message = Message(id=f"m{self.said}", role="user", at=at, text=self.sentence())
        app.transcripts.store.append("claude-code", f"s{self.said % 3}", [message])


def answers(app, **more):
    """What every search answers to several questions: recall, and each journal's own."""
    found = {}
    for query in ("quokka harbour tide", "deploy rollback", "lamp", "what is new", "open todos"):
        found[query] = shown(ask(app, "recall", query=query, limit=8, **more))
    found["list"] = shown(ask(app, "list_by_time", limit=30, **more))
    own = {
        "search_journal": {"query": "quokka tide"},
        "search_entries": {"text": "quokka tide"},
        "journal_search": {"content": "quokka tide"},
    }
    for tool, asked in own.items():
        found[tool] = shown(ask(app, tool, **asked, **more))
    return found


def shown(answer):
    """An answer less the line and the fact that name the instant."""
    lines = [line for line in answer.text.splitlines() if not line.startswith("As of ")]
    return lines, {name: fact for name, fact in answer.facts.items() if name != "as_of"}


@pytest.mark.parametrize("seed", seeds(1, long=range(2, 6), whole=range(6, 16)))
def test_an_answer_as_of_then_is_that_of_a_home_with_nothing_later(world, counted, seed):
    """The same hits in the same order with the same words, also over an index built again."""
    app = world.open(COMMONPLACE_TOOLSETS=TOOLSETS)
    writer = Writer(world, seed)
    for _ in range(45):
        writer.step(app, backdates_timeline=True)
    app.timeline.service().catch_up()
    app.filing.sweep()
    world.clock.advance(60)
    then = instant(world)
    world.close()
    kept, later = world.folder / "kept", world.folder / "later"
    shutil.copytree(world.home, kept, symlinks=True)
    shutil.copytree(world.folder / "project", world.folder / "kept project")

    world.clock.advance(1)
    app = world.open(COMMONPLACE_TOOLSETS=TOOLSETS)
    for _ in range(45):
        writer.step(app, backdates_timeline=False)
    app.filing.sweep()
    full = answers(app, as_of=then)
    everything = answers(app)
    app.index.clear()
    app.filing.sweep()
    rebuilt = answers(app, as_of=then)
    world.close()

    world.home.rename(later)
    kept.rename(world.home)
    (world.folder / "project").rename(world.folder / "later project")
    (world.folder / "kept project").rename(world.folder / "project")
    app = world.open(COMMONPLACE_TOOLSETS=TOOLSETS)
    app.filing.sweep()
    expected = answers(app)
    assert full == expected
    assert rebuilt == expected
    assert everything != expected
    counted("random homes asked as of an earlier time", 1)


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_what_took_a_place_later_does_not_count(world, app, journal):
    """The former stands alone, and names no successor; the present knows both."""
    old = write(app, journal, "The quokka API listens on port 8000.")
    then = instant(world)
    world.clock.advance(3 * DAY)
    new = superseding(app, journal, old, "The quokka API moved: it listens on port 9000.")
    answer = ask(app, "recall", query="quokka API port", as_of="2026-11-22")
    assert answer.text.startswith("As of 2026-11-23 00:00: what was written later does not count.")
    assert refs(answer) == [old]
    assert "replaced by" not in answer.text
    assert refs(ask(app, "recall", query="quokka API port", as_of=then)) == []
    assert refs(ask(app, "recall", query="quokka API port", as_of="today")) == [new, old]


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_the_time_of_writing_counts_and_not_the_time_an_entry_is_of(world, app, journal):
    """What is logged afterwards was not known at its time; the index built again knows as much."""
    ref = Writer(world, 1).backdated(app, journal)
    asked = {"query": " ".join(WORDS), "as_of": "yesterday"}
    assert refs(ask(app, "recall", **asked)) == []
    assert refs(ask(app, "recall", **{**asked, "as_of": "today"})) == [ref]
    app.index.clear()
    app.filing.sweep()
    assert refs(ask(app, "recall", **asked)) == []


@pytest.mark.parametrize("journal", ["chronicle", "timeline", "memory"])
def test_a_correction_counts_from_when_it_was_written(world, app, journal):
    """Though it bears the time of the entry that it puts right."""
    old = write(app, journal, "The quokka slept.")
    world.clock.advance(3 * DAY)
    new = app.amend.supersede(old, "The quokka dug.").ref
    assert refs(ask(app, "recall", query="quokka", as_of="yesterday")) == [old]
    assert refs(ask(app, "recall", query="quokka"))[0] == new


def test_an_entry_of_a_time_to_come_counts_from_when_it_was_written(world, app):
    """A plan for next week was known today."""
    service = app.chronicle.service()
    added = service.chronicle.add_event("The quokka flies.", at=world.clock() + timedelta(days=7))
    app.filing.sweep()
    world.clock.advance(DAY)
    assert refs(ask(app, "recall", query="quokka", as_of="yesterday")) == [added.event.ref]


def test_an_import_counts_from_when_it_was_made(world, app):
    """With the times that its entries are of: this home did not know them before."""
    ChronicleCommands(app.chronicle.service()).import_export(EXPORT.replace("NAME", "quokka"))
    world.clock.advance(DAY)
    assert refs(ask(app, "recall", query="quokka", as_of="2026-04")) == []
    assert len(refs(ask(app, "recall", query="quokka", as_of="yesterday"))) == 1


def test_what_was_said_counts_at_once_and_an_old_session_from_its_copying(world, app):
    """A turn that is copied within a day was known when it was said."""
    now = world.clock().timestamp()
    turns = [
        Message(id="a", role="user", at=time_of(now - 3600), text="the quokka sleeps"),
        Message(id="b", role="user", at=time_of(now - 400 * DAY), text="the quokka wakes"),
    ]
    app.transcripts.store.append("claude-code", "s", turns)
    before = (world.clock() - timedelta(minutes=30)).astimezone(UTC).isoformat()
    assert refs(ask(app, "recall", query="quokka", as_of=before)) == ["transcripts:claude-code/s#1"]
    assert len(refs(ask(app, "recall", query="quokka"))) == 2


def test_an_overview_counts_while_nothing_came_to_its_section_since(world, app):
    """What it said then is in git's history alone."""
    writing = app.notebook.service().notebook
    writing.write("zoo/night", "The quokka slept.", overview="Quokkas sleep at noon.")
    app.filing.sweep()
    world.clock.advance(3 * DAY)
    found = refs(ask(app, "recall", query="quokkas sleep at noon", as_of="yesterday"))
    assert found[0] == "notebook:zoo/night"
    writing.write("zoo/night", "The quokka woke.")
    found = refs(ask(app, "recall", query="quokkas sleep at noon", as_of="yesterday"))
    assert len(found) == 1
    assert found[0].startswith("notebook:zoo/night#")


OWN_SEARCHES = (
    ("search_journal", "query"),
    ("search_entries", "text"),
    ("journal_search", "content"),
    ("timeline_search", "query"),
    ("memory_search", "query"),
)


def test_a_phrase_that_names_no_time_is_refused_by_name(app, subtests):
    """Before anything is searched."""
    write(app, "notebook")
    for tool, name in (("recall", "query"), *OWN_SEARCHES):
        with subtests.test(tool), pytest.raises(Invalid, match="as_of"):
            ask(app, tool, **{name: "quokka"}, as_of="the other day or so")


def test_each_journals_own_search_is_asked_as_of_then(world, app):
    """And says so, in words and in its facts."""
    for journal in EVERY:
        write(app, journal, f"The quokka of {journal} sleeps.")
    world.clock.advance(3 * DAY)
    for journal in EVERY:
        write(app, journal, f"The quokka of {journal} wakes.")
    app.filing.sweep()
    for tool, name in OWN_SEARCHES:
        answer = ask(app, tool, **{name: "quokka"}, as_of="yesterday")
        assert "As of 2026-11-24 00:00" in answer.text
        assert "sleeps" in answer.text
        assert "wakes" not in answer.text
        facts = answer.facts.get("payload", answer.facts)
        assert datetime.fromisoformat(facts["as_of"]) == datetime(2026, 11, 24, 8, tzinfo=UTC)
    with pytest.raises(Invalid, match="goes with a text"):
        ask(app, "search_entries", as_of="yesterday")
    blank = ask(app, "timeline_search", as_of="yesterday", entry_types=["raw"])
    assert "sleeps" in blank.text
    assert "wakes" not in blank.text
