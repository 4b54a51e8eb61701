"""Recall over two indexes: memory in Postgres, everything else on this machine."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from server.tests.two_homes import ask, settings_in
from tests.doors.web.web_world import WebWorld, words_of

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.errors import NotFound
from commonplace.journals.memory.records import RecordDraft
from commonplace_server.index.index import PostgresOwnerIndex
from commonplace_testing import HashingEncoder, ReadySlot


@pytest.fixture
def app(database, tmp_path):
    settings = read_settings(
        environ={
            "COMMONPLACE_HOME": str(tmp_path / "data"),
            "COMMONPLACE_DATABASE_URL": database.app_url,
            "COMMONPLACE_TIMEZONE": "UTC",
        },
        cwd=Path.cwd(),
        home=Path.home(),
    )
    app = App(settings, user_home=Path.home(), encoder=ReadySlot(HashingEncoder()))
    yield app
    app.close()


def test_one_question_finds_what_lies_in_both(app, database):
    """A log line and a thing to do, in one order; the status counts both; a ref of each opens."""
    app.chronicle.toolset().tool("add_entry").call({"message": "repaired the harbour gate"})
    store = app.memory.journal
    saved = store.save(RecordDraft(kind="todo", fields={"title": "paint the harbour gate"}))
    store.save(RecordDraft(kind="todo", fields={"title": "buy bread"}))
    found = app.recall.tools.recall(query="harbour gate").facts["results"]
    assert {hit["journal"] for hit in found} == {"chronicle", "memory"}
    assert f"memory:todo/{saved.ref_id}" in {hit["ref"] for hit in found}
    scores = [hit["score"] for hit in found]
    assert scores == sorted(scores, reverse=True)
    counted = {
        each["journal"]: each["entries"] for each in app.recall.status().answer.facts["journals"]
    }
    assert (counted["chronicle"], counted["memory"]) == (1, 2)
    for hit in found[:2]:
        assert "harbour gate" in app.recall.tools.open_ref(ref=hit["ref"]).text
    only = app.recall.tools.recall(query="harbour gate", journals=["memory"]).facts["results"]
    assert {hit["journal"] for hit in only} == {"memory"}
    left = app.recall.tools.recall(query="what is left to do", explain=True).facts["results"]
    assert [hit["by"] for hit in left] == ["kind", "kind", left[2]["by"]]
    assert {hit["excerpt"] for hit in left[:2]} == {"paint the harbour gate", "buy bread"}


def test_the_other_journals_answer_while_the_database_is_away(app, database):
    """What cannot be looked at is told, and takes nothing along."""
    app.chronicle.toolset().tool("add_entry").call({"message": "repaired the harbour gate"})
    app.recall.tools.recall(query="harbour")
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        conn.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM commonplace_app")
    answer = app.recall.tools.recall(query="harbour gate").facts
    assert [hit["journal"] for hit in answer["results"]] == ["chronicle"]
    assert any("Not everything can be found yet" in note for note in answer["notes"])
    assert "Not searched, since its index gives no answer now: memory." in answer["notes"]
    tools = app.recall.tools
    for nothing in (tools.recall(query="zebra", kinds=["todo"]), tools.list_by_time(when="1999")):
        assert "Note: Not searched" in nothing.text
        assert "No entries found" not in nothing.text


def test_the_other_journals_answer_where_no_database_can_be_opened(tmp_path):
    """An address that Postgres does not take costs memory alone, which is named."""
    settings = settings_in(tmp_path, **{"database.url": "nowhere"})
    slot = ReadySlot(HashingEncoder())
    with closing(App(settings, user_home=tmp_path, encoder=slot)) as app:
        ask(app, "add_entry", message="repaired the harbour gate")
        answer = ask(app, "recall", query="harbour gate")
    assert [hit["journal"] for hit in answer.facts["results"]] == ["chronicle"]
    assert "memory" in answer.facts["missing"]


def test_a_page_says_what_was_not_searched_in_place_of_finding_nothing(words_only, monkeypatch):
    """As the tools do."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://app@127.0.0.1:1/m")
    with closing(WebWorld()) as world:
        words = words_of(world.browser().get("/search", params={"q": "zebra"}))
    assert "Not searched" in words
    assert "No entries found" not in words


def test_a_served_user_is_answered_where_the_disk_takes_nothing(one):
    """All of theirs lies in the database: no index can be made here, as on a full disk."""
    folder = one.shared.reach_of("ann")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index").touch()
    ref = (
        one.toolset("chronicle").tool("add_entry").call({"message": "oiled the gate"}).facts["ref"]
    )
    for call in ({"query": "gate"}, {"query": "gate", "journals": ["chronicle"]}):
        answer = one.toolset("recall").tool("recall").call(call).facts
        assert [hit["ref"] for hit in answer["results"]] == [ref]
        assert answer["notes"] == []


def test_an_index_without_entries_is_not_searched(one):
    """None is made as a server warms up; where one is left, it is not asked."""
    one.warm_up()
    assert not one.shared.has_index("ann")
    one.finder.warm()  # as a server of a former version did
    assert one.shared.has_index("ann")
    assert isinstance(one.recall.service().index, PostgresOwnerIndex)


SAID = "The blue door behind the bakery opens with four seven one one, Ann said so to me."


def test_what_is_forgotten_is_in_no_row(app, database):
    """Of a memory in Postgres; a log line in the same words is named, and the server's files are."""
    saved = app.memory.journal.save(RecordDraft(kind="gratitude", fields={"text": SAID}))
    log = app.chronicle.toolset().tool("add_entry").call({"message": SAID}).facts["ref"]
    ref = f"memory:gratitude/{saved.ref_id}"
    service = app.forgetting()
    plan = service.plan([ref])
    assert plan.same_words == (log,)
    assert any("Postgres" in each for each in plan.unreached)
    service.carry_out(plan)
    assert rows_with(database, "bakery") == []
    with pytest.raises(NotFound):
        app.amend.read_text(ref)
    assert service.carry_out(service.plan([log])).is_clean


def test_a_memory_in_postgres_expires(app, database):
    """Whatever is asked next forgets it first."""
    save = app.toolset("memory-write").tool("memory_save")
    save.call({"kind": "todo", "title": SAID, "expires": "in 2 days"})
    assert rows_with(database, "bakery")
    ((ref, _),) = app.expiring.list_expiring()
    app.expiring.book.keep(ref, 1.0)
    app.toolset("recall").tool("recall").call({"query": "blue door"})
    assert rows_with(database, "bakery") == []


def rows_with(database, word):
    """The tables of which a row holds a word."""
    found = []
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        for (name,) in conn.execute(asked).fetchall():
            query = f'SELECT count(*) FROM "{name}" AS row WHERE row::text ILIKE %s'
            (count,) = conn.execute(query, [f"%{word}%"]).fetchone()
            found += [name] * bool(count)
    return found
