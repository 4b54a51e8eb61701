"""Several who correct one entry at the same moment, in each journal, in files and in a database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from server.tests.two_homes import ask

from commonplace.core.errors import CommonplaceError

pytestmark = pytest.mark.long

MANY = 8
WRITES = {
    "chronicle": ("add_entry", {"message": "Fed the quokka."}),
    "private": ("process_thoughts", {"reflections": "Fed the quokka."}),
    "notebook": ("journal_write", {"path": "quay", "entry": "Fed it.", "overview": "A quokka."}),
    "timeline": ("timeline_add", {"content": "Fed the quokka."}),
    "memory": ("memory_save", {"kind": "todo", "title": "Feed the quokka."}),
}
EDITED = {"notebook": "notebook:quay"}
"""What is edited where an entry stays as it was written."""


@pytest.fixture(params=["files", "database"])
def callers(request, servers):
    """Ann, as many times as there are callers: in one home of files, or at two servers."""
    if request.param == "files":
        return [servers("one", url="")] * MANY
    return [servers("one"), servers("two")] * (MANY // 2)


def told(app, **given):
    """What is done to an entry; of an error its code."""
    try:
        return ask(app, "amend", **given).facts["act"]
    except CommonplaceError as exc:
        return exc.code


def at_once(callers, given):
    """What each of many is told who amend one entry at the same moment, each in their own words."""
    barrier = Barrier(MANY)

    def amend(number):
        barrier.wait()
        return told(callers[number], **given(number))

    with ThreadPoolExecutor(MANY) as threads:
        return sorted(threads.map(amend, range(MANY)))


@pytest.mark.parametrize("journal", [*WRITES])
def test_who_corrects_one_entry_at_once(callers, journal):
    """Each edit that names no version is done; one deletion is, and the others come later."""
    tool, given = WRITES[journal]
    ref = next(iter(ask(callers[0], tool, **given).written))
    edited = EDITED.get(journal, ref)
    answers = at_once(callers, lambda number: {"ref": edited, "text": f"Fed {number} quokkas."})
    assert answers == ["edited"] * MANY
    for each in {edited, ref}:
        answers = at_once(callers, lambda _, each=each: {"ref": each, "delete": True})
        later = told(callers[0], ref=each, delete=True)
        done = later if later == "denied" else "deleted"  # a commit of git stays
        assert answers == sorted([done, *[later] * (MANY - 1)])
