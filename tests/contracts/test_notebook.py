"""Git and the database keep the laws of the notebook."""

from __future__ import annotations

import itertools
from contextlib import closing, contextmanager
from datetime import UTC

import psycopg
import pytest
from tests.contracts.notebook_laws import NOW, NotebookContract, summaries

from commonplace.core.errors import Invalid, Lost, NotFound
from commonplace.core.values import Drop, Put, Since
from commonplace.db.queries import read_queries
from commonplace.journals.notebook.format import version_of
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.shared import SharedNotebook
from commonplace.journals.notebook.whole import PastOverview
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.notebook import NotebookPostgres
from commonplace_server.store.source import SharedSource
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock


class GitWorld:
    """A repository; each opening is another process's."""

    examples = 5

    def __init__(self, folder):
        self.clock = FrozenClock(NOW)
        self._folder = folder
        self._opened = []
        self._names = itertools.count()

    def next_number(self):
        return next(self._names)

    def open(self, *, owner="ann", zone=UTC):
        made = NotebookJournal(
            self._folder / "book",
            ledger=self._folder / "ledger.db",
            owner=owner,
            zone=zone,
            clock=self.clock,
            auto_gc=False,
        )
        made.init()
        self._opened.append(made)
        return made

    def close(self):
        for each in self._opened:
            each.close()


class ServerWorld(GitWorld):
    """One database for all users, under row level security; two servers take turns."""

    examples = 30

    def __init__(self, folder, database):
        super().__init__(folder)
        self._servers = [Postgres(database.app_url, check=check_database) for _ in range(2)]

    def open(self, *, owner="ann", zone=UTC):
        server = self._servers[self.next_number() % 2]
        store = NotebookPostgres(server, owner=owner, clock=self.clock)
        return SharedNotebook(store, owner=owner, zone=zone, clock=self.clock)

    def close(self):
        for each in self._servers:
            each.close()


class _Breaking(Postgres):
    """A database whose first connection breaks about the commit."""

    is_kept = True
    is_whole = False

    @contextmanager
    def owner_transaction(self, owner, **given):
        if self.is_whole:
            with super().owner_transaction(owner, **given) as conn:
                yield conn
            return
        self.is_whole = True
        with super().owner_transaction(owner, **given) as conn:
            yield conn
            if not self.is_kept:
                raise Lost("The connection broke.", hint="Try again.")
        raise Lost("The connection broke.", hint="Try again.")


class TestNotebookGit(NotebookContract):
    """A repository of one's own."""

    @pytest.fixture
    def world(self, tmp_path):
        with closing(GitWorld(tmp_path)) as made:
            yield made


class TestNotebookPostgres(NotebookContract):
    """The notebook of a served user."""

    @pytest.fixture
    def world(self, tmp_path, database):
        with closing(ServerWorld(tmp_path, database)) as made:
            yield made

    def test_nobody_reads_or_alters_the_notebook_of_another(self, world, database):
        """Not even where a query names no user."""
        entry = world.open().write("a", "Secret.", overview="Secret too.").entry
        world.open().move("a", "b")
        bob = world.open(owner="bob")
        assert (bob.list_sections(), bob.toc()) == ([], ())
        with pytest.raises(NotFound):
            bob.read_entry(entry.ref)
        with psycopg.connect(database.app_url) as conn:
            for table in ("cp_entries", "cp_overviews", "cp_moves"):
                assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
                conn.execute("SET LOCAL app.user_id = 'bob'")
                assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
                assert conn.execute(f"DELETE FROM {table}").rowcount == 0
                conn.rollback()
        assert summaries(world.open(), "b") == ["Secret."]

    def test_every_key_and_every_query_names_the_user(self, database):
        """So that a cluster sends each to the machine that has the user's rows."""
        for name, text in read_queries("commonplace_server.store", "notebook.sql").items():
            said = "\n".join(x for x in text.splitlines() if not x.startswith("--")).strip()
            is_appended = said.startswith("AND ") and "FROM cp_overviews" not in said
            names_user = "user_id = %(owner)s" in said or "(%(owner)s, " in said
            assert is_appended or names_user or "%(owner)s, %(section)s" in said, name
        with psycopg.connect(database.admin_url) as conn:
            keys = conn.execute(
                "SELECT tablename, indexdef FROM pg_indexes"
                " WHERE tablename IN ('cp_overviews', 'cp_moves')"
            ).fetchall()
        assert {table for table, _ in keys} == {"cp_overviews", "cp_moves"}
        assert all("(user_id, " in made for _, made in keys)

    def test_the_history_of_an_overview_is_read(self, world):
        """Newest first, each with the entry that it came with."""
        notes = world.open()
        first = notes.write("a", "One.", overview="We know one.")
        notes.write("a", "Alone.")
        notes.replace_overview("a", "We know two.", base_version=first.version)
        past = [x for x in notes.read_whole().steps if isinstance(x, PastOverview)]
        assert [(x.text, x.entry_id) for x in reversed(past)] == [
            ("We know two.", ""),
            ("We know one.", first.entry.id),
        ]

    def test_the_beginning_of_an_id_is_looked_for_in_its_section(self, world):
        """However many entries of other sections begin so, as all of one month may."""
        notes = world.open()
        for number in range(51):
            notes.write("b", f"Entry {number}.")
        mine = notes.write("a", "Mine.").entry
        assert notes.read_entry(f"a#{mine.id[:6]}") == mine
        with pytest.raises(Invalid, match="beginning of 50 entries"):
            notes.read_entry(f"b#{mine.id[:6]}")

    def test_forgetting_takes_the_words_of_former_overviews(self, world, database):
        """No row holds them; what had replaced the entry replaces what that had replaced."""
        notes = world.open()
        first = notes.write("a", "Ok.", overview="The quokka sleeps.\n\nAll is well.")
        second = notes.supersede(
            first.entry.ref,
            "The quokka wakes.",
            overview="The quokka wakes.\n\nAll is well.",
            base_version=first.version,
        )
        third = notes.supersede(
            second.entry.ref, "Done.", overview="All is well.", base_version=second.version
        )
        cut = lambda text: "\n".join(x for x in text.splitlines() if "quokka" not in x).strip()  # noqa: E731
        assert notes.erase_versions([], cut, current=False) == 2
        notes.forget([second.entry.ref])
        assert notes.read_entry(third.entry.ref).supersedes == first.entry.id
        assert notes.read_section("a").overview == "All is well."
        with psycopg.connect(database.admin_url) as conn:
            for table in ("cp_entries", "cp_overviews"):
                rows = conn.execute(f"SELECT t::text FROM {table} AS t").fetchall()
                assert rows
                assert "quokka" not in str(rows)

    def test_a_write_whose_end_is_unknown_is_done_once(self, world, database):
        """Whether the connection broke before the commit or behind it, it is one entry, and new."""
        for is_kept in (True, False):
            with closing(_Breaking(database.app_url, check=check_database)) as broken:
                broken.is_kept = is_kept
                store = NotebookPostgres(broken, owner="ann", clock=world.clock)
                notes = SharedNotebook(store, owner="ann", zone=UTC, clock=world.clock)
                made = notes.write(f"a{is_kept}", "Once.", overview="So.")
            assert (made.repeated, made.entry_count, made.overview) == (False, 1, "So.")
            assert len(world.open().read_whole().overviews[f"a{is_kept}"]) == 1

    def test_what_only_git_can_do_says_so(self, world):
        """With what to do instead."""
        notes = world.open()
        notes.write("a", "x")
        with pytest.raises(Invalid, match="no branches") as told:
            notes.list_all_entries("a", branch="main")
        assert "commonplace export" in told.value.hint

    def test_who_follows_it_is_told_of_what_changed_alone(self, world, database):
        """Entries and overviews by their refs: after a move, an end, and what is deleted."""
        notes = world.open()
        source = SharedSource("notebook", notes, lambda doc: doc)
        old = notes.write("a", "Five.", overview="Five of them.").entry
        new = notes.supersede(old.ref, "Six.", section="b").entry
        told = lambda mark: {  # noqa: E731
            x.ref if isinstance(x, Drop) else x.doc.ref: isinstance(x, Put)
            for x in source.scan(Since(mark=mark, stamps=since))
        }
        past = []

        def since(begins):
            return {ref: "then" for ref in past if ref.startswith(begins)}

        def changes(act):
            with psycopg.connect(database.admin_url, autocommit=True) as conn:
                conn.execute("UPDATE wb_outbox SET at = at - interval '1 day'")
            notes.write("last before", "x")
            mark = source.mark()
            act()
            return {ref: is_put for ref, is_put in told(mark).items() if "last before" not in ref}

        assert told(None) == {old.ref: True, new.ref: True, "notebook:a": True}
        past += [old.ref, new.ref, "notebook:a"]
        moved = f"notebook:c#{old.id}"
        assert changes(lambda: notes.move("a", "c")) == {
            old.ref: False,
            "notebook:a": False,
            moved: True,
            "notebook:c": True,
            new.ref: True,  # names what it replaced
        }
        past[:] = [moved, new.ref, "notebook:c"]
        assert changes(lambda: notes.set_end(moved, NOW)) == {
            moved: False,
            new.ref: True,
            "notebook:c": True,
        }
        assert changes(lambda: notes.set_end(moved, None))[moved]
        blank = lambda: notes.replace_overview("c", "", base_version=version_of("Five of them."))  # noqa: E731
        assert changes(blank) == {"notebook:c": False}
        past.pop()
        assert changes(lambda: notes.forget([moved])) == {moved: False, new.ref: True}
