"""Entries of one second have one order, in a journal's own lists and in those of all journals."""

from __future__ import annotations

from tests.verbs.recall_world import ask, refs

PAGES = ("zoo", "bar", "yard/shed", "attic", "bar")


def test_the_notebook_s_entries_of_one_second_stand_as_they_were_written(world, app):
    """Git keeps seconds: the last written one is the newest, whatever its section is called.

    An overview stands behind them, and an index that is made again has the same order.
    """
    written = [
        ask(app, "journal_write", path=page, entry=f"lamp {number}").facts["ref"]
        for number, page in enumerate(PAGES)
    ]
    ask(app, "journal_read", id="zoo")
    last = {"path": "zoo", "entry": "a last lamp", "overview": "Lit."}
    written.append(ask(app, "journal_write", **last).facts["ref"])
    of_bar = [each for each in written[::-1] if each.startswith("notebook:bar#")]

    def check(app):
        listed = refs(ask(app, "list_by_time"))
        assert [each for each in listed if "#" in each] == written[::-1]
        assert listed[-1] == "notebook:zoo"
        entries = ask(app, "journal_list_entries", path="bar").facts["entries"]
        assert ["notebook:" + each["id"] for each in entries] == of_bar

    check(app)
    app.index.clear()
    check(app)
