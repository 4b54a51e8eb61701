"""The laws of a served user's journal that lies in a database, whichever it is, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from server.tests.two_homes import ask, settings_in, traces

from commonplace.core.errors import Conflict, Denied, NotFound, Unavailable
from commonplace.core.standstill import PROCESS, seconds
from commonplace.verbs.forgetting.selection import EntrySelection

SAID = "The quokka gate opens with four seven one one, Ann said so to me."


def all_found(app, query, hits, text):
    """The refs of those hits whose text has all words of a query, each of which a recall finds.

    text: The name of the text in a hit.
    """
    recalled = [x["ref"] for x in ask(app, "recall", query=query).facts["results"]]
    bearing = [x["ref"] for x in hits if all(word in x[text] for word in query.split())]
    assert set(bearing) <= set(recalled)
    return bearing


class SharedJournalLaws(ABC):
    """What holds of one journal on two servers of two homes, and in the files before.

    Attributes:
        journal: Its name.
        library: What opens it in a program.
    """

    journal: str
    library: type

    @pytest.fixture
    def program(self, database, clock, slot, tmp_path):
        """Ann's in a program on another machine."""
        settings = settings_in(tmp_path, **{"database.url": database.app_url})
        with self.library("ann", settings=settings, clock=clock, encoder=slot) as made:
            yield made

    @abstractmethod
    def write(self, app, text):
        """Write an entry; its ref."""

    @abstractmethod
    def write_once(self, app, text, key):
        """Write an entry with a key; the facts of the answer."""

    @abstractmethod
    def save(self, program, text):
        """Write an entry in a program; its ref."""

    @abstractmethod
    def found(self, app, query):
        """The refs of the entries that a search of the journal, and a recall, find for words."""

    @abstractmethod
    def listed(self, app):
        """The texts of the newest."""

    @abstractmethod
    def remove(self, app, ref):
        """Take an entry out of the journal, and do nothing beside it."""

    def test_a_key_is_one_entry_on_all_servers(self, one, two):
        """Also where both are asked at once; what the second call says is not written."""
        with ThreadPoolExecutor(8) as threads:
            asked = [
                (key, threads.submit(self.write_once, app, f"Call {number}.", f"k{key}"))
                for number, key in enumerate((0, 1, 2, 0))
                for app in (one, two)
            ]
            answers = [(key, each.result()) for key, each in asked]
        refs = {key: {x["ref"] for of, x in answers if of == key} for key in range(3)}
        assert [len(x) for x in refs.values()] == [1, 1, 1]
        assert len(set().union(*refs.values())) == len(self.listed(one)) == 3
        assert sum(not x["repeated"] for _, x in answers) == 3

    def test_what_is_edited_on_one_is_so_on_the_other(self, one, two):
        """What it said before is found nowhere, and is taken back from anywhere."""
        ref = self.write(one, SAID)
        assert self.found(one, "quokka gate") == [ref]
        version = two.amend.read_text(ref).version
        two.amend.edit(ref, "The harbour is closed.", expected=version)
        assert self.listed(one) == ["The harbour is closed."]
        assert self.found(one, "quokka") == []
        assert self.found(one, "harbour") == [ref]
        with pytest.raises(Conflict):
            one.amend.edit(ref, "Another text.", expected=version)
        one.amend.undo(ref)
        assert self.listed(two) == [SAID]
        assert self.found(two, "quokka gate") == [ref]

    def write_ending(self, app, at):
        """Write an entry as a tool does that is to give it an end afterwards; its ref."""
        del at
        return self.write(app, SAID)

    def test_what_is_written_before_a_standstill_has_its_end(self, one, two, monkeypatch):
        """It is a part of what was asked with the entry: each server knows it."""
        monkeypatch.setattr(PROCESS, "_went_on_at", -math.inf)
        at = datetime(2099, 1, 1, tzinfo=UTC)
        with PROCESS.asked(seconds()):
            ref = self.write_ending(one, at)
            PROCESS.note_standstill()
            one.expiring.end_new(ref, at)
        assert two.expiring.list_expiring() == [(ref, at)]

    def test_what_is_forgotten_on_one_is_nowhere(self, one, two, admin):
        """Text, words, former texts; a copy elsewhere is named before; either server proves it."""
        ref = self.write(one, SAID)
        # Where entries stay, an edit is one more that takes the place of the first.
        refs = [*{ref: None, two.amend.edit(ref, f"{SAID} Twice.").ref: None}]
        assert sorted(self.found(two, "quokka gate")) == sorted(refs)
        forgetting = two.forgetting()
        assert [doc.ref for doc in forgetting.select(EntrySelection(query="quokka"))] == refs
        same = self.write(one, f"{SAID} Said again.")
        assert [each.ref for each in forgetting.plan(refs).others] == [same]
        two.amend.delete(same)
        proof = forgetting.carry_out(forgetting.plan(refs))
        assert proof.is_clean, proof
        assert traces(admin, "quokka") == []
        for app in (one, two):
            assert self.listed(app) == []
            assert self.found(app, "quokka gate") == []
            for each in refs:
                with pytest.raises(NotFound):
                    app.amend.read_text(each)

    def test_what_does_not_arrive_stays_in_the_files(self, servers, admin):
        """No entry is lost: the next call moves all, and the next start what came since."""
        before = servers("one", url="")
        for number in range(3):
            self.write(before, f"entry {number}")
        one = servers("one")
        admin.execute("REVOKE INSERT ON cp_entries FROM commonplace_app")
        with pytest.raises(Denied):
            self.listed(one)
        assert len(self.listed(before)) == 3
        admin.execute("GRANT INSERT ON cp_entries TO commonplace_app")
        assert len(self.listed(one)) == 3
        assert self.listed(before) == []
        self.write(before, "entry of a server of before")
        assert len(self.listed(servers("one", start=2))) == 4

    def test_a_program_s_is_the_served_one(self, one, program, worker):
        """The library writes into it, and waits for the worker."""
        ref = self.save(program, SAID)
        assert self.found(one, "quokka gate") == [ref]
        with pytest.raises(Unavailable):
            program.wait(0)
        worker.work()
        program.wait(0)
        assert [hit.ref for hit in program.search("quokka gate").hits] == [ref]
        assert [entry.ref for entry in program.list()] == [ref]
        self.check_saved(program, one, ref)

    @abstractmethod
    def check_saved(self, program, app, ref):
        """Whether what a program wrote is there by what this journal alone has."""

    def test_the_timeline_is_fed_from_the_database(self, servers):
        """Its rollups read the journal wherever it lies; what leaves the journal leaves them."""
        app = servers("fed", feed=self.journal)
        ref = self.write(app, SAID)
        assert app.timeline.feeding.sync() == 1
        self.remove(app, ref)
        assert app.timeline.feeding.sync() == 1
        assert app.timeline.feeding.sync() == 0
