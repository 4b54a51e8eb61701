"""Every store of former texts keeps the laws of its port."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from msgspec.structs import replace

from commonplace.core.former_files import FormerFiles
from commonplace.core.former_texts import FormerRecord, FormerText
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.former_texts import MemoryFormerTexts
from commonplace_server.wiring.schema import check_database

ONE, TWO = "memory:todo/one", "memory:todo/two"


def former(number, ref=ONE, text="the quokka sleeps"):
    """A former text of the edit of this number."""
    return FormerText(
        id=f"01a20068-9a68-7000-8000-{number:012}",
        ref=ref,
        at=float(number),
        text=text,
        version="before",
        more=FormerRecord(fields={"title": text}, at=datetime(2026, 11, 21, tzinfo=UTC)),
        terminal="ann@zoo",
    )


class FormerTextContract:
    """A subclass gives `store`, of an owner who has both entries, and `again`, opened anew."""

    def test_they_come_back_as_they_were_the_newest_first(self, store, again):
        """Any text: signs that a database or JSON has a meaning for, and none at all."""
        texts = ["a\0b \\u0000 \"c\" 'd' %s", "", "\U0001f9ed\ud7ff\u2028", "x" * 100_000]
        kept = [former(n, text=text) for n, text in enumerate(texts)]
        for each in (kept[2], kept[0], kept[3], kept[1]):
            store.write(each)
        store.write(other := former(9, TWO))
        assert [*again.find(ONE)] == kept[::-1]
        assert [*again.find()] == [other, *kept[::-1]]
        assert [*again.list_ids()] == [each.id for each in (other, *kept[::-1])]
        assert [*again.find("memory:todo/none"), *again.find("memory:nothing")] == []

    def test_one_edit_is_kept_once(self, store, again):
        """Written again it takes the place of what was there."""
        store.write(former(1))
        again.write(made := replace(former(1), made="after"))
        assert [*store.find()] == [made]

    def test_what_is_erased_is_gone(self, store, again):
        """By the id of the edit, and by the entry; what is not there is no error."""
        for each in (former(1), former(2), former(3, TWO)):
            store.write(each)
        again.remove([former(1).id, former(8).id])
        assert [*store.find()] == [former(3, TWO), former(2)]
        again.drop([ONE, "memory:todo/none", "chronicle:none"])
        assert [*store.find()] == [former(3, TWO)]
        store.remove([])
        store.drop([])


class TestFormerFiles(FormerTextContract):
    """A file for each."""

    @pytest.fixture
    def store(self, tmp_path):
        return FormerFiles(tmp_path / "former", prepare=lambda: None)

    @pytest.fixture
    def again(self, tmp_path):
        return FormerFiles(tmp_path / "former", prepare=lambda: None)


class TestFormerTextsOnPostgres(FormerTextContract):
    """A row for each, beside the records."""

    @pytest.fixture
    def opened(self, database):
        made = [Postgres(database.app_url, check=check_database) for _ in range(2)]
        with made[0].owner_transaction("ann") as conn:
            for name in ("one", "two"):
                conn.execute(
                    "INSERT INTO wb_todo (user_id, id, title) VALUES ('ann', %s, 'x')", (name,)
                )
        yield made
        for each in made:
            each.close()

    @pytest.fixture
    def store(self, opened):
        return MemoryFormerTexts(opened[0], owner="ann")

    @pytest.fixture
    def again(self, opened):
        return MemoryFormerTexts(opened[1], owner="ann")

    def test_they_are_one_owner_s(self, opened, store):
        """Another reads, replaces and erases nothing of them."""
        store.write(former(1))
        bob = MemoryFormerTexts(opened[1], owner="bob")
        bob.write(replace(former(1), text="mine"))
        bob.remove([former(1).id])
        bob.drop([ONE])
        assert [*bob.find(), *bob.list_ids(), *bob.find(ONE)] == []
        assert [*store.find()] == [former(1)]

    def test_of_a_record_that_is_gone_none_is_kept(self, opened, store):
        """By an undo that ends after another server has deleted it, say."""
        store.write(former(1))
        with opened[1].owner_transaction("ann") as conn:
            conn.execute("DELETE FROM wb_todo WHERE user_id = 'ann' AND id = 'one'")
        store.write(replace(former(1), made="after"))
        store.write(former(2))
        assert [*store.find()] == []

    def test_what_leaves_is_still_to_be_tidied_up(self, store, database):
        """The record's line says so: the worker takes it out of the files of the server."""
        store.write(former(1))
        with psycopg.connect(database.admin_url, autocommit=True) as conn:
            conn.execute("UPDATE wb_outbox SET stale = false")
            store.remove([former(1).id])
            stale = conn.execute("SELECT ref_id FROM wb_outbox WHERE stale").fetchall()
        assert stale == [("one",)]
