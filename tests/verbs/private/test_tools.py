"""The private journal's tools: exact texts for a model, and the same facts for a program."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.former_texts import former_in

from commonplace.core.errors import Denied, Invalid, NotFound
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.roots import resolve_roots
from commonplace.journals.private.source import sources_of
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder
from commonplace.verbs.private.amend import PrivateAmender
from commonplace.verbs.private.service import READ_BUDGET, PrivateService
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot
from commonplace_testing.in_memory import MemoryIndex

NOW = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)


class Desk:
    """The tools over folders of their own, an index in memory and a clock that stands still."""

    def __init__(self, folder, *, home=True, slot=None, zone=UTC):
        self.user = folder / "home" / ".private-journal"
        self.project = folder / "project" / ".private-journal"
        self.temp = folder / "temp"
        self.temp.mkdir()
        self.clock = FrozenClock(NOW)
        roots = resolve_roots(
            home=folder / "home" if home else None, project=folder / "project", temp=self.temp
        )
        self.journal = PrivateJournal(
            roots=roots,
            zone=zone,
            clock=self.clock,
            keys=folder / "keys",
            random_micros=lambda: 109,
        )
        index = MemoryIndex().of_owner("me")
        slot = slot or ReadySlot(HashingEncoder())
        self.filing = Filing(
            index=index, sources=sources_of(self.journal), encoder=slot, holder="test"
        )
        self.tools = PrivateService(
            journal=self.journal,
            filing=self.filing,
            finder=Finder(index=index, encoder=slot, filing=self.filing),
            clock=self.clock,
            zone=zone,
            former=former_in(folder, self.clock),
        )

    def call(self, tool, **arguments):
        return self.tools.toolset(lambda: self.tools).tool(tool).call(arguments)

    def text(self, tool, **arguments):
        return self.call(tool, **arguments).text

    def write(self, at="", **thoughts):
        """The only ref or the refs of what was written."""
        refs = self.call("process_thoughts", at=at, **thoughts).facts["refs"]
        return refs[0] if len(refs) == 1 else refs

    def found(self, query, **rest):
        return [
            hit["ref"] for hit in self.call("search_journal", query=query, **rest).facts["results"]
        ]


@pytest.fixture
def desk(tmp_path):
    made = []

    def open_desk(**rest):
        folder = tmp_path / "desk"
        (folder / "home").mkdir(parents=True)
        (folder / "project").mkdir()
        made.append(Desk(folder, **rest))
        return made[-1]

    yield open_desk
    for each in made:
        each.filing.close()


@pytest.mark.design("000-36", "000-42")
def test_writing_says_so_and_names_each_ref_and_path(desk):
    """One line as the design has it, then a line for each file, the user's first."""
    mine = desk()
    answer = mine.call("process_thoughts", feelings="Relieved.", project_notes="Use WAL.")
    first, second = mine.journal.roots
    stem = "2026-11-21/23-19-45-015109"
    assert answer.text == (
        "Thoughts recorded successfully.\n"
        f"private:user/{stem} in {first.path}/{stem}.md\n"
        f"private:{second.scope}/{stem} in {second.path}/{stem}.md"
    )
    assert answer.facts == {
        "ref": f"private:user/{stem}",
        "text": (first.path / f"{stem}.md").read_text("utf-8"),
        "refs": [f"private:user/{stem}", f"private:{second.scope}/{stem}"],
        "at": "2026-11-21T23:19:45.015000+00:00",
        "repeated": False,
        "paths": [f"{first.path}/{stem}.md", f"{second.path}/{stem}.md"],
        "notes": [],
    }


@pytest.mark.design("000-41")
@pytest.mark.parametrize(
    "thoughts", [{}, {"feelings": ""}, {"feelings": " \n", "project_notes": "\t"}]
)
def test_nothing_to_write_is_refused_in_the_designs_words(desk, thoughts):
    """No file, no folder."""
    mine = desk()
    with pytest.raises(Invalid, match="At least one thought category must be provided"):
        mine.call("process_thoughts", **thoughts)
    assert not mine.user.exists()
    assert not mine.project.exists()


@pytest.mark.design("000-35")
def test_writing_without_an_encoder_says_what_is_missing(desk):
    """Recorded all the same, with the reason in a note and in the facts."""
    answer = desk(slot=ReadySlot(reason="The weights are on holiday.")).call(
        "process_thoughts", feelings="Relieved."
    )
    note = "Not found by meaning yet: The weights are on holiday."
    assert answer.text.startswith("Thoughts recorded successfully.\n")
    assert answer.text.endswith(f"\n\nNote: {note}")
    assert answer.facts["notes"] == [note]


def test_the_same_key_twice_is_one_entry(desk):
    """The second answer says that it was there, with the same refs."""
    mine = desk()
    first = mine.call("process_thoughts", feelings="Once.", idempotency_key="k")
    mine.clock.advance(60)
    again = mine.call("process_thoughts", feelings="Once.", idempotency_key="k")
    assert again.text.splitlines()[0] == (
        "These thoughts were already recorded with this idempotency_key."
    )
    assert again.facts == {**first.facts, "repeated": True}
    assert len(mine.found("Once")) == 1


@pytest.mark.parametrize(
    ("at", "instant"),
    [
        ("2026-11-20T08:30:00Z", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
        ("yesterday 9am", datetime(2026, 11, 20, 9, tzinfo=UTC)),
        ("2 days ago", None),
    ],
)
def test_thoughts_may_be_of_an_earlier_time(desk, at, instant):
    """An ISO time or a phrase; the entry lies in that day's folder."""
    mine = desk()
    answer = mine.call("process_thoughts", feelings="Then.", at=at)
    found = datetime.fromisoformat(answer.facts["at"])
    assert instant is None or found == instant
    assert found < NOW
    assert f"/{found.date()}/" in answer.facts["paths"][0]


@pytest.mark.parametrize("at", ["2026-11-23T00:00:00Z", "2030-01-01", "soonish", "at noon-ish"])
def test_a_future_or_unknown_time_is_refused(desk, at):
    """Nothing is written, and the hint says what fits."""
    mine = desk()
    with pytest.raises(Invalid) as caught:
        mine.call("process_thoughts", feelings="x", at=at)
    assert caught.value.hint
    assert not mine.user.exists()


@pytest.mark.design("000-49", "000-50", "000-51")
def test_a_search_shows_each_hit_as_the_design_has_it(desk):
    """Number, score, local time, type, sections, ref, path, excerpt."""
    mine = desk(zone=ZoneInfo("America/Los_Angeles"))
    mine.write(technical_insights="The harbour is quiet.", feelings="Calm.")
    path = f"{mine.journal.roots[0].path}/2026-11-21/15-19-45-015109.md"
    assert mine.text("search_journal", query="quiet harbour") == (
        "Found 1 relevant entry:\n\n"
        "1. [Score: 1.000] 2026-11-21 15:19 (user)\n"
        "   Sections: Feelings, Technical Insights\n"
        "   Ref: private:user/2026-11-21/15-19-45-015109\n"
        f"   Path: {path}\n"
        "   Excerpt: Calm.\n\nThe harbour is quiet.\n"
    )
    (hit,) = mine.call("search_journal", query="quiet harbour").facts["results"]
    assert hit["ref"] == "private:user/2026-11-21/15-19-45-015109"
    assert hit["at"] == "2026-11-21T23:19:45.015000+00:00"
    assert (hit["type"], hit["score"]) == ("user", 1.0)
    assert hit["sections"] == ["Feelings", "Technical Insights"]
    assert not {"by", "similarity", "legs"} & hit.keys()


def test_a_search_explains_its_scores_where_it_is_asked_to(desk):
    """In the text and in the facts: the shares add up."""
    mine = desk()
    mine.write(feelings="The harbour is quiet.")
    answer = mine.call("search_journal", query="quiet harbour", explain=True)
    (hit,) = answer.facts["results"]
    assert hit["by"] == "both"
    assert sum(hit["legs"].values()) == pytest.approx(1)
    legs = " + ".join(f"{share:.3f} {name}" for name, share in hit["legs"].items())
    said = f"   By both: 1.000 = {legs} (similarity {hit['similarity']:.3f})\n"
    assert said in answer.text


def test_a_search_without_a_hit_says_so(desk):
    """With the interval, if one was asked for."""
    mine = desk()
    assert mine.text("search_journal", query="harbour") == "No relevant entries found."
    assert mine.text("search_journal", query="harbour", when="yesterday") == (
        "No relevant entries found.\nTime: 2026-11-20 00:00 to 2026-11-21 00:00 (UTC)"
    )


@pytest.mark.design("000-47")
def test_every_time_phrase_shows_the_interval_it_was_read_as(desk):
    """In the owner's zone in the text, in UTC in the facts; hits lie inside."""
    mine = desk(zone=ZoneInfo("Asia/Kathmandu"))
    mine.write(at="2026-11-20T12:00:00Z", feelings="harbour inside")
    mine.write(at="2026-11-18T12:00:00Z", feelings="harbour before it")
    answer = mine.call("search_journal", query="harbour", when="2026-11-20")
    assert "Time: 2026-11-20 00:00 to 2026-11-21 00:00 (UTC+05:45)" in answer.text
    assert answer.facts["interval"] == {
        "since": "2026-11-19T18:15:00+00:00",
        "until": "2026-11-20T18:15:00+00:00",
    }
    assert [hit["excerpt"] for hit in answer.facts["results"]] == ["harbour inside"]
    assert len(mine.found("harbour", since="2026-11-20")) == 1
    assert len(mine.found("harbour", until="2026-11-19")) == 1
    assert len(mine.found("harbour", since="2026-11-18", until="2026-11-20")) == 2
    assert mine.call("search_journal", query="harbour").facts["interval"] is None
    with pytest.raises(Invalid):
        mine.call("search_journal", query="harbour", when="when pigs fly")


@pytest.mark.design("000-15", "000-45", "000-46")
def test_types_and_sections_narrow_a_search(desk):
    """Case, space, underscore and part of a heading do not matter; any of several is enough."""
    mine = desk()
    user, project = mine.write(technical_insights="harbour", project_notes="harbour pier")
    mine.clock.advance(1)
    felt = mine.write(feelings="harbour joy")
    assert set(mine.found("harbour", type="user")) == {user, felt}
    assert mine.found("harbour", type="project") == [project]
    assert set(mine.found("harbour", type="both")) == {user, project, felt}
    for name in ("technical_insights", "Technical Insights", "TECHNICAL", "insight"):
        assert mine.found("harbour", sections=[name]) == [user]
    assert mine.found("harbour", sections=["project notes"]) == [project]
    assert set(mine.found("harbour", sections=["feel", "project_notes"])) == {felt, project}
    assert mine.found("harbour", sections=["dreams"]) == []
    assert len(mine.found("harbour", limit=1)) == 1


@pytest.mark.design("000-55", "000-56")
def test_an_entry_is_read_by_path_and_by_ref(desk):
    """The file's own text; what is not there, or not ours, is refused with a reason."""
    mine = desk()
    ref = mine.write(feelings="Calm.")
    (path,) = mine.user.rglob("*.md")
    for asked in (ref, str(path)):
        answer = mine.call("read_journal_entry", path=asked)
        assert answer.text == path.read_text()
        assert answer.facts["text"] == path.read_text()
        assert answer.facts["ref"] == ref
    with pytest.raises(NotFound):
        mine.call("read_journal_entry", path="private:user/2026-11-21/00-00-00-000000")
    with pytest.raises(Denied):
        mine.call("read_journal_entry", path="/etc/hosts.md")


@pytest.mark.design("000-59", "000-60", "000-61", "000-62")
def test_a_list_is_newest_first_and_bounded_by_days(desk):
    """The design's lines; 150 characters of each; what is older than `days` is not shown."""
    mine = desk()
    old = mine.write(at="2026-10-20T12:00:00Z", feelings="long ago")
    mine.write(at="2026-11-20T12:00:00Z", feelings="y" * 151)
    new = mine.write(project_notes="now")
    user, project = (root.path for root in mine.journal.roots)
    assert mine.text("list_recent_entries") == (
        "Recent entries (last 30 days):\n\n"
        "1. 2026-11-21 23:19 (project)\n"
        "   Sections: Project Notes\n"
        f"   Ref: {new}\n"
        f"   Path: {project}/2026-11-21/23-19-45-015109.md\n"
        "   Excerpt: now\n\n"
        "2. 2026-11-20 12:00 (user)\n"
        "   Sections: Feelings\n"
        "   Ref: private:user/2026-11-20/12-00-00-000109\n"
        f"   Path: {user}/2026-11-20/12-00-00-000109.md\n"
        f"   Excerpt: {'y' * 150}...\n"
    )
    all_of_them = mine.call("list_recent_entries", days=60).facts
    assert [entry["ref"] for entry in all_of_them["entries"]][-1] == old
    assert all_of_them["count"] == 3
    assert mine.call("list_recent_entries", limit=1).facts["count"] == 1
    assert mine.call("list_recent_entries", type="user").facts["count"] == 1


@pytest.mark.design("000-65")
def test_an_empty_list_says_how_far_it_looked(desk):
    """It needs no model, and no folder."""
    mine = desk(slot=ReadySlot())
    assert mine.text("list_recent_entries", days=7) == "No entries found in the last 7 days."
    assert mine.text("list_recent_entries", days=1) == "No entries found in the last day."


def test_a_list_of_a_time_shows_the_interval_it_was_read_as(desk):
    """`when` stands in place of `days`; in the owner's zone in the text, in UTC in the facts."""
    mine = desk(zone=ZoneInfo("Asia/Kathmandu"))
    mine.write(at="2026-09-30T18:14:59Z", feelings="before it")
    first = mine.write(at="2026-09-30T18:15:00Z", feelings="its first second")
    last = mine.write(at="2026-10-31T18:14:59Z", feelings="its last second")
    mine.write(at="2026-10-31T18:15:00Z", feelings="after it")
    answer = mine.call("list_recent_entries", when="in october", days=1)
    assert [entry["ref"] for entry in answer.facts["entries"]] == [last, first]
    assert answer.facts["days"] is None
    assert answer.facts["interval"] == {
        "since": "2026-09-30T18:15:00+00:00",
        "until": "2026-10-31T18:15:00+00:00",
    }
    assert answer.text.startswith(
        "Entries, newest first:\nTime: 2026-10-01 00:00 to 2026-11-01 00:00 (UTC+05:45)\n\n1. "
    )
    assert mine.text("list_recent_entries", when="2026-08") == (
        "No entries found.\nTime: 2026-08-01 00:00 to 2026-09-01 00:00 (UTC+05:45)"
    )
    with pytest.raises(Invalid, match="Invalid when: unknown time phrase: 'a few days ago'"):
        mine.call("list_recent_entries", when="a few days ago")


def test_recent_entries_are_read_whole_within_a_budget(desk):
    """What does not fit is named, never cut; an entry that alone is too long is named too."""
    mine = desk()
    refs = []
    for hour in range(4):
        refs.append(mine.write(at=f"2026-11-20T{hour:02}:00:00Z", feelings=f"{hour}" * 6000))
    answer = mine.call("read_recent_entries")
    assert answer.facts["count"] == 2
    assert [entry["ref"] for entry in answer.facts["entries"]] == refs[:1:-1]
    assert answer.facts["left_out"] == refs[1::-1]
    assert answer.text.startswith("--- Entry 1 (2026-11-20 03:00, user) ---\nRef: ")
    assert "3" * 6000 in answer.text
    assert "Left out to stay within 16,000 characters, read them one by one:" in answer.text
    assert sum(len(entry["text"]) for entry in answer.facts["entries"]) <= READ_BUDGET
    mine.write(feelings="x" * (READ_BUDGET + 1))
    assert mine.call("read_recent_entries", limit=1).facts["count"] == 0
    assert "Left out" in mine.text("read_recent_entries", limit=1)
    assert mine.call("read_recent_entries", limit=1, type="project").text == (
        "No recent entries found."
    )


@pytest.mark.design("000-18")
def test_every_answer_names_a_root_that_may_be_lost(desk):
    """Without a home the folder under temp stands in each answer, as a note and in the facts."""
    mine = desk(home=False)
    ref = mine.write(feelings="Calm.")
    for tool, arguments in (
        ("process_thoughts", {"feelings": "More."}),
        ("search_journal", {"query": "calm"}),
        ("search_journal", {"query": "zebra", "type": "project"}),
        ("read_journal_entry", {"path": ref}),
        ("list_recent_entries", {}),
        ("list_recent_entries", {"type": "project"}),
        ("read_recent_entries", {}),
    ):
        answer = mine.call(tool, **arguments)
        assert str(mine.temp) in answer.text.rpartition("\nNote: ")[2], tool
        assert any(str(mine.temp) in note for note in answer.facts["notes"])


def test_text_and_facts_hold_the_same(desk):
    """Each hit of the facts stands in the text with its score, ref, path and excerpt, in that order."""
    mine = desk()
    for minutes, words in enumerate(["harbour", "harbour pier", "harbour pier boat", "wood"]):
        mine.write(at=(NOW - timedelta(minutes=minutes)).isoformat(), feelings=words)
    answer = mine.call("search_journal", query="harbour pier", floor=-1)
    blocks = re.findall(
        r"^(\d+)\. \[Score: (\d\.\d{3})\] (\S+ \S+) \((\w+)\)\n   Sections: (.*)\n"
        r"   Ref: (.*)\n   Path: (.*)\n   Excerpt: (.*)$",
        answer.text,
        re.MULTILINE,
    )
    facts = [
        (
            str(number),
            f"{hit['score']:.3f}",
            f"{datetime.fromisoformat(hit['at']):%Y-%m-%d %H:%M}",
            hit["type"],
            ", ".join(hit["sections"]),
            hit["ref"],
            hit["path"],
            hit["excerpt"],
        )
        for number, hit in enumerate(answer.facts["results"], 1)
    ]
    assert blocks == facts
    assert answer.facts["count"] == len(facts) == 4


def test_an_edit_and_a_deletion_reach_the_search(desk):
    """The verbs for people: the new words are found, the old are not, and a deletion is complete."""
    mine = desk()
    ref = mine.write(feelings="harbour")
    amender = PrivateAmender(mine.tools)
    amender.edit_read(mine.tools.open_entry(ref), "## Feelings\n\nmountain")
    assert mine.found("mountain") == [ref]
    assert mine.found("harbour", floor=1) == []
    assert amender.delete_read(ref).text == f"Deleted {ref}."
    assert mine.found("mountain") == []
    with pytest.raises(NotFound):
        amender.delete_read(ref)
