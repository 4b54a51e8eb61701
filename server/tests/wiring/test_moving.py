"""What a served user has in files moves into the database, of whichever journal it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from server.tests.two_homes import ask
from tests.journals.transcripts.sessions import said

from commonplace.app.process import IN_DATABASE
from commonplace.core.files import locked

JOURNALS = [name for name in IN_DATABASE if name != "memory"]
SERVERS = 4
EACH = 12


def write(app, journal):
    """Write entries of a journal, on as many days where days are folders of it."""
    if journal == "transcripts":
        for n in range(EACH):
            message = said(1, f"A quokka, {n}.", id=f"id-{n}")
            assert app.transcripts.store.append("codex", f"session-{n}", [message]) == 1
        return
    for n in range(1, EACH + 1):
        tool, given = {
            "private": ("process_thoughts", {"feelings": "of a quokka", "at": f"2026-01-{n:02}"}),
            "chronicle": ("add_entry", {"message": f"saw a quokka, {n}"}),
            "notebook": ("journal_write", {"path": "b", "entry": f"a quokka, {n}"}),
            "timeline": ("timeline_add", {"content": f"a quokka, {n}", "at": "2026-01-05"}),
        }[journal]
        assert ask(app, tool, **given).written


def open_journal(app, journal):
    """Open a journal, which moves what lies in files."""
    (wiring,) = (each for each in app.journals if each.name == journal)
    wiring.pages()


@pytest.mark.parametrize("journal", JOURNALS)
def test_who_comes_while_another_moves_finds_it_moved(servers, admin, journal):
    """Of servers of one home that open the same files at once none is refused, or moves twice."""
    before = servers("one", url="")
    write(before, journal)
    before.close()
    apps = [servers("one", start=start) for start in range(2, 2 + SERVERS)]
    all_are_there = Barrier(SERVERS)

    def open_with_others(app):
        all_are_there.wait()
        open_journal(app, journal)

    with ThreadPoolExecutor(SERVERS) as threads:
        assert [*threads.map(open_with_others, apps)] == [None] * SERVERS
    written = "SELECT count(*) FROM cp_entries WHERE coalesce(level, 0) = 0"
    assert admin.execute(written).fetchone() == (EACH,)


@pytest.mark.parametrize("journal", JOURNALS)
def test_who_has_nothing_in_files_waits_for_no_import(servers, journal):
    """It holds the owner's folder to its end, in a process beside the server."""
    app = servers("one")
    with locked(app.folder):
        open_journal(app, journal)
