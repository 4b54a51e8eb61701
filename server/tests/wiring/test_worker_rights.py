"""The worker's role may do with each table what a worker does with it, and nothing else."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from contextlib import closing

import pytest
from examples.postgres import own_database
from server.tests.databases import SERIES
from server.tests.http.test_isolation import WRITES
from server.tests.memory_postgres_world import PACKING_IS_DUE
from server.tests.postgres.test_rights import RIGHTS
from server.tests.postgres.test_statements import parsed
from server.tests.two_homes import ask, settings_in
from sqlglot import exp
from tests.journals.transcripts.sessions import said

from commonplace.app.process import ProcessContext
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.wiring.memories import find_problems, open_worker
from commonplace_server.wiring.servers import announce_settings, open_servers
from commonplace_testing import HashingEncoder, ReadySlot

pytestmark = pytest.mark.long

LONG_AGO = "2026-01-05 09:00"
DAY_S = 86_400

LOGGED = """
    ALTER ROLE commonplace_worker SET session_preload_libraries = 'auto_explain';
    ALTER ROLE commonplace_worker SET auto_explain.log_min_duration = 0;
    ALTER ROLE commonplace_worker SET auto_explain.log_nested_statements = on;
    ALTER ROLE commonplace_worker SET auto_explain.log_verbose = on;
    ALTER ROLE commonplace_worker SET auto_explain.log_format = 'json';
    ALTER ROLE commonplace_worker SET log_statement = 'all'
"""
"""The server logs what the role asks, and what triggers do for it."""

AGREED = {
    "timeline.feed": "chronicle,private,notebook",
    "timeline.retention": "raw=2d,hourly=2d",
    "transcripts.retain_days": "9000",
}
RECORDS = {
    "journal": {"title": "Quay", "body": "The pier."},
    "gratitude": {"text": "For the tide."},
    "message": {"role": "user", "text": "Where is the pier?"},
    "preference": {"language": "de"},
}
FED = (
    ("add_entry", "message", "2026-01-05 09:10"),
    ("process_thoughts", "reflections", "2026-01-05 09:20"),
    ("add_entry", "message", "2026-01-06 09:00"),
)

LETTERS = {"Insert": "a", "Update": "w", "Delete": "d"}


class OtherEncoder(HashingEncoder):
    """Another model."""

    identity = HashingEncoder.identity.replace("bag", "sack")


@pytest.fixture
def database(own_server):
    """A database of a server that logs what the worker asks."""
    with own_database(own_server.url()) as made:
        migrate_postgres(made.admin_url, SERIES)
        made.run(LOGGED)
        yield made


@pytest.fixture
def work(tmp_path, database, clock):
    """Has a worker do all that is due, with some model; also as after the index was lost."""

    def run(encoder=None, *, rebuild=False):
        urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
        settings = settings_in(tmp_path, **urls, **AGREED)
        with open_servers(settings) as servers:
            announce_settings(settings, servers)
        slot = ReadySlot(encoder or HashingEncoder())
        with (
            closing(ProcessContext(settings, encoder=slot)) as shared,
            open_worker(shared, clock) as worker,
        ):
            if rebuild:
                worker.renew()
            worker.run_once()
        assert [*find_problems(settings)]  # as `doctor` asks with the worker's role

    return run


def a_life(one, elsewhere, work, clock, database):
    """A user writes, edits and deletes in every journal, and workers do all that they ever do."""
    ask(elsewhere("bob"), "add_entry", message="Fed the wombats.", at=LONG_AGO)
    for tool, given in WRITES.items():
        ask(one, tool, **given)
    for kind, given in RECORDS.items():
        ask(one, "memory_save", kind=kind, **given)
    one.transcripts.store.append(
        "codex", "old", [said(1, "Of the wombats.", at="2026-01-05T09:00:00.000Z")]
    )
    old = ask(one, "timeline_add", content="The harbour is open.", at=LONG_AGO).facts["ref"]
    refs = [
        ask(one, tool, **{name: "Opened the quay.", "at": at}).facts["ref"]
        for tool, name, at in FED
    ]
    for number in range(20):
        ask(one, "memory_save", kind="todo", title=f"harbour {number} gate")
    work()
    # Summaries are made again, and where nothing is left they go.
    one.amend.edit(old, text="The harbour is shut.")
    for ref in refs[::2]:
        elsewhere("ann").amend.delete(ref)
    elsewhere("ann").amend.edit(refs[1], text="Shut the quay.")
    ask(one, "journal_write", path="travel/pier", entry="More.", overview="Less.")
    clock.advance(DAY_S)
    work()
    # A summary that retention deleted is made once more, and one of another zone is replaced.
    clock.advance(99 * DAY_S)
    work()
    ask(one, "timeline_add", content="The harbour was open.", at=LONG_AGO)
    work()
    one.timeline.journal.set_zone("Asia/Tokyo")
    ask(one, "timeline_add", content="The harbour was shut.", at=LONG_AGO)
    work()
    # As another program does.
    database.run("DELETE FROM wb_todo WHERE title ~ '1'")
    database.run(PACKING_IS_DUE)
    database.run("UPDATE wb_tool_invocation_log SET created_at = created_at - interval '60 days'")
    database.run("UPDATE wb_upkeep SET pruned_at = NULL")
    work()
    for number in range(20):
        ask(one, "memory_save", kind="todo", title=f"lantern {number} gate")
    database.run(PACKING_IS_DUE)
    work(OtherEncoder())
    database.run("UPDATE wb_upkeep SET whole_at = whole_at - interval '1 day'")
    work(OtherEncoder(), rebuild=True)


_PLAN = re.compile(r"plan:\n((?:\t.*\n)+)")
_PLACE = re.compile(r"\$\d+")
_TIDIED = re.compile(r"VACUUM \(.*?\) \"?(\w+)")


def used_in(log):
    """What the role did with each table, by what the server logged, as psql has rights.

    All plans are of the role, those of its triggers too.
    """
    letters, columns, texts = defaultdict(set), defaultdict(set), set()
    for plan in _PLAN.findall(log):
        logged = json.loads(plan)
        waiting = [logged["Plan"]]
        while waiting:
            node = waiting.pop()
            waiting += node.get("Plans", ())
            what = LETTERS.get(node.get("Operation"), "r")
            is_both = node.get("Conflict Resolution") == "UPDATE"
            letters[node.get("Relation Name")] |= {what, *("w" * is_both)}
        texts.add(logged["Query Text"])
    for name, column in (x for text in texts for x in altered(text)):
        columns[name].add(column)
    for name in _TIDIED.findall(log):
        letters[name].add("m")
    return letters, columns


def altered(text):
    """The columns that a statement alters, with their tables."""
    if "UPDATE" not in text:
        return
    for tree in parsed(_PLACE.sub("0", text)):
        for node in tree.find_all(exp.Update, exp.Insert):
            conflict = node.args.get("conflict")
            done = [] if conflict is None else conflict.expressions
            for each in node.expressions if isinstance(node, exp.Update) else done:
                name = node.find(exp.Table).name
                yield from ((name, x.name) for x in each.this.find_all(exp.Column))


def test_a_worker_does_all_that_its_role_may(own_server, servers, work, clock, database):
    """With each table, column by column where not all may be altered; nothing is refused to it."""
    feed = AGREED["timeline.feed"]
    a_life(servers("one", feed=feed), lambda owner: servers("two", owner), work, clock, database)
    log = own_server.log()
    assert "permission denied" not in log
    letters, columns = used_in(log)
    found = {}
    for name, (_, may) in RIGHTS.items():
        used = "".join(x for x in "arwdm" if x in letters[name])
        if "w(" in may:
            used = f"{used.replace('w', '')} w({' '.join(sorted(columns[name]))})"
        found[name] = used
    assert found == {name: may for name, (_, may) in RIGHTS.items()}
