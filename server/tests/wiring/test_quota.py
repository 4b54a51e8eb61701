"""What an owner keeps in the database is counted, and what would go over the quota is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from server.tests.databases import SERIES
from server.tests.two_homes import ask
from tests.journals.transcripts.sessions import said

from commonplace.core.errors import Denied
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.wiring.database_measures import measure_pool

KEPT = "SELECT entries, bytes FROM cp_kept WHERE user_id = %s"
COUNTED = """
SELECT sum(entries)::bigint, sum(bytes)::bigint FROM (
    SELECT user_id, 1, octet_length(body || more || scope || array_to_string(tags, ' '))
        FROM cp_entries WHERE coalesce(level, 0) = 0
    UNION ALL SELECT user_id, 0, octet_length(body || section) FROM cp_overviews
    UNION ALL SELECT user_id, 1, octet_length(title) FROM wb_todo
    UNION ALL SELECT user_id, 1, octet_length(language || coalesce(religion, '') || flags)
        FROM wb_preferences
) AS each (user_id, entries, bytes) WHERE user_id = %s
"""

ADDS = (
    ("process_thoughts", {"feelings": "of a quokka"}),
    ("add_entry", {"message": "saw a quokka"}),
    ("journal_write", {"path": "b", "entry": "a quokka", "overview": "On quokkas."}),
    ("timeline_add", {"content": "met a quokka", "at": "2026-01-05T09:00:00Z"}),
    ("memory_save", {"kind": "todo", "title": "feed a quokka"}),
)


def write_everywhere(app):
    """An entry of each journal; their refs."""
    return [ref for tool, given in ADDS for ref in ask(app, tool, **given).written]


def kept(admin, owner="ann"):
    """What is counted of an owner, which is what there is."""
    found = admin.execute(KEPT, [owner]).fetchone()
    assert found == admin.execute(COUNTED, [owner]).fetchone()
    return found


def test_what_there_is_is_counted_in_the_transaction_of_each_change(one, two, admin):
    """By any server, of any journal; summaries are no entries, and a key writes once."""
    refs = write_everywhere(one)
    entries, size = kept(admin)
    assert entries == 5
    ask(two, "memory_save", kind="preference", language="de")
    for key in ("k", "k"):
        ask(two, "process_thoughts", feelings="once", idempotency_key=key)
    assert kept(admin)[0] == 7
    ask(two, "add_entry", message="a quokka, and more of it", supersedes=refs[1])
    ask(one, "amend", ref=refs[0], text="## Feelings\n\nof a much larger quokka")
    ask(one, "timeline_rollup", period="daily", at="2026-01-05")
    assert admin.execute("SELECT count(*) FROM cp_entries WHERE level > 0").fetchone()[0]
    assert kept(admin)[0] == 8
    forgetting = two.forgetting()
    assert forgetting.carry_out(forgetting.plan(refs)).is_clean
    assert kept(admin)[0] == 3
    assert kept(admin)[1] < size


def test_what_would_go_over_is_refused_and_nothing_of_it_is_there(servers, admin):
    """Each verb that adds; what is deleted makes room again."""
    app = servers("one", quota=("5", "0"))
    refs = write_everywhere(app)
    before = admin.execute("SELECT * FROM cp_entries ORDER BY place").fetchall()
    for tool, given in (*ADDS, ("add_entry", {"message": "no quokka", "supersedes": refs[1]})):
        with pytest.raises(Denied) as refused:
            ask(app, tool, **given)
        assert refused.value.message == (
            "Nothing was written: 5 of at most 5 entries are kept already, and this would add 1."
        )
        assert "Delete or forget" in refused.value.hint
        assert "serve.most_entries" in refused.value.hint
    assert admin.execute("SELECT * FROM cp_entries ORDER BY place").fetchall() == before
    counted = {each.name: each.value for each in measure_pool(app.shared)}
    assert counted["commonplace_quota_refusals_total"] == 6
    write_everywhere(servers("one", owner="bob", quota=("5", "0")))  # each has one of their own
    ask(app, "memory_delete", kind="todo", ref=refs[4])
    assert len(ask(app, "timeline_add", content="a third quokka").written) == 1
    assert kept(admin)[0] == 5


def test_what_makes_it_less_is_never_refused(servers, admin):
    """Though there is more than there may be, since the quota was lowered."""
    refs = write_everywhere(servers("one"))
    app = servers("one", start=2, quota=("1", "1"))
    size = kept(admin)[1]
    with pytest.raises(Denied, match=rf"{size} of at most 1 bytes are kept already, .* add 5\."):
        ask(app, "amend", ref=refs[3], text="met a quokka or two"[:17])
    ask(app, "amend", ref=refs[3], text="a quokka")
    assert kept(admin)[1] == size - 4
    ask(app, "timeline_rollup", period="daily", at="2026-01-05")
    ask(app, "amend", ref=refs[1], delete=True)
    forgetting = app.forgetting()
    assert forgetting.carry_out(forgetting.plan(refs[3:])).is_clean
    assert kept(admin)[0] == 2


def test_two_servers_at_once_keep_no_more_than_one(servers, admin):
    """The last of the room goes to one of them."""
    apps = [servers(name, quota=("9", "0")) for name in ("one", "two")]

    def try_to_add(number):
        try:
            ask(apps[number % 2], "timeline_add", content=f"quokka {number}")
        except Denied:
            return 0
        return 1

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(try_to_add, range(18))) == 9
    assert kept(admin)[0] == 9


def test_what_lay_in_files_moves_whatever_the_quota(servers, admin):
    """Sessions too: it was there before. What a memory had stays in its file."""
    before = servers("one", url=None)
    write_everywhere(before)
    assert before.transcripts.store.append("codex", "quay", [said(1, "A quokka.")]) == 1
    app = servers("one", quota=("1", "1"))
    ask(app, "recall", query="quokka")
    for tool in ("timeline_search", "search_journal"):
        ask(app, tool, query="quokka")
    assert kept(admin)[0] == 5
    assert app.recall.service().lost == {}


def test_what_was_there_before_it_was_counted_is_counted(empty_database):
    """By the migration."""
    before = {**SERIES, "entries": SERIES["entries"][:6]}
    migrate_postgres(empty_database.admin_url, before)
    for owner, titles in (("ann", ["ab", "cdé"]), ("bob", ["x"])):
        for title in titles:
            empty_database.run("INSERT INTO wb_todo (user_id, title) VALUES (%s, %s)", owner, title)
    migrate_postgres(empty_database.admin_url, SERIES)
    found = empty_database.rows("SELECT user_id, entries, bytes FROM cp_kept ORDER BY user_id")
    assert found == [("ann", 2, 6), ("bob", 1, 1)]
