"""All that can be written into a space names its author, at each door that shows it."""

from __future__ import annotations

import json

import psycopg
import pytest
from server.tests.databases import SERIES
from server.tests.two_homes import ask
from tests.patience import until

from commonplace.core.spaces import Member, at_work
from commonplace.journals.table import OF_SPACES
from commonplace_server.postgres.migrate import migrate_postgres

TEAM = "space:team"
ANN, BOB = (Member(name=name, may_delete=False) for name in ("ann", "bob ä"))
WRITES = {
    "add_entry": {"message": "Moved the quokka site to Hetzner."},
    "remember_this": {"activity": "Fixed the quokka pump, says bob."},
    "journal_write": {
        "path": "hosting",
        "entry": "The quokka site is at Hetzner.",
        "overview": "All of quokka hosting is at Hetzner.",
    },
    "timeline_add": {"content": "Signed the quokka contract.", "metadata": {"author": "bob ä"}},
    "timeline_profile": {"text": "A team that feeds one quokka."},
    "amend": {},  # below: what it writes depends on whose text it is given
}


def fill(app):
    """Write each kind of thing there is; who wrote it, by its ref."""
    with at_work(ANN):
        answers = {tool: ask(app, tool, **given) for tool, given in WRITES.items() if given}
    [log, done, note, happened, profile] = [next(iter(x.written)) for x in answers.values()]
    authors = dict.fromkeys([log, done, note, happened, profile, "notebook:hosting"], "ann")
    with at_work(BOB):
        for ref, how in ((log, {}), (done, {"supersede": True}), (happened, {}), (note, {})):
            given = {"ref": ref, "text": f"Of {ref}: a quokka.", **how}
            authors[ask(app, "amend", **given).facts["ref"]] = "bob ä"
        given = {"path": "food", "entry": "A quokka eats leaves.", "overview": "Leaves."}
        authors[ask(app, "journal_write", **given).facts["ref"]] = "bob ä"
        ask(app, "amend", ref="notebook:food", text="Leaves, says the quokka book.")
        authors["notebook:food"] = "bob ä"
    with at_work(ANN):  # an entry alone leaves the overview as it was
        note = ask(app, "journal_write", path="food", entry="The quokka ate.")
        authors[note.facts["ref"]] = "ann"
    return authors


def ref_in(row):
    """The ref that a row of a list has."""
    return row.get("ref") or f"notebook:{row['id']}"


LISTS = {
    "recall": ({"query": "quokka", "limit": 50, "budget_tokens": 20_000}, "results"),
    "list_by_time": ({"when": "today", "limit": 50}, "results"),
    "timeline_range": ({"when": "today"}, "entries"),
    "timeline_search": ({"query": "quokka"}, "results"),
    "journal_list_entries": ({"path": "food"}, "entries"),
    "journal_search": ({"content": "quokka"}, "results"),
    "list_entries": ({}, "entries"),
    "search_entries": ({"text": "quokka"}, "entries"),
    "find_when_i": ({"what": "fixed the quokka pump"}, "entries"),
    "what_was_i_doing": ({}, "entries"),
}


SAY_NO_ENTRY = {"journal_toc", "journal_synthesize_conflict", "timeline_rollup", "timeline_trends"}


def listed(app):
    """The refs that any list shows."""
    asked = [(key, ask(app, tool, **given)) for tool, (given, key) in LISTS.items()]
    return {ref_in(row) for key, answer in asked for row in answer.facts[key]}


def unnamed(app, authors):
    """The doors of tools that show something without its author, each with its ref."""
    # A search files what is new for some seconds at the most, which is not all on a busy machine.
    until(lambda: listed(app) >= authors.keys(), "all to be filed")
    found = set()
    for ref, author in authors.items():
        page = ask(app, "open_ref", ref=ref)
        if page.facts["author"] != author or f" by {author}" not in page.text:
            found.add(("open_ref", ref))
        if ref.startswith("notebook:"):
            read = ask(app, "journal_read", id=ref.removeprefix("notebook:"))
            if read.facts["author"] != author or f" by {author}" not in read.text:
                found.add(("journal_read", ref))
    for tool, (given, key) in LISTS.items():
        answer = ask(app, tool, **given)
        rows = {ref_in(x): x for x in answer.facts[key]}
        for ref, row in rows.items():
            if ref in authors and row.get("author", row.get("username")) != authors[ref]:
                found.add((tool, ref))
        if {authors[x] for x in rows.keys() & authors} - {*named_in(answer.text)}:
            found.add((tool, "its text"))
    pages = {x.uri: x for each in app.toolsets() for x in each.resources}
    summary = pages["chronicle://today-summary"].read()
    if not all(f" by {each}" in summary for each in ("ann", "bob ä")):
        found.add(("today-summary", ""))
    context = ask(app, "timeline_context", query="quokka contract").text
    if f" by {authors[next(x for x in authors if x.startswith('timeline:'))]}" not in context:
        found.add(("timeline_context", ""))
    return found


def named_in(text):
    """The authors that a text names."""
    return [each.name for each in (ANN, BOB) if each.name in text]


def moved(app, into):
    """Export all of a space, and import it into another; how many items."""
    count = 0
    for journal in ("chronicle", "notebook", "timeline"):
        of, to = (getattr(x, journal).portable() for x in (app, into))
        items = [*of.export_items(None)]
        count += to.import_items(iter(items))
    return count


def test_every_tool_of_a_space_is_in_a_table(servers):
    """A new one must say here how an author is named by it."""
    tools = [
        each for x in servers("one", TEAM).toolsets() if x.name in OF_SPACES for each in x.tools
    ]
    writing = {tool.name for tool in tools if tool.effects.writes}
    assert writing == {*WRITES}
    reading = {"open_ref", "journal_read", "timeline_context", *LISTS}
    assert {tool.name for tool in tools} - writing - SAY_NO_ENTRY == reading


@pytest.mark.parametrize("given", [{"url": ""}, {}], ids=["files", "database"])
def test_who_writes_alone_is_no_author_that_metadata_name(servers, given):
    """Of one person's entry `author` is a value like others, at every door."""
    app = servers("one", **given)
    ask(app, "timeline_profile", text="Ann feeds a quokka.")
    said = {"content": "Signed the quokka contract.", "metadata": {"author": "bob ä"}}
    ref = ask(app, "timeline_add", **said).facts["ref"]
    page = ask(app, "open_ref", ref=ref)
    assert (page.facts["author"], "bob" in page.text) == ("", False)
    for tool in ("recall", "list_by_time", "timeline_range", "timeline_search"):
        asked, key = LISTS[tool]
        answer = ask(app, tool, **asked)
        assert "bob" not in answer.text
        assert {x.get("author", "") for x in answer.facts[key] if x.get("ref") == ref} <= {""}


@pytest.mark.parametrize(("place", "other"), [("files", "database"), ("database", "files")])
def test_all_that_is_in_a_space_names_its_author(servers, place, other):
    """In files and in a database, and so after an export from the one into the other."""
    urls = {"files": {"url": ""}, "database": {}}
    app = servers(place, TEAM, **urls[place])
    authors = fill(app)
    with at_work(BOB):
        assert unnamed(app, authors) == set()
    into = servers(other, TEAM, **urls[other])
    assert moved(app, into)
    with at_work(ANN):
        assert unnamed(into, authors) == set()


def test_the_pages_name_them_too(browse):
    """Those of each entry and overview, the lists of the log, of a day and of a search."""
    apps, tokens, web = browse()
    with apps.using(TEAM) as app:
        authors = fill(app)
    key = tokens.create(TEAM, member="eve")[1]
    assert web.post("/web/enter", data={"key": key}).status_code == 303
    for ref, author in authors.items():
        assert f"by {author}" in web.get("/web/entry", params={"ref": ref}).text
    section = web.get("/web/notebook/section", params={"name": "food"}).text
    assert "Overview by bob ä" in section
    assert ">by ann<" in section
    assert " by ann. <" in web.get("/web/timeline").text
    for page in ("/web/chronicle", "/web/", "/web/search?q=quokka"):
        for name in ("ann", "bob ä"):
            until(lambda at=page, by=f"by {name}": by in web.get(at).text, f"{name} at {page}")


def test_the_pages_of_one_person_do_not_name_them(browse):
    """Every entry of theirs would say so; of another's, as one that was imported, the page does."""
    apps, tokens, web = browse()
    with apps.using("ann") as app:
        ref = ask(app, "add_entry", message="The quokka was fed.").facts["ref"]
        ask(app, "journal_write", path="food", entry="The quokka ate.", overview="It eats.")
    assert web.post("/web/enter", data={"key": tokens.create("ann")[1]}).status_code == 303
    for page in (f"/web/entry?ref={ref}", "/web/notebook/section?name=food"):
        shown = web.get(page).text
        assert ("quokka" in shown, "by ann" in shown) == (True, False), page


@pytest.mark.usefixtures("postgres_template")  # the roles
def test_an_overview_from_before_is_by_who_wrote_its_entry(empty_database):
    """One that came without an entry is by nobody who is known; nothing is filed once more."""
    before, after = ({**SERIES, "entries": SERIES["entries"][:count]} for count in (9, 10))
    migrate_postgres(empty_database.admin_url, before)
    more = json.dumps({"author": "ann", "address": "ann@localhost"})
    with psycopg.connect(empty_database.admin_url) as conn:
        conn.execute("SELECT set_config('app.user_id', %s, true)", (TEAM,))
        conn.execute(
            "INSERT INTO cp_entries (user_id, journal, id, at, nanos, written_at, scope,"
            " body, tags, supersedes, more, folded) VALUES (%s, 'notebook', 'e', now(), 0,"
            " now(), 's', 'x', '{}', '', %s, '{}')",
            (TEAM, more),
        )
        conn.execute(
            "INSERT INTO cp_overviews (user_id, section, number, version, body, links, entry_id,"
            " after, written_at) SELECT %s, 's', n, '', 'x', '{}', id, 1, now()"
            " FROM (VALUES (1, 'e'), (2, '')) AS known (n, id)",
            (TEAM,),
        )
        filed = conn.execute("SELECT ref_id, changes FROM wb_outbox ORDER BY 1").fetchall()
    assert migrate_postgres(empty_database.admin_url, after) == ["entries 0010 overview_authors"]
    with psycopg.connect(empty_database.admin_url) as conn:
        conn.execute("SELECT set_config('app.user_id', %s, true)", (TEAM,))
        asked = "SELECT number, author, address FROM cp_overviews ORDER BY 1"
        assert conn.execute(asked).fetchall() == [(1, "ann", "ann@localhost"), (2, "", "")]
        assert conn.execute("SELECT ref_id, changes FROM wb_outbox ORDER BY 1").fetchall() == filed
